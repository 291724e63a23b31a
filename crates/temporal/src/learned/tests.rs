use pose::{JointState, Keypoint};
use proptest::prelude::*;

use super::{answer::SIGMA_OF_LAPLACE, weights::Hyper, xl::tests::random_file, *};

const SMALL: Hyper = Hyper { width: 32, layers: 2, heads: 2, feed_forward: 48, memory: 8 };
const FRAME_US: i64 = 33_333;

fn model() -> Xl {
    Xl::new(&random_file(&SMALL, 11).0, 0.5).unwrap()
}

fn person(x: f32, y: f32) -> Keypoints {
    let mut k = Keypoints { score: 1.0, ..Keypoints::default() };
    for (j, joint) in k.joints.iter_mut().enumerate() {
        let (across, down) = ((j % 2) as f32 * 100.0, j as f32 * 12.5);
        *joint = Keypoint { x_px: x + across, y_px: y + down, score: 0.9, sigma_px: 0.0 };
    }
    k
}

fn at(slot: usize, captured_at_us: i64, x: f32) -> Observation {
    Observation { slot, captured_at_us, keypoints: Some(person(x, 100.0)) }
}

fn step(model: &mut Xl, observation: Observation) -> Forecast {
    let mut out = [Forecast::default()];
    model.step(&[observation], &mut out);
    out[0]
}

#[test]
fn a_reset_a_clock_jump_and_a_new_model_all_begin_alike() {
    let mut used = model();
    for i in 0..20 {
        step(&mut used, at(0, i * FRAME_US, 5.0 * i as f32));
    }
    let fresh = step(&mut model(), at(0, 50_000_000, 77.0));
    assert_eq!(step(&mut used, at(0, 50_000_000, 77.0)), fresh);
    used.reset(0);
    used.reset(MAX_PERSONS);
    assert_eq!(step(&mut used, at(0, 50_000_000, 77.0)), fresh);
    step(&mut used, at(0, 50_033_000, 80.0));
    let early = step(&mut used, at(0, 1_000, 77.0));
    assert_eq!(Forecast { captured_at_us: 50_000_000, ..early }, fresh);
}

/// What is fitted for one kind of detector moves intervals and lead, and nothing else.
#[test]
fn a_detector_that_the_weights_know_has_its_own_lead_and_intervals() {
    let (_, mut tensors) = random_file(&SMALL, 11);
    let defaults = &tensors.iter().find(|(name, ..)| name == "sigma_scale").unwrap().2;
    let defaults = [defaults[0], defaults[1]];
    tensors.push(("error_model.shaky".to_owned(), vec![3], vec![0.5, 2.0, 3.0]));
    let bytes = super::weights::testing::write(&SMALL, &tensors);
    let run = |error_model: &str| {
        let mut model = Xl::new(&bytes, 0.5).unwrap().observed_by(error_model);
        (0..9).map(|i| step(&mut model, at(0, i * FRAME_US, 5.0 * i as f32))).last().unwrap()
    };
    let lead = |model: Xl| model.lead_frames();
    let new = || Xl::new(&bytes, 0.5).unwrap();
    assert_eq!(lead(new().observed_by("shaky")), 0.5);
    assert_eq!(lead(new().observed_by("shaky").with_lead(0.0)), 0.0);
    assert_eq!(lead(new().with_lead(0.0).observed_by("shaky")), 0.0, "in either order");
    let (known, unknown, default) = (run("shaky"), run("another"), run(""));
    assert_eq!(unknown, default);
    assert_eq!(known.joints_3d_m, default.joints_3d_m);
    assert_ne!(known.places_px, default.places_px);
    let scale = |f: &Forecast, widen: [f32; 2]| {
        (0..JOINTS)
            .map(|j| f.sigma_px[0][j] / widen[usize::from(f.state[j] != JointState::Measured)])
            .collect()
    };
    let (known, default): (Vec<f32>, Vec<f32>) = (scale(&known, [2.0, 3.0]), scale(&default, defaults));
    assert!(known.iter().zip(&default).all(|(a, b)| (a / b - 1.0).abs() < 1e-4), "{known:?} {default:?}");
}

/// Only beside the detector that a file names so does what is seen show through the answer.
#[test]
fn what_is_seen_shows_through_where_the_weights_say_so() {
    let (_, mut tensors) = random_file(&SMALL, 11);
    tensors.push(("error_model.sure".to_owned(), vec![3], vec![0.0, 1.0, 1.0]));
    let run = |tensors: &[_], error_model: &str| {
        let bytes = super::weights::testing::write(&SMALL, tensors);
        let mut model = Xl::new(&bytes, 0.5).unwrap().observed_by(error_model).with_lead(0.0);
        (0..30).map(|i| step(&mut model, at(0, i * FRAME_US, 100.0))).last().unwrap()
    };
    let off = |f: &Forecast| {
        let seen = person(100.0, 100.0).joints;
        (0..JOINTS).map(|j| (f.places_px[0][j][0] - seen[j].x_px).abs()).sum::<f32>()
    };
    let (without, default) = (run(&tensors, "sure"), run(&tensors, ""));
    assert_eq!(without.places_px, default.places_px);
    tensors.push(("shows_through.sure".to_owned(), vec![1], vec![1.0]));
    assert_eq!(run(&tensors, "").places_px, default.places_px);
    let through = run(&tensors, "sure");
    assert!(off(&through) < 0.7 * off(&without), "{} px, {} px", off(&through), off(&without));
}

/// A curve moves scores and nothing else: 1/2 where the network says the middle, and by the slope from there.
#[test]
fn scores_go_by_the_curve_that_was_fitted_for_the_detector() {
    let (_, mut tensors) = random_file(&SMALL, 11);
    tensors.push(("error_model.sure".to_owned(), vec![3], vec![0.0, 1.0, 1.0]));
    let run = |tensors: &[_], error_model: &str| {
        let bytes = super::weights::testing::write(&SMALL, tensors);
        let mut model = Xl::new(&bytes, 0.5).unwrap().observed_by(error_model);
        (0..9).map(|i| step(&mut model, at(0, i * FRAME_US, 5.0 * i as f32))).last().unwrap()
    };
    let bare = run(&tensors, "sure");
    let scale_px = {
        let mut frame = PersonFrame::default();
        let observed = (0..9).map(|i| person(5.0 * i as f32, 100.0));
        observed.for_each(|k| frame.take(1.0, &k, 0.5, &mut [0.0; FEATURES]));
        frame.scale_px()
    };
    let error = bare.sigma_px[0].map(|sigma_px| sigma_px / scale_px / SIGMA_OF_LAPLACE);
    let meets = |scores: [f32; JOINTS], [slope, middle]: [f32; 2]| {
        for (score, error) in scores.into_iter().zip(error) {
            let wanted = 1.0 / (1.0 + (error / middle).powf(slope));
            assert!((score - wanted).abs() < 1e-3, "{score}, wanted {wanted}");
        }
    };
    let (default, own) = ([2.0, error[0]], [1.5, 2.0 * error[3]]);
    tensors.push(("score_curve".to_owned(), vec![2], default.to_vec()));
    meets(run(&tensors, "sure").score, default);
    tensors.push(("score_curve.sure".to_owned(), vec![2], own.to_vec()));
    let answer = run(&tensors, "sure");
    meets(answer.score, own);
    assert_eq!(Forecast { score: bare.score, ..answer }, bare);
    tensors.last_mut().unwrap().1 = vec![1];
    tensors.last_mut().unwrap().2.pop();
    let bytes = super::weights::testing::write(&SMALL, &tensors);
    assert!(Xl::new(&bytes, 0.5).err().unwrap().to_string().contains("score_curve.sure"));
}

/// A smaller head answers as one that says of what it does not know that it never is.
#[test]
fn a_file_without_exchange_or_inertia_answers_as_one_that_never_does_either() {
    let (_, tensors) = random_file(&SMALL, 11);
    let run = |keep: usize, filled: bool| {
        let mut tensors = tensors.clone();
        for (name, shape, values) in tensors.iter_mut().filter(|(name, ..)| name.starts_with("head.")) {
            let row = shape[1..].iter().product::<usize>();
            values.truncate(keep * row);
            if filled {
                let fill = if name == "head.bias" { NEVER } else { 0.0 };
                values.resize(OUTPUTS * row, fill);
            }
            shape[0] = values.len() / row;
        }
        let mut model = Xl::new(&super::weights::testing::write(&SMALL, &tensors), 0.5).unwrap();
        (0..9).map(|i| step(&mut model, at(0, i * FRAME_US, 5.0 * i as f32))).last().unwrap()
    };
    for keep in [PLAIN, EXCHANGING] {
        assert_eq!(run(keep, false), run(keep, true));
    }
    assert_ne!(run(PLAIN, false).places_px, run(EXCHANGING, false).places_px);
    assert_ne!(run(EXCHANGING, false).places_px, run(OUTPUTS, false).places_px);
}

/// By the network's sigma, that joints which are not measured are predicted or absent by, moved to about where that is decided.
#[test]
fn measured_is_what_is_seen_there_and_sure_predicted_what_is_known_well_enough_and_the_rest_absent() {
    let (_, mut tensors) = random_file(&SMALL, 11);
    let (_, _, bias) = tensors.iter_mut().find(|(name, ..)| name == "head.bias").unwrap();
    bias[DELTAS..DELTAS + SIGMAS].iter_mut().for_each(|v| *v += 1.8);
    let mut model = Xl::new(&super::weights::testing::write(&SMALL, &tensors), 0.5).unwrap();
    let (mut frame, mut random) = (PersonFrame::default(), fastrand::Rng::with_seed(5));
    let (mut counts, mut known) = ([0; 6], [false; JOINTS]);
    for i in 0..300 {
        let mut keypoints = person(300.0, 100.0);
        for k in &mut keypoints.joints {
            k.score = random.f32();
            k.y_px += if random.u8(..) < 60 { 90.0 * (random.f32() - 0.5) } else { 0.0 };
        }
        frame.take(1.0, &keypoints, 0.5, &mut [0.0; FEATURES]);
        let f = step(&mut model, Observation { keypoints: Some(keypoints), ..at(0, i * FRAME_US, 0.0) });
        for (j, k) in keypoints.joints.iter().enumerate() {
            let [x, y] = f.places_px[0][j];
            let off = (k.x_px - x).hypot(k.y_px - y) / frame.scale_px();
            let sigma = f.sigma_px[0][j] / frame.scale_px();
            let is_seen = k.score >= if known[j] { 0.05 } else { 0.2 };
            known[j] |= is_seen;
            let most = if is_seen { 0.4 } else { 0.15 };
            // What lies on an edge may go either way.
            if (off / 0.1 - 1.0).abs() < 0.01 || (sigma / most - 1.0).abs() < 0.01 {
                continue;
            }
            let (state, kind) = match (k.score >= 0.2, off < 0.1, sigma < most && known[j]) {
                (true, true, _) => (pose::JointState::Measured, 0),
                (_, _, true) => {
                    (pose::JointState::Predicted, if is_seen { 1 + usize::from(sigma > 0.15) } else { 3 })
                }
                _ => (pose::JointState::Absent, if is_seen { 4 } else { 5 }),
            };
            counts[kind] += 1;
            assert_eq!(f.state[j], state, "{off} {sigma} {k:?}");
            let likely = if kind < 4 { 1.0 - (-0.5 * (0.1 / sigma).powi(2)).exp() } else { 0.0 };
            assert!((f.score[j] - likely).abs() < 1e-3, "{} {likely}", f.score[j]);
        }
    }
    assert!(counts.iter().all(|n| *n > 5), "{counts:?}");
}

#[test]
fn an_error_model_of_another_shape_is_refused() {
    let (_, mut tensors) = random_file(&SMALL, 11);
    tensors.push(("error_model.shaky".to_owned(), vec![2], vec![0.5, 2.0]));
    assert!(Xl::new(&super::weights::testing::write(&SMALL, &tensors), 0.5).is_err());
}

#[test]
fn a_repeated_or_earlier_time_repeats_the_forecast() {
    let mut model = model();
    step(&mut model, at(0, 1_000_000, 10.0));
    let f = step(&mut model, at(0, 1_033_000, 12.0));
    for t in [1_033_000, 1_033_900, 400_000] {
        assert_eq!(step(&mut model, at(0, t, 500.0)), f);
    }
}

#[test]
fn persons_in_one_step_do_not_mix_and_bad_slots_are_answered_empty() {
    let (mut together, mut alone) = (model(), model());
    for i in 0..15 {
        let t = i * FRAME_US;
        let mut out = [Forecast::default(); 4];
        let crowd =
            [at(3, t, 10.0 * i as f32), at(0, t, 300.0), at(MAX_PERSONS, t, 1.0), at(7, t, -5.0 * i as f32)];
        together.step(&crowd, &mut out);
        let want = step(&mut alone, crowd[3]);
        for (got, want) in out[3].places_px.as_flattened().iter().zip(want.places_px.as_flattened()) {
            assert!((got[0] - want[0]).abs() < 0.02 && (got[1] - want[1]).abs() < 0.02);
        }
        assert_eq!(out[2].state, [JointState::Absent; JOINTS]);
    }
}

#[test]
fn of_a_slot_named_twice_in_one_frame_the_first_observation_counts() {
    let (mut twice, mut once) = (model(), model());
    for i in 0..5 {
        let t = i * FRAME_US;
        let mut out = [Forecast::default(); 2];
        twice.step(&[at(1, t, 10.0), at(1, t, 400.0)], &mut out);
        assert_eq!(out, [step(&mut once, at(1, t, 10.0)); 2]);
    }
}

#[test]
fn a_person_long_gone_is_absent_and_without_3d() {
    let mut model = model();
    step(&mut model, at(0, 0, 10.0));
    let mut f = Forecast::default();
    for i in 1..40 {
        f = step(&mut model, Observation { slot: 0, captured_at_us: i * FRAME_US, keypoints: None });
    }
    assert_eq!(f.state, [JointState::Absent; JOINTS]);
    assert_eq!(f.joints_3d_m, None);
}

#[test]
fn sigma_and_score_tell_the_same_story() {
    let f = step(&mut model(), at(0, 0, 10.0));
    let known = (0..JOINTS).filter(|&j| f.state[j] != JointState::Absent);
    let mut by_sigma: Vec<(f32, f32)> = known.map(|j| (f.sigma_px[0][j], f.score[j])).collect();
    assert!(by_sigma.len() > 1);
    by_sigma.sort_by(|a, b| a.0.total_cmp(&b.0));
    for pair in by_sigma.windows(2) {
        assert!(pair[0].1 >= pair[1].1 && pair[1].1 > 0.0);
    }
}

#[test]
fn a_long_stream_with_every_kind_of_gap_stays_finite() {
    let mut model = model();
    let mut random = fastrand::Rng::with_seed(9);
    let mut t = 0;
    for i in 0..20_000 {
        t += random.i64(8_000..120_000);
        let mut o = at(0, t, 300.0 + 200.0 * (i as f32 * 0.01).sin());
        if random.u8(..) < 30 {
            o.keypoints = None;
        }
        let f = step(&mut model, o);
        assert!(
            f.places_px.as_flattened().iter().flatten().all(|v| v.is_finite() && v.abs() < 1e5),
            "step {i}"
        );
    }
}

#[test]
fn a_score_above_one_counts_as_one() {
    let answer = |score| {
        let mut o = at(0, 0, 50.0);
        o.keypoints.as_mut().unwrap().joints[15].score = score;
        step(&mut model(), o).places_px
    };
    assert_eq!(answer(f32::MAX), answer(1.0));
    assert_eq!(answer(f32::INFINITY), answer(1.0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_input_makes_an_answer_that_is_not_finite(
        frames in prop::collection::vec((any::<i64>(), any::<f32>(), any::<f32>(), any::<f32>(), 0..17usize), 1..30),
    ) {
        let mut model = model();
        let mut t = 0i64;
        for &(dt, x, y, score, j) in &frames {
            t = t.wrapping_add(dt % 3_000_000);
            let mut o = at(0, t, 50.0);
            o.keypoints.as_mut().unwrap().joints[j] = Keypoint { x_px: x, y_px: y, score, sigma_px: 0.0 };
            let f = step(&mut model, o);
            prop_assert!(f.places_px.as_flattened().iter().flatten().all(|v| v.is_finite()));
            prop_assert!(f.sigma_px.as_flattened().iter().all(|v| v.is_finite() && *v > 0.0));
            prop_assert!(f.score.iter().all(|s| (0.0..=1.0).contains(s)));
        }
    }
}
