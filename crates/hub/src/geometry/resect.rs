//! Where a camera stands, from points of the room that it sees: direct linear transform by RANSAC, then least squares.

use nalgebra::{Matrix3, Matrix3x4, Matrix6, Rotation3, SMatrix, SymmetricEigen, UnitQuaternion, Vector6};

use super::triangulate::residual;
use crate::{Extrinsics, V2, V3};

/// A point of the room and the ray that the camera sees it by.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// Metres.
    pub at: V3,
    /// The ray.
    pub ray: V2,
    /// Of the ray, the point's own error included.
    pub sigma: f64,
}

/// A place, and how well it explains what was seen.
#[derive(Clone, Copy, Debug)]
pub struct Resected {
    /// From the room to the camera.
    pub place: Extrinsics,
    /// Share of the marks that lie within three sigmas.
    pub inliers: f64,
}

/// The transform has eleven numbers: six marks would do, more are steadier against their noise.
const SAMPLE: usize = 9;
const TRIES: usize = 120;
/// In sigmas.
const NEAR: f64 = 3.0;
/// In sigmas: from here on a mark counts less.
const CAUCHY: f64 = 2.0;
const ROUNDS: usize = 12;
/// Marks that a try is judged by.
const JUDGES: usize = 250;

/// Where a camera sees `marks` from; `None` for too few, or marks that no place explains.
pub fn resect(marks: &[Mark], rng: &mut fastrand::Rng) -> Option<Resected> {
    if marks.len() < 4 * SAMPLE {
        return None;
    }
    let judges: Vec<Mark> =
        (0..JUDGES.min(marks.len())).map(|k| marks[k * marks.len() / JUDGES.min(marks.len())]).collect();
    let cost = |place: &Extrinsics| judges.iter().map(|m| off(place, m).min(NEAR * NEAR)).sum::<f64>();
    let mut best: Option<(f64, Extrinsics)> = None;
    for _ in 0..TRIES {
        let sample: [Mark; SAMPLE] = std::array::from_fn(|_| marks[rng.usize(..marks.len())]);
        let Some(place) = transform(&sample).map(|place| refined(place, &sample, 3)) else { continue };
        let cost = cost(&place);
        if best.is_none_or(|b| cost < b.0) {
            best = Some((cost, place));
        }
    }
    let place = refined(best?.1, marks, ROUNDS);
    let near = marks.iter().filter(|m| off(&place, m) < NEAR * NEAR).count();
    Some(Resected { place, inliers: near as f64 / marks.len() as f64 })
}

/// Squared distance in sigmas.
fn off(place: &Extrinsics, mark: &Mark) -> f64 {
    residual(place, mark.at, mark.ray).map_or(f64::MAX, |(r, _)| r.norm_squared() / (mark.sigma * mark.sigma))
}

/// The camera matrix that fits all marks alike, made a place; `None` where they lie in a plane or behind.
fn transform(marks: &[Mark]) -> Option<Extrinsics> {
    let n = marks.len() as f64;
    let middle = marks.iter().map(|m| m.at).sum::<V3>() / n;
    let size = (marks.iter().map(|m| (m.at - middle).norm_squared()).sum::<f64>() / n).sqrt().max(1e-6);
    let mut normal = SMatrix::<f64, 12, 12>::zeros();
    for mark in marks {
        let p = (mark.at - middle) / size;
        let mut x = SMatrix::<f64, 12, 1>::zeros();
        let mut y = SMatrix::<f64, 12, 1>::zeros();
        for (k, v) in [p.x, p.y, p.z, 1.0].into_iter().enumerate() {
            (x[k], x[8 + k]) = (v, -v * mark.ray.x);
            (y[4 + k], y[8 + k]) = (v, -v * mark.ray.y);
        }
        normal += x * x.transpose() + y * y.transpose();
    }
    let eigen = SymmetricEigen::try_new(normal, 1e-12, 200)?;
    let v = eigen.eigenvectors.column(eigen.eigenvalues.imin()).into_owned();
    let mut matrix = Matrix3x4::from_row_slice(v.as_slice());
    let turn: Matrix3<f64> = matrix.fixed_columns::<3>(0).into_owned();
    if turn.determinant() < 0.0 {
        matrix = -matrix;
    }
    let turn: Matrix3<f64> = matrix.fixed_columns::<3>(0).into_owned();
    let scale = turn.determinant().cbrt();
    if scale < 1e-9 {
        return None;
    }
    let rotation = UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_eps(
        &(turn / scale),
        1e-9,
        50,
        Rotation3::identity(),
    ));
    let shift = matrix.column(3) / scale * size - rotation * middle;
    let place = Extrinsics::from_parts(shift.into(), rotation);
    marks.iter().all(|m| (place * nalgebra::Point3::from(m.at)).z > 0.2).then_some(place)
}

/// Gauss and Newton's steps, marks that do not fit counting less and less (Cauchy).
fn refined(start: Extrinsics, marks: &[Mark], rounds: usize) -> Extrinsics {
    let mut place = start;
    for _ in 0..rounds {
        let (mut a, mut b) = (Matrix6::<f64>::zeros(), Vector6::<f64>::zeros());
        for mark in marks {
            let Some((r, by_point)) = residual(&place, mark.at, mark.ray) else { continue };
            let square = r.norm_squared() / (mark.sigma * mark.sigma);
            let weight = 1.0 / (mark.sigma * mark.sigma * (1.0 + square / (CAUCHY * CAUCHY)));
            // By the point in the camera's space: `residual` gives it in the room's.
            let by_seen = by_point * place.rotation.inverse().to_rotation_matrix().matrix();
            let arm = place.rotation * mark.at;
            let mut slope = SMatrix::<f64, 2, 6>::zeros();
            slope.fixed_columns_mut::<3>(0).copy_from(&(-by_seen * arm.cross_matrix()));
            slope.fixed_columns_mut::<3>(3).copy_from(&by_seen);
            a += slope.tr_mul(&slope) * weight;
            b += slope.tr_mul(&r) * weight;
        }
        // A little stiffness where marks lie badly.
        a += Matrix6::identity() * (1e-6 * a.trace());
        let Some(step) = a.cholesky().map(|f| f.solve(&b)) else { break };
        let turn = UnitQuaternion::from_scaled_axis(-step.fixed_rows::<3>(0).into_owned());
        let shift = place.translation.vector - step.fixed_rows::<3>(3);
        place = Extrinsics::from_parts(shift.into(), turn * place.rotation);
        if step.norm() < 1e-7 {
            break;
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{apart, seen_at};

    #[test]
    fn a_camera_is_found_among_marks_of_which_a_third_are_wrong() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..5 {
            let mut any = |s: f64| V3::new(rng.f64() - 0.5, rng.f64() - 0.5, rng.f64() - 0.5) * s;
            let eye = any(2.0) + V3::new(0.0, -4.0, 1.8);
            let turn = UnitQuaternion::face_towards(&(V3::new(0.0, 0.0, 0.9) - eye), &-V3::z());
            let truth = Extrinsics::from_parts(eye.into(), turn).inverse();
            let mut marks = Vec::new();
            for k in 0..300 {
                let at = any(2.0) + V3::new(0.0, 0.0, 1.0);
                let mut ray = seen_at(&truth, at).unwrap() + any(0.02).xy();
                if k % 3 == 0 {
                    ray += any(1.0).xy();
                }
                marks.push(Mark { at, ray, sigma: 0.01 });
            }
            let found = resect(&marks, &mut rng).unwrap();
            let (radians, metres) = apart(&found.place, &truth);
            assert!(radians < 0.007 && metres < 0.045, "{radians} {metres}");
            assert!((0.6..0.8).contains(&found.inliers), "{}", found.inliers);
        }
    }

    #[test]
    fn marks_of_chance_are_no_place() {
        let mut rng = fastrand::Rng::with_seed(4);
        let marks: Vec<Mark> = (0..300)
            .map(|_| {
                let mut any = || rng.f64() - 0.5;
                Mark { at: V3::new(any(), any(), any()), ray: V2::new(any(), any()), sigma: 0.01 }
            })
            .collect();
        assert!(resect(&marks, &mut rng).is_none_or(|r| r.inliers < 0.3));
        assert!(resect(&marks[..10], &mut rng).is_none());
    }
}
