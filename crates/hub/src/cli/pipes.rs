//! Named pipes that something is written to: opening one lasts until somebody reads it, which a signal must not have to wait for.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Before its reader came, a signal did.
pub struct Stopped;

/// Waits until a named pipe has a reader, who does not see its end while what is returned is kept; anything else waits for nobody. `what`: the
/// command's option.
#[cfg(unix)]
pub fn wait_for_reader(what: &str, path: &Path, stop: &AtomicBool) -> Result<Option<File>, Stopped> {
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
    use std::sync::atomic::Ordering;

    if !std::fs::metadata(path).is_ok_and(|of| of.file_type().is_fifo()) {
        return Ok(None);
    }
    let shown = path.display();
    say!("posewire-hub {what} {shown}: a pipe: waiting for its reader");
    loop {
        let without_waiting = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        match OpenOptions::new().write(true).custom_flags(without_waiting).open(path) {
            Err(e) if e.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {}
            // Whoever opens it to write says what is wrong.
            opened => return Ok(opened.ok()),
        }
        if stop.load(Ordering::Relaxed) {
            say!("posewire-hub {what} {shown}: ended before its reader came: nothing was sent");
            return Err(Stopped);
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Elsewhere no file is a pipe.
#[cfg(not(unix))]
pub fn wait_for_reader(_: &str, _: &Path, _: &AtomicBool) -> Result<Option<File>, Stopped> {
    Ok(None)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_waited_for_until_it_has_a_reader_or_a_signal_comes() {
        use rustix::fs::{CWD, Mode, mkfifoat};

        let folder = tempfile::tempdir().unwrap();
        let (pipe, plain) = (folder.path().join("pipe"), folder.path().join("plain"));
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        let wait = |path: &Path, is_told| wait_for_reader("run: --jsonl", path, &AtomicBool::new(is_told));
        assert!(wait(&pipe, true).is_err());
        assert!(wait(&plain, true).is_ok_and(|held| held.is_none()));
        let reader = std::thread::spawn(move || std::fs::read_to_string(pipe));
        let held = wait(&folder.path().join("pipe"), false);
        assert!(held.is_ok_and(|held| held.is_some()));
        assert_eq!(reader.join().unwrap().unwrap(), "");
    }
}
