//! Learned temporal models, the shipped weights first: what PyTorch says of a whole sequence, the Rust steps say one by one.

use std::{fs, path::Path};

use pose::{Forecast, HORIZONS_US, JOINTS, JointState, Keypoint, Keypoints};
use posewire::temporal::{Gru, Observation, S4d, TemporalModel, Xl};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    smoothness: f32,
    captured_at_us: Vec<i64>,
    /// `[step][joint]` x, y in pixels and score.
    observed: Vec<Vec<[f32; 3]>>,
    /// The steps that the answers below belong to.
    steps: Vec<usize>,
    places_px: Vec<Vec<f32>>,
    sigma_px: Vec<Vec<f32>>,
    lift_m: Vec<Vec<f32>>,
    /// Of weights that have a curve for them.
    #[serde(default)]
    score: Vec<Vec<f32>>,
}

fn weights() -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("models/temporal-xl.pwt")).unwrap()
}

fn observation(slot: usize, captured_at_us: i64, joints: &[[f32; 3]]) -> Observation {
    let mut keypoints = Keypoints { score: 1.0, ..Keypoints::default() };
    for (k, &[x_px, y_px, score]) in keypoints.joints.iter_mut().zip(joints) {
        *k = Keypoint { x_px, y_px, score, sigma_px: 0.0 };
    }
    Observation { slot, captured_at_us, keypoints: Some(keypoints) }
}

fn close(got: impl Iterator<Item = f32>, want: &[f32], within: f32, what: &str) {
    let mut n = 0;
    for (i, (got, want)) in got.zip(want).enumerate() {
        assert!((got - want).abs() <= within, "{what} {i}: {got}, PyTorch {want}");
        n += 1;
    }
    assert_eq!(n, want.len(), "{what}");
}

#[test]
fn the_shipped_weights_answer_as_pytorch_does() {
    let golden: Golden = serde_json::from_str(include_str!("../golden/temporal_xl.json")).unwrap();
    meets(&mut Xl::new(&weights(), golden.smoothness).unwrap(), &golden);
}

/// The same beside a keypoint network of the project, through whose answers what it sees shows.
#[test]
fn beside_a_keypoint_network_they_answer_as_pytorch_does() {
    let golden: Golden = serde_json::from_str(include_str!("../golden/temporal_xl_keypoints.json")).unwrap();
    assert_eq!(golden.score.len(), golden.steps.len(), "the shipped weights have a curve for scores");
    meets(&mut Xl::new(&weights(), golden.smoothness).unwrap().observed_by("keypoints"), &golden);
}

/// Weights that were drawn: PyTorch took the whole sequence at once, Rust takes it step by step.
#[test]
fn a_gated_recurrent_network_answers_as_pytorch_does() {
    let golden: Golden = serde_json::from_str(include_str!("../golden/temporal_gru.json")).unwrap();
    let weights = include_bytes!("../golden/temporal_gru.pwt");
    meets(&mut Gru::new(weights, golden.smoothness).unwrap(), &golden);
}

#[test]
fn a_diagonal_state_space_answers_as_pytorch_does() {
    let golden: Golden = serde_json::from_str(include_str!("../golden/temporal_s4d.json")).unwrap();
    let weights = include_bytes!("../golden/temporal_s4d.pwt");
    meets(&mut S4d::new(weights, golden.smoothness).unwrap(), &golden);
}

#[test]
fn weights_of_one_network_are_refused_by_the_other() {
    let gru = include_bytes!("../golden/temporal_gru.pwt");
    assert!(Xl::new(gru, 0.0).err().unwrap().to_string().contains("expected"));
    assert!(S4d::new(gru, 0.0).err().unwrap().to_string().contains("missing"));
    assert!(Gru::new(&weights(), 0.0).err().unwrap().to_string().contains("embed.weight"));
}

fn meets(model: &mut impl TemporalModel, golden: &Golden) {
    let mut forecast = [Forecast::default()];
    let mut met = 0;
    for (step, joints) in golden.observed.iter().enumerate() {
        let seen = observation(2, golden.captured_at_us[step], joints);
        model.step(&[seen], &mut forecast);
        let Some(i) = golden.steps.iter().position(|&s| s == step) else { continue };
        let f = &forecast[0];
        let places = f.places_px.as_flattened().as_flattened().iter().copied();
        close(places, &golden.places_px[i], 0.03, &format!("places at step {step}"));
        let sigmas = f.sigma_px.as_flattened().iter().copied();
        close(sigmas, &golden.sigma_px[i], 0.03, &format!("sigmas at step {step}"));
        if let Some(scores) = golden.score.get(i) {
            let known = f.state.map(|state| state != JointState::Absent);
            assert!(known.contains(&true));
            let scores: Vec<f32> =
                scores.iter().zip(known).map(|(s, known)| if known { *s } else { 0.0 }).collect();
            close(f.score.iter().copied(), &scores, 1e-3, &format!("scores at step {step}"));
        }
        let lift = f.joints_3d_m.unwrap();
        close(lift.as_flattened().iter().copied(), &golden.lift_m[i], 1e-3, &format!("3D at step {step}"));
        met += 1;
    }
    assert_eq!(met, golden.steps.len());
}

/// A walking figure of 17 joints, 240 px tall, `phase` in frames.
fn walker(phase: f32) -> Vec<[f32; 3]> {
    const AT: [[f32; 2]; JOINTS] = [
        [0., -110.],
        [4., -114.],
        [-4., -114.],
        [9., -112.],
        [-9., -112.],
        [22., -85.],
        [-22., -85.],
        [28., -50.],
        [-28., -50.],
        [28., -15.],
        [-28., -15.],
        [14., 0.],
        [-14., 0.],
        [14., 55.],
        [-14., 55.],
        [14., 110.],
        [-14., 110.],
    ];
    let swing = (phase * 0.2).sin();
    AT.iter()
        .enumerate()
        .map(|(j, [x, y])| {
            let sign = if j % 2 == 0 { 1.0 } else { -1.0 };
            [300.0 + 2.0 * phase + x + sign * swing * (y.abs() * 0.15), 200.0 + y, 0.85]
        })
        .collect()
}

#[test]
fn a_hidden_hand_is_predicted_near_its_course_and_called_so() {
    let mut model = Xl::new(&weights(), 0.5).unwrap();
    let mut forecast = [Forecast::default()];
    for frame in 0..60 {
        let mut joints = walker(frame as f32);
        let truth = joints[9];
        if frame >= 50 {
            joints[9][2] = 0.0;
        }
        model.step(&[observation(0, frame * 33_333, &joints)], &mut forecast);
        if frame >= 50 {
            let [x, y] = forecast[0].places_px[0][9];
            assert_eq!(forecast[0].state[9], JointState::Predicted, "frame {frame}");
            assert!((x - truth[0]).hypot(y - truth[1]) < 24.0, "frame {frame}: {x} {y}, truth {truth:?}");
        }
    }
    assert_eq!(forecast[0].state[5], JointState::Measured);
}

#[test]
fn the_forecast_of_a_steady_walk_goes_ahead_of_it() {
    let mut model = Xl::new(&weights(), 0.0).unwrap();
    let mut forecast = [Forecast::default()];
    let mut ahead = Vec::new();
    for frame in 0..92 {
        model.step(&[observation(0, frame * 33_333, &walker(frame as f32))], &mut forecast);
        let hip_x = |h: usize| forecast[0].places_px[h][11][0];
        // A whole swing of the limbs.
        if frame >= 60 {
            ahead.push(hip_x(2) - hip_x(0));
        }
    }
    // 2 px a frame: 6 px in 100 ms.
    let mean = ahead.iter().sum::<f32>() / ahead.len() as f32;
    assert!((2.0..10.0).contains(&mean), "{mean} px at {} us; {ahead:?}", HORIZONS_US[2]);
}

#[test]
fn two_persons_who_exchange_ids_are_followed_again_and_never_called_measured_between_them() {
    let mut model = Xl::new(&weights(), 0.0).unwrap();
    let mut forecasts = [Forecast::default(); 2];
    let beside = |frame: i64, x: f32| -> Vec<[f32; 3]> {
        walker(frame as f32).iter().map(|[px, py, score]| [px + x, *py, *score]).collect()
    };
    for frame in 0..75 {
        let (a, b) = if frame < 40 { (0.0, 260.0) } else { (260.0, 0.0) };
        let seen = [(0, a), (1, b)].map(|(slot, x)| observation(slot, frame * 33_333, &beside(frame, x)));
        model.step(&seen, &mut forecasts);
        for (forecast, seen) in forecasts.iter().zip(&seen) {
            let joints = seen.keypoints.unwrap().joints;
            for (j, k) in joints.iter().enumerate() {
                let [x, y] = forecast.places_px[0][j];
                let off_px = (x - k.x_px).hypot(y - k.y_px);
                assert!(off_px.is_finite(), "frame {frame}, joint {j}");
                if forecast.state[j] == JointState::Measured {
                    assert!(off_px < 60.0, "frame {frame}, joint {j}: measured, but {off_px} px away");
                }
                assert!(frame < 74 || off_px < 24.0, "frame {frame}, joint {j}: still {off_px} px behind");
            }
        }
    }
}

#[test]
fn all_joints_absent_and_no_person_are_the_same_to_the_model() {
    let (mut empty, mut none) = (Xl::new(&weights(), 0.0).unwrap(), Xl::new(&weights(), 0.0).unwrap());
    let (mut a, mut b) = ([Forecast::default()], [Forecast::default()]);
    for frame in 0..60 {
        let seen = observation(0, frame * 33_333, &walker(frame as f32));
        let hidden: Vec<[f32; 3]> = walker(frame as f32).iter().map(|[x, y, _]| [*x, *y, 0.0]).collect();
        let (first, second) = if frame < 20 {
            (seen, seen)
        } else {
            (observation(0, frame * 33_333, &hidden), Observation { keypoints: None, ..seen })
        };
        empty.step(&[first], &mut a);
        none.step(&[second], &mut b);
        assert_eq!(a, b, "frame {frame}");
    }
    assert_eq!(a[0].state, [JointState::Absent; JOINTS]);
}

/// Hours of one stream: the cache's turned sines and the running means must not drift, and nothing of it may outlive a reset.
///
/// A million steps take half a minute: `cargo run --release -p temporal --example step -- --steps 1000000`.
#[test]
fn after_hours_the_answer_is_that_of_a_model_that_saw_the_last_minute() {
    let steps = if cfg!(debug_assertions) { 4_000 } else { 100_000 };
    let mut random = fastrand::Rng::with_seed(4);
    let (mut long, mut late) = (Xl::new(&weights(), 0.0).unwrap(), Xl::new(&weights(), 0.0).unwrap());
    let (mut a, mut b) = ([Forecast::default()], [Forecast::default()]);
    let mut at_us = 0;
    for step in 0..steps {
        at_us += random.i64(8_000..100_000);
        // There and back: nobody walks a hundred kilometres before one camera.
        let mut joints = walker((step % 1_000 - 500_i64).abs() as f32);
        let truth = joints.clone();
        joints.iter_mut().filter(|_| random.u8(..) < 13).for_each(|joint| joint[2] = 0.0);
        let mut seen = observation(0, at_us, &joints);
        if random.u8(..) < 3 {
            seen.keypoints = None;
        }
        long.step(&[seen], &mut a);
        if step > 100 {
            for (place, [x, y, _]) in a[0].places_px[0].iter().zip(&truth) {
                assert!((place[0] - x).hypot(place[1] - y) < 120.0, "step {step}: {place:?}, truth {x} {y}");
            }
        }
        if step >= steps - 1_500 {
            late.step(&[seen], &mut b);
        }
    }
    let (long_places, late_places) = (a[0].places_px.as_flattened(), b[0].places_px.as_flattened());
    for (long, late) in long_places.iter().zip(late_places) {
        assert!((long[0] - late[0]).hypot(long[1] - late[1]) < 0.02, "{long:?} {late:?}");
    }

    long.reset(0);
    let mut fresh = Xl::new(&weights(), 0.0).unwrap();
    for frame in 0..80 {
        let seen = observation(0, frame * 33_333, &walker(frame as f32));
        long.step(&[seen], &mut a);
        fresh.step(&[seen], &mut b);
        assert_eq!(a, b, "frame {frame} after the reset");
    }
}
