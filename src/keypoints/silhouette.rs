//! Roughly which pixels a person covers.

use pose::Joint::{self, *};
use pose::{JointState, Pose};

use crate::picture::{Affine, Mask};

/// Joints, and how far what lies round the line between them reaches from it, as a part of the body's height.
const PARTS: [(Joint, Joint, f32); 12] = [
    // Shoulders and hips, and the sides between them.
    (LeftShoulder, RightShoulder, 0.07),
    (LeftHip, RightHip, 0.08),
    (LeftShoulder, LeftHip, 0.07),
    (RightShoulder, RightHip, 0.07),
    // Upper and lower arms.
    (LeftShoulder, LeftElbow, 0.055),
    (RightShoulder, RightElbow, 0.055),
    (LeftElbow, LeftWrist, 0.05),
    (RightElbow, RightWrist, 0.05),
    // Upper and lower legs.
    (LeftHip, LeftKnee, 0.075),
    (RightHip, RightKnee, 0.075),
    (LeftKnee, LeftAnkle, 0.06),
    (RightKnee, RightAnkle, 0.06),
];

/// The joints before and at an end of a limb, and how far hand or foot go on beyond it, as a part of the line between the two.
const ENDS: [(Joint, Joint, f32); 4] = [
    (LeftElbow, LeftWrist, 0.35),
    (RightElbow, RightWrist, 0.35),
    (LeftKnee, LeftAnkle, 0.2),
    (RightKnee, RightAnkle, 0.2),
];
const END_RADIUS: f32 = 0.055;

/// Lines from shoulder to shoulder down to hip to hip that fill the trunk between its sides.
const TRUNK_LINES: u32 = 5;
const TRUNK_RADIUS: f32 = 0.06;

/// Round the middle of the face; the neck; the hair, so far beyond the face as a part of the line from the shoulders to it.
const HEAD_RADIUS: f32 = 0.105;
const NECK_RADIUS: f32 = 0.06;
const HAIR_RADIUS: f32 = 0.08;
const HAIR: f32 = 0.3;

/// Somebody who stands is so many times as tall as trunk and legs are long; and the lines of a side from the shoulder down, as parts of that.
const HEIGHT_PER_TRUNK_AND_LEGS: f32 = 1.25;
const TRUNK_AND_LEGS: [([(Joint, Joint); 2], f32); 3] = [
    ([(LeftShoulder, LeftHip), (RightShoulder, RightHip)], 0.38),
    ([(LeftHip, LeftKnee), (RightHip, RightKnee)], 0.31),
    ([(LeftKnee, LeftAnkle), (RightKnee, RightAnkle)], 0.31),
];

/// Marks in `mask` what `pose`, in pixels of the source image, covers there. Joints that are absent cover nothing.
///
/// Bones get flesh in proportion to the body's height, which is told from trunk and legs where somebody bends down or sits.
pub(super) fn mark(pose: &Pose, mask_from_image: &Affine, mask: &mut Mask) {
    let Some(bounds) = pose.bounds() else { return };
    let at: [Option<[f32; 2]>; pose::JOINTS] = std::array::from_fn(|j| {
        let joint = &pose.joints[j];
        let (x, y) = mask_from_image.apply(joint.x_px, joint.y_px);
        (joint.state != JointState::Absent).then_some([x, y])
    });
    let across = bounds.w.max(bounds.h) * mask_from_image.scale();
    let height = across.max(HEIGHT_PER_TRUNK_AND_LEGS * trunk_and_legs(&at));

    for (a, b, radius) in PARTS {
        if let (Some(a), Some(b)) = (at[a as usize], at[b as usize]) {
            mask.capsule(a, b, radius * height);
        }
    }
    for (before, end, beyond) in ENDS {
        if let (Some(before), Some(end)) = (at[before as usize], at[end as usize]) {
            mask.capsule(end, between(before, end, 1.0 + beyond), END_RADIUS * height);
        }
    }
    if let [Some(left), Some(right), Some(left_hip), Some(right_hip)] = Joint::TRUNK.map(|j| at[j as usize]) {
        for i in 0..TRUNK_LINES {
            let across = i as f32 / (TRUNK_LINES - 1) as f32;
            let (shoulder, hip) = (between(left, right, across), between(left_hip, right_hip, across));
            mask.capsule(shoulder, hip, TRUNK_RADIUS * height);
        }
    }
    let face = || Joint::HEAD.iter().filter_map(|&j| at[j as usize]);
    let count = face().count() as f32;
    if count > 0.0 {
        let middle = [0, 1].map(|axis| face().map(|p| p[axis]).sum::<f32>() / count);
        mask.capsule(middle, middle, HEAD_RADIUS * height);
        if let [Some(left), Some(right)] = Joint::SHOULDERS.map(|j| at[j as usize]) {
            let shoulders = between(left, right, 0.5);
            mask.capsule(middle, shoulders, NECK_RADIUS * height);
            mask.capsule(middle, between(shoulders, middle, 1.0 + HAIR), HAIR_RADIUS * height);
        }
    }
}

/// How long trunk and legs are, by as much of them as is there; 0 where nothing is.
fn trunk_and_legs(at: &[Option<[f32; 2]>; pose::JOINTS]) -> f32 {
    let long = |&(a, b): &(Joint, Joint)| {
        let ([ax, ay], [bx, by]) = (at[a as usize]?, at[b as usize]?);
        Some((ax - bx).hypot(ay - by))
    };
    let (mut known, mut known_part) = (0.0, 0.0);
    for (sides, part) in TRUNK_AND_LEGS {
        let (sum, count) =
            sides.iter().filter_map(long).fold((0.0, 0.0), |(sum, count), line| (sum + line, count + 1.0));
        if count > 0.0 {
            known += sum / count;
            known_part += part;
        }
    }
    if known_part > 0.0 { known / known_part } else { 0.0 }
}

fn between(a: [f32; 2], b: [f32; 2], share: f32) -> [f32; 2] {
    [a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])]
}

#[cfg(test)]
mod tests {
    use pose::PoseJoint;

    use super::*;

    /// Somebody 200 px tall who stands upright, arms down, with their nose at (x, 30).
    fn standing(x: f32) -> Pose {
        let places: [[f32; 2]; pose::JOINTS] = [
            [0.0, 30.0],
            [3.0, 27.0],
            [-3.0, 27.0],
            [7.0, 28.0],
            [-7.0, 28.0],
            [20.0, 55.0],
            [-20.0, 55.0],
            [26.0, 85.0],
            [-26.0, 85.0],
            [28.0, 112.0],
            [-28.0, 112.0],
            [12.0, 110.0],
            [-12.0, 110.0],
            [13.0, 155.0],
            [-13.0, 155.0],
            [14.0, 200.0],
            [-14.0, 200.0],
        ];
        let mut pose = Pose::default();
        for (joint, [dx, y]) in pose.joints.iter_mut().zip(places) {
            (joint.x_px, joint.y_px, joint.state) = (x + dx, y, JointState::Measured);
        }
        pose
    }

    fn covered(pose: &Pose, image_from_mask: f32) -> Mask {
        let mut mask = Mask::new((200.0 / image_from_mask) as usize, (240.0 / image_from_mask) as usize);
        let to_mask = Affine::scale_then_shift(1.0 / image_from_mask, 1.0 / image_from_mask, 0.0, 0.0);
        mark(pose, &to_mask, &mut mask);
        mask
    }

    #[test]
    fn a_body_has_a_head_a_trunk_and_limbs_and_air_between_them() {
        let mask = covered(&standing(100.0), 1.0);
        let body =
            [(100.0, 20.0), (100.0, 45.0), (100.0, 80.0), (128.0, 100.0), (114.0, 208.0), (72.0, 118.0)];
        let air = [(60.0, 20.0), (100.0, 190.0), (150.0, 100.0), (100.0, 230.0), (70.0, 170.0)];
        assert_eq!(body.map(|at| mask.is_marked(at)), [true; 6]);
        assert_eq!(air.map(|at| mask.is_marked(at)), [false; 5]);
    }

    #[test]
    fn a_mask_of_half_the_size_says_the_same() {
        let (fine, coarse) = (covered(&standing(100.0), 1.0), covered(&standing(100.0), 2.0));
        let share =
            |mask: &Mask| mask.marked().iter().filter(|m| **m).count() as f32 / mask.marked().len() as f32;
        assert!((share(&fine) - share(&coarse)).abs() < 0.01, "{} {}", share(&fine), share(&coarse));
        assert!((0.1..0.4).contains(&share(&fine)), "{}", share(&fine));
    }

    #[test]
    fn what_is_absent_covers_nothing() {
        let mut pose = standing(100.0);
        // Wherever it is said to be: the corner of the picture is as good a place as any.
        pose.joints[13..]
            .iter_mut()
            .for_each(|joint| *joint = PoseJoint { state: JointState::Absent, ..PoseJoint::default() });
        let mask = covered(&pose, 1.0);
        assert!(!mask.is_marked((140.0, 45.0)), "nor does it make the rest larger");
        assert!(mask.is_marked((100.0, 80.0)) && !mask.is_marked((113.0, 170.0)));
        assert!(!covered(&Pose::default(), 1.0).marked().contains(&true));
    }
}
