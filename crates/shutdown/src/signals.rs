//! Which signals ask for an end.

use std::ffi::c_int;

#[cfg(unix)]
use signal_hook::consts::SIGHUP;
use signal_hook::consts::{SIGINT, SIGTERM};

/// What a terminal sends for Ctrl-C, a service manager, and a terminal or connection that is closed, unless `nohup` keeps that away.
pub fn termination_signals() -> impl Iterator<Item = c_int> {
    [SIGINT, SIGTERM].into_iter().chain(closed_terminal())
}

#[cfg(unix)]
fn closed_terminal() -> Option<c_int> {
    let told = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    // Where it cannot be read, the system's own way is kept: nothing that `nohup` started may end.
    let is_kept_alive = ignores(&told, SIGHUP).unwrap_or(true);
    (!is_kept_alive).then_some(SIGHUP)
}

#[cfg(not(unix))]
fn closed_terminal() -> Option<c_int> {
    None
}

/// Whether the process ignores `signal`, as `nohup` has it from the start, by what Linux says in `/proc/self/status`.
#[cfg(unix)]
fn ignores(status: &str, signal: c_int) -> Option<bool> {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(ignored.trim(), 16).ok()?;
    Some((mask >> (signal - 1)) & 1 == 1)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_nohup_keeps_away_is_known() {
        let status = |ignored: &str| {
            format!("Name:\tposewire\nSigBlk:\tffffffffffffffff\nSigIgn:\t{ignored}\nSigCgt:\t01\n")
        };
        assert_eq!(ignores(&status("0000000000001001"), SIGHUP), Some(true));
        assert_eq!(ignores(&status("0000000000001000"), SIGHUP), Some(false));
        assert_eq!(ignores(&status("0000000000004000"), SIGTERM), Some(true));
        assert_eq!((ignores("", SIGHUP), ignores(&status("no number"), SIGHUP)), (None, None));
    }
}
