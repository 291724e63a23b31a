//! Several rooms, each with a hub of its own, as one building: where each room lies is given, and whoever goes from one to the next
//! keeps their identity.
//!
//! Identities cross where somebody is lost in one room and new in another within four seconds and about as far as one walks meanwhile, or where
//! two rooms see the same floor. Whoever is lost is looked for first, and who was taken for a neighbour and goes elsewhere than that one is
//! somebody new. Two who go through a door at the same moment may be exchanged: rooms say where people are, not who.

use std::collections::HashMap;

use pose::{JOINTS, Joint};
use serde::Deserialize;

use crate::V3;

/// In the place of a joint that is not known.
pub type Joints = [Option<[f64; 4]>; JOINTS];

/// Whom their room's newest line leaves out is not told any more after so long, and whom it names gives way to what another room says.
const GONE_US: i64 = 400_000;
/// Whom it names is told until the next one: so many times as long as lines were apart, and three seconds at most.
const LINES: f64 = 2.5;
const HELD_US: i64 = 3_000_000;
/// For so long an identity waits at the door.
const KEPT_US: i64 = 4_000_000;
/// So near is the same person; and so fast do people walk, m/s.
const NEAR_M: f64 = 0.6;
const WALK_M_S: f64 = 1.2;
/// Two people are never so near each other, metres.
const SAME_M: f64 = 0.3;
/// Farther apart than [`NEAR_M`] for so long, nobody is one person: a moment's error is not that.
const APART_US: i64 = 700_000;
/// Who is apart is looked at so often: in a large building it is dear.
const LOOK_US: i64 = 100_000;
/// What another datagram overtook is late by less than that, and so many moments.
const OVERTAKEN_US: i64 = 1_000_000;
const OVERTAKEN: u64 = 128;

/// What a hub reports of a moment; times are by its own clock.
#[derive(Clone, Debug, Deserialize)]
pub struct RoomReport {
    /// Counts moments.
    pub seq: u64,
    /// Who is there.
    pub persons: Vec<ReportedPerson>,
}

/// A person of a room.
#[derive(Clone, Debug, Deserialize)]
pub struct ReportedPerson {
    /// The room's identity of them.
    pub id: u32,
    /// How many cameras see them.
    pub cameras: usize,
    /// Metres of the room, and sigma.
    pub joints: Joints,
}

/// Where a room lies in the building.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoomPlacement {
    /// Its origin, metres.
    pub at_m: [f64; 3],
    /// Turned about the vertical.
    pub turn_degrees: f64,
}

/// A person of the building.
#[derive(Clone, Debug, PartialEq)]
pub struct Resident {
    /// The same in all rooms.
    pub id: u32,
    /// Which room tells of them.
    pub room: usize,
    /// How many of its cameras see them.
    pub cameras: usize,
    /// Metres of the building, and sigma.
    pub joints: Joints,
}

#[derive(Clone, Debug)]
struct Known {
    who: Resident,
    at: V3,
    seen_us: i64,
    /// Since when they have this identity.
    since_us: i64,
    /// Since when somebody elsewhere has it, too.
    apart_us: Option<i64>,
}

/// A room's newest moment.
#[derive(Clone, Copy, Debug)]
struct Newest {
    seq: u64,
    /// When it came.
    at_us: i64,
    /// How far apart its lines come: the last two, or half of what it was before, for one that is late makes the next one early.
    gap_us: i64,
}

impl Known {
    /// Metres on the floor.
    fn far_m(&self, at: V3) -> f64 {
        (self.at - at).xy().norm()
    }

    /// Whether their room has not spoken of them for so long that they may be elsewhere by now.
    fn is_stale(&self, now_us: i64) -> bool {
        now_us - self.seen_us >= GONE_US
    }
}

/// Everybody in all rooms.
#[derive(Clone, Debug)]
pub struct Building {
    placements: Vec<RoomPlacement>,
    /// By room and by the room's identity; see [`Building::forget`] for rooms beyond the last.
    known: HashMap<(usize, u32), Known>,
    /// The newest moment of each room.
    newest: Vec<Option<Newest>>,
    looked_us: i64,
    next_id: u32,
}

impl Building {
    /// Rooms that lie so.
    pub fn new(placements: Vec<RoomPlacement>) -> Self {
        let newest = vec![None; placements.len()];
        Self { placements, known: HashMap::new(), newest, looked_us: i64::MIN / 2, next_id: 1 }
    }

    /// Takes in what room `room` reported, at `now_us` of the building's clock; not what was overtaken on its way.
    pub fn take(&mut self, room: usize, report: &RoomReport, now_us: i64) {
        // A hub that was started anew counts from 0.
        let is_old = |Newest { seq, at_us, .. }: Newest| {
            report.seq < seq && seq - report.seq < OVERTAKEN && now_us - at_us < OVERTAKEN_US
        };
        let before = self.newest[room];
        if before.is_some_and(is_old) {
            return;
        }
        if before.is_some_and(|newest| report.seq < newest.seq) {
            self.forget(room);
        }
        let gap_us = before.map_or(0, |newest| (now_us - newest.at_us).max(newest.gap_us / 2));
        self.newest[room] = Some(Newest { seq: report.seq, at_us: now_us, gap_us });
        self.known.retain(|_, k| now_us - k.seen_us < KEPT_US);
        for person in &report.persons {
            let joints = person.joints.map(|j| j.map(|j| self.placements[room].place(j)));
            let Some(at) = middle(&joints) else { continue };
            let (id, since_us, apart_us) = match self.known.get(&(room, person.id)) {
                Some(known) => (known.who.id, known.since_us, known.apart_us),
                None => {
                    let id = self.comes_from(room, report, at, now_us).unwrap_or_else(|| self.new_id());
                    (id, now_us, None)
                }
            };
            let who = Resident { id, room, cameras: person.cameras, joints };
            self.known.insert((room, person.id), Known { who, at, seen_us: now_us, since_us, apart_us });
        }
        if now_us - self.looked_us >= LOOK_US {
            self.looked_us = now_us;
            self.part(now_us);
        }
    }

    /// The room's hub was started anew, and its identities mean nobody any more: everybody is lost, under the building's identity
    /// and in a room beyond the last, until place says who is who.
    fn forget(&mut self, room: usize) {
        let beyond = self.placements.len() + room;
        let (lost, others) = self.known.drain().partition::<HashMap<_, _>, _>(|(key, _)| key.0 == room);
        self.known = others;
        for mut known in lost.into_values() {
            known.who.cameras = 0;
            self.known.insert((beyond, known.who.id), known);
        }
    }

    /// Whether their room has them now, or had until just now.
    fn is_here(&self, known: &Known, now_us: i64) -> bool {
        let is_held = |newest: &Newest| {
            let held_us = ((LINES * newest.gap_us as f64) as i64).min(HELD_US);
            newest.at_us == known.seen_us && now_us - known.seen_us < held_us
        };
        !known.is_stale(now_us) || self.newest[known.who.room].as_ref().is_some_and(is_held)
    }

    /// Whether its cameras see them now.
    fn is_seen(&self, known: &Known, now_us: i64) -> bool {
        known.who.cameras > 0 && self.is_here(known, now_us)
    }

    fn new_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Whose identity somebody new in `room` has had elsewhere.
    fn comes_from(&self, room: usize, report: &RoomReport, at: V3, now_us: i64) -> Option<u32> {
        let here = |id: u32| {
            report.persons.iter().any(|p| self.known.get(&(room, p.id)).is_some_and(|k| k.who.id == id))
        };
        let may_be = |k: &&Known| {
            let walked_m = WALK_M_S * (now_us - k.seen_us) as f64 / 1e6;
            k.far_m(at) - walked_m < NEAR_M && !here(k.who.id)
        };
        // Whoever is still seen elsewhere only if they stand in both rooms, or if nobody else is missed.
        let rank = |k: &Known| {
            let is_other = k.who.room != room && self.is_seen(k, now_us) && k.far_m(at) > SAME_M;
            (is_other, k.far_m(at), k.who.id)
        };
        let nearest = self
            .known
            .values()
            .filter(may_be)
            .min_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal));
        nearest.map(|k| k.who.id)
    }

    /// One identity at two places is two people: whoever has had it for less time gets another.
    fn part(&mut self, now_us: i64) {
        let mut all: Vec<(u32, i64, (usize, u32))> =
            self.known.iter().map(|(key, k)| (k.who.id, k.since_us, *key)).collect();
        all.sort_unstable();
        for alike in all.chunk_by(|a, b| a.0 == b.0) {
            let seen = alike.iter().map(|a| a.2).filter(|key| self.is_seen(&self.known[key], now_us));
            let (stale, fresh): (Vec<_>, Vec<_>) = seen.partition(|key| self.known[key].is_stale(now_us));
            // Whoever walks on before another room is not apart from where a slow one saw them last.
            let mut seen = if fresh.is_empty() { stale } else { fresh }.into_iter();
            let Some(oldest) = seen.next() else { continue };
            for other in seen {
                let (a, b) = (&self.known[&oldest], &self.known[&other]);
                // A room itself says that two of one moment are two.
                let are_two = oldest.0 == other.0 && a.seen_us == b.seen_us;
                let is_apart = oldest.0 != other.0 && a.far_m(b.at) > NEAR_M;
                let since_us = is_apart.then(|| b.apart_us.unwrap_or(now_us));
                let is_other = are_two || since_us.is_some_and(|since| now_us - since >= APART_US);
                let new_id = is_other.then(|| self.new_id());
                if let Some(known) = self.known.get_mut(&other) {
                    known.apart_us = since_us;
                    if let Some(id) = new_id {
                        (known.who.id, known.since_us, known.apart_us) = (id, now_us, None);
                    }
                }
            }
        }
    }

    /// Everybody at `now_us`, by identity; who is seen from two rooms by the one with more cameras, unless only the other has spoken just now.
    pub fn residents(&self, now_us: i64) -> Vec<&Resident> {
        let mut all: Vec<&Known> = self.known.values().filter(|k| self.is_here(k, now_us)).collect();
        all.sort_by_key(|k| (k.who.id, k.is_stale(now_us), std::cmp::Reverse(k.who.cameras), k.who.room));
        all.dedup_by_key(|k| k.who.id);
        all.into_iter().map(|k| &k.who).collect()
    }
}

impl RoomPlacement {
    fn place(&self, [x, y, z, sigma]: [f64; 4]) -> [f64; 4] {
        let (sin, cos) = self.turn_degrees.to_radians().sin_cos();
        let [ax, ay, az] = self.at_m;
        [ax + x * cos - y * sin, ay + x * sin + y * cos, az + z, sigma]
    }
}

fn middle(joints: &Joints) -> Option<V3> {
    let known = Joint::TRUNK.iter().filter_map(|&j| joints[j as usize]);
    let (sum, count) = known.fold((V3::zeros(), 0.0), |(s, n), j| (s + V3::new(j[0], j[1], j[2]), n + 1.0));
    (count > 0.0).then(|| sum / count)
}

#[cfg(test)]
mod tests;
