//! Signals ask a command to end in good order; who asks again has waited enough.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// From the first signal to the moment from which on another one ends the process at once. Not before: a terminal that is closed and its
/// shell send one each, `timeout` one to the process and one to its group, and the second must not cut the end short.
const PATIENT: Duration = Duration::from_millis(500);

/// Set by SIGINT, SIGTERM, or SIGHUP that is not ignored.
pub fn stop_signal() -> Result<Arc<AtomicBool>> {
    let stop = Arc::<AtomicBool>::default();
    let (mut signals, set) = (Signals::new(ask_to_end())?, stop.clone());
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

/// What a terminal sends for Ctrl-C, a service manager, and a terminal or connection that is closed.
fn ask_to_end() -> impl Iterator<Item = c_int> {
    let told = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    // Where it cannot be read, the system's own way is kept: nothing that `nohup` started may end.
    let is_kept_alive = ignores(&told, SIGHUP).unwrap_or(true);
    [SIGINT, SIGTERM].into_iter().chain((!is_kept_alive).then_some(SIGHUP))
}

/// Whether the process ignores `signal`, as `nohup` has it from the start, by what Linux says in `/proc/self/status`.
fn ignores(status: &str, signal: c_int) -> Option<bool> {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(ignored.trim(), 16).ok()?;
    Some((mask >> (signal - 1)) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nohup_keeps_away_is_known() {
        let status = |ignored: &str| format!("Name:\tposewire-hub\nSigIgn:\t{ignored}\nSigCgt:\t01\n");
        assert_eq!(ignores(&status("0000000000001001"), SIGHUP), Some(true));
        assert_eq!(ignores(&status("0000000000001000"), SIGHUP), Some(false));
        assert_eq!((ignores("", SIGHUP), ignores(&status("no number"), SIGHUP)), (None, None));
    }
}
