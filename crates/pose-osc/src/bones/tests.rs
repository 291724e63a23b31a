use pose::{Joint, MIRROR};
use proptest::prelude::*;

use super::*;
use crate::avatar::Seen;

/// Somebody who stands as Unity's T-pose does and looks along z, metres from the middle of the hips.
pub(crate) fn t_pose() -> [Option<[f32; 3]>; JOINTS] {
    let left = |x: f32, y: f32, z: f32| [-x, y, z];
    let half = [
        (Joint::Nose, left(0.0, 0.68, 0.1)),
        (Joint::LeftEye, left(0.03, 0.74, 0.08)),
        (Joint::LeftEar, left(0.07, 0.71, 0.0)),
        (Joint::LeftShoulder, left(0.17, 0.5, 0.0)),
        (Joint::LeftElbow, left(0.45, 0.5, 0.0)),
        (Joint::LeftWrist, left(0.7, 0.5, 0.0)),
        (Joint::LeftHip, left(0.1, 0.0, 0.0)),
        (Joint::LeftKnee, left(0.1, -0.4, 0.0)),
        (Joint::LeftAnkle, left(0.1, -0.8, 0.0)),
    ];
    let mut joints = [None; JOINTS];
    for (joint, [x, y, z]) in half {
        joints[joint as usize] = Some([x, y, z]);
        joints[MIRROR[joint as usize]] = Some([-x, y, z]);
    }
    joints
}

fn body(joints_m: [Option<[f32; 3]>; JOINTS]) -> Body {
    let mut body = Body::default();
    for _ in 0..100 {
        body.learn(&Seen { id: 1, joints_m, hips_m: [0.0; 3] });
    }
    body
}

/// Where each bone begins and how it is turned in the room, the hips in the origin.
fn forwards(rotations: &Rotations, body: &Body) -> [Option<(V, Turn)>; BONES] {
    let mut found: [Option<(V, Turn)>; BONES] = [None; BONES];
    for (bone, ..) in NAMES {
        let parent =
            if bone == Hips { Some((V::zeros(), Turn::identity())) } else { found[bone.parent() as usize] };
        found[bone as usize] = parent
            .zip(rotations[bone as usize])
            .map(|((at, turn), local)| (at + turn * V::from(body.offset_m(bone)), turn * local));
    }
    found
}

/// The joints of a body whose bones are turned so.
fn joints_of(rotations: &Rotations) -> [Option<[f32; 3]>; JOINTS] {
    let model = body(t_pose());
    let bones = forwards(rotations, &model);
    let begin = |bone: Bone| bones[bone as usize].unwrap().0;
    let of = |bone: Bone, place: V| {
        let (at, turn) = bones[bone as usize].unwrap();
        at + turn * place
    };
    let mut joints = [None; JOINTS];
    let mut set = |joint: Joint, at: V| joints[joint as usize] = Some(at.into());
    for (joint, bone) in [
        (Joint::LeftShoulder, LeftUpperArm),
        (Joint::RightShoulder, RightUpperArm),
        (Joint::LeftElbow, LeftLowerArm),
        (Joint::RightElbow, RightLowerArm),
        (Joint::LeftHip, LeftUpperLeg),
        (Joint::RightHip, RightUpperLeg),
        (Joint::LeftKnee, LeftLowerLeg),
        (Joint::RightKnee, RightLowerLeg),
        (Joint::LeftAnkle, LeftFoot),
        (Joint::RightAnkle, RightFoot),
    ] {
        set(joint, begin(bone));
    }
    set(Joint::LeftWrist, of(LeftLowerArm, V::new(-0.25, 0.0, 0.0)));
    set(Joint::RightWrist, of(RightLowerArm, V::new(0.25, 0.0, 0.0)));
    // The ears lie along the neck, as far again as the T-pose has them.
    let ears = begin(Neck) + 0.21 * (begin(Head) - begin(Neck)).normalize();
    let (_, head) = bones[Head as usize].unwrap();
    for (joint, place) in [
        (Joint::LeftEar, [-0.07, 0.0, 0.0]),
        (Joint::RightEar, [0.07, 0.0, 0.0]),
        (Joint::LeftEye, [-0.03, 0.03, 0.08]),
        (Joint::RightEye, [0.03, 0.03, 0.08]),
        (Joint::Nose, [0.0, -0.03, 0.1]),
    ] {
        set(joint, ears + head * V::from(place));
    }
    joints
}

fn turned(rotations: &Rotations, bone: Bone, by: [f32; 4]) {
    let there = rotations[bone as usize].unwrap_or_else(|| panic!("no {bone:?}"));
    let by = Turn::new_normalize(nalgebra::Quaternion::new(by[3], by[0], by[1], by[2]));
    assert!(there.angle_to(&by) < 1e-3, "{bone:?}: {there} is not {by}");
}

const HALF: f32 = std::f32::consts::FRAC_1_SQRT_2;
const STRAIGHT: [f32; 4] = [0.0, 0.0, 0.0, 1.0];

#[test]
fn a_t_pose_turns_no_bone() {
    let rotations = solve(&t_pose());
    for (bone, ..) in NAMES {
        turned(&rotations, bone, STRAIGHT);
    }
}

/// Numbers that Unity's own `Quaternion.Euler` gives.
#[test]
fn known_poses_have_unitys_quaternions() {
    // The left arm stretched forwards: Euler(0, 90, 0).
    let mut joints = t_pose();
    joints[Joint::LeftElbow as usize] = Some([-0.17, 0.5, 0.28]);
    joints[Joint::LeftWrist as usize] = Some([-0.17, 0.5, 0.53]);
    let rotations = solve(&joints);
    turned(&rotations, LeftUpperArm, [0.0, HALF, 0.0, HALF]);
    turned(&rotations, LeftLowerArm, STRAIGHT);
    // The right one hangs, and its forearm points forwards: Euler(0, 0, -90), then about the arm's own y.
    joints[Joint::RightElbow as usize] = Some([0.17, 0.22, 0.0]);
    joints[Joint::RightWrist as usize] = Some([0.17, 0.22, 0.25]);
    let rotations = solve(&joints);
    turned(&rotations, RightUpperArm, [0.0, 0.0, -HALF, HALF]);
    turned(&rotations, RightLowerArm, [0.0, -HALF, 0.0, HALF]);
    // A knee raised: the thigh Euler(-90, 0, 0), the shin back by 90 degrees, the sole level.
    joints[Joint::LeftKnee as usize] = Some([-0.1, 0.0, 0.4]);
    joints[Joint::LeftAnkle as usize] = Some([-0.1, -0.4, 0.4]);
    let rotations = solve(&joints);
    turned(&rotations, LeftUpperLeg, [-HALF, 0.0, 0.0, HALF]);
    turned(&rotations, LeftLowerLeg, [HALF, 0.0, 0.0, HALF]);
    turned(&rotations, LeftFoot, STRAIGHT);
    // Turned to their left: Unity's y axis goes round the other way than it looks from above in a right-handed space.
    let turned_left = t_pose().map(|joint| joint.map(|[x, y, z]| [-z, y, x]));
    let rotations = solve(&turned_left);
    turned(&rotations, Hips, [0.0, -HALF, 0.0, HALF]);
    turned(&rotations, LeftUpperArm, STRAIGHT);
}

#[test]
fn limits_hold_and_what_is_not_seen_is_not_said() {
    let mut joints = t_pose();
    // A forearm that lies in its upper arm; both ways are as short.
    joints[Joint::LeftWrist as usize] = Some([-0.2, 0.5, 0.0]);
    let rotations = solve(&joints);
    let elbow = rotations[LeftLowerArm as usize].unwrap();
    assert!((elbow.angle().to_degrees() - limit::LOWER_ARM).abs() < 0.1, "{elbow}");

    // Shoulders and a head turned farther about the trunk than anybody's: half of the one is the spine's, half the chest's.
    let about_y = |[x, y, z]: [f32; 3], degrees: f32| {
        let (sine, cosine) = degrees.to_radians().sin_cos();
        [cosine * x + sine * z, y, cosine * z - sine * x]
    };
    let mut joints = t_pose();
    for joint in Joint::ALL.into_iter().filter(|j| *j < Joint::LeftHip) {
        let turned = if joint < Joint::LeftShoulder { 215.0 } else { 100.0 };
        joints[joint as usize] = joints[joint as usize].map(|at| about_y(at, turned));
    }
    let rotations = solve(&joints);
    for (bone, degrees) in
        [(Spine, 0.5 * limit::TRUNK_TWIST), (Chest, 0.5 * limit::TRUNK_TWIST), (Head, limit::HEAD)]
    {
        let turn = rotations[bone as usize].unwrap();
        assert!((turn.angle().to_degrees() - degrees).abs() < 0.1, "{bone:?}: {turn}");
    }

    let mut joints = t_pose();
    joints[Joint::RightElbow as usize] = None;
    joints[Joint::LeftEar as usize] = None;
    let rotations = solve(&joints);
    let said = |bone: Bone| rotations[bone as usize].is_some();
    assert!(!said(RightUpperArm) && !said(RightLowerArm) && !said(Head) && !said(Neck));
    assert!(said(RightShoulder) && said(LeftLowerArm) && said(RightFoot));

    // At a desk: no hips. Shoulders are level then, and turned as they are.
    let mut joints = t_pose().map(|joint| joint.map(|[x, y, z]| [-z, y, x]));
    for joint in &mut joints[Joint::LeftHip as usize..] {
        *joint = None;
    }
    let rotations = solve(&joints);
    turned(&rotations, Hips, [0.0, -HALF, 0.0, HALF]);
    turned(&rotations, LeftUpperArm, STRAIGHT);
    assert!(rotations[LeftUpperLeg as usize].is_none());

    assert_eq!(solve(&[None; JOINTS]), [None; BONES]);
}

/// Turns within what bones do. Two shoulders are one line, and so are two hips: both collar bones turn together, and the spine
/// bends to the side alone, because who bends forwards does so in the hips.
fn some_turns() -> impl Strategy<Value = Rotations> {
    let swing = (-1.0f32..1.0, -1.0f32..1.0, -1.0f32..1.0);
    proptest::collection::vec(swing, BONES).prop_map(|swings| {
        std::array::from_fn(|i| {
            let (bone, ..) = NAMES[i];
            let (a, b, share) = swings[i];
            let about = |axis: V, most: f32| {
                let axis = Unit::try_new(axis, 1e-3).unwrap_or(V::z_axis());
                Turn::from_axis_angle(&axis, (share * most).to_radians())
            };
            let half = Turn::from_axis_angle(&V::y_axis(), 0.5 * swings[2].0);
            let rest = bone.rest();
            // Across the bone: a swing has no twist.
            let across = V::new(a, b, a - b).cross(&rest);
            Some(match bone {
                Hips => about(V::new(a, b, a - b), 180.0),
                Spine => about(V::z(), limit::SPINE - 10.0) * half,
                Chest => half,
                Neck => about(across, limit::NECK),
                Head => about(V::new(a, b, a - b), limit::HEAD),
                LeftShoulder | RightShoulder => {
                    Turn::from_axis_angle(&V::z_axis(), (swings[5].2 * limit::SHOULDER).to_radians())
                }
                LeftFoot | RightFoot => about(across, limit::FOOT),
                _ => about(across, limit::UPPER_ARM),
            })
        })
    })
}

proptest! {
    #[test]
    fn the_bones_give_the_joints_back(turns in some_turns()) {
        let joints = joints_of(&turns);
        let rotations = solve(&joints);
        let again = joints_of(&rotations);
        for joint in Joint::ALL {
            let (a, b) = (joints[joint as usize].unwrap(), again[joint as usize].unwrap());
            let off_m = (V::from(a) - V::from(b)).norm();
            prop_assert!(off_m < 0.002, "{joint:?}: {off_m} m");
        }
    }

    #[test]
    fn whatever_the_joints_are_quaternions_have_length_one_and_limits_hold(
        places in proptest::collection::vec(
            proptest::option::of([-1i8..=1, -1i8..=1, -1i8..=1]), JOINTS,
        ),
        size_m in prop_oneof![Just(0.0f32), Just(1e-20), Just(1e-3), Just(0.5), Just(9.9)],
    ) {
        // Few places: joints lie in each other and in lines.
        let joints = std::array::from_fn(|j| places[j].map(|place| place.map(|v| f32::from(v) * size_m)));
        for (turn, (bone, ..)) in solve(&joints).into_iter().zip(NAMES) {
            let Some(turn) = turn else { continue };
            let length = turn.coords.norm();
            prop_assert!((length - 1.0).abs() < 1e-4, "{bone:?}: {turn} has length {length}");
            if let Some((_, _, limit)) = LIMBS.iter().find(|(limb, ..)| *limb == bone) {
                prop_assert!(turn.angle().to_degrees() < limit + 0.1, "{bone:?}: {turn}");
            }
        }
    }
}
