//! Keeps a device that comes and goes: full close, reopen with back-off, for ever.

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
    /// While lost: when to try next, and how long to wait after that.
    away: Option<(i64, Duration)>,
    lost: u64,
}

impl<S: FrameSource> Reopening<S> {
    /// Watches over `source`.
    pub fn new(source: S) -> Self {
        Self::with_clock(source, Monotonic)
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
        self.away = Some((self.clock.now_us() + FIRST_WAIT.as_micros() as i64, FIRST_WAIT * 2));
    }
}

impl<S: FrameSource, K: Clock> FrameSource for Reopening<S, K> {
    fn info(&self) -> SourceInfo {
        self.source.info()
    }

    fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError> {
        let Some((retry_at_us, wait)) = self.away else {
            return match self.source.next_frame(timeout) {
                Err(e @ CaptureError::Lost { .. }) => {
                    self.lose(&e);
                    Ok(None)
                }
                other => other,
            };
        };
        let wait_us = retry_at_us - self.clock.now_us();
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
            Err(e) => {
                log::debug!("not yet: {e}");
                self.away =
                    Some((self.clock.now_us() + wait.as_micros() as i64, (wait * 2).min(LONGEST_WAIT)));
            }
        }
        Ok(None)
    }

    fn reopen(&mut self) -> Result<(), CaptureError> {
        self.source.reopen()
    }

    fn counters(&self) -> SourceCounters {
        let counters = self.source.counters();
        SourceCounters { lost: counters.lost + self.lost, ..counters }
    }
}
