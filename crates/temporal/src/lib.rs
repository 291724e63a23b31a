//! Causal temporal models: one memory a person.
//!
//! A model answers for four moments at and after the capture; a [`Forecast`] interpolates between them, so that any
//! thread can ask for the pose at the moment of sending without touching the model.
//!
//! What every model does with bad input:
//!
//! | input | behaviour |
//! |---|---|
//! | a coordinate that is NaN, infinite or beyond ±100,000 px; a score that is NaN or below 0.05 | the joint was not seen in this frame |
//! | a score above 1 | counts as 1 |
//! | a capture time less than 1 ms after the last one, or up to 2 s before it | the observation is ignored, the last forecast repeated |
//! | a capture time more than 2 s after or before the last one | the slot is reset, then the observation taken as the first |
//! | every joint absent, or the person not found | the memory moves on; joints are predicted until they become absent, all within a second |
//! | two persons exchange ids | each memory goes over to the other person: no joint is `measured` far from where it is seen, and within a second the answers lie on the persons again |
//! | a slot named twice in one frame | the learned model takes the first observation |
//! | a slot at or beyond [`MAX_PERSONS`] | an empty forecast: every joint absent |

pub mod baseline;
mod learned;
mod timing;

use std::{fmt, str::FromStr};

use pose::{Forecast, Keypoint, Keypoints};

use names::one_of;
#[cfg(doc)]
use pose::{JointState, MAX_PERSONS};

pub use learned::{DEFAULT_SMOOTHNESS, Gru, Learned, S4d, Xl};
pub use timing::MAX_GAP_US;

/// A joint with a lower score counts as not seen: a network's answer for a joint it did not find is noise.
pub const MIN_SCORE: f32 = 0.05;

/// From this score a joint seen is called [`JointState::Measured`]; below it the answer rests on the past and on the
/// other joints more than on the frame.
pub const MEASURED_SCORE: f32 = 0.2;

/// No camera has such pixels: what lies beyond is a fault upstream.
pub const MAX_PLACE_PX: f32 = 1e5;

/// What one frame says of one person.
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    /// Whose memory: `0..MAX_PERSONS`.
    pub slot: usize,
    /// The frame's capture time.
    pub captured_at_us: i64,
    /// What the network saw; `None` where the person was not found in this frame.
    pub keypoints: Option<Keypoints>,
}

/// A causal filter with one memory a person.
///
/// `step` allocates nothing and reads no clock: the same observations give the same forecasts.
pub trait TemporalModel: Send {
    /// The name that `--smoother` takes.
    fn name(&self) -> &str;
    /// Forgets the person in `slot`; a slot that does not exist is nothing to forget.
    fn reset(&mut self, slot: usize);
    /// Takes one frame's observations (each slot at most once) and writes a forecast for each, in the same order.
    ///
    /// # Panics
    /// Where `forecasts` is shorter than `observations`.
    fn step(&mut self, observations: &[Observation], forecasts: &mut [Forecast]);
}

/// The temporal models that can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum Smoother {
    /// Passes the observation on; a joint not seen stays where it was.
    None,
    /// The One-Euro filter (Casiez et al., CHI 2012).
    OneEuro,
    /// Exponential mean.
    Exponential,
    /// Constant-velocity Kalman filter.
    Kalman,
    /// A gated recurrent network, learned; its weights are not built in.
    Gru,
    /// A diagonal state space (S4D), learned; its weights are not built in.
    S4d,
    /// The learned causal Transformer-XL.
    Xl,
}

impl Smoother {
    /// Every choice, in the order in which help and tables list them.
    pub const ALL: [Smoother; 7] = [
        Smoother::None,
        Smoother::OneEuro,
        Smoother::Exponential,
        Smoother::Kalman,
        Smoother::Gru,
        Smoother::S4d,
        Smoother::Xl,
    ];

    /// The word on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Smoother::None => "none",
            Smoother::OneEuro => "one-euro",
            Smoother::Exponential => "exponential",
            Smoother::Kalman => "kalman",
            Smoother::Gru => "gru",
            Smoother::S4d => "s4d",
            Smoother::Xl => "xl",
        }
    }

    /// What the manifest of its weights calls the network; `None` where it has none. A network with weights also gives metres.
    pub const fn network(self) -> Option<&'static str> {
        match self {
            Smoother::Gru => Some("gru"),
            Smoother::S4d => Some("s4d"),
            Smoother::Xl => Some("transformer-xl"),
            Smoother::None | Smoother::OneEuro | Smoother::Exponential | Smoother::Kalman => None,
        }
    }
}

impl fmt::Display for Smoother {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Smoother {
    type Err = TemporalError;
    fn from_str(word: &str) -> Result<Self, TemporalError> {
        one_of("smoother", word, &Smoother::ALL.map(|s| (s.name(), s)))
            .map_err(TemporalError::UnknownSmoother)
    }
}

impl TryFrom<String> for Smoother {
    type Error = TemporalError;
    fn try_from(word: String) -> Result<Self, TemporalError> {
        word.parse()
    }
}

impl From<Smoother> for String {
    fn from(smoother: Smoother) -> Self {
        smoother.name().into()
    }
}

/// Why a temporal model cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum TemporalError {
    /// No smoother has this name.
    #[error("{0}")]
    UnknownSmoother(String),
    /// The learned model was chosen without its weights.
    #[error(
        "smoother '{0}' needs its weights; choose another smoother or name their manifest with --temporal"
    )]
    NoWeights(Smoother),
    /// The weights file cannot be used.
    #[error("the temporal weights cannot be used: {what}")]
    Weights {
        /// What is wrong with it.
        what: String,
    },
}

/// Builds a model with [`MAX_PERSONS`] empty memories.
///
/// `weights` is the content of a `.pwt` file, `error_model` what the keypoint network's manifest calls its errors; only learned
/// smoothers read them.
///
/// # Errors
/// [`TemporalError`] where the weights are missing or do not fit.
pub fn build(
    kind: Smoother,
    weights: Option<&[u8]>,
    error_model: Option<&str>,
) -> Result<Box<dyn TemporalModel>, TemporalError> {
    use baseline::{Bank, Exponential, Kalman, OneEuro, Unfiltered};
    Ok(match kind {
        Smoother::None => Box::new(Bank::new(kind.name(), Unfiltered)),
        Smoother::OneEuro => Box::new(Bank::new(kind.name(), OneEuro::TUNED)),
        Smoother::Exponential => Box::new(Bank::new(kind.name(), Exponential::TUNED)),
        Smoother::Kalman => Box::new(Bank::new(kind.name(), Kalman::TUNED)),
        Smoother::Gru => of_network::<learned::gru::Network>(kind, weights, error_model)?,
        Smoother::S4d => of_network::<learned::state_space::Network>(kind, weights, error_model)?,
        Smoother::Xl => of_network::<learned::xl::Network>(kind, weights, error_model)?,
    })
}

fn of_network<C>(
    kind: Smoother,
    weights: Option<&[u8]>,
    error_model: Option<&str>,
) -> Result<Box<dyn TemporalModel>, TemporalError>
where
    C: learned::Core + 'static,
    C::Memory: 'static,
    C::Scratch: 'static,
{
    let weights = weights.ok_or(TemporalError::NoWeights(kind))?;
    let model = Learned::<C>::new(weights, DEFAULT_SMOOTHNESS)?;
    Ok(Box::new(model.observed_by(error_model.unwrap_or_default())))
}

/// Whether a keypoint can be used at all.
fn seen(k: &Keypoint) -> bool {
    // Comparisons with NaN are false, so each of these also refuses NaN.
    k.score >= MIN_SCORE && k.x_px.abs() < MAX_PLACE_PX && k.y_px.abs() < MAX_PLACE_PX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_smoother_is_found_by_its_own_name() {
        for s in Smoother::ALL {
            assert_eq!(s.name().parse::<Smoother>().unwrap(), s);
        }
        assert!("wavelet".parse::<Smoother>().unwrap_err().to_string().contains("wavelet"));
    }

    #[test]
    fn nan_infinite_far_and_unsure_keypoints_count_as_not_seen() {
        let good = Keypoint { x_px: 1.0, y_px: 2.0, score: 0.5, sigma_px: 0.0 };
        assert!(seen(&good));
        assert!(!seen(&Keypoint { x_px: f32::NAN, ..good }));
        assert!(!seen(&Keypoint { y_px: f32::INFINITY, ..good }));
        assert!(!seen(&Keypoint { x_px: -2e5, ..good }));
        assert!(!seen(&Keypoint { score: f32::NAN, ..good }));
        assert!(!seen(&Keypoint { score: 0.049, ..good }) && seen(&Keypoint { score: 0.051, ..good }));
        assert!(!seen(&Keypoint { y_px: -1.001e5, ..good }) && seen(&Keypoint { x_px: -9.99e4, ..good }));
    }
}
