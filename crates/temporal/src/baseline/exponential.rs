//! The exponential mean.

use super::{Rule, low_pass_gain};

/// First-order low-pass: each observation pulls the place a part of the way, by the time that has passed.
#[derive(Clone, Copy, Debug)]
pub struct Exponential {
    /// Cutoff in hertz.
    pub cutoff_hz: f32,
}

impl Exponential {
    /// Shakes least within 0.2 frame of added lag on J-HMDB's train clips, by `posewire eval clips`.
    pub const TUNED: Self = Self { cutoff_hz: 10.0 };
}

impl Rule for Exponential {
    type Memory = [f32; 2];

    fn start(&self, memory: &mut [f32; 2], at_px: [f32; 2], _extent_px: f32) {
        *memory = at_px;
    }

    fn update(&self, memory: &mut [f32; 2], at_px: [f32; 2], dt_s: f32, _extent_px: f32) {
        let gain = low_pass_gain(self.cutoff_hz, dt_s);
        for (m, at) in memory.iter_mut().zip(at_px) {
            *m += gain * (at - *m);
        }
    }

    fn ahead(&self, memory: &[f32; 2], _after_s: f32) -> ([f32; 2], Option<f32>) {
        (*memory, None)
    }
}
