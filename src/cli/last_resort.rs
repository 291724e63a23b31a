//! The end that always comes: what was asked to end and hangs (on a pipe that nobody reads, say) is ended all the same.

use std::time::Duration;

use posewire::output::display;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// From the signal. An orderly end takes half a second at most.
const AFTER: Duration = Duration::from_secs(2);

/// From now on a signal ends the process with 1 where it has not ended by itself in time.
///
/// # Errors
/// No signal can be listened for, or no thread started.
pub fn arm() -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let wait = move || {
        if signals.forever().next().is_some() {
            std::thread::sleep(AFTER);
            display::give_back_for_good();
            signal_hook::low_level::exit(1);
        }
    };
    std::thread::Builder::new().name("last-resort".into()).spawn(wait).map(drop)
}
