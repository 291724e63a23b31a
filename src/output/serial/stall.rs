//! Whether the other end reads: said once when it has ceased to, and once when it does again.

/// A reader that is late for so long has stopped, microseconds.
const STOPPED_AFTER_US: i64 = 1_000_000;

/// What is known of the reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stall {
    /// The driver has taken all it was given.
    #[default]
    Moving,
    /// It has been full since then, microseconds.
    Since(i64),
    /// It is full, and that was said.
    Told,
}

impl Stall {
    /// The driver is full at `now_us`; whether it is to be said that nobody reads.
    pub fn stuck(&mut self, now_us: i64) -> bool {
        match *self {
            Self::Moving => *self = Self::Since(now_us),
            Self::Since(since_us) if now_us.saturating_sub(since_us) > STOPPED_AFTER_US => {
                *self = Self::Told;
                return true;
            }
            Self::Since(_) | Self::Told => {}
        }
        false
    }

    /// The driver has taken all; whether it is to be said that somebody reads again.
    pub fn moved(&mut self) -> bool {
        std::mem::take(self) == Self::Told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_stops_and_reads_again_is_told_of_once_each() {
        let mut stall = Stall::default();
        assert!(!stall.moved());
        let told = (0..50).filter(|tick| stall.stuck(tick * 100_000)).count();
        assert_eq!((told, stall), (1, Stall::Told));
        assert!(stall.moved() && !stall.moved());
        // A short wait is nothing to speak of.
        assert!(!stall.stuck(6_000_000) && !stall.stuck(7_000_000));
        assert!(!stall.moved());
    }
}
