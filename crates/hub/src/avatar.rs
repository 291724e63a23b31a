//! One person of the room as an avatar in Unity's space.
//!
//! Unity's space is left-handed, y up. As before a single camera, who faces the first one looks along its z: x is the room's x the other way
//! round, y its z, z its y the other way round. The origin is the room's, on the floor below the first camera, so that two hubs of one room put the
//! avatar at the same place. Heights are the room's own: who jumps is in the air.

use pose::{JOINTS, Joint};
use pose_osc::avatar::HIPS_M;
use pose_osc::{Seen, Whose};

use crate::V3;
use crate::fuse::RoomPerson;

/// The one person who is the avatar.
#[derive(Clone, Copy, Debug)]
pub struct Avatar {
    /// Somebody else's once they are gone.
    pub whose: Whose,
    /// Of the hips above the floor, the last time that they were known.
    hips_height_m: f64,
}

impl Default for Avatar {
    fn default() -> Self {
        Self { whose: Whose::default(), hips_height_m: f64::from(HIPS_M) }
    }
}

impl Avatar {
    /// The avatar at a moment with these people in it; `None` where nobody is there, or nobody knows where their trunk is.
    pub fn look(&mut self, people: &[RoomPerson]) -> Option<Seen> {
        let (id, is_new) = self.whose.choose(people.iter().map(|person| person.id))?;
        if is_new {
            self.hips_height_m = f64::from(HIPS_M);
        }
        let person = people.iter().find(|person| person.id == id)?;
        let place = |joint: Joint| person.joints[joint as usize].map(|known| known.at);
        let middle = |a, b| Some(0.5 * (place(a)? + place(b)?));
        let hips = match middle(Joint::LeftHip, Joint::RightHip) {
            Some(hips) => {
                self.hips_height_m = hips.z;
                hips
            }
            // A table hides them: below the shoulders, as the bones then take the trunk for upright.
            None => {
                let shoulders = middle(Joint::LeftShoulder, Joint::RightShoulder)?;
                V3::new(shoulders.x, shoulders.y, self.hips_height_m)
            }
        };
        let mut joints_m = [None; JOINTS];
        for (told, known) in joints_m.iter_mut().zip(&person.joints) {
            *told = known.map(|joint| unity(joint.at - hips));
        }
        Some(Seen { id, joints_m, hips_m: unity(hips) })
    }
}

/// From the room's axes to Unity's.
fn unity(at: V3) -> [f32; 3] {
    [-at.x as f32, at.z as f32, -at.y as f32]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuse::RoomJoint;

    /// Somebody who stands at `x`, `y`, looks at the first camera (along -y) and holds their left arm straight out.
    fn somebody(id: u32, x: f64, y: f64) -> RoomPerson {
        let mut joints = [None; JOINTS];
        for (joint, dx, dy, z) in [
            (Joint::Nose, 0.0, -0.1, 1.6),
            (Joint::LeftEar, 0.07, 0.0, 1.62),
            (Joint::RightEar, -0.07, 0.0, 1.62),
            (Joint::LeftShoulder, 0.17, 0.0, 1.4),
            (Joint::RightShoulder, -0.17, 0.0, 1.4),
            (Joint::LeftElbow, 0.45, 0.0, 1.4),
            (Joint::LeftWrist, 0.7, 0.0, 1.4),
            (Joint::LeftHip, 0.1, 0.0, 0.9),
            (Joint::RightHip, -0.1, 0.0, 0.9),
            (Joint::LeftKnee, 0.1, 0.0, 0.5),
            // Ahead: towards the camera.
            (Joint::RightKnee, -0.1, -0.4, 0.9),
            (Joint::LeftAnkle, 0.1, 0.0, 0.09),
        ] {
            joints[joint as usize] = Some(RoomJoint { at: V3::new(x + dx, y + dy, z), sigma: 0.02 });
        }
        RoomPerson { id, joints, cameras: 3 }
    }

    fn near(there: [f32; 3], expected: [f32; 3]) {
        assert!(there.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{there:?} {expected:?}");
    }

    #[test]
    fn the_rooms_metres_become_unitys() {
        let seen = Avatar::default().look(&[somebody(4, 1.0, 3.0)]).unwrap();
        near(seen.hips_m, [-1.0, 0.9, -3.0]);
        // Who looks along z has their left at -x, and their knee before them.
        near(seen.in_room(seen.joints_m[Joint::LeftWrist as usize].unwrap()), [-1.7, 1.4, -3.0]);
        near(seen.joints_m[Joint::RightKnee as usize].unwrap(), [0.1, 0.0, 0.4]);
        assert_eq!(seen.joints_m[Joint::RightWrist as usize], None);
    }

    #[test]
    fn an_arm_straight_out_of_who_looks_at_the_camera_is_unitys_t_pose() {
        use pose_osc::bones::{Bone, solve};
        let turns = solve(&Avatar::default().look(&[somebody(4, 1.0, 3.0)]).unwrap().joints_m);
        for bone in
            [Bone::Hips, Bone::Spine, Bone::Chest, Bone::LeftUpperArm, Bone::LeftLowerArm, Bone::LeftUpperLeg]
        {
            let turn = turns[bone as usize].unwrap();
            assert!(turn.angle() < 0.01, "{bone:?}: {turn}");
        }
        // The knee that is lifted ahead: about x, by a right angle.
        let turn = turns[Bone::RightUpperLeg as usize].unwrap();
        assert!((turn.i + std::f32::consts::FRAC_1_SQRT_2).abs() < 0.01, "{turn}");
        assert_eq!(turns[Bone::RightUpperArm as usize], None);
    }

    #[test]
    fn hips_that_are_hidden_are_below_the_shoulders_and_without_those_there_is_nobody() {
        let mut avatar = Avatar::default();
        let mut person = somebody(4, 1.0, 3.0);
        person.joints[Joint::LeftHip as usize] = None;
        near(avatar.look(&[person.clone()]).unwrap().hips_m, [-1.0, 0.95, -3.0]);
        avatar.look(&[somebody(4, 1.0, 3.0)]);
        near(avatar.look(&[person.clone()]).unwrap().hips_m, [-1.0, 0.9, -3.0]);
        person.joints[Joint::RightShoulder as usize] = None;
        assert!(avatar.look(&[person]).is_none());
        // Somebody older comes: the avatar stays who it is.
        let seen =
            avatar.look(&[somebody(9, 0.0, 0.0), somebody(4, 2.0, 3.0), somebody(2, 0.0, 1.0)]).unwrap();
        assert_eq!(seen.id, 4);
        assert_eq!(avatar.look(&[somebody(9, 0.0, 0.0), somebody(2, 0.0, 1.0)]).unwrap().id, 2);
        // Of somebody new nobody knows yet how high their hips are.
        let mut hidden = somebody(9, 1.0, 3.0);
        hidden.joints[Joint::RightHip as usize] = None;
        near(avatar.look(&[hidden]).unwrap().hips_m, [-1.0, 0.95, -3.0]);
    }
}
