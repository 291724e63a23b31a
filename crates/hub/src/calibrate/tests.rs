//! A minute of one walking person before virtual cameras.

use super::*;
use crate::geometry::{apart, centre};
use crate::hub::{Ears, Packet};
use crate::simulate::{Level, Scene, Setting};

/// What comes to a hub, by its own estimates of the clocks.
fn looks(scene: &Scene) -> Vec<Look> {
    let lenses = scene.cameras.iter().map(|c| c.0.clone()).collect();
    let mut ears = Ears::new(lenses, vec![0; scene.cameras.len()]);
    let mut looks = Vec::new();
    for p in scene.packets() {
        let packet = Packet { camera: p.camera, arrived_us: p.arrived_us, text: p.text };
        looks.extend(ears.hear(&packet).unwrap());
    }
    looks
}

/// The worst angle in degrees, and distance in parts of the true one, between every two cameras.
fn worst(found: &Calibration, scene: &Scene) -> (f64, f64) {
    let (mut degrees, mut off) = (0.0f64, 0.0f64);
    for a in 0..scene.cameras.len() {
        for b in a + 1..scene.cameras.len() {
            let (true_a, true_b) = (scene.cameras[a].1, scene.cameras[b].1);
            let (got_a, got_b) = (found.places[a], found.places[b]);
            let got = got_b.rotation * got_a.rotation.inverse();
            let truth = true_b.rotation * true_a.rotation.inverse();
            degrees = degrees.max((got * truth.inverse()).angle().to_degrees());
            let (_, d) = apart(&true_a, &true_b);
            off = off.max((apart(&got_a, &got_b).1 - d).abs() / d);
        }
    }
    (degrees, off)
}

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
    let found = calibrate(&looks(&scene), 3, known, 1).unwrap();
    let (degrees, off) = worst(&found, &scene);
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
        let found = calibrate(&looks(&scene), cameras, known, 1).unwrap();
        let (degrees, off) = worst(&found, &scene);
        assert!(degrees < 1.0 && off < 0.02, "{cameras} cameras: {degrees}° {off}");
    }
}

#[test]
fn two_who_walk_at_the_same_time_do_as_well() {
    let scene = Scene::new(Setting { persons: 2, seed: 6, ..Setting::default() });
    let stature = 0.5 * (scene.walkers[0].stature_m + scene.walkers[1].stature_m);
    let found = calibrate(&looks(&scene), 4, Known { stature_m: Some(stature), distance: None }, 1).unwrap();
    let (degrees, off) = worst(&found, &scene);
    println!("two persons: {degrees:.2} degrees, {:.1} %", 100.0 * off);
    assert!(degrees < 1.0 && off < 0.03, "{degrees}° {off}");
}

#[test]
fn who_sees_nobody_is_named() {
    let scene = Scene::new(Setting { cameras: 2, seconds: 20.0, ..Setting::default() });
    let mut seen = looks(&scene);
    seen.retain(|l| l.camera == 0 || l.at_us < 3_000_000);
    let told = calibrate(&seen, 2, Known::default(), 1).unwrap_err();
    assert!(matches!(told, CalibrateError::NobodyThere { camera: 1, .. }), "{told}");
    assert_eq!(calibrate(&[], 1, Known::default(), 1).unwrap_err(), CalibrateError::TooFew);
}
