//! What was seen shows through the answer where it goes on lying beside it.
//!
//! A learned smoother draws people as those whom it learned from: of others its answers lie a little beside what is seen, always on the
//! same side. So how far sure joints lie from the answer is averaged over some frames, and the answer is moved by the mean: what shakes is
//! averaged away, what stays is believed. What lies far off counts for little; what is unsure, or nearer to the answer for the joint of the
//! other side, for nothing. The slow half of a complementary filter (Higgins, 1975).
//! `models/train/posetrain/temporal/residual.py` is the same arithmetic; the golden file holds the two together.

use pose::{HORIZONS_US, JOINTS, Keypoint, MIRROR};

use math::exp_nonpositive;

/// The mean reaches back so far, nominal frames.
const FRAMES: f32 = 4.0;
/// A joint this part of the scale off counts for half.
const NEAR: f32 = 0.08;
/// Of a joint's score: up to the first it counts for nothing, from the second on for all.
const SURE: [f32; 2] = [0.3, 0.6];

/// One person's mean of how far what was seen lay from the answer.
#[derive(Clone, Copy, Default)]
pub(super) struct Residual {
    mean_px: [[f32; 2]; JOINTS],
}

impl Residual {
    /// Moves every horizon's places by `share` of the means, `dt` nominal frames after the last answer. What is not a number counts for
    /// nothing.
    pub fn show_through(
        &mut self,
        places_px: &mut [[[f32; 2]; JOINTS]; HORIZONS_US.len()],
        seen: &[Keypoint; JOINTS],
        share: f32,
        dt: f32,
        scale_px: f32,
    ) {
        if share <= 0.0 {
            return;
        }
        let gain = 1.0 - exp_nonpositive(-dt / FRAMES);
        let near_px = (NEAR * scale_px).powi(2);
        for j in 0..JOINTS {
            let [x, y] = places_px[0][j];
            let off_px = [seen[j].x_px - x, seen[j].y_px - y];
            let off = off_px[0] * off_px[0] + off_px[1] * off_px[1];
            let [x, y] = places_px[0][MIRROR[j]];
            let of_other = (seen[j].x_px - x).powi(2) + (seen[j].y_px - y).powi(2);
            let sure = ((seen[j].score - SURE[0]) / (SURE[1] - SURE[0])).clamp(0.0, 1.0);
            let is_believed = off.is_finite() && sure > 0.0 && (off < of_other || MIRROR[j] == j);
            let part = sure / (1.0 + off / near_px);
            let counts_px = if is_believed { off_px.map(|v| part * v) } else { [0.0; 2] };
            for (mean_px, counts_px) in self.mean_px[j].iter_mut().zip(counts_px) {
                *mean_px += gain * (counts_px - *mean_px);
            }
        }
        for places in places_px.iter_mut() {
            for (place, mean) in places.iter_mut().zip(&self.mean_px) {
                *place = [place[0] + share * mean[0], place[1] + share * mean[1]];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE_PX: f32 = 200.0;
    const LEFT_WRIST: usize = 9;
    const RIGHT_WRIST: usize = 10;

    /// Where the left wrist is told that the network places at 0, the right one at `other_px`, and that is seen at `x_px`.
    fn told_beside(residual: &mut Residual, x_px: f32, score: f32, other_px: f32) -> f32 {
        let mut places = [[[0.0; 2]; JOINTS]; HORIZONS_US.len()];
        places.iter_mut().for_each(|places| places[RIGHT_WRIST][0] = other_px);
        let mut seen = [Keypoint::default(); JOINTS];
        seen[LEFT_WRIST] = Keypoint { x_px, y_px: 0.0, score, sigma_px: 0.0 };
        residual.show_through(&mut places, &seen, 1.0, 1.0, SCALE_PX);
        assert_eq!(places[0][LEFT_WRIST], places[3][LEFT_WRIST], "every horizon alike");
        places[0][LEFT_WRIST][0]
    }

    fn told(residual: &mut Residual, x_px: f32, score: f32) -> f32 {
        told_beside(residual, x_px, score, 500.0)
    }

    fn last(seen: impl Iterator<Item = (f32, f32)>) -> f32 {
        let mut residual = Residual::default();
        seen.map(|(x_px, score)| told(&mut residual, x_px, score)).last().unwrap()
    }

    #[test]
    fn what_goes_on_lying_beside_the_answer_shows_through() {
        let steady = last((0..40).map(|_| (4.0, 0.9)));
        assert!((steady - 4.0 / (1.0 + (4.0f32 / 16.0).powi(2))).abs() < 0.01, "{steady}");
        let shaking = last((0..40).map(|i| (if i % 2 == 0 { 4.0 } else { -4.0 }, 0.9)));
        assert!(shaking.abs() < 0.7, "{shaking}");
    }

    #[test]
    fn what_is_far_off_or_unsure_does_not() {
        assert!(last((0..40).map(|_| (160.0, 0.9))) < 2.0, "ten times as far as near");
        assert_eq!(last((0..40).map(|_| (4.0, 0.3))), 0.0);
        let forgotten = last((0..80).map(|i| (4.0, if i < 40 { 0.9 } else { 0.0 })));
        assert!(forgotten < 0.001, "{forgotten}");
    }

    #[test]
    fn what_is_seen_where_the_other_side_is_told_does_not() {
        let mut residual = Residual::default();
        let last = (0..40).map(|_| told_beside(&mut residual, 12.0, 0.9, 20.0)).last();
        assert_eq!(last, Some(0.0));
    }

    #[test]
    fn what_is_not_a_number_counts_for_nothing() {
        let broken = last([(4.0, 0.9), (f32::NAN, 0.9), (f32::INFINITY, 0.9), (4.0, f32::NAN)].into_iter());
        assert!(broken.is_finite() && broken < 4.0, "{broken}");
    }
}
