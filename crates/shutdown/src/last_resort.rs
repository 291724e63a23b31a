//! The end always comes: a second signal, or a hang, ends the process at once.

use std::ffi::c_int;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::termination_signals;

/// From the first signal to the moment from which on another one ends the process at once. Not before: a terminal that is closed and its
/// shell send one each, `timeout` one to the process and one to its group, and an orderly end would lose its files to the second.
const PATIENT: Duration = Duration::from_millis(500);
/// How often it is looked whether there was one: a pipe or socket that tells of it may be more than a sandbox gives. By so much
/// [`PATIENT`] may begin late, and what comes then is passed over; whoever asks again waits no longer.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Why the process cannot wait for its orderly end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Another signal came.
    AskedAgain,
    /// The orderly end has had its time.
    TooLate,
}

/// What ends the process where it does not end by itself once `stop` was set.
pub struct LastResort {
    is_late: Arc<AtomicBool>,
    is_left: Arc<AtomicBool>,
    /// Set by every signal; the first ones are passed over.
    is_asked_again: Arc<AtomicBool>,
}

/// While it is held, a hang ends the process; afterwards a further signal alone does.
pub struct Held(Arc<AtomicBool>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl LastResort {
    /// Calls `end`, which should not return, `limit` after `stop` was set; without a limit never by time alone.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn arm(
        stop: &Arc<AtomicBool>,
        limit: Option<Duration>,
        end: impl FnOnce(Cause) + Send + 'static,
    ) -> io::Result<Self> {
        let flag = Arc::<AtomicBool>::default;
        let armed = Self { is_late: flag(), is_left: flag(), is_asked_again: flag() };
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
            let until = limit.map(|limit| Instant::now() + limit.saturating_sub(PATIENT));
            loop {
                if again.load(Ordering::Acquire) {
                    return end(Cause::AskedAgain);
                }
                if until.is_some_and(|until| Instant::now() >= until) && !left.load(Ordering::Acquire) {
                    return end(Cause::TooLate);
                }
                thread::sleep(LOOK_EVERY);
            }
        };
        thread::Builder::new().name("last-resort".into()).spawn(wait)?;
        Ok(armed)
    }

    /// The same, and signals that ask for an end set `stop`; a later one calls `end`.
    ///
    /// # Errors
    /// As there, or signals cannot be listened for.
    pub fn listen(
        stop: &Arc<AtomicBool>,
        limit: Option<Duration>,
        end: impl FnOnce(Cause) + Send + 'static,
    ) -> io::Result<Self> {
        let armed = Self::arm(stop, limit, end)?;
        set_on_signal(&armed.is_asked_again, &[])?;
        set_on_signal(stop, &[])?;
        Ok(armed)
    }

    /// Set once the user has waited for as long as an orderly end takes.
    pub fn is_late(self) -> Arc<AtomicBool> {
        self.is_late
    }

    /// Has the limit hold only as long as what is returned is held.
    pub fn held(self) -> Held {
        Held(self.is_left)
    }
}

/// SIGINT, SIGTERM, SIGHUP that is not ignored, or one of `others` sets `flag`.
///
/// # Errors
/// Signals cannot be listened for.
pub fn set_on_signal(flag: &Arc<AtomicBool>, others: &[c_int]) -> io::Result<()> {
    for signal in termination_signals().chain(others.iter().copied()) {
        signal_hook::flag::register(signal, flag.clone())?;
    }
    Ok(())
}

/// Ends the process without another word: nothing that hangs is waited for.
pub fn exit_at_once(status: c_int) -> ! {
    signal_hook::low_level::exit(status)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    const SOON: Duration = Duration::from_secs(20);

    fn armed(stop: &Arc<AtomicBool>, limit: Option<Duration>) -> (LastResort, Receiver<Cause>) {
        let (tell, causes) = channel();
        (LastResort::arm(stop, limit, move |cause| _ = tell.send(cause)).unwrap(), causes)
    }

    #[test]
    fn a_hang_ends_the_process_unless_it_is_left_alone() {
        let stop = Arc::new(AtomicBool::new(true));
        let (_armed, hangs) = armed(&stop, Some(PATIENT));
        let (left, is_left_alone) = armed(&stop, Some(PATIENT));
        drop(left.held());
        let (_armed, has_no_limit) = armed(&stop, None);
        assert_eq!(hangs.recv_timeout(SOON), Ok(Cause::TooLate));
        thread::sleep(10 * LOOK_EVERY);
        assert!(is_left_alone.try_recv().is_err() && has_no_limit.try_recv().is_err());
    }

    #[test]
    fn signals_that_come_with_the_first_are_passed_over_and_a_later_one_is_not() {
        let stop = Arc::<AtomicBool>::default();
        let (armed, causes) = armed(&stop, None);
        let (again, late) = (armed.is_asked_again.clone(), armed.is_late());
        again.store(true, Ordering::Release);
        stop.store(true, Ordering::Release);
        let began = Instant::now();
        while !late.load(Ordering::Acquire) {
            assert!(causes.try_recv().is_err() && began.elapsed() < SOON);
            thread::sleep(LOOK_EVERY);
        }
        assert!(began.elapsed() >= PATIENT && !again.load(Ordering::Acquire));
        again.store(true, Ordering::Release);
        assert_eq!(causes.recv_timeout(SOON), Ok(Cause::AskedAgain));
    }

    #[test]
    fn a_second_signal_soon_after_the_patience_is_not_passed_over() {
        let stop = Arc::<AtomicBool>::default();
        let (armed, causes) = armed(&stop, None);
        // The first one comes just after it was looked for.
        thread::sleep(LOOK_EVERY / 2);
        stop.store(true, Ordering::Release);
        thread::sleep(PATIENT + Duration::from_millis(140));
        armed.is_asked_again.store(true, Ordering::Release);
        assert_eq!(causes.recv_timeout(Duration::from_secs(2)), Ok(Cause::AskedAgain));
    }
}
