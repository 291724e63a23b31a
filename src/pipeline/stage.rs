//! The real [`PoseStage`]: [`crate::stage`] with a clock, so that each of its steps is timed.

use std::sync::Arc;

use super::{PoseStage, StageError};
use crate::clock::Clock;
use crate::output::display::PictureTap;
use crate::picture::Frame;
use crate::stage::{self, Step};
use crate::telemetry::{Stage, Telemetry};
use pose::PoseFrame;

/// Decodes, finds, identifies and filters; times go to the telemetry.
pub struct Tracking {
    stage: stage::Stage,
    clock: Arc<dyn Clock>,
    tap: Option<PictureTap>,
}

impl Tracking {
    /// Times `stage` by `clock`; each frame that gave poses can be looked at through `tap`.
    pub fn new(stage: stage::Stage, clock: Arc<dyn Clock>, tap: Option<PictureTap>) -> Self {
        Self { stage, clock, tap }
    }
}

impl PoseStage for Tracking {
    fn process(&mut self, frame: &Frame, seq: u64, telemetry: &Telemetry) -> Result<PoseFrame, StageError> {
        // Summed up by step: a frame that is searched passes some of them twice, and counts once.
        let mut sums_us = [None; Stage::ALL.len()];
        let mut last_us = self.clock.now_us();
        let poses = self.stage.process(frame, seq, &mut |step| {
            let now_us = self.clock.now_us();
            *sums_us[timed_as(step) as usize].get_or_insert(0) += now_us - last_us;
            last_us = now_us;
        });
        for (stage, sum) in Stage::ALL.iter().zip(sums_us) {
            if let Some(us) = sum {
                telemetry.time_us(*stage, us);
            }
        }
        if let (Some(tap), Ok(_)) = (&self.tap, &poses) {
            tap.put(frame);
        }
        poses.map_err(|error| match error {
            stage::StageError::Frame(error) => StageError::Frame(error.to_string()),
            stage::StageError::Network(error) => StageError::Fatal(error.to_string()),
        })
    }

    fn reset(&mut self) {
        self.stage.reset();
    }
}

fn timed_as(step: Step) -> Stage {
    match step {
        Step::Pixels => Stage::Pixels,
        Step::Network => Stage::Network,
        Step::Decode => Stage::Decode,
        Step::Track => Stage::Track,
        Step::Temporal => Stage::Temporal,
    }
}
