//! Who is somebody, by what the network says of them.

use super::*;

/// Frames of one who stands still and is seen with these scores.
fn scored(scores: &[f32]) -> Vec<Vec<(usize, Keypoints)>> {
    let of = |&score| vec![(0, Keypoints { score, ..walker(100.0, 200.0, 200.0, 0.0) })];
    scores.iter().map(of).collect()
}

#[test]
fn by_presence_somebody_sure_is_there_at_once_somebody_likely_soon_and_a_ghost_never() {
    let reported = |scores: &[f32]| {
        let mut tracker = Identities::new(IdentityRules::of(true));
        follow(&mut tracker, 0, scored(scores)).iter().map(|f| !f.is_empty()).collect::<Vec<_>>()
    };
    assert_eq!(reported(&[0.6, 0.6]), [true, true]);
    assert_eq!(reported(&[0.4, 0.4, 0.4]), [false, true, true]);
    assert_eq!(reported(&[0.2; 10]), [false; 10], "unlikely stays unlikely");
    assert_eq!(
        reported(&[0.3, 0.05, 0.05]),
        [false; 3],
        "a second look refuses what the first took for somebody"
    );
}

#[test]
fn a_ghost_ends_and_a_person_half_hidden_stays() {
    let mut tracker = Identities::new(IdentityRules::of(true));
    let scores = [vec![0.55; 3], vec![0.02; 9]].concat();
    let ids = follow(&mut tracker, 0, scored(&scores));
    assert!(ids[..3].iter().all(|f| f.len() == 1));
    assert!(ids[3..].iter().all(BTreeMap::is_empty), "{ids:?}");
    // Nor is it predicted on: it was never there.
    assert!(tracker.update(12 * FRAME_US, &[], &[None; MAX_PERSONS]).is_empty());

    let mut tracker = Identities::new(IdentityRules::of(true));
    let scores = [vec![0.9; 30], vec![0.15; 30]].concat();
    assert!(follow(&mut tracker, 0, scored(&scores)).iter().all(|f| f.len() == 1));
    let mut tracker = Identities::new(IdentityRules::of(true));
    let scores = [vec![0.9; 30], vec![0.05], vec![0.9; 5]].concat();
    assert!(follow(&mut tracker, 0, scored(&scores)).iter().all(|f| f.len() == 1), "one frame ends nobody");
}

#[test]
fn whoever_comes_back_after_long_is_as_sure_as_a_newcomer_and_after_a_moment_need_not_be() {
    for (frames_away, is_back) in [(25, true), (45, false)] {
        let mut tracker = Identities::new(IdentityRules::of(true));
        let gone = vec![vec![]; frames_away];
        let ids = follow(&mut tracker, 0, [scored(&[0.9; 30]), gone, scored(&[0.1; 5])].concat());
        assert_eq!(ids.last().unwrap().len() == 1, is_back, "away for {frames_away} frames: {ids:?}");
        // Then they do come.
        let ids = follow(&mut tracker, ids.len() as i64 * FRAME_US, scored(&[0.9; 2]));
        assert_eq!(ids[1][&0], 1);
    }
}

#[test]
fn a_newcomers_pose_is_theirs_though_the_frame_does_not_show_who_stands_beside_them() {
    let at = |x: f32, score: f32| Keypoints { score, ..walker(x, 200.0, 150.0, 0.0) };
    // Frames of a camera come a little sooner or later than the last one did.
    for later_us in [-100, 0, 100] {
        let mut tracker = Identities::new(IdentityRules::of(true));
        let before = follow(&mut tracker, 0, vec![vec![(0, at(100.0, 0.9))]; 30]);
        let beside = |seen: &[Keypoints], at_us: i64, tracker: &mut Identities| {
            tracker.update(at_us, seen, &[None; MAX_PERSONS]).to_vec()
        };
        let comes_us = 30 * FRAME_US;
        let both = beside(&[at(100.0, 0.9), at(125.0, 0.9)], comes_us, &mut tracker);
        let new = both.iter().find(|a| a.is_new).expect("somebody is new").track_id;
        assert!(new != 0 && new != before[29][&0], "{both:?}");
        for i in 1..4 {
            let at_us = comes_us + i * FRAME_US + i * i * later_us;
            let alone = beside(&[at(125.0, 0.9)], at_us, &mut tracker);
            let seen: Vec<_> = alone.iter().filter(|a| a.detection.is_some()).map(|a| a.track_id).collect();
            assert_eq!(seen, [new], "{later_us} µs later, frame {i}: {alone:?}");
        }
    }
}

#[test]
fn whoever_was_seen_once_is_not_told_of_unseen() {
    let mut tracker = Identities::new(IdentityRules::of(true));
    assert_eq!(follow(&mut tracker, 0, scored(&[0.9]))[0].len(), 1);
    assert!(tracker.update(FRAME_US, &[], &[None; MAX_PERSONS]).is_empty());
}

#[test]
fn whoever_lies_within_somebody_much_larger_begins_after_three_sure_frames_and_ends_once_they_fade() {
    let told = |scores: &[f32]| {
        let mut tracker = Identities::new(IdentityRules::of(true));
        let large = walker(100.0, 200.0, 200.0, 0.0);
        let frames = scores.iter().map(|&score| {
            let small = Keypoints { score, ..walker(100.0, 230.0, 90.0, 0.0) };
            vec![(0, large), (1, small)]
        });
        let ids = follow(&mut tracker, 0, frames.collect::<Vec<_>>());
        assert!(ids.iter().all(|frame| frame.contains_key(&0)), "the large one is there all along");
        ids.iter().map(|frame| frame.contains_key(&1)).collect::<Vec<_>>()
    };
    assert_eq!(told(&[0.9; 5]), [false, false, true, true, true]);
    assert_eq!(told(&[0.4; 6]), [false; 6], "elsewhere two such frames are somebody");
    let fading = told(&[vec![0.9; 5], vec![0.12; 20]].concat());
    assert!(fading[2] && !fading[24], "elsewhere such scores are somebody half hidden: {fading:?}");
    let half_hidden = told(&[vec![0.9; 5], vec![0.4; 20]].concat());
    assert!(half_hidden[2..].iter().all(|told| *told), "{half_hidden:?}");
}

#[test]
fn a_crop_of_somebodys_legs_begins_nobody() {
    let mut whole = Keypoints { score: 0.9, ..Keypoints::default() };
    for (j, joint) in whole.joints.iter_mut().enumerate() {
        let (x_px, y_px) = (100.0 + 48.0 * (j % 2) as f32, 100.0 + 15.0 * j as f32);
        *joint = Keypoint { x_px, y_px, score: 0.9, sigma_px: 2.0 };
    }
    let mut legs = whole;
    legs.joints[..11].iter_mut().zip(0..).for_each(|(joint, j)| joint.y_px = 230.0 + 2.0 * j as f32);
    let mut tracker = Identities::new(IdentityRules::of(true));
    for i in 0..8 {
        tracker.update(i * FRAME_US, &[whole, legs], &[None; MAX_PERSONS]);
    }
    assert_eq!(tracker.followed().0, 1);
}

#[test]
fn a_leg_that_the_network_is_never_sure_of_keeps_no_place_from_whoever_comes() {
    let mut tracker = Identities::new(IdentityRules { max_persons: 2, ..IdentityRules::of(true) });
    let large = walker(100.0, 200.0, 200.0, 0.0);
    let leg = Keypoints { score: 0.4, ..walker(100.0, 230.0, 90.0, 0.0) };
    let comes = walker(400.0, 200.0, 200.0, 0.0);
    let at = |frame: usize| match frame {
        0..4 => vec![(0, large), (1, leg)],
        // The surer find is looked at first.
        _ => vec![(0, large), (2, comes), (1, leg)],
    };
    let ids = follow(&mut tracker, 0, (0..8).map(at).collect::<Vec<_>>());
    assert!(ids[3..].iter().all(|frame| !frame.contains_key(&1)), "{ids:?}");
    assert!(ids[4..].iter().all(|frame| frame.contains_key(&2)), "{ids:?}");
}

#[test]
fn whoever_the_network_was_unsure_of_is_not_told_of_while_unseen() {
    for (score, told) in [(0.9, true), (0.15, false)] {
        let mut tracker = Identities::new(IdentityRules::of(true));
        let ids = follow(&mut tracker, 0, scored(&[vec![0.6; 10], vec![score; 20]].concat()));
        assert_eq!(ids[29].len(), 1, "seen, they are told of");
        let listed = tracker.update(30 * FRAME_US, &[], &[None; MAX_PERSONS]).to_vec();
        assert!(
            matches!(listed[..], [Assignment { detection: None, is_reported, .. }] if is_reported == told),
            "{score}: {listed:?}"
        );
    }
}

#[test]
fn a_strip_at_the_edge_that_is_doubted_for_long_is_the_edge() {
    for (x, score, told) in [(630.0, 0.2, false), (630.0, 0.6, true), (300.0, 0.2, true)] {
        let mut tracker = Identities::new(IdentityRules::of(true));
        let strip = |score| {
            let mut strip = Keypoints { score, ..walker(x, 200.0, 200.0, 0.0) };
            strip.joints.iter_mut().for_each(|joint| joint.x_px = x + 0.2 * (joint.x_px - x));
            strip
        };
        let mut is_told = |at_us: i64, score: f32| {
            let (size, worn) = (Some([640, 480]), [Appearance::UNKNOWN; MAX_PERSONS]);
            let listed =
                tracker.update_with_appearance(at_us, size, &[strip(score)], &worn, &[None; MAX_PERSONS]);
            listed.iter().any(|a| a.is_reported)
        };
        assert!((0..30).all(|i| is_told(i * FRAME_US, 0.9)), "whoever leaves is followed to the last");
        let last: Vec<bool> = (30..80).map(|i| is_told(i * FRAME_US, score)).collect();
        assert!(last[..19].iter().all(|told| *told), "for 600 ms the network may doubt: {x}, {score}");
        assert!(last[25..].iter().all(|is| *is == told), "{x}, {score}: {last:?}");
    }
}

#[test]
fn a_least_score_of_ones_own_moves_beginning_and_end() {
    let rules = IdentityRules::of(true).from_score(0.9);
    assert_eq!((rules.newcomer_score, rules.kept_score), (0.9, 0.45));
    let mut tracker = Identities::new(rules);
    assert!(follow(&mut tracker, 0, scored(&[0.8; 9])).iter().all(BTreeMap::is_empty));
    let mut tracker = Identities::new(IdentityRules::default().from_score(0.2));
    let ids = follow(&mut tracker, 0, scored(&[0.22; 4]));
    assert!(ids[0].is_empty() && ids[1..].iter().all(|f| f.len() == 1));
    // What was left out of a picture is nobody by any score.
    let mut tracker = Identities::new(IdentityRules::of(true).from_score(0.0));
    let left_out = vec![vec![(0, Keypoints::default())]; 4];
    assert!(follow(&mut tracker, 0, left_out).iter().all(BTreeMap::is_empty));
}
