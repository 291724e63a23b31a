//! Depthwise convolutions in vectors: what the instruction sets share; each has its own loop beside its dense kernel.
//!
//! A channel meets no other channel's inputs, so nothing can be broadcast as in a dense convolution. Instead the inputs of
//! several taps are interleaved, byte by byte or pair by pair, until each lane holds one channel's taps side by side: then the
//! dense kernels' instructions apply. The weights are interleaved in the same way, once for all pixels of a group of channels.
//!
//! Five to twelve times as fast as the plain loop, which the compiler does not turn into vectors; the bits are the same
//! (`cargo bench -p int8 -- depthwise`).

use super::args::{DepthwiseArgs, Store};
use super::generic::{block, store};
use crate::pack::BLOCK;

/// Taps that there is room for: those of a 7x7 window. Larger windows take the plain loop.
pub(super) const MAX_TAPS: usize = 52;

/// Stores `sums`, those of the block of channels that begins at `first`, at an output pixel.
///
/// # Safety
/// `out` is a pixel of `a.out`.
#[inline(always)]
pub(super) unsafe fn store_block(a: &DepthwiseArgs<'_>, sums: &[i32; BLOCK], first: usize, out: *mut u8) {
    let value = if matches!(a.store, Store::F32) { 4 } else { 1 };
    let count = BLOCK.min(a.channels - first);
    // SAFETY: `count` channels from `first` are the pixel's own; a depthwise convolution has no fused sum to read.
    unsafe {
        store(&a.store, sums, block(a.multipliers, first), count, out.add(first * value), std::ptr::null())
    }
}

/// The taps' offsets, filled up to whole groups of taps with the first: their weights are zero.
#[cfg(target_arch = "x86_64")] // NEON needs no groups
pub(super) fn offsets(taps: &[isize]) -> [isize; MAX_TAPS] {
    std::array::from_fn(|i| taps.get(i).or(taps.first()).map_or(0, |&offset| offset))
}
