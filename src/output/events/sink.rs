//! The sink of `--events`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pose::PoseFrame;
use pose_events::{Event, Watch, Zones};

use super::line::write_event;
use super::watch_frame;
use crate::output::jsonl::source_of;
use crate::output::lines::{Lines, Shape};
use crate::output::{Existing, Host, PoseSink, Sending, SinkError};

/// A name of a zone and six figures.
const LONGEST: usize = 4 * 1024;

/// One line an event, to a file or the standard output.
pub struct EventLines {
    name: String,
    target: Lines,
    watch: Watch,
    host: Option<Arc<dyn Host>>,
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
        Ok(Self { name, target, watch: Watch::new(zones), host: None, lines: Vec::with_capacity(LONGEST) })
    }

    /// Lines say where frames come from, as `host` knows it, where that is the built-in clip.
    pub fn told_by(self, host: Arc<dyn Host>) -> Self {
        Self { host: Some(host), ..self }
    }
}

impl PoseSink for EventLines {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<Sending, SinkError> {
        self.lines.clear();
        let mut events: Vec<Event> = Vec::new();
        watch_frame(&mut self.watch, poses, |event| events.push(event));
        let source = source_of(self.host.as_deref(), poses.frame);
        for event in &events {
            write_event(&mut self.lines, event, self.watch.zones(), now_us, source);
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
