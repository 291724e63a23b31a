//! Signals ask a command to end, and the end always comes: what hangs (on a pipe that nobody reads, say) is ended all the same.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use posewire::child_process::end_groups;
use posewire::output::display;
use shutdown::{Cause, Held, LastResort, exit_at_once};

/// From the signal. An orderly end takes half a second at most.
const AFTER: Duration = Duration::from_secs(2);
/// For a last line in the log.
const TO_SAY_IT: Duration = Duration::from_millis(100);

/// Ends the process with 1 where it has not ended by itself in time after `stop` was set. What is returned is set once the user
/// has waited for as long as an orderly end takes.
///
/// # Errors
/// No thread can be started.
pub fn arm(stop: &Arc<AtomicBool>) -> std::io::Result<Arc<AtomicBool>> {
    Ok(LastResort::arm(stop, Some(AFTER), |_| end_at_once(None))?.is_late())
}

/// Not in the signal's handler, which may not wait for the lock of what there is to end. Says `why`.
fn end_at_once(why: Option<String>) {
    end_groups();
    if let Some(why) = why {
        // Standard error may be what hangs.
        let _ = thread::Builder::new().spawn(move || log::error!("{why}"));
        thread::sleep(TO_SAY_IT);
    }
    display::give_back_for_good();
    exit_at_once(1)
}

/// SIGINT, SIGTERM, or SIGHUP that is not ignored, sets `stop`; a later one, and a hang in any case, ends the process with 1.
///
/// # Errors
/// Signals cannot be listened for.
pub fn listen(stop: &Arc<AtomicBool>) -> std::io::Result<()> {
    LastResort::listen(stop, Some(AFTER), |_| end_at_once(None)).map(drop)
}

/// The same, but a hang ends the process only while what is returned is held: `after` the signal, and `why` is said. Afterwards, as
/// while a file is completed, only a later signal does.
///
/// # Errors
/// Signals cannot be listened for.
pub fn listen_while(stop: &Arc<AtomicBool>, after: Duration, why: String) -> std::io::Result<Held> {
    let end = |cause| end_at_once(Some(why).filter(|_| cause == Cause::TooLate));
    Ok(LastResort::listen(stop, Some(after), end)?.held())
}
