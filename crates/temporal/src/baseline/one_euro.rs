//! The One-Euro filter (Casiez, Roussel, Vogel: "1 € filter", CHI 2012), speed in parts of the person's extent.

use super::{Rule, low_pass_gain};

/// A low-pass whose cutoff rises with speed: steady when still, prompt when fast.
#[derive(Clone, Copy, Debug)]
pub struct OneEuro {
    /// Cutoff at rest, hertz.
    pub min_cutoff_hz: f32,
    /// Rise of the cutoff with speed: hertz for each extent per second.
    pub beta: f32,
    /// Cutoff of the speed's own low-pass, hertz.
    pub speed_cutoff_hz: f32,
}

impl OneEuro {
    /// What MediaPipe's pose landmarks use, with the speed scaled by the size of the body.
    pub const MEDIAPIPE: Self = Self { min_cutoff_hz: 0.05, beta: 80.0, speed_cutoff_hz: 1.0 };
    /// Shakes least within 0.2 frame of added lag on J-HMDB's train clips, by `posewire eval clips`.
    pub const TUNED: Self = Self { min_cutoff_hz: 5.0, beta: 5.0, speed_cutoff_hz: 1.0 };
}

/// What [`OneEuro`] remembers of one joint.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneEuroMemory {
    raw_px: [f32; 2],
    place_px: [f32; 2],
    /// Extents a second.
    speed: [f32; 2],
}

impl Rule for OneEuro {
    type Memory = OneEuroMemory;

    fn start(&self, memory: &mut OneEuroMemory, at_px: [f32; 2], _extent_px: f32) {
        *memory = OneEuroMemory { raw_px: at_px, place_px: at_px, speed: [0.0; 2] };
    }

    fn update(&self, memory: &mut OneEuroMemory, at_px: [f32; 2], dt_s: f32, extent_px: f32) {
        let speed_gain = low_pass_gain(self.speed_cutoff_hz, dt_s);
        for (i, at_px) in at_px.into_iter().enumerate() {
            let speed = (at_px - memory.raw_px[i]) / (extent_px * dt_s);
            memory.speed[i] += speed_gain * (speed - memory.speed[i]);
            let gain = low_pass_gain(self.min_cutoff_hz + self.beta * memory.speed[i].abs(), dt_s);
            memory.place_px[i] += gain * (at_px - memory.place_px[i]);
        }
        memory.raw_px = at_px;
    }

    fn ahead(&self, memory: &OneEuroMemory, _after_s: f32) -> ([f32; 2], Option<f32>) {
        (memory.place_px, None)
    }
}
