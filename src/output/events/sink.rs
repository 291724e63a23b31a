//! The sink of `--events`.

use std::path::Path;
use std::time::Duration;

use pose::PoseFrame;
use pose_events::{Event, Watch, Zones};

use super::watch_frame;
use crate::output::lines::{Lines, Shape};
use crate::output::{Existing, PoseSink, Sending, SinkError};

/// A name of a zone and six figures.
const LONGEST: usize = 4 * 1024;

/// One line an event, to a file or the standard output.
pub struct EventLines {
    name: String,
    target: Lines,
    watch: Watch,
    /// Of one frame.
    lines: Vec<u8>,
}

impl EventLines {
    /// Creates the file `path` or opens one that is there, or takes standard output for `-`.
    ///
    /// # Errors
    /// [`SinkError::Fatal`] where the file cannot be created.
    pub fn open(path: &Path, existing: Existing, zones: Zones) -> Result<Self, SinkError> {
        let shape = Shape { first_row: b"", beginning: b"{\"event\":", longest: LONGEST };
        let target = Lines::open("--events", path, existing, shape)?;
        let name = format!("events {}", target.shown());
        Ok(Self { name, target, watch: Watch::new(zones), lines: Vec::with_capacity(LONGEST) })
    }
}

/// Writes the line of `event`.
pub(in crate::output) fn write_event(line: &mut Vec<u8>, event: &Event, zones: &Zones, emitted_at_us: i64) {
    event.write_line(line, zones, ["captured_us", "emitted_us"], emitted_at_us);
}

impl PoseSink for EventLines {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<Sending, SinkError> {
        self.lines.clear();
        let mut events: Vec<Event> = Vec::new();
        watch_frame(&mut self.watch, poses, |event| events.push(event));
        for event in &events {
            write_event(&mut self.lines, event, self.watch.zones(), now_us);
        }
        if !self.lines.is_empty() {
            self.target.write(&self.lines)?;
        }
        Ok(Sending::Sent)
    }

    fn finish(&mut self, _within: Duration) -> Result<(), SinkError> {
        // Every line is already with the kernel.
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_stays_while_nothing_happens() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("day.jsonl");
        std::fs::write(&path, "{\"event\":\"old\"}\n").unwrap();
        let mut sink = EventLines::open(&path, Existing::Replace, Zones::default()).unwrap();
        let persons = [None; pose::MAX_PERSONS];
        let nobody =
            PoseFrame { seq: 0, frame: 0, captured_at_us: 0, width: 640, height: 480, persons, floor: None };
        sink.send(&nobody, 0).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"event\":\"old\"}\n");
    }
}
