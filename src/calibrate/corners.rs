//! A chessboard's inner corners in a grey picture.
//!
//! Where four squares meet, brightness has a saddle: it curves up along one diagonal and down along the other. The
//! strongest saddles are placed between the pixels, and a lattice is grown from one of them, each step guided by the last
//! (`lattice.rs`). One that holds all of the board's corners is the board; else the largest that has squares round every corner is a part of it.

use super::lattice::{Lattice, Saddle};
use super::{Board, View};

/// Of the strength of a board's usual corner.
const WEAKEST_SHARE: f32 = 0.18;

/// A picture of one byte a pixel.
#[derive(Clone, Copy, Debug)]
pub struct Grey<'a> {
    /// Rows without padding.
    pub bytes: &'a [u8],
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
}

/// Lattices are grown from so many of the strongest saddles: some of them is the board's, and from any of its corners all are reached.
const SEEDS: usize = 12;

/// The inner corners in sight, row by row, in pixels from the picture's own corner (so that the first pixel's centre is
/// at 0.5, 0.5, as of everything that Posewire says); `None` where too little of a board is.
///
/// Which corner is the first is chosen by the picture, not by the board: an intrinsic calibration does not depend on it.
pub fn find_corners(picture: Grey, board: Board) -> Option<View> {
    let smooth = smoothed(picture)?;
    let mut saddles = saddles(&smooth, picture.width, picture.height);
    // Noise, shadows and letters have saddles too, but few as strong. A corner far away on a tilted board still has a
    // fifth of the usual one's strength.
    saddles.sort_by(|a, b| b.strength.total_cmp(&a.strength));
    // Of a board half out of sight, half as many.
    let usual = saddles.get(board.corners() / 2).or(saddles.get(board.corners() / 4))?.strength;
    saddles.retain(|s| s.strength > WEAKEST_SHARE * usual);
    saddles.truncate(3 * board.corners());
    let lattices: Vec<Lattice> =
        (0..saddles.len().min(SEEDS)).filter_map(|seed| Lattice::grown(&saddles, seed, board)).collect();
    let light = |at: [f64; 2]| light(&smooth, picture, at);
    let whole = lattices.iter().find_map(|lattice| lattice.whole(board));
    let part = || lattices.iter().filter_map(|l| l.part(board, light)).max_by_key(|v| v.corners.len());
    let mut view = whole.or_else(part)?;
    // Saddles lie between samples, which are pixels' centres.
    view.corners.iter_mut().flat_map(|corner| &mut corner.seen_px).for_each(|place| *place += 0.5);
    Some(view)
}

/// The sample nearest to a place; `None` outside.
fn light(smooth: &[f32], picture: Grey, [x, y]: [f64; 2]) -> Option<f32> {
    let (x, y) = (x.round(), y.round());
    let is_inside = x >= 0.0 && y >= 0.0 && x < picture.width as f64 && y < picture.height as f64;
    is_inside.then(|| smooth[y as usize * picture.width + x as usize])
}

/// Twice a 3 × 3 binomial: the noise of one pixel must not make a saddle.
fn smoothed(picture: Grey) -> Option<Vec<f32>> {
    let (w, h) = (picture.width, picture.height);
    if w < 16 || h < 16 || picture.bytes.len() < w * h {
        return None;
    }
    let mut now: Vec<f32> = picture.bytes[..w * h].iter().map(|&b| f32::from(b)).collect();
    let mut next = now.clone();
    for _ in 0..2 {
        for y in 0..h {
            for x in 1..w - 1 {
                let at = y * w + x;
                next[at] = 0.25 * (now[at - 1] + 2.0 * now[at] + now[at + 1]);
            }
        }
        for y in 1..h - 1 {
            for x in 0..w {
                let at = y * w + x;
                now[at] = 0.25 * (next[at - w] + 2.0 * next[at] + next[at + w]);
            }
        }
    }
    Some(now)
}

/// Local maxima of the saddle's strength, Ixy² − Ixx·Iyy, with the place where the gradient vanishes.
fn saddles(smooth: &[f32], w: usize, h: usize) -> Vec<Saddle> {
    /// Of a picture's contrast of 255: paper in poor light still has a quarter of it, whose fourth power this is about.
    const WEAKEST: f32 = 40.0;
    /// Two corners are never nearer.
    const NEAREST: usize = 4;
    let mut strength = vec![0.0f32; w * h];
    for y in 2..h - 2 {
        for x in 2..w - 2 {
            let i =
                |dx: isize, dy: isize| smooth[(y as isize + dy) as usize * w + (x as isize + dx) as usize];
            let ixx = 0.25 * (i(2, 0) - 2.0 * i(0, 0) + i(-2, 0));
            let iyy = 0.25 * (i(0, 2) - 2.0 * i(0, 0) + i(0, -2));
            let ixy = 0.25 * (i(1, 1) - i(1, -1) - i(-1, 1) + i(-1, -1));
            strength[y * w + x] = ixy * ixy - ixx * iyy;
        }
    }
    let mut found = Vec::new();
    for y in NEAREST..h - NEAREST {
        for x in NEAREST..w - NEAREST {
            let s = strength[y * w + x];
            if s < WEAKEST {
                continue;
            }
            let is_peak = (y - NEAREST..=y + NEAREST).all(|v| {
                (x - NEAREST..=x + NEAREST).all(|u| {
                    let other = strength[v * w + u];
                    other < s || (other == s && (v, u) >= (y, x))
                })
            });
            if is_peak && let Some((x, y)) = between_pixels(smooth, w, x, y) {
                found.push(Saddle { x, y, strength: s });
            }
        }
    }
    found
}

/// The saddle point of the quadratic that fits the 5 × 5 pixels round (x, y) best; `None` where it lies elsewhere.
fn between_pixels(smooth: &[f32], w: usize, x: usize, y: usize) -> Option<(f64, f64)> {
    let (mut sx, mut sy, mut sxx, mut syy, mut sxy) = (0.0f64, 0.0, 0.0, 0.0, 0.0);
    for dy in -2i32..=2 {
        for dx in -2i32..=2 {
            let value = f64::from(smooth[(y as i32 + dy) as usize * w + (x as i32 + dx) as usize]);
            let (dx, dy) = (f64::from(dx), f64::from(dy));
            sx += dx * value;
            sy += dy * value;
            // Orthogonal to the constant on this window.
            sxx += (dx * dx - 2.0) * value;
            syy += (dy * dy - 2.0) * value;
            sxy += dx * dy * value;
        }
    }
    // f = c + gx·x + gy·y + a·x² + b·y² + c·x·y, by the window's sums of squares.
    let (gx, gy) = (sx / 50.0, sy / 50.0);
    let (a, b, c) = (sxx / 70.0, syy / 70.0, sxy / 100.0);
    let determinant = 4.0 * a * b - c * c;
    if determinant >= 0.0 {
        return None;
    }
    let dx = (c * gy - 2.0 * b * gx) / determinant;
    let dy = (c * gx - 2.0 * a * gy) / determinant;
    (dx.abs() <= 1.5 && dy.abs() <= 1.5).then_some((x as f64 + dx, y as f64 + dy))
}

#[cfg(test)]
mod tests {
    use super::super::solve::tests::{BOARD, TRUTH, seen, tilted};
    use super::super::{Corner, Intrinsics, solve};
    use super::*;

    const SIZE: [usize; 2] = [640, 480];

    /// A picture of the board on a grey table, by its corners' places: each pixel looks up its square.
    fn rendered(camera: &Intrinsics, pose: &[f64; 6], noise: f64, rng: &mut fastrand::Rng) -> Vec<u8> {
        // Squares are filled sample by sample, at least two a pixel in each direction.
        let mut sum = vec![0.0f64; SIZE[0] * SIZE[1]];
        let mut count = vec![0u32; SIZE[0] * SIZE[1]];
        let samples = 100;
        for square_y in -1..=BOARD.rows as i32 - 1 {
            for square_x in -1..=BOARD.columns as i32 - 1 {
                let light = if (square_x + square_y) % 2 == 0 { 225.0 } else { 35.0 };
                for i in 0..samples * samples {
                    let u = f64::from(square_x) + (f64::from(i % samples) + 0.5) / f64::from(samples);
                    let v = f64::from(square_y) + (f64::from(i / samples) + 0.5) / f64::from(samples);
                    let [x, y] = at(camera, pose, [u, v]);
                    let (px, py) = (x.floor(), y.floor());
                    if (0.0..SIZE[0] as f64).contains(&px) && (0.0..SIZE[1] as f64).contains(&py) {
                        let k = py as usize * SIZE[0] + px as usize;
                        sum[k] += light;
                        count[k] += 1;
                    }
                }
            }
        }
        sum.iter()
            .zip(&count)
            .map(|(s, &n)| {
                let level = if n == 0 { 128.0 } else { s / f64::from(n) };
                (level + noise * (rng.f64() + rng.f64() + rng.f64() - 1.5)).clamp(0.0, 255.0) as u8
            })
            .collect()
    }

    fn at(camera: &Intrinsics, pose: &[f64; 6], place: [f64; 2]) -> [f64; 2] {
        super::super::solve::tests::seen_at(camera, pose, place)
    }

    #[test]
    fn corners_of_rendered_boards_are_found_to_a_fifth_of_a_pixel_and_calibrate_the_camera() {
        let mut rng = fastrand::Rng::with_seed(5);
        let mut views = Vec::new();
        for pose in tilted() {
            let bytes = rendered(&TRUTH, &pose, 6.0, &mut rng);
            let picture = Grey { bytes: &bytes, width: SIZE[0], height: SIZE[1] };
            let found = find_corners(picture, BOARD).unwrap_or_else(|| panic!("no board at {pose:?}"));
            let mut square = 0.0;
            for (found, truth) in found.corners.iter().zip(seen(&TRUTH, &pose).corners) {
                square += (0..2).map(|k| (found.seen_px[k] - truth.seen_px[k]).powi(2)).sum::<f64>();
            }
            assert!(found.is_whole);
            let rms_px = (square / found.corners.len() as f64).sqrt();
            assert!(rms_px < 0.2, "{rms_px} px at {pose:?}");
            views.push(found);
        }
        let fit = solve(SIZE, &views).unwrap();
        assert!((fit.intrinsics.fx / TRUTH.fx - 1.0).abs() < 0.01, "{fit:?}");
        assert!((fit.intrinsics.fy / TRUTH.fy - 1.0).abs() < 0.01, "{fit:?}");
        assert!(fit.rms_px < 0.2, "{fit:?}");
    }

    #[test]
    fn of_a_board_half_out_of_sight_the_other_half_is_found() {
        let mut rng = fastrand::Rng::with_seed(6);
        for (pose, least) in [
            ([0.1, 0.1, 0.0, -9.0, -2.5, 14.0], 24),
            ([-0.3, 0.4, 0.1, 1.0, -2.0, 15.0], 18),
            ([0.2, -0.3, 1.4, -4.0, -8.0, 15.0], 15),
        ] {
            let bytes = rendered(&TRUTH, &pose, 4.0, &mut rng);
            let found = find_corners(Grey { bytes: &bytes, width: SIZE[0], height: SIZE[1] }, BOARD)
                .unwrap_or_else(|| panic!("nothing at {pose:?}"));
            assert!(!found.is_whole && found.corners.len() >= least, "{} corners", found.corners.len());
            let truth = seen(&TRUTH, &pose);
            let nearest = |seen_px: [f64; 2]| {
                let off = |c: &Corner| (c.seen_px[0] - seen_px[0]).hypot(c.seen_px[1] - seen_px[1]);
                truth.corners.iter().min_by(|a, b| off(a).total_cmp(&off(b))).map(|c| (off(c), c.square))
            };
            let pairs: Vec<_> =
                found.corners.iter().map(|c| (c.square, nearest(c.seen_px).unwrap())).collect();
            assert!(pairs.iter().all(|(_, (off_px, _))| *off_px < 0.6), "{pairs:?}");
            // As far from one another as on the board.
            let far = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
            for (one, (_, truly)) in &pairs {
                assert!((far(*one, pairs[0].0) - far(*truly, pairs[0].1.1)).abs() < 1e-9, "{pairs:?}");
            }
        }
    }

    #[test]
    fn a_few_corners_noise_and_no_picture_are_no_board() {
        let mut rng = fastrand::Rng::with_seed(6);
        let none =
            |bytes: &[u8]| find_corners(Grey { bytes, width: SIZE[0], height: SIZE[1] }, BOARD).is_none();
        let cut = rendered(&TRUTH, &[0.1, 0.1, 0.0, -13.5, -2.5, 14.0], 2.0, &mut rng);
        assert!(none(&cut), "two columns");
        let noise: Vec<u8> = (0..SIZE[0] * SIZE[1]).map(|_| rng.u8(..)).collect();
        assert!(none(&noise));
        assert!(none(&vec![90; SIZE[0] * SIZE[1]]));
        assert!(find_corners(Grey { bytes: &[], width: 0, height: 0 }, BOARD).is_none());
        assert!(find_corners(Grey { bytes: &[1; 9], width: 640, height: 480 }, BOARD).is_none());
    }
}
