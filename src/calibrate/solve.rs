//! The camera behind several views of one board: a guess from homographies, then least squares over everything.
//!
//! The guess takes square pixels and the principal point in the middle, so that each view of a tilted board tells the
//! focal length (Zhang's constraints with one unknown). The intrinsics and every view's pose are then refined on the distance in pixels
//! (`refine.rs`), which is what is reported. How sure the numbers are decides whether they are believed: a board that is always straight on is
//! explained as well by any focal length.

use nalgebra::{Matrix3, Rotation3, SMatrix, SVector, Vector3};

use super::refine::{CAMERA, Pose, refine, sigmas};
use super::{CalibrationError, Corner, Intrinsics, View};

/// Below this many views noise goes into the intrinsics; three would do for exact corners.
const MIN_VIEWS: usize = 6;
/// A camera in focus and a flat board reach a tenth of a pixel; far above, something is wrong.
const MAX_RMS_PX: f64 = 2.0;
/// Of the focal length: metres are wrong by as much.
const MAX_F_SIGMA: f64 = 0.02;
/// Of k1 and k2. Narrow lenses, and boards that stay in the middle, leave hundreds open, and what fits the noise there bends the edges at will.
const MAX_K_SIGMA: f64 = 0.5;
/// The intrinsics before k1 and k2.
const WITHOUT_DISTORTION: usize = 4;

/// The camera, and how well it explains the views.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The camera.
    pub intrinsics: Intrinsics,
    /// Root mean square of the distance between corners seen and explained, pixels.
    pub rms_px: f64,
    /// Standard deviation of the focal lengths, of the less sure one, pixels.
    pub f_sigma_px: f64,
}

/// Finds the camera from `views` of pictures of `size_px`.
///
/// # Errors
/// [`CalibrationError`], saying what to show instead.
pub fn solve(size_px: [usize; 2], views: &[View]) -> Result<Fit, CalibrationError> {
    if views.len() < MIN_VIEWS {
        return Err(CalibrationError::TooFewViews { found: views.len(), needed: MIN_VIEWS });
    }
    let [cx, cy] = size_px.map(|s| 0.5 * s as f64);
    let homographies: Vec<[f64; 9]> = views
        .iter()
        .map(|view| homography(view, [cx, cy]))
        .collect::<Option<_>>()
        .ok_or(CalibrationError::TooAlike)?;
    let f = focal_length(&homographies).ok_or(CalibrationError::TooAlike)?;
    let poses: Vec<Pose> = homographies.iter().map(|h| pose(h, f)).collect();
    let fit = told(views, &[f, f, cx, cy, 0.0, 0.0], &poses).ok_or(CalibrationError::TooAlike)?;
    let Fit { intrinsics: Intrinsics { fx, fy, .. }, rms_px, f_sigma_px } = fit;
    let widest = size_px[0].max(size_px[1]) as f64;
    // Views that are all alike end in a telescope or in a lens that no camera has.
    if ![fx, fy].iter().all(|f| (0.1 * widest..20.0 * widest).contains(f)) {
        return Err(CalibrationError::TooAlike);
    }
    if rms_px > MAX_RMS_PX {
        return Err(CalibrationError::Contradictory { rms_px });
    }
    if f_sigma_px > MAX_F_SIGMA * fx.min(fy) {
        return Err(CalibrationError::TooAlike);
    }
    Ok(fit)
}

/// The camera from a guess, without the terms of distortion that these views do not tell.
fn told(views: &[View], guess: &[f64; CAMERA], guessed: &[Pose]) -> Option<Fit> {
    for free in (WITHOUT_DISTORTION..=CAMERA).rev() {
        let (mut camera, mut poses) = (*guess, guessed.to_vec());
        let rms_px = refine(views, &mut camera, &mut poses, free)?;
        let Some(sigmas) = sigmas(views, &camera, &poses, free) else { continue };
        if free == WITHOUT_DISTORTION || sigmas[free - 1] < MAX_K_SIGMA {
            let [fx, fy, cx, cy, k1, k2] = camera;
            let intrinsics = Intrinsics { fx, fy, cx, cy, k1, k2 };
            return Some(Fit { intrinsics, rms_px, f_sigma_px: sigmas[0].max(sigmas[1]) });
        }
    }
    None
}

/// From places on the board to pixels relative to the middle of the picture.
fn homography(view: &View, middle: [f64; 2]) -> Option<[f64; 9]> {
    // In units of the picture's half width, so that the normal equations are well scaled.
    let unit = middle[0].max(1.0);
    let (mut a, mut b) = (SMatrix::<f64, 8, 8>::zeros(), SVector::<f64, 8>::zeros());
    for &Corner { square: [x, y], seen_px: seen } in &view.corners {
        let [u, v] = [(seen[0] - middle[0]) / unit, (seen[1] - middle[1]) / unit];
        for (row, right) in
            [([x, y, 1.0, 0.0, 0.0, 0.0, -u * x, -u * y], u), ([0.0, 0.0, 0.0, x, y, 1.0, -v * x, -v * y], v)]
        {
            let row = SVector::from(row);
            a += row * row.transpose();
            b += row * right;
        }
    }
    let h = a.lu().solve(&b).filter(|h| h.iter().all(|v| v.is_finite()))?;
    let pixels = |j: usize| if j < 6 { unit * h[j] } else { h[j] };
    Some(std::array::from_fn(|j| if j == 8 { 1.0 } else { pixels(j) }))
}

/// The focal length in pixels that makes the board's axes perpendicular and equally long in all views at best.
fn focal_length(homographies: &[[f64; 9]]) -> Option<f64> {
    let (mut above, mut below) = (0.0, 0.0);
    for h in homographies {
        // Columns of the homography: the board's axes as seen.
        let (p, q) = ([h[0], h[3], h[6]], [h[1], h[4], h[7]]);
        // Perpendicular, and equally long: a/f² + b = 0. In units of the axes' own length.
        let scale = (p[0] * p[0] + p[1] * p[1] + q[0] * q[0] + q[1] * q[1]).max(1e-12);
        for (a, b) in [
            (p[0] * q[0] + p[1] * q[1], p[2] * q[2]),
            (p[0] * p[0] + p[1] * p[1] - q[0] * q[0] - q[1] * q[1], p[2] * p[2] - q[2] * q[2]),
        ] {
            above -= a * b / (scale * scale);
            below += b * b / (scale * scale);
        }
    }
    // a/f² + b = 0, solved as a + b·f² = 0: views straight on, where b is 0, then say nothing instead of nonsense.
    let f2 = above / below;
    (below > 0.0 && f2 > 0.0 && f2.is_finite()).then(|| f2.sqrt())
}

/// The pose of a board with this homography before a camera with focal length `f`.
fn pose(h: &[f64; 9], f: f64) -> Pose {
    let column = |j: usize| Vector3::new(h[j] / f, h[3 + j] / f, h[6 + j]);
    let (p, q, t) = (column(0), column(1), column(2));
    // The board is in front of the camera.
    let scale = t.z.signum() * 2.0 / (p.norm() + q.norm());
    let t = t * scale;
    let p = (p * scale).normalize();
    let q = q * scale;
    let q = (q - p * p.dot(&q)).normalize();
    let w = Rotation3::from_matrix_unchecked(Matrix3::from_columns(&[p, q, p.cross(&q)])).scaled_axis();
    [w.x, w.y, w.z, t.x, t.y, t.z]
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::refine::project;
    use super::*;

    use crate::calibrate::Board;

    pub const BOARD: Board = Board { columns: 9, rows: 6 };
    pub const TRUTH: Intrinsics =
        Intrinsics { fx: 610.0, fy: 605.0, cx: 330.0, cy: 236.0, k1: -0.12, k2: 0.05 };

    /// Poses of a board tilted to all sides, in view of [`TRUTH`] at 640×480.
    pub fn tilted() -> Vec<Pose> {
        (0..9)
            .map(|i| {
                let (a, b) = (f64::from(i % 3 - 1), f64::from(i / 3 - 1));
                [
                    0.5 * b + 0.1,
                    -0.55 * a + 0.05,
                    0.1 * a * b + 0.03,
                    -4.0 + 0.9 * a,
                    -2.5 + 0.5 * b,
                    18.0 + a + b,
                ]
            })
            .collect()
    }

    pub fn seen_at(camera: &Intrinsics, pose: &Pose, place: [f64; 2]) -> [f64; 2] {
        project(&[camera.fx, camera.fy, camera.cx, camera.cy, camera.k1, camera.k2], pose, place)
    }

    pub fn seen(camera: &Intrinsics, pose: &Pose) -> View {
        let squares = (0..BOARD.corners()).map(|i| [(i % BOARD.columns) as f64, (i / BOARD.columns) as f64]);
        let corners = squares.map(|square| Corner { square, seen_px: seen_at(camera, pose, square) });
        View { corners: corners.collect(), is_whole: true }
    }

    /// The view with each corner's place changed.
    fn shaken(mut view: View, mut by: impl FnMut(usize, [f64; 2]) -> [f64; 2]) -> View {
        for (i, corner) in view.corners.iter_mut().enumerate() {
            corner.seen_px = by(i, corner.seen_px);
        }
        view
    }

    #[test]
    fn exact_corners_give_the_camera_back() {
        let views: Vec<_> = tilted().iter().map(|p| seen(&TRUTH, p)).collect();
        let fit = solve([640, 480], &views).unwrap();
        assert!(fit.rms_px < 1e-4, "{fit:?}");
        let Intrinsics { fx, fy, cx, cy, k1, k2 } = fit.intrinsics;
        assert!((fx - TRUTH.fx).abs() < 0.05 && (fy - TRUTH.fy).abs() < 0.05, "{fit:?}");
        assert!((cx - TRUTH.cx).abs() < 0.05 && (cy - TRUTH.cy).abs() < 0.05, "{fit:?}");
        assert!((k1 - TRUTH.k1).abs() < 1e-3 && (k2 - TRUTH.k2).abs() < 1e-2, "{fit:?}");
    }

    #[test]
    fn a_tenth_of_a_pixel_of_noise_costs_less_than_a_percent() {
        let mut rng = fastrand::Rng::with_seed(1);
        let views: Vec<View> = tilted()
            .iter()
            .map(|p| shaken(seen(&TRUTH, p), |_, c| c.map(|x| x + 0.35 * (rng.f64() - 0.5))))
            .collect();
        let fit = solve([640, 480], &views).unwrap();
        assert!((0.05..0.3).contains(&fit.rms_px) && (0.2..2.0).contains(&fit.f_sigma_px), "{fit:?}");
        assert!((fit.intrinsics.fx / TRUTH.fx - 1.0).abs() < 0.01, "{fit:?}");
        assert!((fit.intrinsics.cx - TRUTH.cx).abs() < 6.0, "{fit:?}");
    }

    /// Each view has another part of the board, counted from another corner.
    #[test]
    fn parts_of_a_board_give_the_camera_back_too() {
        let views: Vec<View> = (0..)
            .zip(tilted())
            .map(|(k, p)| {
                let from = [f64::from(k % 5), f64::from(k % 3)];
                let mut view = seen(&TRUTH, &p);
                view.corners
                    .retain(|c| (0..2).all(|axis| (0.0..4.0).contains(&(c.square[axis] - from[axis]))));
                view.corners
                    .iter_mut()
                    .for_each(|c| c.square = [0, 1].map(|axis| c.square[axis] - from[axis]));
                view
            })
            .collect();
        let fit = solve([640, 480], &views).unwrap();
        assert!((fit.intrinsics.fx - TRUTH.fx).abs() < 0.5 && fit.rms_px < 1e-3, "{fit:?}");
    }

    /// A hand does not hold a board quite straight, and noise tilts it more: without the tilts' own sigma any focal length is as good.
    #[test]
    fn a_board_that_is_always_straight_on_is_refused() {
        for seed in 1..=5 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut about = |size: f64| size * (rng.f64() + rng.f64() + rng.f64() - 1.5);
            let views: Vec<View> = (0..8)
                .map(|_| {
                    let [pitch, yaw] = [about(0.01), about(0.01)];
                    let at = [about(4.0) - 4.0, about(3.0) - 2.5, about(5.0) + 14.0];
                    let straight = seen(&TRUTH, &[pitch, yaw, about(0.2), at[0], at[1], at[2]]);
                    shaken(straight, |_, c| c.map(|x| x + about(0.2)))
                })
                .collect();
            assert_eq!(solve([640, 480], &views), Err(CalibrationError::TooAlike), "{seed}");
        }
    }

    #[test]
    fn distortion_that_a_narrow_lens_does_not_tell_is_none() {
        let narrow = Intrinsics { fx: 6000.0, fy: 6000.0, k1: 0.0, k2: 0.0, ..TRUTH };
        for seed in 1..=3 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let views: Vec<View> = tilted()
                .into_iter()
                .map(|[a, b, c, x, y, z]| seen(&narrow, &[a, b, c, x, y, 10.0 * z]))
                .map(|view| shaken(view, |_, c| c.map(|x| x + 0.35 * (rng.f64() - 0.5))))
                .collect();
            let fit = solve([640, 480], &views).unwrap();
            let Intrinsics { fx, k1, k2, .. } = fit.intrinsics;
            assert!((fx / narrow.fx - 1.0).abs() < 0.03 && k1.abs() < 1.5 && k2 == 0.0, "{fit:?}");
        }
    }

    #[test]
    fn views_that_do_not_tell_are_refused_with_what_to_show() {
        let straight = |i: usize| seen(&TRUTH, &[0.0, 0.0, 0.02 * i as f64, -4.0, -2.5, 14.0 + i as f64]);
        let few: Vec<_> = (0..3).map(straight).collect();
        assert_eq!(
            solve([640, 480], &few),
            Err(CalibrationError::TooFewViews { found: 3, needed: MIN_VIEWS })
        );
        let bent: Vec<View> = tilted()
            .iter()
            .map(|p| shaken(seen(&TRUTH, p), |i, c| [c[0], c[1] + 12.0 * (i as f64).sin()]))
            .collect();
        assert!(matches!(
            solve([640, 480], &bent),
            Err(CalibrationError::Contradictory { .. } | CalibrationError::TooAlike)
        ));
    }
}
