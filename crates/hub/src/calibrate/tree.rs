//! All cameras from pairs of them: the best pair first, then whoever is best tied to those that stand already.

use nalgebra::Point3;

use super::{CalibrateError, Moment};
use crate::geometry::{Pair, Relative, View, relative, seen_at, triangulate};
use crate::{Extrinsics, V3};

/// Fewer rays in common are no tie.
const MIN_PAIRS: usize = 150;
/// Radians between rays to the same joint, below which a distance is a guess.
const MIN_PARALLAX: f64 = 0.12;

/// Two cameras, and how the second stands to the first.
struct Tie {
    cameras: [usize; 2],
    weight: f64,
    relative: Relative,
}

/// A first guess of every camera's place, in the first pair's units: from the space of the first camera that was placed.
pub fn places(
    moments: &[Moment],
    cameras: usize,
    rng: &mut fastrand::Rng,
) -> Result<Vec<Extrinsics>, CalibrateError> {
    let mut ties = Vec::new();
    for a in 0..cameras {
        for b in a + 1..cameras {
            ties.extend(tie(moments, [a, b], rng));
        }
    }
    let mut placed: Vec<Option<Extrinsics>> = vec![None; cameras];
    if let Some(best) = ties.iter().max_by(|s, t| s.weight.total_cmp(&t.weight)) {
        placed[best.cameras[0]] = Some(Extrinsics::identity());
        placed[best.cameras[1]] = Some(best.relative.place);
    }
    while let Some(missing) = placed.iter().position(Option::is_none) {
        let stands = |c: usize| placed[c].is_some();
        let next = ties
            .iter()
            .filter(|t| stands(t.cameras[0]) != stands(t.cameras[1]))
            .max_by(|s, t| s.weight.total_cmp(&t.weight));
        let grown = next.and_then(|tie| {
            let [a, b] = tie.cameras;
            // From the one that stands to the one that does not.
            let (from, to, turned) =
                if stands(a) { (a, b, tie.relative.place) } else { (b, a, tie.relative.place.inverse()) };
            Some((to, scaled(moments, &placed, from, to, turned)?, a, b))
        });
        match grown {
            Some((to, place, _, _)) => placed[to] = Some(place),
            None => match next.map(|t| t.cameras) {
                // This tie has nothing in common with the others: without it then.
                Some(cameras) => ties.retain(|t| t.cameras != cameras),
                None => return Err(CalibrateError::Apart { camera: missing }),
            },
        }
    }
    Ok(placed.into_iter().flatten().collect())
}

fn tie(moments: &[Moment], [a, b]: [usize; 2], rng: &mut fastrand::Rng) -> Option<Tie> {
    let pairs: Vec<Pair> = moments
        .iter()
        .filter_map(|m| Some((m.seen[a].as_ref()?, m.seen[b].as_ref()?)))
        .flat_map(|(a, b)| a.iter().zip(b))
        .filter_map(|(a, b)| Some(((*a)?, (*b)?)))
        .map(|(a, b)| Pair { a: a.at, b: b.at, sigma: a.sigma.hypot(b.sigma) })
        .collect();
    if pairs.len() < MIN_PAIRS {
        return None;
    }
    let relative = relative(&pairs, rng)?;
    // Rays that meet at a right angle tell best; opposite ones are as bad as parallel ones.
    let angle = relative.parallax.sin();
    let weight = relative.inliers * relative.inliers * (pairs.len() as f64).sqrt() * angle;
    (relative.parallax > MIN_PARALLAX).then_some(Tie { cameras: [a, b], weight, relative })
}

/// The place of `to`, its distance from `from` being such that joints lie as deep as those that stand say.
fn scaled(
    moments: &[Moment],
    placed: &[Option<Extrinsics>],
    from: usize,
    to: usize,
    turned: Extrinsics,
) -> Option<Extrinsics> {
    let base = placed[from]?;
    let identity = Extrinsics::identity();
    let mut ratios = Vec::new();
    for m in moments.iter().filter(|m| m.seen[to].is_some()) {
        for joint in 0..pose::JOINTS {
            let sights: Vec<_> = m.views(joint).collect();
            let of = |camera: usize| sights.iter().find(|s| s.0 == camera).map(|s| s.1);
            let (Some(near), Some(far)) = (of(from), of(to)) else { continue };
            let views: Vec<View<'_>> = sights
                .iter()
                .filter_map(|(c, s)| Some(View { camera: placed[*c].as_ref()?, ray: s.at, sigma: s.sigma }))
                .collect();
            let Some(spot) = triangulate(&views) else { continue };
            let unit = [
                View { camera: &identity, ray: near.at, sigma: near.sigma },
                View { camera: &turned, ray: far.at, sigma: far.sigma },
            ];
            let Some(alone) = triangulate(&unit) else { continue };
            // Where rays do not meet there is no depth.
            if spot.misfit < 4.0 && alone.misfit < 4.0 && seen_at(&base, spot.at).is_some() {
                ratios.push((base * Point3::from(spot.at)).z / alone.at.z);
            }
        }
    }
    if ratios.len() < MIN_PAIRS / 3 {
        return None;
    }
    ratios.sort_by(f64::total_cmp);
    let scale = ratios[ratios.len() / 2];
    let moved: V3 = turned.translation.vector * scale;
    (scale > 0.0).then(|| Extrinsics::from_parts(moved.into(), turned.rotation) * base)
}
