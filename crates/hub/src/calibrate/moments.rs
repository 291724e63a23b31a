//! What cameras saw at the same times: frames fall when they fall, so joints are taken between two of them.

use pose::JOINTS;

use super::CalibrateError;
use crate::V2;
use crate::line::{Look, Seen};

/// Between two moments. A walking person is elsewhere by then, and the detector's error half another.
pub(super) const STEP_US: i64 = 150_000;
/// Frames farther apart are not a motion between.
const GAP_US: i64 = 120_000;
/// A joint that the detector is not sure of says more wrong than right.
const MIN_SCORE: f64 = 0.4;
/// So many joints are a person.
const MIN_JOINTS: usize = 6;
/// More moments make it slow, not better.
const MAX_MOMENTS: usize = 400;
/// Of so many seconds each camera must have seen somebody.
const NEEDED_S: f64 = 8.0;

/// A joint of a moment.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    /// The ray at the moment.
    pub at: V2,
    /// How it moves, a second.
    pub speed: V2,
    /// Of the ray.
    pub sigma: f64,
}

/// A moment: what each camera saw of the one person there; `None` for who saw nobody, or more than one.
#[derive(Clone, Debug)]
pub struct Moment {
    /// By the hub's clock.
    pub at_us: i64,
    /// By camera.
    pub seen: Vec<Option<[Option<Sight>; JOINTS]>>,
}

impl Moment {
    /// Everybody's ray to a joint.
    pub fn views(&self, joint: usize) -> impl Iterator<Item = (usize, Sight)> + '_ {
        self.seen.iter().enumerate().filter_map(move |(c, seen)| Some((c, seen.as_ref()?[joint]?)))
    }
}

/// Moments at which two cameras or more saw somebody.
pub fn moments(looks: &[Look], cameras: usize) -> Result<Vec<Moment>, CalibrateError> {
    let mut by_camera: Vec<Vec<&Look>> = vec![Vec::new(); cameras];
    for look in looks {
        by_camera[look.camera].push(look);
    }
    for looks in &mut by_camera {
        looks.sort_by_key(|l| l.at_us);
    }
    let begin = by_camera.iter().flatten().map(|l| l.at_us).min().unwrap_or(0);
    let end = by_camera.iter().flatten().map(|l| l.at_us).max().unwrap_or(0);
    let mut cursors = vec![0; cameras];
    let (mut found, mut alone) = (Vec::new(), vec![0usize; cameras]);
    let mut at_us = begin;
    while at_us <= end {
        let seen: Vec<_> = by_camera
            .iter()
            .zip(&mut cursors)
            .map(|(looks, cursor)| alone_at(looks, cursor, at_us))
            .collect();
        for (alone, seen) in alone.iter_mut().zip(&seen) {
            *alone += usize::from(seen.is_some());
        }
        if seen.iter().flatten().count() >= 2 {
            found.push(Moment { at_us, seen });
        }
        at_us += STEP_US;
    }
    enough(found, &alone)
}

/// Not more moments than help; `seen`: of how many each camera saw somebody, which must be enough.
pub(super) fn enough(mut found: Vec<Moment>, seen: &[usize]) -> Result<Vec<Moment>, CalibrateError> {
    for (camera, seen) in seen.iter().enumerate() {
        let seconds = *seen as f64 * STEP_US as f64 / 1e6;
        if seconds < NEEDED_S {
            return Err(CalibrateError::NobodyThere { camera, seconds, needed: NEEDED_S });
        }
    }
    if found.len() > MAX_MOMENTS {
        let all = found.len();
        let mut k = 0;
        found.retain(|_| {
            k += 1;
            // Spread over the whole time.
            (k * MAX_MOMENTS) / all != ((k - 1) * MAX_MOMENTS) / all
        });
    }
    Ok(found)
}

/// The one person of a camera at `at_us`; looks only go on.
fn alone_at(looks: &[&Look], cursor: &mut usize, at_us: i64) -> Option<[Option<Sight>; JOINTS]> {
    while looks.get(*cursor + 1).is_some_and(|next| next.at_us <= at_us) {
        *cursor += 1;
    }
    // A moment that falls on a picture is between that and either neighbour, of which one may be too far away.
    let before = cursor.checked_sub(1).filter(|_| looks[*cursor].at_us == at_us);
    let mut firsts = [*cursor].into_iter().chain(before);
    firsts.find_map(|first| alone_between(looks.get(first)?, looks.get(first + 1)?, at_us))
}

/// The one person of two pictures that follow each other, at `at_us`.
fn alone_between(a: &Look, b: &Look, at_us: i64) -> Option<[Option<Sight>; JOINTS]> {
    let ([p], [q]) = (&a.persons[..], &b.persons[..]) else { return None };
    if p.id != q.id {
        return None;
    }
    between((a.at_us, p), (b.at_us, q), at_us)
}

/// Somebody at `at_us`, seen before and after.
pub(super) fn between(
    (a_us, p): (i64, &Seen),
    (b_us, q): (i64, &Seen),
    at_us: i64,
) -> Option<[Option<Sight>; JOINTS]> {
    let gap_us = b_us - a_us;
    if a_us > at_us || b_us < at_us || gap_us > GAP_US || gap_us <= 0 {
        return None;
    }
    let share = (at_us - a_us) as f64 / gap_us as f64;
    let joints: [Option<Sight>; JOINTS] = std::array::from_fn(|j| {
        let (p, q) = (p.joints[j]?, q.joints[j]?);
        if p.score.min(q.score) < MIN_SCORE {
            return None;
        }
        let sigma = 0.5 * (p.sigma + q.sigma);
        let way = q.at - p.at;
        // Nothing moves so fast: one of both is another place.
        if way.norm() > 8.0 * sigma {
            return None;
        }
        Some(Sight { at: p.at + way * share, speed: way / (gap_us as f64 / 1e6), sigma })
    });
    (joints.iter().flatten().count() >= MIN_JOINTS).then_some(joints)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Ray;

    fn seen(id: u32, x: f64, score: f64) -> Seen {
        let ray = Ray { at: V2::new(x, 0.0), sigma: 0.01, score };
        Seen { id, score: 0.9, joints: [Some(ray); JOINTS] }
    }

    #[test]
    fn between_two_pictures_of_a_person_they_are_between_both_places() {
        let at = |(b_us, x, score): (i64, f64, f64), at_us: i64| {
            let found = between((0, &seen(1, 0.0, 0.9)), (b_us, &seen(1, x, score)), at_us);
            found.map(|joints| joints[3].unwrap()).map(|s| (s.at.x, s.speed.x))
        };
        let (x, speed) = at((100_000, 0.04, 0.9), 25_000).unwrap();
        assert!((x - 0.01).abs() < 1e-9 && (speed - 0.4).abs() < 1e-9, "{x} {speed}");
        assert!(at((121_000, 0.04, 0.9), 25_000).is_none(), "too far apart");
        assert!(at((100_000, 0.09, 0.9), 25_000).is_none(), "nothing moves so fast");
        assert!(at((100_000, 0.04, 0.3), 25_000).is_none(), "not sure of it");
        assert!(at((100_000, 0.04, 0.9), 101_000).is_none() && at((0, 0.04, 0.9), 0).is_none());
    }

    #[test]
    fn a_moment_is_of_one_person_who_is_alone() {
        let found = |second: &[u32]| {
            let look = |at_us, ids: &[u32]| Look {
                camera: 0,
                at_us,
                persons: ids.iter().map(|id| seen(*id, 0.0, 0.9)).collect(),
            };
            let (a, b) = (look(0, &[1]), look(33_000, second));
            alone_at(&[&a, &b], &mut 0, 10_000).is_some()
        };
        assert!(found(&[1]) && !found(&[2]) && !found(&[1, 2]) && !found(&[]));
    }

    #[test]
    fn a_moment_that_falls_on_the_last_picture_before_a_gap_counts_and_so_does_the_first_after_it() {
        let all = [0, 50_000, 900_000, 950_000].map(|at_us| Look {
            camera: 0,
            at_us,
            persons: vec![seen(1, 0.0, 0.9)],
        });
        let (looks, mut cursor) = (all.iter().collect::<Vec<_>>(), 0);
        let mut is_seen = |at_us| alone_at(&looks, &mut cursor, at_us).is_some();
        let at_us = [0, 25_000, 50_000, 50_001, 899_999, 900_000, 950_000, 950_001];
        assert_eq!(at_us.map(&mut is_seen), [true, true, true, false, false, true, true, false]);
    }

    #[test]
    fn somebody_must_be_there_for_eight_seconds_and_moments_are_spread_over_all_of_the_time() {
        let moment = |k: i64| Moment { at_us: k * STEP_US, seen: Vec::new() };
        let of = |count: usize, seen: usize| enough((0..count as i64).map(moment).collect(), &[seen, 400]);
        assert!(matches!(of(60, 52), Err(CalibrateError::NobodyThere { camera: 0, .. })));
        assert_eq!(of(60, 54).unwrap().len(), 60);
        let many = of(1_000, 900).unwrap();
        assert_eq!(many.len(), MAX_MOMENTS);
        assert!(many[0].at_us < 3 * STEP_US && many[MAX_MOMENTS - 1].at_us > 996 * STEP_US);
        assert!(many.windows(2).all(|two| two[1].at_us - two[0].at_us <= 3 * STEP_US));
    }
}
