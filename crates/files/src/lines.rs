//! A file of lines that ends with a whole line whatever happens.

use std::fs::File;
#[cfg(unix)]
use std::fs::TryLockError;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// What becomes of what the file holds already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// The first new lines, or the new file once it is whole, take its place.
    Replace,
    /// New lines follow it; before a whole new file it is kept under another name.
    Append,
}

/// An open file, pipe or device. What one `write` gets is in it whole, or, where it can be cut back, not at all: half a line would make
/// the whole file unreadable to a strict reader.
#[derive(Debug)]
pub struct LinesFile {
    file: File,
    /// What it holds goes with the first new lines.
    is_old: bool,
    /// Nobody else is to write it meanwhile.
    is_locked: bool,
}

impl LinesFile {
    /// Opens or makes it; what it holds stays for now.
    ///
    /// # Errors
    /// What the system says, or [`io::ErrorKind::ResourceBusy`] where another program writes it.
    pub fn open(path: &Path, existing: Existing) -> io::Result<Self> {
        // At its end, wherever that is: somebody else may cut the file back.
        let file = File::options().append(true).create(true).open(path)?;
        // Elsewhere a lock would keep readers out too.
        #[cfg(unix)]
        if file.metadata()?.is_file() && matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, crate::BUSY));
        }
        Ok(Self { file, is_old: existing == Existing::Replace, is_locked: true })
    }

    /// Standard output, where that is a file (`> FILE`); what it holds stays. Unlike the standard library's it keeps nothing back.
    #[cfg(unix)]
    pub fn stdout() -> Option<Self> {
        use std::os::fd::AsFd;
        let file = File::from(io::stdout().as_fd().try_clone_to_owned().ok()?);
        let is_file = file.metadata().is_ok_and(|now| now.is_file());
        is_file.then_some(Self { file, is_old: false, is_locked: false })
    }

    /// Standard output, where it can be cut back.
    #[cfg(not(unix))]
    pub fn stdout() -> Option<Self> {
        None
    }

    /// Lets go of what is to be replaced, for lines that come now.
    ///
    /// # Errors
    /// It cannot be cut off.
    pub fn make_room(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_old) && self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        Ok(())
    }

    /// Takes back the last `written` bytes, unless somebody else's follow them.
    fn cut_back(&mut self, written: usize) {
        // Pipes and devices have no place, and nothing to keep.
        let Ok(at) = self.file.stream_position() else { return };
        if self.file.metadata().is_ok_and(|now| now.is_file() && now.len() == at) {
            let before = at.saturating_sub(written as u64);
            // The place too: what the shell's next command writes would leave a hole.
            let _ = self.file.set_len(before).and_then(|()| self.file.seek(SeekFrom::Start(before)));
        }
    }

    /// The file itself.
    pub fn as_file(&self) -> &File {
        &self.file
    }
}

/// Let go at once: with the file alone, a child process that is about to begin would hold the lock until it has.
#[cfg(unix)]
impl Drop for LinesFile {
    fn drop(&mut self) {
        if self.is_locked {
            let _ = self.file.unlock();
        }
    }
}

impl Write for LinesFile {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        self.make_room()?;
        let mut written = 0;
        while written < lines.len() {
            match self.file.write(&lines[written..]) {
                Ok(n @ 1..) => written += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                failed => {
                    self.cut_back(written);
                    return Err(failed.err().unwrap_or(io::ErrorKind::WriteZero.into()));
                }
            }
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_there_stays_until_the_first_new_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        for (existing, then) in [(Existing::Replace, "new\nnewer\n"), (Existing::Append, "old\nnew\nnewer\n")]
        {
            fs::write(&path, "old\n").unwrap();
            let mut lines = LinesFile::open(&path, existing).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "old\n", "{existing:?}");
            lines.write_all(b"new\n").unwrap();
            lines.write_all(b"newer\n").unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), then, "{existing:?}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn another_may_write_as_soon_as_one_has_ended_whoever_has_inherited_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let one = LinesFile::open(&path, Existing::Replace).unwrap();
        let _inherited = one.as_file().try_clone().unwrap();
        drop(one);
        LinesFile::open(&path, Existing::Replace).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn two_do_not_write_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let _one = LinesFile::open(&path, Existing::Replace).unwrap();
        let other = LinesFile::open(&path, Existing::Replace).unwrap_err();
        assert_eq!(other.kind(), io::ErrorKind::ResourceBusy);
        let null = Path::new("/dev/null");
        let two = [(); 2].map(|()| LinesFile::open(null, Existing::Replace).is_ok());
        assert_eq!(two, [true; 2], "a device is anybody's");
    }
}
