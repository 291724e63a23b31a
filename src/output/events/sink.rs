//! The sink of `--events`.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use pose::PoseFrame;

use super::watch::{Event, Watch, What};
use super::zones::Zones;
use crate::output::lines::{Lines, Shape};
use crate::output::{Existing, PoseSink, SinkError};

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
    // Writing to a Vec cannot fail.
    let _ = write!(line, "{{\"event\":\"{}\"", event.what.name());
    if event.what != What::Count {
        let _ = write!(line, ",\"id\":{}", event.track_id);
    }
    if let What::Enter(place) | What::Exit(place) = event.what {
        line.extend_from_slice(b",\"zone\":");
        let _ = serde_json::to_writer(&mut *line, &zones.zones[place].name);
    }
    let Event { captured_at_us, persons, .. } = event;
    let _ = writeln!(
        line,
        ",\"captured_us\":{captured_at_us},\"emitted_us\":{emitted_at_us},\"persons\":{persons}}}"
    );
}

impl PoseSink for EventLines {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<(), SinkError> {
        self.target.prepare(false)?;
        self.lines.clear();
        let mut events: Vec<Event> = Vec::new();
        self.watch.update(poses, |event| events.push(event));
        for event in &events {
            write_event(&mut self.lines, event, self.watch.zones(), now_us);
        }
        if self.lines.is_empty() { Ok(()) } else { self.target.write(&self.lines) }
    }

    fn finish(&mut self, _within: Duration) -> Result<(), SinkError> {
        // Every line is already with the kernel.
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::zones::{At, Zone};
    use super::*;

    #[test]
    fn a_line_is_json_whatever_a_zone_is_called() {
        let name = "Tür \"A\"\\".to_owned();
        let zones =
            Zones { zones: vec![Zone { name: name.clone(), at: At::Feet, polygon: vec![[0.0; 2]; 3] }] };
        let mut lines = Vec::new();
        for (what, track_id) in [(What::Enter(0), 3), (What::Fall, 4), (What::Count, 0)] {
            write_event(&mut lines, &Event { what, track_id, captured_at_us: 5, persons: 2 }, &zones, 9);
        }
        let lines: Vec<serde_json::Value> = String::from_utf8(lines)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(
            lines,
            [
                serde_json::json!({"event": "enter", "id": 3, "zone": name, "captured_us": 5, "emitted_us": 9, "persons": 2}),
                serde_json::json!({"event": "fall", "id": 4, "captured_us": 5, "emitted_us": 9, "persons": 2}),
                serde_json::json!({"event": "count", "captured_us": 5, "emitted_us": 9, "persons": 2}),
            ]
        );
    }
}
