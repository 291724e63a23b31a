//! Fills what a mask marks from what lies round it.

use super::{Mask, PixelsMut};

/// Fills marked pixels with colours that go over smoothly from one side to the other, in fixed memory.
///
/// Push and pull (Gortler, Grzeszczuk, Szeliski and Cohen, *The Lumigraph*, 1996): means of what is known go up a pyramid of half sizes,
/// and come down again to where nothing is.
#[derive(Clone, Debug)]
pub struct Inpainter {
    /// The first has the picture's size, each other half of the one before, the last is a single cell.
    levels: Vec<Level>,
}

#[derive(Clone, Debug)]
struct Level {
    width: usize,
    height: usize,
    cells: Vec<Cell>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    rgb: [f32; 3],
    /// 0: nothing is known here, 1: all.
    known: f32,
}

impl Inpainter {
    /// For pictures of this size, at least a pixel each way.
    pub fn new(width: usize, height: usize) -> Self {
        let (mut width, mut height) = (width.max(1), height.max(1));
        let mut levels = Vec::new();
        loop {
            levels.push(Level { width, height, cells: vec![Cell::default(); width * height] });
            if width == 1 && height == 1 {
                return Self { levels };
            }
            (width, height) = (width.div_ceil(2), height.div_ceil(2));
        }
    }

    /// Replaces the pixels that `mask` marks; all others stay. Where all are marked they become black.
    ///
    /// # Panics
    /// Where `pixels` or `mask` are of another size than this was made for.
    pub fn fill(&mut self, pixels: &mut PixelsMut<'_>, mask: &Mask) {
        let size = [self.levels[0].width, self.levels[0].height];
        assert!(mask.size() == size && [pixels.width, pixels.height] == size, "one size");
        self.levels[0].read(pixels, mask);
        for i in 1..self.levels.len() {
            let (finer, coarser) = self.levels.split_at_mut(i);
            coarser[0].push_from(&finer[i - 1]);
        }
        for i in (0..self.levels.len() - 1).rev() {
            let (finer, coarser) = self.levels.split_at_mut(i + 1);
            finer[i].pull_from(&coarser[0]);
        }
        self.levels[0].write(pixels, mask);
    }
}

impl Level {
    fn read(&mut self, pixels: &PixelsMut<'_>, mask: &Mask) {
        let rows = pixels.bytes.chunks(pixels.row_bytes);
        let rows = rows.zip(self.cells.chunks_exact_mut(self.width)).zip(mask.marked().chunks(self.width));
        for ((bytes, cells), marked) in rows {
            let pixels = bytes.chunks_exact(pixels.pixel_bytes);
            for ((cell, pixel), marked) in cells.iter_mut().zip(pixels).zip(marked) {
                let rgb = [pixel[0], pixel[1], pixel[2]].map(f32::from);
                *cell = if *marked { Cell::default() } else { Cell { rgb, known: 1.0 } };
            }
        }
    }

    fn write(&self, pixels: &mut PixelsMut<'_>, mask: &Mask) {
        let rows = pixels.bytes.chunks_mut(pixels.row_bytes);
        let rows = rows.zip(self.cells.chunks_exact(self.width)).zip(mask.marked().chunks(self.width));
        for ((bytes, cells), marked) in rows {
            let pixels = bytes.chunks_exact_mut(pixels.pixel_bytes);
            for ((pixel, cell), _) in pixels.zip(cells).zip(marked).filter(|(_, marked)| **marked) {
                pixel[..3].copy_from_slice(&cell.rgb.map(|v| v.round() as u8));
            }
        }
    }

    /// Each cell becomes the mean of what is known of the four under it; two of four are as good as all.
    fn push_from(&mut self, finer: &Level) {
        for (y, row) in self.cells.chunks_exact_mut(self.width).enumerate() {
            for (x, cell) in row.iter_mut().enumerate() {
                let (mut rgb, mut known) = ([0.0; 3], 0.0);
                for fy in 2 * y..(2 * y + 2).min(finer.height) {
                    for fine in &finer.cells[fy * finer.width..][2 * x..(2 * x + 2).min(finer.width)] {
                        rgb = std::array::from_fn(|c| rgb[c] + fine.known * fine.rgb[c]);
                        known += fine.known;
                    }
                }
                *cell = Cell { rgb: rgb.map(|v| v / f32::max(known, 1e-6)), known: (0.5 * known).min(1.0) };
            }
        }
    }

    /// What is not known is taken from between the four cells above.
    fn pull_from(&mut self, coarser: &Level) {
        let neighbours = |at: usize, end: usize| {
            let exact = (0.5 * at as f32 - 0.25).max(0.0);
            let low = (exact as usize).min(end - 1);
            (low, (low + 1).min(end - 1), exact - low as f32)
        };
        for (y, row) in self.cells.chunks_exact_mut(self.width).enumerate() {
            let (above, below, down) = neighbours(y, coarser.height);
            for (x, cell) in row.iter_mut().enumerate().filter(|(_, cell)| cell.known < 1.0) {
                let (left, right, along) = neighbours(x, coarser.width);
                let at = |x: usize, y: usize| &coarser.cells[y * coarser.width + x].rgb;
                let between = |a: f32, b: f32, t: f32| a + t * (b - a);
                let rgb: [f32; 3] = std::array::from_fn(|c| {
                    let upper = between(at(left, above)[c], at(right, above)[c], along);
                    let lower = between(at(left, below)[c], at(right, below)[c], along);
                    between(between(upper, lower, down), cell.rgb[c], cell.known)
                });
                *cell = Cell { rgb, known: 1.0 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(width: usize, height: usize, bytes: &mut [u8], marked: &[([f32; 2], f32)]) {
        let mut mask = Mask::new(width, height);
        marked.iter().for_each(|(at, radius)| mask.capsule(*at, *at, *radius));
        let pixel_bytes = bytes.len() / (width * height);
        let mut pixels = PixelsMut { bytes, width, height, row_bytes: pixel_bytes * width, pixel_bytes };
        Inpainter::new(width, height).fill(&mut pixels, &mask);
    }

    #[test]
    fn a_spot_on_a_slope_is_gone_and_the_rest_is_as_it_was() {
        let (width, height) = (37, 21);
        let slope = |x: usize, y: usize| [(5 * x) as u8, (4 * y) as u8, 90, 7];
        let before: Vec<u8> = (0..width * height).flat_map(|i| slope(i % width, i / width)).collect();
        let mut bytes = before.clone();
        let within = |i: usize| (i % width).abs_diff(18) <= 3 && (i / width).abs_diff(10) <= 3;
        for (_, pixel) in bytes.chunks_exact_mut(4).enumerate().filter(|(i, _)| within(*i)) {
            pixel[..3].fill(255);
        }
        filled(width, height, &mut bytes, &[([18.5, 10.5], 5.2)]);
        for (i, (now, was)) in bytes.chunks_exact(4).zip(before.chunks_exact(4)).enumerate() {
            let far = now.iter().zip(was).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0);
            assert!(far <= 12, "pixel {i}: {now:?} where {was:?} was");
            assert!(now[3] == 7, "the fourth byte is left alone");
        }
        let corner = 4 * (width * height - 1);
        assert_eq!(bytes[corner..], before[corner..]);
    }

    #[test]
    fn nothing_marked_changes_nothing_and_all_marked_is_black() {
        let before: Vec<u8> = (0..3 * 5 * 4).map(|i| (i * 37 % 256) as u8).collect();
        let mut bytes = before.clone();
        filled(5, 4, &mut bytes, &[]);
        assert_eq!(bytes, before);
        filled(5, 4, &mut bytes, &[([2.5, 2.0], 9.0)]);
        assert!(bytes.iter().all(|v| *v == 0), "{bytes:?}");
    }
}
