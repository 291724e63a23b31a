//! Signals ask a command to end in good order; who asks again has waited enough.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use shutdown::termination_signals;
use signal_hook::iterator::Signals;

/// From the first signal to the moment from which on another one ends the process at once. Not before: a terminal that is closed and its
/// shell send one each, `timeout` one to the process and one to its group, and the second must not cut the end short.
const PATIENT: Duration = Duration::from_millis(500);

/// Set by SIGINT, SIGTERM, or SIGHUP that is not ignored.
pub fn stop_signal() -> Result<Arc<AtomicBool>> {
    let stop = Arc::<AtomicBool>::default();
    let (mut signals, set) = (Signals::new(termination_signals())?, stop.clone());
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut asked = None;
        for _ in signals.forever() {
            set.store(true, Ordering::Relaxed);
            if asked.get_or_insert_with(Instant::now).elapsed() > PATIENT {
                signal_hook::low_level::exit(1);
            }
        }
    })?;
    Ok(stop)
}
