//! Cameras that were moved: which, and where they stand now.

use super::*;

#[test]
fn a_camera_that_was_moved_is_named_and_placed_anew_and_no_other() {
    for (degrees, metres, persons) in [(2.0f64, 0.0, 1), (25.0, -1.2, 1), (12.0, -0.5, 3)] {
        // Where several walk it takes longer until one of them has been seen enough.
        let seconds = if persons > 1 { 70.0 } else { 40.0 };
        let scene = Scene::new(Setting { seed: 4, seconds, persons, ..Setting::default() });
        let mut turned = scene.clone();
        let by = nalgebra::UnitQuaternion::from_euler_angles(0.0, degrees.to_radians(), 0.0);
        let shift = nalgebra::Translation3::new(metres, 0.0, 0.0);
        turned.cameras[1].1 = shift * (by * turned.cameras[1].1);
        let Moved { before, after, off, mut fusion } = moved(&scene, &turned, 10_000_000);
        assert_eq!((before, after), (vec![], vec![1]), "{degrees} degrees, {persons} persons");
        assert!(fusion.moved().is_empty() && fusion.placed_anew().contains(&1), "{degrees} degrees");
        let (angle, away) = off[1];
        eprintln!(
            "turned by {degrees}°, carried {metres} m, {persons} persons: placed anew within {angle:.2}° and {away:.3} m"
        );
        assert!(angle < 1.5 && away < 0.10, "{degrees} degrees, {persons} persons: {angle} {away}");
        assert!(off.iter().enumerate().all(|(c, o)| c == 1 || o.0 + o.1 < 1e-9), "{off:?}");
    }
}

#[test]
fn a_camera_that_was_put_back_is_there_again() {
    let mut fusion = room_of(vec![body_at(1, V3::z(), 0, &[1, 1])], 1_000_000);
    fusion.away[1] = Some(Anew::default());
    fusion.tidy();
    assert!(fusion.away.iter().all(Option::is_none));
}

#[test]
fn a_camera_misses_whom_it_should_see_and_nobody_beside_its_picture() {
    for (x, moved) in [(0.0, vec![0]), (3.0, vec![])] {
        // Cameras 1 and 2 see who stands there, camera 0 a stranger.
        let at_us = 9_000_000;
        let mut fusion = room_of(vec![body_at(1, V3::new(x, 0.0, 4.0), 0, &[0, at_us, at_us])], at_us);
        for k in 0..250 {
            let look = Look { camera: 0, at_us: at_us + 40_000 * k, persons: vec![seen(3, V2::zeros())] };
            fusion.bodies[0].seen_us = vec![0, look.at_us, look.at_us];
            fusion.watch(&look, &[None]);
        }
        assert_eq!(fusion.moved(), moved, "{x} m aside");
    }
}

#[test]
fn a_camera_that_is_late_was_not_moved_and_draws_nobody_away() {
    for late_us in [100_000, 300_000, 600_000] {
        let (mm, told, moved) = late(2, 1, late_us, 15.0);
        assert!(
            mm < 50.0 && (told - 1.0).abs() < 0.01 && moved == 0.0,
            "{late_us} us: {mm} mm, {told}, {moved}"
        );
    }
}
