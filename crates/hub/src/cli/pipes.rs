//! Named pipes that something is written to: their reader is waited for aloud, and not beyond a signal.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use shutdown::Stopped;

/// As [`shutdown::wait_for_reader`]; `what`: the command's option.
pub fn wait_for_reader(what: &str, path: &Path, stop: &AtomicBool) -> Result<Option<File>, Stopped> {
    shutdown::wait_for_reader(path, stop, |word| say!("posewire-hub {what} {word}"))
}
