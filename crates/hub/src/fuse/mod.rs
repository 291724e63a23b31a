//! The people of the room, from what each camera sees as it comes.
//!
//! A look is assigned to the persons that the room knows (`associate.rs`: how far rays lie from where the joints are by now, and whom
//! the board called how); each of its rays moves its joint (`joint.rs`), whatever the other cameras see at that moment, so a
//! camera may be late, slow or away. Bones keep their lengths, sides are put right (`body.rs`). Unknown persons of two cameras whose rays meet in
//! a body are somebody new (`birth.rs`), or whom both lost just now. `watch.rs` tells of cameras that were moved: from then on they move
//! nobody, until `anew.rs` has found where they stand now. What slow cameras saw holds for longer (`rate.rs`).

mod anew;
mod associate;
mod birth;
mod body;
mod joint;
mod rate;
mod watch;

#[cfg(all(test, feature = "simulate"))]
mod tests;

use pose::JOINTS;

use crate::geometry::Eye;
use crate::line::{Look, Seen};
use crate::{Extrinsics, V2, V3};
use anew::Anew;
use birth::{Births, Loose};
use body::{Body, Fit, Gone, MIN_KNOWN, TOLD_M};
use rate::Rates;
use watch::{Watch, watched_by_others};

/// Nobody saw them for so long: they are not told any more.
const GONE_US: i64 = 1_000_000;
/// Nobody saw them for so long, and no joint is told by then: they are whoever appears near there, whatever boards call them.
const UNSEEN_US: i64 = 500_000;
/// For so long their number is kept for them: four seconds, and what it takes to find somebody.
const KEPT_US: i64 = 4_300_000;
/// Whoever comes back so near to where they went, metres, is the same; and so much farther for each second, metres.
const BACK_M: f64 = 0.8;
const AWAY_M_S: f64 = 0.7;
/// For so long a camera's last picture says where somebody is.
const HOLDS_US: i64 = 200_000;
/// Who is gone, a double or nobody is looked at so often.
const TIDY_US: i64 = 50_000;
/// Two bodies so near, metres, for so long, are one.
const ONE_M: f64 = 0.22;
const ONE_US: i64 = 400_000;

/// A joint in the room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoomJoint {
    /// Metres.
    pub at: V3,
    /// Standard deviation along each axis, metres.
    pub sigma: f64,
}

/// A person in the room.
#[derive(Clone, Debug, PartialEq)]
pub struct RoomPerson {
    /// The same for as long as two cameras have them, from 1.
    pub id: u32,
    /// COCO's joints; `None` where nobody can say.
    pub joints: [Option<RoomJoint>; JOINTS],
    /// How many cameras see them now.
    pub cameras: usize,
}

/// Whether somebody who was at `was` may be at `now` after so long.
fn may_be(now: V3, was: V3, away_us: i64) -> bool {
    (now - was).norm() < BACK_M + AWAY_M_S * away_us as f64 / 1e6
}

/// The room.
#[derive(Clone, Debug)]
pub struct Fusion {
    places: Vec<Extrinsics>,
    eyes: Vec<Eye>,
    bodies: Vec<Body>,
    gone: Vec<Gone>,
    next_id: u32,
    births: Births,
    loose: Vec<Vec<Loose>>,
    /// Each camera's last look: for rays' speeds.
    before: Vec<Option<Look>>,
    rates: Rates,
    watches: Vec<Watch>,
    /// Of each camera that was moved, what it sees since.
    away: Vec<Option<Anew>>,
    /// Cameras that were placed anew and not told of yet.
    placed: Vec<usize>,
    newest_us: i64,
    tidied_us: i64,
}

impl Fusion {
    /// An empty room with cameras at `places`.
    pub fn new(places: Vec<Extrinsics>) -> Self {
        let n = places.len();
        Self {
            eyes: places.iter().map(Eye::of).collect(),
            places,
            bodies: Vec::new(),
            gone: Vec::new(),
            next_id: 1,
            births: Births::default(),
            loose: vec![Vec::new(); n],
            before: vec![None; n],
            rates: Rates::new(n),
            watches: vec![Watch::default(); n],
            away: vec![None; n],
            placed: Vec::new(),
            newest_us: i64::MIN / 2,
            tidied_us: i64::MIN / 2,
        }
    }

    /// Where a camera stands now.
    ///
    /// # Panics
    /// If there is no such camera.
    pub fn place(&mut self, camera: usize, place: Extrinsics) {
        self.places[camera] = place;
        self.eyes[camera] = Eye::of(&place);
        self.watches[camera] = Watch::default();
        self.away[camera] = None;
    }

    /// Where the cameras stand.
    pub fn places(&self) -> &[Extrinsics] {
        &self.places
    }

    /// Cameras that were moved and placed anew since this was asked last.
    pub fn placed_anew(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.placed)
    }

    /// Takes in what a camera saw. Looks of one camera come in order, those of several about so.
    ///
    /// # Panics
    /// If there is no such camera.
    pub fn look(&mut self, look: Look) {
        let camera = look.camera;
        let place = self.places[camera];
        self.newest_us = self.newest_us.max(look.at_us);
        if let Some(before) = &self.before[camera] {
            self.rates.looked(camera, look.at_us - before.at_us);
        }
        // First: after a silence of all cameras nobody is where they were, and whoever fits a body of then may be anybody.
        self.tidy();
        let eye = self.eyes[camera];
        let whom = associate::associate(&self.bodies, &eye, camera, &look);
        self.watch(&look, &whom);
        if let Some(anew) = &mut self.away[camera] {
            if let Some(found) = anew.look(&self.bodies, &look, &place) {
                self.place(camera, found);
                self.placed.push(camera);
            }
            self.loose[camera].clear();
            self.before[camera] = Some(look);
            return;
        }
        let mut loose = Vec::new();
        for (seen, whom) in look.persons.iter().zip(&whom) {
            if let Some((b, fit)) = whom {
                // After a silence whatever comes fits, and one camera's rays say nothing along themselves. A look that leaves somebody at no
                // place is nobody's: it would keep them where no other look finds them.
                let body = &mut self.bodies[*b];
                let before = (look.at_us - body.last_us() > HOLDS_US).then(|| body.clone());
                body.take(&eye, camera, seen, look.at_us, fit.exchanged);
                match before.filter(|_| body.known() < MIN_KNOWN) {
                    Some(before) => *body = before,
                    None => continue,
                }
            }
            let speed = self.speed(camera, seen, look.at_us);
            loose.push(Loose::new(&place, look.at_us, seen.clone(), speed));
        }
        for unknown in &loose {
            if let Some(newborn) = self.births.look(&self.places, &self.rates, camera, unknown, &self.loose) {
                self.add(newborn, camera, unknown);
            }
        }
        self.loose[camera] = loose;
        self.before[camera] = Some(look);
    }

    fn add(&mut self, newborn: birth::Newborn, camera: usize, unknown: &Loose) {
        let at_us = unknown.at_us;
        let seen_by = [(camera, unknown.seen.id), (newborn.camera, newborn.as_whom)];
        self.loose[newborn.camera].retain(|l| l.seen.id != newborn.as_whom);
        let mut body = Body::new(0, at_us, newborn.joints, self.places.len());
        let lost = self.lost(&body, seen_by);
        // Two pairs of cameras may find the same person at the same time.
        let is_there =
            |(k, b): (usize, &Body)| Some(k) != lost && b.apart(&body).is_some_and(|m| m < 2.0 * ONE_M);
        if self.bodies.iter().enumerate().any(is_there) {
            return;
        }
        let k = lost.unwrap_or(self.bodies.len());
        if lost.is_some() {
            self.bodies[k].put(at_us, body.joints);
        } else {
            (body.id, body.back) = self.id_of(&body);
            self.bodies.push(body);
        }
        for (camera, id) in seen_by {
            (self.bodies[k].seen_us[camera], self.bodies[k].seen_as[camera]) = (at_us, id);
        }
    }

    /// Who `newborn` is, if the room lost them: both cameras called them so when they still fitted, or nobody has seen them for long; and one
    /// other camera at most sees them where they were. Two others would be right, and this is somebody else.
    fn lost(&self, newborn: &Body, seen_by: [(usize, u32); 2]) -> Option<usize> {
        let (now, middle) = (newborn.at_us, newborn.middle(0.0)?);
        let lost = |(k, body): (usize, &Body)| {
            let holds = |c: &usize| {
                let last_us = self.before[*c].as_ref().map_or(i64::MAX, |look| look.at_us);
                body.seen_us[*c] >= last_us && now - last_us < HOLDS_US && seen_by.iter().all(|s| s.0 != *c)
            };
            // One of both may have lost them long before the other: whether the room still has them, the last camera says.
            let away_us = now - body.last_us();
            let [a, b] = seen_by.map(|(c, _)| now - body.seen_us[c]);
            let is_named = seen_by.iter().all(|(c, id)| body.seen_as[*c] == *id) && a.max(b) < KEPT_US;
            let reach_us = if is_named { a.max(b).min(GONE_US) } else { away_us };
            let was = body.middle(0.0)?;
            ((is_named || away_us > UNSEEN_US)
                // Who is gone is ended so late.
                && away_us < GONE_US + TIDY_US
                && may_be(middle, was, reach_us)
                && (0..self.places.len()).filter(holds).count() < 2)
                .then_some((!is_named, (middle - was).norm(), k))
        };
        let lost = self.bodies.iter().enumerate().filter_map(lost);
        lost.min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))).map(|(_, _, k)| k)
    }

    /// That of whoever went near there, and who went, or a new one.
    fn id_of(&mut self, newborn: &Body) -> (u32, Option<Gone>) {
        let far = |(k, (_, at_us, was)): (usize, &Gone)| {
            let middle = newborn.middle(0.0)?;
            may_be(middle, *was, newborn.at_us - at_us).then_some(((middle - was).norm(), k))
        };
        let back = self.gone.iter().enumerate().filter_map(far).min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, k)) = back {
            let back = self.gone.remove(k);
            return (back.0, Some(back));
        }
        self.next_id += 1;
        (self.next_id - 1, None)
    }

    /// How rays moved since the camera's last look.
    fn speed(&self, camera: usize, seen: &Seen, at_us: i64) -> [V2; JOINTS] {
        let before = self.before[camera].as_ref();
        let then = before.and_then(|b| b.persons.iter().find(|p| p.id == seen.id).map(|p| (p, b.at_us)));
        let Some((then, then_us)) = then else { return [V2::zeros(); JOINTS] };
        let seconds = ((at_us - then_us) as f64 / 1e6).max(0.01);
        if at_us - then_us > self.rates.speed_us(camera) {
            return [V2::zeros(); JOINTS];
        }
        std::array::from_fn(|j| match (seen.joints[j], then.joints[j]) {
            (Some(now), Some(then)) => (now.at - then.at) / seconds,
            _ => V2::zeros(),
        })
    }

    fn watch(&mut self, look: &Look, whom: &[Option<(usize, Fit)>]) {
        let camera = look.camera;
        let eye = &self.eyes[camera];
        let aside = |(seen, whom): (&Seen, &Option<(usize, Fit)>)| {
            let (b, fit) = whom.as_ref()?;
            watch::aside(&self.bodies[*b], camera, eye, seen, look.at_us, fit.exchanged)
        };
        let asides: Vec<V2> = look.persons.iter().zip(whom).filter_map(aside).collect();
        self.watches[camera].known(&asides, look.at_us);
        // Whoever is explained leaves nothing to wonder about.
        if whom.iter().all(Option::is_some) {
            return;
        }
        let is_missed = |(b, body): (usize, &Body)| {
            let ray = body.middle(0.0).and_then(|m| eye.seen(m));
            // The dear question last: in a hall most are elsewhere.
            ray.is_some_and(|r| r.abs().max() < 0.45)
                && !whom.iter().flatten().any(|w| w.0 == b)
                && watched_by_others(body, camera, look.at_us)
        };
        if self.bodies.iter().enumerate().any(is_missed) {
            self.watches[camera].strange(look.at_us);
        }
    }

    /// Ends bodies that nobody sees, that were never confirmed, that are another's double.
    fn tidy(&mut self) {
        let now = self.newest_us;
        if now < self.tidied_us + TIDY_US {
            return;
        }
        self.tidied_us = now;
        let middles: Vec<Option<V3>> = self.bodies.iter().map(|b| b.middle(0.0)).collect();
        let mut doubles = Vec::new();
        for a in 0..self.bodies.len() {
            for b in a + 1..self.bodies.len() {
                let close = middles[a].zip(middles[b]).is_some_and(|(m, n)| (m - n).norm() < 0.5)
                    && self.bodies[a].apart(&self.bodies[b]).is_some_and(|m| m < ONE_M);
                if close {
                    // The older one stays.
                    doubles.push(if self.bodies[a].born_us <= self.bodies[b].born_us { b } else { a });
                }
            }
        }
        for (k, body) in self.bodies.iter_mut().enumerate() {
            body.doubled_since_us =
                if doubles.contains(&k) { body.doubled_since_us.or(Some(now)) } else { None };
        }
        let (gone, rates) = (&mut self.gone, &self.rates);
        self.bodies.retain(|body| {
            let by = (0..body.seen_us.len()).filter(|c| body.seen_us[*c] > i64::MIN / 2);
            let is_nobody = !body.is_sure() && now - body.born_us > rates.probation_us(by);
            if is_nobody || body.doubled_since_us.is_some_and(|since| now - since > ONE_US) {
                // The number is kept on for whom it was kept, unless another hub has given it to somebody meanwhile.
                gone.extend(body.back.filter(|back| !body.is_sure() && back.0 == body.id));
                return false;
            }
            if now - body.last_us() > GONE_US {
                if let Some(middle) = body.middle(0.0) {
                    gone.push((body.id, body.last_us(), middle));
                }
                return false;
            }
            true
        });
        self.gone.retain(|g| now - g.1 < KEPT_US);
        let moved = watch::moved(&self.watches);
        for (camera, away) in self.away.iter_mut().enumerate() {
            // One that was put back is there again by itself.
            let is_moved = moved.contains(&camera);
            if is_moved != away.is_some() {
                *away = is_moved.then(Anew::default);
            }
        }
    }

    /// Everybody, as they are at `at_us`.
    pub fn people(&self, at_us: i64) -> Vec<RoomPerson> {
        let tell = |body: &Body| {
            let seconds = ((at_us - body.at_us) as f64 / 1e6).clamp(-0.2, 0.5);
            let then = body.joints_after(seconds);
            RoomPerson {
                id: body.id,
                joints: then.map(|j| {
                    let j = j.filter(|j| j.sigma() < TOLD_M)?;
                    Some(RoomJoint { at: j.at(), sigma: j.sigma() })
                }),
                cameras: body.watched_by(self.newest_us, 200_000),
            }
        };
        self.bodies.iter().filter(|body| body.is_sure()).map(tell).collect()
    }

    /// Everybody who is told of, and where their middle is; and the next identity.
    pub fn whereabouts(&self) -> (Vec<(u32, V3)>, u32) {
        let sure = self.bodies.iter().filter(|body| body.is_sure());
        let here = sure.filter_map(|b| Some((b.id, b.middle(0.0)?))).collect();
        (here, self.next_id)
    }

    /// Gives everybody the identities that another hub of the same room gives them: each of `others` to whoever is nearest.
    pub fn rename(&mut self, others: &[(u32, V3)], next_id: u32) {
        self.next_id = self.next_id.max(next_id);
        let mut pairs: Vec<(f64, usize, u32)> = Vec::new();
        for (b, body) in self.bodies.iter().enumerate() {
            let Some(middle) = body.middle(0.0) else { continue };
            pairs.extend(others.iter().map(|(id, at)| ((middle - at).norm(), b, *id)));
        }
        pairs.retain(|p| p.0 < BACK_M);
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut named = vec![false; self.bodies.len()];
        let mut given = Vec::new();
        for (_, b, id) in pairs {
            if !named[b] && !given.contains(&id) {
                self.bodies[b].id = id;
                named[b] = true;
                given.push(id);
            }
        }
        // Whoever the other does not know must not have the name of somebody whom it knows.
        for (body, named) in self.bodies.iter_mut().zip(named) {
            if !named && others.iter().any(|o| o.0 == body.id) {
                body.id = self.next_id;
                self.next_id += 1;
            }
        }
        self.gone.retain(|g| !given.contains(&g.0));
    }

    /// The newest moment that any camera has told of.
    pub fn newest_us(&self) -> i64 {
        self.newest_us
    }

    /// Cameras that no longer stand where they stood, by what two others or more see.
    pub fn moved(&self) -> Vec<usize> {
        watch::moved(&self.watches)
    }
}
