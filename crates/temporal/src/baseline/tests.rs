use pose::Keypoint;
use proptest::prelude::*;

use super::*;
use crate::{Smoother, build};

const FRAME_US: i64 = 33_333;

/// Joints spread over 100 x 200 px, all at `score`, moved by `(x, y)`.
fn person(x: f32, y: f32, score: f32) -> Keypoints {
    let mut k = Keypoints { score: 1.0, ..Keypoints::default() };
    for (j, joint) in k.joints.iter_mut().enumerate() {
        let (across, down) = ((j % 2) as f32 * 100.0, j as f32 * 12.5);
        *joint = Keypoint { x_px: x + across, y_px: y + down, score, sigma_px: 0.0 };
    }
    k
}

fn seen_at(t: i64, keypoints: Keypoints) -> Observation {
    Observation { slot: 0, captured_at_us: t, keypoints: Some(keypoints) }
}

fn classics() -> Vec<Box<dyn TemporalModel>> {
    [Smoother::None, Smoother::OneEuro, Smoother::Exponential, Smoother::Kalman]
        .map(|s| build(s, None, None).unwrap())
        .into()
}

fn step(model: &mut dyn TemporalModel, observation: Observation) -> Forecast {
    let mut out = [Forecast::default()];
    model.step(&[observation], &mut out);
    out[0]
}

#[test]
fn a_person_standing_still_stays_exactly_there() {
    for mut model in classics() {
        for i in 0..50 {
            let f = step(model.as_mut(), seen_at(i * FRAME_US, person(300.0, 200.0, 0.9)));
            for h in 0..HORIZONS_US.len() {
                assert!((f.places_px[h][4][0] - 300.0).abs() < 1e-3, "{}", model.name());
            }
        }
    }
}

#[test]
fn kalman_forecasts_a_steady_walk_and_the_others_hold() {
    for mut model in classics() {
        let mut f = Forecast::default();
        for i in 0..60 {
            f = step(model.as_mut(), seen_at(i * FRAME_US, person(3.0 * i as f32, 0.0, 0.9)));
        }
        let ahead = f.places_px[2][0][0] - f.places_px[0][0][0];
        match model.name() {
            "kalman" => assert!((ahead - 9.0).abs() < 0.3, "{ahead}"),
            _ => assert_eq!(ahead, 0.0, "{}", model.name()),
        }
    }
}

#[test]
fn every_filter_shakes_less_than_its_input() {
    let shake = |model: &mut dyn TemporalModel| {
        let mut random = fastrand::Rng::with_seed(7);
        let mut last = 0.0;
        let mut sum = 0.0;
        for i in 0..400 {
            let x = 300.0 + 8.0 * (random.f32() - 0.5);
            let f = step(model, seen_at(i * FRAME_US, person(x, 200.0, 0.9)));
            sum += (f.places_px[0][0][0] - last).abs() * (i > 10) as i32 as f32;
            last = f.places_px[0][0][0];
        }
        sum
    };
    let mut models = classics();
    let raw = shake(models[0].as_mut());
    for model in &mut models[1..] {
        assert!(shake(model.as_mut()) < 0.9 * raw, "{}", model.name());
    }
}

#[test]
fn an_unseen_joint_is_predicted_for_half_a_second_and_then_absent() {
    for mut model in classics() {
        step(model.as_mut(), seen_at(0, person(300.0, 200.0, 0.9)));
        for i in 1..30 {
            let f =
                step(model.as_mut(), Observation { slot: 0, captured_at_us: i * FRAME_US, keypoints: None });
            let want = if i <= 15 { JointState::Predicted } else { JointState::Absent };
            assert_eq!(f.state[9], want, "{} frame {i}", model.name());
        }
        let f = step(model.as_mut(), seen_at(30 * FRAME_US, person(300.0, 200.0, 0.9)));
        assert_eq!(f.state[9], JointState::Measured);
    }
}

/// All that is said of a joint is measured by the person: who is twice as large and moves twice as far is answered twice as much.
#[test]
fn answers_grow_with_the_person() {
    let grown = |k: Keypoints, by: f32| {
        let joints = k.joints.map(|j| Keypoint { x_px: by * j.x_px, y_px: by * j.y_px, ..j });
        Keypoints { joints, ..k }
    };
    let run = |model: &mut dyn TemporalModel, by: f32| {
        let mut random = fastrand::Rng::with_seed(3);
        let mut f = Forecast::default();
        for i in 0..30 {
            let x = 2.0 * i as f32 + 9.0 * random.f32();
            f = step(model, seen_at(i * FRAME_US, grown(person(x, 200.0, 0.9), by)));
        }
        f
    };
    for (mut small, mut large) in classics().into_iter().zip(classics()) {
        let (a, b) = (run(small.as_mut(), 1.0), run(large.as_mut(), 2.0));
        let near = |a: f32, b: f32| (2.0 * a - b).abs() < 1e-3 * (1.0 + b.abs());
        for h in 0..HORIZONS_US.len() {
            assert!(near(a.places_px[h][9][0], b.places_px[h][9][0]), "{}", small.name());
            assert!(near(a.sigma_px[h][9], b.sigma_px[h][9]), "{}", small.name());
            assert!(a.sigma_px[h][9] > if h > 0 { a.sigma_px[h - 1][9] } else { 0.0 }, "{}", small.name());
            // Of a person of 200 px.
            assert!((1.0..40.0).contains(&a.sigma_px[h][9]), "{}: {}", small.name(), a.sigma_px[h][9]);
        }
    }
}

#[test]
fn what_is_known_of_a_joint_fades_while_it_is_not_seen() {
    for mut model in classics() {
        let mut last = step(model.as_mut(), seen_at(0, person(300.0, 200.0, 0.8)));
        assert_eq!(last.score[9], 0.8);
        for i in 1..=15 {
            let missed = Observation { slot: 0, captured_at_us: i * FRAME_US, keypoints: None };
            let f = step(model.as_mut(), missed);
            assert!(f.sigma_px[0][9] > last.sigma_px[0][9] && f.score[9] < last.score[9], "{}", model.name());
            last = f;
        }
        assert!(last.score[9] < 0.01, "{}: {}", model.name(), last.score[9]);
    }
}

#[test]
fn a_glimpse_of_a_hand_and_an_elbow_is_no_smaller_person() {
    for (mut whole, mut hidden) in classics().into_iter().zip(classics()) {
        let [mut a, mut b] = [Forecast::default(); 2];
        for i in 0..60 {
            let mut k = person(300.0, 200.0, 0.9);
            a = step(whole.as_mut(), seen_at(i * FRAME_US, k));
            for (j, joint) in k.joints.iter_mut().enumerate().filter(|_| i >= 30) {
                joint.score = if j == 7 || j == 9 { 0.9 } else { 0.0 };
            }
            b = step(hidden.as_mut(), seen_at(i * FRAME_US, k));
        }
        assert!((b.sigma_px[0][9] / a.sigma_px[0][9] - 1.0).abs() < 1e-3, "{}", whole.name());
    }
}

#[test]
fn who_showed_the_nose_first_is_as_large_as_what_is_seen_of_them_then() {
    // Five joints of the head and the shoulders: fewer than half.
    let upper = |i: i64| {
        let mut k = person(300.0, 200.0, 0.0);
        let seen = if i == 0 { 1 } else { 7 };
        for (j, joint) in k.joints.iter_mut().enumerate().take(seen) {
            (joint.x_px, joint.y_px, joint.score) = (300.0 + 40.0 * j as f32, 200.0, 0.9);
        }
        k
    };
    for (mut late, mut whole) in classics().into_iter().zip(classics()) {
        let [mut a, mut b] = [Forecast::default(); 2];
        for i in 0..60 {
            a = step(late.as_mut(), seen_at(i * FRAME_US, upper(i)));
            b = step(whole.as_mut(), seen_at(i * FRAME_US, upper(i + 1)));
        }
        assert!((a.sigma_px[0][0] / b.sigma_px[0][0] - 1.0).abs() < 1e-2, "{}", late.name());
    }
}

#[test]
fn one_euro_lags_less_the_faster_somebody_is_and_rests_again_when_they_do() {
    let mut model = build(Smoother::OneEuro, None, None).unwrap();
    let (mut x, mut t) = (0.0, 0);
    let mut go = |by: &dyn Fn(usize) -> f32| {
        let mut f = Forecast::default();
        for i in 0..60 {
            (x, t) = (x + by(i), t + FRAME_US);
            f = step(model.as_mut(), seen_at(t, person(x, 200.0, 0.9)));
        }
        x - f.places_px[0][0][0]
    };
    let shakes = |i: usize| if i.is_multiple_of(2) { 4.0 } else { -4.0 };
    let before = go(&shakes);
    let [slow, fast] = [2.0, 20.0].map(|px| go(&|_| px) / px);
    assert!(fast > 0.0 && fast < 0.7 * slow, "behind by {slow} and {fast} frames");
    let after = go(&shakes);
    assert!((after - before).abs() < 0.2, "{before} {after}");
}

#[test]
fn a_joint_with_little_score_is_used_but_called_predicted() {
    for mut model in classics() {
        let f = step(model.as_mut(), seen_at(0, person(300.0, 200.0, 0.1)));
        assert_eq!(f.state[0], JointState::Predicted);
        assert_eq!(f.places_px[0][0], [300.0, 200.0]);
    }
}

#[test]
fn a_repeated_or_earlier_time_repeats_the_forecast() {
    for mut model in classics() {
        step(model.as_mut(), seen_at(1_000_000, person(300.0, 200.0, 0.9)));
        let f = step(model.as_mut(), seen_at(1_033_000, person(310.0, 200.0, 0.9)));
        for t in [1_033_000, 1_033_500, 900_000] {
            assert_eq!(step(model.as_mut(), seen_at(t, person(700.0, 0.0, 0.9))), f, "{}", model.name());
        }
    }
}

#[test]
fn a_jump_of_the_clock_and_a_reset_both_forget() {
    for mut model in classics() {
        let fresh = step(model.as_mut(), seen_at(9_000_000_000, person(10.0, 20.0, 0.9)));
        step(model.as_mut(), seen_at(9_000_033_000, person(400.0, 20.0, 0.9)));
        let again = step(model.as_mut(), seen_at(0, person(10.0, 20.0, 0.9)));
        assert_eq!(Forecast { captured_at_us: 9_000_000_000, ..again }, fresh, "{}", model.name());
        step(model.as_mut(), seen_at(33_000, person(400.0, 20.0, 0.9)));
        model.reset(0);
        model.reset(usize::MAX);
        let again = step(model.as_mut(), seen_at(9_000_000_000, person(10.0, 20.0, 0.9)));
        assert_eq!(again, fresh, "{}", model.name());
    }
}

#[test]
fn slots_do_not_mix_and_one_beyond_the_last_is_answered_empty() {
    for mut model in classics() {
        let at = |slot, x| Observation { slot, ..seen_at(0, person(x, 0.0, 0.9)) };
        let mut out = [Forecast::default(); 3];
        model.step(&[at(1, 50.0), at(0, 250.0), at(MAX_PERSONS, 1.0)], &mut out);
        assert_eq!((out[0].places_px[0][0][0], out[1].places_px[0][0][0]), (50.0, 250.0));
        assert_eq!(out[2].state, [JointState::Absent; JOINTS]);
    }
}

proptest! {
    #[test]
    fn no_input_makes_an_answer_that_is_not_finite(
        frames in prop::collection::vec((any::<i64>(), any::<f32>(), any::<f32>(), any::<f32>(), 0..17usize), 1..40),
    ) {
        for mut model in classics() {
            let mut t = 0i64;
            for &(dt, x, y, score, j) in &frames {
                t = t.wrapping_add(dt % 3_000_000);
                let mut k = person(100.0, 100.0, 0.8);
                k.joints[j] = Keypoint { x_px: x, y_px: y, score, sigma_px: 0.0 };
                let f = step(model.as_mut(), seen_at(t, k));
                for h in 0..HORIZONS_US.len() {
                    for j in 0..JOINTS {
                        prop_assert!(f.places_px[h][j][0].is_finite() && f.places_px[h][j][1].is_finite());
                        prop_assert!(f.sigma_px[h][j].is_finite() && f.sigma_px[h][j] >= 0.0);
                    }
                }
                prop_assert!(f.score.iter().all(|s| (0.0..=1.0).contains(s)));
            }
        }
    }
}
