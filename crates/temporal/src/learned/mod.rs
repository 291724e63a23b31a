//! Learned models: a causal network with one memory a person.
//!
//! An observation is put into the person's own frame ([`frame`]), goes through the network ([`Core`]: a Transformer-XL, [`xl`], a
//! gated recurrent network, [`gru`], or a diagonal state space, [`state_space`]), and the answer is led back to pixels here: an anchor, mixed by the network from the observation and its running means, plus a
//! correction for each horizon, that goes on in part as the answer before foretold ([`inertia`]) and through which what was seen shows
//! ([`residual`]); half the width of the 68 % interval; how likely a joint is right ([`score`]); and the hip-centred pose in metres.

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

use pose::{Forecast, HORIZONS_US, JOINTS, JointState, Keypoints, MAX_PERSONS, MIRROR};

use self::{
    frame::{FEATURES, MIX, NOMINAL_US, PersonFrame},
    inertia::Inertia,
    linear::Linear,
    residual::Residual,
    score::ScoreCurve,
    weights::Weights,
};
use super::{
    MEASURED_SCORE, Observation, TemporalError, TemporalModel,
    timing::{Arrival, LastSeen},
};
use math::exp_nonpositive;

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

/// Unit of the network's corrections, of the person's scale.
const DELTA_SCALE: f32 = 0.1;
/// Added to the network's logarithm of sigma.
const SIGMA_BIAS: f32 = -3.5;
/// Added to the weight, before its softmax, of where the joint of the other side was seen.
const EXCHANGED_BIAS: f32 = -4.0;
/// The same weight, and the log-odds of inertia, in a file whose head has none.
const NEVER: f32 = -1e3;
const LOG_SIGMA_RANGE: (f32, f32) = (-7.0, 1.0);
/// The network gives a Laplace distribution's parameter b; 68 % of it lie within 1.14 b.
const SIGMA_OF_LAPLACE: f32 = 1.139;
/// An observation that the answer leaves by more than this part of the scale was not believed: the joint is predicted.
const BELIEVED: f32 = 0.1;
/// A prediction of a joint not seen in this frame, less sure than this part of the scale, is no prediction: the joint is absent.
const LOST_SIGMA: f32 = 0.15;
/// The same of a joint that is seen: a vague answer beside what the frame says is worth more than none. Its score, below 0.1 there, says
/// how much.
const VAGUE_SIGMA: f32 = 0.4;
/// A person not seen for longer is absent as a whole, nominal frames (one second): longer than any occlusion learned.
const LOST_FRAMES: f32 = 30.0;
/// In a file without a curve for it ([`ScoreCurve`]) the score is the probability, by sigma, of lying within this part of the scale.
const SCORE_WITHIN: f32 = 0.1;
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

impl SigmaScale {
    fn new([measured, predicted]: [f32; 2]) -> Self {
        Self { measured: measured.clamp(0.1, 10.0), predicted: predicted.clamp(0.1, 10.0) }
    }
}

/// What was fitted for one kind of detector.
struct ErrorModel {
    name: String,
    lead_frames: f32,
    sigma_scale: SigmaScale,
    score_curve: Option<ScoreCurve>,
    shows_through: f32,
}

/// How answers are told, by the kind of detector.
#[derive(Clone, Copy)]
struct Told {
    lead_frames: f32,
    sigma_scale: SigmaScale,
    score_curve: Option<ScoreCurve>,
    shows_through: f32,
    inertia_near: f32,
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
    lead_frames: f32,
    sigma_scale: SigmaScale,
    score_curve: Option<ScoreCurve>,
    shows_through: f32,
    inertia_near: f32,
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
                Ok(ErrorModel {
                    name: name.to_owned(),
                    lead_frames: values[0],
                    sigma_scale: SigmaScale::new([values[1], values[2]]),
                    score_curve: ScoreCurve::load(&weights, Some(name))?,
                    shows_through: shows_through.clamp(0.0, 1.0),
                })
            })
            .collect::<Result<Vec<_>, TemporalError>>()?;
        Ok(Self {
            smoothness: smoothness.clamp(0.0, 1.0),
            lead_frames: lead_frames.clamp(0.0, HORIZON_FRAMES),
            sigma_scale: SigmaScale::new([scale[0], scale[1]]),
            score_curve: ScoreCurve::load(&weights, None)?,
            shows_through: 0.0,
            inertia_near: inertia_near.clamp(0.01, 1.0),
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
            (self.sigma_scale, self.shows_through) = (model.sigma_scale, model.shows_through);
            self.score_curve = model.score_curve.or(self.score_curve);
            let lead_frames = model.lead_frames;
            self = self.with_lead(lead_frames);
        }
        self
    }

    /// By how many nominal frames (30 Hz) the network's forecasts are read further ahead than asked.
    pub fn lead_frames(&self) -> f32 {
        self.lead_frames
    }

    /// Reads the network's forecasts this many nominal frames further ahead than asked, instead of the weights' own lead.
    ///
    /// A causal filter that smooths lags; the network's own forecast takes the lag back at little cost in jitter. From 0 to
    /// 1.5 (one step between horizons), clamped.
    pub fn with_lead(mut self, lead_frames: f32) -> Self {
        self.lead_frames = lead_frames.clamp(0.0, HORIZON_FRAMES);
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
            let output = &self.outputs[i];
            let told = Told {
                lead_frames: self.lead_frames,
                sigma_scale: self.sigma_scale,
                score_curve: self.score_curve,
                shows_through: self.shows_through,
                inertia_near: self.inertia_near,
            };
            self.persons[slot].answer(output, dt, keypoints[i], told);
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

impl Person {
    /// Reads the network's answer: `[horizon][joint][xy]` corrections, `[horizon][joint]` log sigma, `[mix][joint]` weights
    /// before their softmax, `[joint][xyz]` in the unit cube and the logarithm of the cube's half side in metres,
    /// `[horizon][mean][joint]` how far to go on along the observation's distance from each running mean, `[joint]` the weight, beside the
    /// mix's, of where the joint of the other side was seen, and `[joint]` the log-odds of going on as foretold ([`Inertia`]).
    fn answer(&mut self, output: &[f32; OUTPUTS], dt: f32, keypoints: &Keypoints, told: Told) {
        let Told { lead_frames, sigma_scale, score_curve, shows_through, inertia_near } = told;
        let (deltas, rest) = output.split_at(DELTAS);
        let (log_sigmas, rest) = rest.split_at(SIGMAS);
        let (mixes, rest) = rest.split_at(MIXES);
        let (lift, rest) = rest.split_at(LIFTS);
        let (leans, rest) = rest.split_at(LEANS);
        let (exchanges, inertia) = rest.split_at(JOINTS);
        let frame = &self.frame;
        let (scale_px, centre_px) = (frame.scale_px(), frame.centre_px);
        self.unseen_frames = if frame.seen.contains(&true) { 0.0 } else { self.unseen_frames + dt };
        let lost = self.unseen_frames > LOST_FRAMES;
        let largest_sigma_px = scale_px * SIGMA_OF_LAPLACE * LOG_SIGMA_RANGE.1.exp();
        let f = &mut self.forecast;
        for j in 0..JOINTS {
            let exchange = exchanges[j] + EXCHANGED_BIAS;
            let mut largest = exchange;
            for b in 0..MIX {
                largest = largest.max(mixes[b * JOINTS + j]);
            }
            let mut sum = exp_nonpositive(exchange - largest);
            let mut anchor = frame.bank[0][MIRROR[j]].map(|v| sum * v);
            for b in 0..MIX {
                let share = exp_nonpositive(mixes[b * JOINTS + j] - largest);
                sum += share;
                let [x, y] = frame.bank[b][j];
                anchor = [anchor[0] + share * x, anchor[1] + share * y];
            }
            for h in 0..HORIZONS_US.len() {
                let at = h * JOINTS + j;
                for i in 0..2 {
                    let mut past = 0.0;
                    for b in 1..MIX {
                        let lean = leans[(h * (MIX - 1) + b - 1) * JOINTS + j];
                        past += lean * (frame.bank[0][j][i] - frame.bank[b][j][i]);
                    }
                    let place = anchor[i] / sum + past + DELTA_SCALE * deltas[2 * at + i];
                    f.places_px[h][j][i] = centre_px[i] + scale_px * place;
                }
            }
            lead(&mut f.places_px, j, lead_frames / HORIZON_FRAMES);
            self.inertia.go_on(&mut f.places_px, j, inertia[j], dt, inertia_near * scale_px);
        }
        self.residual.show_through(&mut f.places_px, &keypoints.joints, shows_through, dt, scale_px);
        for j in 0..JOINTS {
            let k = &keypoints.joints[j];
            // Compared as squares: a root is not needed. What is not a number is not near.
            let off_px = [k.x_px - f.places_px[0][j][0], k.y_px - f.places_px[0][j][1]];
            let near = off_px[0] * off_px[0] + off_px[1] * off_px[1] <= (BELIEVED * scale_px).powi(2);
            let measured = frame.seen[j] && k.score >= MEASURED_SCORE && near;
            let widen = if measured { sigma_scale.measured } else { sigma_scale.predicted };
            let log_sigma = |h: usize| {
                (log_sigmas[h * JOINTS + j] + SIGMA_BIAS).clamp(LOG_SIGMA_RANGE.0, LOG_SIGMA_RANGE.1)
            };
            for h in 0..HORIZONS_US.len() {
                f.sigma_px[h][j] =
                    largest_sigma_px * widen * exp_nonpositive(log_sigma(h) - LOG_SIGMA_RANGE.1);
            }
            let sigma = f.sigma_px[0][j] / scale_px;
            f.score[j] = match &score_curve {
                Some(curve) => curve.of(log_sigma(0)),
                None => 1.0 - exp_nonpositive(-0.5 * (SCORE_WITHIN / sigma).powi(2)),
            };
            f.state[j] = if measured {
                JointState::Measured
            } else if sigma <= (if frame.seen[j] { VAGUE_SIGMA } else { LOST_SIGMA }) && !lost {
                JointState::Predicted
            } else {
                JointState::Absent
            };
            if f.state[j] == JointState::Absent {
                f.score[j] = 0.0;
            }
        }
        self.inertia.is_moving = true;
        let (unit, log_metres) = lift.split_at(JOINTS * 3);
        let half_side_m = log_metres[0].clamp(-3.0, 2.0).exp();
        let lifted = std::array::from_fn(|j| std::array::from_fn(|i| unit[3 * j + i] * half_side_m));
        f.joints_3d_m = (!lost).then_some(lifted);
    }
}

/// Moves every horizon's place a part of the way to the next one's; the last goes on as it came.
fn lead(places_px: &mut [[[f32; 2]; JOINTS]; HORIZONS_US.len()], joint: usize, part: f32) {
    // Not `map`, which takes the array by value: seventeen copies of it a person are a tenth of the step.
    let at: [[f32; 2]; HORIZONS_US.len()] = std::array::from_fn(|h| places_px[h][joint]);
    let last = at.len() - 1;
    for (h, places) in places_px.iter_mut().enumerate() {
        let (from, to) = if h < last { (at[h], at[h + 1]) } else { (at[last - 1], at[last]) };
        for i in 0..2 {
            places[joint][i] = at[h][i] + part * (to[i] - from[i]);
        }
    }
}

#[cfg(test)]
mod tests;
