//! What films are stored as: blocks that are foretold from their neighbours, what is left over coarsely kept, edges between
//! blocks smoothed. Not H.264 itself, but its marks: flat blocks, smeared texture, ringing, colours of half the resolution.

use std::sync::OnceLock;

use crate::math::{PI, cos};

pub(super) const SIDE: usize = 8;

/// Brightness and two colour differences of half the resolution. Whole blocks: what is over keeps its pixels.
#[derive(Debug, Clone)]
pub(super) struct Planes {
    pub wide: usize,
    pub high: usize,
    pub luma: Vec<f32>,
    pub chroma: [Vec<f32>; 2],
}

impl Planes {
    /// Of red, green and blue; none where not one block fits.
    pub fn of(rgb: &[u8], width: usize, height: usize) -> Option<Self> {
        let (wide, high) = (width / (2 * SIDE) * 2 * SIDE, height / (2 * SIDE) * 2 * SIDE);
        if wide == 0 || high == 0 {
            return None;
        }
        let (half_w, half_h) = (wide / 2, high / 2);
        let mut luma = vec![0.0; wide * high];
        let mut chroma = [vec![0.0; half_w * half_h], vec![0.0; half_w * half_h]];
        for y in 0..high {
            for x in 0..wide {
                let at = 3 * (y * width + x);
                let [r, g, b] = [rgb[at], rgb[at + 1], rgb[at + 2]].map(f32::from);
                luma[y * wide + x] = 0.299 * r + 0.587 * g + 0.114 * b;
                let half = y / 2 * half_w + x / 2;
                chroma[0][half] += 0.25 * (-0.1687 * r - 0.3313 * g + 0.5 * b);
                chroma[1][half] += 0.25 * (0.5 * r - 0.4187 * g - 0.0813 * b);
            }
        }
        Some(Self { wide, high, luma, chroma })
    }

    /// Back into a picture `width` pixels wide.
    pub fn paint(&self, rgb: &mut [u8], width: usize) {
        for y in 0..self.high {
            for x in 0..self.wide {
                let at = 3 * (y * width + x);
                let half = y / 2 * (self.wide / 2) + x / 2;
                let (l, cb, cr) = (self.luma[y * self.wide + x], self.chroma[0][half], self.chroma[1][half]);
                let colours = [l + 1.402 * cr, l - 0.3441 * cb - 0.7141 * cr, l + 1.772 * cb];
                // The cast holds at 0 and 255.
                rgb[at..at + 3].copy_from_slice(&colours.map(|v| (v + 0.5) as u8));
            }
        }
    }

    /// Stores and reads back every block by itself.
    pub fn keep(&mut self, step: f32) {
        plane(&mut self.luma, self.wide, step);
        for c in &mut self.chroma {
            plane(c, self.wide / 2, step);
        }
    }
}

/// Stores and reads back a picture of red, green and blue; `step` is the quantiser's, levels: 8 is good, 40 poor.
pub fn stored(rgb: &mut [u8], width: usize, height: usize, step: f32) {
    if let Some(mut planes) = Planes::of(rgb, width, height) {
        planes.keep(step);
        planes.paint(rgb, width);
    }
}

pub(super) type Block = [[f32; SIDE]; SIDE];

/// Rows of the discrete cosine transform.
fn waves() -> &'static Block {
    static WAVES: OnceLock<Block> = OnceLock::new();
    WAVES.get_or_init(|| {
        std::array::from_fn(|k| {
            let scale = if k == 0 { 0.353_553_4 } else { 0.5 };
            std::array::from_fn(|n| scale * cos(PI / SIDE as f32 * (n as f32 + 0.5) * k as f32))
        })
    })
}

fn plane(p: &mut [f32], width: usize, step: f32) {
    let high = p.len() / width;
    for top in (0..high).step_by(SIDE) {
        for left in (0..width).step_by(SIDE) {
            block(p, width, left, top, step);
        }
    }
    // Along rows, then along columns; a real edge stays.
    for y in 0..high {
        for x in (SIDE..width).step_by(SIDE) {
            smooth(p, y * width + x, 1, step);
        }
    }
    for y in (SIDE..high).step_by(SIDE) {
        for x in 0..width {
            smooth(p, y * width + x, width, step);
        }
    }
}

/// One block: the best of three guesses from what is left of and above it, and what of the rest survives.
fn block(p: &mut [f32], width: usize, left: usize, top: usize, step: f32) {
    let here: Block = std::array::from_fn(|y| std::array::from_fn(|x| p[(top + y) * width + left + x]));
    let above: Option<[f32; SIDE]> =
        (top > 0).then(|| std::array::from_fn(|x| p[(top - 1) * width + left + x]));
    let before: Option<[f32; SIDE]> =
        (left > 0).then(|| std::array::from_fn(|y| p[(top + y) * width + left - 1]));
    let mean = |of: &[f32; SIDE]| of.iter().sum::<f32>() / SIDE as f32;
    let flat = match (&above, &before) {
        (Some(a), Some(b)) => 0.5 * (mean(a) + mean(b)),
        (Some(a), None) | (None, Some(a)) => mean(a),
        (None, None) => 0.0,
    };
    let mut guess = [[flat; SIDE]; SIDE];
    let off = |guess: &Block| -> f32 {
        guess.iter().flatten().zip(here.iter().flatten()).map(|(g, h)| (g - h).abs()).sum()
    };
    let others = [above.map(|a| [a; SIDE]), before.map(|b| b.map(|v| [v; SIDE]))];
    for other in others.into_iter().flatten() {
        if off(&other) < off(&guess) {
            guess = other;
        }
    }
    let rest: Block = std::array::from_fn(|y| std::array::from_fn(|x| here[y][x] - guess[y][x]));
    let kept = survives(&rest, step);
    for y in 0..SIDE {
        for x in 0..SIDE {
            p[(top + y) * width + left + x] = guess[y][x] + kept[y][x];
        }
    }
}

/// What of a block is left after coarse rounding of its waves.
pub(super) fn survives(rest: &Block, step: f32) -> Block {
    let w = waves();
    let along = |b: &Block| -> Block {
        std::array::from_fn(|y| std::array::from_fn(|k| (0..SIDE).map(|n| w[k][n] * b[y][n]).sum()))
    };
    let down = |b: &Block| -> Block {
        std::array::from_fn(|k| std::array::from_fn(|x| (0..SIDE).map(|n| w[k][n] * b[n][x]).sum()))
    };
    let mut kept = down(&along(rest));
    let mut any = false;
    for (k, row) in kept.iter_mut().enumerate() {
        for (n, v) in row.iter_mut().enumerate() {
            // Fine detail goes first; a third of a step is nothing.
            let own = step * (1.0 + 0.12 * (k + n) as f32);
            let whole = ((v.abs() / own + 0.33) as i32) as f32;
            any |= whole > 0.0;
            *v = if *v < 0.0 { -whole * own } else { whole * own };
        }
    }
    if any {
        let back: Block =
            std::array::from_fn(|n| std::array::from_fn(|x| (0..SIDE).map(|k| w[k][n] * kept[k][x]).sum()));
        kept =
            std::array::from_fn(|y| std::array::from_fn(|n| (0..SIDE).map(|k| w[k][n] * back[y][k]).sum()));
    }
    kept
}

/// The edge before `at`; neighbours lie `by` apart.
pub(super) fn smooth(p: &mut [f32], at: usize, by: usize, step: f32) {
    let [a, b, c, d] = [at - 2 * by, at - by, at, at + by].map(|k| p[k]);
    if (b - c).abs() < 0.8 * step && (a - b).abs() < 0.5 * step && (c - d).abs() < 0.5 * step {
        p[at - by] = (a + 2.0 * b + c) * 0.25;
        p[at] = (b + 2.0 * c + d) * 0.25;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn picture() -> Vec<u8> {
        let mut rng = Rng::new(1, 2);
        (0..48 * 40 * 3).map(|k| ((k / 3 % 48 * 3) as f32 + 60.0 + 12.0 * rng.normal()) as u8).collect()
    }

    fn off(a: &[u8], b: &[u8]) -> f32 {
        let sum: u32 = a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(*b)).pow(2)).sum();
        (sum as f32 / a.len() as f32).sqrt()
    }

    #[test]
    fn the_coarser_the_step_the_less_is_kept_and_the_picture_stays_itself() {
        let old = picture();
        let stored_with = |step: f32| {
            let mut new = old.clone();
            stored(&mut new, 48, 40, step);
            off(&old, &new)
        };
        let (fine, coarse) = (stored_with(2.0), stored_with(40.0));
        assert!(fine < coarse && coarse > 5.0 && coarse < 25.0, "{fine} {coarse}");
    }

    #[test]
    fn flat_colours_stay_and_what_is_too_small_is_left_alone() {
        let mut grey = vec![90; 32 * 32 * 3];
        stored(&mut grey, 32, 32, 10.0);
        assert!(grey.iter().all(|&v| v.abs_diff(90) <= 5));
        let mut small = vec![7; 15 * 15 * 3];
        stored(&mut small, 15, 15, 10.0);
        assert!(small.iter().all(|&v| v == 7));
    }
}
