//! Several rooms, each with a hub of its own, as one building: where each room lies is given, and whoever goes from one to the next
//! keeps their identity.
//!
//! Identities cross where somebody is lost in one room and new in another within four seconds and about as far as one walks meanwhile, or where
//! two rooms see the same floor. Whoever is lost is looked for first, and who was taken for a neighbour and goes elsewhere than that one is
//! somebody new. Two who go through a door at the same moment may be exchanged: rooms say where people are, not who.

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
/// Two people are never so near each other, metres.
const SAME_M: f64 = 0.3;
/// Farther apart than [`NEAR_M`] for so long, nobody is one person: a moment's error is not that.
const APART_US: i64 = 700_000;
/// Who is apart is looked at so often: in a large building it is dear.
const LOOK_US: i64 = 100_000;
/// What another datagram overtook is late by less than that, and so many moments.
const OVERTAKEN_US: i64 = 1_000_000;
const OVERTAKEN: u64 = 128;

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

impl Known {
    /// Whether cameras see them now.
    fn is_seen(&self, now_us: i64) -> bool {
        now_us - self.seen_us < GONE_US && self.who.cameras > 0
    }

    /// Metres on the floor.
    fn far_m(&self, at: V3) -> f64 {
        (self.at - at).xy().norm()
    }
}

/// Everybody in all rooms.
#[derive(Clone, Debug)]
pub struct Building {
    placements: Vec<RoomPlacement>,
    /// By room and by the room's identity; see [`Building::forget`] for rooms beyond the last.
    known: HashMap<(usize, u32), Known>,
    /// The newest moment of each room, and when it came.
    newest: Vec<Option<(u64, i64)>>,
    looked_us: i64,
    next_id: u32,
}

impl Building {
    /// Rooms that lie so.
    pub fn new(placements: Vec<RoomPlacement>) -> Self {
        let newest = vec![None; placements.len()];
        Self { placements, known: HashMap::new(), newest, looked_us: i64::MIN / 2, next_id: 1 }
    }

    /// Takes in what room `room` said, at `now_us` of the building's clock; not what was overtaken on its way.
    pub fn take(&mut self, room: usize, said: &Said, now_us: i64) {
        // A hub that was started anew counts from 0.
        let is_old = |(seq, at_us): (u64, i64)| {
            said.seq < seq && seq - said.seq < OVERTAKEN && now_us - at_us < OVERTAKEN_US
        };
        if self.newest[room].is_some_and(is_old) {
            return;
        }
        if self.newest[room].is_some_and(|(seq, _)| said.seq < seq) {
            self.forget(room);
        }
        self.newest[room] = Some((said.seq, now_us));
        self.known.retain(|_, k| now_us - k.seen_us < KEPT_US);
        for person in &said.persons {
            let joints = person.joints.map(|j| j.map(|j| self.placements[room].place(j)));
            let Some(at) = middle(&joints) else { continue };
            let (id, since_us, apart_us) = match self.known.get(&(room, person.id)) {
                Some(known) => (known.who.id, known.since_us, known.apart_us),
                None => {
                    let id = self.comes_from(room, said, at, now_us).unwrap_or_else(|| self.new_id());
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

    fn new_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Whose identity somebody new in `room` has had elsewhere.
    fn comes_from(&self, room: usize, said: &Said, at: V3, now_us: i64) -> Option<u32> {
        let here = |id: u32| {
            said.persons.iter().any(|p| self.known.get(&(room, p.id)).is_some_and(|k| k.who.id == id))
        };
        let may_be = |k: &&Known| {
            let walked_m = WALK_M_S * (now_us - k.seen_us) as f64 / 1e6;
            k.far_m(at) - walked_m < NEAR_M && !here(k.who.id)
        };
        // Whoever is still seen elsewhere only if they stand in both rooms, or if nobody else is missed.
        let rank = |k: &Known| {
            let is_other = k.who.room != room && k.is_seen(now_us) && k.far_m(at) > SAME_M;
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
            let mut seen = alike.iter().map(|a| a.2).filter(|key| self.known[key].is_seen(now_us));
            let Some(oldest) = seen.next() else { continue };
            let others: Vec<(usize, u32)> = seen.collect();
            for other in others {
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

    /// Everybody at `now_us`, by identity; who is seen from two rooms by the one with more cameras.
    pub fn residents(&self, now_us: i64) -> Vec<&Resident> {
        let mut all: Vec<&Known> = self.known.values().filter(|k| now_us - k.seen_us < GONE_US).collect();
        all.sort_by_key(|k| (k.who.id, std::cmp::Reverse(k.who.cameras), k.who.room));
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
        let placed = |x, turn_degrees| RoomPlacement { at_m: [x, 0.0, 0.0], turn_degrees };
        Building::new(vec![placed(0.0, 0.0), placed(6.0, 90.0)])
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
    fn a_newcomer_is_whoever_is_lost_rather_than_a_neighbour_who_is_still_seen() {
        let mut b = building();
        b.take(0, &said(&[(1, [5.8, 0.0]), (2, [5.2, 0.4])]), 0);
        // The second is lost, the first stands at the wall; the newcomer is 0.5 m from the first, at (6.2, 0.3) of the building.
        b.take(0, &said(&[(1, [5.8, 0.0])]), 600_000);
        b.take(1, &said(&[(1, [0.3, -0.2])]), 610_000);
        let ids: Vec<(usize, u32)> = b.residents(620_000).iter().map(|r| (r.room, r.id)).collect();
        assert_eq!(ids, [(0, 1), (1, 2)]);
    }

    #[test]
    fn who_was_taken_for_a_neighbour_and_goes_elsewhere_is_somebody_new() {
        let mut b = building();
        let mut ids = Vec::new();
        for k in 0..30 {
            let at_us = k * 100_000;
            b.take(0, &said(&[(1, [5.8, 0.0])]), at_us);
            // From 0.5 m to 1.95 m away, at half a metre a second.
            b.take(1, &said(&[(1, [0.3, -0.2 - 0.05 * k as f64])]), at_us + 1_000);
            ids.push(b.residents(at_us + 2_000).iter().map(|r| r.id).collect::<Vec<_>>());
        }
        assert_eq!((&ids[0], &ids[29]), (&vec![1], &vec![1, 2]));
        // It does not change to and fro.
        assert_eq!(ids.windows(2).filter(|two| two[0] != two[1]).count(), 1, "{ids:?}");
    }

    #[test]
    fn what_was_overtaken_is_not_taken_and_a_hub_that_was_started_anew_is() {
        let mut b = building();
        let mut at = |seq, x, now_us| {
            b.take(0, &Said { seq, ..said(&[(1, [x, 0.0])]) }, now_us);
            b.residents(now_us)[0].joints[0].unwrap()[0]
        };
        assert_eq!([at(900, 1.0, 0), at(899, 1.1, 10_000), at(901, 1.2, 20_000)], [1.0, 1.0, 1.2]);
        assert_eq!([at(0, 1.3, 40_000), at(1, 1.4, 50_000)], [1.3, 1.4]);
        assert_eq!(at(0, 1.5, 1_200_000), 1.5);
    }

    #[test]
    fn a_hub_that_was_started_anew_exchanges_nobody() {
        let mut b = building();
        let there = |b: &Building, now_us| {
            let at = |r: &Resident| (r.id, r.cameras, r.joints[0].unwrap()[1].round() as i64);
            b.residents(now_us).into_iter().map(at).collect::<Vec<_>>()
        };
        b.take(0, &Said { seq: 900, ..said(&[(1, [1.0, 0.0]), (2, [1.0, 2.0]), (3, [1.0, 4.0])]) }, 0);
        let before = there(&b, 0);
        assert_eq!(before, [(1, 2, 0), (2, 2, 2), (3, 2, 4)]);
        // It counts people anew, too, as it finds them; the third it finds later.
        b.take(0, &Said { seq: 0, ..said(&[(1, [1.0, 2.1]), (2, [1.0, 0.1])]) }, 300_000);
        assert_eq!(there(&b, 300_000), [(1, 2, 0), (2, 2, 2), (3, 0, 4)]);
        b.take(0, &Said { seq: 1, ..said(&[(1, [1.0, 2.1]), (2, [1.0, 0.1]), (3, [1.0, 4.1])]) }, 2_000_000);
        assert_eq!(there(&b, 2_000_000), before);
    }

    #[test]
    fn a_room_is_turned_about_the_vertical_and_lies_as_high_as_it_is_said_to() {
        let place = |turn_degrees, at: [f64; 4]| {
            RoomPlacement { at_m: [6.0, 1.0, 3.0], turn_degrees }.place(at).map(|v| (v * 1e6).round() / 1e6)
        };
        assert_eq!(place(0.0, [1.0, 2.0, 0.5, 0.02]), [7.0, 3.0, 3.5, 0.02]);
        assert_eq!(place(90.0, [1.0, 2.0, 0.5, 0.02]), [4.0, 2.0, 3.5, 0.02]);
    }

    #[test]
    fn whom_two_rooms_see_is_told_by_the_one_with_more_cameras() {
        for cameras in [[2, 3], [3, 2]] {
            let mut b = building();
            let by = |cameras: usize, person: (u32, [f64; 2])| {
                let mut said = said(&[person]);
                said.persons[0].cameras = cameras;
                said
            };
            b.take(0, &by(cameras[0], (1, [6.2, 0.1])), 0);
            b.take(1, &by(cameras[1], (7, [0.15, -0.25])), 20_000);
            let all: Vec<_> = b.residents(30_000).iter().map(|r| (r.id, r.room, r.cameras)).collect();
            assert_eq!(all, [(1, usize::from(cameras[1] > cameras[0]), 3)]);
            // Nobody tells of them any more.
            assert_eq!((b.residents(399_000).len(), b.residents(421_000).len()), (1, 0));
        }
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
