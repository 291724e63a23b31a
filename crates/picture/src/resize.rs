//! The upright case of [`crop_resize_into`](super::crop_resize_into): rows are blended first, then columns, so that the
//! work of a row is done once for all of its pixels and in vectors. Same samples, same weights, another order.
//!
//! Columns are done in tiles, so that everything between source and net fits fixed buffers on the stack.

use super::crop::{FRACTION, fixed};
use super::texel::{LANES, Lanes, Texels, spread};
use super::{Affine, Picture, PixelsMut};

/// Net pixels of one tile.
const TILE: usize = 64;
/// Picture pixels that a net pixel may span here. Larger ones waste most of what is blended.
const MAX_SCALE: f32 = 8.0;
/// Picture pixels under one tile, and the outermost samples' neighbours.
const SPAN: usize = TILE * MAX_SCALE as usize + 16;
/// Bytes of a blended row, so that eight can be read from any texel of it.
const BLENDED: usize = 3 * SPAN + 8;

/// Whether [`resize`] can do this map from net to picture pixels.
pub(super) fn is_upright(m: &Affine) -> bool {
    m.xy == 0.0 && m.yx == 0.0 && (0.0..MAX_SCALE).contains(&m.xx) && (0.0..MAX_SCALE).contains(&m.yy)
}

/// Picture rows or columns that make one of the net's, with weights whose sum is 256.
#[derive(Clone, Copy)]
struct Taps<const K: usize> {
    at: [u32; K],
    weight: [u16; K],
}

/// Where the samples of a net column lie in a blended row.
#[derive(Clone, Copy)]
struct Column<const N: usize> {
    /// First byte of each sample's left texel.
    at: [u32; N],
    /// Of its left and its right texel.
    weight: [[u16; 2]; N],
}

impl<const N: usize> Column<N> {
    /// `from` is the picture column at the row's start.
    fn new<const K: usize>(taps: &Taps<K>, from: u32) -> Self {
        let side = |sample: usize, side: usize| (taps.at[2 * sample + side], taps.weight[2 * sample + side]);
        Self {
            at: std::array::from_fn(|i| 3 * (side(i, 0).0 - from)),
            weight: std::array::from_fn(|i| match (side(i, 0), side(i, 1)) {
                // At the picture's edge both are the same texel, and there is none to its right.
                ((left, a), (right, b)) if left == right => [a + b, 0],
                ((_, a), (_, b)) => [a, b],
            }),
        }
    }
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
                taps.at[2 * sample + side] = at as u32;
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
    let mut of_columns = [Column::<N> { at: [0; N], weight: [[0; 2]; N] }; TILE];
    let mut scratch = [0u8; 3 * SPAN];
    let mut sums = [0u16; 3 * SPAN];
    let mut blended = [0u8; BLENDED];
    for start in (0..net.width).step_by(TILE) {
        let width = TILE.min(net.width - start);
        // The columns inside the picture follow one another; these count from the tile's first.
        let Some(left) = (0..width).find(|c| columns.taps::<N, K>(start + c).is_some()) else {
            net.bytes
                .chunks_mut(net.row_bytes)
                .take(net.height)
                .for_each(|row| paint(&mut row[start * net.pixel_bytes..], net.pixel_bytes, width, fill));
            continue;
        };
        let (mut from, mut end, mut right) = (0, 0, left);
        while let Some(taps) = columns.taps::<N, K>(start + right).filter(|_| right < width) {
            if right == left {
                from = taps.at[0];
            }
            end = taps.at[K - 1] + 1;
            of_columns[right] = Column::new(&taps, from);
            right += 1;
        }
        let span = 3 * (end - from) as usize;
        for row in 0..net.height {
            let out = &mut net.bytes[row * net.row_bytes + start * net.pixel_bytes..];
            let Some(of_row) = rows.taps::<N, K>(row) else {
                paint(out, net.pixel_bytes, width, fill);
                continue;
            };
            blend(
                texels,
                &of_row,
                from as usize,
                &mut scratch[..span],
                &mut sums[..span],
                &mut blended[..span],
            );
            paint(out, net.pixel_bytes, left, fill);
            let inside = &mut out[left * net.pixel_bytes..];
            if net.pixel_bytes == 4 {
                mix::<T, 4, N>(&blended, &of_columns[left..right], inside);
            } else {
                mix::<T, 3, N>(&blended, &of_columns[left..right], inside);
            }
            paint(&mut inside[(right - left) * net.pixel_bytes..], net.pixel_bytes, width - right, fill);
        }
    }
}

/// `count` pixels of one colour.
fn paint(out: &mut [u8], pixel_bytes: usize, count: usize, colour: [u8; 3]) {
    for pixel in out.chunks_mut(pixel_bytes).take(count) {
        [pixel[0], pixel[1], pixel[2]] = colour;
    }
}

/// The weighted sum of picture rows; `scratch` and `sums` are as long as `out`.
fn blend<T: Texels, const K: usize>(
    texels: &T,
    rows: &Taps<K>,
    from: usize,
    scratch: &mut [u8],
    sums: &mut [u16],
    out: &mut [u8],
) {
    sums.fill(128); // half of what the shift takes off
    for (&y, &weight) in rows.at.iter().zip(&rows.weight) {
        if weight > 0 {
            let row = texels.row(from, y as usize, scratch);
            sums.iter_mut().zip(row).for_each(|(sum, &v)| *sum += u16::from(v) * weight);
        }
    }
    out.iter_mut().zip(sums).for_each(|(out, sum)| *out = (*sum >> 8) as u8);
}

/// Net pixels of `PIXEL` bytes from weighted sums of blended columns.
///
/// Plain indices and assignments: builds that optimise no further than each unit of code leave calls where the library's
/// iterators and slice copies are, three a pixel, and take twice as long.
#[inline]
fn mix<T: Texels, const PIXEL: usize, const N: usize>(
    blended: &[u8; BLENDED],
    columns: &[Column<N>],
    out: &mut [u8],
) {
    for (pixel, column) in out.as_chunks_mut::<PIXEL>().0.iter_mut().zip(columns) {
        let mut sum: Lanes = 0x0080_0080_0080;
        for sample in 0..N {
            let (at, [left, right]) = (column.at[sample], column.weight[sample]);
            // One load takes both texels of the sample; beyond the row's end the weight is 0.
            let both = match blended[at as usize..].first_chunk() {
                Some(eight) => u64::from_le_bytes(*eight),
                None => 0,
            };
            sum += spread(both) * u64::from(left) + spread(both >> 24) * u64::from(right);
        }
        [pixel[0], pixel[1], pixel[2]] = T::rgb(sum >> 8 & LANES);
    }
}
