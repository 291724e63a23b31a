//! Named pipes that outputs go into: opening one lasts until somebody reads it, which a signal must not have to wait for.

use std::fs::File;
use std::sync::atomic::AtomicBool;

use super::outputs::Outputs;

/// Waits until every named pipe has a reader, who does not see its end while what is returned is kept; `None` where `stop` is set before.
pub fn wait_for_readers(outputs: &Outputs, stop: &AtomicBool) -> Option<Vec<File>> {
    let mut held = Vec::new();
    for (flag, path) in outputs.files() {
        held.extend(shutdown::wait_for_reader(path, stop, |what| log::info!("{flag} {what}")).ok()?);
    }
    Some(held)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::Ordering;
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
