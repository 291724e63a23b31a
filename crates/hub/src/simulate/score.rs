//! How far the room's people and cameras are from those that were there.

use std::collections::HashMap;

use pose::JOINTS;

use super::Scene;
use super::offline::{Track, whole_take};
use crate::V3;
use crate::fuse::{Fusion, RoomPerson};
use crate::geometry::{apart, dlt};
use crate::hub::{self, Ears};
use crate::{Extrinsics, V2};

/// What came of a scene.
#[derive(Clone, Debug, Default)]
pub struct Score {
    /// Mean distance of joints from the truth, millimetres, where both ways know them.
    pub mpjpe_mm: f64,
    /// The same of the plain direct linear transform on the same rays, told who is who.
    pub dlt_mm: f64,
    /// The same of what sees the whole take first (`offline.rs`), where it knows the joint.
    pub offline_mm: f64,
    /// Share of true joints that were told at all.
    pub told: f64,
    /// How often a true person's identity changed.
    pub switches: usize,
    /// Persons told of at a place where nobody was, a moment.
    pub ghosts: f64,
    /// Distances of all moments, millimetres, in order.
    pub all_mm: Vec<f64>,
}

/// What a camera last saw of somebody, and when.
type Rays = (i64, [Option<V2>; JOINTS]);

/// A room's person farther from everybody than this, metres, is not there.
const NOBODY_M: f64 = 0.5;
/// Moments before anybody can be known do not count.
const BEGIN_US: i64 = 3_000_000;

/// Lets the scene's datagrams come to a hub that knows `places`, and compares thirty times a second. `room`: from the scene's room
/// to that of `places`. `without`: datagrams that are lost on purpose.
pub fn score(
    scene: &Scene,
    places: Vec<Extrinsics>,
    room: Extrinsics,
    without: impl Fn(usize, i64) -> bool,
) -> Score {
    let cameras = scene.cameras.len();
    let mut fusion = Fusion::new(places.clone());
    let mut ears = Ears::new(scene.cameras.iter().map(|c| c.0.clone()).collect(), vec![0; cameras]);
    // Of each true person, the last rays of each camera: for the plain transform.
    let mut rays: HashMap<usize, Vec<Option<Rays>>> = HashMap::new();
    let mut who: HashMap<usize, u32> = HashMap::new();
    let mut score = Score::default();
    let (mut sum, mut plain, mut both) = (0.0, 0.0, 0.0);
    let (mut told, mut all, mut ghosts, mut ticks) = (0.0, 0.0, 0.0, 0.0);
    // Everything, for whoever may look at it afterwards.
    let mut tracks: Vec<Vec<Track>> = vec![vec![Track::new(); cameras]; scene.walkers.len()];
    let (mut moments, mut asked) = (Vec::new(), Vec::new());
    let mut next_us = BEGIN_US;
    for packet in scene.packets() {
        if without(packet.camera, packet.true_us) {
            continue;
        }
        while packet.arrived_us > next_us {
            next_us += 33_333;
            let at_us = fusion.newest_us();
            let truth: Vec<[V3; JOINTS]> = scene
                .truth(at_us)
                .iter()
                .map(|p| p.map(|j| (room * nalgebra::Point3::from(j)).coords))
                .collect();
            let people = fusion.people(at_us);
            let paired = pair(&truth, &people);
            ticks += 1.0;
            moments.push(at_us);
            // Whoever is somewhere, nobody knows where, is told of at no place.
            let placed = people.iter().filter(|person| person.joints.iter().any(Option::is_some)).count();
            ghosts += (placed - paired.iter().flatten().count()) as f64;
            for (t, (joints, found)) in truth.iter().zip(&paired).enumerate() {
                all += JOINTS as f64;
                let Some(found) = found.map(|f| &people[f]) else { continue };
                if who.insert(t, found.id).is_some_and(|before| before != found.id) {
                    score.switches += 1;
                }
                for (j, true_at) in joints.iter().enumerate() {
                    let Some(joint) = found.joints[j] else { continue };
                    told += 1.0;
                    let views = rays.get(&t).into_iter().flatten().enumerate().filter_map(|(c, ray)| {
                        let (seen_us, joints) = ray.as_ref()?;
                        (at_us - seen_us < 60_000).then_some((&places[c], joints[j]?))
                    });
                    let Some(simple) = dlt(views) else { continue };
                    let off = (joint.at - true_at).norm();
                    sum += off;
                    plain += (simple - true_at).norm();
                    both += 1.0;
                    asked.push((moments.len() - 1, t, j, *true_at));
                    score.all_mm.push(1e3 * off);
                }
            }
        }
        let (camera, arrived_us, text) = (packet.camera, packet.arrived_us, packet.text);
        let Ok(Some(look)) = ears.hear(&hub::Packet { camera, arrived_us, text }) else { continue };
        let at_us = look.at_us;
        for (id, person) in &packet.who {
            let Some(seen) = look.persons.iter().find(|p| p.id == *id) else { continue };
            tracks[*person][camera].push((at_us, seen.joints.map(|ray| ray.map(|r| (r.at, r.score)))));
            let joints = seen.joints.map(|ray| ray.filter(|r| r.score > 0.3).map(|r| r.at));
            rays.entry(*person).or_insert_with(|| vec![None; cameras])[camera] = Some((at_us, joints));
        }
        fusion.look(look);
    }
    let offline: Vec<_> = tracks.iter().map(|tracks| whole_take(&places, tracks, &moments)).collect();
    let offs = asked.iter().filter_map(|(k, t, j, true_at)| Some((offline[*t][*k][*j]? - true_at).norm()));
    let (off, count) = offs.fold((0.0, 0.0), |(s, n), off| (s + off, n + 1.0));
    score.offline_mm = 1e3 * off / count;
    score.mpjpe_mm = 1e3 * sum / both;
    score.dlt_mm = 1e3 * plain / both;
    score.told = told / all;
    score.ghosts = ghosts / ticks;
    score.all_mm.sort_by(f64::total_cmp);
    score
}

/// Between every two cameras, the worst angle, degrees, and the worst distance, as a part of the true one.
pub fn worst(places: &[Extrinsics], scene: &Scene) -> (f64, f64) {
    let (mut degrees, mut off) = (0.0f64, 0.0f64);
    for a in 0..places.len() {
        for b in a + 1..places.len() {
            let (true_a, true_b) = (&scene.cameras[a].1, &scene.cameras[b].1);
            let got = places[b].rotation * places[a].rotation.inverse();
            let truth = true_b.rotation * true_a.rotation.inverse();
            degrees = degrees.max((got * truth.inverse()).angle().to_degrees());
            let far = apart(true_a, true_b).1;
            off = off.max((apart(&places[a], &places[b]).1 - far).abs() / far);
        }
    }
    (degrees, off)
}

/// For each true person the nearest of the room's, each once.
fn pair(truth: &[[V3; JOINTS]], people: &[RoomPerson]) -> Vec<Option<usize>> {
    let mut all: Vec<(f64, usize, usize)> = Vec::new();
    for (t, joints) in truth.iter().enumerate() {
        for (p, person) in people.iter().enumerate() {
            let offs: Vec<f64> = person
                .joints
                .iter()
                .zip(joints)
                .filter_map(|(a, b)| Some((a.as_ref()?.at - b).norm()))
                .collect();
            let mean = offs.iter().sum::<f64>() / offs.len().max(1) as f64;
            if !offs.is_empty() && mean < NOBODY_M {
                all.push((mean, t, p));
            }
        }
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut paired, mut taken) = (vec![None; truth.len()], vec![false; people.len()]);
    for (_, t, p) in all {
        if paired[t].is_none() && !taken[p] {
            (paired[t], taken[p]) = (Some(p), true);
        }
    }
    paired
}
