//! What kernels are called with: addresses and strides, all resolved.

use crate::arith::AddParams;
use crate::pack::Segment;

/// A map to read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Map {
    /// The first pixel's first channel.
    pub at: *const u8,
    /// Bytes between rows.
    pub row: usize,
    /// Bytes between pixels.
    pub pixel: usize,
}

/// A map to write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MapMut {
    pub at: *mut u8,
    pub row: usize,
    pub pixel: usize,
}

/// How an accumulator becomes an inner code, and that a part of a sum.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InnerSum {
    /// Limits of the inner code's distance from its zero point.
    pub lo: f32,
    pub hi: f32,
    /// The inner zero point.
    pub zero: f32,
    /// Whether the inner code is the sum's first operand.
    pub is_first: bool,
    pub add: AddParams,
}

/// What becomes of an accumulator.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Store {
    /// Requantised.
    U8 { zero_point: u8, lo: u8, hi: u8 },
    /// Requantised to an inner tensor's codes, then added to `other`.
    Sum { sum: InnerSum, other: Map },
    /// Multiplied and stored as f32.
    F32,
}

/// A convolution over `rows` × `columns` output pixels.
#[derive(Debug)]
pub(crate) struct ConvArgs<'a> {
    /// `row` and `pixel` are the bytes between the inputs of neighbouring outputs.
    pub input: Map,
    pub segments: &'a [Segment],
    pub weights: *const u8,
    /// Packed bytes of one block of sixteen channels.
    pub block_bytes: usize,
    /// Whether some weight is −128: two products with it can leave 16 bits.
    #[cfg_attr(
        not(any(target_arch = "aarch64", target_arch = "arm")),
        expect(dead_code, reason = "only NEON sums pairs in 16 bits")
    )]
    pub has_lowest: bool,
    /// Where accumulators start, a whole number of blocks.
    pub start: &'a [i32],
    /// A whole number of blocks.
    pub multipliers: &'a [f32],
    /// Channels to store.
    pub channels: usize,
    pub out: MapMut,
    pub rows: usize,
    pub columns: usize,
    pub store: Store,
}

/// A depthwise convolution; arrays by channel are a whole number of blocks long.
#[derive(Debug)]
pub(crate) struct DepthwiseArgs<'a> {
    pub input: Map,
    /// Offset of each tap from the pixel that belongs to the output pixel.
    pub taps: &'a [isize],
    /// `[tap][channel]`.
    pub weights: &'a [i8],
    pub start: &'a [i32],
    pub multipliers: &'a [f32],
    pub channels: usize,
    pub out: MapMut,
    pub rows: usize,
    pub columns: usize,
    /// Never `Sum`.
    pub store: Store,
}

/// An element-wise sum.
#[derive(Debug)]
pub(crate) struct AddArgs {
    pub a: Map,
    pub b: Map,
    pub out: MapMut,
    pub rows: usize,
    pub columns: usize,
    pub channels: usize,
    pub params: AddParams,
}

/// Which part of a pooling window lies inside the map, for one output row or column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// First input row or column inside.
    pub first: usize,
    /// How many are inside.
    pub count: usize,
}

impl Span {
    /// The span of output `at` for taps `kernel`, `stride`, `pad` on a side of `size`.
    #[inline(always)]
    pub fn of(at: usize, kernel: usize, stride: usize, pad: usize, size: usize) -> Self {
        let first = (at * stride).saturating_sub(pad);
        let end = (at * stride + kernel).saturating_sub(pad).min(size);
        Self { first, count: end.saturating_sub(first) }
    }
}

/// The geometry of a pooling.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PoolWindow {
    pub kernel: [usize; 2],
    pub stride: [usize; 2],
    pub pad: [usize; 2],
    /// Rows and columns of the input.
    pub size: [usize; 2],
}

/// A max pooling.
#[derive(Debug)]
pub(crate) struct MaxArgs {
    pub input: Map,
    pub window: PoolWindow,
    pub out: MapMut,
    pub rows: usize,
    pub columns: usize,
    pub channels: usize,
}

/// An average pooling.
#[derive(Debug)]
pub(crate) struct AverageArgs<'a> {
    pub pool: MaxArgs,
    pub in_zero: u8,
    pub out_zero: u8,
    /// What a sum of n pixels is multiplied with, at index n.
    pub multipliers: &'a [f32],
}

/// A table look-up; also a copy into a wider pixel.
#[derive(Debug)]
pub(crate) struct TableArgs<'a> {
    pub input: Map,
    pub out: MapMut,
    pub rows: usize,
    pub columns: usize,
    pub channels: usize,
    /// `None`: values as they are.
    pub table: Option<&'a [u8; 256]>,
}

/// Pixels repeated.
#[derive(Debug)]
pub(crate) struct UpsampleArgs {
    pub input: Map,
    pub out: MapMut,
    /// Rows and columns of the input.
    pub rows: usize,
    pub columns: usize,
    pub factor: [usize; 2],
    /// Bytes of a pixel to copy.
    pub bytes: usize,
}
