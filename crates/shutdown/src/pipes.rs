//! Named pipes that something is written to: opening one lasts until somebody reads it.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// `stop` was set before a reader came.
#[derive(Debug)]
pub struct Stopped;

/// Whether that is a named pipe.
#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|of| of.file_type().is_fifo())
}

/// Waits until a named pipe has a reader, who does not see its end while the file is kept; says so, and also where none came. `None` for
/// what is no pipe, and where it cannot be opened: opening it to write shows what is wrong.
///
/// # Errors
/// [`Stopped`].
pub fn wait_for_reader(
    path: &Path,
    stop: &AtomicBool,
    say: impl Fn(std::fmt::Arguments<'_>),
) -> Result<Option<File>, Stopped> {
    if !is_pipe(path) {
        return Ok(None);
    }
    let shown = path.display();
    say(format_args!("{shown}: a pipe: waiting for its reader"));
    let held = opened_once_read(path, stop);
    if held.is_err() {
        say(format_args!("{shown}: ended before its reader came: nothing was sent"));
    }
    held
}

#[cfg(unix)]
fn opened_once_read(path: &Path, stop: &AtomicBool) -> Result<Option<File>, Stopped> {
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
fn is_pipe(_: &Path) -> bool {
    false
}

#[cfg(not(unix))]
fn opened_once_read(_: &Path, _: &AtomicBool) -> Result<Option<File>, Stopped> {
    Ok(None)
}

#[cfg(all(test, unix))]
mod tests {
    use std::cell::RefCell;
    use std::fmt;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    #[test]
    fn a_pipe_is_waited_for_until_it_has_a_reader_or_is_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let [pipe, none] = ["pipe", "none"].map(|name| folder.path().join(name));
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        assert_eq!([is_pipe(&pipe), is_pipe(folder.path()), is_pipe(&none)], [true, false, false]);
        let said = RefCell::new(Vec::new());
        let wait = |path: &Path, is_stopped| {
            said.borrow_mut().clear();
            let say = |what: fmt::Arguments<'_>| said.borrow_mut().push(what.to_string());
            wait_for_reader(path, &AtomicBool::new(is_stopped), say)
        };
        assert!(wait(&pipe, true).is_err());
        assert!(said.borrow().len() == 2 && said.borrow()[1].contains("before its reader came"), "{said:?}");
        assert!(wait(&none, true).unwrap().is_none() && wait(folder.path(), true).unwrap().is_none());
        assert!(said.borrow().is_empty(), "{said:?}");
        let to_read = pipe.clone();
        let reader = std::thread::spawn(move || std::fs::read_to_string(to_read));
        let held = wait(&pipe, false).unwrap();
        assert!(held.is_some() && said.borrow().len() == 1);
        drop(held);
        assert_eq!(reader.join().unwrap().unwrap(), "");
    }
}
