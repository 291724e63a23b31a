//! A joint's score: how likely the answer lies within a tenth of the person's extent, by what the network says of its own error.
//!
//! The network's error is of a Laplace distribution, and real ones have heavier tails: a joint that it is sure of is still on the wrong
//! limb now and then. So the share of joints that lie near enough was counted, on films that training left out, and a logistic function
//! of the logarithm of what the network says fitted to it (Platt, 1999): `1 / (1 + (error / middle)^slope)`.
//! `models/train/posetrain/temporal/scores.py` fits it and is the same arithmetic; the golden file holds the two together.

use super::weights::Weights;
use crate::TemporalError;
use math::logistic;

/// What the names of its tensors begin with.
const NAME: &str = "score_curve";

/// What was fitted for one kind of detector.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScoreCurve {
    slope: f32,
    /// Logarithm of the Laplace distribution's parameter, in parts of the scale and not widened, at which every second answer is near enough.
    log_middle: f32,
}

impl ScoreCurve {
    /// The tensor `score_curve`, or that of one kind of detector; `None` where a file has none.
    ///
    /// # Errors
    /// [`TemporalError::Weights`] where it is of another size.
    pub fn load(weights: &Weights, detector: Option<&str>) -> Result<Option<Self>, TemporalError> {
        let name = detector.map_or_else(|| NAME.to_owned(), |detector| format!("{NAME}.{detector}"));
        if weights.len(&name).is_none() {
            return Ok(None);
        }
        let values = weights.take(&name, &[2])?;
        Ok(Some(Self { slope: values[0].clamp(0.0, 10.0), log_middle: values[1].clamp(1e-4, 10.0).ln() }))
    }

    /// 0..=1, of a joint for which the network says this logarithm.
    pub fn of(&self, log_error: f32) -> f32 {
        logistic(self.slope * (self.log_middle - log_error))
    }
}
