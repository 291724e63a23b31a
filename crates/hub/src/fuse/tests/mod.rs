//! People of recorded motion before virtual cameras that stand where they are said to, and rooms that are made by hand.

mod joints;
mod moved;
mod slow;
mod who;

use super::*;
use crate::geometry::apart;
use crate::hub::{CameraInputs, Packet};
use crate::line;
use crate::simulate::{Scene, Setting, score};

fn places(scene: &Scene) -> Vec<Extrinsics> {
    scene.cameras.iter().map(|c| c.1).collect()
}

/// What came of a room in which cameras were moved.
struct Moved {
    before: Vec<usize>,
    after: Vec<usize>,
    off: Vec<(f64, f64)>,
    fusion: Fusion,
}

/// A room that hears `first` until `from_us`, then `second`: the cameras that it took for moved until the change, and after it; and how far
/// each camera's place is from the truth in the end, degrees and metres.
fn moved(first: &Scene, second: &Scene, from_us: i64) -> Moved {
    let mut fusion = Fusion::new(places(first));
    let lenses: Vec<_> = first.cameras.iter().map(|c| c.0.clone()).collect();
    let mut inputs = CameraInputs::new(lenses, vec![0; first.cameras.len()]);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut packets: Vec<_> = first.packets().into_iter().filter(|p| p.true_us < from_us).collect();
    packets.extend(second.packets().into_iter().filter(|p| p.true_us >= from_us));
    for p in packets {
        let packet = Packet { camera: p.camera, arrived_us: p.arrived_us, text: p.text };
        inputs.receive(&packet).unwrap().into_iter().for_each(|look| fusion.look(look));
        if p.true_us < from_us { &mut before } else { &mut after }.extend(fusion.moved());
    }
    after.dedup();
    let off = fusion.places().iter().zip(places(second)).map(|(found, truth)| {
        let (radians, metres) = apart(found, &truth);
        (radians.to_degrees(), metres)
    });
    Moved { before, after, off: off.collect(), fusion }
}

/// Whoever stands with every joint round `at`, known to a centimetre.
fn body_at(id: u32, at: V3, born_us: i64, seen_us: &[i64]) -> Body {
    let joint = |j: usize| {
        let at = at + V3::new(0.02 * j as f64, 0.0, 0.0);
        Some(joint::JointFilter::new(at, nalgebra::Matrix3::identity() * 1e-4))
    };
    let mut body = Body::new(id, born_us, std::array::from_fn(joint), seen_us.len());
    body.seen_us = seen_us.to_vec();
    body
}

fn seen(id: u32, at: V2) -> Seen {
    let ray =
        |j: usize| Some(line::Ray { at: at + V2::new(0.005 * j as f64, 0.0), sigma: 0.005, score: 0.9 });
    Seen { id, score: 0.9, joints: std::array::from_fn(ray) }
}

/// Cameras at one place: who is told, renamed or ended asks for none.
fn room_of(bodies: Vec<Body>, newest_us: i64) -> Fusion {
    let mut fusion = Fusion::new(vec![Extrinsics::identity(); bodies[0].seen_us.len()]);
    (fusion.next_id, fusion.bodies, fusion.newest_us) = (1 + bodies.len() as u32, bodies, newest_us);
    fusion
}

/// A room in which camera 1 comes so much later than the others: how far joints are from the truth on average, millimetres, how many people
/// are told a moment, and in which share of the looks a camera was taken for moved.
fn late(seed: u64, persons: usize, late_us: i64, seconds: f64) -> (f64, f64, f64) {
    let scene = Scene::new(Setting { seed, persons, seconds, ..Setting::default() });
    let mut fusion = Fusion::new(places(&scene));
    let mut looks: Vec<(i64, Look)> = Vec::new();
    for p in scene.packets() {
        let persons = line::read(&p.text, &scene.cameras[p.camera].0).unwrap().persons;
        let comes_us = p.true_us + if p.camera == 1 { late_us } else { 0 };
        looks.push((comes_us, Look { camera: p.camera, at_us: p.true_us, persons }));
    }
    looks.sort_by_key(|look| look.0);
    let count = looks.len() as f64;
    let (mut off_m, mut told, mut moments, mut moved) = (0.0, 0.0, 0.0, 0.0);
    for (k, (_, look)) in looks.into_iter().enumerate() {
        fusion.look(look);
        moved += f64::from(!fusion.moved().is_empty());
        if k % 10 != 0 || fusion.newest_us < 3_000_000 {
            continue;
        }
        let truth = scene.truth(fusion.newest_us);
        moments += 1.0;
        for person in fusion.people(fusion.newest_us) {
            told += 1.0;
            let off = |truth: &[V3; JOINTS]| {
                let both =
                    person.joints.iter().zip(truth).filter_map(|(a, b)| Some((a.as_ref()?.at - b).norm()));
                let (sum, count) = both.fold((0.0, 0.0), |(s, n), m| (s + m, n + 1.0));
                sum / count
            };
            off_m += truth.iter().map(off).fold(f64::MAX, f64::min);
        }
    }
    (1e3 * off_m / told, told / moments, moved / count)
}
