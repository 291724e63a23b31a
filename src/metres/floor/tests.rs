use people::film::Film;

use pose::Forecast;

use super::super::stance::tests::{body, turned};
use super::super::{Lens, Metres};
use super::*;

/// Rendered people before a camera of which height and tilt are known; each is taken to be a few percent too large or small, and
/// joints are wrong by some centimetres, most in depth. What was found, and what is true: height and pitch.
fn found(persons: usize, seed: u64, seconds: i64) -> (Option<Floor>, [f32; 2]) {
    found_below(0.0, persons, seed, seconds)
}

/// The same before a camera that was turned down by `more_deg`.
fn found_below(more_deg: f32, persons: usize, seed: u64, seconds: i64) -> (Option<Floor>, [f32; 2]) {
    let (finder, truth, _) = watched(more_deg, persons, seed, seconds, false);
    (finder.floor(), truth)
}

/// The finder, told the camera's height or not; that height and the pitch; and how much too large everybody was taken to be.
fn watched(
    more_deg: f32,
    persons: usize,
    seed: u64,
    seconds: i64,
    tells_height: bool,
) -> (FloorFinder, [f32; 2], Vec<f32>) {
    let mut film = Film::new(persons, 96, 72, seed);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut normal = || (0..12).map(|_| random.f32()).sum::<f32>() - 6.0;
    let sizes: Vec<f32> = (0..persons).map(|_| 1.0 + 0.04 * normal()).collect();
    let camera_height_m = tells_height.then(|| f64::from(film.camera().eye.y));
    let (mut finder, mut rgb) = (FloorFinder::new(Stature::ADULT, camera_height_m), Vec::new());
    for k in 0..seconds * 5 {
        film.draw(k as f32 / 5.0, &mut rgb);
        for (slot, (truth, size)) in film.truth().iter().zip(&sizes).enumerate() {
            let joints = truth.joints.map(|j| turned(j.camera_m, more_deg));
            let hips: [f32; 3] = std::array::from_fn(|i| 0.5 * (joints[11][i] + joints[12][i]));
            let depth = 1.0 + 0.02 * normal();
            let at_m = hips.map(|v| v * size * depth);
            let off = [0.02, 0.02, 0.05];
            let joints_m =
                joints.map(|p| std::array::from_fn(|i| (p[i] - hips[i]) * size + off[i] * normal()));
            finder.take(slot, slot as u32 + 1, k * 200_000, at_m, &joints_m);
        }
    }
    let camera = film.camera();
    let ahead = camera.turn.transpose() * people::math::vec3(0.0, 0.0, 1.0);
    (finder, [camera.eye.y, (-ahead.y).asin().to_degrees() + more_deg], sizes)
}

#[test]
fn what_one_camera_stood_above_is_not_told_of_the_next() {
    let lens = Lens::default();
    let mut metres = Metres::new(lens.clone(), Stature::ADULT);
    metres.floor = Some(watched(0.0, 2, 1, 24, false).0);
    assert!(metres.floor().is_some());
    // Of which nothing is known.
    lens.set(None);
    assert!(metres.floor().is_none());
    assert!(metres.place(0, 1, &mut Forecast::default(), [640, 480]).is_none());
    assert!(metres.floor().is_none(), "for good");
}

#[test]
fn a_camera_of_known_height_tells_how_large_people_are() {
    let (mut taken, mut known) = (0.0, 0.0);
    for seed in 1..=5 {
        let (finder, [height_m, _], sizes) = watched(0.0, 2, seed, 24, true);
        assert!(finder.floor().is_none_or(|floor| (floor.height_m - height_m).abs() < 1e-6));
        for (slot, size) in sizes.iter().enumerate() {
            let size = f64::from(size.ln());
            // Larger by `log` than taken, who is taken to be too large by `size`.
            let scale = finder.scale(slot).unwrap_or_else(|| panic!("film {seed}: nothing found"));
            assert!(scale.variance < Stature::ADULT.scale().variance, "{scale:?}");
            (taken, known) = (taken + size.powi(2), known + (size + scale.log).powi(2));
        }
    }
    assert!(known < 0.5 * taken, "squares {known} of {taken}");
}

#[test]
fn the_camera_is_as_high_and_as_tilted_as_it_was() {
    let mut within = 0;
    for seed in 1..=5 {
        let (floor, [height_m, pitch_deg]) = found(2, seed, 24);
        eprintln!("{seed}: {floor:?}; true {height_m} {pitch_deg}");
        let floor = floor.unwrap_or_else(|| panic!("film {seed}: nothing found"));
        let off_m = floor.height_m - height_m;
        assert!(off_m.abs() < 0.16 * height_m, "film {seed}: {floor:?}, true {height_m} {pitch_deg}");
        assert!((floor.pitch_deg - pitch_deg).abs() < 5.0, "film {seed}: {floor:?}, true {pitch_deg}");
        assert!(floor.roll_deg.abs() < 4.0, "film {seed}: {floor:?}");
        within += usize::from(off_m.abs() < 2.0 * floor.height_sigma_m);
        within += usize::from((floor.pitch_deg - pitch_deg).abs() < 2.0 * floor.pitch_sigma_deg);
    }
    assert!(within >= 8, "{within} of 10 within two sigma");
}

#[test]
fn a_camera_that_looks_down_steeply_is_found_by_who_stands_in_one_place() {
    for pitch_deg in [0.0, 25.0, 38.0, 45.0] {
        let mut finder = FloorFinder::new(Stature::ADULT, None);
        let (at_m, joints_m) = (turned([0.3, 1.2, 3.0], pitch_deg), body(false, pitch_deg));
        for k in 0..80 {
            finder.take(0, 1, 100_000 * k, at_m, &joints_m);
        }
        let floor = finder.floor().unwrap_or_else(|| panic!("nothing found at {pitch_deg} degrees"));
        assert!((floor.pitch_deg - pitch_deg).abs() < 2.0, "{pitch_deg}: {floor:?}");
        // Ankles 2 m below it, and soles below those.
        assert!((2.05..2.11).contains(&floor.height_m), "{pitch_deg}: {floor:?}");
        let dot = |a: [f32; 3], b: [f32; 3]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let Floor { up, ahead, right, .. } = floor;
        for (a, b, wanted) in [(up, ahead, 0.0), (up, right, 0.0), (ahead, right, 0.0), (ahead, ahead, 1.0)] {
            assert!((dot(a, b) - wanted).abs() < 1e-4, "{pitch_deg}: {floor:?}");
        }
    }
    let mut off_deg = 0.0;
    for seed in 1..=5 {
        let (floor, [height_m, pitch_deg]) = found_below(30.0, 2, seed, 24);
        eprintln!("{seed}: {floor:?}; true {height_m} {pitch_deg}");
        let floor = floor.unwrap_or_else(|| panic!("film {seed}: nothing found"));
        assert!((floor.height_m / height_m - 1.0).abs() < 0.16, "film {seed}: {floor:?}, true {height_m}");
        assert!((floor.pitch_deg - pitch_deg).abs() < 6.0, "film {seed}: {floor:?}, true {pitch_deg}");
        off_deg += (floor.pitch_deg - pitch_deg) / 5.0;
    }
    assert!(off_deg.abs() < 2.0, "off by {off_deg} degrees on average");
}

/// Takes somebody who stands upright on a floor `below_m` beneath the camera, now here and now there, from one time to another.
fn walk(finder: &mut FloorFinder, slot: usize, below_m: f32, tenths: std::ops::Range<i64>) {
    let joints_m = body(false, 0.0);
    for k in tenths {
        let (x, z) = ((0.5 * k as f32).cos(), 4.0 + 2.0 * (0.2 * k as f32).sin());
        let at_m = [x, below_m - 0.8, z];
        finder.take(slot, slot as u32 + 1, 100_000 * k, at_m, &joints_m);
    }
}

#[test]
fn a_camera_that_is_turned_about_its_lens_says_how_far_and_which_way() {
    let turned = |[x, y, z]: [f32; 3], deg: f32| {
        let (sin, cos) = deg.to_radians().sin_cos();
        [x * cos - y * sin, x * sin + y * cos, z]
    };
    for roll_deg in [-12.0, 0.0, 8.0] {
        let mut finder = FloorFinder::new(Stature::ADULT, None);
        let joints_m = body(false, 0.0).map(|p| turned(p, roll_deg));
        for k in 0..80 {
            let at_m = turned([(0.5 * k as f32).cos(), 0.4, 4.0 + 2.0 * (0.2 * k as f32).sin()], roll_deg);
            finder.take(0, 1, 100_000 * k, at_m, &joints_m);
        }
        let floor = finder.floor().expect("found");
        assert!((floor.roll_deg - roll_deg).abs() < 1.0 && floor.pitch_deg.abs() < 1.0, "{floor:?}");
    }
}

#[test]
fn whoever_walks_before_the_lens_tells_more_of_the_roll_where_they_walk_across_and_of_the_pitch_where_along()
{
    let sigmas_deg = |x_m: f32, z_m: f32| {
        let (mut finder, joints_m) = (FloorFinder::new(Stature::ADULT, None), body(false, 0.0));
        for k in 0..200 {
            let t = 0.2 * k as f32;
            let at_m = [x_m * t.sin(), 0.4, 5.0 + z_m * (1.7 * t).cos()];
            finder.take(0, 1, 100_000 * k, at_m, &joints_m);
        }
        let floor = finder.floor().expect("found");
        (floor.pitch_sigma_deg, floor.roll_sigma_deg)
    };
    let ((pitch, roll), (along_pitch, along_roll)) = (sigmas_deg(2.5, 1.0), sigmas_deg(1.0, 2.5));
    assert!(
        roll < 0.7 * pitch && along_pitch < 0.7 * along_roll,
        "{roll} {pitch} {along_pitch} {along_roll}"
    );
}

#[test]
fn few_feet_say_nothing_and_in_a_minute_those_of_before_have_made_room() {
    let mut finder = FloorFinder::new(Stature::ADULT, None);
    walk(&mut finder, 0, 1.2, 0..40);
    assert_eq!(finder.floor(), None, "four seconds");
    walk(&mut finder, 0, 1.2, 40..600);
    let height_m = |finder: &FloorFinder| finder.floor().expect("found").height_m;
    assert!((height_m(&finder) - 1.28).abs() < 0.03, "{}", height_m(&finder));
    // The camera is lifted.
    walk(&mut finder, 0, 1.6, 600..1_200);
    assert!((height_m(&finder) - 1.68).abs() < 0.03, "{}", height_m(&finder));
}

#[test]
fn feet_in_the_air_and_a_few_that_are_seen_too_low_hardly_move_the_floor() {
    for (every, by_m) in [(3, -0.3), (7, 0.6)] {
        let (mut finder, joints_m) = (FloorFinder::new(Stature::ADULT, None), body(false, 0.0));
        for k in 0..300 {
            let (x, z) = ((0.5 * k as f32).cos(), 4.0 + 2.0 * (0.2 * k as f32).sin());
            let y = 0.4 + if k % every == 0 { by_m } else { 0.0 };
            finder.take(0, 1, 100_000 * k, [x, y, z], &joints_m);
        }
        let height_m = finder.floor().expect("found").height_m;
        assert!((height_m - 1.28).abs() < 0.06, "one in {every} by {by_m}: {height_m}");
    }
}

#[test]
fn a_foot_is_taken_ten_times_a_second_by_any_clock_and_none_that_lies_at_the_lens() {
    let mut finder = FloorFinder::new(Stature::ADULT, None);
    let joints_m = body(false, 0.0);
    let mut taken = |person: u32, at_us: i64, z: f32| {
        finder.take(0, person, at_us, [0.0, 0.4, z], &joints_m);
        finder.points.len()
    };
    assert_eq!([0, 33_000, 99_999, 100_000].map(|at_us| taken(1, at_us, 3.0)), [1, 1, 1, 2]);
    assert_eq!(taken(1, -5_000_000, 3.0), 3, "a clock that was set back");
    assert_eq!(taken(2, -4_990_000, 3.0), 4, "somebody else");
    assert_eq!(taken(2, -4_000_000, 0.1), 4, "at the lens");
}

#[test]
fn of_two_who_stand_on_one_floor_the_one_whose_feet_seem_lower_is_smaller_until_somebody_else_is_there() {
    let mut finder = FloorFinder::new(Stature::ADULT, None);
    for k in 0..20 {
        walk(&mut finder, 0, 1.2, 15 * k..15 * (k + 1));
        walk(&mut finder, 1, 1.32, 15 * k..15 * (k + 1));
    }
    let [first, second] = [0, 1].map(|slot| finder.scale(slot).expect("both are known").log);
    assert!(first > 0.01 && second < -0.01, "{first} {second}");
    finder.reset(1);
    assert!(finder.scale(1).is_none() && finder.scale(0).is_some());
}

#[test]
fn who_comes_back_is_nobody_new() {
    // One who walks towards the camera and away from it, on a level floor 1.2 m below it, and leaves and comes back now and then.
    let sigma = |comes_back_as: fn(i64) -> u32| {
        let mut finder = FloorFinder::new(Stature::ADULT, None);
        let joints_m = body(false, 0.0);
        for k in 0..480 {
            if k % 120 == 0 {
                finder.reset(0);
            }
            let z = 4.0 + 2.0 * (0.2 * k as f32).sin();
            finder.take(0, comes_back_as(k / 120), 200_000 * k, [0.0, 0.4, z], &joints_m);
        }
        finder.floor().unwrap().height_sigma_m
    };
    let (one, four) = (sigma(|_| 1), sigma(|stay| stay as u32 + 1));
    assert!(one > 1.15 * four, "{one} of one person, {four} of four");
}

#[test]
fn places_on_the_floor_are_right_and_ahead_of_the_camera() {
    let (floor, [_, pitch_deg]) = found(2, 3, 20);
    let floor = floor.unwrap();
    let [right, ahead] = floor.ground([1.0, 0.2, 3.0]);
    let tilt = pitch_deg.to_radians();
    assert!((right - 1.0).abs() < 0.2, "{right}");
    assert!((ahead - (3.0 * tilt.cos() - 0.2 * tilt.sin())).abs() < 0.25, "{ahead}");
}

#[test]
fn a_few_feet_tell_no_floor_and_another_camera_begins_anew() {
    assert!(found(1, 2, 3).0.is_none());
    let mut finder = FloorFinder::new(Stature::ADULT, None);
    for k in 0..100 {
        finder.take(0, 1, 100_000 * k, [0.0, f32::NAN, 3.0], &[[0.0; 3]; JOINTS]);
    }
    finder.take(MAX_PERSONS, 1, 0, [0.0, 1.0, 3.0], &[[0.0; 3]; JOINTS]);
    assert!(finder.floor().is_none() && finder.points.is_empty());
    finder.forget();
    assert!(finder.floor().is_none());
}
