//! When a frame was captured, by what the driver says of its stamp.
//!
//! Drivers of USB cameras say that they stamp the start of exposure. In truth `uvcvideo` stamps a frame when its first packet comes:
//! some 5 to 40 ms after its light, by how long the camera exposes, reads out and codes (an estimate: no camera was measured).

use v4l::buffer::Flags;

/// Whether the driver says that it stamps the start of the exposure, as those of USB cameras do, rather than the end of the frame.
pub(super) fn starts_exposure(flags: Flags) -> bool {
    flags & Flags::TSTAMP_SRC_MASK == Flags::TSTAMP_SRC_SOE
}

/// No frame was on its way for so long, if others came meanwhile.
const OLDEST_US: i64 = 2_000_000;

/// When a frame came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came {
    /// Now.
    pub at_us: i64,
    /// When the last one was handed on, or the stream began: what lay in the driver's buffers while nobody looked is as old as it says.
    pub after_us: i64,
    /// From frame to frame.
    pub interval_us: i64,
}

/// By how much the driver's stamp is wrong, µs, where it cannot be a time at which this frame's light fell: those that cameras make
/// themselves may be of any clock.
pub(super) fn error_us(flags: Flags, stamp_us: i64, came: Came) -> Option<i64> {
    let oldest_us = came.after_us - OLDEST_US.max(2 * came.interval_us);
    let is_possible = (oldest_us..=came.at_us + came.interval_us).contains(&stamp_us);
    (is_monotonic(flags, stamp_us) && !is_possible).then_some(stamp_us - came.at_us)
}

fn is_monotonic(flags: Flags, stamp_us: i64) -> bool {
    flags & Flags::TIMESTAMP_MASK == Flags::TIMESTAMP_MONOTONIC && stamp_us != 0
}

/// When a frame was captured, on the monotonic clock; a frame before it came where the driver's stamp is of another one, or wrong.
///
/// A stamp of the start is taken as it is: how long after the light it is differs by camera. A stamp of the end says nothing of
/// exposure and reading out, which together take one frame of a camera in the dark and hardly ever more: so much is taken off, lest
/// a pose be said to be younger than it is.
pub(super) fn captured_at_us(flags: Flags, stamp_us: i64, came: Came) -> i64 {
    let Came { at_us, interval_us, .. } = came;
    if !is_monotonic(flags, stamp_us) || error_us(flags, stamp_us, came).is_some() {
        return at_us - interval_us;
    }
    let stamp_us = stamp_us.min(at_us);
    if starts_exposure(flags) { stamp_us } else { stamp_us - interval_us }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAME: Came = Came { at_us: 9_000_000, after_us: 8_966_000, interval_us: 33_333 };

    #[test]
    fn a_frames_time_is_that_of_its_light_whichever_end_the_driver_stamps() {
        let at = |flags, stamp_us| captured_at_us(flags, stamp_us, CAME);
        let monotonic = Flags::TIMESTAMP_MONOTONIC;
        assert_eq!(at(monotonic | Flags::TSTAMP_SRC_SOE, 8_990_000), 8_990_000);
        assert_eq!(at(monotonic | Flags::TSTAMP_SRC_EOF, 8_990_000), 8_956_667);
        // No stamp, or one of another clock: all that is known is when it came.
        assert_eq!(at(monotonic | Flags::TSTAMP_SRC_SOE, 0), 8_966_667);
        assert_eq!(at(Flags::TIMESTAMP_COPY, 1_790_000_000_000_000), 8_966_667);
        assert_eq!(at(Flags::TIMESTAMP_UNKNOWN, 5), 8_966_667);
    }

    /// Cameras that stamp frames themselves have been seen to do so wrongly.
    #[test]
    fn a_stamp_of_a_time_that_cannot_be_is_not_believed() {
        let flags = Flags::TIMESTAMP_MONOTONIC | Flags::TSTAMP_SRC_SOE;
        for off_us in [3_600_000_000, 40_000, -10_000_000, i64::MIN / 2] {
            let stamp_us = CAME.at_us + off_us;
            assert_eq!(captured_at_us(flags, stamp_us, CAME), 8_966_667, "{off_us}");
            assert_eq!(error_us(flags, stamp_us, CAME), Some(off_us));
        }
        assert_eq!(captured_at_us(flags, CAME.at_us + 20_000, CAME), CAME.at_us, "hardly ahead");
        assert_eq!(captured_at_us(flags, CAME.at_us - 1_500_000, CAME), 7_500_000);
        assert_eq!(error_us(Flags::TIMESTAMP_UNKNOWN, 5, CAME), None, "it says nothing");
        // The process was stopped for ten seconds, and the frame waited for it.
        let late = Came { after_us: CAME.at_us - 10_000_000, ..CAME };
        assert_eq!(captured_at_us(flags, CAME.at_us - 9_900_000, late), CAME.at_us - 9_900_000);
        // Of a camera of one frame in two seconds.
        let slow = Came { interval_us: 2_000_000, after_us: CAME.at_us - 2_000_000, ..CAME };
        assert_eq!(captured_at_us(flags, CAME.at_us - 3_000_000, slow), CAME.at_us - 3_000_000);
    }
}
