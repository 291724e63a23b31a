//! Several people in the pictures: who of one camera is whom of another is what their motion says. Two pictures of the same person obey one
//! epipolar geometry for as long as both last, those of two people do not.

use std::collections::{BTreeSet, HashMap};

use pose::JOINTS;

use super::CalibrateError;
use super::moments::{Moment, STEP_US, Sight, between, enough};
use crate::geometry::{Pair, relative};
use crate::line::{Look, Seen};

/// A track that is shorter, in moments, says nothing: 4 s.
const MIN_TICKS: usize = 27;
/// Of a camera, the longest ones.
const MAX_TRACKS: usize = 6;
/// Rays that two tracks are compared by.
const PAIRS: usize = 400;
/// Share of them that must agree: of two different people a third does by chance.
const AGREE: f64 = 0.62;

type Sights = [Option<Sight>; JOINTS];

/// What a board calls one person.
struct Track {
    camera: usize,
    /// At each moment at which it saw them, and at no other: a take may last for days.
    sights: Vec<(i64, Sights)>,
}

impl Track {
    fn at(&self, tick: i64) -> Option<&Sights> {
        self.sights.binary_search_by_key(&tick, |s| s.0).ok().map(|k| &self.sights[k].1)
    }
}

/// Moments of each person whom two cameras or more saw.
pub fn moments(
    looks: &[Look],
    cameras: usize,
    rng: &mut fastrand::Rng,
) -> Result<Vec<Moment>, CalibrateError> {
    let begin_us = looks.iter().map(|l| l.at_us).min().unwrap_or(0);
    let tracks = tracks(looks, cameras, begin_us);
    let mut ties: Vec<(f64, usize, usize)> = Vec::new();
    for (a, one) in tracks.iter().enumerate() {
        for (b, other) in tracks.iter().enumerate().skip(a + 1) {
            if one.camera != other.camera
                && let Some(agreement) = agreement(one, other, rng)
            {
                ties.push((agreement, a, b));
            }
        }
    }
    ties.sort_by(|s, t| t.0.total_cmp(&s.0));
    // The surest ones first; nobody is twice in a picture.
    let mut whose: Vec<usize> = (0..tracks.len()).collect();
    for (_, a, b) in ties {
        let of = |k: usize| (0..tracks.len()).filter(|t| whose[*t] == whose[k]).collect::<Vec<_>>();
        let (mine, theirs) = (of(a), of(b));
        let twice = mine.iter().any(|&m| theirs.iter().any(|&t| together(&tracks[m], &tracks[t])));
        if !twice {
            let name = whose[a];
            theirs.into_iter().for_each(|t| whose[t] = name);
        }
    }
    let ticks: BTreeSet<i64> = tracks.iter().flat_map(|t| t.sights.iter().map(|s| s.0)).collect();
    let mut found = Vec::new();
    for tick in ticks {
        for person in 0..tracks.len() {
            let mut seen = vec![None; cameras];
            for (track, _) in tracks.iter().zip(&whose).filter(|t| *t.1 == person) {
                if let Some(sights) = track.at(tick) {
                    seen[track.camera] = Some(*sights);
                }
            }
            if seen.iter().flatten().count() >= 2 {
                found.push(Moment { at_us: begin_us + tick * STEP_US, seen });
            }
        }
    }
    let seen: Vec<usize> =
        (0..cameras).map(|c| found.iter().filter(|m| m.seen[c].is_some()).count()).collect();
    enough(found, &seen)
}

fn tracks(looks: &[Look], cameras: usize, begin_us: i64) -> Vec<Track> {
    let mut by_name: HashMap<(usize, u32), Vec<(i64, &Seen)>> = HashMap::new();
    for look in looks {
        for seen in &look.persons {
            by_name.entry((look.camera, seen.id)).or_default().push((look.at_us, seen));
        }
    }
    let mut all: Vec<((usize, u32), Track)> = Vec::new();
    for (name, mut seen) in by_name {
        seen.sort_by_key(|s| s.0);
        let mut sights: Vec<(i64, Sights)> = Vec::new();
        for two in seen.windows(2) {
            let (a, b) = (two[0], two[1]);
            // The moments between these two pictures.
            let first = (a.0 - begin_us + STEP_US - 1) / STEP_US;
            for tick in first..=(b.0 - begin_us) / STEP_US {
                // One that falls on a picture is between that and either neighbour, of which one may be too far away.
                let Some(now) = between(a, b, begin_us + tick * STEP_US) else { continue };
                match sights.last_mut() {
                    Some((last, sights)) if *last == tick => *sights = now,
                    _ => sights.push((tick, now)),
                }
            }
        }
        if sights.len() >= MIN_TICKS {
            all.push((name, Track { camera: name.0, sights }));
        }
    }
    // The longest first, and the same order every time.
    all.sort_by_key(|(name, track)| (std::cmp::Reverse(track.sights.len()), *name));
    let mut count = vec![0; cameras];
    all.into_iter()
        .map(|t| t.1)
        .filter(|t| {
            count[t.camera] += 1;
            count[t.camera] <= MAX_TRACKS
        })
        .collect()
}

/// Whether both are of one camera at the same time.
fn together(a: &Track, b: &Track) -> bool {
    a.camera == b.camera && a.sights.iter().any(|s| b.at(s.0).is_some())
}

/// How well two tracks of two cameras are one person; `None` where they are not, or nobody can say.
fn agreement(a: &Track, b: &Track, rng: &mut fastrand::Rng) -> Option<f64> {
    let common = || a.sights.iter().filter_map(|(tick, sights)| Some((sights, b.at(*tick)?)));
    let ticks = common().count();
    if ticks < MIN_TICKS {
        return None;
    }
    let pairs: Vec<Pair> = common()
        .flat_map(|(a, b)| a.iter().zip(b))
        .filter_map(|(a, b)| Some(((*a)?, (*b)?)))
        .map(|(a, b)| Pair { a: a.at, b: b.at, sigma: a.sigma.hypot(b.sigma) })
        .collect();
    let some: Vec<Pair> =
        (0..PAIRS.min(pairs.len())).map(|k| pairs[k * pairs.len() / PAIRS.min(pairs.len())]).collect();
    let inliers = relative(&some, rng)?.inliers;
    // What lasts longer says more.
    (inliers > AGREE).then(|| inliers + 0.02 * (ticks as f64 / MIN_TICKS as f64).ln())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::V2;
    use crate::line::Ray;

    /// Pictures every 50 ms, so that each third is a moment; `gone`: without anybody.
    fn seen_at(gone: std::ops::Range<i64>) -> Vec<Look> {
        let ray = Some(Ray { at: V2::zeros(), sigma: 0.01, score: 0.9 });
        let times = (0..=120).filter(|k| !gone.contains(k)).map(|k| k * 50_000);
        let seen = || Seen { id: 7, score: 0.9, joints: [ray; JOINTS] };
        times.map(|at_us| Look { camera: 0, at_us, persons: vec![seen()] }).collect()
    }

    #[test]
    fn a_moment_that_falls_on_a_picture_counts_before_and_after_a_gap() {
        // Moments 20 and 30, 30 pictures apart, are the last before it and the first after it.
        let tracks = tracks(&seen_at(61..90), 1, 0);
        let is_seen: Vec<bool> = (0..=40).map(|tick| tracks[0].at(tick).is_some()).collect();
        let expected: Vec<bool> = (0..=40).map(|tick| !(21..30).contains(&tick)).collect();
        assert_eq!(is_seen, expected);
        // Two takes in one file, five days apart, take no more room than both.
        let days_us = 5 * 86_400_000_000;
        let later = seen_at(61..90).into_iter().map(|look| Look { at_us: look.at_us + days_us, ..look });
        let both = super::tracks(&seen_at(61..90).into_iter().chain(later).collect::<Vec<_>>(), 1, 0);
        assert_eq!(both[0].sights.len(), 2 * tracks[0].sights.len());
    }
}
