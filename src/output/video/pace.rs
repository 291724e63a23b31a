//! Which of a film's places each frame takes: a film has a constant rate, frames come when they come.

use std::fmt;

/// Frames a second, as a fraction: 30000/1001 is no decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameRate {
    pub frames: u32,
    pub per_seconds: u32,
}

impl FrameRate {
    /// Where a source does not say, or says what no camera gives.
    const USUAL: Self = Self { frames: 30, per_seconds: 1 };

    /// The rate that is meant by `fps`: whole, television's (29.97), or to the thousandth.
    pub fn of(fps: f32) -> Self {
        if !(0.1..=1000.0).contains(&fps) {
            return Self::USUAL;
        }
        let fps = f64::from(fps);
        let (whole, television) = (fps.round(), (fps * 1.001).round());
        let is = |rate: f64| (fps - rate).abs() < 2e-3;
        if is(whole) {
            Self { frames: whole as u32, per_seconds: 1 }
        } else if is(television / 1.001) {
            Self { frames: 1000 * television as u32, per_seconds: 1001 }
        } else {
            Self { frames: (1000.0 * fps).round() as u32, per_seconds: 1000 }
        }
    }

    /// The place nearest to `us` after the first.
    fn place(self, us: i64) -> i64 {
        let (frames, second) = (i128::from(self.frames), 1_000_000 * i128::from(self.per_seconds));
        (i128::from(us) * frames + second / 2).div_euclid(second) as i64
    }

    /// How long so many places are, µs.
    fn us(self, places: i64) -> i64 {
        (i128::from(places) * 1_000_000 * i128::from(self.per_seconds) / i128::from(self.frames)) as i64
    }
}

impl fmt::Display for FrameRate {
    /// As ffmpeg takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.frames, self.per_seconds)
    }
}

/// A jump in time that is longer is shortened to it: a clock that was set must not fill the disk. A camera that stays away is no jump: its
/// time is filled bit by bit while it passes.
const LONGEST_STILL_US: i64 = 10_000_000;

/// The same of a file: its times are its own, and only damage makes them jump by more.
const LONGEST_STILL_IN_FILE_US: i64 = 600_000_000;

/// How far the film stays behind the clock where no frame comes, at least and at most: one that is on its way is not to find its place
/// taken. Frames that are shown late come late again, so that it is more than the age of the last one.
const BEHIND_US: std::ops::RangeInclusive<i64> = 500_000..=5_000_000;

/// What a film is made of, and which of its frames have a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frames {
    /// Of something live, those that do not come too soon.
    Live,
    /// Of a file, the same: the film has a lower rate.
    FileThinned,
    /// Of a file, all: one that comes sooner than its place takes the next.
    File,
}

/// Counts a film's places.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    rate: FrameRate,
    frames: Frames,
    /// When the first place was, µs.
    began_us: Option<i64>,
    /// Places that are taken.
    taken: i64,
    /// Places before this one show a frame for as long as no other came.
    stilled: i64,
    /// How old the newest frame was when it was shown, µs.
    age_us: i64,
    /// Frames that came when their place was filled so.
    too_late: u64,
    /// What jumps in time were shortened by, µs.
    left_out_us: i64,
}

impl Pace {
    pub fn new(rate: FrameRate, frames: Frames) -> Self {
        Self { rate, frames, began_us: None, taken: 0, stilled: 0, age_us: 0, too_late: 0, left_out_us: 0 }
    }

    /// The longest jump in time that is shown in full, µs.
    fn longest_still_us(&self) -> i64 {
        if self.frames == Frames::Live { LONGEST_STILL_US } else { LONGEST_STILL_IN_FILE_US }
    }

    /// How much is not in the film where time jumped too far, µs.
    pub fn left_out_us(&self) -> i64 {
        self.left_out_us
    }

    /// Frames that are not in the film because they were too old when they came.
    pub fn too_late(&self) -> u64 {
        self.too_late
    }

    /// Places taken so far.
    pub fn taken(&self) -> u64 {
        self.taken as u64
    }

    /// Takes the place of a frame of this time, which is shown now; how often the one before it is shown again until then. `None`: its
    /// place is taken, and it is left out.
    pub fn frame(&mut self, captured_at_us: i64, now_us: i64) -> Option<u32> {
        self.age_us = now_us.saturating_sub(captured_at_us);
        let longest = self.rate.place(self.longest_still_us());
        let began_us = self.began_us.get_or_insert(captured_at_us);
        let mut place = self.rate.place(captured_at_us.saturating_sub(*began_us));
        if place - self.taken > longest {
            let left_out_us = self.rate.us(place - self.taken - longest);
            self.left_out_us = self.left_out_us.saturating_add(left_out_us);
            *began_us = captured_at_us.saturating_sub(self.rate.us(self.taken + longest));
            place = self.taken + longest;
        } else if place < self.taken && self.frames == Frames::File {
            place = self.taken;
        } else if place < self.taken {
            self.too_late += u64::from(place < self.stilled);
            return None;
        }
        let again = place - self.taken;
        self.taken = place + 1;
        Some(again as u32)
    }

    /// Takes the places that time has passed while no frame came: how often the last one is shown again.
    pub fn still(&mut self, now_us: i64) -> u32 {
        let Some(began_us) = self.began_us else { return 0 };
        let behind_us =
            (self.age_us.saturating_add(self.age_us / 2)).clamp(*BEHIND_US.start(), *BEHIND_US.end());
        let passed = self.rate.place(now_us.saturating_sub(began_us).saturating_sub(behind_us));
        let again = (passed - self.taken).clamp(0, self.rate.place(self.longest_still_us()));
        self.taken += again;
        if again > 0 {
            self.stilled = self.taken;
        }
        again as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a frame that is shown at once.
    fn frame(pace: &mut Pace, captured_at_us: i64) -> Option<u32> {
        pace.frame(captured_at_us, captured_at_us)
    }

    #[test]
    fn rates_are_the_ones_that_are_meant() {
        for (fps, rate) in [
            (30.0, "30/1"),
            (25.0, "25/1"),
            (29.97, "30000/1001"),
            (30_000.0 / 1001.0, "30000/1001"),
            (23.976, "24000/1001"),
            (59.94, "60000/1001"),
            (12.5, "12500/1000"),
            (29.98, "29980/1000"),
            (0.0, "30/1"),
            (f32::NAN, "30/1"),
        ] {
            assert_eq!(FrameRate::of(fps).to_string(), rate, "{fps}");
        }
    }

    #[test]
    fn frames_of_the_films_own_rate_are_shown_once_each() {
        for fps in [25.0, 29.97, 30.0, 59.94] {
            for of in [Frames::Live, Frames::FileThinned, Frames::File] {
                let mut pace = Pace::new(FrameRate::of(fps), of);
                let FrameRate { frames, per_seconds } = pace.rate;
                for i in 0..100_000i64 {
                    let at = i as f64 * 1e6 * f64::from(per_seconds) / f64::from(frames);
                    assert_eq!(frame(&mut pace, 7 + at.round() as i64), Some(0), "{fps}, {i}");
                }
            }
        }
    }

    #[test]
    fn a_film_is_as_long_as_what_it_shows_whatever_comes() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut pace = Pace::new(FrameRate::of(30.0), Frames::Live);
        let (mut now_us, mut shown) = (0, 0);
        for _ in 0..20_000 {
            // From four times the film's rate to a tenth of it, and sometimes nothing for a while.
            now_us += rng.i64(8_000..330_000) + if rng.u8(..50) == 0 { 3_000_000 } else { 0 };
            if rng.bool() {
                shown += u64::from(pace.still(now_us));
            }
            shown += pace.frame(now_us - rng.i64(0..60_000), now_us).map_or(0, |again| u64::from(again) + 1);
            assert_eq!(shown, pace.taken());
            let due = now_us as f64 * 30e-6;
            assert!((shown as f64 - due).abs() < 16.0, "{shown} of {due}");
        }
    }

    #[test]
    fn without_loss_every_frame_has_a_place() {
        let mut pace = Pace::new(FrameRate::of(30.0), Frames::File);
        // A doubled stamp, one that goes back, a gap of a second.
        let again = [0, 33_333, 33_333, 20_000, 1_000_000, 1_033_333].map(|us| frame(&mut pace, us));
        assert_eq!(again, [Some(0), Some(0), Some(0), Some(0), Some(26), Some(0)]);
        assert_eq!(pace.taken(), 32);
    }

    #[test]
    fn at_a_lower_rate_a_file_is_as_long_as_it_was() {
        let mut pace = Pace::new(FrameRate::of(5.0), Frames::FileThinned);
        let shown = (0..300).filter_map(|i| frame(&mut pace, i * 1_000_000 / 30)).count();
        assert_eq!((shown, pace.taken()), (51, 51));
        // And its gaps are shown in full.
        assert_eq!(frame(&mut pace, 40_000_000), Some(149));
    }

    #[test]
    fn a_files_long_gap_is_shown_in_full_up_to_ten_minutes() {
        let mut pace = Pace::new(FrameRate::of(30.0), Frames::File);
        assert_eq!([0, 25_000_000].map(|us| frame(&mut pace, us)), [Some(0), Some(749)]);
        assert_eq!(pace.left_out_us(), 0);
        assert_eq!(frame(&mut pace, 25_000_000 + 3_600_000_000), Some(18_000));
        assert!((2_999_900_000..3_000_000_000).contains(&pace.left_out_us()), "{}", pace.left_out_us());
    }

    #[test]
    fn a_clock_that_jumps_adds_no_more_than_ten_seconds() {
        let mut pace = Pace::new(FrameRate::of(30.0), Frames::Live);
        assert_eq!((pace.still(50), frame(&mut pace, 0)), (0, Some(0)));
        assert_eq!(frame(&mut pace, i64::MAX / 2), Some(300));
        assert_eq!(frame(&mut pace, i64::MAX / 2 + 33_333), Some(0));
        assert!(pace.still(i64::MAX) <= 300);
    }

    /// As of a slow board.
    #[test]
    fn frames_that_are_always_old_when_they_come_have_their_places() {
        for (age_ms, every_ms) in [(700, 650), (1_200, 1_100), (3_000, 3_000), (40, 600)] {
            let mut pace = Pace::new(FrameRate::of(30.0), Frames::Live);
            let mut shown = 0;
            for i in 0..20 {
                let at_ms = age_ms + i * every_ms;
                shown += i64::from(pace.frame(i * every_ms * 1_000, at_ms * 1_000).is_some());
                for later_ms in (100..every_ms).step_by(100) {
                    pace.still((at_ms + later_ms) * 1_000);
                }
            }
            assert_eq!((shown, pace.too_late()), (20, 0), "{age_ms} ms old every {every_ms} ms");
        }
    }

    #[test]
    fn a_frame_that_comes_after_its_place_was_filled_is_counted() {
        let mut pace = Pace::new(FrameRate::of(10.0), Frames::Live);
        assert_eq!((frame(&mut pace, 0), pace.still(2_000_000)), (Some(0), 14));
        assert_eq!((pace.frame(1_000_000, 2_100_000), pace.too_late()), (None, 1));
        // Of the film's own rate there is no place for a second one, which is as it should be.
        assert_eq!((frame(&mut pace, 2_200_000), frame(&mut pace, 2_210_000)), (Some(7), None));
        assert_eq!(pace.too_late(), 1);
    }
}
