//! The camera and every view's pose that explain the corners best, from a guess; and how sure the camera's numbers are.
//!
//! Least squares on the distance in pixels, by Levenberg and Marquardt's method. Of the camera's numbers the last may be held as they are.

use nalgebra::{DMatrix, DVector, Rotation3, Vector3};

use super::{Corner, Intrinsics, View};

/// The intrinsics: fx, fy, cx, cy, k1, k2.
pub const CAMERA: usize = 6;
/// A view's pose: a rotation vector and a translation in squares.
const POSE: usize = 6;
/// Corners are found no better than that along each axis, pixels, however well the camera explains them.
const CORNER_SIGMA_PX: f64 = 0.05;

/// Where a board is before the camera.
pub type Pose = [f64; POSE];

/// Where a camera sees a point of the board.
pub fn project(camera: &[f64; CAMERA], pose: &Pose, place: [f64; 2]) -> [f64; 2] {
    let [wx, wy, wz, tx, ty, tz] = *pose;
    let seen = Rotation3::new(Vector3::new(wx, wy, wz)) * Vector3::new(place[0], place[1], 0.0);
    let seen = seen + Vector3::new(tx, ty, tz);
    let [fx, fy, cx, cy, k1, k2] = *camera;
    Intrinsics { fx, fy, cx, cy, k1, k2 }.project(seen.x / seen.z, seen.y / seen.z)
}

fn squared_error(views: &[View], camera: &[f64; CAMERA], poses: &[Pose]) -> f64 {
    let mut sum = 0.0;
    for (view, pose) in views.iter().zip(poses) {
        for corner in &view.corners {
            let [u, v] = project(camera, pose, corner.square);
            sum += (u - corner.seen_px[0]).powi(2) + (v - corner.seen_px[1]).powi(2);
        }
    }
    sum
}

/// Levenberg and Marquardt's method over the first `free` of the camera's numbers and all poses; gives the root mean square error in pixels.
pub fn refine(views: &[View], camera: &mut [f64; CAMERA], poses: &mut [Pose], free: usize) -> Option<f64> {
    /// Enough for every set of views that converges at all; a step costs milliseconds.
    const STEPS: usize = 60;
    let mut damping = 1e-3;
    let mut error = squared_error(views, camera, poses);
    for _ in 0..STEPS {
        let (mut a, b) = normal_equations(views, camera, poses, free);
        for i in 0..a.nrows() {
            a[(i, i)] *= 1.0 + damping;
        }
        let step = a.lu().solve(&b).filter(|step| step.iter().all(|v| v.is_finite()))?;
        let mut new_camera = *camera;
        let mut new_poses = poses.to_vec();
        let values = new_camera[..free].iter_mut().chain(new_poses.iter_mut().flatten());
        values.zip(&step).for_each(|(value, change)| *value += change);
        let new_error = squared_error(views, &new_camera, &new_poses);
        if new_error < error {
            let gain = (error - new_error) / error.max(1e-30);
            (*camera, error, damping) = (new_camera, new_error, damping * 0.3);
            poses.copy_from_slice(&new_poses);
            if gain < 1e-10 {
                break;
            }
        } else {
            damping *= 10.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    error.is_finite().then(|| (error / corners(views) as f64).sqrt())
}

/// Standard deviations of the camera's numbers, of which the first `free` were refined: by how far the corners are off, and how much each
/// number moves them. `None` where the views leave one of them open.
pub fn sigmas(views: &[View], camera: &[f64; CAMERA], poses: &[Pose], free: usize) -> Option<[f64; CAMERA]> {
    let (a, _) = normal_equations(views, camera, poses, free);
    // The numbers' units differ by many orders of magnitude.
    let unit = a.diagonal().map(|v| 1.0 / v.sqrt());
    let scaled = DMatrix::from_fn(a.nrows(), a.ncols(), |i, k| a[(i, k)] * unit[i] * unit[k]);
    let inverse = scaled.cholesky()?.inverse();
    let spare = (2 * corners(views)).checked_sub(a.nrows()).filter(|&n| n > 0)?;
    let variance = (squared_error(views, camera, poses) / spare as f64).max(CORNER_SIGMA_PX.powi(2));
    let sigma = |k: usize| (variance * inverse[(k, k)]).sqrt() * unit[k];
    let sigmas = std::array::from_fn(|k| if k < free { sigma(k) } else { 0.0 });
    sigmas.iter().all(|v| v.is_finite()).then_some(sigmas)
}

fn corners(views: &[View]) -> usize {
    views.iter().map(|view| view.corners.len()).sum()
}

/// Of the first `free` of the camera's numbers, then of each view's pose.
fn normal_equations(
    views: &[View],
    camera: &[f64; CAMERA],
    poses: &[Pose],
    free: usize,
) -> (DMatrix<f64>, DVector<f64>) {
    let n = free + POSE * views.len();
    let (mut a, mut b) = (DMatrix::<f64>::zeros(n, n), DVector::<f64>::zeros(n));
    for (index, (view, pose)) in views.iter().zip(poses).enumerate() {
        for corner in &view.corners {
            let (residual, slopes) = slopes(camera, pose, corner);
            // Where each number stands, and how it moves the corner.
            let of_pose = (free + POSE * index..).zip(&slopes[CAMERA..]);
            let numbers = slopes[..free].iter().enumerate().chain(of_pose);
            for (at, slope) in numbers.clone() {
                for (and, other) in numbers.clone() {
                    a[(at, and)] += slope[0] * other[0] + slope[1] * other[1];
                }
                b[at] -= slope[0] * residual[0] + slope[1] * residual[1];
            }
        }
    }
    (a, b)
}

/// What is seen too much of, and how it changes with each of the camera's and the pose's numbers (differences).
fn slopes(
    camera: &[f64; CAMERA],
    pose: &Pose,
    &Corner { square: place, seen_px: seen }: &Corner,
) -> ([f64; 2], [[f64; 2]; CAMERA + POSE]) {
    let here = project(camera, pose, place);
    let slopes = std::array::from_fn(|k| {
        let (mut c, mut p) = (*camera, *pose);
        let value = if k < CAMERA { &mut c[k] } else { &mut p[k - CAMERA] };
        let step = 1e-6 * value.abs().max(1.0);
        *value += step;
        let there = project(&c, &p, place);
        [(there[0] - here[0]) / step, (there[1] - here[1]) / step]
    });
    ([here[0] - seen[0], here[1] - seen[1]], slopes)
}
