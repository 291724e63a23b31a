//! Plain Rust.

use super::Functions;
use super::args::{
    AddArgs, AverageArgs, ConvArgs, DepthwiseArgs, Map, MaxArgs, Store, TableArgs, UpsampleArgs,
};
use super::generic::{block, pixel, pixel_mut, store, wrap_generic};
use crate::pack::{self, BLOCK};

pub(crate) static FUNCTIONS: Functions = Functions {
    pack: pack::single,
    signed_inputs: false,
    conv,
    depthwise,
    add,
    max_pool,
    average_pool,
    table,
    upsample,
    spin: None,
};

wrap_generic! {
    fn depthwise(DepthwiseArgs<'_>);
    fn add(AddArgs);
    fn max_pool(MaxArgs);
    fn average_pool(AverageArgs<'_>);
    fn table(TableArgs<'_>);
    fn upsample(UpsampleArgs);
}

unsafe fn conv(a: &ConvArgs<'_>) {
    let value = if matches!(a.store, Store::F32) { 4 } else { 1 };
    for first in (0..a.channels).step_by(BLOCK) {
        let count = BLOCK.min(a.channels - first);
        for y in 0..a.rows {
            for x in 0..a.columns {
                let mut acc = *block(a.start, first);
                // SAFETY: the pixel's inputs and the block's weights are inside (checked when lowered).
                unsafe {
                    let input = pixel(a.input, y, x);
                    let mut weights = a.weights.add(first / BLOCK * a.block_bytes).cast::<[i8; BLOCK]>();
                    for segment in a.segments {
                        for i in 0..segment.steps * 4 {
                            let x = i16::from(*input.offset(segment.offset).add(i));
                            let w = weights.read_unaligned();
                            for c in 0..BLOCK {
                                // 255 · −128 still fits 16 bits.
                                acc[c] += i32::from(x * i16::from(w[c]));
                            }
                            weights = weights.add(1);
                        }
                    }
                    let other = other_at(&a.store, y, x, first);
                    let out = pixel_mut(a.out, y, x).add(first * value);
                    store(&a.store, &acc, block(a.multipliers, first), count, out, other);
                }
            }
        }
    }
}

/// Where a fused sum's second operand is; null without one.
///
/// # Safety
/// The pixel lies inside the map's arena.
#[inline(always)]
pub(crate) unsafe fn other_at(store: &Store, y: usize, x: usize, channel: usize) -> *const u8 {
    match store {
        // SAFETY: the caller's promise.
        Store::Sum { other, .. } => unsafe { pixel(Map { ..*other }, y, x).add(channel) },
        _ => std::ptr::null(),
    }
}
