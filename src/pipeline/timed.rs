//! The real [`PoseTracker`]: a [`Tracker`] with a clock, so that each of its stages is timed.

use std::sync::Arc;

use pose::PoseFrame;

use super::PoseTracker;
use crate::clock::Clock;
use crate::output::display::PictureTap;
use crate::picture::Frame;
use crate::telemetry::{Stage, Telemetry};
use crate::tracker::{TrackError, Tracker};

/// Tracks; times go to the telemetry.
pub struct Timed {
    tracker: Tracker,
    clock: Arc<dyn Clock>,
    tap: Option<PictureTap>,
}

impl Timed {
    /// Times `tracker` by `clock`; each frame that gave poses can be looked at through `tap`.
    pub fn new(tracker: Tracker, clock: Arc<dyn Clock>, tap: Option<PictureTap>) -> Self {
        Self { tracker, clock, tap }
    }
}

impl PoseTracker for Timed {
    fn track(&mut self, frame: &Frame, telemetry: &Telemetry) -> Result<PoseFrame, TrackError> {
        // Summed up by stage: a frame that is searched passes some of them twice, and counts once.
        let mut sums_us = [None; Stage::ALL.len()];
        let mut last_us = self.clock.now_us();
        let poses = self.tracker.track_timed(frame, &mut |stage| {
            let now_us = self.clock.now_us();
            *sums_us[stage as usize].get_or_insert(0) += now_us - last_us;
            last_us = now_us;
        })?;
        for (stage, sum) in Stage::ALL.iter().zip(sums_us) {
            if let Some(us) = sum {
                telemetry.time_us(*stage, us);
            }
        }
        if let Some(tap) = &self.tap {
            tap.put(frame);
        }
        Ok(poses)
    }

    fn reset(&mut self) {
        self.tracker.reset();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::capture::FrameSource;
    use crate::capture::clip::EveryFrame;
    use crate::capture::synthetic::Synthetic;
    use crate::clock::Monotonic;
    use crate::config::Config;

    #[test]
    fn whoever_is_there_after_a_reset_is_somebody_new() {
        let tracker = Tracker::new(&Config::default()).expect("the built-in models load");
        let mut timed = Timed::new(tracker, Arc::new(Monotonic), None);
        let mut source = EveryFrame(Synthetic::new(1, 320, 240, 30.0, 3).expect("valid"));
        let telemetry = Telemetry::default();
        let mut id_after = |timed: &mut Timed, frames: usize| {
            let mut next = || source.next_frame(Duration::ZERO).expect("a frame").expect("no wait");
            let poses = (0..frames).map(|_| timed.track(&next(), &telemetry).expect("tracks")).last();
            poses.and_then(|poses| poses.persons[0]).expect("somebody is told of").track_id
        };
        let before = id_after(&mut timed, 20);
        assert_eq!(id_after(&mut timed, 5), before);
        timed.reset();
        assert_ne!(id_after(&mut timed, 5), before);
    }
}
