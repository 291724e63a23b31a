//! The sink of `--jsonl`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pose::PoseFrame;

use super::{CAPACITY, Format, Head};
use crate::output::lines::{Lines, Shape};
use crate::output::{Existing, Host, PoseSink, Predict, Sending, SinkError};

/// The sink of `--jsonl PATH|-`: one `write` a frame, so a reader at the other end of a pipe sees its lines at once and
/// a file ends with a complete line whatever happens.
pub struct JsonLines {
    name: String,
    target: Lines,
    format: Format,
    predict: Predict,
    lines: Vec<u8>,
    host: Option<Arc<dyn Host>>,
}

impl JsonLines {
    /// Creates the file `path` or opens one that is there, or takes standard output for `-`.
    ///
    /// # Errors
    /// [`SinkError::Fatal`] where the file cannot be created, or holds lines that these cannot follow.
    pub fn open(
        path: &Path,
        existing: Existing,
        format: Format,
        predict: Predict,
    ) -> Result<Self, SinkError> {
        let mut first_row = Vec::new();
        format.write_first_row(&mut first_row);
        let shape = Shape { first_row: &first_row, beginning: format.beginning(), longest: CAPACITY };
        let target = Lines::open("--jsonl", path, existing, shape)?;
        let shown = target.shown();
        let name = match format {
            Format::Full => format!("jsonl {shown}"),
            other => format!("jsonl {shown} ({other})"),
        };
        Ok(Self { name, target, format, predict, lines: Vec::with_capacity(CAPACITY), host: None })
    }

    /// Lines say where frames come from, as `host` knows it, where that is the built-in clip.
    pub fn told_by(self, host: Arc<dyn Host>) -> Self {
        Self { host: Some(host), ..self }
    }

    /// A file that has reached `bytes` becomes `PATH.1`, in the place of an older one, and a new one is begun.
    pub fn rotated_at(mut self, bytes: u64) -> Self {
        self.target.rotate_at(bytes);
        self
    }

    /// The frame's lines, after the first row where that is due.
    fn compose(&mut self, with_first_row: bool, poses: &PoseFrame, now_us: i64) {
        self.lines.clear();
        if with_first_row {
            self.format.write_first_row(&mut self.lines);
        }
        let head = Head::of(poses, now_us, self.host.as_deref());
        self.format.write(&mut self.lines, &head, self.predict.poses(poses, now_us));
    }
}

impl PoseSink for JsonLines {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<Sending, SinkError> {
        let with_first_row = self.format.has_first_row() && self.target.is_first_row_due()?;
        self.compose(with_first_row, poses, now_us);
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
