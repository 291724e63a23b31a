//! Named pipes that something is written to: opening one lasts until somebody reads it.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// `stop` was set before a reader came.
#[derive(Debug)]
pub struct Stopped;

/// Whether that is a named pipe.
#[cfg(unix)]
pub fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|of| of.file_type().is_fifo())
}

/// Waits until the named pipe `path` has a reader, who does not see its end while the file is kept. `None` where it cannot be opened:
/// whoever opens it to write says what is wrong.
///
/// # Errors
/// [`Stopped`].
#[cfg(unix)]
pub fn wait_for_reader(path: &Path, stop: &AtomicBool) -> Result<Option<File>, Stopped> {
    use std::os::unix::fs::OpenOptionsExt;
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    /// How long a look for a reader may keep a signal waiting.
    const TICK: Duration = Duration::from_millis(50);
    let without_waiting = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    loop {
        match File::options().write(true).custom_flags(without_waiting).open(path) {
            Err(e) if e.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {}
            opened => return Ok(opened.ok()),
        }
        if stop.load(Ordering::Acquire) {
            return Err(Stopped);
        }
        std::thread::sleep(TICK);
    }
}

/// Elsewhere no file is a pipe.
#[cfg(not(unix))]
pub fn is_pipe(_: &Path) -> bool {
    false
}

/// Elsewhere no file is a pipe.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn wait_for_reader(_: &Path, _: &AtomicBool) -> Result<Option<File>, Stopped> {
    Ok(None)
}

#[cfg(all(test, unix))]
mod tests {
    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    #[test]
    fn a_pipe_is_waited_for_until_it_has_a_reader_or_is_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let [pipe, none] = ["pipe", "none"].map(|name| folder.path().join(name));
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        assert_eq!([is_pipe(&pipe), is_pipe(folder.path()), is_pipe(&none)], [true, false, false]);
        assert!(wait_for_reader(&pipe, &AtomicBool::new(true)).is_err());
        let to_read = pipe.clone();
        let reader = std::thread::spawn(move || std::fs::read_to_string(to_read));
        let held = wait_for_reader(&pipe, &AtomicBool::new(false)).unwrap();
        assert!(held.is_some());
        drop(held);
        assert_eq!(reader.join().unwrap().unwrap(), "");
    }
}
