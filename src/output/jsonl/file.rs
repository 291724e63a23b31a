//! Where lines go: the standard output, a pipe, or a file that ends with a whole line whatever happens.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{CAPACITY, Format};

/// What becomes of lines that the file holds already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// The first new frame takes their place.
    Replace,
    /// New ones follow them.
    Append,
}

/// An open file, pipe or device.
pub(super) struct LinesFile {
    file: File,
    pub path: PathBuf,
    /// What it holds goes with the first frame.
    is_old: bool,
    /// Something was written to what is no regular file.
    is_begun: bool,
    /// Bytes after which a new file is begun.
    pub rotate_at: Option<u64>,
}

impl LinesFile {
    /// # Errors
    /// It cannot be created, or what it holds is not of this format.
    pub fn open(path: &Path, existing: Existing, format: Format) -> io::Result<Self> {
        let file = open_lines(path)?;
        if existing == Existing::Append {
            end_last_line(path, &file, format)?;
        }
        let is_old = existing == Existing::Replace;
        Ok(Self { file, path: path.to_owned(), is_old, is_begun: false, rotate_at: None })
    }

    /// Makes room for the next lines; with `has_first_row`, whether that is what has to come first.
    pub fn prepare(&mut self, has_first_row: bool) -> io::Result<bool> {
        if std::mem::take(&mut self.is_old) && self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        if let Some(bytes) = self.rotate_at {
            rotate(&mut self.file, &self.path, bytes)?;
        }
        if !has_first_row {
            return Ok(false);
        }
        let now = self.file.metadata()?;
        Ok(if now.is_file() { now.len() == 0 } else { !self.is_begun })
    }

    /// All of `lines` or nothing, where the file can be cut back.
    pub fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        self.is_begun = true;
        append_whole(&mut self.file, lines)
    }
}

/// At its end, wherever that is: somebody else may cut the file back.
fn open_lines(path: &Path) -> io::Result<File> {
    File::options().append(true).create(true).open(path)
}

/// Cuts off the half line that a pulled plug left; text of another kind gets an end of its own. A table goes on only under
/// its own names.
fn end_last_line(path: &Path, mut file: &File, format: Format) -> io::Result<()> {
    let bytes = file.metadata()?.len();
    if !file.metadata()?.is_file() || bytes == 0 {
        return Ok(());
    }
    let mut reader = File::open(path)?;
    if format.has_first_row() {
        let mut names = Vec::with_capacity(CAPACITY);
        format.write_first_row(&mut names);
        let mut first = Vec::new();
        (&mut reader).take(names.len() as u64).read_to_end(&mut first)?;
        if first != names {
            if names.starts_with(&first) {
                return file.set_len(0);
            }
            let said = "it holds something else than this table: name another file, or replace it ([jsonl] existing = \"replace\")";
            return Err(io::Error::new(io::ErrorKind::InvalidData, said));
        }
    }
    let mut end = Vec::new();
    let read_from = bytes.saturating_sub(2 * CAPACITY as u64);
    reader.seek(SeekFrom::Start(read_from))?;
    reader.take(2 * CAPACITY as u64).read_to_end(&mut end)?;
    let last_line = end.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let beginning = format.beginning();
    match &end[last_line..] {
        [] => Ok(()),
        half if half.starts_with(beginning) || beginning.starts_with(half) => {
            file.set_len(read_from + last_line as u64)
        }
        _ => file.write_all(b"\n"),
    }
}

/// Half a line would make the whole file unreadable to a strict reader: it is taken back. Pipes and devices cannot be cut
/// back, and have nothing to keep.
fn append_whole(file: &mut File, lines: &[u8]) -> io::Result<()> {
    let mut written = 0;
    while written < lines.len() {
        match file.write(&lines[written..]) {
            Ok(n @ 1..) => written += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            failed => {
                if let Ok(now) = file.metadata() {
                    let _ = file.set_len(now.len().saturating_sub(written as u64));
                }
                return Err(failed.err().unwrap_or(io::ErrorKind::WriteZero.into()));
            }
        }
    }
    Ok(())
}

fn rotate(file: &mut File, path: &Path, at_bytes: u64) -> io::Result<()> {
    let now = file.metadata()?;
    if now.is_file() && now.len() >= at_bytes {
        let mut older = path.as_os_str().to_owned();
        older.push(".1");
        std::fs::rename(path, older)?;
        *file = open_lines(path)?;
    }
    Ok(())
}
