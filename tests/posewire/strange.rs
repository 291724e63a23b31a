//! What no camera should send and some do: two cameras' frames in one stream, clocks that go back or stand still, a thousand frames
//! a second, people larger than the picture, crowds that come and go without end.

use std::collections::BTreeSet;
use std::sync::Arc;

use pose::{JOINTS, JointState, Keypoints, MAX_PERSONS, PoseFrame};
use posewire::capture::clip::Clip;
use posewire::capture::synthetic::Synthetic;
use posewire::config::Config;
use posewire::picture::{Frame, PixelFormat};
use posewire::track::{Identities, IdentityRules};
use posewire::tracker::Tracker;

use super::track::walker;

const FRAME_US: i64 = 33_333;

fn tracker() -> Tracker {
    Tracker::new(&Config::default()).unwrap()
}

fn film(persons: usize, [width, height]: [u32; 2], seed: u64, frames: usize) -> Vec<Frame> {
    let mut clip = Synthetic::new(persons, width, height, 30.0, seed).unwrap();
    (0..frames).map(|_| clip.next().unwrap()).collect()
}

/// Numbers told of, after a look at what holds of every answer.
fn told(answer: &PoseFrame) -> BTreeSet<u32> {
    let mut told = BTreeSet::new();
    for person in answer.persons.iter().flatten() {
        assert!(told.insert(person.track_id), "one number twice in a frame");
        let f = &person.forecast;
        assert!(f.known_joints() >= 4, "fewer than four joints are no person");
        for j in (0..JOINTS).filter(|&j| f.state[j] != JointState::Absent) {
            for h in 0..f.places_px.len() {
                let [x, y] = f.places_px[h][j];
                assert!(x.abs() < 1e5 && y.abs() < 1e5 && f.sigma_px[h][j].is_finite(), "{x}, {y}");
            }
            assert!((0.0..=1.0).contains(&f.score[j]));
        }
        assert!((0.0..=1.0).contains(&person.score));
    }
    told
}

/// Told of at each of `times`, by frames that show the same.
fn at_times(times: impl Iterator<Item = i64>) -> Vec<BTreeSet<u32>> {
    let mut tracker = tracker();
    let frames = film(1, [320, 240], 3, 12);
    let shown = times.enumerate().map(|(i, at_us)| (&frames[i % frames.len()], at_us));
    shown
        .map(|(f, at_us)| told(&tracker.track(&Frame { captured_at_us: at_us, ..f.clone() }).unwrap()))
        .collect()
}

#[test]
fn two_cameras_frames_in_one_stream_are_answered_and_leave_no_trace() {
    let (a, b) = (film(1, [320, 240], 3, 40), film(2, [640, 480], 4, 40));
    let mut mixed = tracker();
    let mut ids = BTreeSet::new();
    // The other camera's clock runs an hour ahead: time goes back with every second frame.
    for (a, b) in a[..20].iter().zip(&b) {
        ids.append(&mut told(&mixed.track(a).unwrap()));
        let ahead = Frame { captured_at_us: b.captured_at_us + 3_600_000_000, ..b.clone() };
        ids.append(&mut told(&mixed.track(&ahead).unwrap()));
    }
    // An hour ahead everybody is forgotten, so numbers are spent; a frame spends no more than it shows people.
    assert!((1..=60).contains(&ids.len()), "{} identities in 40 frames", ids.len());
    // One camera alone again: soon one person, and the same.
    let last: Vec<_> = a[20..].iter().map(|f| told(&mixed.track(f).unwrap())).collect();
    assert!(last[15..].iter().all(|t| t.len() == 1 && *t == last[15]), "{last:?}");
}

#[test]
fn seen_by_turns_two_people_keep_two_numbers() {
    let mut identities = Identities::new(IdentityRules::of(true));
    let mut ids = [BTreeSet::new(), BTreeSet::new()];
    for i in 0..120 {
        let person = i % 2;
        let at = [walker(100.0, 200.0, 200.0, 0.0), walker(500.0, 200.0, 150.0, 1.0)][person];
        let assigned = identities.update(i as i64 * FRAME_US, &[at], &[None; MAX_PERSONS]);
        ids[person].extend(assigned.iter().filter(|a| a.detection.is_some()).map(|a| a.track_id));
    }
    assert_eq!(ids, [BTreeSet::from([1]), BTreeSet::from([2])]);
}

#[test]
fn a_clock_that_goes_back_an_hour_keeps_nobody_for_an_hour() {
    let hour_us = 3_600_000_000;
    let mut identities = Identities::new(IdentityRules::of(true));
    let see = |identities: &mut Identities, at_us: i64, who: &[Keypoints]| {
        identities.update(at_us, who, &[None; MAX_PERSONS]).to_vec()
    };
    let at = |x: f32| walker(x, 200.0, 200.0, 0.0);
    for i in 0..30 {
        see(&mut identities, hour_us + i * FRAME_US, &[at(100.0), at(500.0)]);
    }
    // One of the two stays; the other went while the clock was set.
    let listed: Vec<_> = (0..30).map(|i| see(&mut identities, i * FRAME_US, &[at(100.0)])).collect();
    assert_eq!(listed[0][0].track_id, 1, "who stays is the same");
    assert_eq!(
        listed[29].len(),
        1,
        "who went is not followed until the clock is there again: {:?}",
        listed[29]
    );
}

#[test]
fn at_no_and_at_a_thousand_frames_a_second_somebody_is_one_person() {
    for step_us in [0, 1, 1_000] {
        let told = at_times((0..60).map(|i| 1_000_000 + i * step_us));
        let ids: BTreeSet<u32> = told.iter().flatten().copied().collect();
        assert_eq!(ids.len(), 1, "{step_us} us between frames: {told:?}");
    }
}

#[test]
fn time_that_goes_back_a_frame_at_a_time_is_survived() {
    for step_us in [-1_000, -FRAME_US, -1_000_000, -10_000_000] {
        let told = at_times((0..40).map(|i| 1_000_000 + i * step_us));
        let ids: BTreeSet<u32> = told.iter().flatten().copied().collect();
        assert!((1..=3).contains(&ids.len()), "{step_us} us between frames: {ids:?}");
    }
}

#[test]
fn a_person_larger_than_the_picture_is_answered_within_reason() {
    // A person's middle, blown up until head and feet are far outside.
    let mut clip = Synthetic::new(1, 640, 480, 30.0, 3).unwrap();
    let mut tracker = tracker();
    let mut answered = 0;
    for _ in 0..20 {
        let frame = clip.next().unwrap();
        let hips = [11, 12].map(|j| clip.truth()[0].joints[j]);
        let (cx, cy) = (0.5 * (hips[0].x_px + hips[1].x_px), 0.5 * (hips[0].y_px + hips[1].y_px));
        let mut bytes = vec![0; 640 * 480 * 3];
        for (i, pixel) in bytes.chunks_exact_mut(3).enumerate() {
            let at = |v: usize, middle: f32, half: f32, most: f32| {
                (middle + (v as f32 - half) / 10.0).clamp(0.0, most - 1.0) as usize
            };
            let (x, y) = (at(i % 640, cx, 320.0, 640.0), at(i / 640, cy, 240.0, 480.0));
            pixel.copy_from_slice(&frame.bytes[3 * (640 * y + x)..][..3]);
        }
        let large = Frame { bytes: Arc::new(bytes), format: PixelFormat::Rgb24, ..frame };
        let answer = tracker.track(&large).unwrap();
        answered += told(&answer).len();
        for person in answer.persons.iter().flatten() {
            let known = (0..JOINTS).filter(|&j| person.forecast.state[j] != JointState::Absent);
            for [x, y] in known.map(|j| person.forecast.places_px[0][j]) {
                assert!((-2560.0..3200.0).contains(&x) && (-1920.0..2400.0).contains(&y), "{x}, {y}");
            }
        }
    }
    assert!(answered > 0, "nobody is told of");
}

#[test]
fn sixteen_people_in_and_out_each_second_for_an_hour_leave_room_for_the_next() {
    let mut identities =
        Identities::new(IdentityRules { max_persons: MAX_PERSONS, ..IdentityRules::of(true) });
    let mut random = fastrand::Rng::with_seed(5);
    let mut newest = 0;
    let mut crowd: Vec<Keypoints> = Vec::new();
    let frames = 3600 * 30;
    for i in 0..frames {
        if i % 30 == 0 {
            let one =
                |_| walker(600.0 * random.f32(), 400.0 * random.f32(), 60.0 + 200.0 * random.f32(), 0.0);
            crowd = (0..16).map(one).collect();
        }
        let here = if i % 30 < 20 { &crowd[..] } else { &[] };
        let listed = identities.update(i * FRAME_US, here, &[None; MAX_PERSONS]);
        assert!(listed.len() <= MAX_PERSONS);
        newest = listed.iter().map(|a| a.track_id).fold(newest, u32::max);
    }
    // Each second brings so many new ones at most: numbers are not spent otherwise.
    assert!((1..=(3600 * MAX_PERSONS) as u32).contains(&newest), "{newest} numbers");
    let alone: Vec<u32> = (0..30)
        .map(|i| {
            let at_us = (frames + i) * FRAME_US + 30_000_000;
            let listed = identities.update(at_us, &[walker(100.0, 200.0, 200.0, 0.0)], &[None; MAX_PERSONS]);
            assert_eq!(listed.len(), 1);
            listed[0].track_id
        })
        .collect();
    assert!(
        alone.iter().all(|&id| id == newest + 1),
        "whoever comes after the crowd is told of at once: {alone:?}"
    );
}
