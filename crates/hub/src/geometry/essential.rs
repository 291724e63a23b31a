//! How one camera stands to another, from rays to the same points: the essential matrix by the eight-point method (Hartley 1997)
//! within RANSAC, scored as in MSAC (Torr and Zisserman 2000) by Sampson's distance.

use nalgebra::{Matrix3, Rotation3, SMatrix, SVector, SymmetricEigen, UnitQuaternion};

use super::triangulate::dlt;
use crate::{Extrinsics, V2, V3};

/// Rays of two cameras to one point.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The first camera's.
    pub a: V2,
    /// The second's.
    pub b: V2,
    /// Standard deviation of the distance between the rays: of both together.
    pub sigma: f64,
}

/// The second camera as the first sees it, but for the distance.
#[derive(Clone, Debug)]
pub struct Relative {
    /// From the first camera's space to the second's; the translation has length 1.
    pub place: Extrinsics,
    /// Share of pairs that agree.
    pub inliers: f64,
    /// Middle one of the angles between the rays to one point, radians.
    pub parallax: f64,
}

/// Tries; each takes eight to eighteen pairs. Of eight, with 70 % of good pairs, one in seventeen is clean.
const TRIES: usize = 1500;
/// Within so many sigmas a pair agrees.
const AGREES: f64 = 2.5;
/// More pairs than these tell a try no better.
const SCORED: usize = 600;

/// Finds how the cameras stand. `None` for fewer than 30 pairs, or where less than a third agree.
pub fn relative(pairs: &[Pair], rng: &mut fastrand::Rng) -> Option<Relative> {
    if pairs.len() < 30 {
        return None;
    }
    let scored: Vec<Pair> =
        (0..SCORED.min(pairs.len())).map(|k| pairs[k * pairs.len() / SCORED.min(pairs.len())]).collect();
    let mut best = (f64::MAX, Matrix3::zeros());
    for tried in 0..TRIES {
        // Few are rarely wrong, many are less noisy: which helps more is not known beforehand.
        let sample: Vec<Pair> =
            (0..[8, 12, 18][tried % 3]).map(|_| pairs[rng.usize(..pairs.len())]).collect();
        let Some(e) = eight_point(sample.iter(), |_| 1.0) else { continue };
        let first = cost(&e, &scored);
        // Eight noisy pairs are a poor guess, and a better one may start from a worse: what is near enough is refined.
        if first < 1.1 * best.0 {
            best = refined(&e, first, &scored, best);
        }
    }
    let e = refined(&best.1, f64::MAX, pairs, (f64::MAX, best.1)).1;
    let agree: Vec<&Pair> = pairs.iter().filter(|p| sampson(&e, p) < AGREES * AGREES).collect();
    let inliers = agree.len() as f64 / pairs.len() as f64;
    if agree.len() < 30 || inliers < 1.0 / 3.0 {
        return None;
    }
    let place = in_front(&e, &agree)?;
    let mut angles: Vec<f64> = agree
        .iter()
        .map(|p| {
            let a = place.rotation * V3::new(p.a.x, p.a.y, 1.0);
            a.angle(&V3::new(p.b.x, p.b.y, 1.0))
        })
        .collect();
    angles.sort_by(f64::total_cmp);
    Some(Relative { place, inliers, parallax: angles[angles.len() / 2] })
}

/// The better of `best` and what comes of `e` when those that agree, at first loosely, are asked again, weighed as Sampson's
/// distance weighs them.
fn refined(
    e: &Matrix3<f64>,
    first: f64,
    pairs: &[Pair],
    mut best: (f64, Matrix3<f64>),
) -> (f64, Matrix3<f64>) {
    let mut now = *e;
    if first < best.0 {
        best = (first, now);
    }
    for loose in [3.0, 2.0, 1.5, 1.0, 1.0] {
        let agree = pairs.iter().filter(|p| sampson(&now, p) < (loose * AGREES).powi(2));
        if agree.clone().count() < 16 {
            break;
        }
        let Some(next) = eight_point(agree, |p| 1.0 / (slope(&now, p).sqrt() * p.sigma)) else { break };
        now = next;
        let cost = cost(&now, pairs);
        if cost < best.0 {
            best = (cost, now);
        }
    }
    best
}

/// E with bᵀ E a = 0 at best, its singular values made (1, 1, 0).
fn eight_point<'a>(
    pairs: impl Iterator<Item = &'a Pair> + Clone,
    weight: impl Fn(&Pair) -> f64,
) -> Option<Matrix3<f64>> {
    let (to_a, to_b) = (normal(pairs.clone().map(|p| p.a))?, normal(pairs.clone().map(|p| p.b))?);
    let mut sum = SMatrix::<f64, 9, 9>::zeros();
    for p in pairs {
        let a = to_a * V3::new(p.a.x, p.a.y, 1.0);
        let b = to_b * V3::new(p.b.x, p.b.y, 1.0);
        let row = SVector::<f64, 9>::from_fn(|i, _| b[i / 3] * a[i % 3]) * weight(p);
        sum += row * row.transpose();
    }
    let eigen = SymmetricEigen::new(sum);
    let least = eigen.eigenvectors.column(eigen.eigenvalues.imin()).into_owned();
    let e = to_b.transpose() * Matrix3::from_fn(|i, j| least[3 * i + j]) * to_a;
    let svd = e.svd(true, true);
    let e = svd.u? * Matrix3::from_diagonal(&V3::new(1.0, 1.0, 0.0)) * svd.v_t?;
    e.iter().all(|v| v.is_finite()).then_some(e)
}

/// Brings rays round their middle to a spread of √2.
fn normal(rays: impl Iterator<Item = V2> + Clone) -> Option<Matrix3<f64>> {
    let n = rays.clone().count() as f64;
    let middle = rays.clone().sum::<V2>() / n;
    let spread = rays.map(|r| (r - middle).norm()).sum::<f64>() / n;
    let s = std::f64::consts::SQRT_2 / spread;
    s.is_finite().then(|| Matrix3::new(s, 0.0, -s * middle.x, 0.0, s, -s * middle.y, 0.0, 0.0, 1.0))
}

/// Sampson's distance, squared, in units of sigma.
fn sampson(e: &Matrix3<f64>, p: &Pair) -> f64 {
    let (a, b) = (V3::new(p.a.x, p.a.y, 1.0), V3::new(p.b.x, p.b.y, 1.0));
    // Sigma is of both rays together, the slope of each.
    2.0 * b.dot(&(e * a)).powi(2) / (slope(e, p) * p.sigma * p.sigma)
}

/// How bᵀ E a changes with the rays, squared.
fn slope(e: &Matrix3<f64>, p: &Pair) -> f64 {
    let (a, b) = (V3::new(p.a.x, p.a.y, 1.0), V3::new(p.b.x, p.b.y, 1.0));
    ((e * a).xy().norm_squared() + e.tr_mul(&b).xy().norm_squared()).max(1e-12)
}

fn cost(e: &Matrix3<f64>, pairs: &[Pair]) -> f64 {
    pairs.iter().map(|p| sampson(e, p).min(AGREES * AGREES)).sum()
}

/// Of the four cameras that an essential matrix allows, the one that has the points before both.
fn in_front(e: &Matrix3<f64>, pairs: &[&Pair]) -> Option<Extrinsics> {
    let svd = e.svd(true, true);
    let (mut u, mut v_t) = (svd.u?, svd.v_t?);
    if u.determinant() < 0.0 {
        u = -u;
    }
    if v_t.determinant() < 0.0 {
        v_t = -v_t;
    }
    let w = Matrix3::new(0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0);
    let t = u.column(2).into_owned();
    let mut best: Option<(usize, Extrinsics)> = None;
    for (turn, side) in [(w, 1.0), (w, -1.0), (w.transpose(), 1.0), (w.transpose(), -1.0)] {
        let rotation =
            UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(u * turn * v_t));
        let place = Extrinsics::from_parts((t * side).into(), rotation);
        let before = pairs
            .iter()
            .step_by(1 + pairs.len() / 200)
            .filter(|p| {
                let Some(at) = dlt([(&Extrinsics::identity(), p.a), (&place, p.b)].into_iter()) else {
                    return false;
                };
                at.z > 0.0 && (place * nalgebra::Point3::from(at)).z > 0.0
            })
            .count();
        if best.as_ref().is_none_or(|b| before > b.0) {
            best = Some((before, place));
        }
    }
    best.map(|b| b.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::seen_at;

    #[test]
    fn the_second_camera_is_found_among_a_fifth_of_wrong_pairs() {
        for seed in 0..12 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let turn = UnitQuaternion::from_euler_angles(0.1, 1.2, 0.05);
            let at = V3::new(4.0, 0.3, 3.5);
            let truth = Extrinsics::from_parts((-(turn * at)).into(), turn);
            let mut noise = |s: f64| s * (0..12).map(|_| rng.f64() - 0.5).sum::<f64>();
            let mut pairs = Vec::new();
            while pairs.len() < 900 {
                let p = V3::new(noise(1.0), 0.5 * noise(1.0), 4.5 + noise(1.0));
                let (Some(a), Some(b)) = (seen_at(&Extrinsics::identity(), p), seen_at(&truth, p)) else {
                    continue;
                };
                let sigma = if pairs.len() % 5 == 0 { 0.2 } else { 0.004 };
                let a = a + V2::new(noise(sigma), noise(sigma));
                let b = b + V2::new(noise(sigma), noise(sigma));
                pairs.push(Pair { a, b, sigma: 0.0057 });
            }
            let found = relative(&pairs, &mut fastrand::Rng::with_seed(seed)).unwrap();
            let turned = (found.place.rotation * truth.rotation.inverse()).angle().to_degrees();
            let moved = found.place.translation.vector.angle(&truth.translation.vector).to_degrees();
            assert!(turned < 2.0 && moved < 2.0, "seed {seed}: {turned}° {moved}°");
            assert!((0.65..0.9).contains(&found.inliers) && found.parallax > 0.5, "{found:?}");
        }
    }

    #[test]
    fn noise_alone_is_no_geometry() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut any = || V2::new(rng.f64() - 0.5, rng.f64() - 0.5);
        let pairs: Vec<Pair> = (0..400).map(|_| Pair { a: any(), b: any(), sigma: 0.005 }).collect();
        assert!(relative(&pairs, &mut fastrand::Rng::with_seed(2)).is_none());
        assert!(relative(&pairs[..20], &mut fastrand::Rng::with_seed(2)).is_none());
    }
}
