//! Who is not seen for a while, and comes back.

use super::*;

#[test]
fn whoever_comes_back_in_time_and_near_by_is_the_same_and_else_somebody_new() {
    let gap = |frames: usize| vec![vec![]; frames];
    for (frames_away, x, same) in
        [(30, 160.0, true), (60, 180.0, true), (60, 700.0, false), (120, 100.0, false)]
    {
        let mut tracker = Identities::new(IdentityRules::default());
        let ids = follow(&mut tracker, 0, [stay(0, 100.0, 10), gap(frames_away), stay(0, x, 10)].concat());
        let (before, after) = (ids[9][&0], ids.last().unwrap()[&0]);
        assert_eq!(before == after, same, "away for {frames_away} frames, back at {x}");
    }
    let mut tracker = Identities::new(IdentityRules::default());
    let child = vec![vec![(1, walker(100.0, 200.0, 80.0, 0.0))]; 10];
    let ids = follow(&mut tracker, 0, [stay(0, 100.0, 10), gap(30), child].concat());
    assert_ne!(ids[9][&0], ids.last().unwrap()[&1], "a child is not the adult who left");
}

#[test]
fn after_a_pause_whoever_was_there_until_then_comes_before_whoever_had_gone_long_before() {
    const GONE: usize = 45;
    const PAUSE: i64 = 25;
    let mut tracker = Identities::new(IdentityRules::default());
    // Both stand equally far from where somebody is after the pause; the first could have come from much farther by then.
    let both = vec![vec![(0, walker(300.0, 200.0, 200.0, 0.0)), (1, walker(380.0, 200.0, 200.0, 0.0))]; 20];
    let ids = follow(&mut tracker, 0, [both, stay(1, 380.0, GONE)].concat());
    let (gone, there) = (ids[19][&0], ids.last().unwrap()[&1]);
    let resumed_us = (ids.len() as i64 + PAUSE) * FRAME_US;
    let after = follow(&mut tracker, resumed_us, stay(1, 340.0, 5));
    assert_ne!(gone, there);
    assert_eq!(after.last().unwrap()[&1], there);
    // Without anybody who was there until then it is the one who had gone.
    let mut tracker = Identities::new(IdentityRules::default());
    let ids = follow(&mut tracker, 0, [stay(0, 300.0, 20), vec![vec![]; GONE]].concat());
    let after = follow(&mut tracker, resumed_us, stay(0, 340.0, 5));
    assert_eq!(after.last().unwrap()[&0], ids[19][&0]);
}

#[test]
fn a_silent_person_is_listed_until_the_stated_silence_and_then_no_more() {
    let config = IdentityRules::default();
    let mut tracker = Identities::new(config);
    follow(&mut tracker, 0, stay(0, 100.0, 30));
    let last_us = 29 * FRAME_US;
    let nobody = [None; MAX_PERSONS];
    for (unseen_us, told) in [(config.told_us, true), (config.told_us + 1, false), (config.silence_us, false)]
    {
        let listed = tracker.update(last_us + unseen_us, &[], &nobody).to_vec();
        assert!(
            matches!(listed[..], [Assignment { track_id: 1, detection: None, is_reported, .. }] if is_reported == told),
            "{listed:?}"
        );
    }
    assert_eq!(tracker.followed(), (1, 1));
    let gone_us = last_us + config.silence_us + 1;
    assert_eq!(tracker.around(gone_us).away, 0, "still followed");
    assert!(tracker.update(gone_us, &[], &nobody).is_empty());
    assert_eq!(tracker.around(gone_us), Around { followed: 0, unseen: 0, away: 1 });
    assert_eq!(tracker.around(last_us + config.memory_us + 1).away, 0, "long gone");
}

#[test]
fn whom_somebody_else_may_hide_is_told_of_for_longer() {
    let config = IdentityRules::default();
    let is_told = |other_x: f32, unseen_us: i64| {
        let (small, other) = (walker(100.0, 200.0, 150.0, 0.0), walker(other_x, 200.0, 300.0, 0.0));
        let mut tracker = Identities::new(config);
        let ids = follow(&mut tracker, 0, vec![vec![(0, small), (1, other)]; 30]);
        let listed = tracker.update(29 * FRAME_US + unseen_us, &[other], &[None; MAX_PERSONS]);
        listed.iter().any(|a| a.track_id == ids[29][&0] && a.detection.is_none() && a.is_reported)
    };
    let cases = [
        (400.0, config.told_us, true),
        (400.0, config.told_us + 1, false),
        (125.0, config.told_us + 1, true),
        (125.0, config.hidden_us, true),
        (125.0, config.hidden_us + 1, false),
    ];
    for (other_x, unseen_us, told) in cases {
        assert_eq!(is_told(other_x, unseen_us), told, "the other at {other_x}, after {unseen_us} µs");
    }
}

#[test]
fn whoever_was_known_for_three_frames_is_not_predicted_for_more_and_keeps_his_identity() {
    let mut tracker = Identities::new(IdentityRules::default());
    let ids = follow(&mut tracker, 0, stay(0, 100.0, 3));
    let nobody = [None; MAX_PERSONS];
    let known_us = 2 * FRAME_US;
    assert_eq!(tracker.update(known_us + known_us, &[], &nobody).len(), 1);
    assert!(tracker.update(known_us + known_us + 1, &[], &nobody).is_empty());
    let again = follow(&mut tracker, 10 * FRAME_US, stay(0, 100.0, 2));
    assert_eq!(again[1][&0], ids[2][&0]);
}

#[test]
fn who_is_shown_and_who_is_out_of_sight_is_said_of_the_last_frame() {
    let mut tracker = Identities::new(IdentityRules::default());
    assert!(!tracker.is_after_pause(1_000_000_000), "before the first frame there is no pause");
    let at = |x: f32| walker(x, 200.0, 200.0, 0.0);
    let nobody = [None; MAX_PERSONS];
    let new = tracker.update(0, &[at(100.0), at(400.0)], &nobody).to_vec();
    assert!(new.iter().all(|a| a.is_new) && tracker.shown() == [false; MAX_PERSONS], "not yet somebody");
    for i in 1..20 {
        let known = tracker.update(i * FRAME_US, &[at(100.0), at(400.0)], &nobody);
        assert!(known.iter().all(|a| !a.is_new));
    }
    let shown = |tracker: &Identities| tracker.shown().iter().filter(|is| **is).count();
    assert_eq!((tracker.followed(), shown(&tracker)), ((2, 0), 2));
    tracker.update(20 * FRAME_US, &[at(100.0)], &nobody);
    assert_eq!((tracker.followed(), shown(&tracker)), ((2, 1), 1));
    tracker.update(2_000_000, &[], &nobody);
    assert!(tracker.is_after_pause(3_000_000) && !tracker.is_after_pause(2_033_000));
    // The clock is set back: who was lost is so still.
    tracker.update(300_000, &[], &nobody);
    assert_eq!((tracker.followed(), shown(&tracker)), ((0, 0), 0));
}

#[test]
fn without_a_forecast_somebody_is_expected_where_they_were_last() {
    let mut tracker = Identities::new(IdentityRules::default());
    let nobody = [None; MAX_PERSONS];
    for i in 0..90 {
        let seen = [walker(100.0 + 6.0 * i as f32, 200.0, 200.0, 0.0)];
        let listed = tracker.update(i * FRAME_US, &seen, &nobody);
        assert!(
            matches!(listed[..], [Assignment { track_id: 0..=1, detection: Some(0), .. }]),
            "{i}: {listed:?}"
        );
    }
}

#[test]
fn whoever_was_in_sight_until_now_does_not_jump_aside() {
    let mut tracker = Identities::new(IdentityRules::default());
    let ids = follow(&mut tracker, 0, [stay(0, 100.0, 20), stay(1, 150.0, 5)].concat());
    assert_ne!(ids[19][&0], ids[24][&1]);
    // Who was out of sight for a moment may have gone so far.
    let mut tracker = Identities::new(IdentityRules::default());
    let ids = follow(&mut tracker, 0, [stay(0, 100.0, 20), vec![vec![]; 5], stay(0, 150.0, 5)].concat());
    assert_eq!(ids[19][&0], ids[29][&0]);
}

#[test]
fn of_several_who_come_back_at_once_no_more_are_followed_than_were_asked_for() {
    let rules = IdentityRules { max_persons: 2, ..IdentityRules::default() };
    let mut tracker = Identities::new(rules);
    let at = |person: usize| (person, walker(200.0 * person as f32, 200.0, 200.0, 0.0));
    let frames = [vec![vec![at(1), at(2)]; 10], vec![vec![]; 25], vec![vec![at(4)]; 10]].concat();
    follow(&mut tracker, 0, frames);
    assert_eq!(tracker.followed().0, 1);
    let all = follow(&mut tracker, 45 * FRAME_US, vec![vec![at(1), at(2), at(4)]; 3]);
    assert_eq!((tracker.followed().0, all[2].len()), (2, 2));
}

fn worn(colour: [u8; 3]) -> Appearance {
    let mut appearance = Appearance::UNKNOWN;
    (0..40).for_each(|_| appearance.add(BodyRegion::Torso, colour));
    appearance
}

/// Whether one who was seen for a second in red, and then for two beside or behind somebody in blue, is the same who comes in red after a while.
fn is_known_again(away_us: i64, red: Appearance, other_x: Option<f32>) -> bool {
    let mut tracker = Identities::new(IdentityRules::default());
    let one = walker(100.0, 200.0, 200.0, 0.0);
    let (mut worn_by, blue) = ([Appearance::UNKNOWN; MAX_PERSONS], worn([40, 60, 180]));
    let mut update = |at_us: i64, seen: &[Keypoints], appearance: &[Appearance]| {
        worn_by[..appearance.len()].copy_from_slice(appearance);
        let listed = tracker.update_with_appearance(at_us, None, seen, &worn_by, &[None; MAX_PERSONS]);
        listed.iter().find(|a| a.detection == Some(0)).map_or(0, |a| a.track_id)
    };
    let mut first = 0;
    for i in 0..30 {
        first = update(i * FRAME_US, &[one], &[red]);
    }
    if let Some(x) = other_x {
        // What is seen of the one is half the other's.
        let mut half = blue;
        (0..10).for_each(|_| half.add(BodyRegion::Torso, [180, 40, 40]));
        for i in 30..90 {
            update(i * FRAME_US, &[one, walker(x, 200.0, 200.0, 0.0)], &[half, blue]);
        }
    }
    let gone_us = 90 * FRAME_US;
    update(gone_us + away_us / 2, &[], &[]);
    update(gone_us + away_us, &[one], &[red]);
    first != 0 && first == update(gone_us + away_us + FRAME_US, &[one], &[red])
}

#[test]
fn whose_clothes_are_known_is_remembered_for_longer_and_nobody_learns_the_clothes_of_who_stands_before_them()
{
    let red = worn([180, 40, 40]);
    assert!(is_known_again(10_000_000, red, None));
    assert!(!is_known_again(10_000_000, Appearance::UNKNOWN, None), "without clothes three seconds are long");
    assert!(!is_known_again(25_000_000, red, None));
    assert!(is_known_again(10_000_000, red, Some(118.0)));
}

#[test]
fn clothes_that_were_seen_beside_somebody_from_the_start_are_not_learned() {
    let [red, blue] = [[180, 40, 40], [40, 60, 180]];
    let (one, other) = (walker(100.0, 200.0, 200.0, 0.0), walker(118.0, 200.0, 200.0, 0.0));
    // What is seen of the one is half the other's.
    let mut half = worn(blue);
    (0..10).for_each(|_| half.add(BodyRegion::Torso, red));
    let mut tracker = Identities::new(IdentityRules::default());
    let mut update = |at_us: i64, seen: &[Keypoints], worn_by: &[Appearance]| {
        let mut all = [Appearance::UNKNOWN; MAX_PERSONS];
        all[..worn_by.len()].copy_from_slice(worn_by);
        let listed = tracker.update_with_appearance(at_us, None, seen, &all, &[None; MAX_PERSONS]);
        listed.iter().find(|a| a.detection == Some(0)).map_or(0, |a| a.track_id)
    };
    let mut id = 0;
    for i in 0..33 {
        let at_us = i * FRAME_US;
        id = match i < 30 {
            true => update(at_us, &[one, other], &[half, worn(blue)]),
            false => update(at_us, &[one], &[worn(red)]),
        };
    }
    assert_ne!(id, 0);
    update(5_000_000, &[], &[]);
    update(11_000_000, &[one], &[worn(red)]);
    assert_eq!(update(11_000_000 + FRAME_US, &[one], &[worn(red)]), id);
}

#[test]
fn a_second_look_at_somebody_by_their_clothes_begins_nobody() {
    let (one, again) = (walker(100.0, 200.0, 200.0, 0.0), walker(112.0, 230.0, 150.0, 0.0));
    for (colour, people) in [([180, 40, 40], 1), ([40, 60, 180], 2)] {
        let mut worn_by = [Appearance::UNKNOWN; MAX_PERSONS];
        (worn_by[0], worn_by[1]) = (worn([180, 40, 40]), worn(colour));
        let mut tracker = Identities::new(IdentityRules::default());
        for i in 0..12 {
            let seen = if i < 6 { &[one][..] } else { &[one, again] };
            tracker.update_with_appearance(i * FRAME_US, None, seen, &worn_by, &[None; MAX_PERSONS]);
        }
        assert_eq!(tracker.followed().0, people, "{colour:?}");
    }
}

#[test]
fn where_every_place_is_taken_whoever_went_first_is_forgotten_first() {
    let mut tracker = Identities::new(IdentityRules { max_persons: MAX_PERSONS, ..IdentityRules::default() });
    // One after another, a third of a second each; the last one needs a place, and the one before the last but one went just now.
    let passed = |person: usize| stay(person, 300.0 * person as f32, 10);
    let ids = follow(&mut tracker, 0, (0..=MAX_PERSONS).flat_map(passed).collect::<Vec<_>>());
    let last_us = ids.len() as i64 * FRAME_US;
    let late = MAX_PERSONS - 2;
    let again = follow(&mut tracker, last_us, stay(late, 300.0 * late as f32, 3));
    assert_eq!(again[2][&late], ids[10 * late + 9][&late]);
}
