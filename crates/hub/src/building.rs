//! Several rooms, each with a hub of its own, as one building: where each room lies is given, and whoever goes from one to the next
//! keeps their identity.
//!
//! Identities cross where somebody is lost in one room and new in another within four seconds and about as far as one walks meanwhile, or where
//! two rooms see the same floor. Two who go through a door at the same moment may be exchanged: rooms say where people are, not who.

use std::collections::HashMap;

use pose::JOINTS;
use serde::Deserialize;

use crate::V3;

/// In the place of a joint that is not known.
pub type Joints = [Option<[f64; 4]>; JOINTS];

/// Not told any more.
const GONE_US: i64 = 400_000;
/// For so long an identity waits at the door.
const KEPT_US: i64 = 4_000_000;
/// So near is the same person; and so fast do people walk, m/s.
const NEAR_M: f64 = 0.6;
const WALK_M_S: f64 = 1.2;

/// What a hub says of a moment; times are by its own clock.
#[derive(Clone, Debug, Deserialize)]
pub struct Said {
    /// Counts moments.
    pub seq: u64,
    /// Who is there.
    pub persons: Vec<SaidPerson>,
}

/// A person of a room.
#[derive(Clone, Debug, Deserialize)]
pub struct SaidPerson {
    /// The room's identity of them.
    pub id: u32,
    /// How many cameras see them.
    pub cameras: usize,
    /// Metres of the room, and sigma.
    pub joints: Joints,
}

/// Where a room lies in the building.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lies {
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
}

/// Everybody in all rooms.
#[derive(Clone, Debug)]
pub struct Building {
    lies: Vec<Lies>,
    /// By room and by the room's identity.
    known: HashMap<(usize, u32), Known>,
    next_id: u32,
}

impl Building {
    /// Rooms that lie so.
    pub fn new(lies: Vec<Lies>) -> Self {
        Self { lies, known: HashMap::new(), next_id: 1 }
    }

    /// Takes in what room `room` said, at `now_us` of the building's clock.
    pub fn take(&mut self, room: usize, said: &Said, now_us: i64) {
        self.known.retain(|_, k| now_us - k.seen_us < KEPT_US);
        for person in &said.persons {
            let joints = person.joints.map(|j| j.map(|j| self.lies[room].place(j)));
            let Some(at) = middle(&joints) else { continue };
            let id = match self.known.get(&(room, person.id)) {
                Some(known) => known.who.id,
                None => self.comes_from(room, said, at, now_us).unwrap_or_else(|| {
                    self.next_id += 1;
                    self.next_id - 1
                }),
            };
            let who = Resident { id, room, cameras: person.cameras, joints };
            self.known.insert((room, person.id), Known { who, at, seen_us: now_us });
        }
    }

    /// Whose identity somebody new in `room` has had elsewhere.
    fn comes_from(&self, room: usize, said: &Said, at: V3, now_us: i64) -> Option<u32> {
        let here = |id: u32| {
            said.persons.iter().any(|p| self.known.get(&(room, p.id)).is_some_and(|k| k.who.id == id))
        };
        let far = |k: &Known| (k.at - at).xy().norm() - WALK_M_S * (now_us - k.seen_us) as f64 / 1e6;
        self.known
            .values()
            .filter(|k| far(k) < NEAR_M && !here(k.who.id))
            // Whoever is still seen at the same place first.
            .min_by(|a, b| {
                ((a.at - at).xy().norm(), a.who.id)
                    .partial_cmp(&((b.at - at).xy().norm(), b.who.id))
                    .unwrap_or(std::cmp::Ordering::Equal)
            })
            .map(|k| k.who.id)
    }

    /// Everybody at `now_us`, by identity; who is seen from two rooms by the one with more cameras.
    pub fn residents(&self, now_us: i64) -> Vec<&Resident> {
        let mut all: Vec<&Known> = self.known.values().filter(|k| now_us - k.seen_us < GONE_US).collect();
        all.sort_by_key(|k| (k.who.id, std::cmp::Reverse(k.who.cameras), k.who.room));
        all.dedup_by_key(|k| k.who.id);
        all.into_iter().map(|k| &k.who).collect()
    }
}

impl Lies {
    fn place(&self, [x, y, z, sigma]: [f64; 4]) -> [f64; 4] {
        let (sin, cos) = self.turn_degrees.to_radians().sin_cos();
        let [ax, ay, az] = self.at_m;
        [ax + x * cos - y * sin, ay + x * sin + y * cos, az + z, sigma]
    }
}

fn middle(joints: &Joints) -> Option<V3> {
    let known = [5, 6, 11, 12].iter().filter_map(|&j| joints[j]);
    let (sum, count) = known.fold((V3::zeros(), 0.0), |(s, n), j| (s + V3::new(j[0], j[1], j[2]), n + 1.0));
    (count > 0.0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(persons: &[(u32, [f64; 2])]) -> Said {
        let person = |(id, [x, y]): &(u32, [f64; 2])| SaidPerson {
            id: *id,
            cameras: 2,
            joints: [Some([*x, *y, 1.0, 0.02]); JOINTS],
        };
        Said { seq: 0, persons: persons.iter().map(person).collect() }
    }

    fn building() -> Building {
        // The second room begins where the first ends, and is turned by a quarter.
        let lies = |x, turn_degrees| Lies { at_m: [x, 0.0, 0.0], turn_degrees };
        Building::new(vec![lies(0.0, 0.0), lies(6.0, 90.0)])
    }

    #[test]
    fn whoever_goes_through_a_door_keeps_their_name_and_nobody_else_gets_it() {
        let mut b = building();
        for k in 0..50 {
            let at_us = k * 100_000;
            b.take(0, &said(&[(1, [1.0 + 0.1 * k as f64, 0.0]), (2, [1.0, 2.0])]), at_us);
            b.take(1, &said(&[(1, [-1.0, -3.0])]), at_us + 1_000);
        }
        let ids = |b: &Building, at_us| b.residents(at_us).iter().map(|r| r.id).collect::<Vec<_>>();
        assert_eq!(ids(&b, 4_950_000), [1, 2, 3]);
        // For half a second nobody sees them; then the other room does, at x = 6.5 of the building: (0, -0.5) of its own.
        for k in 55..60 {
            b.take(0, &said(&[(2, [1.0, 2.0])]), k * 100_000);
            b.take(1, &said(&[(1, [-1.0, -3.0]), (2, [0.0, -0.5])]), k * 100_000 + 1_000);
        }
        assert_eq!(ids(&b, 5_950_000), [1, 2, 3]);
        let resident = b.residents(5_950_000)[0];
        let [x, y, ..] = resident.joints[0].unwrap();
        assert!(resident.room == 1 && (x - 6.5).abs() < 1e-9 && y.abs() < 1e-9, "{resident:?}");
        // Somebody who comes in far from there is somebody new.
        b.take(1, &said(&[(1, [-1.0, -3.0]), (2, [0.0, -0.5]), (3, [3.0, -3.0])]), 6_000_000);
        assert_eq!(ids(&b, 6_010_000), [1, 2, 3, 4]);
    }

    #[test]
    fn whom_two_rooms_see_is_told_once() {
        let mut b = building();
        b.take(0, &said(&[(1, [6.2, 0.1])]), 0);
        b.take(1, &said(&[(7, [0.15, -0.25])]), 20_000);
        let all = b.residents(30_000);
        assert_eq!(all.iter().map(|r| r.id).collect::<Vec<_>>(), [1]);
        assert!(b.residents(1_000_000).is_empty());
    }
}
