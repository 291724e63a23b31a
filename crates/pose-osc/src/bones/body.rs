//! How long the avatar's bones are: what the one person shows, a mean over many poses, so that nothing stretches.

use nalgebra::Vector3;
use pose::Joint;

use super::{Bone, CHEST_AT, SPINE_AT};
use crate::avatar::Seen;

/// Poses over which a length is a mean.
const POSES: f32 = 60.0;
/// Of the line from the shoulders to the ears: where the head begins.
const HEAD_AT: f32 = 0.6;

/// Lengths, metres; of an adult until a pose says more.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    id: Option<u32>,
    trunk: Length,
    neck: Length,
    /// Half of the line through both.
    shoulders: Length,
    hips: Length,
    upper_arm: Length,
    thigh: Length,
    shin: Length,
}

/// A mean, and of how many.
#[derive(Clone, Copy, Debug)]
struct Length {
    m: f32,
    poses: f32,
}

const fn about(m: f32) -> Length {
    Length { m, poses: 0.0 }
}

impl Length {
    fn learn(&mut self, m: Option<f32>) {
        // Longer bones nobody has.
        let Some(m) = m.filter(|m| (0.01..2.0).contains(m)) else { return };
        self.poses = (self.poses + 1.0).min(POSES);
        self.m += (m - self.m) / self.poses;
    }
}

impl Default for Body {
    fn default() -> Self {
        Self {
            id: None,
            trunk: about(0.51),
            neck: about(0.22),
            shoulders: about(0.17),
            hips: about(0.1),
            upper_arm: about(0.28),
            thigh: about(0.38),
            shin: about(0.39),
        }
    }
}

impl Body {
    /// Takes one more pose; somebody else is measured anew.
    pub fn learn(&mut self, seen: &Seen) {
        use Joint::{
            LeftAnkle, LeftEar, LeftElbow, LeftHip, LeftKnee, LeftShoulder, RightAnkle, RightEar, RightElbow,
            RightHip, RightKnee, RightShoulder,
        };
        if self.id != Some(seen.id) {
            *self = Self { id: Some(seen.id), ..Self::default() };
        }
        let apart = |a: [Joint; 2], b: [Joint; 2]| {
            Some((Vector3::from(seen.middle(a)?) - Vector3::from(seen.middle(b)?)).norm())
        };
        let hips = [LeftHip, RightHip];
        let shoulders = [LeftShoulder, RightShoulder];
        self.trunk.learn(apart(hips, shoulders));
        self.neck.learn(apart(shoulders, [LeftEar, RightEar]));
        let half = |m: Option<f32>| m.map(|m| 0.5 * m);
        self.shoulders.learn(half(apart([LeftShoulder; 2], [RightShoulder; 2])));
        self.hips.learn(half(apart([LeftHip; 2], [RightHip; 2])));
        for (length, bones) in [
            (&mut self.upper_arm, [[LeftShoulder, LeftElbow], [RightShoulder, RightElbow]]),
            (&mut self.thigh, [[LeftHip, LeftKnee], [RightHip, RightKnee]]),
            (&mut self.shin, [[LeftKnee, LeftAnkle], [RightKnee, RightAnkle]]),
        ] {
            for [from, to] in bones {
                length.learn(apart([from; 2], [to; 2]));
            }
        }
    }

    /// Where `bone` begins, from where its parent begins, in the parent's axes; the hips' place is the avatar's own.
    pub fn offset_m(&self, bone: Bone) -> [f32; 3] {
        use Bone::*;
        let along = |rest: Bone, m: f32| (rest.rest() * m).into();
        match bone {
            Hips => [0.0; 3],
            Spine => along(Hips, SPINE_AT * self.trunk.m),
            Chest => along(Spine, (CHEST_AT - SPINE_AT) * self.trunk.m),
            Neck | LeftShoulder | RightShoulder => along(Chest, (1.0 - CHEST_AT) * self.trunk.m),
            Head => along(Neck, HEAD_AT * self.neck.m),
            LeftUpperArm => along(LeftShoulder, self.shoulders.m),
            RightUpperArm => along(RightShoulder, self.shoulders.m),
            LeftLowerArm => along(LeftUpperArm, self.upper_arm.m),
            RightLowerArm => along(RightUpperArm, self.upper_arm.m),
            LeftUpperLeg => [-self.hips.m, 0.0, 0.0],
            RightUpperLeg => [self.hips.m, 0.0, 0.0],
            LeftLowerLeg => along(LeftUpperLeg, self.thigh.m),
            RightLowerLeg => along(RightUpperLeg, self.thigh.m),
            LeftFoot => along(LeftLowerLeg, self.shin.m),
            RightFoot => along(RightLowerLeg, self.shin.m),
        }
    }
}
