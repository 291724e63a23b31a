//! The person-centred frame in which the network sees and answers.
//!
//! The frame follows the person slowly, so that it adds little jitter of its own; a joint that is not seen stays where it was
//! *in the frame*, so that it neither pulls the centre nor loses the person's motion. `models/train/posetrain/temporal/frames.py` is
//! the same arithmetic for training; the golden file holds the two together.

use pose::{JOINTS, Keypoints};

use crate::{MEASURED_SCORE, seen};

/// Times inside the model are in frames of 30 Hz, microseconds each.
pub(super) const NOMINAL_US: f32 = 1e6 / 30.0;

/// Time constants in nominal frames: slow enough to be steady, quick enough to keep a walking person near the middle.
const CENTRE_FRAMES: f32 = 7.5;
const SCALE_FRAMES: f32 = 30.0;

/// Time constants of the running means that stand beside the observation, nominal frames.
const MEAN_FRAMES: [f32; 2] = [2.0, 6.0];

/// Rms distance of the joints from their centre to about the longer side of a standing person.
const SCALE_OF_RMS: f32 = 3.0;
const MIN_SCALE_PX: f32 = 8.0;
/// The scale until four joints are known.
const FIRST_SCALE_PX: f32 = 64.0;
/// From this score on an observation counts fully in the running means.
const FULL_WEIGHT_SCORE: f32 = 0.3;
/// How far from the centre a joint is believed, in scales.
const FARTHEST: f32 = 3.0;
/// Bound of every feature: an outlier may be large but not overwhelm the rest.
const LARGEST_FEATURE: f32 = 6.0;

const PER_JOINT: usize = 11;
const WHOLE: usize = 6;

/// Length of the network's input.
pub(super) const FEATURES: usize = JOINTS * PER_JOINT + WHOLE;
/// The observation and its running means: what the answer is anchored to.
pub(super) const MIX: usize = 1 + MEAN_FRAMES.len();

/// Running state of one person's frame.
#[derive(Clone, Copy)]
pub(super) struct PersonFrame {
    observations: f32,
    pub centre_px: [f32; 2],
    log_scale: f32,
    /// `[observation or where it was last seen, running means...][joint]`, in the frame.
    pub bank: [[[f32; 2]; JOINTS]; MIX],
    /// Seen at least once, the first time with [`MEASURED_SCORE`]: what a network says of legs beyond the picture's edge is noise, and would
    /// pull centre and scale about.
    pub known: [bool; JOINTS],
    /// Nominal frames since last seen.
    pub age: [f32; JOINTS],
    pub seen: [bool; JOINTS],
}

impl Default for PersonFrame {
    fn default() -> Self {
        Self {
            observations: 0.0,
            centre_px: [0.0; 2],
            log_scale: FIRST_SCALE_PX.ln(),
            bank: [[[0.0; 2]; JOINTS]; MIX],
            known: [false; JOINTS],
            age: [0.0; JOINTS],
            seen: [false; JOINTS],
        }
    }
}

impl PersonFrame {
    /// Pixels for one unit of the frame.
    pub fn scale_px(&self) -> f32 {
        self.log_scale.exp()
    }

    /// Takes the next observation, `dt` nominal frames after the last (1 for the first), and writes what the network reads.
    ///
    /// `smoothness` 0..=1 chooses the place on the lag-versus-jitter curve.
    pub fn take(&mut self, dt: f32, keypoints: &Keypoints, smoothness: f32, features: &mut [f32; FEATURES]) {
        let joints = &keypoints.joints;
        self.seen =
            std::array::from_fn(|j| seen(&joints[j]) && (self.known[j] || joints[j].score >= MEASURED_SCORE));
        let any = self.seen.contains(&true);
        let before = (self.centre_px, self.log_scale);
        let first = any && self.observations == 0.0;
        if any {
            self.follow(dt, keypoints, first);
        }
        let scale_px = self.scale_px();
        // How far a mean goes towards a joint that was seen the last time too, as most were.
        let gain = |since: f32, frames: f32| 1.0 - (-since / frames).exp();
        let usual_gain = MEAN_FRAMES.map(|frames| gain(dt, frames));

        for j in 0..JOINTS {
            let k = &joints[j];
            let old = self.bank[0][j];
            let since = self.age[j] + dt;
            let mut moved = [0.0; 2];
            if self.seen[j] {
                let place =
                    |v: f32, i: usize| ((v - self.centre_px[i]) / scale_px).clamp(-FARTHEST, FARTHEST);
                let at = [place(k.x_px, 0), place(k.y_px, 1)];
                if self.known[j] {
                    moved = [at[0] - old[0], at[1] - old[1]];
                }
                let trust = (k.score / FULL_WEIGHT_SCORE).min(1.0);
                for (b, &frames) in MEAN_FRAMES.iter().enumerate() {
                    let mean = &mut self.bank[1 + b][j];
                    if !self.known[j] {
                        *mean = at;
                        continue;
                    }
                    let gain = if since == dt { usual_gain[b] } else { gain(since, frames) } * trust;
                    for i in 0..2 {
                        mean[i] += gain * (at[i] - mean[i]);
                    }
                }
                self.bank[0][j] = at;
                self.age[j] = 0.0;
                self.known[j] = true;
            } else {
                self.age[j] = since;
            }
            let at = self.bank[0][j];
            let from_mean = |b: usize, i: usize| bound(20.0 * (at[i] - self.bank[b][j][i]));
            features[j * PER_JOINT..][..PER_JOINT].copy_from_slice(&[
                bound(4.0 * at[0]),
                bound(4.0 * at[1]),
                f32::from(u8::from(self.seen[j])),
                if self.seen[j] { k.score.min(1.0) } else { 0.0 },
                bound(20.0 * moved[0]),
                bound(20.0 * moved[1]),
                from_mean(1, 0),
                from_mean(1, 1),
                from_mean(2, 0),
                from_mean(2, 1),
                (self.age[j] / 15.0).min(4.0),
            ]);
        }
        let (mut drift, mut swell) = ([0.0; 2], 0.0);
        if any && !first {
            drift = [0, 1].map(|i| (self.centre_px[i] - before.0[i]) / scale_px);
            swell = self.log_scale - before.1;
        }
        features[JOINTS * PER_JOINT..].copy_from_slice(&[
            dt.clamp(0.05, 60.0).ln(),
            bound(20.0 * drift[0]),
            bound(20.0 * drift[1]),
            bound(20.0 * swell),
            f32::from(u8::from(any)),
            smoothness,
        ]);
    }

    /// Moves centre and scale towards the joints seen, the others taken where they were last.
    fn follow(&mut self, dt: f32, keypoints: &Keypoints, first: bool) {
        let scale_px = self.scale_px();
        let mut places = [[0.0; 2]; JOINTS];
        let (mut sum, mut n) = ([0.0f32; 2], 0.0f32);
        for (j, place) in places.iter_mut().enumerate() {
            let k = &keypoints.joints[j];
            if self.seen[j] {
                *place = [k.x_px, k.y_px];
            } else if self.known[j] {
                *place = [0, 1].map(|i| self.centre_px[i] + scale_px * self.bank[0][j][i]);
            } else {
                continue;
            }
            sum = [sum[0] + place[0], sum[1] + place[1]];
            n += 1.0;
        }
        let mean = [sum[0] / n, sum[1] / n];
        let mut square = 0.0;
        for (j, place) in places.iter().enumerate() {
            if self.seen[j] || self.known[j] {
                square += (place[0] - mean[0]).powi(2) + (place[1] - mean[1]).powi(2);
            }
        }
        self.observations += 1.0;
        let gain = |frames: f32| (1.0 - (-dt / frames).exp()).max(1.0 / self.observations);
        let (to_mean, to_scale) = (gain(CENTRE_FRAMES), gain(SCALE_FRAMES));
        for (c, m) in self.centre_px.iter_mut().zip(mean) {
            *c += to_mean * (m - *c);
        }
        if n >= 4.0 {
            let step = (SCALE_OF_RMS * (square / n).sqrt()).max(MIN_SCALE_PX).ln() - self.log_scale;
            self.log_scale += to_scale * if first { step } else { step.clamp(-0.5, 0.5) };
        }
    }
}

fn bound(v: f32) -> f32 {
    v.clamp(-LARGEST_FEATURE, LARGEST_FEATURE)
}

#[cfg(test)]
mod tests {
    use pose::Keypoint;

    use super::*;

    fn person(x: f32, y: f32, grow: f32) -> Keypoints {
        let mut k = Keypoints { score: 1.0, ..Keypoints::default() };
        for (j, joint) in k.joints.iter_mut().enumerate() {
            let (across, down) = ((j % 2) as f32 * 60.0 * grow, j as f32 * 12.0 * grow);
            *joint = Keypoint { x_px: x + across, y_px: y + down, score: 0.9, sigma_px: 0.0 };
        }
        k
    }

    #[test]
    fn features_do_not_depend_on_where_the_person_stands_or_how_large_they_are() {
        let run = |x: f32, y: f32, grow: f32| {
            let (mut frame, mut features) = (PersonFrame::default(), [0.0; FEATURES]);
            for i in 0..12 {
                let step = i as f32 * 3.0 * grow;
                frame.take(1.0, &person(x + step, y, grow), 0.5, &mut features);
            }
            features
        };
        let (a, b) = (run(100.0, 50.0, 1.0), run(-800.0, 900.0, 3.0));
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() < 2e-3, "{a} {b}");
        }
    }

    /// What a network says of legs below the picture: now and then a low score, wherever.
    #[test]
    fn a_joint_that_was_never_surely_seen_moves_nothing() {
        let run = |score: f32| {
            let (mut frame, mut features) = (PersonFrame::default(), [0.0; FEATURES]);
            for i in 0..30 {
                let mut k = person(100.0, 50.0, 1.0);
                for (j, joint) in k.joints.iter_mut().enumerate().skip(13) {
                    *joint = Keypoint { x_px: (37 * i * j % 400) as f32, score, ..*joint };
                }
                frame.take(1.0, &k, 0.5, &mut features);
            }
            (features, frame.known)
        };
        let (without, doubtful, sure) = (run(0.0), run(0.19), run(0.2));
        assert_eq!(without, doubtful);
        assert_eq!(without.1, std::array::from_fn(|j| j < 13));
        assert_ne!(without.0, sure.0);
        assert_eq!(sure.1, [true; JOINTS]);
    }

    #[test]
    fn a_joint_that_is_lost_moves_on_with_the_frame() {
        let (mut frame, mut features) = (PersonFrame::default(), [0.0; FEATURES]);
        for i in 0..60 {
            let mut k = person(4.0 * i as f32, 0.0, 1.0);
            if i >= 30 {
                k.joints[16].score = 0.0;
            }
            frame.take(1.0, &k, 0.5, &mut features);
        }
        let held_px = frame.centre_px[0] + frame.scale_px() * frame.bank[0][16][0];
        assert!((held_px - 4.0 * 59.0).abs() < 4.0, "{held_px}");
        assert_eq!(frame.age[16], 30.0);
    }
}
