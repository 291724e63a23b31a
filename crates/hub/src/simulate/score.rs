//! How far the room's people and cameras are from those that were there.

use pose::JOINTS;

use super::Scene;
use super::offline::{Track, whole_take};
use crate::V3;
use crate::fuse::{Fusion, RoomPerson};
use crate::geometry::{apart, dlt};
use crate::hub::{self, CameraInputs};
use crate::line::Look;
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

/// From one comparison to the next.
const STEP_US: i64 = 33_333;

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
    let mut inputs = CameraInputs::new(scene.cameras.iter().map(|c| c.0.clone()).collect(), vec![0; cameras]);
    let mut so_far = Comparison::new(places, scene.walkers.len());
    let mut next_us = BEGIN_US;
    for packet in scene.packets() {
        if without(packet.camera, packet.true_us) {
            continue;
        }
        while packet.arrived_us > next_us {
            next_us += STEP_US;
            let at_us = fusion.newest_us();
            let in_room = |joint| (room * nalgebra::Point3::from(joint)).coords;
            let truth: Vec<[V3; JOINTS]> =
                scene.truth(at_us).iter().map(|joints| joints.map(in_room)).collect();
            so_far.compare(at_us, &truth, &fusion.people(at_us));
        }
        let (camera, arrived_us, text) = (packet.camera, packet.arrived_us, packet.text);
        let Ok(Some(look)) = inputs.receive(&hub::Packet { camera, arrived_us, text }) else { continue };
        so_far.keep(&look, &packet.who);
        fusion.look(look);
    }
    so_far.score()
}

/// What the room's people and those that were there have been so far.
struct Comparison {
    places: Vec<Extrinsics>,
    /// Of each true person, the last rays of each camera: for the plain transform.
    rays: Vec<Vec<Option<Rays>>>,
    /// Of each true person, everything that each camera saw: for what sees the whole take first.
    tracks: Vec<Vec<Track>>,
    /// The identity that each true person had last.
    ids: Vec<Option<u32>>,
    moments: Vec<i64>,
    /// The joints that all three ways are asked for: number of the moment, true person, joint, where it was.
    asked: Vec<(usize, usize, usize, V3)>,
    /// Distances from the truth, metres, of those joints.
    offs: Vec<f64>,
    dlt_offs: f64,
    /// True joints, those that were told, and persons where nobody was.
    joints: f64,
    told: f64,
    ghosts: f64,
    switches: usize,
}

impl Comparison {
    fn new(places: Vec<Extrinsics>, persons: usize) -> Self {
        let cameras = places.len();
        Self {
            places,
            rays: vec![vec![None; cameras]; persons],
            tracks: vec![vec![Track::new(); cameras]; persons],
            ids: vec![None; persons],
            moments: Vec::new(),
            asked: Vec::new(),
            offs: Vec::new(),
            dlt_offs: 0.0,
            joints: 0.0,
            told: 0.0,
            ghosts: 0.0,
            switches: 0,
        }
    }

    /// Keeps what a camera saw of whom: `who` has the board's identities and the true persons.
    fn keep(&mut self, look: &Look, who: &[(u32, usize)]) {
        let (camera, at_us) = (look.camera, look.at_us);
        for &(id, person) in who {
            let Some(seen) = look.persons.iter().find(|p| p.id == id) else { continue };
            let all = seen.joints.map(|ray| ray.map(|r| (r.at, r.score)));
            self.tracks[person][camera].push((at_us, all));
            let sure = seen.joints.map(|ray| ray.filter(|r| r.score > 0.3).map(|r| r.at));
            self.rays[person][camera] = Some((at_us, sure));
        }
    }

    /// Compares one moment.
    fn compare(&mut self, at_us: i64, truth: &[[V3; JOINTS]], people: &[RoomPerson]) {
        let paired = pair(truth, people);
        self.moments.push(at_us);
        // A person whose place nobody knows is told of at no place.
        let placed = people.iter().filter(|person| person.joints.iter().any(Option::is_some)).count();
        self.ghosts += (placed - paired.iter().flatten().count()) as f64;
        for (person, (joints, found)) in truth.iter().zip(&paired).enumerate() {
            self.joints += JOINTS as f64;
            let Some(found) = found.map(|f| &people[f]) else { continue };
            let before = self.ids[person].replace(found.id);
            self.switches += usize::from(before.is_some_and(|before| before != found.id));
            for (j, true_at) in joints.iter().enumerate() {
                let Some(joint) = found.joints[j] else { continue };
                self.told += 1.0;
                let Some(simple) = dlt(self.views(person, j, at_us)) else { continue };
                self.dlt_offs += (simple - true_at).norm();
                self.offs.push((joint.at - true_at).norm());
                self.asked.push((self.moments.len() - 1, person, j, *true_at));
            }
        }
    }

    /// The rays of a true person's joint that are not too old at `at_us`.
    fn views(&self, person: usize, joint: usize, at_us: i64) -> impl Iterator<Item = (&Extrinsics, V2)> {
        self.rays[person].iter().zip(&self.places).filter_map(move |(ray, place)| {
            let (seen_us, joints) = ray.as_ref()?;
            (at_us - seen_us < 60_000).then_some((place, joints[joint]?))
        })
    }

    /// What came of all moments.
    fn score(self) -> Score {
        let of = |tracks: &Vec<Track>| whole_take(&self.places, tracks, &self.moments);
        let offline: Vec<_> = self.tracks.iter().map(of).collect();
        let offs =
            self.asked.iter().filter_map(|(k, t, j, true_at)| Some((offline[*t][*k][*j]? - true_at).norm()));
        let (off, count) = offs.fold((0.0, 0.0), |(s, n), off| (s + off, n + 1.0));
        let both = self.offs.len() as f64;
        let mpjpe_mm = 1e3 * self.offs.iter().sum::<f64>() / both;
        let mut all_mm: Vec<f64> = self.offs.into_iter().map(|off| 1e3 * off).collect();
        all_mm.sort_by(f64::total_cmp);
        Score {
            mpjpe_mm,
            dlt_mm: 1e3 * self.dlt_offs / both,
            offline_mm: 1e3 * off / count,
            told: self.told / self.joints,
            switches: self.switches,
            ghosts: self.ghosts / self.moments.len() as f64,
            all_mm,
        }
    }
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
