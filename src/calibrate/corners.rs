//! A chessboard's inner corners in a grey picture.
//!
//! Where four squares meet, brightness has a saddle: it curves up along one diagonal and down along the other. The
//! strongest saddles are placed between the pixels, and a lattice is grown from one of them, each step guided by the last.
//! Only a lattice that holds all of the board's corners counts.

use super::Board;

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

/// A candidate: its place in pixels and the strength of its saddle.
#[derive(Clone, Copy, Debug)]
struct Saddle {
    x: f64,
    y: f64,
    strength: f32,
}

/// The places of the inner corners, row by row, in pixels from the picture's own corner (so that the first pixel's centre is
/// at 0.5, 0.5, as of everything that Posewire says); `None` where the whole board is not in sight.
///
/// Which of the four outer corners is the first is chosen by the picture, not by the board: an intrinsic calibration does
/// not depend on it.
pub fn find_corners(picture: Grey, board: Board) -> Option<Vec<[f64; 2]>> {
    let smooth = smoothed(picture)?;
    let mut saddles = saddles(&smooth, picture.width, picture.height);
    // Noise, shadows and letters have saddles too, but few as strong. A corner far away on a tilted board still has a
    // fifth of the usual one's strength.
    saddles.sort_by(|a, b| b.strength.total_cmp(&a.strength));
    let usual = saddles.get(board.corners() / 2)?.strength;
    saddles.retain(|s| s.strength > WEAKEST_SHARE * usual);
    saddles.truncate(3 * board.corners());
    // Some strong saddle is the board's; a lattice from any of its corners reaches all.
    let mut corners = (0..saddles.len().min(12)).find_map(|seed| lattice(&saddles, seed, board))?;
    // Saddles lie between samples, which are pixels' centres.
    corners.iter_mut().flatten().for_each(|place| *place += 0.5);
    Some(corners)
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

/// The lattice that grows from saddle `seed`, if it is the board.
fn lattice(saddles: &[Saddle], seed: usize, board: Board) -> Option<Vec<[f64; 2]>> {
    let (along, across) = first_steps(saddles, seed)?;
    let side = 2 * (board.columns + board.rows) + 1;
    let centre = side / 2;
    // Lattice place to saddle, and the step that led there in each direction.
    let mut at: Vec<Option<usize>> = vec![None; side * side];
    let mut used = vec![false; saddles.len()];
    let mut queue = vec![(centre, centre, along, across)];
    at[centre * side + centre] = Some(seed);
    used[seed] = true;
    let mut next = 0;
    while next < queue.len() {
        let (column, row, along, across) = queue[next];
        next += 1;
        let Some(here) = at[row * side + column] else { continue };
        for (dc, dr) in [(1i32, 0i32), (-1, 0), (0, 1), (0, -1)] {
            let (c, r) = ((column as i32 + dc) as usize, (row as i32 + dr) as usize);
            if c >= side || r >= side || at[r * side + c].is_some() {
                continue;
            }
            let (step, sign) = if dc != 0 { (along, f64::from(dc)) } else { (across, f64::from(dr)) };
            let expected = [saddles[here].x + sign * step[0], saddles[here].y + sign * step[1]];
            let length = step[0].hypot(step[1]);
            let Some(found) = nearest(saddles, &used, expected, 0.3 * length) else { continue };
            used[found] = true;
            at[r * side + c] = Some(found);
            let new =
                [sign * (saddles[found].x - saddles[here].x), sign * (saddles[found].y - saddles[here].y)];
            let steps = if dc != 0 { (new, across) } else { (along, new) };
            queue.push((c, r, steps.0, steps.1));
        }
    }
    read_out(saddles, &at, side, board)
}

/// From a corner to its neighbours along the board's two axes: the nearest saddle, and the nearest in a direction that is
/// not the first one's.
fn first_steps(saddles: &[Saddle], seed: usize) -> Option<([f64; 2], [f64; 2])> {
    let from = saddles[seed];
    let mut others: Vec<(f64, [f64; 2])> = saddles
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != seed)
        .map(|(_, s)| ([s.x - from.x, s.y - from.y], s))
        .map(|(d, _)| (d[0].hypot(d[1]), d))
        .collect();
    others.sort_by(|a, b| a.0.total_cmp(&b.0));
    let &(first_length, first) = others.first()?;
    others.into_iter().skip(1).take(8).find_map(|(length, d)| {
        let sine = (first[0] * d[1] - first[1] * d[0]) / (first_length * length);
        // A diagonal of two squares is longer than either side unless the board is nearly edge on.
        (sine.abs() > 0.5).then_some((first, d))
    })
}

fn nearest(saddles: &[Saddle], used: &[bool], to: [f64; 2], within: f64) -> Option<usize> {
    let distance = |s: &Saddle| (s.x - to[0]).hypot(s.y - to[1]);
    saddles
        .iter()
        .enumerate()
        .filter(|(i, s)| !used[*i] && distance(s) < within)
        .min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)))
        .map(|(i, _)| i)
}

/// The board's corners in its order, where the lattice holds a full rectangle of its size (the strongest of several: the
/// edge of the paper can have saddles in line with the board's). The first lies at the top and the rows go down, as seen.
fn read_out(saddles: &[Saddle], at: &[Option<usize>], side: usize, board: Board) -> Option<Vec<[f64; 2]>> {
    let Board { columns, rows } = board;
    let mut best: Option<(f32, Vec<[f64; 2]>)> = None;
    for is_turned in [false, true] {
        let (w, h) = if is_turned { (rows, columns) } else { (columns, rows) };
        for top in 0..=side.saturating_sub(h) {
            for left in 0..=side.saturating_sub(w) {
                let cell = |row: usize, column: usize| {
                    let (c, r) =
                        if is_turned { (left + row, top + column) } else { (left + column, top + row) };
                    at[r * side + c].map(|i| saddles[i])
                };
                let corners: Option<Vec<Saddle>> =
                    (0..rows * columns).map(|i| cell(i / columns, i % columns)).collect();
                let Some(corners) = corners else { continue };
                let strength = corners.iter().map(|s| s.strength).sum();
                if best.as_ref().is_none_or(|(s, _)| strength > *s) {
                    best = Some((strength, corners.iter().map(|s| [s.x, s.y]).collect()));
                }
            }
        }
    }
    let (_, mut corners) = best?;
    // Rows go down the picture, and columns so that the board is seen from its front.
    let (first, last_in_row, last_row) =
        (corners[0], corners[board.columns - 1], corners[board.columns * (board.rows - 1)]);
    let along = [last_in_row[0] - first[0], last_in_row[1] - first[1]];
    let down = [last_row[0] - first[0], last_row[1] - first[1]];
    if along[0] * down[1] - along[1] * down[0] < 0.0 {
        corners.chunks_exact_mut(board.columns).for_each(<[_]>::reverse);
    }
    let down = corners[board.columns * (board.rows - 1)][1] - corners[0][1];
    if down < 0.0 {
        corners.reverse();
    }
    Some(corners)
}

#[cfg(test)]
mod tests {
    use super::super::solve::tests::{BOARD, TRUTH, seen, tilted};
    use super::super::{Intrinsics, solve};
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
            for (found, truth) in found.iter().zip(seen(&TRUTH, &pose)) {
                square += (found[0] - truth[0]).powi(2) + (found[1] - truth[1]).powi(2);
            }
            let rms_px = (square / found.len() as f64).sqrt();
            assert!(rms_px < 0.2, "{rms_px} px at {pose:?}");
            views.push(found);
        }
        let fit = solve(BOARD, SIZE, &views).unwrap();
        assert!((fit.intrinsics.fx / TRUTH.fx - 1.0).abs() < 0.01, "{fit:?}");
        assert!((fit.intrinsics.fy / TRUTH.fy - 1.0).abs() < 0.01, "{fit:?}");
        assert!(fit.rms_px < 0.2, "{fit:?}");
    }

    #[test]
    fn a_part_of_a_board_noise_and_no_picture_are_no_board() {
        let mut rng = fastrand::Rng::with_seed(6);
        let none =
            |bytes: &[u8]| find_corners(Grey { bytes, width: SIZE[0], height: SIZE[1] }, BOARD).is_none();
        let cut = rendered(&TRUTH, &[0.1, 0.1, 0.0, -9.0, -2.5, 14.0], 2.0, &mut rng);
        assert!(none(&cut), "a board half out of sight");
        let noise: Vec<u8> = (0..SIZE[0] * SIZE[1]).map(|_| rng.u8(..)).collect();
        assert!(none(&noise));
        assert!(none(&vec![90; SIZE[0] * SIZE[1]]));
        assert!(find_corners(Grey { bytes: &[], width: 0, height: 0 }, BOARD).is_none());
        assert!(find_corners(Grey { bytes: &[1; 9], width: 640, height: 480 }, BOARD).is_none());
    }
}
