//! The constant-velocity Kalman filter, driven by white acceleration; both axes share one covariance.

use super::Rule;

/// Keeps place and velocity of a joint; the classic to beat.
#[derive(Clone, Copy, Debug)]
pub struct Kalman {
    /// Spectral density of the acceleration's root, extents / s^1.5: how much a joint's velocity wanders.
    pub acceleration: f32,
    /// Standard deviation of an observation, parts of the extent.
    pub observation: f32,
}

impl Kalman {
    /// The ratio of the two fixes the lag: shakes least within 0.2 frame of added lag on J-HMDB's train clips, by
    /// `posewire eval clips`. The observation's size fixes sigma.
    pub const TUNED: Self = Self { acceleration: 1.7, observation: 0.02 };
    /// Deviation of the velocity when a track begins, extents per second: a person may enter running.
    const FIRST_SPEED: f32 = 1.0;
}

/// What [`Kalman`] remembers of one joint.
#[derive(Clone, Copy, Debug, Default)]
pub struct KalmanMemory {
    place_px: [f32; 2],
    /// Pixels a second.
    velocity: [f32; 2],
    /// Covariance of (place, velocity) along either axis: place, cross, velocity.
    covariance: [f32; 3],
    /// Extent when last seen, pixels.
    extent_px: f32,
}

impl Kalman {
    fn predicted_covariance(&self, memory: &KalmanMemory, dt_s: f32) -> [f32; 3] {
        let [pp, pv, vv] = memory.covariance;
        let q = (self.acceleration * memory.extent_px).powi(2);
        [
            pp + 2.0 * dt_s * pv + dt_s * dt_s * vv + q * dt_s.powi(3) / 3.0,
            pv + dt_s * vv + q * dt_s * dt_s / 2.0,
            vv + q * dt_s,
        ]
    }
}

impl Rule for Kalman {
    type Memory = KalmanMemory;

    fn start(&self, memory: &mut KalmanMemory, at_px: [f32; 2], extent_px: f32) {
        let (r, v) = (self.observation * extent_px, Self::FIRST_SPEED * extent_px);
        *memory =
            KalmanMemory { place_px: at_px, velocity: [0.0; 2], covariance: [r * r, 0.0, v * v], extent_px };
    }

    fn update(&self, memory: &mut KalmanMemory, at_px: [f32; 2], dt_s: f32, extent_px: f32) {
        memory.extent_px = extent_px;
        let [pp, pv, vv] = self.predicted_covariance(memory, dt_s);
        let spread = pp + (self.observation * extent_px).powi(2);
        let (gain_place, gain_velocity) = (pp / spread, pv / spread);
        for (i, at_px) in at_px.into_iter().enumerate() {
            let place = memory.place_px[i] + dt_s * memory.velocity[i];
            let surprise = at_px - place;
            memory.place_px[i] = place + gain_place * surprise;
            memory.velocity[i] += gain_velocity * surprise;
        }
        memory.covariance = [pp - gain_place * pp, pv - gain_place * pv, (vv - gain_velocity * pv).max(0.0)];
    }

    fn ahead(&self, memory: &KalmanMemory, after_s: f32) -> ([f32; 2], Option<f32>) {
        let place = [0, 1].map(|i| memory.place_px[i] + after_s * memory.velocity[i]);
        (place, Some(self.predicted_covariance(memory, after_s)[0].max(0.0).sqrt()))
    }
}
