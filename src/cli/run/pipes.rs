//! Named pipes that outputs go into: opening one lasts until somebody reads it, which a signal must not have to wait for.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::outputs::Outputs;

/// How long a look for a reader may keep a signal waiting.
const TICK: Duration = Duration::from_millis(50);

/// Waits until every named pipe has a reader, who does not see its end while what is returned is kept; `None` where `stop` is set before.
pub fn wait_for_readers(outputs: &Outputs, stop: &AtomicBool) -> Option<Vec<File>> {
    let mut held = Vec::new();
    for (flag, path) in outputs.files().filter(|(_, path)| is_fifo(path)) {
        let shown = path.display();
        log::info!("{flag} {shown}: a pipe: waiting for its reader");
        loop {
            let opened = OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(path);
            match opened {
                Ok(file) => held.push(file),
                Err(e) if e.raw_os_error() == Some(libc::ENXIO) => {
                    if stop.load(Ordering::Acquire) {
                        log::info!("{flag} {shown}: ended before its reader came: nothing was sent");
                        return None;
                    }
                    std::thread::sleep(TICK);
                    continue;
                }
                // Whoever opens it to write says what is wrong.
                Err(_) => {}
            }
            break;
        }
    }
    Some(held)
}

fn is_fifo(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|of| of.file_type().is_fifo())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::sync::Arc;
    use std::thread::spawn;

    use posewire::config::Config;
    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    #[test]
    fn a_pipe_is_waited_for_until_it_has_a_reader_or_a_signal_comes() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
        for fifo in [&one, &other] {
            mkfifoat(CWD, fifo, Mode::RUSR | Mode::WUSR).unwrap();
        }
        let text = format!("[jsonl]\npath = {one:?}\n[events]\npath = {other:?}\n");
        let config = Config::parse(&text, Path::new("x")).unwrap();
        let stop = Arc::new(AtomicBool::new(true));
        assert!(wait_for_readers(&Outputs::of(&config), &stop).is_none());

        stop.store(false, Ordering::Release);
        let readers = [one, other].map(|fifo| {
            spawn(move || {
                let mut heard = String::new();
                File::open(fifo).unwrap().read_to_string(&mut heard).unwrap();
                heard
            })
        });
        let held = wait_for_readers(&Outputs::of(&config), &stop).unwrap();
        assert_eq!(held.len(), 2);
        drop(held);
        assert_eq!(readers.map(|reader| reader.join().unwrap()), [const { String::new() }; 2]);

        let plain = Config::parse("[jsonl]\npath = \"no such file\"\n", Path::new("x")).unwrap();
        assert_eq!(wait_for_readers(&Outputs::of(&plain), &stop).map(|held| held.len()), Some(0));
    }
}
