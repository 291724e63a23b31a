//! Depthwise convolutions in vectors.
//!
//! A channel meets no other channel's inputs, so nothing can be broadcast as in a dense convolution. Instead the inputs of
//! several taps are interleaved, byte by byte or pair by pair, until each lane holds one channel's taps side by side: then the
//! dense kernels' instructions apply. The weights are interleaved in the same way, once for all pixels of a group of channels.
//!
//! Five to twelve times as fast as the plain loop, which the compiler does not turn into vectors; the bits are the same
//! (`cargo bench -p int8 -- depthwise`).

use super::args::{DepthwiseArgs, Store};
use super::generic::{self, block, pixel, pixel_mut, store};
use crate::pack::BLOCK;

/// Taps that there is room for: those of a 7x7 window. Larger windows take the plain loop.
const MOST_TAPS: usize = 52;

/// Stores `sums`, those of the block of channels that begins at `first`, at an output pixel.
///
/// # Safety
/// `out` is a pixel of `a.out`.
#[inline(always)]
unsafe fn store_block(a: &DepthwiseArgs<'_>, sums: &[i32; BLOCK], first: usize, out: *mut u8) {
    let value = if matches!(a.store, Store::F32) { 4 } else { 1 };
    let count = BLOCK.min(a.channels - first);
    // SAFETY: `count` channels from `first` are the pixel's own; a depthwise convolution has no fused sum to read.
    unsafe {
        store(&a.store, sums, block(a.multipliers, first), count, out.add(first * value), std::ptr::null())
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use std::arch::x86_64::*;

    use super::super::{avx2::plain, avx512::store_u8};
    use super::*;

    /// The taps' offsets, filled up to whole groups of taps with the first: their weights are zero.
    fn offsets(taps: &[isize]) -> [isize; MOST_TAPS] {
        std::array::from_fn(|i| taps.get(i).or(taps.first()).map_or(0, |&offset| offset))
    }

    /// Four taps of 64 channels to a `vpdpbusd` each of 16.
    ///
    /// # Safety
    /// See [`super::super::Functions`].
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
    pub unsafe fn avx512(a: &DepthwiseArgs<'_>) {
        let (padded, quads) = (a.start.len(), a.taps.len().div_ceil(4));
        if a.taps.len() > MOST_TAPS {
            // SAFETY: the caller's promise.
            return unsafe { generic::depthwise(a) };
        }
        let offsets = offsets(a.taps);
        for first in (0..padded).step_by(4 * BLOCK) {
            let blocks = ((padded - first) / BLOCK).min(4);
            let mask = u64::MAX >> (64 - BLOCK * blocks);
            let mut weights = [_mm512_setzero_si512(); MOST_TAPS];
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

    /// Two taps of 16 channels, widened to 16 bits, to a `vpmaddwd` each of 8: exact, where `vpmaddubsw` would saturate.
    ///
    /// # Safety
    /// See [`super::super::Functions`].
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn avx2(a: &DepthwiseArgs<'_>) {
        let (padded, pairs) = (a.start.len(), a.taps.len().div_ceil(2));
        if a.taps.len() > MOST_TAPS {
            // SAFETY: the caller's promise.
            return unsafe { generic::depthwise(a) };
        }
        let offsets = offsets(a.taps);
        for first in (0..padded).step_by(BLOCK) {
            let mut weights = [_mm256_setzero_si256(); MOST_TAPS];
            for (tap, row) in weights.iter_mut().zip(a.weights.chunks_exact(padded)) {
                let row = block(row, first);
                // SAFETY: sixteen weights.
                *tap = _mm256_cvtepi8_epi16(unsafe { _mm_loadu_si128(row.as_ptr().cast()) });
            }
            for pair in weights.as_chunks_mut::<2>().0 {
                *pair = interleave_256(*pair);
            }
            for y in 0..a.rows {
                for x in 0..a.columns {
                    // SAFETY: pixels of the output grid, and the inputs under them, are inside (checked when lowered); a
                    // block may be read SLACK bytes past a tap's pixel; `start` holds whole blocks.
                    unsafe {
                        let (input, out) = (pixel(a.input, y, x).add(first), pixel_mut(a.out, y, x));
                        let mut acc = [_mm256_setzero_si256(); 2];
                        for pair in 0..pairs {
                            let mut taps = [_mm256_setzero_si256(); 2];
                            for (i, tap) in taps.iter_mut().enumerate() {
                                let at = input.offset(offsets[2 * pair + i]);
                                *tap = _mm256_cvtepu8_epi16(_mm_loadu_si128(at.cast()));
                            }
                            let taps = interleave_256(taps);
                            for i in 0..2 {
                                let products = _mm256_madd_epi16(taps[i], weights[2 * pair + i]);
                                acc[i] = _mm256_add_epi32(acc[i], products);
                            }
                        }
                        // Lanes hold channels 0 to 3 and 8 to 11, 4 to 7 and 12 to 15.
                        let [even, odd] = acc;
                        let start = a.start.as_ptr().add(first);
                        let low = _mm256_permute2x128_si256::<0x20>(even, odd);
                        let low = _mm256_add_epi32(low, _mm256_loadu_si256(start.cast()));
                        let high = _mm256_permute2x128_si256::<0x31>(even, odd);
                        let high = _mm256_add_epi32(high, _mm256_loadu_si256(start.add(8).cast()));
                        if let Store::U8 { zero_point, lo, hi } = a.store
                            && a.channels - first >= BLOCK
                        {
                            let multipliers = block(a.multipliers, first);
                            plain::store_u8(
                                &[[low, high]],
                                multipliers,
                                (zero_point, lo, hi),
                                out.add(first),
                                0,
                            );
                            continue;
                        }
                        let mut sums = [0; BLOCK];
                        _mm256_storeu_si256(sums.as_mut_ptr().cast(), low);
                        _mm256_storeu_si256(sums.as_mut_ptr().add(8).cast(), high);
                        store_block(a, &sums, first, out);
                    }
                }
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn interleave_256([a, b]: [__m256i; 2]) -> [__m256i; 2] {
        [_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b)]
    }
}

/// One tap of 16 channels at a time, widened to 16 bits, to four `smlal`: nothing needs interleaving.
///
/// # Safety
/// See [`super::Functions`].
#[cfg(target_arch = "aarch64")]
pub(super) unsafe fn neon(a: &DepthwiseArgs<'_>) {
    use std::arch::aarch64::*;

    let padded = a.start.len();
    if a.taps.len() > MOST_TAPS {
        // SAFETY: the caller's promise.
        return unsafe { generic::depthwise(a) };
    }
    // SAFETY: NEON is part of AArch64; the rest as on x86.
    unsafe {
        for first in (0..padded).step_by(BLOCK) {
            let mut weights = [[vdupq_n_s16(0); 2]; MOST_TAPS];
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
