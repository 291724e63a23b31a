//! An answer that goes on, in part, as the answer before foretold.
//!
//! A network that answers each frame by itself shakes by what it makes of that frame's noise, however much it remembers. Here the place
//! of a joint lies between what the network says now and what it said of now a frame ago: by the answer before and the network's own
//! motion from it. How much the latter counts is said by the network for each joint and frame, and falls with the distance between the
//! two: what jumps is believed. A Kalman filter whose model and gain are learned (KalmanNet, Revach et al., 2022), with neither in closed
//! form. `models/train/posetrain/temporal/inertia.py` is the same arithmetic for training; the golden file holds the two together.

use pose::{HORIZONS_US, JOINTS};

use super::{HORIZON_FRAMES, NEVER};
use math::logistic;

/// Nobody goes on as they did for longer, nominal frames.
const LONGEST_FRAMES: f32 = 4.5;

/// One person's last answer.
#[derive(Clone, Copy, Default)]
pub(super) struct Inertia {
    at_px: [[f32; 2]; JOINTS],
    /// In a nominal frame.
    moved_px: [[f32; 2]; JOINTS],
    pub is_moving: bool,
}

impl Inertia {
    /// Shifts every horizon's place of a joint alike, `dt` nominal frames after the last answer. `log_odds` are of the share that what was
    /// foretold has where both lie at one place; as far off as `near_px` it has half of that.
    pub fn go_on(
        &mut self,
        places_px: &mut [[[f32; 2]; JOINTS]; HORIZONS_US.len()],
        joint: usize,
        log_odds: f32,
        dt: f32,
        near_px: f32,
    ) {
        if log_odds <= NEVER {
            return;
        }
        let (now, next) = (places_px[0][joint], places_px[1][joint]);
        let mut shift = [0.0; 2];
        if self.is_moving {
            let dt = dt.min(LONGEST_FRAMES);
            for i in 0..2 {
                shift[i] = self.at_px[joint][i] + dt * self.moved_px[joint][i] - now[i];
            }
            let off = (shift[0] * shift[0] + shift[1] * shift[1]) / (near_px * near_px);
            let share = logistic(log_odds) / (1.0 + off);
            shift = shift.map(|v| share * v);
            for places in places_px.iter_mut() {
                for i in 0..2 {
                    places[joint][i] += shift[i];
                }
            }
        }
        for i in 0..2 {
            self.at_px[joint][i] = now[i] + shift[i];
            self.moved_px[joint][i] = (next[i] - now[i]) / HORIZON_FRAMES;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A joint that moves 3 px a frame, seen `noise` px off.
    fn told(inertia: &mut Inertia, frame: usize, noise: f32, log_odds: f32) -> f32 {
        let mut places = [[[0.0; 2]; JOINTS]; HORIZONS_US.len()];
        for (h, places) in places.iter_mut().enumerate() {
            places[0][0] = 3.0 * (frame as f32 + HORIZON_FRAMES * h as f32) + noise;
        }
        inertia.go_on(&mut places, 0, log_odds, 1.0, 20.0);
        inertia.is_moving = true;
        assert!(
            (places[3][0][0] - places[0][0][0] - 9.0 * HORIZON_FRAMES).abs() < 1e-3,
            "every horizon alike"
        );
        places[0][0][0] - 3.0 * frame as f32
    }

    #[test]
    fn what_shakes_is_held_and_what_moves_or_jumps_is_followed() {
        let mut inertia = Inertia::default();
        assert_eq!(told(&mut inertia, 0, 1.0, 0.0), 1.0, "nothing comes before the first answer");
        let errors: Vec<f32> =
            (1..40).map(|i| told(&mut inertia, i, if i % 2 == 0 { 1.0 } else { -1.0 }, 0.0)).collect();
        assert!(errors[9..].iter().all(|e| e.abs() < 0.5), "steady motion is not lagged behind: {errors:?}");
        assert!((told(&mut inertia, 40, 120.0, 0.0) - 120.0).abs() < 3.0, "six times as far as near");
        let mut still = Inertia::default();
        (0..9).for_each(|i| _ = told(&mut still, i, 0.0, NEVER));
        assert_eq!(told(&mut still, 9, 5.0, NEVER), 5.0, "a head without inertia");
    }
}
