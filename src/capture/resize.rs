//! The upright case of [`crop_resize_into`](super::crop_resize_into): rows are blended first, then columns, so that the
//! work of a row is done once for all of its pixels and in vectors. Same samples, same weights, another order.
//!
//! Columns are done in tiles, so that everything between source and net fits fixed buffers on the stack.

use super::pixel::{FRACTION, Lanes, PixelsMut, Texels, fixed, lanes};
use super::{Affine, Picture};

/// Net pixels of one tile.
const TILE: usize = 64;
/// Picture pixels that a net pixel may span here. Larger ones waste most of what is blended.
const MAX_SCALE: f32 = 8.0;
/// Picture pixels under one tile, and the outermost samples' neighbours.
const SPAN: usize = TILE * MAX_SCALE as usize + 16;

/// Whether [`resize`] can do this map from net to picture pixels.
pub(super) fn is_upright(m: &Affine) -> bool {
    m.xy == 0.0 && m.yx == 0.0 && (0.0..MAX_SCALE).contains(&m.xx) && (0.0..MAX_SCALE).contains(&m.yy)
}

/// Picture rows or columns that make one of the net's, with weights whose sum is 256.
#[derive(Clone, Copy)]
struct Taps<const K: usize> {
    at: [usize; K],
    weight: [u16; K],
}

/// One axis of the map.
struct Axis {
    first: i64,
    step: i64,
    size: usize,
    scale: f64,
}

impl Axis {
    fn new(scale: f32, start: f32, size: usize) -> Self {
        let (scale, start) = (f64::from(scale), f64::from(start));
        Self { first: fixed(0.5 * scale + start), step: fixed(scale), size, scale }
    }

    /// Of net row or column `index`, N samples; `None` where its centre lies outside the picture.
    fn taps<const N: usize, const K: usize>(&self, index: usize) -> Option<Taps<K>> {
        const HALF: i64 = 1 << (FRACTION - 1);
        let centre = self.first + index as i64 * self.step;
        if centre < 0 || centre >= (self.size as i64) << FRACTION {
            return None;
        }
        let last = self.size - 1;
        let mut taps = Taps { at: [0; K], weight: [0; K] };
        // Rounding the running sum instead of each weight keeps the total at 256.
        let (mut exact, mut given) = (0, 0);
        for sample in 0..N {
            let offset = (sample as f64 + 0.5) / N as f64 - 0.5;
            let x = (centre + fixed(self.scale * offset) - HALF).max(0);
            let low = ((x >> FRACTION) as usize).min(last);
            let part = (x >> (FRACTION - 8)) as usize & 0xff;
            for (side, at, share) in [(0, low, 256 - part), (1, (low + 1).min(last), part)] {
                exact += share;
                let upto = (exact + N / 2) / N;
                taps.at[2 * sample + side] = at;
                taps.weight[2 * sample + side] = (upto - given) as u16;
                given = upto;
            }
        }
        Some(taps)
    }
}

/// Fills `net` from `picture`, whose texels are `texels`; `m` maps net to picture pixels and [`is_upright`].
pub(super) fn resize<T: Texels>(
    texels: &T,
    picture: &Picture<'_>,
    m: &Affine,
    net: &mut PixelsMut<'_>,
    fill: [u8; 3],
) {
    let columns = Axis::new(m.xx, m.x0, picture.width);
    let rows = Axis::new(m.yy, m.y0, picture.height);
    match m.scale() {
        s if s >= 4.0 => by_tiles::<T, 4, 8>(texels, &columns, &rows, net, fill),
        s if s >= 2.0 => by_tiles::<T, 2, 4>(texels, &columns, &rows, net, fill),
        _ => by_tiles::<T, 1, 2>(texels, &columns, &rows, net, fill),
    }
}

fn by_tiles<T: Texels, const N: usize, const K: usize>(
    texels: &T,
    columns: &Axis,
    rows: &Axis,
    net: &mut PixelsMut<'_>,
    fill: [u8; 3],
) {
    let mut taps = [Taps::<K> { at: [0; K], weight: [0; K] }; TILE];
    let mut scratch = [0u8; 3 * SPAN];
    let mut blended = [0u16; 3 * SPAN];
    for start in (0..net.width).step_by(TILE) {
        let width = TILE.min(net.width - start);
        // The columns inside the picture follow one another; `inside` counts from the tile's first.
        let mut inside = width..width;
        for column in 0..width {
            if let Some(of_column) = columns.taps::<N, K>(start + column) {
                inside = inside.start.min(column)..column + 1;
                taps[column] = of_column;
            }
        }
        let from = if inside.is_empty() { 0 } else { taps[inside.start].at[0] };
        let span = if inside.is_empty() { 0 } else { taps[inside.end - 1].at[K - 1] + 1 - from };
        for of_column in &mut taps[inside.clone()] {
            of_column.at.iter_mut().for_each(|at| *at = 3 * (*at - from));
        }
        for row in 0..net.height {
            let out = &mut net.bytes[row * net.row_bytes + start * net.pixel_bytes..];
            let of_row = rows.taps::<N, K>(row).filter(|_| span > 0);
            let inside = if of_row.is_some() { inside.clone() } else { width..width };
            if let Some(of_row) = of_row {
                blend(texels, &of_row, from, &mut scratch[..3 * span], &mut blended[..3 * span]);
            }
            for (column, pixel) in out.chunks_mut(net.pixel_bytes).take(width).enumerate() {
                let rgb = if inside.contains(&column) { T::rgb(at(&blended, &taps[column])) } else { fill };
                pixel[..3].copy_from_slice(&rgb);
            }
        }
    }
}

/// The weighted sum of picture rows, times 256.
fn blend<T: Texels, const K: usize>(
    texels: &T,
    rows: &Taps<K>,
    from: usize,
    scratch: &mut [u8],
    out: &mut [u16],
) {
    let mut is_first = true;
    for (&y, &weight) in rows.at.iter().zip(&rows.weight) {
        if weight == 0 {
            continue;
        }
        let row = texels.row(from, y, scratch);
        if std::mem::take(&mut is_first) {
            out.iter_mut().zip(row).for_each(|(sum, &v)| *sum = u16::from(v) * weight);
        } else {
            out.iter_mut().zip(row).for_each(|(sum, &v)| *sum += u16::from(v) * weight);
        }
    }
}

/// The weighted sum of blended columns.
#[inline(always)]
fn at<const K: usize>(blended: &[u16; 3 * SPAN], columns: &Taps<K>) -> Lanes {
    let mut sum = [1u32 << 15; 3];
    for (&at, &weight) in columns.at.iter().zip(&columns.weight) {
        let Some(texel) = blended.get(at..at + 3) else { continue };
        for c in 0..3 {
            sum[c] += u32::from(texel[c]) * u32::from(weight);
        }
    }
    lanes(sum.map(|v| (v >> 16) as u8))
}
