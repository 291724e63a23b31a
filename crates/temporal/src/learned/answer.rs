//! What a network says of one person, read as an answer in pixels.
//!
//! A joint's place is an anchor, mixed by the network from the observation and its running means, plus a correction for each horizon; it
//! goes on in part as the answer before foretold ([`inertia`](super::inertia)), and what was seen shows through it
//! ([`residual`](super::residual)). Beside it stand half the width of the 68 % interval, how likely the joint is right
//! ([`score`](super::score)), and the hip-centred pose in metres.

use math::exp_nonpositive;
use pose::{HORIZONS_US, JOINTS, JointState, Keypoints, MIRROR};

use super::{DELTAS, Fitted, HORIZON_FRAMES, LEANS, LIFTS, MIXES, OUTPUTS, Person, SIGMAS, frame::MIX};
use crate::MEASURED_SCORE;

/// Unit of the network's corrections, of the person's scale.
const DELTA_SCALE: f32 = 0.1;
/// Added to the network's logarithm of sigma.
const SIGMA_BIAS: f32 = -3.5;
/// Added to the weight, before its softmax, of where the joint of the other side was seen.
const EXCHANGED_BIAS: f32 = -4.0;
const LOG_SIGMA_RANGE: (f32, f32) = (-7.0, 1.0);
/// The network gives a Laplace distribution's parameter b; 68 % of it lie within 1.14 b.
pub(super) const SIGMA_OF_LAPLACE: f32 = 1.139;
/// An observation that the answer leaves by more than this part of the scale was not believed: the joint is predicted.
const BELIEVED: f32 = 0.1;
/// A prediction of a joint not seen in this frame, less sure than this part of the scale, is no prediction: the joint is absent.
const LOST_SIGMA: f32 = 0.15;
/// The same of a joint that is seen: a vague answer beside what the frame says is worth more than none. Its score, below 0.1 there, says
/// how much.
const VAGUE_SIGMA: f32 = 0.4;
/// A person not seen for longer is absent as a whole, nominal frames (one second): longer than any occlusion learned.
const LOST_FRAMES: f32 = 30.0;
/// In a file without a curve for it ([`ScoreCurve`](super::ScoreCurve)) the score is the probability, by sigma, of lying within this part
/// of the scale.
const SCORE_WITHIN: f32 = 0.1;

/// A network's numbers for one person.
struct Said<'a> {
    /// `[horizon][joint][xy]`, corrections.
    deltas: &'a [f32],
    /// `[horizon][joint]`, logarithms of sigma.
    log_sigmas: &'a [f32],
    /// `[mix][joint]`, weights before their softmax.
    mixes: &'a [f32],
    /// `[joint][xyz]` in the unit cube, then the logarithm of the cube's half side in metres.
    lift: &'a [f32],
    /// `[horizon][mean][joint]`, how far to go on along the observation's distance from each running mean.
    leans: &'a [f32],
    /// `[joint]`, the weight, beside the mix's, of where the joint of the other side was seen.
    exchanges: &'a [f32],
    /// `[joint]`, the log-odds of going on as foretold.
    inertia: &'a [f32],
}

impl<'a> Said<'a> {
    fn of(output: &'a [f32; OUTPUTS]) -> Self {
        let (deltas, rest) = output.split_at(DELTAS);
        let (log_sigmas, rest) = rest.split_at(SIGMAS);
        let (mixes, rest) = rest.split_at(MIXES);
        let (lift, rest) = rest.split_at(LIFTS);
        let (leans, rest) = rest.split_at(LEANS);
        let (exchanges, inertia) = rest.split_at(JOINTS);
        Self { deltas, log_sigmas, mixes, lift, leans, exchanges, inertia }
    }

    fn log_sigma(&self, horizon: usize, joint: usize) -> f32 {
        let log_sigma = self.log_sigmas[horizon * JOINTS + joint] + SIGMA_BIAS;
        log_sigma.clamp(LOG_SIGMA_RANGE.0, LOG_SIGMA_RANGE.1)
    }

    fn joints_3d_m(&self) -> [[f32; 3]; JOINTS] {
        let (unit, log_metres) = self.lift.split_at(JOINTS * 3);
        let half_side_m = log_metres[0].clamp(-3.0, 2.0).exp();
        std::array::from_fn(|j| std::array::from_fn(|i| unit[3 * j + i] * half_side_m))
    }
}

impl Person {
    /// Reads what the network says of the frame that was just taken, `dt` nominal frames after the last one.
    pub(super) fn answer(
        &mut self,
        output: &[f32; OUTPUTS],
        dt: f32,
        keypoints: &Keypoints,
        fitted: &Fitted,
    ) {
        let said = Said::of(output);
        self.unseen_frames = if self.frame.seen.contains(&true) { 0.0 } else { self.unseen_frames + dt };
        let is_lost = self.unseen_frames > LOST_FRAMES;
        self.answer_places(&said, dt, keypoints, fitted);
        self.answer_certainty(&said, is_lost, keypoints, fitted);
        self.forecast.joints_3d_m = (!is_lost).then(|| said.joints_3d_m());
    }

    /// Where the joints are, at every horizon.
    fn answer_places(&mut self, said: &Said, dt: f32, keypoints: &Keypoints, fitted: &Fitted) {
        let frame = &self.frame;
        let (scale_px, centre_px) = (frame.scale_px(), frame.centre_px);
        let places_px = &mut self.forecast.places_px;
        for j in 0..JOINTS {
            let exchange = said.exchanges[j] + EXCHANGED_BIAS;
            let mut largest = exchange;
            for b in 0..MIX {
                largest = largest.max(said.mixes[b * JOINTS + j]);
            }
            let mut sum = exp_nonpositive(exchange - largest);
            let mut anchor = frame.bank[0][MIRROR[j]].map(|v| sum * v);
            for b in 0..MIX {
                let share = exp_nonpositive(said.mixes[b * JOINTS + j] - largest);
                sum += share;
                let [x, y] = frame.bank[b][j];
                anchor = [anchor[0] + share * x, anchor[1] + share * y];
            }
            for (h, places_px) in places_px.iter_mut().enumerate() {
                let at = h * JOINTS + j;
                for i in 0..2 {
                    let mut past = 0.0;
                    for b in 1..MIX {
                        let lean = said.leans[(h * (MIX - 1) + b - 1) * JOINTS + j];
                        past += lean * (frame.bank[0][j][i] - frame.bank[b][j][i]);
                    }
                    let place = anchor[i] / sum + past + DELTA_SCALE * said.deltas[2 * at + i];
                    places_px[j][i] = centre_px[i] + scale_px * place;
                }
            }
            lead(places_px, j, fitted.lead_frames / HORIZON_FRAMES);
            self.inertia.go_on(places_px, j, said.inertia[j], dt, fitted.inertia_near * scale_px);
        }
        self.inertia.is_moving = true;
        self.residual.show_through(places_px, &keypoints.joints, fitted.shows_through, dt, scale_px);
    }

    /// How sure the places are, and what is known of each joint.
    fn answer_certainty(&mut self, said: &Said, is_lost: bool, keypoints: &Keypoints, fitted: &Fitted) {
        let frame = &self.frame;
        let scale_px = frame.scale_px();
        let largest_sigma_px = scale_px * SIGMA_OF_LAPLACE * LOG_SIGMA_RANGE.1.exp();
        let f = &mut self.forecast;
        for j in 0..JOINTS {
            let k = &keypoints.joints[j];
            // Compared as squares: a root is not needed. What is not a number is not near.
            let off_px = [k.x_px - f.places_px[0][j][0], k.y_px - f.places_px[0][j][1]];
            let near = off_px[0] * off_px[0] + off_px[1] * off_px[1] <= (BELIEVED * scale_px).powi(2);
            let measured = frame.seen[j] && k.score >= MEASURED_SCORE && near;
            let scale = fitted.sigma_scale;
            let widen = if measured { scale.measured } else { scale.predicted };
            for h in 0..HORIZONS_US.len() {
                f.sigma_px[h][j] =
                    largest_sigma_px * widen * exp_nonpositive(said.log_sigma(h, j) - LOG_SIGMA_RANGE.1);
            }
            let sigma = f.sigma_px[0][j] / scale_px;
            f.score[j] = match &fitted.score_curve {
                Some(curve) => curve.of(said.log_sigma(0, j)),
                None => 1.0 - exp_nonpositive(-0.5 * (SCORE_WITHIN / sigma).powi(2)),
            };
            f.state[j] = if measured {
                JointState::Measured
            } else if frame.known[j]
                && sigma <= (if frame.seen[j] { VAGUE_SIGMA } else { LOST_SIGMA })
                && !is_lost
            {
                JointState::Predicted
            } else {
                JointState::Absent
            };
            if f.state[j] == JointState::Absent {
                f.score[j] = 0.0;
            }
        }
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
