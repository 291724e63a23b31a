//! Signals ask a command to end, and the end always comes: what hangs (on a pipe that nobody reads, say) is ended all the same.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use posewire::child_process::end_groups;
use posewire::output::display;
use shutdown::termination_signals;

/// From the signal. An orderly end takes half a second at most.
const AFTER: Duration = Duration::from_secs(2);
/// From the signal to the moment from which on another one ends the process at once. Not before: `timeout` and terminals send one
/// to the process and to its group, and an orderly end would lose its files to the second.
const PATIENT: Duration = Duration::from_millis(500);
/// For a last line in the log.
const TO_SAY_IT: Duration = Duration::from_millis(100);
/// How often it is looked whether there was one: a pipe or socket that tells of it may be more than a sandbox gives.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The same once there was one: whoever asks again waits no longer.
const LOOK_AGAIN_EVERY: Duration = Duration::from_millis(20);

/// Ends the process with 1 where it has not ended by itself in time after `stop` was set. What is returned is set once the user
/// has waited for as long as an orderly end takes.
///
/// # Errors
/// No thread can be started.
pub fn arm(stop: &Arc<AtomicBool>) -> std::io::Result<Arc<AtomicBool>> {
    Ok(armed(stop, AFTER, None)?.is_late)
}

/// What ends the process that long after `stop` was set, and says `why`; or at once where it is asked again.
fn armed(stop: &Arc<AtomicBool>, after: Duration, why: Option<String>) -> std::io::Result<Armed> {
    let armed = Armed::default();
    let (stop, late, left) = (stop.clone(), armed.is_late.clone(), armed.is_left.clone());
    let again = armed.is_asked_again.clone();
    let wait = move || {
        while !stop.load(Ordering::Acquire) {
            thread::sleep(LOOK_EVERY);
        }
        thread::sleep(PATIENT);
        // What came until now belongs to the first.
        again.store(false, Ordering::Release);
        late.store(true, Ordering::Release);
        let until = Instant::now() + (after - PATIENT);
        let is_again = loop {
            if again.load(Ordering::Acquire) {
                break true;
            }
            if Instant::now() >= until && !left.load(Ordering::Acquire) {
                break false;
            }
            thread::sleep(LOOK_AGAIN_EVERY);
        };
        // Not in the signal's handler, which may not wait for the lock of what there is to end.
        end_groups();
        if let Some(why) = why.filter(|_| !is_again) {
            // Standard error may be what hangs.
            let _ = thread::Builder::new().spawn(move || log::error!("{why}"));
            thread::sleep(TO_SAY_IT);
        }
        display::give_back_for_good();
        signal_hook::low_level::exit(1);
    };
    thread::Builder::new().name("last-resort".into()).spawn(wait)?;
    Ok(armed)
}

/// What [`armed`] does, and how it is left.
#[derive(Default)]
struct Armed {
    is_late: Arc<AtomicBool>,
    is_left: Arc<AtomicBool>,
    /// Set by every signal; the first ones are passed over.
    is_asked_again: Arc<AtomicBool>,
}

/// While it is held, whatever hangs is ended, as by [`listen_while`].
pub struct Held(Arc<AtomicBool>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// SIGINT, SIGTERM, SIGHUP that is not ignored, or one of `others` sets `stop`; a later one does nothing.
///
/// # Errors
/// Signals cannot be listened for.
pub fn set(stop: &Arc<AtomicBool>, others: &[c_int]) -> std::io::Result<()> {
    for signal in termination_signals().chain(others.iter().copied()) {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    Ok(())
}

/// SIGINT, SIGTERM, or SIGHUP that is not ignored, sets `stop`; a later one, and a hang in any case, ends the process with 1.
///
/// # Errors
/// Signals cannot be listened for.
pub fn listen(stop: &Arc<AtomicBool>) -> std::io::Result<()> {
    set(&armed(stop, AFTER, None)?.is_asked_again, &[])?;
    set(stop, &[])
}

/// The same, but a hang ends the process only while what is returned is held, `after` the signal, and `why` is said: what comes
/// then, as a file that is made whole, has its time, or a later signal.
///
/// # Errors
/// Signals cannot be listened for.
pub fn listen_while(stop: &Arc<AtomicBool>, after: Duration, why: String) -> std::io::Result<Held> {
    let Armed { is_left, is_asked_again, .. } = armed(stop, after, Some(why))?;
    set(&is_asked_again, &[])?;
    set(stop, &[])?;
    Ok(Held(is_left))
}
