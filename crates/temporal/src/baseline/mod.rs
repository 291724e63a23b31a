//! Classic filters behind the same trait as the learned model: what it has to beat, and what to fall back on.
//!
//! Each joint is filtered by itself. Sigmas are conventional rather than learned: a part of the person's extent that grows
//! with the time since the joint was last seen (the Kalman filter brings its own). Scores are the network's, fading
//! while the joint is not seen.

mod exponential;
mod kalman;
mod one_euro;

use pose::{Forecast, HORIZONS_US, JOINTS, Joint, JointState, Keypoints, MAX_PERSONS};

pub use exponential::Exponential;
pub use kalman::Kalman;
pub use one_euro::OneEuro;

use super::{
    MEASURED_SCORE, Observation, TemporalModel, seen,
    timing::{Arrival, LastSeen},
};

/// A joint not seen for longer is absent, in seconds: after half a second a held place says nothing of a moving limb.
const HOLD_S: f32 = 0.5;

/// Growth of the conventional sigma, parts of the person's extent per second: about how fast a walking person's joints move.
const SIGMA_GROWTH_PER_S: f32 = 0.5;

/// One rule that filters one joint's track.
pub trait Rule: Send {
    /// What the rule remembers of one joint.
    type Memory: Copy + Default + Send;
    /// The track begins at `at_px`.
    fn start(&self, memory: &mut Self::Memory, at_px: [f32; 2], extent_px: f32);
    /// The joint is seen at `at_px`, `dt_s` after it was last seen; gives nothing back: see [`Rule::ahead`].
    fn update(&self, memory: &mut Self::Memory, at_px: [f32; 2], dt_s: f32, extent_px: f32);
    /// Where the joint is `after_s` after it was last seen, and sigma in pixels where the rule knows it.
    fn ahead(&self, memory: &Self::Memory, after_s: f32) -> ([f32; 2], Option<f32>);
}

/// No filter: the last place seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unfiltered;

impl Rule for Unfiltered {
    type Memory = [f32; 2];
    fn start(&self, memory: &mut [f32; 2], at_px: [f32; 2], _extent_px: f32) {
        *memory = at_px;
    }
    fn update(&self, memory: &mut [f32; 2], at_px: [f32; 2], _dt_s: f32, _extent_px: f32) {
        *memory = at_px;
    }
    fn ahead(&self, memory: &[f32; 2], _after_s: f32) -> ([f32; 2], Option<f32>) {
        (*memory, None)
    }
}

#[derive(Clone, Copy, Default)]
struct JointTrack<M> {
    memory: M,
    /// Seconds since the joint was last seen; `None` before it ever was.
    unseen_s: Option<f32>,
    score: f32,
}

#[derive(Clone, Copy)]
struct PersonTrack<M> {
    last_seen: LastSeen,
    extent_px: f32,
    joints: [JointTrack<M>; JOINTS],
    forecast: Forecast,
}

impl<M: Copy + Default> Default for PersonTrack<M> {
    fn default() -> Self {
        Self {
            last_seen: LastSeen::default(),
            extent_px: 0.0,
            joints: [JointTrack::default(); JOINTS],
            forecast: Forecast::default(),
        }
    }
}

/// [`MAX_PERSONS`] memories of one [`Rule`].
pub struct Bank<R: Rule> {
    name: &'static str,
    rule: R,
    persons: [PersonTrack<R::Memory>; MAX_PERSONS],
}

impl<R: Rule> Bank<R> {
    /// Empty memories; `name` is what [`TemporalModel::name`] answers.
    pub fn new(name: &'static str, rule: R) -> Self {
        Self { name, rule, persons: [PersonTrack::default(); MAX_PERSONS] }
    }
}

impl<R: Rule> TemporalModel for Bank<R> {
    fn name(&self) -> &str {
        self.name
    }

    fn reset(&mut self, slot: usize) {
        if let Some(person) = self.persons.get_mut(slot) {
            *person = PersonTrack::default();
        }
    }

    fn step(&mut self, observations: &[Observation], forecasts: &mut [Forecast]) {
        let forecasts = &mut forecasts[..observations.len()];
        for (observation, forecast) in observations.iter().zip(forecasts) {
            *forecast = match self.persons.get_mut(observation.slot) {
                Some(person) => {
                    person.take(&self.rule, observation);
                    person.forecast
                }
                None => Forecast { captured_at_us: observation.captured_at_us, ..Forecast::default() },
            };
        }
    }
}

impl<M: Copy + Default> PersonTrack<M> {
    fn take<R: Rule<Memory = M>>(&mut self, rule: &R, observation: &Observation) {
        let dt_s = match self.last_seen.arrive(observation.captured_at_us) {
            Arrival::Stale => return,
            Arrival::First => {
                *self = Self { last_seen: self.last_seen, ..Self::default() };
                0.0
            }
            Arrival::After(dt_us) => dt_us as f32 * 1e-6,
        };
        let keypoints = observation.keypoints.unwrap_or_default();
        self.measure(&keypoints);
        for (track, k) in self.joints.iter_mut().zip(&keypoints.joints) {
            let unseen_s = track.unseen_s.map(|s| s + dt_s);
            if seen(k) {
                match unseen_s {
                    Some(s) => rule.update(&mut track.memory, [k.x_px, k.y_px], s, self.extent_px),
                    None => rule.start(&mut track.memory, [k.x_px, k.y_px], self.extent_px),
                }
                track.unseen_s = Some(0.0);
                track.score = k.score.min(1.0);
            } else {
                track.unseen_s = unseen_s;
            }
        }
        self.answer(rule, observation.captured_at_us, &keypoints);
    }

    /// Follows the person's extent (longer side of the box round the joints seen) where enough of it is in view. Fewer joints show that they are
    /// at least so large: a first frame with the nose alone must not leave them as small as that.
    fn measure(&mut self, keypoints: &Keypoints) {
        let (mut low, mut high, mut n) = ([f32::INFINITY; 2], [f32::NEG_INFINITY; 2], 0);
        for k in keypoints.joints.iter().filter(|k| seen(k)) {
            for (i, v) in [k.x_px, k.y_px].into_iter().enumerate() {
                (low[i], high[i]) = (low[i].min(v), high[i].max(v));
            }
            n += 1;
        }
        let extent_px = (high[0] - low[0]).max(high[1] - low[1]).max(8.0);
        if self.extent_px == 0.0 && n > 0 {
            self.extent_px = extent_px;
        } else if n >= JOINTS / 2 || (n > 0 && extent_px > self.extent_px) {
            self.extent_px += 0.2 * (extent_px - self.extent_px);
        }
    }

    fn answer<R: Rule<Memory = M>>(&mut self, rule: &R, captured_at_us: i64, keypoints: &Keypoints) {
        let f = &mut self.forecast;
        f.captured_at_us = captured_at_us;
        for (j, track) in self.joints.iter().enumerate() {
            let Some(unseen_s) = track.unseen_s else { continue };
            for (h, &ahead_us) in HORIZONS_US.iter().enumerate() {
                let after_s = unseen_s + ahead_us as f32 * 1e-6;
                let (place, sigma) = rule.ahead(&track.memory, after_s);
                let conventional = Joint::ALL[j].oks_sigma() * 0.5 + SIGMA_GROWTH_PER_S * after_s;
                f.places_px[h][j] = place;
                f.sigma_px[h][j] = sigma.unwrap_or(conventional * self.extent_px);
            }
            f.score[j] = track.score * (1.0 - unseen_s / HOLD_S).max(0.0);
            f.state[j] = if unseen_s == 0.0 && keypoints.joints[j].score >= MEASURED_SCORE {
                JointState::Measured
            } else if unseen_s <= HOLD_S {
                JointState::Predicted
            } else {
                JointState::Absent
            };
        }
    }
}

/// `1 - exp(-dt / tau)` of a first-order low-pass with this cutoff.
fn low_pass_gain(cutoff_hz: f32, dt_s: f32) -> f32 {
    1.0 - (-std::f32::consts::TAU * cutoff_hz * dt_s).exp()
}

#[cfg(test)]
mod tests;
