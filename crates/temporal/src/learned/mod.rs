//! Learned models: a causal network with one memory a person.
//!
//! An observation is put into the person's own frame ([`frame`]), goes through the network ([`Core`]: a Transformer-XL, [`xl`], a
//! gated recurrent network, [`gru`], or a diagonal state space, [`state_space`]), and what it says is read as an answer in pixels
//! ([`answer`]).

mod answer;
mod attention;
#[cfg(test)]
mod company;
mod cpu;
mod frame;
pub(crate) mod gru;
mod inertia;
mod linear;
mod norm;
mod residual;
mod score;
pub(crate) mod state_space;
mod weights;
pub(crate) mod xl;

use pose::{Forecast, HORIZONS_US, JOINTS, Keypoints, MAX_PERSONS};

use self::{
    frame::{FEATURES, MIX, NOMINAL_US, PersonFrame},
    inertia::Inertia,
    linear::Linear,
    residual::Residual,
    score::ScoreCurve,
    weights::Weights,
};
use super::{
    Observation, TemporalError, TemporalModel,
    timing::{Arrival, LastSeen},
};

const DELTAS: usize = HORIZONS_US.len() * JOINTS * 2;
const SIGMAS: usize = HORIZONS_US.len() * JOINTS;
const MIXES: usize = MIX * JOINTS;
const LIFTS: usize = JOINTS * 3 + 1;
const LEANS: usize = HORIZONS_US.len() * (MIX - 1) * JOINTS;
/// What a head without exchange says.
const PLAIN: usize = DELTAS + SIGMAS + MIXES + LIFTS + LEANS;
/// Beside it, for each joint, how much its anchor is where that of the other side was seen.
const EXCHANGING: usize = PLAIN + JOINTS;
/// Beside that, for each joint, how much it goes on as the answer before foretold.
const OUTPUTS: usize = EXCHANGING + JOINTS;
/// Numbers of a person's observation and its running means, `[mean][joint][xy]`.
const BANK: usize = MIX * JOINTS * 2;

/// The weight, before its softmax, of where the joint of the other side was seen, and the log-odds of inertia, in a file whose head has
/// none.
const NEVER: f32 = -1e3;
/// From one horizon to the next, nominal frames.
const HORIZON_FRAMES: f32 = 1.5;
/// What the names of tensors for one kind of detector begin with.
const ERROR_MODEL: &str = "error_model.";
/// And those of how much of it shows through the answer.
const SHOWS_THROUGH: &str = "shows_through.";
/// The tensor that says how far off what was foretold counts for half ([`Inertia`]), in parts of the scale; files without it mean this.
const INERTIA_NEAR: (&str, f32) = ("inertia_near", 0.05);
/// Place on the lag-versus-jitter curve, 0..=1; how it was chosen: `docs/lab/temporal-answers.md`.
pub const DEFAULT_SMOOTHNESS: f32 = 0.1;

/// What the network's sigma is multiplied by, fitted on clips that training left out.
#[derive(Clone, Copy)]
struct SigmaScale {
    measured: f32,
    predicted: f32,
}

/// What was fitted, beside the network: how its answers are read.
#[derive(Clone, Copy)]
struct Fitted {
    lead_frames: f32,
    sigma_scale: SigmaScale,
    score_curve: Option<ScoreCurve>,
    shows_through: f32,
    inertia_near: f32,
}

impl Fitted {
    /// Every number within what a fit can mean.
    fn clamped(self) -> Self {
        let SigmaScale { measured, predicted } = self.sigma_scale;
        Self {
            lead_frames: self.lead_frames.clamp(0.0, HORIZON_FRAMES),
            sigma_scale: SigmaScale {
                measured: measured.clamp(0.1, 10.0),
                predicted: predicted.clamp(0.1, 10.0),
            },
            score_curve: self.score_curve,
            shows_through: self.shows_through.clamp(0.0, 1.0),
            inertia_near: self.inertia_near.clamp(0.01, 1.0),
        }
    }
}

/// What was fitted for one kind of detector.
struct ErrorModel {
    name: String,
    fitted: Fitted,
}

#[derive(Clone, Copy, Default)]
struct Person {
    last_seen: LastSeen,
    frame: PersonFrame,
    unseen_frames: f32,
    inertia: Inertia,
    residual: Residual,
    forecast: Forecast,
}

/// What a network reads, one row for each person of a step.
pub struct Observed {
    features: Vec<[f32; FEATURES]>,
    /// The observation and its running means in the person's frame, as [`PersonFrame`] has them.
    banks: Vec<[f32; BANK]>,
}

/// A network that stands between a person's frame and the answer, without memories and buffers.
pub trait Core: Send + Sized {
    /// What the model calls itself.
    const NAME: &'static str;
    /// What it keeps of one person from frame to frame.
    type Memory: Send;
    /// Buffers of one step, made once.
    type Scratch: Send;

    /// From an open weights file.
    ///
    /// # Errors
    /// [`TemporalError::Weights`] where the file is of another network.
    fn load(weights: &Weights) -> Result<Self, TemporalError>;
    /// An empty memory.
    fn memory(&self) -> Self::Memory;
    /// Makes a memory as an empty one.
    fn forget(memory: &mut Self::Memory);
    /// Room for [`MAX_PERSONS`].
    fn scratch(&self) -> Self::Scratch;
    /// One observation for each of `slots`, `dt` in nominal frames beside it; row `i` of `observed` and of `outputs` belongs to
    /// `slots[i]`.
    ///
    /// The same person's answer has the same bits alone and in company.
    fn step(
        &self,
        slots: &[(usize, f32)],
        observed: &Observed,
        memories: &mut [Self::Memory],
        scratch: &mut Self::Scratch,
        outputs: &mut [[f32; OUTPUTS]],
    );
}

/// The Transformer-XL.
pub type Xl = Learned<xl::Network>;
/// A gated recurrent network: a tenth of the memory.
pub type Gru = Learned<gru::Network>;
/// A diagonal state space: no products with what was, and no attention.
pub type S4d = Learned<state_space::Network>;

/// A learned network and [`MAX_PERSONS`] memories.
pub struct Learned<C: Core> {
    network: C,
    smoothness: f32,
    fitted: Fitted,
    /// Stays whatever a detector's own is.
    chosen_lead_frames: Option<f32>,
    error_models: Vec<ErrorModel>,
    persons: [Person; MAX_PERSONS],
    memories: Vec<C::Memory>,
    observed: Observed,
    outputs: Vec<[f32; OUTPUTS]>,
    scratch: C::Scratch,
}

impl<C: Core> Learned<C> {
    /// From the content of a `.pwt` file; every memory empty.
    ///
    /// `smoothness` from 0 (prompt) to 1 (steady) is clamped.
    ///
    /// # Errors
    /// [`TemporalError::Weights`] where the file is damaged or of another network.
    pub fn new(weights: &[u8], smoothness: f32) -> Result<Self, TemporalError> {
        let weights = Weights::open(weights)?;
        let network = C::load(&weights)?;
        let lead_frames = weights.take("lead_frames", &[1])?[0];
        let scale = weights.take("sigma_scale", &[2])?;
        let or = |name: &str, value: f32| match weights.len(name) {
            Some(_) => Ok(weights.take(name, &[1])?[0]),
            None => Ok(value),
        };
        let inertia_near = or(INERTIA_NEAR.0, INERTIA_NEAR.1)?;
        let error_models = weights
            .names_after(ERROR_MODEL)
            .map(|name| {
                let values = weights.take(&format!("{ERROR_MODEL}{name}"), &[3])?;
                let shows_through = or(&format!("{SHOWS_THROUGH}{name}"), 0.0)?;
                let fitted = Fitted {
                    lead_frames: values[0],
                    sigma_scale: SigmaScale { measured: values[1], predicted: values[2] },
                    score_curve: ScoreCurve::load(&weights, Some(name))?,
                    shows_through,
                    inertia_near,
                };
                Ok(ErrorModel { name: name.to_owned(), fitted: fitted.clamped() })
            })
            .collect::<Result<Vec<_>, TemporalError>>()?;
        let fitted = Fitted {
            lead_frames,
            sigma_scale: SigmaScale { measured: scale[0], predicted: scale[1] },
            score_curve: ScoreCurve::load(&weights, None)?,
            shows_through: 0.0,
            inertia_near,
        };
        Ok(Self {
            smoothness: smoothness.clamp(0.0, 1.0),
            fitted: fitted.clamped(),
            chosen_lead_frames: None,
            error_models,
            persons: [Person::default(); MAX_PERSONS],
            memories: (0..MAX_PERSONS).map(|_| network.memory()).collect(),
            observed: Observed::new(),
            // What a smaller head does not write says that nothing is.
            outputs: vec![[NEVER; OUTPUTS]; MAX_PERSONS],
            scratch: network.scratch(),
            network,
        })
    }

    /// Expects a detector of this kind: takes the lead, the width of intervals, scores and how much of what is seen shows through, as they were
    /// fitted for it. Detectors err differently, and the weights name some; for any other the defaults stay.
    pub fn observed_by(mut self, error_model: &str) -> Self {
        if let Some(model) = self.error_models.iter().find(|m| m.name == error_model) {
            let score_curve = model.fitted.score_curve.or(self.fitted.score_curve);
            self.fitted = Fitted { score_curve, ..model.fitted };
            if let Some(lead_frames) = self.chosen_lead_frames {
                self.fitted.lead_frames = lead_frames;
            }
        }
        self
    }

    /// By how many nominal frames (30 Hz) the network's forecasts are read further ahead than asked.
    pub fn lead_frames(&self) -> f32 {
        self.fitted.lead_frames
    }

    /// Reads the network's forecasts this many nominal frames further ahead than asked, instead of the weights' own lead and the detector's
    /// of [`Self::observed_by`].
    ///
    /// A causal filter that smooths lags; the network's own forecast takes the lag back at little cost in jitter. From 0 to
    /// 1.5 (one step between horizons), clamped.
    pub fn with_lead(mut self, lead_frames: f32) -> Self {
        self.fitted = Fitted { lead_frames, ..self.fitted }.clamped();
        self.chosen_lead_frames = Some(self.fitted.lead_frames);
        self
    }
}

/// The head of a file, with or without exchange and inertia.
fn head(w: &Weights, name: &str, width: usize) -> Result<Linear, TemporalError> {
    let [weight, bias] = ["weight", "bias"].map(|what| format!("{name}.{what}"));
    let smaller = [PLAIN, EXCHANGING].into_iter().find(|&outputs| w.len(&bias) == Some(outputs));
    let outputs = smaller.unwrap_or(OUTPUTS);
    Linear::load(w, [&weight, &bias], width, outputs)
}

impl Observed {
    fn new() -> Self {
        Self { features: vec![[0.0; FEATURES]; MAX_PERSONS], banks: vec![[0.0; BANK]; MAX_PERSONS] }
    }

    /// Row `i` in one piece: the features, then the observation and its running means.
    fn join(&self, i: usize, row: &mut [f32; FEATURES + BANK]) {
        let (features, bank) = row.split_at_mut(FEATURES);
        features.copy_from_slice(&self.features[i]);
        bank.copy_from_slice(&self.banks[i]);
    }
}

impl<C: Core> TemporalModel for Learned<C> {
    fn name(&self) -> &str {
        C::NAME
    }

    fn reset(&mut self, slot: usize) {
        if let Some(person) = self.persons.get_mut(slot) {
            *person = Person::default();
            C::forget(&mut self.memories[slot]);
        }
    }

    fn step(&mut self, observations: &[Observation], forecasts: &mut [Forecast]) {
        let forecasts = &mut forecasts[..observations.len()];
        let mut active = [(0, 0.0); MAX_PERSONS];
        let mut keypoints = [&NOTHING; MAX_PERSONS];
        let mut n = 0;
        for observation in observations {
            let slot = observation.slot;
            let Some(person) = self.persons.get_mut(slot) else { continue };
            // A slot named twice in one frame is a fault upstream: the first observation counts.
            if active[..n].iter().any(|&(s, _)| s == slot) {
                continue;
            }
            let dt = match person.last_seen.arrive(observation.captured_at_us) {
                Arrival::Stale => continue,
                Arrival::First => {
                    *person = Person { last_seen: person.last_seen, ..Person::default() };
                    C::forget(&mut self.memories[slot]);
                    1.0
                }
                Arrival::After(dt_us) => dt_us as f32 / NOMINAL_US,
            };
            keypoints[n] = observation.keypoints.as_ref().unwrap_or(&NOTHING);
            person.frame.take(dt, keypoints[n], self.smoothness, &mut self.observed.features[n]);
            self.observed.banks[n].copy_from_slice(person.frame.bank.as_flattened().as_flattened());
            person.forecast.captured_at_us = observation.captured_at_us;
            active[n] = (slot, dt);
            n += 1;
        }
        let (active, memories) = (&active[..n], &mut self.memories);
        self.network.step(active, &self.observed, memories, &mut self.scratch, &mut self.outputs);
        for (i, &(slot, dt)) in active.iter().enumerate() {
            self.persons[slot].answer(&self.outputs[i], dt, keypoints[i], &self.fitted);
        }
        for (observation, forecast) in observations.iter().zip(forecasts) {
            *forecast = match self.persons.get(observation.slot) {
                Some(person) => person.forecast,
                None => Forecast { captured_at_us: observation.captured_at_us, ..Forecast::default() },
            };
        }
    }
}

/// A person not found in a frame.
const NOTHING: Keypoints = Keypoints {
    joints: [pose::Keypoint { x_px: 0.0, y_px: 0.0, score: 0.0, sigma_px: 0.0 }; JOINTS],
    score: 0.0,
};

#[cfg(test)]
mod tests;
