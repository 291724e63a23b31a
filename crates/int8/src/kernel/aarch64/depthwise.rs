//! Depthwise convolutions: `smlal` by a vector of weights, so nothing needs interleaving.

use std::arch::aarch64::*;

use crate::kernel::args::DepthwiseArgs;
use crate::kernel::depthwise::{MAX_TAPS, store_block};
use crate::kernel::generic::{self, block, pixel, pixel_mut};
use crate::pack::BLOCK;

/// One tap of 16 channels at a time, widened to 16 bits, to four `smlal`: nothing needs interleaving.
///
/// # Safety
/// See [`Functions`](crate::kernel::Functions).
pub(super) unsafe fn depthwise(a: &DepthwiseArgs<'_>) {
    let padded = a.start.len();
    if a.taps.len() > MAX_TAPS {
        // SAFETY: the caller's promise.
        return unsafe { generic::depthwise(a) };
    }
    // SAFETY: NEON is part of AArch64; the rest as on x86.
    unsafe {
        for first in (0..padded).step_by(BLOCK) {
            let mut weights = [[vdupq_n_s16(0); 2]; MAX_TAPS];
            for (tap, row) in weights.iter_mut().zip(a.weights.chunks_exact(padded)) {
                let row = vld1q_s8(block(row, first).as_ptr());
                *tap = [vmovl_s8(vget_low_s8(row)), vmovl_high_s8(row)];
            }
            let start: &[i32; BLOCK] = block(a.start, first);
            let start = start.as_ptr();
            let start = [
                vld1q_s32(start),
                vld1q_s32(start.add(4)),
                vld1q_s32(start.add(8)),
                vld1q_s32(start.add(12)),
            ];
            for y in 0..a.rows {
                for x in 0..a.columns {
                    let (input, out) = (pixel(a.input, y, x).add(first), pixel_mut(a.out, y, x));
                    let [mut s0, mut s1, mut s2, mut s3] = start;
                    for (tap, &[w_low, w_high]) in weights[..a.taps.len()].iter().enumerate() {
                        let bytes = vld1q_u8(input.offset(a.taps[tap]));
                        let low = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(bytes)));
                        let high = vreinterpretq_s16_u16(vmovl_high_u8(bytes));
                        s0 = vmlal_s16(s0, vget_low_s16(low), vget_low_s16(w_low));
                        s1 = vmlal_high_s16(s1, low, w_low);
                        s2 = vmlal_s16(s2, vget_low_s16(high), vget_low_s16(w_high));
                        s3 = vmlal_high_s16(s3, high, w_high);
                    }
                    let mut sums = [0; BLOCK];
                    for (i, four) in [s0, s1, s2, s3].into_iter().enumerate() {
                        vst1q_s32(sums.as_mut_ptr().add(4 * i), four);
                    }
                    store_block(a, &sums, first, out);
                }
            }
        }
    }
}
