//! The sink of `--jsonl`.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pose::PoseFrame;

use super::file::{Existing, LinesFile};
use super::{CAPACITY, Format, Head, source_of};
use crate::output::{Host, PoseSink, Predict, SinkError};

enum Target {
    Stdout { out: io::Stdout, is_begun: bool },
    File(LinesFile),
}

/// The sink of `--jsonl PATH|-`: one `write` a frame, so a reader at the other end of a pipe sees its lines at once and
/// a file ends with a complete line whatever happens.
pub struct JsonLines {
    name: String,
    target: Target,
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
        let (shown, target) = if path == Path::new("-") {
            ("-".to_owned(), Target::Stdout { out: io::stdout(), is_begun: false })
        } else {
            let file = LinesFile::open(path, existing, format).map_err(|e| {
                SinkError::Fatal(match e.kind() {
                    io::ErrorKind::InvalidData => format!("--jsonl {}: {e}", path.display()),
                    _ => format!("--jsonl {}: cannot be created: {e}", path.display()),
                })
            })?;
            (path.display().to_string(), Target::File(file))
        };
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
        if let Target::File(file) = &mut self.target {
            file.rotate_at = Some(bytes);
        }
        self
    }

    /// The frame's lines, after the first row where that is due.
    fn compose(&mut self, with_first_row: bool, poses: &PoseFrame, now_us: i64) {
        self.lines.clear();
        if with_first_row {
            self.format.write_first_row(&mut self.lines);
        }
        let head = Head {
            seq: poses.seq,
            frame: Some(poses.frame),
            captured_at_us: poses.captured_at_us,
            emitted_at_us: now_us,
            source: source_of(self.host.as_deref()),
        };
        self.format.write(&mut self.lines, &head, self.predict.poses(poses, now_us));
    }

    fn write(&mut self, poses: &PoseFrame, now_us: i64) -> io::Result<()> {
        let has_first_row = self.format.has_first_row();
        let with_first_row = match &mut self.target {
            Target::Stdout { is_begun, .. } => has_first_row && !std::mem::replace(is_begun, true),
            Target::File(file) => file.prepare(has_first_row)?,
        };
        self.compose(with_first_row, poses, now_us);
        if self.lines.is_empty() {
            return Ok(());
        }
        match &mut self.target {
            Target::Stdout { out, .. } => {
                let mut out = out.lock();
                out.write_all(&self.lines)?;
                out.flush()
            }
            Target::File(file) => file.write(&self.lines),
        }
    }
}

impl PoseSink for JsonLines {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<(), SinkError> {
        self.write(poses, now_us).map_err(|e| match (&self.target, e.kind()) {
            (Target::Stdout { .. }, io::ErrorKind::BrokenPipe) => {
                SinkError::Closed("the reader of standard output is gone".into())
            }
            (Target::Stdout { .. }, _) => SinkError::Fatal(format!("standard output: {e}")),
            (Target::File(file), io::ErrorKind::BrokenPipe) => {
                SinkError::Closed(format!("the reader of {} is gone", file.path.display()))
            }
            (Target::File(file), _) => SinkError::Fatal(format!(
                "{}: {e}; the lines before are complete: make room and start again",
                file.path.display()
            )),
        })
    }

    fn finish(&mut self, _within: Duration) -> Result<(), SinkError> {
        // Every line is already with the kernel.
        Ok(())
    }
}
