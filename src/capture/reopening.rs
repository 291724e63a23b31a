//! Keeps a device that comes and goes: waits for it at the start, full close, reopen with back-off, for ever.

use std::time::Duration;

use super::{CaptureError, Frame, FrameSource, SourceCounters, SourceInfo};
use crate::clock::{Clock, Monotonic};

/// First wait after a loss. A replugged USB camera needs some 300 ms before its node is there.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// Longest wait between tries: short enough that poses are back within 2 s of a replug, long enough to cost nothing.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// Answers [`CaptureError::Lost`] itself: gives no frame while the device is away, then goes on with rising frame
/// numbers. Other errors pass through.
pub struct Reopening<S, K = Monotonic> {
    source: S,
    clock: K,
    away: Option<Away>,
    lost: u64,
}

/// While the device is not there.
struct Away {
    retry_at_us: i64,
    /// How long to wait after that.
    wait: Duration,
    /// Why the last try failed: another reason is news.
    why: Option<String>,
}

impl<S: FrameSource> Reopening<S> {
    /// Watches over `source`.
    pub fn new(source: S) -> Self {
        Self::with_clock(source, Monotonic)
    }

    /// Watches over a `source` that could not be opened yet, for the reason `why`.
    pub fn waiting(source: S, why: String) -> Self {
        log::warn!("{why}; waiting for it (--no-wait ends instead)");
        let away = Away { retry_at_us: Monotonic.now_us(), wait: FIRST_WAIT, why: Some(why) };
        Self { away: Some(away), ..Self::new(source) }
    }
}

impl<S: FrameSource, K: Clock> Reopening<S, K> {
    /// Watches over `source` by `clock`.
    pub fn with_clock(source: S, clock: K) -> Self {
        Self { source, clock, away: None, lost: 0 }
    }

    fn lose(&mut self, why: &CaptureError) {
        self.lost += 1;
        log::warn!("{why}; opening it again until it is back");
        let retry_at_us = self.clock.now_us() + FIRST_WAIT.as_micros() as i64;
        self.away = Some(Away { retry_at_us, wait: FIRST_WAIT * 2, why: None });
    }
}

impl<S: FrameSource, K: Clock> FrameSource for Reopening<S, K> {
    fn info(&self) -> SourceInfo {
        self.source.info()
    }

    fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError> {
        let Some(away) = &mut self.away else {
            return match self.source.next_frame(timeout) {
                Err(e @ CaptureError::Lost { .. }) => {
                    self.lose(&e);
                    Ok(None)
                }
                other => other,
            };
        };
        let wait_us = away.retry_at_us - self.clock.now_us();
        if wait_us > 0 {
            std::thread::sleep(timeout.min(Duration::from_micros(wait_us as u64)));
            if wait_us > timeout.as_micros() as i64 {
                return Ok(None);
            }
        }
        match self.source.reopen() {
            Ok(()) => {
                log::info!("{}: back", self.source.info().name);
                self.away = None;
            }
            Err(CaptureError::Lost { reason, .. }) => {
                if away.why.as_ref().is_some_and(|before| *before != reason) {
                    log::warn!("{reason}; still waiting");
                }
                away.why = Some(reason);
                away.retry_at_us = self.clock.now_us() + away.wait.as_micros() as i64;
                away.wait = (away.wait * 2).min(LONGEST_WAIT);
            }
            Err(hopeless) => return Err(hopeless),
        }
        Ok(None)
    }

    fn reopen(&mut self) -> Result<(), CaptureError> {
        self.source.reopen()
    }

    fn is_away(&self) -> bool {
        self.away.is_some() || self.source.is_away()
    }

    fn counters(&self) -> SourceCounters {
        let counters = self.source.counters();
        SourceCounters { lost: counters.lost + self.lost, ..counters }
    }
}
