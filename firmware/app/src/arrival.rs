//! A moment and when it came.

use pose_wire::Moment;

/// A moment that arrived at this board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// What was sent.
    pub moment: Moment,
    /// When the last of its packets was received, microseconds of this board's clock.
    pub received_at_us: u64,
}

impl Arrival {
    /// How old the light behind the poses is at `now_us` of this board's clock, milliseconds.
    pub fn age_ms(&self, now_us: u64) -> i32 {
        let here_us = now_us.saturating_sub(self.received_at_us);
        let here_us = i32::try_from(here_us).unwrap_or(i32::MAX);
        self.moment.age_us.saturating_add(here_us) / 1000
    }
}
