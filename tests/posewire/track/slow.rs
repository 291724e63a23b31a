//! Few frames a second: whoever walks has gone on by a good part of themselves from one frame to the next.

use super::*;

/// Body heights that a walk seen from the side covers in a second; somebody tall, or in a hurry.
const WALK_PER_S: f32 = 0.9;
const TALL: f32 = 200.0;

/// Somebody who has walked for so long.
fn walks(from_x: f32, at_us: i64) -> Keypoints {
    let s = at_us as f32 * 1e-6;
    walker(from_x + TALL * WALK_PER_S * s, 200.0, TALL, 8.0 * s)
}

/// What a smoother says of somebody whose joints may be anywhere by now, but for the first few, which it is sure of.
fn vague(seen: &Keypoints, sure: usize) -> Pose {
    let mut pose = Pose::default();
    for (j, (joint, k)) in pose.joints.iter_mut().zip(&seen.joints).enumerate() {
        let score = if j < sure { 0.8 } else { 0.15 };
        *joint = PoseJoint { x_px: k.x_px, y_px: k.y_px, score, sigma_px: 5.0, state: JointState::Predicted };
    }
    pose
}

#[test]
fn whoever_walks_keeps_their_number_at_any_rate() {
    let expectations: [fn(&Keypoints) -> Option<Pose>; 3] =
        [|_| None, |seen| Some(vague(seen, 0)), |seen| Some(vague(seen, 3))];
    for every_us in [260_000, 300_000, 400_000, 500_000, 600_000, 700_000, 1_000_000] {
        for (rules, first) in [(IdentityRules::of(true), 0), (IdentityRules::default(), 1)] {
            for (which, expected) in expectations.iter().enumerate() {
                let mut tracker = Identities::new(rules);
                let mut predicted = [None; MAX_PERSONS];
                for i in 0..60 {
                    let seen = walks(100.0, i * every_us);
                    let told = tracker.update(i * every_us, &[seen], &predicted).to_vec();
                    let told: Vec<_> =
                        told.iter().map(|a| (a.track_id, a.is_reported, a.detection)).collect();
                    let id = u32::from(i >= first);
                    assert_eq!(told, [(id, id != 0, Some(0))], "{every_us} µs, {which}, frame {i}");
                    predicted[0] = expected(&seen);
                }
            }
        }
    }
}

#[test]
fn of_two_who_walk_in_file_none_takes_the_others_number() {
    for every_us in [300_000, 400_000, 500_000, 700_000] {
        let mut tracker = Identities::new(IdentityRules::of(true));
        // The second steps to where the first was, and is seen by the surer crop every other time.
        let behind = -0.98 * TALL * WALK_PER_S * every_us as f32 * 1e-6;
        for i in 0..30 {
            let mut seen = [walks(100.0, i * every_us), walks(100.0 + behind, i * every_us)];
            seen.rotate_left((i % 2) as usize);
            let told = tracker.update(i * every_us, &seen, &[None; MAX_PERSONS]);
            let of = |d: usize| told.iter().find(|a| a.detection == Some(d)).map(|a| a.track_id);
            let front = (i % 2) as usize;
            assert_eq!((of(front), of(1 - front)), (Some(1), Some(2)), "{every_us} µs, frame {i}: {told:?}");
        }
    }
}

#[test]
fn of_two_who_stand_side_by_side_who_stays_keeps_their_number() {
    let mut tracker = Identities::new(IdentityRules::of(true));
    let at = |x: f32| walker(x, 200.0, TALL, 0.0);
    for i in 0..6 {
        tracker.update(500_000 * i, &[at(100.0), at(160.0)], &[None; MAX_PERSONS]);
    }
    let told = tracker.update(3_000_000, &[at(160.0)], &[None; MAX_PERSONS]);
    let seen: Vec<_> = told.iter().filter(|a| a.detection.is_some()).map(|a| a.track_id).collect();
    assert_eq!(seen, [2]);
}

#[test]
fn a_crop_that_shows_half_of_a_stranger_is_not_who_stood_there_before_a_pause() {
    for (score, told) in [(0.6, 1), (0.2, 0)] {
        let mut tracker = Identities::new(IdentityRules::of(true));
        let seen = walker(100.0, 200.0, TALL, 0.0);
        for i in 0..30 {
            tracker.update(i * FRAME_US, &[seen], &[None; MAX_PERSONS]);
        }
        let told_of = tracker.update(5_000_000, &[Keypoints { score, ..seen }], &[None; MAX_PERSONS]);
        assert_eq!(told_of.len(), told, "{told_of:?}");
    }
}

#[test]
fn beyond_a_quarter_of_a_second_nobody_is_where_they_were_expected() {
    let mut tracker = Identities::new(IdentityRules::default());
    assert!(!tracker.is_beyond_forecast(1_000_000_000), "before the first frame nobody was expected");
    tracker.update(1_000_000, &[], &[None; MAX_PERSONS]);
    assert!(!tracker.is_beyond_forecast(1_250_000) && tracker.is_beyond_forecast(1_250_001));
    assert!(!tracker.is_after_pause(1_600_000) && tracker.is_after_pause(1_600_001));
    assert_eq!(tracker.reach(1_250_000), 0.0, "a forecast says where they are");
    assert!(
        (tracker.reach(1_500_000) - 0.8).abs() < 1e-6,
        "a walk of half a second: {}",
        tracker.reach(1_500_000)
    );
}

#[test]
fn at_a_frame_a_second_too_whoever_is_not_sure_at_once_is_told_of_from_the_second_frame_on() {
    let told = |rules: IdentityRules, score: f32, frames: i64| {
        let mut tracker = Identities::new(rules);
        let at = |i| Keypoints { score, ..walks(100.0, i * 1_000_000) };
        (0..frames)
            .map(|i| tracker.update(i * 1_000_000, &[at(i)], &[None; MAX_PERSONS])[0].is_reported)
            .collect::<Vec<_>>()
    };
    assert_eq!(told(IdentityRules::default(), 0.8, 3), [false, true, true]);
    assert_eq!(told(IdentityRules::of(true), 0.3, 3), [false, true, true]);
}

#[test]
fn a_child_before_a_grown_up_is_told_of_at_a_frame_a_second() {
    let mut tracker = Identities::new(IdentityRules::of(true));
    let large = walker(100.0, 200.0, TALL, 0.0);
    let small = Keypoints { score: 0.9, ..walker(100.0, 230.0, 90.0, 0.0) };
    let told = (0..4)
        .map(|i| {
            let told = tracker.update(i * 1_000_000, &[large, small], &[None; MAX_PERSONS]);
            told.iter().any(|a| a.detection == Some(1) && a.is_reported)
        })
        .collect::<Vec<_>>();
    assert_eq!(told, [false, false, true, true]);
}
