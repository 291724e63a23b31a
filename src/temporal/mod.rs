//! Causal temporal models: one memory a person.
//!
//! A model answers for four moments at and after the capture; a [`Forecast`] interpolates between them, so that any
//! thread can ask for the pose at the moment of sending without touching the model.

use pose::{JOINTS, JointState, Keypoints};

/// Moments after capture that every model answers for, microseconds; between them a [`Forecast`] interpolates.
pub const HORIZONS_US: [i64; 4] = [0, 50_000, 100_000, 150_000];

/// What one frame says of one person.
#[derive(Clone, Copy, Debug)]
pub struct Observation {
    /// Whose memory: `0..MAX_PERSONS`.
    pub slot: usize,
    /// The frame's capture time.
    pub captured_at_us: i64,
    /// What the network saw; `None` where the person was not found in this frame.
    pub keypoints: Option<Keypoints>,
}

/// Where one person is now and will be within the next 150 ms.
#[derive(Clone, Copy, Debug)]
pub struct Forecast {
    /// The frame's capture time.
    pub captured_at_us: i64,
    /// `[horizon][joint]`, pixels of the source image.
    pub places_px: [[[f32; 2]; JOINTS]; HORIZONS_US.len()],
    /// `[horizon][joint]`, standard deviation in pixels.
    pub sigma_px: [[f32; JOINTS]; HORIZONS_US.len()],
    /// Probability that the joint lies within 0.1 of the person's extent of its place at capture, 0..=1.
    pub score: [f32; JOINTS],
    /// How each joint is known at capture.
    pub state: [JointState; JOINTS],
    /// Hip-centred metres at capture, where the model lifts.
    pub joints_3d_m: Option<[[f32; 3]; JOINTS]>,
}

/// A causal filter with one memory a person.
pub trait TemporalModel: Send {
    /// The name that `--smoother` takes.
    fn name(&self) -> &str;
    /// Forgets the person in `slot`.
    fn reset(&mut self, slot: usize);
    /// Takes one frame's observations (each slot at most once) and writes a forecast for each, in the same order.
    ///
    /// # Panics
    /// Where `forecasts` is shorter than `observations`.
    fn step(&mut self, observations: &[Observation], forecasts: &mut [Forecast]);
}
