use super::*;
use crate::PoseJoint;
use proptest::prelude::*;

/// Somebody who stands facing the camera, a trunk of 100 px: their right is the picture's left.
fn standing() -> Pose {
    let mut pose = Pose::default();
    for (joint, x_px, y_px) in [
        (Joint::Nose, 200.0, 50.0),
        (Joint::LeftShoulder, 230.0, 100.0),
        (Joint::RightShoulder, 170.0, 100.0),
        (Joint::LeftElbow, 240.0, 150.0),
        (Joint::RightElbow, 160.0, 150.0),
        (Joint::LeftWrist, 245.0, 200.0),
        (Joint::RightWrist, 155.0, 200.0),
        (Joint::LeftHip, 220.0, 200.0),
        (Joint::RightHip, 180.0, 200.0),
        (Joint::LeftKnee, 220.0, 280.0),
        (Joint::RightKnee, 180.0, 280.0),
        (Joint::LeftAnkle, 220.0, 360.0),
        (Joint::RightAnkle, 180.0, 360.0),
    ] {
        put(&mut pose, joint, x_px, y_px);
    }
    pose
}

fn put(pose: &mut Pose, joint: Joint, x_px: f32, y_px: f32) {
    pose.joints[joint as usize] =
        PoseJoint { x_px, y_px, score: 0.9, sigma_px: 1.0, state: JointState::Measured };
}

/// Turned by `radians` (clockwise in the picture), scaled and shifted.
fn moved(pose: &Pose, radians: f32, scale: f32, shift_px: [f32; 2]) -> Pose {
    let (sine, cosine) = (libm::sinf(radians), libm::cosf(radians));
    let mut moved = *pose;
    for j in &mut moved.joints {
        let (x, y) = (j.x_px, j.y_px);
        j.x_px = scale * (cosine * x - sine * y) + shift_px[0];
        j.y_px = scale * (sine * x + cosine * y) + shift_px[1];
    }
    moved
}

fn lying() -> Pose {
    moved(&standing(), core::f32::consts::FRAC_PI_2, 1.0, [400.0, 0.0])
}

#[test]
fn angles_are_those_of_the_limbs() {
    let mut pose = standing();
    let elbow = |pose: &Pose| angle_rad(pose, Joint::LeftShoulder, Joint::LeftElbow, Joint::LeftWrist);
    let knee = angle_rad(&pose, Joint::LeftHip, Joint::LeftKnee, Joint::LeftAnkle).unwrap();
    assert!((knee - core::f32::consts::PI).abs() < 1e-6);
    put(&mut pose, Joint::LeftElbow, 230.0, 150.0);
    put(&mut pose, Joint::LeftWrist, 280.0, 150.0);
    assert!((elbow(&pose).unwrap() - core::f32::consts::FRAC_PI_2).abs() < 1e-6);
    pose.joints[Joint::LeftWrist as usize].score = 0.2;
    assert_eq!(elbow(&pose), None);
}

#[test]
fn a_hand_is_raised_above_its_own_shoulder_alone() {
    let mut pose = standing();
    assert_eq!(hands_raised(&pose), [Some(false), Some(false)]);
    put(&mut pose, Joint::LeftWrist, 235.0, 60.0);
    assert_eq!(hands_raised(&pose), [Some(true), Some(false)]);
    // At the height of the shoulder: pointing at something.
    put(&mut pose, Joint::LeftWrist, 300.0, 95.0);
    assert_eq!(hands_raised(&pose)[0], Some(false));
    pose.joints[Joint::LeftWrist as usize].state = JointState::Absent;
    assert_eq!(hands_raised(&pose), [None, Some(false)]);
    // The trunk has 100 px, the shoulder is at 100.
    for (y_px, is_raised) in [(72.0, false), (68.0, true)] {
        put(&mut pose, Joint::RightWrist, 165.0, y_px);
        assert_eq!(hands_raised(&pose)[1], Some(is_raised), "{y_px}");
    }
}

#[test]
fn arms_are_crossed_where_both_wrists_are_on_the_other_side() {
    let mut pose = standing();
    assert_eq!(arms_crossed(&pose), Some(false));
    put(&mut pose, Joint::LeftWrist, 175.0, 140.0);
    assert_eq!(arms_crossed(&pose), Some(false), "one hand on the chest");
    put(&mut pose, Joint::RightWrist, 225.0, 140.0);
    assert_eq!(arms_crossed(&pose), Some(true));
    for y_px in [60.0, 230.0] {
        let mut beyond = pose;
        put(&mut beyond, Joint::LeftWrist, 175.0, y_px);
        assert_eq!(arms_crossed(&beyond), Some(false), "above the head, or in the lap");
    }
    put(&mut pose, Joint::LeftShoulder, 205.0, 100.0);
    put(&mut pose, Joint::RightShoulder, 195.0, 100.0);
    assert_eq!(arms_crossed(&pose), None, "seen from the side");
}

#[test]
fn a_trunk_lies_from_60_degrees_on_either_way_and_one_side_of_it_is_enough() {
    let leaning = |degrees: f32| moved(&standing(), degrees.to_radians(), 1.0, [0.0; 2]);
    for degrees in [-180.0f32, -150.0, -90.0, -61.0, -59.0, -30.0, 0.0, 30.0, 59.0, 61.0, 90.0, 150.0] {
        assert_eq!(is_lying(&leaning(degrees)), Some(degrees.abs() > 60.0), "{degrees}");
    }
    for degrees in [0.0, 40.0, 80.0] {
        let mut pose = leaning(degrees);
        for joint in [Joint::LeftHip, Joint::LeftShoulder] {
            pose.joints[joint as usize].score = 0.1;
        }
        assert_eq!(is_lying(&pose), Some(degrees > 60.0), "{degrees}, by the right side");
        pose.joints[Joint::RightHip as usize].state = JointState::Absent;
        assert_eq!(is_lying(&pose), None);
    }
}

#[test]
fn who_has_fallen_was_upright_at_most_a_second_and_a_half_before() {
    for (hidden_us, has_fallen) in [(1_450_000, true), (1_550_000, false)] {
        let mut fall = Fall::new();
        fall.update(&standing(), 0);
        let mut lies = |after_us: i64| fall.update(&lying(), hidden_us + after_us);
        assert!(![0, 250_000, 500_000, 750_000].map(&mut lies).contains(&true));
        assert_eq!(lies(1_000_000), has_fallen, "{hidden_us}");
        let mut up = |after_us: i64| fall.update(&standing(), hidden_us + 2_000_000 + after_us);
        assert_eq!([0, 150_000, 290_000, 310_000].map(&mut up), [has_fallen, has_fallen, has_fallen, false]);
    }
}

#[test]
fn who_lies_after_having_been_up_has_fallen_and_who_lay_down_slowly_has_not() {
    let at = |fall: &mut Fall, pose: &Pose, from_ms: i64, to_ms: i64| {
        (from_ms..to_ms).step_by(33).fold(false, |_, ms| fall.update(pose, 1_000 * ms))
    };
    let mut fall = Fall::new();
    assert!(!at(&mut fall, &standing(), 0, 2_000));
    assert!(!at(&mut fall, &lying(), 2_000, 2_900), "might be a stumble");
    assert!(at(&mut fall, &lying(), 2_900, 9_000), "and they stay fallen");
    assert!(!at(&mut fall, &standing(), 9_000, 9_500), "up again");

    let mut hidden = Fall::new();
    at(&mut hidden, &standing(), 0, 2_000);
    at(&mut hidden, &lying(), 2_000, 2_500);
    assert!(!at(&mut hidden, &Pose::default(), 2_500, 4_200), "half a second is all that is known");
    assert!(at(&mut hidden, &lying(), 4_200, 4_800));

    let mut slow = Fall::new();
    at(&mut slow, &standing(), 0, 2_000);
    // Half down, the trunk out of sight, for longer than a fall takes.
    at(&mut slow, &Pose::default(), 2_000, 6_000);
    assert!(!at(&mut slow, &lying(), 6_000, 9_000));
    assert!(!at(&mut Fall::new(), &lying(), 0, 9_000), "lay there before anybody looked");
}

#[test]
fn how_fast_a_trunk_goes_from_up_to_lying_says_whether_that_is_a_fall() {
    let leaning = |degrees: f32| moved(&standing(), degrees.to_radians(), 1.0, [0.0; 2]);
    /// Where the trunk is at a moment: places of the way down, milliseconds and degrees.
    fn degrees_at(way: &[(i64, f32)], ms: i64) -> f32 {
        let after = way.iter().position(|&(at_ms, _)| at_ms > ms);
        match after {
            None => way[way.len() - 1].1,
            Some(0) => way[0].1,
            Some(i) => {
                let ((from_ms, from), (to_ms, to)) = (way[i - 1], way[i]);
                from + (to - from) * (ms - from_ms) as f32 / (to_ms - from_ms) as f32
            }
        }
    }
    for (way, has_fallen, what) in [
        (&[(1_000, 0.0), (1_600, 90.0)][..], true, "fell"),
        (&[(1_000, 0.0), (1_600, -90.0)], true, "to the other side"),
        (&[(1_000, 0.0), (7_000, 90.0)], false, "lay down"),
        (&[(1_000, 0.0), (1_600, 45.0), (7_000, 45.0), (9_000, 90.0)], false, "sat back, then lay down"),
        (
            &[(1_000, 0.0), (1_500, 62.0), (1_600, 45.0), (7_000, 45.0), (9_000, 90.0)],
            false,
            "bent down once",
        ),
        (&[(1_000, 0.0), (1_500, 62.0), (1_800, 58.0), (2_100, 62.0)], true, "about the limit"),
        (&[(1_000, 0.0), (1_400, 65.0)], true, "bent down fast and stayed there"),
        (&[(1_000, 35.0), (1_600, 110.0)], true, "fell at the side of a camera that looks down"),
        (&[(1_000, 35.0), (1_600, -90.0)], true, "fell there to the other side"),
        (&[(1_000, 35.0), (7_000, 110.0)], false, "lay down there"),
        (&[(1_000, 22.0), (1_400, 63.0)], true, "41 degrees"),
        (&[(1_000, 24.0), (1_400, 63.0)], false, "39 degrees"),
        (
            &[
                (1_000, 0.0),
                (7_000, 65.0),
                (9_000, 65.0),
                (9_300, 110.0),
                (9_500, 55.0),
                (9_900, 55.0),
                (10_000, 65.0),
                (12_000, 65.0),
            ],
            false,
            "lay down, rolled over, sat up a little",
        ),
    ] {
        let mut fall = Fall::new();
        let fallen =
            (0..12_000).step_by(33).filter(|&ms| fall.update(&leaning(degrees_at(way, ms)), 1_000 * ms));
        assert_eq!(fallen.count() > 0, has_fallen, "{what}");
    }
}

#[test]
fn a_trunk_that_crosses_the_limit_to_and_fro_is_on_one_way_down() {
    let mut fall = Fall::new();
    let mut at = |ms: i64| {
        let degrees = match ms {
            ..1_000 => 0.0f32,
            // For longer than a fall takes.
            ..5_000 if ms / 300 % 2 == 0 => 58.0,
            _ => 62.0,
        };
        fall.update(&moved(&standing(), degrees.to_radians(), 1.0, [0.0; 2]), 1_000 * ms)
    };
    assert!(!(0..5_000).step_by(33).any(&mut at), "it has not held");
    assert!((5_000..7_000).step_by(33).any(&mut at));
}

#[test]
fn who_stood_at_a_moment_that_is_yet_to_come_has_not_fallen_since() {
    let mut fall = Fall::new();
    fall.update(&standing(), 10_000_000);
    assert!(!(0..9).any(|quarter| fall.update(&lying(), 250_000 * quarter)), "the clock went back");
}

#[test]
fn answers_that_change_to_and_fro_change_nothing_however_often() {
    let mut held = Held::new(200_000, 200_000);
    for at_us in (0..5_000_000).step_by(250_000) {
        let answers = [(true, 0), (true, 150_000), (false, 200_000)];
        assert!(answers.map(|(answer, us)| held.update(Some(answer), at_us + us)) == [false; 3], "{at_us}");
    }
}

#[test]
fn two_moments_with_a_stall_between_them_are_no_time_in_which_it_held() {
    let mut held = Held::new(300_000, 300_000);
    assert!(!held.update(Some(true), 0) && !held.update(Some(true), 60_000_000));
    assert!(held.update(Some(true), 60_050_000), "250 ms and 50 ms");
    assert!(held.update(Some(false), 61_000_000) && held.update(Some(false), 90_000_000));
    let mut fall = Fall::new();
    fall.update(&standing(), 0);
    assert!(!fall.update(&lying(), 33_000) && !fall.update(&lying(), 3_033_000), "two frames are no fall");
}

#[test]
fn a_fall_needs_a_frame_every_second_and_a_half() {
    for (every_ms, has_fallen) in [(1_400, true), (1_600, false)] {
        let mut fall = Fall::new();
        let mut at = |frame: i64| {
            fall.update(&if frame == 0 { standing() } else { lying() }, 1_000 * every_ms * frame)
        };
        assert_eq!((0..100).any(&mut at), has_fallen, "{every_ms}");
    }
}

#[test]
fn time_in_which_nobody_knows_counts_neither_for_the_beginning_nor_for_the_end() {
    for is_on in [false, true] {
        let mut held = Held::new(200_000, 200_000);
        if is_on {
            assert!(!held.update(Some(true), 0) && held.update(Some(true), 200_000));
        }
        let mut at = |answer, ms: i64| held.update(answer, 1_000 * ms) != is_on;
        // A frame, a long time of which nobody knows, and another frame.
        assert!(!at(Some(!is_on), 1_000) && !at(None, 1_033) && !at(None, 4_000));
        assert!(!at(Some(!is_on), 5_000) && !at(Some(!is_on), 5_150));
        assert!(at(Some(!is_on), 5_167), "33 ms and 167 ms");
    }
    let mut back = Held::new(200_000, 200_000);
    assert!(!back.update(Some(true), 5_000_000) && !back.update(Some(true), 5_150_000));
    assert!(
        !back.update(Some(true), 1_000_000) && !back.update(Some(true), 1_100_000),
        "the clock went back"
    );
    assert!(back.update(Some(true), 1_200_000));
    let mut fall = Fall::new();
    fall.update(&standing(), 0);
    assert!(!fall.update(&lying(), 33_000) && !fall.update(&Pose::default(), 66_000));
    assert!(!fall.update(&lying(), 1_100_000), "two frames are no fall");
}

proptest! {
    #[test]
    fn size_and_place_change_no_answer_and_turning_none_but_lying(
        radians in -3.0f32..3.0, scale in 0.1f32..8.0, x in -500.0f32..2000.0, y in -500.0f32..2000.0, is_raised: bool,
    ) {
        let mut pose = standing();
        if is_raised {
            put(&mut pose, Joint::LeftWrist, 235.0, 30.0);
        }
        let other = moved(&pose, radians, scale, [x, y]);
        prop_assert_eq!(hands_raised(&other), hands_raised(&pose));
        prop_assert_eq!(arms_crossed(&other), arms_crossed(&pose));
        prop_assert_eq!(is_lying(&moved(&pose, 0.0, scale, [x, y])), Some(false));
    }

    #[test]
    fn whatever_the_joints_are_nothing_panics(
        joints in prop::collection::vec((any::<f32>(), any::<f32>(), any::<f32>()), crate::JOINTS), now_us: i64,
    ) {
        let mut pose = Pose::default();
        for (j, (x_px, y_px, score)) in pose.joints.iter_mut().zip(joints) {
            *j = PoseJoint { x_px, y_px, score, sigma_px: 1.0, state: JointState::Measured };
        }
        let _ = (hands_raised(&pose), arms_crossed(&pose), is_lying(&pose));
        let _ = angle_rad(&pose, Joint::Nose, Joint::LeftEye, Joint::RightEye);
        Fall::new().update(&pose, now_us);
    }
}
