//! A minute of one walking person before virtual cameras.

use super::*;
use crate::geometry::{apart, centre};
use crate::simulate::{Level, Scene, Setting, worst};

#[test]
fn without_error_the_cameras_are_where_they_are() {
    let scene = Scene::new(Setting {
        cameras: 3,
        level: Level::Exact,
        rough: false,
        seconds: 40.0,
        ..Setting::default()
    });
    let known = Known { stature_m: Some(scene.walkers[0].stature_m), distance: None };
    let found = calibrate(&scene.looks().unwrap(), 3, known, 1).unwrap();
    let (degrees, off) = worst(&found.places, &scene);
    assert!(degrees < 0.2 && off < 0.02, "{degrees}° {off}");
    for ((_, truth), got) in scene.cameras.iter().zip(&found.places) {
        // The heights above the floor hold the floor to its place and tilt.
        assert!((centre(truth).z - centre(got).z).abs() < 0.06, "{} {}", centre(truth).z, centre(got).z);
    }
    let eye = centre(&found.places[0]);
    assert!(eye.x.abs() < 1e-6 && eye.y.abs() < 1e-6);
}

#[test]
fn a_minute_of_a_walking_person_places_cameras_within_a_degree_and_two_hundredths() {
    for cameras in [2, 4] {
        let scene = Scene::new(Setting { cameras, seed: 5, ..Setting::default() });
        let known = Known { stature_m: Some(scene.walkers[0].stature_m), distance: None };
        let found = calibrate(&scene.looks().unwrap(), cameras, known, 1).unwrap();
        let (degrees, off) = worst(&found.places, &scene);
        assert!(degrees < 1.0 && off < 0.02, "{cameras} cameras: {degrees}° {off}");
    }
}

#[test]
fn a_distance_that_makes_giants_or_dwarfs_is_none() {
    let scene = Scene::new(Setting { cameras: 2, seed: 5, ..Setting::default() });
    let (looks, (_, far_m)) = (scene.looks().unwrap(), apart(&scene.cameras[0].1, &scene.cameras[1].1));
    let found = |metres| calibrate(&looks, 2, Known { stature_m: None, distance: Some((0, 1, metres)) }, 1);
    let stature_m = found(far_m).unwrap().stature_m;
    assert!((stature_m - scene.walkers[0].stature_m).abs() < 0.1, "{stature_m}");
    // Feet for metres, and a fifth.
    for by in [3.28, 0.2] {
        let told = found(by * far_m).unwrap_err();
        let CalibrateError::NoDistance { usual_m, .. } = told else { panic!("{told}") };
        assert!((usual_m / far_m - 1.0).abs() < 0.15, "{told}");
    }
}

#[test]
fn two_who_walk_at_the_same_time_do_as_well() {
    let scene = Scene::new(Setting { persons: 2, seed: 6, ..Setting::default() });
    let stature = 0.5 * (scene.walkers[0].stature_m + scene.walkers[1].stature_m);
    let found =
        calibrate(&scene.looks().unwrap(), 4, Known { stature_m: Some(stature), distance: None }, 1).unwrap();
    let (degrees, off) = worst(&found.places, &scene);
    println!("two persons: {degrees:.2} degrees, {:.1} %", 100.0 * off);
    assert!(degrees < 1.0 && off < 0.03, "{degrees}° {off}");
}

#[test]
fn who_sees_nobody_is_named() {
    let scene = Scene::new(Setting { cameras: 2, seconds: 20.0, ..Setting::default() });
    let mut seen = scene.looks().unwrap();
    seen.retain(|l| l.camera == 0 || l.at_us < 3_000_000);
    let told = calibrate(&seen, 2, Known::default(), 1).unwrap_err();
    assert!(matches!(told, CalibrateError::NobodyThere { camera: 1, .. }), "{told}");
    assert_eq!(calibrate(&[], 1, Known::default(), 1).unwrap_err(), CalibrateError::TooFew);
}

#[test]
fn metres_between_two_cameras_are_the_rooms_and_a_camera_whose_stamps_are_late_is_put_right() {
    let (cameras, seconds) = (3, 40.0);
    let exact = Setting { level: Level::Exact, rough: false, ..Setting::default() };
    let scene = Scene::new(Setting { cameras, seconds, ..exact });
    let mut looks = scene.looks().unwrap();
    looks.iter_mut().filter(|l| l.camera == 2).for_each(|l| l.at_us += 12_000);
    let (_, metres) = crate::geometry::apart(&scene.cameras[1].1, &scene.cameras[2].1);
    let known = Known { stature_m: Some(1.0), distance: Some((1, 2, metres)) };
    let found = calibrate(&looks, cameras, known, 1).unwrap();
    let (degrees, off) = worst(&found.places, &scene);
    assert!(degrees < 0.3 && off < 0.01, "{degrees}° {off}");
    assert!((found.stature_m - scene.walkers[0].stature_m).abs() < 0.1, "{}", found.stature_m);
    assert!((found.offsets_us[2] + 12_000.0).abs() < 2_000.0, "{:?}", found.offsets_us);
    assert!(found.offsets_us[1].abs() < 2_000.0 && found.offsets_us[0] == 0.0, "{:?}", found.offsets_us);
}
