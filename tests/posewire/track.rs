//! Identities on synthetic walkers whose truth is known.

use std::collections::{BTreeMap, BTreeSet};

use pose::{JointState, Keypoint, Keypoints, MAX_PERSONS, Pose, PoseJoint};
use posewire::track::{Appearance, Around, Assignment, BodyRegion, Identities, IdentityRules};
use proptest::prelude::*;

mod absence;
mod presence;
mod slow;

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
        let crops = tracker.rois(10 * FRAME_US, &[None; MAX_PERSONS]);
        assert_eq!(crops.len(), max_persons, "crops a frame");
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
    let seen = tracker.rois(last_us, &[None; MAX_PERSONS]);
    assert_eq!(seen.len(), 1);
    let seen = seen[0].box_px;
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
    let b = tracker.rois(last_us + 400_000, &predicted)[0].box_px;
    assert!((b.centre().0 - seen.centre().0 - 30.0).abs() < 0.1);
    assert!(b.h > 1.15 * seen.h && b.h < 1.25 * seen.h);
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
            let born: Vec<u32> = ids.iter().copied().filter(|id| *id > newest_id).collect();
            prop_assert!(born.iter().copied().eq((newest_id + 1..).take(born.len())), "{:?} after {}", born, newest_id);
            newest_id += born.len() as u32;
            let crops = tracker.rois(at_us, &[None; MAX_PERSONS]);
            let n = crops.len();
            prop_assert!(n <= max_persons && n == listed.len(), "{n} crops for {max_persons} persons");
            let mut boxes = crops.iter().map(|crop| crop.box_px);
            prop_assert!(boxes.all(|b| b.w >= 1.0 && b.h >= 1.0 && b.x.is_finite() && b.y.is_finite()));
        }
    }
}
