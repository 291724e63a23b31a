//! The end that always comes: what was asked to end and hangs (on a pipe that nobody reads, say) is ended all the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use posewire::output::display;

/// From the signal. An orderly end takes half a second at most.
const AFTER: Duration = Duration::from_secs(2);
/// How often it is looked whether there was one: a pipe or socket that tells of it may be more than a sandbox gives.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Ends the process with 1 where it has not ended by itself in time after `stop` was set.
///
/// # Errors
/// No thread can be started.
pub fn arm(stop: &Arc<AtomicBool>) -> std::io::Result<()> {
    let stop = stop.clone();
    let wait = move || {
        while !stop.load(Ordering::Acquire) {
            thread::sleep(LOOK_EVERY);
        }
        thread::sleep(AFTER);
        display::give_back_for_good();
        signal_hook::low_level::exit(1);
    };
    thread::Builder::new().name("last-resort".into()).spawn(wait).map(drop)
}
