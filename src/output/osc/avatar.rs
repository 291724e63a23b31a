//! One person as an avatar in Unity's space: who it is, and where their hips are above the floor.
//!
//! Unity's space is left-handed, y up. Who faces the camera looks along its z, so that all three axes of the hip-centred pose (x right in
//! the picture, y down, z away from the camera) turn round. The camera is taken to be level. The hips are as high as they are above the
//! lower ankle. Across the floor the person is where their place in metres is, from where the first one stood; without a lens there is
//! no place, and they stay at the origin.

use pose::{JOINTS, Joint, JointState, Place, Pose, PoseFrame};
use pose_osc::avatar::{HIPS_M, Seen, Whose};

/// An ankle's height above the floor of who stands, metres.
const ANKLE_M: f32 = 0.09;
/// No joint is farther from the middle of the hips, metres.
const FARTHEST_M: f32 = 10.0;
/// Distances tremble by centimetres from frame to frame: places across the floor are smoothed with this time constant.
const FLOOR_SMOOTHING_S: f32 = 0.2;

/// The one person who is the avatar.
#[derive(Debug)]
pub(super) struct Avatar {
    /// Somebody else's once they are gone.
    pub whose: Whose,
    /// Of the hips, the last time that an ankle of this person was known.
    hips_height_m: f32,
    floor: Floor,
}

impl Default for Avatar {
    fn default() -> Self {
        Self { whose: Whose::default(), hips_height_m: HIPS_M, floor: Floor::default() }
    }
}

impl Avatar {
    /// The avatar at `valid_at_us`; `None` where nobody is there, or nobody knows their pose in 3D.
    pub fn look(&mut self, frame: &PoseFrame, valid_at_us: i64) -> Option<Seen> {
        let (id, is_new) = self.whose.choose(frame.persons.iter().flatten().map(|person| person.track_id))?;
        if is_new {
            self.hips_height_m = HIPS_M;
        }
        let stamped = frame.poses_at(valid_at_us).find(|pose| pose.value.track_id == id)?;
        let pose = stamped.value;
        let [x, z] = self.floor.follow(pose.place, stamped.captured_at_us, is_new);
        let places = pose.joints_3d_m?;
        let joints_m = std::array::from_fn(|j| known(&pose, &places, j).map(|place| place.map(|v| -v)));
        let mut seen = Seen { id: pose.track_id, joints_m, hips_m: [0.0; 3] };
        let ankles = [Joint::LeftAnkle, Joint::RightAnkle].map(|ankle| seen.middle([ankle; 2]));
        if let (Some(hips), Some(lowest)) = (
            seen.middle([Joint::LeftHip, Joint::RightHip]),
            ankles.into_iter().flatten().map(|[_, y, _]| y).reduce(f32::min),
        ) {
            self.hips_height_m = hips[1] - lowest + ANKLE_M;
        }
        seen.hips_m = [x, self.hips_height_m, z];
        Some(seen)
    }
}

fn known(pose: &Pose, places: &[[f32; 3]; JOINTS], j: usize) -> Option<[f32; 3]> {
    // Whoever reaches farther is nobody; what is no number does not, either.
    let is_known =
        pose.joints[j].state != JointState::Absent && places[j].iter().all(|v| v.abs() < FARTHEST_M);
    is_known.then_some(places[j])
}

/// Where the avatar is across the floor.
#[derive(Debug, Default)]
struct Floor {
    /// x and z in camera space where the first avatar's first place was: the room's origin for as long as the program runs.
    origin_m: Option<[f32; 2]>,
    /// The last place, smoothed, from there; of who has no place now, the last one.
    at_m: [f32; 2],
    at_us: i64,
}

impl Floor {
    /// x and z in Unity's axes.
    fn follow(&mut self, place: Option<Place>, captured_at_us: i64, is_new: bool) -> [f32; 2] {
        if let Some([x, _, z]) = place.map(|place| place.at_m).filter(|at| at.iter().all(|v| v.is_finite())) {
            let origin = *self.origin_m.get_or_insert([x, z]);
            let step_s = captured_at_us.saturating_sub(self.at_us) as f32 * 1e-6;
            let share = if is_new { 1.0 } else { 1.0 - (-step_s.max(0.0) / FLOOR_SMOOTHING_S).exp() };
            for (at, now) in self.at_m.iter_mut().zip([x - origin[0], z - origin[1]]) {
                *at += share * (now - *at);
            }
            self.at_us = captured_at_us;
        }
        self.at_m.map(|v| 0.0 - v)
    }
}
