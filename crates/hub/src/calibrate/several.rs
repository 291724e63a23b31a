//! Several people in the pictures: who of one camera is whom of another is what their motion says. Two pictures of the same person obey one
//! epipolar geometry for as long as both last, those of two people do not.

use std::collections::HashMap;

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

/// What a board calls one person, at each moment.
struct Track {
    camera: usize,
    sights: Vec<Option<[Option<Sight>; JOINTS]>>,
}

impl Track {
    fn ticks(&self) -> usize {
        self.sights.iter().flatten().count()
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
    let ticks = tracks.iter().map(|t| t.sights.len()).max().unwrap_or(0);
    let mut found = Vec::new();
    for tick in 0..ticks {
        for person in 0..tracks.len() {
            let mut seen = vec![None; cameras];
            for (track, _) in tracks.iter().zip(&whose).filter(|t| *t.1 == person) {
                if let Some(sights) = track.sights[tick] {
                    seen[track.camera] = Some(sights);
                }
            }
            if seen.iter().flatten().count() >= 2 {
                found.push(Moment { at_us: begin_us + tick as i64 * STEP_US, seen });
            }
        }
    }
    let seen: Vec<usize> =
        (0..cameras).map(|c| found.iter().filter(|m| m.seen[c].is_some()).count()).collect();
    enough(found, &seen)
}

fn tracks(looks: &[Look], cameras: usize, begin_us: i64) -> Vec<Track> {
    let end_us = looks.iter().map(|l| l.at_us).max().unwrap_or(0);
    let ticks = ((end_us - begin_us) / STEP_US + 1) as usize;
    let mut by_name: HashMap<(usize, u32), Vec<(i64, &Seen)>> = HashMap::new();
    for look in looks {
        for seen in &look.persons {
            by_name.entry((look.camera, seen.id)).or_default().push((look.at_us, seen));
        }
    }
    let mut all: Vec<((usize, u32), Track)> = Vec::new();
    for (name, mut seen) in by_name {
        seen.sort_by_key(|s| s.0);
        let mut sights = vec![None; ticks];
        for two in seen.windows(2) {
            let (a, b) = (two[0], two[1]);
            // The moments between these two pictures.
            let first = (a.0 - begin_us + STEP_US - 1) / STEP_US;
            for tick in first..=(b.0 - begin_us) / STEP_US {
                // One that falls on a picture is between that and either neighbour, of which one may be too far away.
                let sights = &mut sights[tick as usize];
                *sights = between(a, b, begin_us + tick * STEP_US).or(*sights);
            }
        }
        all.push((name, Track { camera: name.0, sights }));
    }
    all.retain(|t| t.1.ticks() >= MIN_TICKS);
    // The longest first, and the same order every time.
    all.sort_by_key(|(name, track)| (std::cmp::Reverse(track.ticks()), *name));
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
    a.camera == b.camera && a.sights.iter().zip(&b.sights).any(|(a, b)| a.is_some() && b.is_some())
}

/// How well two tracks of two cameras are one person; `None` where they are not, or nobody can say.
fn agreement(a: &Track, b: &Track, rng: &mut fastrand::Rng) -> Option<f64> {
    let common = || a.sights.iter().zip(&b.sights).filter_map(|(a, b)| Some((a.as_ref()?, b.as_ref()?)));
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
        let is_seen: Vec<bool> = tracks[0].sights.iter().map(Option::is_some).collect();
        let expected: Vec<bool> = (0..=40).map(|tick| !(21..30).contains(&tick)).collect();
        assert_eq!(is_seen, expected);
    }
}
