//! Files that users name: read up to a limit, replaced only by whole ones or by new lines, and never an output that is also the input.

#![forbid(unsafe_code)]

mod earlier;
mod lines;

#[cfg(unix)]
use std::ffi::OsStr;
#[cfg(unix)]
use std::fs::TryLockError;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tempfile::TempPath;

pub use earlier::{EARLIER_KEPT, earlier_names, followed, rotated_name};
pub use lines::{Existing, LinesFile};

/// Configurations and manifests: a hundred times what anybody has written.
pub const MAX_TEXT_BYTES: u64 = 1 << 20;

/// Networks and their weights: a board that could run more has not been seen.
pub const MAX_MODEL_BYTES: u64 = 512 << 20;

/// Labels of pictures and videos, and answers to them: COCO's own labels of 118,000 pictures are a quarter of this.
pub const MAX_LABEL_BYTES: u64 = 1 << 30;

/// What is said where a file has a writer already.
#[cfg(unix)]
const BUSY: &str = "another program writes it: end that one, or name another file";

/// The whole of a file that may be `max_bytes` long: what is endless, as `/dev/zero`, ends there.
///
/// # Errors
/// What the system says, or [`io::ErrorKind::FileTooLarge`].
pub fn read_at_most(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(max_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        let said = format!("larger than {} MiB, which no such file is", max_bytes >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, said));
    }
    Ok(bytes)
}

/// [`read_at_most`] of text.
///
/// # Errors
/// As there, or [`io::ErrorKind::InvalidData`] where it is not UTF-8.
pub fn read_text_at_most(path: &Path, max_bytes: u64) -> io::Result<String> {
    String::from_utf8(read_at_most(path, max_bytes)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not text (UTF-8)"))
}

/// Whether both paths lead to one file or folder, through links of either kind; a path that leads nowhere is no other.
pub fn is_same(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    let identity = |path: &Path| {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(path).map(|m| (m.dev(), m.ino()))
    };
    #[cfg(not(unix))]
    let identity = |path: &Path| fs::canonicalize(path);
    matches!((identity(a), identity(b)), (Ok(a), Ok(b)) if a == b)
}

/// Whether `path` is this program's own standard output: `-`, or one of the system's names for it.
pub fn is_stdout(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// Standard output as a file. What a file holds already stays its beginning, and what the shell writes afterwards follows.
#[cfg(unix)]
fn stdout() -> io::Result<File> {
    use std::os::fd::AsFd;
    let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let there = file.metadata()?;
    if there.is_file() && there.len() > 0 {
        let why = "standard output goes to a file that holds something already: name the file itself";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
    }
    Ok(file)
}

/// Whether what is written to both paths would be one file, also where it is not there yet: by its folder and its name, and by what a link
/// leads to.
pub fn would_be_same(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        let path = followed(path);
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(fs::canonicalize(folder).ok()?.join(path.file_name()?))
    };
    a == b
        || is_stdout(a) && is_stdout(b)
        || is_same(a, b)
        || matches!((place(a), place(b)), (Some(a), Some(b)) if a == b)
}

/// A file that takes its place when it is whole: it is written beside, as `NAME.….part`, and renamed.
///
/// Dropped before that, it is gone, and what stood there before stays; one that a pulled plug left behind can be read. It is on the
/// disk before it is renamed: else a plug pulled soon after would leave neither. What is no regular file (a device, a pipe) is written to at once.
#[derive(Debug)]
pub struct Replacement {
    file: File,
    path: PathBuf,
    /// Where it is until then.
    beside: Option<TempPath>,
    existing: Existing,
    /// Where the one went that stood there.
    earlier: Option<PathBuf>,
}

impl Replacement {
    /// Makes the file beside `path`.
    ///
    /// # Errors
    /// `path` may not be written, or nothing can be made beside it.
    pub fn create(path: &Path) -> io::Result<Self> {
        // By its name it would be opened once more, or another file put in its place.
        #[cfg(unix)]
        if is_stdout(path) {
            let (file, path) = (stdout()?, path.to_owned());
            return Ok(Self { file, path, beside: None, existing: Existing::Replace, earlier: None });
        }
        // Else it would come out when the file takes its place.
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                "that is a folder's name: give the file one",
            ));
        }
        let before = match fs::metadata(path) {
            Ok(before) => Some(before),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(e),
        };
        // A link stays; what it leads to is replaced.
        let path = followed(path);
        if let Some(before) = &before {
            // Also of a file that will be replaced: a folder that may be written would get round its protection.
            let file = File::options().write(true).open(&path)?;
            // The link that is left leads to a file whose name is gone: nothing can take its place.
            if !before.is_file() || path.is_symlink() {
                return Ok(Self { file, path, beside: None, existing: Existing::Replace, earlier: None });
            }
        }
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy().into_owned() + ".";
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Said of the folder rather than of a name that nobody has given.
        fs::metadata(folder)?;
        let mut beside = tempfile::Builder::new();
        beside.prefix(&name).suffix(".part");
        #[cfg(unix)]
        beside.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // less the umask
        let (file, beside) = beside.tempfile_in(folder)?.into_parts();
        if let Some(before) = before {
            file.set_permissions(before.permissions())?;
        }
        Ok(Self { file, path, beside: Some(beside), existing: Existing::Replace, earlier: None })
    }

    /// As [`Self::create`], of a file that takes long to write: refused while another one that is to take the same place is being made so.
    ///
    /// # Errors
    /// As there, or [`io::ErrorKind::ResourceBusy`].
    pub fn create_alone(path: &Path) -> io::Result<Self> {
        let new = Self::create(path)?;
        // Elsewhere a lock would keep readers and a program that is told the path out too.
        #[cfg(unix)]
        new.check_alone()?;
        Ok(new)
    }

    /// Whoever writes a file holds a lock on it, which a pulled plug leaves to nobody; where nothing can be locked, nobody is known of.
    #[cfg(unix)]
    fn check_alone(&self) -> io::Result<()> {
        let Some(own) = self.beside.as_deref() else { return Ok(()) };
        let _ = self.file.try_lock();
        let place = self.path.file_name().unwrap_or_default().as_encoded_bytes();
        let is_other = |name: &OsStr| {
            let rest = name.as_encoded_bytes().strip_prefix(place).and_then(|rest| rest.strip_prefix(b"."));
            // Another file's name may begin with this one's.
            let chance = rest.and_then(|rest| rest.strip_suffix(b".part"));
            chance.is_some_and(|chance| !chance.contains(&b'.')) && own.file_name() != Some(name)
        };
        let is_locked = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        // Lines are written to the place itself.
        if File::open(&self.path).is_ok_and(is_locked) {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, BUSY));
        }
        for entry in fs::read_dir(own.parent().unwrap_or(Path::new(".")))? {
            let entry = entry?;
            if is_other(&entry.file_name()) && File::open(entry.path()).is_ok_and(is_locked) {
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, BUSY));
            }
        }
        Ok(())
    }

    /// With [`Existing::Append`], what stands in the place when this takes it is kept under the first of [`earlier_names`].
    #[must_use]
    pub fn following(mut self, existing: Existing) -> Self {
        self.existing = existing;
        self
    }

    /// Where the file went that stood in the place, once this one is there.
    pub fn earlier(&self) -> Option<&Path> {
        self.earlier.as_deref()
    }

    /// Where it is until then, for a program that writes it: the place itself where that is no regular file.
    pub fn written_to(&self) -> &Path {
        self.beside.as_deref().unwrap_or(&self.path)
    }

    /// Hands the file to the disk and puts it into its place; does nothing where it is there already.
    ///
    /// # Errors
    /// It cannot be written to the end or renamed; it then stays beside.
    pub fn commit(&mut self) -> io::Result<()> {
        self.take_place(File::sync_all)
    }

    /// As [`Self::commit`], of what can be made again: it is not waited for the disk.
    ///
    /// # Errors
    /// It cannot be renamed; it then stays beside.
    pub fn commit_unsynced(&mut self) -> io::Result<()> {
        self.take_place(|_| Ok(()))
    }

    /// As [`Self::commit`], of a file that may be large, at an end that has a limit: a disk that takes longer goes on by itself, and the file
    /// takes its place meanwhile.
    ///
    /// # Errors
    /// As there.
    pub fn commit_within(&mut self, limit: Duration) -> io::Result<()> {
        self.take_place(|file| {
            let file = file.try_clone()?;
            let (done, is_done) = mpsc::sync_channel(1);
            let hand_over = move || _ = done.send(file.sync_all());
            thread::Builder::new().name("sync".into()).spawn(hand_over)?;
            is_done.recv_timeout(limit).unwrap_or(Ok(()))
        })
    }

    fn take_place(&mut self, hand_over: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
        let Some(beside) = self.beside.take() else { return Ok(()) };
        let stays = |beside: TempPath, error: io::Error| match beside.keep() {
            Ok(kept) => io::Error::new(error.kind(), format!("{error}; it is in {}", kept.display())),
            Err(_) => error,
        };
        match hand_over(&self.file) {
            // Whatever has no disk.
            Err(e) if e.kind() == io::ErrorKind::InvalidInput => {}
            Err(e) => return Err(stays(beside, e)),
            Ok(()) => {}
        }
        if self.existing == Existing::Append {
            match earlier::set_aside(&self.path) {
                Ok(earlier) => self.earlier = earlier,
                Err(e) => {
                    let said = format!("the earlier one cannot be kept under another name: {e}");
                    return Err(stays(beside, io::Error::new(e.kind(), said)));
                }
            }
        }
        beside.persist(&self.path).map_err(|failed| stays(failed.path, failed.error))
    }

    /// Leaves the file where it is, beside the place, and says where: whoever writes it may still be at it.
    ///
    /// # Errors
    /// It cannot be kept there.
    pub fn keep(mut self) -> io::Result<PathBuf> {
        let Some(beside) = self.beside.take() else { return Ok(self.path) };
        beside.keep().map_err(|failed| failed.error)
    }

    /// Cuts the file off, or makes it longer.
    ///
    /// # Errors
    /// As [`File::set_len`].
    pub fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    /// Whether nothing has been written, by this handle or by somebody who was told the path.
    ///
    /// # Errors
    /// As [`File::metadata`].
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.len() == 0)
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Replacement {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[cfg(test)]
mod tests;
