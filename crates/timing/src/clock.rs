//! The clock that stamps frames, as a value: stages get times, tests bring their own.

use std::sync::atomic::{AtomicI64, Ordering};

/// A monotonic clock in microseconds.
///
/// Its zero is the system's own (on Linux: boot), so that the times a camera driver puts on its frames and the times
/// read here can be subtracted.
pub trait Clock: Send + Sync {
    /// Microseconds since the clock's zero.
    fn now_us(&self) -> i64;
}

/// `CLOCK_MONOTONIC`: what V4L2 drivers stamp frames with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Monotonic;

impl Clock for Monotonic {
    fn now_us(&self) -> i64 {
        now_us()
    }
}

/// What [`Monotonic`] says, for those whose tests bring no clock of their own.
#[cfg(unix)]
pub fn now_us() -> i64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec * 1_000_000 + t.tv_nsec / 1_000
}

/// Microseconds since the first call: there is no driver's clock to agree with.
#[cfg(not(unix))]
pub fn now_us() -> i64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed().as_micros() as i64
}

/// Microseconds since 1970, by the clock that people and other machines have; it may jump where somebody sets it.
pub fn since_1970_us() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as i64)
}

/// A clock that moves when it is told to.
#[derive(Debug, Default)]
pub struct Manual(AtomicI64);

impl Manual {
    /// A clock that stands at `now_us`.
    pub fn at(now_us: i64) -> Self {
        Self(AtomicI64::new(now_us))
    }

    /// Moves the clock to `now_us`; a monotonic clock never goes back, so an earlier time changes nothing.
    pub fn set(&self, now_us: i64) {
        self.0.fetch_max(now_us, Ordering::Release);
    }
}

impl Clock for Manual {
    fn now_us(&self) -> i64 {
        self.0.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_counts_microseconds() {
        let before = Monotonic.now_us();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let passed = Monotonic.now_us() - before;
        assert!((20_000..5_000_000).contains(&passed), "{passed} us for a sleep of 20 ms");
    }

    #[test]
    fn a_manual_clock_never_goes_back() {
        let clock = Manual::at(5);
        clock.set(9);
        clock.set(7);
        assert_eq!(clock.now_us(), 9);
    }
}
