//! Named pipes that something is written to: their reader is waited for aloud, and not beyond a signal.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use shutdown::Stopped;

/// Waits until a named pipe has a reader, who does not see its end while what is returned is kept; anything else waits for nobody. `what`: the
/// command's option.
pub fn wait_for_reader(what: &str, path: &Path, stop: &AtomicBool) -> Result<Option<File>, Stopped> {
    if !shutdown::is_pipe(path) {
        return Ok(None);
    }
    let shown = path.display();
    say!("posewire-hub {what} {shown}: a pipe: waiting for its reader");
    let held = shutdown::wait_for_reader(path, stop);
    if held.is_err() {
        say!("posewire-hub {what} {shown}: ended before its reader came: nothing was sent");
    }
    held
}
