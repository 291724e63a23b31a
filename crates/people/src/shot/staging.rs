//! Where everybody and everything stands, so that nobody is in anything: others beside the first person, seats, things before people.

use std::rc::Rc;

use pose::Joint;

use super::{DEEP_M, Studio, scene::Framing};
use crate::{
    backdrop::{Piece, Place},
    math::{Vec3, atan2, vec3},
    person::Person,
    rng::Rng,
    stance::{self, crash_m},
};

/// Places that are tried for somebody else, or something, to stand free of people.
const PLACES: usize = 8;

impl Studio<'_> {
    /// Moves all but the first beside, behind or before; never into the wall behind, nor into anybody. Whoever finds no place is left
    /// out, with those after them.
    pub(super) fn stand_apart(
        &mut self,
        people: &mut Vec<Rc<Person>>,
        framing: &Framing,
        deep_m: f32,
        rng: &mut Rng,
    ) {
        let count = people.len();
        for k in 1..count {
            let (beside, behind) =
                if framing.is_crowd { (0.35 / framing.fills, -0.6 * count as f32) } else { (0.0, -1.2) };
            let far = behind.max(0.1 - deep_m - self.figures[k].low.z).min(0.0);
            let spot = (0..PLACES).find_map(|_| {
                let apart = rng.between(0.35, 1.1 + beside) * if rng.chance(0.5) { 1.0 } else { -1.0 };
                let spot = vec3(apart, 0.0, rng.between(far, 0.5).min(framing.distance_m - 1.2));
                let moved = self.figures[k].joints.map(|j| j + spot);
                let free = |i: usize| {
                    let (one, other) = (people[i].body.height_m, people[k].body.height_m);
                    crash_m((&self.figures[i].joints, one), (&moved, other)) < DEEP_M
                };
                (0..k).all(free).then_some(spot)
            });
            match spot {
                Some(spot) => self.figures[k].shift(spot),
                None => {
                    people.truncate(k);
                    break;
                }
            }
        }
    }

    /// Takes away what people would stand in, and gives those a seat who want one; `seats` are heights in metres.
    pub(super) fn furnish(&self, place: &mut Place, people: &[Rc<Person>], seats: &[f32], rng: &mut Rng) {
        place.retain(|piece| self.stands_free(piece, people));
        for (k, &seat) in seats[..people.len()].iter().enumerate() {
            if seat <= 0.15 {
                continue;
            }
            let f = &self.figures[k];
            let hips = stance::middle(&f.joints, Joint::HIPS);
            let knees = stance::middle(&f.joints, Joint::KNEES);
            let behind = (hips - knees).flat().unit();
            let at = hips.flat() + behind * 0.06;
            let half = vec3(rng.between(0.2, 0.5), seat.min(f.blobs[2].0.y), rng.between(0.18, 0.26));
            let mut piece = Place::furniture(at, half, atan2(behind.x, behind.z), rng);
            // Smaller and farther back where legs are in its way.
            for _ in 0..3 {
                if self.stands_free(&piece, people) {
                    break;
                }
                (piece.size.x, piece.size.z) = (piece.size.x * 0.75, piece.size.z * 0.9);
                piece.at += behind * 0.03;
            }
            place.add(piece);
        }
    }

    /// Puts something between people and the `eye`, where a place for it is found.
    pub(super) fn occlude(
        &self,
        place: &mut Place,
        people: &[Rc<Person>],
        framing: &Framing,
        eye: Vec3,
        rng: &mut Rng,
    ) {
        for _ in 0..PLACES {
            let toward = eye.flat() * rng.between(0.2, 0.45) + vec3(rng.between(-0.5, 0.5), 0.0, 0.0);
            let is_post = rng.chance(0.3);
            let half = if is_post {
                vec3(rng.between(0.03, 0.1), rng.between(1.2, 2.6), rng.between(0.03, 0.1))
            } else {
                vec3(
                    rng.between(0.2, 0.8),
                    rng.between(0.3, 0.9) * (framing.extent_m / 1.6).min(1.0),
                    rng.between(0.15, 0.35),
                )
            };
            let piece = Place::furniture(toward, half, rng.between(-0.6, 0.6), rng);
            if self.stands_free(&piece, people) {
                place.add(piece);
                return;
            }
        }
    }

    /// Whether nobody is in it.
    fn stands_free(&self, piece: &Piece, people: &[Rc<Person>]) -> bool {
        self.figures.iter().zip(people).all(|(f, person)| {
            let half = [piece.size.x, piece.size.z];
            let (at, height_m) = (piece.at, person.body.height_m);
            stance::reaches_into_m(&f.joints, height_m, at, half, piece.turn, piece.size.y) < DEEP_M
        })
    }
}
