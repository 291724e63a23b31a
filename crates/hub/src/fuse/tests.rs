//! People of recorded motion before virtual cameras that stand where they are said to.

use super::*;
use crate::clock::Clock;
use crate::line;
use crate::simulate::{Scene, Setting, score};

fn places(scene: &Scene) -> Vec<Place> {
    scene.cameras.iter().map(|c| c.1).collect()
}

#[test]
fn four_cameras_are_within_35_mm_and_nearer_than_the_plain_transform() {
    for seed in [1, 2] {
        let scene = Scene::new(Setting { seed, seconds: 25.0, ..Setting::default() });
        let s = score(&scene, places(&scene), Place::identity(), |_, _| false);
        assert!(s.mpjpe_mm < 35.0 && s.mpjpe_mm < 0.85 * s.dlt_mm, "{} {}", s.mpjpe_mm, s.dlt_mm);
        assert!(
            s.told > 0.98 && s.switches == 0 && s.ghosts < 0.01,
            "{} {} {}",
            s.told,
            s.switches,
            s.ghosts
        );
    }
}

#[test]
fn three_who_cross_keep_who_they_are_while_cameras_go_and_come() {
    let scene = Scene::new(Setting { seed: 3, seconds: 25.0, persons: 3, ..Setting::default() });
    // Of four cameras two are away for five seconds each.
    let away = |camera: usize, at_us: i64| {
        let s = at_us / 1_000_000;
        camera == 0 && (6..11).contains(&s) || camera == 2 && (9..14).contains(&s)
    };
    let s = score(&scene, places(&scene), Place::identity(), away);
    assert!(s.switches == 0 && s.ghosts < 0.02, "{} {}", s.switches, s.ghosts);
    assert!(s.mpjpe_mm < 40.0 && s.told > 0.97, "{} {}", s.mpjpe_mm, s.told);
}

/// A room that hears `first` until `from_us`, then `second`; says which cameras it takes for moved until the change, and at the end.
fn moved(first: &Scene, second: &Scene, from_us: i64) -> [Vec<usize>; 2] {
    let mut fusion = Fusion::new(places(first));
    let mut clocks = vec![Clock::default(); first.cameras.len()];
    let mut before = Vec::new();
    let mut packets: Vec<_> = first.packets().into_iter().filter(|p| p.true_us < from_us).collect();
    packets.extend(second.packets().into_iter().filter(|p| p.true_us >= from_us));
    for p in packets {
        let read = line::read(&p.text, &first.cameras[p.camera].0).unwrap();
        clocks[p.camera].arrived(read.emitted_us, p.arrived_us);
        let at_us = clocks[p.camera].hub_us(read.captured_us).unwrap();
        fusion.look(Look { camera: p.camera, at_us, persons: read.persons });
        if p.true_us < from_us {
            before.extend(fusion.moved());
        }
    }
    [before, fusion.moved()]
}

#[test]
fn a_camera_that_was_moved_is_named_and_no_other() {
    for degrees in [2.0f64, 25.0] {
        let scene = Scene::new(Setting { seed: 4, seconds: 30.0, ..Setting::default() });
        let mut turned = scene.clone();
        let by = nalgebra::UnitQuaternion::from_euler_angles(0.0, degrees.to_radians(), 0.0);
        turned.cameras[1].1 = by * turned.cameras[1].1;
        let [before, after] = moved(&scene, &turned, 12_000_000);
        assert_eq!((before, after), (vec![], vec![1]), "{degrees} degrees");
    }
}

#[test]
fn an_empty_room_is_empty_and_a_picture_alone_is_nobody() {
    let scene = Scene::new(Setting { cameras: 2, seconds: 4.0, ..Setting::default() });
    let mut fusion = Fusion::new(places(&scene));
    for p in scene.packets().iter().filter(|p| p.camera == 0) {
        let read = line::read(&p.text, &scene.cameras[0].0).unwrap();
        fusion.look(Look { camera: 0, at_us: p.true_us, persons: read.persons });
    }
    assert_eq!(fusion.people(4_000_000), []);
}
