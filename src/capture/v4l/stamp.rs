//! When the light of a frame fell, by what the driver says of its stamp.

use v4l::buffer::Flags;

/// Whether the driver stamps the start of the exposure, as those of USB cameras do, rather than the end of the frame.
pub(super) fn starts_exposure(flags: Flags) -> bool {
    flags & Flags::TSTAMP_SRC_MASK == Flags::TSTAMP_SRC_SOE
}

/// When the light of a frame fell, on the monotonic clock; `now_us` where the driver's stamp is of another one.
///
/// A stamp of the end says nothing of exposure and reading out, which together take one frame of a camera in the dark and
/// hardly ever more: so much is taken off, lest a pose be said to be younger than it is.
pub(super) fn captured_at_us(flags: Flags, stamp_us: i64, now_us: i64, interval_us: i64) -> i64 {
    let is_monotonic = flags & Flags::TIMESTAMP_MASK == Flags::TIMESTAMP_MONOTONIC && stamp_us != 0;
    match (is_monotonic, starts_exposure(flags)) {
        (true, true) => stamp_us,
        (true, false) => stamp_us - interval_us,
        (false, _) => now_us - interval_us,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frames_time_is_that_of_its_light_whichever_end_the_driver_stamps() {
        let at = |flags, stamp_us| captured_at_us(flags, stamp_us, 9_000_000, 33_333);
        let monotonic = Flags::TIMESTAMP_MONOTONIC;
        assert_eq!(at(monotonic | Flags::TSTAMP_SRC_SOE, 8_990_000), 8_990_000);
        assert_eq!(at(monotonic | Flags::TSTAMP_SRC_EOF, 8_990_000), 8_956_667);
        // No stamp, or one of another clock: all that is known is when it came.
        assert_eq!(at(monotonic | Flags::TSTAMP_SRC_SOE, 0), 8_966_667);
        assert_eq!(at(Flags::TIMESTAMP_COPY, 1_790_000_000_000_000), 8_966_667);
        assert_eq!(at(Flags::TIMESTAMP_UNKNOWN, 5), 8_966_667);
    }
}
