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
    /// The persons as they are at `valid_at_us`: by interpolation, never before capture. Of who is known no more, as in
    /// [`Forecast::at`](crate::Forecast::at), nobody knows the place either.
    pub fn poses_at(&self, valid_at_us: i64) -> impl Iterator<Item = Stamped<Pose>> + '_ {
        self.persons.iter().flatten().map(move |p| {
            let mut pose = p.forecast.at(p.track_id, p.score, valid_at_us);
            pose.value.place = p.place.filter(|_| !p.forecast.is_over(valid_at_us));
            pose
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frames_poses_have_whose_place_it_is() {
        let at = |z: f32| Place { at_m: [0.0, 0.0, z], ..Place::default() };
        let person = |track_id: u32, place: Option<Place>| {
            let forecast = Forecast { captured_at_us: 1_000, ..Forecast::default() };
            Some(TrackedPerson { track_id, score: 0.5, forecast, seen: None, place })
        };
        let mut persons = [None; MAX_PERSONS];
        persons[..3].copy_from_slice(&[person(4, Some(at(2.0))), person(7, None), person(9, Some(at(3.0)))]);
        let frame = PoseFrame {
            seq: 0,
            frame: 0,
            captured_at_us: 1_000,
            width: 640,
            height: 480,
            persons,
            floor: None,
        };
        let told: [Stamped<Pose>; 3] = {
            let mut poses = frame.poses_at(2_000);
            core::array::from_fn(|_| poses.next().unwrap())
        };
        assert_eq!(told.map(|pose| pose.value.track_id), [4, 7, 9]);
        assert_eq!(
            told.map(|pose| pose.value.place.map(|place| place.at_m[2])),
            [Some(2.0), None, Some(3.0)]
        );
        assert_eq!(told.map(|pose| pose.valid_at_us), [2_000; 3]);
        assert!(frame.poses_at(1_001_000).any(|pose| pose.value.place.is_some()));
        assert!(frame.poses_at(1_001_001).all(|pose| pose.value.place.is_none()), "too old");
    }

    #[test]
    fn ground_is_right_and_ahead_of_the_point_below_the_camera() {
        // Looks down by 30 degrees: up is against y, and towards the lens.
        let (sine, cosine) = (0.5, libm::sqrtf(0.75));
        let (up, ahead) = ([0.0, -cosine, -sine], [0.0, -sine, cosine]);
        let floor = Floor { up, ahead, right: [1.0, 0.0, 0.0], ..Floor::default() };
        let at = |right: f32, ahead_m: f32, up_m: f32| {
            core::array::from_fn(|i| right * floor.right[i] + ahead_m * ahead[i] + up_m * up[i])
        };
        let [right, ahead_m] = floor.ground(at(-0.5, 3.0, -1.2));
        assert!((right + 0.5).abs() < 1e-6 && (ahead_m - 3.0).abs() < 1e-6, "{right} {ahead_m}");
    }
}
