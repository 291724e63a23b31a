//! Keeps a device that comes and goes: waits for it at the start, full close, reopen with back-off, for ever.

use std::time::Duration;

use super::{CaptureError, FrameSource, SourceCounters, SourceInfo};
use crate::clock::{Clock, Monotonic};
use crate::picture::Frame;
use crate::reason::Reason;

/// First wait after a loss. A replugged USB camera needs some 300 ms before its node is there.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// Longest wait between tries: short enough that poses are back within 2 s of a replug, long enough to cost nothing.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// From one line about a device that stays away to the next: doubled each time, so that a night without a camera is a dozen
/// lines, not ten thousand.
const FIRST_REMINDER_US: i64 = 10_000_000;
const LONGEST_REMINDER_US: i64 = 3_600_000_000;

/// Reasons that are told at once when they are new; more than these come and go too often to be news.
const REASONS: usize = 8;

/// Answers [`CaptureError::Lost`] itself: gives no frame while the device is away, then goes on with rising frame
/// numbers. A device is back with its first frame, not when it can be opened. Other errors pass through.
pub struct Reopening<S, K = Monotonic> {
    source: S,
    clock: K,
    away: Option<Away>,
    lost: u64,
}

/// While no frames come.
struct Away {
    /// It can be opened: a frame is waited for, which a stalled camera never sends.
    opened: bool,
    retry_at_us: i64,
    /// How long to wait after that.
    wait: Duration,
    news: News,
}

impl Away {
    fn retry_later(&mut self, now_us: i64) {
        self.opened = false;
        self.retry_at_us = now_us + self.wait.as_micros() as i64;
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
    }
}

/// What was said of an absence, so that the log is not filled with it.
struct News {
    since_us: i64,
    told: Vec<String>,
    remind_at_us: i64,
    reminder_us: i64,
}

impl News {
    /// The first line was said at `now_us`; `reason` was in it.
    fn new(reason: Option<String>, now_us: i64) -> Self {
        let reminder_us = FIRST_REMINDER_US;
        Self {
            since_us: now_us,
            told: reason.into_iter().collect(),
            remind_at_us: now_us + reminder_us,
            reminder_us,
        }
    }

    /// Whether another failure for `reason` is worth a line at `now_us`: each new reason once, and the same again at growing
    /// intervals.
    fn worth_a_line(&mut self, reason: &str, now_us: i64) -> bool {
        if self.told.len() < REASONS && !self.told.iter().any(|told| told == reason) {
            self.told.push(reason.to_owned());
            return true;
        }
        if now_us < self.remind_at_us {
            return false;
        }
        self.reminder_us = (self.reminder_us * 2).min(LONGEST_REMINDER_US);
        self.remind_at_us = now_us + self.reminder_us;
        true
    }

    fn seconds(&self, now_us: i64) -> f64 {
        (now_us - self.since_us) as f64 * 1e-6
    }
}

impl<S: FrameSource> Reopening<S> {
    /// Watches over `source`.
    pub fn new(source: S) -> Self {
        Self::with_clock(source, Monotonic)
    }

    /// Watches over a `source` that could not be opened yet, for the reason `why`.
    pub fn waiting(source: S, why: &Reason) -> Self {
        let why = format!("{why:#}");
        log::warn!("{why}; waiting for it (--no-wait ends instead)");
        let now_us = Monotonic.now_us();
        let news = News::new(Some(why), now_us);
        let away = Away { opened: false, retry_at_us: now_us, wait: FIRST_WAIT, news };
        Self { away: Some(away), ..Self::new(source) }
    }
}

impl<S: FrameSource, K: Clock> Reopening<S, K> {
    /// Watches over `source` by `clock`.
    pub fn with_clock(source: S, clock: K) -> Self {
        Self { source, clock, away: None, lost: 0 }
    }

    /// No frame for `why`: a loss where frames came before, one more failure where they did not.
    fn fail(&mut self, device: &str, reason: &Reason) {
        let reason = format!("{reason:#}");
        let now_us = self.clock.now_us();
        let Some(away) = &mut self.away else {
            self.lost += 1;
            // Some reasons name the device themselves.
            if reason.starts_with(device) {
                log::warn!("{reason}; opening it again until it is back");
            } else {
                log::warn!("{device}: lost: {reason}; opening it again until it is back");
            }
            let news = News::new(Some(reason), now_us);
            let mut away = Away { opened: false, retry_at_us: 0, wait: FIRST_WAIT, news };
            away.retry_later(now_us);
            self.away = Some(away);
            return;
        };
        away.retry_later(now_us);
        if away.news.worth_a_line(&reason, now_us) {
            log::warn!("{reason}; no frames for {:.0} s, still trying", away.news.seconds(now_us));
        }
    }
}

impl<S: FrameSource, K: Clock> FrameSource for Reopening<S, K> {
    fn inner(&self) -> Option<&dyn FrameSource> {
        Some(&self.source)
    }

    fn info(&self) -> SourceInfo {
        self.source.info()
    }

    fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError> {
        if let Some(away) = &mut self.away
            && !away.opened
        {
            let wait_us = away.retry_at_us - self.clock.now_us();
            if wait_us > 0 {
                std::thread::sleep(timeout.min(Duration::from_micros(wait_us as u64)));
                if wait_us > timeout.as_micros() as i64 {
                    return Ok(None);
                }
            }
            match self.source.reopen() {
                Ok(()) => away.opened = true,
                Err(CaptureError::Lost { device, reason }) => self.fail(&device, &reason),
                Err(why) => return Err(why),
            }
            return Ok(None);
        }
        match self.source.next_frame(timeout) {
            Ok(Some(frame)) => {
                if let Some(away) = self.away.take() {
                    let seconds = away.news.seconds(self.clock.now_us());
                    log::info!("{}: back after {seconds:.1} s", self.source.info().name);
                }
                Ok(Some(frame))
            }
            Err(CaptureError::Lost { device, reason }) => {
                self.fail(&device, &reason);
                Ok(None)
            }
            none => none,
        }
    }

    fn reopen(&mut self) -> Result<(), CaptureError> {
        self.source.reopen()
    }

    fn is_away(&self) -> bool {
        self.away.is_some() || self.source.is_away()
    }

    fn generation(&self) -> u64 {
        // Whatever is back after a loss may be another one.
        self.source.generation() + self.lost
    }

    fn counters(&self) -> SourceCounters {
        let counters = self.source.counters();
        SourceCounters { lost: counters.lost + self.lost, ..counters }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::Manual;
    use crate::picture::PixelFormat;

    #[test]
    fn a_night_without_frames_is_a_few_lines_and_a_new_reason_is_told_at_once() {
        let mut news = News::new(None, 0);
        // A stalled camera: opened again every three seconds, twelve hours long.
        let lines = (1..14_400).filter(|i| news.worth_a_line("no frame for 3.0 s", i * 3_000_000)).count();
        assert!((10..25).contains(&lines), "{lines} lines");
        let night_us = 12 * LONGEST_REMINDER_US;
        assert!(news.worth_a_line("/dev/video0: busy", night_us + 1));
        assert!(!news.worth_a_line("no frame for 3.0 s", night_us + 2));
        assert!(!news.worth_a_line("/dev/video0: busy", night_us + 3));
        let flood = (0..1_000).filter(|i| news.worth_a_line(&format!("reason {i}"), night_us + 4)).count();
        assert!(flood <= REASONS, "{flood} lines");
    }

    /// Sends frames, then can be opened but sends none, then sends them again.
    struct Stalling {
        clock: &'static Manual,
        silent_us: std::ops::Range<i64>,
        reopened: Arc<std::sync::atomic::AtomicU32>,
    }

    impl FrameSource for Stalling {
        fn info(&self) -> SourceInfo {
            SourceInfo { name: "stalling".into(), width: 1, height: 1, fps: 30.0, live: true }
        }
        fn next_frame(&mut self, _timeout: Duration) -> Result<Option<Frame>, CaptureError> {
            let now_us = self.clock.now_us();
            if self.silent_us.contains(&now_us) {
                return Err(CaptureError::Lost { device: "stalling".into(), reason: "no frame".into() });
            }
            let (bytes, format) = (Arc::new(vec![0]), PixelFormat::Grey);
            Ok(Some(Frame { bytes, format, width: 1, height: 1, stride: 1, seq: 0, captured_at_us: now_us }))
        }
        fn reopen(&mut self) -> Result<(), CaptureError> {
            self.reopened.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok(())
        }
    }

    /// A clock that a test moves and a source looks at.
    struct Shared(&'static Manual);

    impl Clock for Shared {
        fn now_us(&self) -> i64 {
            self.0.now_us()
        }
    }

    #[test]
    fn a_long_stall_is_one_loss_and_ends_with_the_first_frame() {
        let clock: &'static Manual = Box::leak(Box::new(Manual::at(0)));
        let reopened = Arc::default();
        let silent_us = 1_000_000..61_000_000;
        let source = Stalling { clock, silent_us: silent_us.clone(), reopened: Arc::clone(&reopened) };
        let mut source = Reopening::with_clock(source, Shared(clock));
        for now_us in (0..62_000_000).step_by(100_000) {
            clock.set(now_us);
            let frame = source.next_frame(Duration::ZERO).expect("it never gives up");
            if silent_us.contains(&now_us) {
                assert!(frame.is_none() && source.is_away(), "at {now_us} us");
            } else if now_us < silent_us.start || now_us > silent_us.end + 2 * LONGEST_WAIT.as_micros() as i64
            {
                assert!(frame.is_some() && !source.is_away(), "at {now_us} us");
            }
        }
        assert_eq!(source.counters().lost, 1);
        assert!(reopened.load(std::sync::atomic::Ordering::Relaxed) > 50, "it is tried again and again");
    }
}
