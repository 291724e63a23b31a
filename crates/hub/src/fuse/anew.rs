//! A camera that was moved is placed anew, from people whom the others see where they are.
//!
//! While it is away its rays move nobody. Of each of its identities, and of everybody in the room, what was seen beside where joints were is
//! kept; whichever two belong together explain each other by one place of the camera.

use std::collections::HashMap;

use pose::MIRROR;

use super::body::{Body, TOLD_M};
use super::watch::watched_by_others;
use crate::geometry::{Eye, Mark, apart, centre, resect};
use crate::line::Look;
use crate::{Extrinsics, V2, V3};

/// From one look that is kept to the next: the error of what comes sooner is the same.
const STEP_US: i64 = 100_000;
/// Of two who may belong together: so much must have been seen, for so long, over so much of the room.
const MIN_MARKS: usize = 450;
const MIN_US: i64 = 6_000_000;
const MIN_WAY_M: f64 = 0.7;
/// More is forgotten, the oldest first.
const MAX_MARKS: usize = 1_200;
/// From one attempt to the next.
const AGAIN_US: i64 = 1_000_000;
/// Pairs that an attempt tries: everybody has a turn, first those that saw most of each other. Who has not been seen for so long waits.
const PAIRS: usize = 4;
const RECENT_US: i64 = 2_000_000;
/// Share of the marks that must fit, and how far joints themselves may be off, as a part of a ray at some three metres.
const FIT: f64 = 0.72;
const JOINT: f64 = 0.008;
/// A joint that the detector is not sure of says more wrong than right.
const MIN_SCORE: f64 = 0.4;

/// What one camera's identity saw while a person of the room was somewhere.
#[derive(Clone, Debug, Default)]
struct Together {
    /// When, what, and the ray to the same joint of the other side.
    marks: Vec<(i64, Mark, Option<V2>)>,
    low: Option<V3>,
    high: Option<V3>,
    /// So many attempts tried it.
    tried: u32,
}

impl Together {
    fn way_m(&self) -> f64 {
        self.low.zip(self.high).map_or(0.0, |(low, high)| (high - low).xy().norm())
    }

    fn lasted_us(&self) -> i64 {
        self.marks.first().zip(self.marks.last()).map_or(0, |(a, b)| b.0 - a.0)
    }
}

/// What one camera saw since it was moved.
#[derive(Clone, Debug, Default)]
pub(super) struct Anew {
    together: HashMap<(u32, u32), Together>,
    kept_us: i64,
    tried_us: i64,
}

impl Anew {
    /// Keeps what `look` saw beside who is there, and tries to find the camera's place from all of it.
    pub fn look(&mut self, bodies: &[Body], look: &Look, before: &Extrinsics) -> Option<Extrinsics> {
        if look.at_us < self.kept_us + STEP_US {
            return None;
        }
        self.kept_us = look.at_us;
        for body in bodies.iter().filter(|b| watched_by_others(b, look.camera, look.at_us)) {
            let seconds = (look.at_us - body.at_us) as f64 / 1e6;
            let Some(middle) = body.middle(seconds) else { continue };
            for seen in &look.persons {
                let together = self.together.entry((seen.id, body.id)).or_default();
                together.low = Some(together.low.map_or(middle, |l| l.inf(&middle)));
                together.high = Some(together.high.map_or(middle, |h| h.sup(&middle)));
                for (j, joint) in body.joints.iter().enumerate() {
                    let (Some(joint), Some(ray)) = (joint, seen.joints[j]) else { continue };
                    if joint.sigma() < 0.5 * TOLD_M && ray.score > MIN_SCORE {
                        let mark =
                            Mark { at: joint.after(seconds), ray: ray.at, sigma: ray.sigma.hypot(JOINT) };
                        let other = seen.joints[MIRROR[j]].filter(|_| MIRROR[j] != j).map(|ray| ray.at);
                        together.marks.push((look.at_us, mark, other));
                    }
                }
                let more = together.marks.len().saturating_sub(MAX_MARKS);
                together.marks.drain(..more);
            }
        }
        self.together.retain(|_, t| t.marks.last().is_some_and(|m| look.at_us - m.0 < 20_000_000));
        if look.at_us < self.tried_us + AGAIN_US {
            return None;
        }
        self.tried_us = look.at_us;
        self.find(look.at_us, before)
    }

    fn find(&mut self, now_us: i64, before: &Extrinsics) -> Option<Extrinsics> {
        let enough = |t: &Together| {
            let is_recent = t.marks.last().is_some_and(|m| now_us - m.0 < RECENT_US);
            is_recent && t.marks.len() >= MIN_MARKS && t.lasted_us() > MIN_US && t.way_m() > MIN_WAY_M
        };
        let mut pairs: Vec<(&(u32, u32), &mut Together)> =
            self.together.iter_mut().filter(|(_, t)| enough(t)).collect();
        // All of them soon have as many marks as are kept: without turns the same few would be tried for ever.
        pairs.sort_by_key(|(pair, t)| (t.tried, std::cmp::Reverse(t.marks.len()), **pair));
        // The same marks give the same place, whatever came before.
        let mut rng = fastrand::Rng::with_seed(1);
        let mut best: Option<(f64, Extrinsics)> = None;
        for (_, together) in pairs.into_iter().take(PAIRS) {
            together.tried += 1;
            let marks: Vec<Mark> = together.marks.iter().map(|m| m.1).collect();
            let Some(found) = resect(&marks, &mut rng) else { continue };
            // Whoever turns their back has left and right exchanged: once it is known about where the camera is, that shows.
            let Some(found) = resect(&sided(&together.marks, &found.place), &mut rng) else { continue };
            let eye = centre(&found.place);
            // A camera stands in a room, or on its wall.
            let stands = (-1.0..8.0).contains(&eye.z) && apart(&found.place, before).1 < 30.0;
            if stands && found.inliers > FIT && best.is_none_or(|b| found.inliers > b.0) {
                best = Some((found.inliers, found.place));
            }
        }
        best.map(|b| b.1)
    }
}

/// What was seen, each joint by its own ray or its other side's, whichever a camera at `place` rather sees it by.
fn sided(marks: &[(i64, Mark, Option<V2>)], place: &Extrinsics) -> Vec<Mark> {
    let eye = Eye::of(place);
    let one = |(_, mark, other): &(i64, Mark, Option<V2>)| {
        let rather = eye.seen(mark.at).zip(*other).and_then(|(seen, other)| {
            // Near the middle both are right.
            ((other - seen).norm() < 0.5 * (mark.ray - seen).norm()).then_some(other)
        });
        Mark { ray: rather.unwrap_or(mark.ray), ..*mark }
    };
    marks.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::seen_at;

    /// What a camera at `place` saw of whoever walked about for eight seconds, or what fits nothing.
    fn together(place: &Extrinsics, fits: bool, seed: u64) -> Together {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut together =
            Together { low: Some(V3::zeros()), high: Some(V3::new(2.0, 2.0, 0.0)), ..Together::default() };
        for k in 0..MAX_MARKS as i64 {
            let at = V3::new(2.0 * rng.f64(), 2.0 * rng.f64(), 4.0 + 2.0 * rng.f64());
            let seen =
                if fits { at } else { V3::new(2.0 * rng.f64(), 2.0 * rng.f64(), 4.0 + 2.0 * rng.f64()) };
            let Some(ray) = seen_at(place, seen) else { continue };
            together.marks.push((k * 8_000_000 / MAX_MARKS as i64, Mark { at, ray, sigma: 0.01 }, None));
        }
        together
    }

    #[test]
    fn of_many_pairs_that_saw_as_much_of_each_other_all_are_tried() {
        let place = Extrinsics::translation(0.2, -0.1, 0.3);
        let mut anew = Anew::default();
        for body in 1..=6 {
            anew.together.insert((1, body), together(&place, body == 6, u64::from(body)));
        }
        // Who left the picture long ago is not in the way.
        for seen in 2..=20 {
            let mut gone = together(&place, false, 100 + u64::from(seen));
            gone.marks.iter_mut().for_each(|mark| mark.0 -= 3_000_000);
            anew.together.insert((0, seen), gone);
        }
        let found =
            (0..2).find_map(|_| anew.find(8_000_000, &Extrinsics::identity())).expect("the sixth fits");
        let (angle, away_m) = apart(&found, &place);
        assert!(angle < 0.01 && away_m < 0.02, "{angle} {away_m}");
    }
}
