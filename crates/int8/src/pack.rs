//! Weights in the order in which a kernel reads them.

use crate::geometry::Tap;
use crate::op::Weights;
use crate::tensor::Quant;

/// Output channels of a block; the last block is filled up with zeros.
pub(crate) const BLOCK: usize = 16;

/// A run of contiguous input bytes that a kernel multiplies: `steps` groups of four.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    /// From the pixel that belongs to the output pixel.
    pub offset: isize,
    /// Groups of four bytes.
    pub steps: usize,
}

/// Weights as a matrix, one row an output channel (filled up to a whole block), columns in the order of the segments' bytes.
#[derive(Debug, Clone)]
pub(crate) struct Matrix {
    pub rows: usize,
    pub columns: usize,
    pub values: Vec<i8>,
}

impl Matrix {
    pub fn at(&self, row: usize, column: usize) -> i8 {
        self.values[row * self.columns + column]
    }
}

/// Segments and the weight matrix of output channels `channels` (of one group) for taps that read pixels of `pixel` bytes.
///
/// Neighbouring taps of a row become one segment where a pixel's channels fill it, so that a 3×3 convolution is three runs.
pub(crate) fn matrix(
    weights: &Weights,
    channels: std::ops::Range<usize>,
    taps: &[Tap],
    kernel_taps: usize,
    in_channels: usize,
    pixel: usize,
    row: usize,
) -> (Vec<Segment>, Matrix) {
    let whole_pixels = in_channels.next_multiple_of(4) == pixel;
    let tap_bytes = in_channels.next_multiple_of(4);
    let mut segments: Vec<Segment> = Vec::new();
    for tap in taps {
        let offset = tap.dy * row as isize + tap.dx * pixel as isize;
        match segments.last_mut() {
            Some(last) if whole_pixels && last.offset + (last.steps * 4) as isize == offset => {
                last.steps += tap_bytes / 4;
            }
            _ => segments.push(Segment { offset, steps: tap_bytes / 4 }),
        }
    }
    let columns = tap_bytes * taps.len();
    let rows = channels.len().next_multiple_of(BLOCK);
    let mut values = vec![0i8; rows * columns];
    for (out, channel) in channels.enumerate() {
        for (place, tap) in taps.iter().enumerate() {
            let from = &weights.values[(channel * kernel_taps + tap.index) * in_channels..][..in_channels];
            values[out * columns + place * tap_bytes..][..in_channels].copy_from_slice(from);
        }
    }
    (segments, Matrix { rows, columns, values })
}

/// `[block][group of 4 columns][16 rows][4 columns]`: what `vpdpbusd` and `sdot` take.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) fn quads(m: &Matrix) -> Vec<u8> {
    let mut packed = vec![0; m.values.len()];
    let block_len = BLOCK * m.columns;
    for (row, values) in m.values.chunks_exact(m.columns.max(1)).enumerate() {
        let first = row / BLOCK * block_len + row % BLOCK * 4;
        for (group, four) in values.as_chunks::<4>().0.iter().enumerate() {
            packed[first + group * BLOCK * 4..][..4].copy_from_slice(&four.map(|w| w as u8));
        }
    }
    packed
}

/// `[block][column][16 rows]`: one input value against sixteen channels.
pub(crate) fn single(m: &Matrix) -> Vec<u8> {
    let mut packed = Vec::with_capacity(m.values.len());
    for block in (0..m.rows).step_by(BLOCK) {
        for column in 0..m.columns {
            packed.extend((block..block + BLOCK).map(|row| m.at(row, column) as u8));
        }
    }
    packed
}

/// Where accumulators start: the bias, less what the input's zero point adds through the given weights.
///
/// `shift` is 128 for kernels that read inputs as signed (u8 − 128), else 0.
pub(crate) fn start(bias: i32, weights: impl Iterator<Item = i8>, input: Quant, shift: i32) -> i32 {
    let sum: i32 = weights.map(i32::from).sum();
    bias - (i32::from(input.zero_point) - shift) * sum
}

/// `[block][group of 4 columns][even, odd][16 rows][2 columns]` as i16: columns 0 and 2, then 1 and 3, which is how four
/// u8 in one word widen by a mask and by a shift.
#[cfg(target_arch = "x86_64")]
pub(crate) fn wide_pairs(m: &Matrix) -> Vec<u8> {
    let mut packed = Vec::with_capacity(2 * m.values.len());
    for block in (0..m.rows).step_by(BLOCK) {
        for column in (0..m.columns).step_by(4) {
            for odd in 0..2 {
                for row in block..block + BLOCK {
                    for c in [column + odd, column + odd + 2] {
                        packed.extend(i16::from(m.at(row, c)).to_le_bytes());
                    }
                }
            }
        }
    }
    packed
}

/// `[block][group of 4 columns][first, second pair][16 rows][2 columns]`: pairs for `smull` and `smlal`.
#[cfg(any(target_arch = "aarch64", target_arch = "arm"))]
pub(crate) fn pairs(m: &Matrix) -> Vec<u8> {
    let mut packed = Vec::with_capacity(m.values.len());
    for block in (0..m.rows).step_by(BLOCK) {
        for column in (0..m.columns).step_by(2) {
            for row in block..block + BLOCK {
                packed.extend([m.at(row, column) as u8, m.at(row, column + 1) as u8]);
            }
        }
    }
    packed
}
