//! What is told of a frame, on which topics: shared by files and by who looks on live.

use std::time::{SystemTime, UNIX_EPOCH};

use pose::{Pose, PoseFrame};
use serde_json::Value;

use super::McapOptions;
use super::messages::{self, Moment};
use super::schemas;
use crate::output::SinkError;
use crate::output::display::JpegTap;
use crate::output::jsonl::{Format, Head};

/// Of pictures that are no JPEG yet.
const QUALITY: i32 = 90;

/// By so much the clock of the day was set, rather than slewed: a board without a battery learns the day from the network.
const STEP_US: i64 = 1_000_000;

/// One of the topics of the table in [`super`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    Poses,
    Annotations,
    Scene,
    Camera,
}

impl Topic {
    pub const ALL: [Self; 4] = [Self::Poses, Self::Annotations, Self::Scene, Self::Camera];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Poses => "/poses",
            Self::Annotations => "/annotations",
            Self::Scene => "/scene",
            Self::Camera => "/camera",
        }
    }

    pub const fn schema(self) -> &'static str {
        match self {
            Self::Poses => "posewire.Poses",
            Self::Annotations => "foxglove.ImageAnnotations",
            Self::Scene => "foxglove.SceneUpdate",
            Self::Camera => "foxglove.CompressedImage",
        }
    }

    /// Its JSON Schema.
    pub fn json_schema(self) -> Value {
        match self {
            Self::Poses => schemas::poses(),
            Self::Annotations => schemas::annotations(),
            Self::Scene => schemas::scene(),
            Self::Camera => schemas::image(),
        }
    }

    /// Whether it is told of at all.
    pub fn is_wanted(self, options: &McapOptions) -> bool {
        self != Self::Camera || options.pictures.is_some()
    }
}

/// Where a topic's messages go.
pub type Put<'a> = &'a mut dyn FnMut(Topic, Moment, &[u8]) -> Result<(), SinkError>;

/// Makes the messages of frames.
pub struct Teller {
    options: McapOptions,
    pictures: Option<JpegTap>,
    /// From the clock of frames to the day's, microseconds; known with the first frame, and anew when the day's is set.
    day_us: Option<i64>,
    line: Vec<u8>,
}

impl Teller {
    pub fn new(options: McapOptions) -> Self {
        let pictures = options.pictures.clone().map(|tap| JpegTap::new(tap, QUALITY));
        Self { options, pictures, day_us: None, line: Vec::new() }
    }

    /// Whether a frame was told of.
    pub fn has_begun(&self) -> bool {
        self.day_us.is_some()
    }

    /// Hands `put` the messages of `poses`, the picture first.
    ///
    /// # Errors
    /// `put`'s, at the first message that it refuses.
    pub fn tell(&mut self, poses: &PoseFrame, now_us: i64, put: Put<'_>) -> Result<(), SinkError> {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = self.moment(poses.captured_at_us, now_us, since_1970.as_micros() as i64);
        if let Some(jpeg) = self.pictures.as_mut().and_then(|pictures| pictures.get(poses.frame)) {
            put(Topic::Camera, at, messages::image(at, &jpeg).to_string().as_bytes())?;
        }
        self.line.clear();
        let predict = self.options.predict;
        let head = Head::of(poses, now_us, self.options.host.as_deref());
        Format::Full.write(&mut self.line, &head, predict.poses(poses, now_us));
        // The line's end: a message has its own.
        self.line.pop();
        put(Topic::Poses, at, &self.line)?;
        let persons: Vec<Pose> = predict.poses(poses, now_us).map(|pose| pose.value).collect();
        put(Topic::Annotations, at, messages::annotations(at, &persons).to_string().as_bytes())?;
        put(Topic::Scene, at, messages::scene(at, &persons).to_string().as_bytes())
    }

    /// When a frame's light fell, of the day or of the recording; `now_us` and `since_1970_us` are the same moment.
    fn moment(&mut self, captured_at_us: i64, now_us: i64, since_1970_us: i64) -> Moment {
        let newest_us = if self.options.is_replayed { 0 } else { since_1970_us.saturating_sub(now_us) };
        // The two are not read at once: a difference that is always taken anew would make times jitter.
        let day_us = self.day_us.filter(|day_us| (newest_us - day_us).abs() <= STEP_US).unwrap_or(newest_us);
        self.day_us = Some(day_us);
        Moment::of_us(captured_at_us.saturating_add(day_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_that_is_set_holds_from_then_on_and_jitter_moves_nothing() {
        let mut teller = Teller::new(McapOptions::default());
        // In 1970 at first, until the network is there.
        let mut at_us = |captured_at_us, since_1970_us| {
            teller.moment(captured_at_us, captured_at_us + 40_000, since_1970_us).ns() / 1_000
        };
        assert_eq!(at_us(1_000_000, 9_040_000), 9_000_000);
        assert_eq!(at_us(2_000_000, 10_047_000), 10_000_000);
        assert_eq!(at_us(3_000_000, 1_800_000_000_040_000), 1_800_000_000_000_000);
        assert_eq!(at_us(4_000_000, 1_800_000_001_031_000), 1_800_000_001_000_000);
        let mut replayed = Teller::new(McapOptions { is_replayed: true, ..McapOptions::default() });
        assert_eq!(replayed.moment(5_000, 5_000, 1_800_000_000_000_000).ns(), 5_000_000);
    }
}
