//! Where lines go: the standard output, a pipe, or a file that ends with a whole line whatever happens.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::SinkError;
use crate::files;
pub use crate::files::Existing;
use crate::reason::Reason;

/// What lines look like.
#[derive(Clone, Copy)]
pub(super) struct Shape<'a> {
    /// What stands before the first of them, newline included; empty where nothing does.
    pub first_row: &'a [u8],
    /// How every one of them begins; empty where they begin in no way of their own.
    pub beginning: &'a [u8],
    /// No line, and no first row, is longer.
    pub longest: usize,
}

/// The standard output, or an open file, pipe or device: one `write` for all lines of a frame, so that a reader at the other end of
/// a pipe sees them at once.
pub(super) enum Lines {
    /// `file` where that is a file (`> FILE`).
    Stdout {
        file: Option<files::LinesFile>,
        is_begun: bool,
    },
    File(LinesFile),
}

impl Lines {
    /// Creates the file `path` or opens one that is there, or takes standard output for `-` and the system's names of it; `option` is what the user calls it.
    ///
    /// # Errors
    /// [`SinkError::Fatal`] where the file cannot be created, or holds lines that these cannot follow.
    pub fn open(option: &str, path: &Path, existing: Existing, shape: Shape<'_>) -> Result<Self, SinkError> {
        if files::is_stdout(path) {
            return Ok(Self::Stdout { file: files::LinesFile::stdout(), is_begun: false });
        }
        let file = LinesFile::open(path, existing, shape).map_err(|e| {
            let why = match e.kind() {
                io::ErrorKind::InvalidData | io::ErrorKind::ResourceBusy => Reason::of(e),
                _ => Reason::new("cannot be created", e),
            };
            SinkError::fatal(format_args!("{option} {}", path.display()), why)
        })?;
        Ok(Self::File(file))
    }

    /// For the log.
    pub fn shown(&self) -> String {
        match self {
            Self::Stdout { .. } => "-".to_owned(),
            Self::File(file) => file.path.display().to_string(),
        }
    }

    /// A file that has reached `bytes` becomes `PATH.1`, in the place of an older one, and a new one is begun.
    pub fn rotate_at(&mut self, bytes: u64) {
        if let Self::File(file) = self {
            file.rotate_at = Some(bytes);
        }
    }

    /// Makes room for a table's next rows; whether the row of names has to come first.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn is_first_row_due(&mut self) -> Result<bool, SinkError> {
        match self {
            Self::Stdout { is_begun, .. } => Ok(!std::mem::replace(is_begun, true)),
            Self::File(file) => file.is_first_row_due().map_err(|e| self.told(e)),
        }
    }

    /// Writes whole lines: what is to be replaced stays until there are some.
    ///
    /// # Errors
    /// [`SinkError::Closed`] where the reader is gone, else [`SinkError::Fatal`].
    pub fn write(&mut self, lines: &[u8]) -> Result<(), SinkError> {
        let written = match self {
            Self::Stdout { file, .. } => {
                // Held meanwhile: events may go there too.
                let mut out = io::stdout().lock();
                match file {
                    Some(file) => file.write_all(lines),
                    None => out.write_all(lines).and_then(|()| out.flush()),
                }
            }
            Self::File(file) => file.write(lines),
        };
        written.map_err(|e| self.told(e))
    }

    fn told(&self, e: io::Error) -> SinkError {
        let words = "cannot be written; the lines before are complete: make room and start again";
        match (self, e.kind()) {
            (Self::Stdout { .. }, io::ErrorKind::BrokenPipe) => {
                SinkError::Closed("the reader of standard output is gone".into())
            }
            (Self::Stdout { file: Some(_), .. }, _) => {
                SinkError::fatal("standard output", Reason::new(words, e))
            }
            (Self::Stdout { .. }, _) => SinkError::fatal("standard output", Reason::of(e)),
            (Self::File(file), io::ErrorKind::BrokenPipe) => {
                SinkError::Closed(format!("the reader of {} is gone", file.path.display()).into())
            }
            (Self::File(file), _) => SinkError::fatal(file.path.display(), Reason::new(words, e)),
        }
    }
}

/// An open file, pipe or device.
pub(super) struct LinesFile {
    file: files::LinesFile,
    path: PathBuf,
    /// Something was written to what is no regular file.
    is_begun: bool,
    /// Bytes after which a new file is begun.
    rotate_at: Option<u64>,
}

impl LinesFile {
    /// # Errors
    /// It cannot be created, or what it holds is not of this format.
    fn open(path: &Path, existing: Existing, shape: Shape<'_>) -> io::Result<Self> {
        let file = files::LinesFile::open(path, existing)?;
        if existing == Existing::Append {
            end_last_line(path, file.as_file(), shape)?;
        }
        Ok(Self { file, path: path.to_owned(), is_begun: false, rotate_at: None })
    }

    /// Lets go of what is replaced or put aside.
    fn make_room(&mut self) -> io::Result<()> {
        self.file.make_room()?;
        if let Some(bytes) = self.rotate_at {
            rotate(&mut self.file, &self.path, bytes)?;
        }
        Ok(())
    }

    fn is_first_row_due(&mut self) -> io::Result<bool> {
        self.make_room()?;
        let now = self.file.as_file().metadata()?;
        Ok(if now.is_file() { now.len() == 0 } else { !self.is_begun })
    }

    /// All of `lines` or nothing, where the file can be cut back.
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        self.make_room()?;
        self.is_begun = true;
        self.file.write_all(lines)
    }
}

/// What is said of a file that holds something else than is to follow it; `what` is that.
fn not_these(what: &str) -> io::Error {
    let said = format!(
        "it holds something else than {what}: name another file, or replace it ([jsonl] existing = \"replace\")"
    );
    io::Error::new(io::ErrorKind::InvalidData, said)
}

/// Cuts off the half line that a pulled plug left. Lines follow only what begins with JSON as they do, and a table goes on only under its
/// own names: anything else, a table or a film, they would ruin.
fn end_last_line(path: &Path, mut file: &File, shape: Shape<'_>) -> io::Result<()> {
    if !file.metadata()?.is_file() {
        return Ok(());
    }
    let mut reader = File::open(path)?;
    let bytes = without_zeros(&mut reader)?;
    if bytes < file.metadata()?.len() {
        file.set_len(bytes)?;
    }
    if bytes == 0 {
        return Ok(());
    }
    reader.rewind()?;
    let names = shape.first_row;
    if !names.is_empty() {
        let mut first = Vec::new();
        (&mut reader).take(names.len() as u64).read_to_end(&mut first)?;
        if first != names {
            if names.starts_with(&first) {
                return file.set_len(0);
            }
            return Err(not_these("this table"));
        }
    } else if !shape.beginning.is_empty() {
        let mut first = [0];
        reader.read_exact(&mut first)?;
        if !shape.beginning.starts_with(&first) {
            return Err(not_these("lines of JSON"));
        }
    }
    let mut end = Vec::new();
    let read_from = bytes.saturating_sub(2 * shape.longest as u64);
    reader.seek(SeekFrom::Start(read_from))?;
    reader.take(2 * shape.longest as u64).read_to_end(&mut end)?;
    let last_line = end.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let beginning = shape.beginning;
    match &end[last_line..] {
        [] => Ok(()),
        half if half.starts_with(beginning) || beginning.starts_with(half) => {
            file.set_len(read_from + last_line as u64)
        }
        _ => file.write_all(b"\n"),
    }
}

/// Length of a file without the zeros at its end: what a pulled plug leaves where a file had grown and its blocks were not written.
fn without_zeros(reader: &mut File) -> io::Result<u64> {
    const BLOCK_BYTES: u64 = 1 << 16;
    let mut end = reader.metadata()?.len();
    let mut block = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(BLOCK_BYTES);
        block.clear();
        reader.seek(SeekFrom::Start(start))?;
        reader.take(end - start).read_to_end(&mut block)?;
        if let Some(last) = block.iter().rposition(|&byte| byte != 0) {
            return Ok(start + last as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

fn rotate(file: &mut files::LinesFile, path: &Path, at_bytes: u64) -> io::Result<()> {
    let now = file.as_file().metadata()?;
    if now.is_file() && now.len() >= at_bytes {
        // A link stays, and both files where it leads to.
        let path = files::followed(path);
        std::fs::rename(&path, files::rotated_name(&path))?;
        *file = files::LinesFile::open(&path, Existing::Append)?;
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn half_a_line_at_the_end_of_a_long_file_costs_no_line_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("poses");
        let whole = "{\"seq\":1}\n".repeat(50);
        std::fs::write(&path, format!("{whole}{{\"se")).unwrap();
        let shape = Shape { first_row: b"", beginning: b"{\"seq\":", longest: 20 };
        Lines::open("--jsonl", &path, Existing::Append, shape).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
    }

    #[test]
    fn zeros_that_a_pulled_plug_left_are_cut_off_with_the_half_line_before_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("poses");
        let shape = Shape { first_row: b"", beginning: b"{\"seq\":", longest: 20 };
        let whole = "{\"seq\":1}\n".repeat(3);
        for (before, kept) in [("", ""), (&*whole, &*whole), (&*format!("{whole}{{\"se"), &*whole)] {
            for zeros in [1, 300, 1 << 16, 200_000] {
                std::fs::write(&path, [before.as_bytes(), &vec![0; zeros]].concat()).unwrap();
                Lines::open("--jsonl", &path, Existing::Append, shape).unwrap();
                assert_eq!(std::fs::read_to_string(&path).unwrap(), kept, "{zeros} zeros");
            }
        }
    }

    #[test]
    fn a_link_stays_and_what_it_leads_to_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("usb")).unwrap();
        std::os::unix::fs::symlink("usb/poses", at("poses")).unwrap();
        let shape = Shape { first_row: b"", beginning: b"", longest: 10 };
        let mut lines = Lines::open("--jsonl", &at("poses"), Existing::Append, shape).unwrap();
        lines.rotate_at(4);
        for line in [b"old\n", b"new\n"] {
            lines.write(line).unwrap();
        }
        assert!(std::fs::symlink_metadata(at("poses")).unwrap().is_symlink());
        let held = ["usb/poses.1", "usb/poses"].map(|name| std::fs::read_to_string(at(name)).unwrap());
        assert_eq!(held, ["old\n", "new\n"]);
        assert!(!at("poses.1").exists());
    }
}
