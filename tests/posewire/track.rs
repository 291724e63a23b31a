//! Identities on synthetic walkers whose truth is known.

use std::collections::{BTreeMap, BTreeSet};

use pose::{JointState, Keypoint, Keypoints, MAX_PERSONS, Pose, PoseJoint};
use posewire::track::{Around, Assignment, Clothes, Garment, Identities, IdentityRules};
use proptest::prelude::*;

const FRAME_US: i64 = 33_333;

/// A walking figure `height` px high with its hips at (x, y); `phase` swings arms and legs.
pub fn walker(x: f32, y: f32, height: f32, phase: f32) -> Keypoints {
    // Offsets from the hips in parts of the height: across, down.
    const BODY: [(f32, f32); 17] = [
        (0.02, -0.45),
        (0.03, -0.47),
        (0.01, -0.47),
        (-0.02, -0.46),
        (-0.03, -0.46),
        (0.06, -0.32),
        (-0.06, -0.32),
        (0.08, -0.18),
        (-0.08, -0.18),
        (0.08, -0.05),
        (-0.08, -0.05),
        (0.04, 0.0),
        (-0.04, 0.0),
        (0.05, 0.22),
        (-0.05, 0.22),
        (0.05, 0.45),
        (-0.05, 0.45),
    ];
    let mut k = Keypoints { score: 0.8, ..Keypoints::default() };
    for (j, joint) in k.joints.iter_mut().enumerate() {
        let reach: f32 = [7, 8, 9, 10, 13, 14, 15, 16].contains(&j).into();
        let side = if j % 2 == 0 { 1.0 } else { -1.0 };
        let swing = 0.08 * reach * side * phase.sin();
        *joint = Keypoint {
            x_px: x + height * (BODY[j].0 + swing),
            y_px: y + height * BODY[j].1,
            score: 0.8,
            sigma_px: 2.0,
        };
    }
    k
}

fn noisy(mut k: Keypoints, sigma_px: f32, rng: &mut fastrand::Rng) -> Keypoints {
    for joint in &mut k.joints {
        // The sum of four uniforms is near enough to a Gaussian.
        let mut gauss = || (0..4).map(|_| rng.f32() - 0.5).sum::<f32>() * 1.73;
        joint.x_px += sigma_px * gauss();
        joint.y_px += sigma_px * gauss();
        if rng.f32() < 0.03 {
            joint.score = 0.05;
        }
    }
    k
}

/// When a person was last seen, how, and each joint's pixels a microsecond.
type Motion = (i64, Keypoints, [(f32, f32); 17]);

/// Where everybody will be if they go on as in the last two frames: what a temporal model does, only worse.
#[derive(Default)]
struct Straight {
    last: BTreeMap<usize, Motion>,
}

impl Straight {
    fn predict(&self, at_us: i64) -> [Option<Pose>; MAX_PERSONS] {
        std::array::from_fn(|slot| {
            let (t, k, v) = self.last.get(&slot)?;
            let dt = (at_us - t) as f32;
            let joints = std::array::from_fn(|j| PoseJoint {
                x_px: k.joints[j].x_px + v[j].0 * dt,
                y_px: k.joints[j].y_px + v[j].1 * dt,
                score: k.joints[j].score,
                sigma_px: 3.0,
                state: JointState::Predicted,
            });
            Some(Pose { joints, ..Pose::default() })
        })
    }

    fn learn(&mut self, at_us: i64, assignments: &[Assignment], seen: &[Keypoints]) {
        let listed: BTreeSet<_> = assignments.iter().map(|a| a.slot).collect();
        self.last.retain(|slot, _| listed.contains(slot));
        for a in assignments {
            if a.is_new {
                self.last.remove(&a.slot);
            }
            let Some(d) = a.detection else { continue };
            // The body moves as one; single joints are too noisy to be differentiated.
            let mean = |k: &Keypoints| {
                let n = k.joints.len() as f32;
                (
                    k.joints.iter().map(|j| j.x_px).sum::<f32>() / n,
                    k.joints.iter().map(|j| j.y_px).sum::<f32>() / n,
                )
            };
            let v = self.last.get(&a.slot).map_or((0.0, 0.0), |(t, old, v)| {
                let (dt, (x0, y0), (x1, y1)) = ((at_us - t) as f32, mean(old), mean(&seen[d]));
                (0.7 * v[0].0 + 0.3 * (x1 - x0) / dt, 0.7 * v[0].1 + 0.3 * (y1 - y0) / dt)
            });
            self.last.insert(a.slot, (at_us, seen[d], [v; 17]));
        }
    }
}

/// Feeds frames of (true person, pose) and gives, a frame, the identity of each true person seen and reported.
fn follow(
    tracker: &mut Identities,
    from_us: i64,
    frames: impl IntoIterator<Item = Vec<(usize, Keypoints)>>,
) -> Vec<BTreeMap<usize, u32>> {
    let mut model = Straight::default();
    frames
        .into_iter()
        .enumerate()
        .map(|(i, frame)| {
            let at_us = from_us + i as i64 * FRAME_US;
            let poses: Vec<Keypoints> = frame.iter().map(|(_, k)| *k).collect();
            let assignments = tracker.update(at_us, &poses, &model.predict(at_us)).to_vec();
            model.learn(at_us, &assignments, &poses);
            let reported = assignments.iter().filter(|a| a.is_reported);
            reported.filter_map(|a| Some((frame[a.detection?].0, a.track_id))).collect()
        })
        .collect()
}

#[test]
fn two_people_keep_their_identities_over_two_crossings() {
    for seed in 0..50 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut tracker = Identities::new(IdentityRules::default());
        let frames: Vec<Vec<(usize, Keypoints)>> = (0..240)
            .map(|i| {
                // Both walk to the other's side and back: they pass at frames 60 and 180.
                let along = (i as f32 / 120.0 * std::f32::consts::PI).cos();
                let phase = i as f32 * 0.3;
                let front = noisy(walker(320.0 + 150.0 * along, 200.0, 200.0, phase), 2.0, &mut rng);
                let behind = noisy(walker(320.0 - 150.0 * along, 190.0, 180.0, phase + 2.0), 2.0, &mut rng);
                // Hidden behind the other, the crop of the hidden one shows the one in front.
                let mut seen = if (300.0 * along).abs() < 25.0 {
                    vec![(0, front), (0, noisy(front, 1.0, &mut rng))]
                } else {
                    vec![(0, front), (1, behind)]
                };
                rng.shuffle(&mut seen);
                seen
            })
            .collect();
        let ids = follow(&mut tracker, 0, frames);
        let of =
            |person: usize| ids.iter().filter_map(|f| f.get(&person).copied()).collect::<BTreeSet<u32>>();
        assert_eq!((of(0).len(), of(1).len()), (1, 1), "seed {seed}: {:?} and {:?}", of(0), of(1));
        assert!(of(0).is_disjoint(&of(1)), "seed {seed}");
        assert!(ids[239].len() == 2 && ids[100].len() == 2, "seed {seed}");
    }
}

fn stay(person: usize, x: f32, frames: usize) -> Vec<Vec<(usize, Keypoints)>> {
    vec![vec![(person, walker(x, 200.0, 200.0, 0.0))]; frames]
}

#[test]
fn one_false_find_gets_no_identity_and_two_frames_in_a_row_do() {
    let mut tracker = Identities::new(IdentityRules::default());
    let once = [stay(0, 100.0, 1), vec![vec![]; 5], stay(0, 100.0, 3)].concat();
    let ids = follow(&mut tracker, 0, once);
    assert!(ids[..7].iter().all(BTreeMap::is_empty), "{ids:?}");
    assert_eq!(ids[7][&0], 1);
}

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
            let (size, worn) = (Some([640, 480]), [Clothes::UNKNOWN; MAX_PERSONS]);
            let listed = tracker.update_dressed(at_us, size, &[strip(score)], &worn, &[None; MAX_PERSONS]);
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
}

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

fn worn(colour: [u8; 3]) -> Clothes {
    let mut clothes = Clothes::UNKNOWN;
    (0..40).for_each(|_| clothes.add(Garment::Top, colour));
    clothes
}

/// Whether one who was seen for a second in red, and then for two beside or behind somebody in blue, is the same who comes in red after a while.
fn is_known_again(away_us: i64, red: Clothes, other_x: Option<f32>) -> bool {
    let mut tracker = Identities::new(IdentityRules::default());
    let one = walker(100.0, 200.0, 200.0, 0.0);
    let (mut worn_by, blue) = ([Clothes::UNKNOWN; MAX_PERSONS], worn([40, 60, 180]));
    let mut update = |at_us: i64, seen: &[Keypoints], clothes: &[Clothes]| {
        worn_by[..clothes.len()].copy_from_slice(clothes);
        let listed = tracker.update_dressed(at_us, None, seen, &worn_by, &[None; MAX_PERSONS]);
        listed.iter().find(|a| a.detection == Some(0)).map_or(0, |a| a.track_id)
    };
    let mut first = 0;
    for i in 0..30 {
        first = update(i * FRAME_US, &[one], &[red]);
    }
    if let Some(x) = other_x {
        // What is seen of the one is half the other's.
        let mut half = blue;
        (0..10).for_each(|_| half.add(Garment::Top, [180, 40, 40]));
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
    assert!(!is_known_again(10_000_000, Clothes::UNKNOWN, None), "without clothes three seconds are long");
    assert!(!is_known_again(25_000_000, red, None));
    assert!(is_known_again(10_000_000, red, Some(118.0)));
}

#[test]
fn one_person_seen_twice_is_one() {
    let mut rng = fastrand::Rng::with_seed(3);
    let mut tracker = Identities::new(IdentityRules::default());
    let twice = (0..30).map(|_| {
        let k = walker(100.0, 200.0, 200.0, 0.0);
        vec![(0, noisy(k, 1.5, &mut rng)), (0, noisy(k, 1.5, &mut rng))]
    });
    follow(&mut tracker, 0, twice.collect::<Vec<_>>());
    assert_eq!(tracker.followed().0, 1);
}

#[test]
fn a_crowd_fills_the_places_and_no_more() {
    for max_persons in [1, 4, MAX_PERSONS] {
        let mut tracker = Identities::new(IdentityRules { max_persons, ..IdentityRules::default() });
        let crowd: Vec<_> = (0..12).map(|p| (p, walker(150.0 * p as f32, 200.0, 200.0, 0.0))).collect();
        let ids = follow(&mut tracker, 0, vec![crowd; 10]);
        let last: BTreeSet<u32> = ids[9].values().copied().collect();
        assert_eq!(last, (1..=max_persons as u32).collect());
        let mut boxes = [pose::BoxPx::default(); MAX_PERSONS];
        assert_eq!(
            tracker.rois(10 * FRAME_US, &[None; MAX_PERSONS], &mut boxes),
            max_persons,
            "crops a frame"
        );
        // Whoever is lost makes room for others, who get new identities.
        let ids = follow(&mut tracker, 5_000_000, stay(50, 5_000.0, 10));
        assert_eq!(ids[9][&50], max_persons as u32 + 1);
    }
}

#[test]
fn the_box_follows_the_prediction_and_widens_while_somebody_is_unseen() {
    let mut tracker = Identities::new(IdentityRules::default());
    follow(&mut tracker, 0, stay(0, 100.0, 10));
    let last_us = 9 * FRAME_US;
    let mut boxes = [pose::BoxPx::default(); MAX_PERSONS];
    assert_eq!(tracker.rois(last_us, &[None; MAX_PERSONS], &mut boxes), 1);
    let seen = boxes[0];
    let k = walker(130.0, 200.0, 200.0, 0.0);
    let joints = k.joints.map(|k| PoseJoint {
        x_px: k.x_px,
        y_px: k.y_px,
        score: k.score,
        sigma_px: 1.0,
        state: JointState::Predicted,
    });
    let mut predicted = [None; MAX_PERSONS];
    predicted[0] = Some(Pose { joints, ..Pose::default() });
    tracker.rois(last_us + 400_000, &predicted, &mut boxes);
    assert!((boxes[0].centre().0 - seen.centre().0 - 30.0).abs() < 0.1);
    assert!(boxes[0].h > 1.15 * seen.h && boxes[0].h < 1.25 * seen.h);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_comes_slots_detections_and_identities_are_never_shared(
        seed in any::<u64>(), frames in 1usize..80,
    ) {
        let mut rng = fastrand::Rng::with_seed(seed);
        let max_persons = rng.usize(1..=MAX_PERSONS);
        let mut tracker = Identities::new(IdentityRules { max_persons, ..IdentityRules::default() });
        let (mut at_us, mut newest_id) = (0, 0);
        for _ in 0..frames {
            at_us += rng.i64(-100_000..1_500_000);
            let poses: Vec<Keypoints> = (0..rng.usize(0..11))
                .map(|_| {
                    let mut k = walker(rng.f32() * 600.0, rng.f32() * 300.0, 20.0 + rng.f32() * 300.0, rng.f32());
                    k.score = rng.f32();
                    if rng.f32() < 0.1 {
                        k.joints[rng.usize(0..17)].x_px = f32::NAN;
                    }
                    k
                })
                .collect();
            let listed = tracker.update(at_us, &poses, &[None; MAX_PERSONS]).to_vec();
            let slots: BTreeSet<_> = listed.iter().map(|a| a.slot).collect();
            let detections: Vec<_> = listed.iter().filter_map(|a| a.detection).collect();
            let ids: Vec<_> = listed.iter().map(|a| a.track_id).filter(|&id| id != 0).collect();
            prop_assert!(slots.len() == listed.len() && slots.iter().all(|s| *s < MAX_PERSONS));
            prop_assert_eq!(detections.iter().collect::<BTreeSet<_>>().len(), detections.len());
            prop_assert!(detections.iter().all(|d| *d < poses.len()));
            prop_assert!(ids.windows(2).all(|w| w[0] < w[1]), "the oldest first: {:?}", ids);
            // A number that was never seen before is the next one: none comes twice by another birth.
            let born = ids.iter().filter(|id| **id > newest_id).count() as u32;
            newest_id = newest_id.max(ids.last().copied().unwrap_or(0));
            prop_assert!(born <= MAX_PERSONS as u32);
            let mut boxes = [pose::BoxPx::default(); MAX_PERSONS];
            let n = tracker.rois(at_us, &[None; MAX_PERSONS], &mut boxes);
            prop_assert!(n <= max_persons && n == listed.len(), "{n} crops for {max_persons} persons");
            prop_assert!(boxes[..n].iter().all(|b| b.w >= 1.0 && b.h >= 1.0 && b.x.is_finite() && b.y.is_finite()));
        }
    }
}
