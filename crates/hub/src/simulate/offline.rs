//! What programs do that see the whole take before they answer (Pose2Sim's way, with its defaults): rays of all cameras at the same moment,
//! the direct linear transform weighed by scores, without the cameras that do not fit, gaps filled, and a Butterworth filter that goes
//! there and back. Told who is who, as the plain transform is.

use pose::JOINTS;

use crate::geometry::{seen_at, weighted_dlt};
use crate::{Extrinsics, V2, V3};

/// What one camera saw of somebody: moment, and ray and score of each joint.
pub type Track = Vec<(i64, [Option<(V2, f64)>; JOINTS])>;

/// A joint with a lower score is absent.
const MIN_SCORE: f64 = 0.3;
/// Mean distance of rays and point: 15 of 500 pixels.
const FITS: f64 = 0.03;
/// Frames farther apart have nothing between.
const GAP_US: i64 = 110_000;
/// Moments that are filled at most.
const FILLED: usize = 20;
/// Of the filter, at moments 1/30 s apart; second order, and so fourth there and back.
const CUT_HZ: f64 = 6.0;
const MOMENTS_HZ: f64 = 30.0;

/// Where somebody's joints were at `moments` (1/30 s apart), from each camera's track of them.
pub fn whole_take(places: &[Extrinsics], tracks: &[Track], moments: &[i64]) -> Vec<[Option<V3>; JOINTS]> {
    let mut found: Vec<[Option<V3>; JOINTS]> = Vec::with_capacity(moments.len());
    let mut cursors = vec![0; tracks.len()];
    for &at_us in moments {
        let seen: Vec<_> = tracks.iter().zip(&mut cursors).map(|(t, c)| between(t, c, at_us)).collect();
        found.push(std::array::from_fn(|j| {
            let views: Vec<(usize, V2, f64)> = seen
                .iter()
                .enumerate()
                .filter_map(|(c, s)| s[j].map(|(ray, score)| (c, ray, score)))
                .collect();
            fitting(places, views)
        }));
    }
    for j in 0..JOINTS {
        let mut line: Vec<Option<V3>> = found.iter().map(|p| p[j]).collect();
        fill(&mut line);
        for part in line.split_mut(Option::is_none) {
            smooth(part);
        }
        found.iter_mut().zip(line).for_each(|(p, at)| p[j] = at);
    }
    found
}

/// A camera's rays at `at_us`; moments only go on.
fn between(track: &Track, cursor: &mut usize, at_us: i64) -> [Option<(V2, f64)>; JOINTS] {
    while track.get(*cursor + 1).is_some_and(|next| next.0 <= at_us) {
        *cursor += 1;
    }
    let (Some(a), Some(b)) = (track.get(*cursor), track.get(*cursor + 1)) else { return [None; JOINTS] };
    if a.0 > at_us || b.0 - a.0 > GAP_US || b.0 <= a.0 {
        return [None; JOINTS];
    }
    let share = (at_us - a.0) as f64 / (b.0 - a.0) as f64;
    std::array::from_fn(|j| {
        let ((p, s), (q, t)) = (a.1[j]?, b.1[j]?);
        (s.min(t) > MIN_SCORE).then(|| (p + (q - p) * share, s.min(t)))
    })
}

/// The point of all views, or of those that are left once the worst one after the other was taken out until the rest fit.
fn fitting(places: &[Extrinsics], mut views: Vec<(usize, V2, f64)>) -> Option<V3> {
    loop {
        let (at, off) = point(places, &views)?;
        if off < FITS {
            return Some(at);
        }
        let without =
            |k: usize| -> Vec<_> { (0..views.len()).filter(|i| *i != k).map(|i| views[i]).collect() };
        let least = (0..views.len())
            .filter_map(|k| Some((k, point(places, &without(k))?.1)))
            .min_by(|a, b| a.1.total_cmp(&b.1))?;
        views.remove(least.0);
    }
}

/// And how far its rays lie from it on average.
fn point(places: &[Extrinsics], views: &[(usize, V2, f64)]) -> Option<(V3, f64)> {
    let at = weighted_dlt(views.iter().map(|(c, ray, score)| (&places[*c], *ray, *score)))?;
    let offs =
        views.iter().map(|(c, ray, _)| seen_at(&places[*c], at).map_or(f64::MAX, |r| (r - ray).norm()));
    Some((at, offs.sum::<f64>() / views.len() as f64))
}

/// Straight over short gaps.
fn fill(line: &mut [Option<V3>]) {
    let mut before: Option<(usize, V3)> = None;
    for k in 0..line.len() {
        let Some(now) = line[k] else { continue };
        if let Some((then, at)) = before
            && k - then > 1
            && k - then <= FILLED
        {
            for (i, gap) in line[then + 1..k].iter_mut().enumerate() {
                *gap = Some(at.lerp(&now, (i + 1) as f64 / (k - then) as f64));
            }
        }
        before = Some((k, now));
    }
}

fn smooth(part: &mut [Option<V3>]) {
    for _ in 0..2 {
        let k = (std::f64::consts::PI * CUT_HZ / MOMENTS_HZ).tan();
        let norm = 1.0 / (1.0 + std::f64::consts::SQRT_2 * k + k * k);
        let (b0, a1, a2) =
            (k * k * norm, 2.0 * (k * k - 1.0) * norm, (1.0 - std::f64::consts::SQRT_2 * k + k * k) * norm);
        // As if it had always been where it begins.
        let Some(first) = part.first().copied().flatten() else { return };
        let (mut x1, mut x2, mut y1, mut y2) = (first, first, first, first);
        for at in part.iter_mut().flatten() {
            let x = *at;
            let y = (x + x1 * 2.0 + x2) * b0 - y1 * a1 - y2 * a2;
            (x2, x1, y2, y1) = (x1, x, y1, y);
            *at = y;
        }
        part.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_motion_stays_and_fast_motion_goes() {
        let wave = |hz: f64| -> Vec<Option<V3>> {
            (0..300)
                .map(|k| Some(V3::new((std::f64::consts::TAU * hz * f64::from(k) / 30.0).sin(), 2.0, 0.0)))
                .collect()
        };
        for (hz, low, high) in [(0.5, 0.98, 1.02), (6.0, 0.4, 0.6), (13.0, 0.0, 0.02)] {
            let mut line = wave(hz);
            smooth(&mut line);
            let most = line[60..240].iter().flatten().map(|p| p.x.abs()).fold(0.0, f64::max);
            assert!((low..=high).contains(&most), "{hz} Hz: {most}");
            assert!(line.iter().flatten().all(|p| (p.y - 2.0).abs() < 1e-9));
        }
    }

    #[test]
    fn a_camera_that_does_not_fit_is_left_out_and_gaps_are_filled() {
        let mut rng = fastrand::Rng::with_seed(2);
        let cameras: Vec<Extrinsics> =
            crate::simulate::ring(4, 4.0, &mut rng).into_iter().map(|c| c.1).collect();
        let at = V3::new(0.2, -0.3, 1.0);
        let moments: Vec<i64> = (1..40).map(|k| k * 33_333).collect();
        let tracks: Vec<Track> = cameras
            .iter()
            .enumerate()
            .map(|(c, place)| {
                let ray = seen_at(place, at).unwrap() + if c == 2 { V2::new(0.3, 0.1) } else { V2::zeros() };
                let seen = |k: i64| (10..14).contains(&k).then_some((ray, 0.9)).xor(Some((ray, 0.9)));
                (0..42).map(|k| (k * 33_333 + 100 * c as i64, [seen(k); JOINTS])).collect()
            })
            .collect();
        let found = whole_take(&cameras, &tracks, &moments);
        for pose in &found {
            assert!(pose.iter().all(|p| (p.unwrap() - at).norm() < 1e-6), "{pose:?}");
        }
    }
}
