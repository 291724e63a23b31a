//! VRChat's OSC trackers: hips, chest, feet, knees and elbows of one person, and their head, in metres of Unity's space.
//!
//! Unity's space is left-handed, y up. Who faces the camera looks along its z, so that all three axes of the hip-centred pose (x right in
//! the picture, y down, z away from the camera) turn round. The hips are as high as they are above the lower ankle; across the floor
//! the person stays at the origin, and VRChat lays the head that is sent over the player's own.

use pose::{JOINTS, Joint, JointState, Pose, PoseFrame};

use super::super::SinkError;

/// An ankle's height above the floor of who stands, metres.
const ANKLE_M: f32 = 0.09;
/// How far down the trunk the chest is, from shoulders to hips.
const CHEST: f32 = 0.3;
/// The hips' height until an ankle is seen, metres.
const HIPS_M: f32 = 0.95;

/// Address and the joints between which the tracker is; the chest is made of these and the hips.
const TRACKERS: [(&str, [Joint; 2]); 8] = [
    ("/tracking/trackers/1/position", [Joint::LeftHip, Joint::RightHip]),
    ("/tracking/trackers/2/position", [Joint::LeftShoulder, Joint::RightShoulder]),
    ("/tracking/trackers/3/position", [Joint::LeftAnkle; 2]),
    ("/tracking/trackers/4/position", [Joint::RightAnkle; 2]),
    ("/tracking/trackers/5/position", [Joint::LeftKnee; 2]),
    ("/tracking/trackers/6/position", [Joint::RightKnee; 2]),
    ("/tracking/trackers/7/position", [Joint::LeftElbow; 2]),
    ("/tracking/trackers/8/position", [Joint::RightElbow; 2]),
];
const CHEST_TRACKER: usize = 1;
const HEAD: &str = "/tracking/trackers/head/position";

/// The one person who is the avatar.
#[derive(Debug)]
pub(super) struct Avatar {
    /// Whose identity; somebody else's once they are gone.
    pub id: Option<u32>,
    /// Of the hips, the last time that an ankle was known.
    hips_height_m: f32,
}

impl Default for Avatar {
    fn default() -> Self {
        Self { id: None, hips_height_m: HIPS_M }
    }
}

impl Avatar {
    /// Gives address and place of every tracker whose joints are known at `valid_at_us`.
    ///
    /// # Errors
    /// What `send` says; the rest of the moment is left out then.
    pub fn messages(
        &mut self,
        frame: &PoseFrame,
        valid_at_us: i64,
        mut send: impl FnMut(&str, [f32; 3]) -> Result<(), SinkError>,
    ) -> Result<(), SinkError> {
        // The oldest identity comes first.
        let same = frame.poses_at(valid_at_us).find(|pose| Some(pose.value.track_id) == self.id);
        let Some(pose) = same.or_else(|| frame.poses_at(valid_at_us).next()).map(|pose| pose.value) else {
            self.id = None;
            return Ok(());
        };
        self.id = Some(pose.track_id);
        let Some(places) = pose.joints_3d_m else { return Ok(()) };
        let hips = middle(&pose, &places, [Joint::LeftHip, Joint::RightHip]);
        let ankles = [Joint::LeftAnkle, Joint::RightAnkle].map(|ankle| middle(&pose, &places, [ankle; 2]));
        if let (Some(hips), Some(lowest)) =
            (hips, ankles.into_iter().flatten().map(|place| place[1]).reduce(f32::max))
        {
            self.hips_height_m = lowest - hips[1] + ANKLE_M;
        }
        let height_m = self.hips_height_m;
        // The origin of hip-centred places is the middle of the hips.
        let in_unity = |[x, y, z]: [f32; 3]| [-x, height_m - y, -z];
        for (i, (address, joints)) in TRACKERS.iter().enumerate() {
            let mut place = middle(&pose, &places, *joints);
            if i == CHEST_TRACKER {
                place = place.zip(hips).map(|(shoulders, hips)| between(shoulders, hips, CHEST));
            }
            if let Some(place) = place {
                send(address, in_unity(place))?;
            }
        }
        let ears = middle(&pose, &places, [Joint::LeftEar, Joint::RightEar]);
        match ears.or_else(|| middle(&pose, &places, [Joint::Nose; 2])) {
            Some(head) => send(HEAD, in_unity(head)),
            None => Ok(()),
        }
    }
}

/// Between two joints, both of which have to be known.
fn middle(pose: &Pose, places: &[[f32; 3]; JOINTS], [a, b]: [Joint; 2]) -> Option<[f32; 3]> {
    let place = |joint: Joint| {
        let place = places[joint as usize];
        let is_known = pose[joint].state != JointState::Absent && place.iter().all(|v| v.is_finite());
        is_known.then_some(place)
    };
    Some(between(place(a)?, place(b)?, 0.5))
}

fn between(a: [f32; 3], b: [f32; 3], share: f32) -> [f32; 3] {
    std::array::from_fn(|i| a[i] + share * (b[i] - a[i]))
}
