//! Where poses go: serial wire, JSON lines, displays, recordings, the web preview.

use std::time::Duration;

use crate::temporal::Forecast;

/// One tracked person in a [`PoseFrame`].
#[derive(Clone, Copy, Debug)]
pub struct TrackedPerson {
    /// Stable identity, from 1.
    pub track_id: u32,
    /// The person's own score, 0..=1.
    pub score: f32,
    /// Where it is and will be.
    pub forecast: Forecast,
}

/// Everything known of one frame: what travels from `infer` to the sinks. `Copy`: no allocation, no lock.
#[derive(Clone, Copy, Debug)]
pub struct PoseFrame {
    /// Counts processed frames, from 0.
    pub seq: u64,
    /// The source's own frame number.
    pub frame: u64,
    /// The frame's capture time, microseconds of the monotonic clock.
    pub captured_at_us: i64,
    /// Source image width, pixels.
    pub width: u32,
    /// Source image height, pixels.
    pub height: u32,
    /// The persons, the oldest identity first; `None` from the first free place on.
    pub persons: [Option<TrackedPerson>; pose::MAX_PERSONS],
}

/// One consumer of poses, run by a thread of its own; it may be slow or block, and only it waits.
pub trait PoseSink: Send {
    /// A name for the log: `serial /dev/ttyUSB0`.
    fn name(&self) -> &str;
    /// Takes the newest poses; `now_us` is the moment of sending on the clock that stamped the frame.
    ///
    /// # Errors
    /// What went wrong; the sink thread logs it once, counts it and goes on unless the error is fatal.
    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<(), SinkError>;
    /// Writes out what is buffered; called before the thread ends and bounded by `within`.
    ///
    /// # Errors
    /// What could not be written.
    fn finish(&mut self, within: Duration) -> Result<(), SinkError>;
}

/// Why poses could not be delivered.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// May work again: the sink keeps trying.
    #[error("{0}")]
    Retry(String),
    /// Will not work again.
    #[error("{0}")]
    Fatal(String),
}
