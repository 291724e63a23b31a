//! Depthwise convolutions: bytes of four taps side by side for `vpdpbusd`.

use std::arch::x86_64::*;

use super::store_u8;
use crate::kernel::args::{DepthwiseArgs, Store};
use crate::kernel::depthwise::{MAX_TAPS, offsets, store_block};
use crate::kernel::generic::{self, pixel, pixel_mut};
use crate::pack::BLOCK;

/// Four taps of 64 channels to a `vpdpbusd` each of 16.
///
/// # Safety
/// See [`Functions`](crate::kernel::Functions).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub(super) unsafe fn depthwise(a: &DepthwiseArgs<'_>) {
    let (padded, quads) = (a.start.len(), a.taps.len().div_ceil(4));
    if a.taps.len() > MAX_TAPS {
        // SAFETY: the caller's promise.
        return unsafe { generic::depthwise(a) };
    }
    let offsets = offsets(a.taps);
    for first in (0..padded).step_by(4 * BLOCK) {
        let blocks = ((padded - first) / BLOCK).min(4);
        let mask = u64::MAX >> (64 - BLOCK * blocks);
        let mut weights = [_mm512_setzero_si512(); MAX_TAPS];
        for (tap, row) in weights.iter_mut().zip(a.weights.chunks_exact(padded)) {
            let row = &row[first..][..BLOCK * blocks];
            // SAFETY: the mask has as many bytes as the row.
            *tap = unsafe { _mm512_maskz_loadu_epi8(mask, row.as_ptr()) };
        }
        for quad in weights.as_chunks_mut::<4>().0 {
            *quad = interleave_512(*quad);
        }
        for y in 0..a.rows {
            for x in 0..a.columns {
                // SAFETY: pixels of the output grid, and the inputs under them, are inside (checked when lowered); a
                // block may be read SLACK bytes past a tap's pixel; `start` holds whole blocks.
                unsafe {
                    let (input, out) = (pixel(a.input, y, x).add(first), pixel_mut(a.out, y, x));
                    let mut acc = [_mm512_setzero_si512(); 4];
                    for quad in 0..quads {
                        let mut taps = [_mm512_setzero_si512(); 4];
                        for (i, tap) in taps.iter_mut().enumerate() {
                            let at = input.offset(offsets[4 * quad + i]);
                            *tap = _mm512_maskz_loadu_epi8(mask, at.cast());
                        }
                        let taps = interleave_512(taps);
                        for i in 0..4 {
                            acc[i] = _mm512_dpbusd_epi32(acc[i], taps[i], weights[4 * quad + i]);
                        }
                    }
                    let acc = channels_in_order(acc);
                    store_512(a, acc, first, blocks, out);
                }
            }
        }
    }
}

/// Adds where the sums start and stores the `blocks` blocks of channels from `first` on.
///
/// # Safety
/// `out` is a pixel of `a.out`, and there are so many blocks.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
unsafe fn store_512(a: &DepthwiseArgs<'_>, acc: [__m512i; 4], first: usize, blocks: usize, out: *mut u8) {
    let (mut sums, start) = (acc, a.start[first..].as_chunks::<BLOCK>().0);
    for (sum, start) in sums.iter_mut().zip(start) {
        // SAFETY: sixteen numbers.
        *sum = _mm512_add_epi32(*sum, unsafe { _mm512_loadu_si512(start.as_ptr().cast()) });
    }
    if let Store::U8 { zero_point, lo, hi } = a.store {
        let codes = (zero_point, lo, hi);
        // SAFETY: the caller's promise.
        unsafe {
            if blocks == 4 {
                let multipliers = &a.multipliers[first..];
                return store_u8(&[sums], multipliers, a.channels - first, codes, out.add(first), 0);
            }
            for (b, &sum) in sums[..blocks].iter().enumerate() {
                let channel = first + b * BLOCK;
                let multipliers = &a.multipliers[channel..];
                store_u8(&[[sum]], multipliers, a.channels - channel, codes, out.add(channel), 0);
            }
            return;
        }
    }
    for (b, &sum) in sums[..blocks].iter().enumerate() {
        let mut spilled = [0; BLOCK];
        // SAFETY: sixteen sums; the caller's promise.
        unsafe {
            _mm512_storeu_si512(spilled.as_mut_ptr().cast(), sum);
            store_block(a, &spilled, first + b * BLOCK, out);
        }
    }
}

/// Four taps' bytes of 64 channels -> the four taps side by side, in each 128-bit lane l of vector v those of channels
/// 16 l + 4 v and the three after it.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn interleave_512([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let (ab_low, ab_high) = (_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b));
    let (cd_low, cd_high) = (_mm512_unpacklo_epi8(c, d), _mm512_unpackhi_epi8(c, d));
    [
        _mm512_unpacklo_epi16(ab_low, cd_low),
        _mm512_unpackhi_epi16(ab_low, cd_low),
        _mm512_unpacklo_epi16(ab_high, cd_high),
        _mm512_unpackhi_epi16(ab_high, cd_high),
    ]
}

/// Undoes the order of [`interleave_512`]: vector b holds channels 16 b to 16 b + 15.
#[inline]
#[target_feature(enable = "avx512f")]
fn channels_in_order([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let (ab_low, ab_high) = (_mm512_shuffle_i32x4::<0x44>(a, b), _mm512_shuffle_i32x4::<0xee>(a, b));
    let (cd_low, cd_high) = (_mm512_shuffle_i32x4::<0x44>(c, d), _mm512_shuffle_i32x4::<0xee>(c, d));
    [
        _mm512_shuffle_i32x4::<0x88>(ab_low, cd_low),
        _mm512_shuffle_i32x4::<0xdd>(ab_low, cd_low),
        _mm512_shuffle_i32x4::<0x88>(ab_high, cd_high),
        _mm512_shuffle_i32x4::<0xdd>(ab_high, cd_high),
    ]
}
