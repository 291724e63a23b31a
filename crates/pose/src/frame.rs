//! Everything known of one frame.

use crate::{Forecast, Keypoints, MAX_PERSONS, Place, Pose, Stamped};

/// One tracked person in a [`PoseFrame`].
#[derive(Clone, Copy, Debug)]
pub struct TrackedPerson {
    /// Stable identity, from 1.
    pub track_id: u32,
    /// The person's own score, 0..=1.
    pub score: f32,
    /// Where they are and will be.
    pub forecast: Forecast,
    /// What the network alone saw of them in this frame, before any filter; `None` where they were not seen.
    pub seen: Option<Keypoints>,
    /// Where they stand, at capture; `None` where the camera's lens is not known.
    pub place: Option<Place>,
}

/// The floor that persons stand on, in camera space (x right in the picture, y down, z along the lens's axis; metres).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Floor {
    /// Straight up, of length 1.
    pub up: [f32; 3],
    /// Along the floor as the lens looks, of length 1.
    pub ahead: [f32; 3],
    /// Along the floor to the right of that, of length 1.
    pub right: [f32; 3],
    /// Of the camera above the floor.
    pub height_m: f32,
    /// Its standard deviation.
    pub height_sigma_m: f32,
    /// How far the lens looks down from level, degrees.
    pub pitch_deg: f32,
    /// Its standard deviation.
    pub pitch_sigma_deg: f32,
    /// How far the camera is turned about the lens's axis, degrees; positive where what is level falls to the right in the picture.
    pub roll_deg: f32,
    /// Its standard deviation.
    pub roll_sigma_deg: f32,
}

impl Floor {
    /// Where a place in camera space is on the floor: right and ahead of the point below the camera, metres.
    pub fn ground(&self, at_m: [f32; 3]) -> [f32; 2] {
        [self.right, self.ahead].map(|axis| axis.iter().zip(at_m).map(|(a, v)| a * v).sum())
    }
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
    pub persons: [Option<TrackedPerson>; MAX_PERSONS],
    /// The floor, where it is known by then.
    pub floor: Option<Floor>,
}

impl PoseFrame {
    /// The persons as they are at `valid_at_us`: by interpolation, never before capture.
    pub fn poses_at(&self, valid_at_us: i64) -> impl Iterator<Item = Stamped<Pose>> + '_ {
        self.persons.iter().flatten().map(move |p| {
            let mut pose = p.forecast.at(p.track_id, p.score, valid_at_us);
            pose.value.place = p.place;
            pose
        })
    }
}
