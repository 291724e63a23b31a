//! x86-64 with 256-bit vectors: tiles of up to 6 pixels × 16 channels, twelve sums in sixteen registers.
//!
//! AVX-VNNI multiplies four u8 by four i8 at once. AVX2 alone has `vpmaddubsw`, which does too but saturates at 16 bits,
//! so it would not give the reference's bits: here u8 and i8 are widened and multiplied in pairs by `vpmaddwd`, exact.
//! Sums are fused multiply-adds, which every CPU of this kind has.

#![allow(clippy::needless_range_loop, reason = "halves index several arrays at once")]

mod depthwise;

use std::arch::x86_64::*;

/// Pixels of the widest tile.
const WIDEST: usize = 6;

/// A kernel of 256-bit vectors around `dot`, which adds one step (four input bytes) to a tile's sums and is given the
/// tile's input, the bytes between pixels and the step's weights (`$step_bytes` of them).
macro_rules! kernel_256 {
    ($module:ident, $features:literal, [$($feature:tt),*], $pack:path, $step_bytes:literal, $dot:path, $spin:path) => {
        pub(crate) mod $module {
            use std::arch::x86_64::*;

            use super::WIDEST;
            use crate::kernel::args::{
                AddArgs, AverageArgs, ConvArgs, MaxArgs, Store, TableArgs, UpsampleArgs,
            };
            use crate::kernel::generic::{block, pixel, pixel_mut, store, wrap_generic};
            use crate::kernel::portable::other_at;
            use crate::kernel::{Functions, tiles};
            use crate::pack::BLOCK;

            pub(crate) fn is_available() -> bool {
                $(is_x86_feature_detected!($feature))&&*
            }

            pub(crate) static FUNCTIONS: Functions = Functions {
                pack: $pack,
                signed_inputs: false,
                conv,
                depthwise: crate::kernel::avx2::depthwise::depthwise,
                add,
                max_pool,
                average_pool,
                table,
                upsample,
                spin: Some($spin),
            };

            wrap_generic! {
                #[target_feature(enable = $features)]
                fn add(AddArgs);
                #[target_feature(enable = $features)]
                fn max_pool(MaxArgs);
                #[target_feature(enable = $features)]
                fn average_pool(AverageArgs<'_>);
                #[target_feature(enable = $features)]
                fn table(TableArgs<'_>);
                #[target_feature(enable = $features)]
                fn upsample(UpsampleArgs);
            }

            type Tile = unsafe fn(&ConvArgs<'_>, *const u8, usize, *mut u8, *const u8);
            const TILES: [Tile; WIDEST] = [tile::<1>, tile::<2>, tile::<3>, tile::<4>, tile::<5>, tile::<6>];

            unsafe fn conv(a: &ConvArgs<'_>) {
                let value = if matches!(a.store, Store::F32) { 4 } else { 1 };
                let width = tiles::width(&[1, 2, 3, 4, 5, WIDEST], a.columns, 2);
                let tile = TILES[width - 1];
                for first in 0..a.start.len() / BLOCK {
                    let channel = first * BLOCK;
                    for y in 0..a.rows {
                        for x in tiles::starts(a.columns, width) {
                            // SAFETY: the tile's pixels lie in the output grid, whose inputs and weights are inside
                            // (checked when lowered); these functions are given out only where the CPU has the features.
                            unsafe {
                                let out = pixel_mut(a.out, y, x).add(channel * value);
                                tile(a, pixel(a.input, y, x), first, out, other_at(&a.store, y, x, channel));
                            }
                        }
                    }
                }
            }

            /// # Safety
            /// `P` pixels from the given one and the block lie inside the maps and weights.
            #[target_feature(enable = $features)]
            unsafe fn tile<const P: usize>(
                a: &ConvArgs<'_>,
                input: *const u8,
                first: usize,
                out: *mut u8,
                other: *const u8,
            ) {
                let mut acc = [[_mm256_setzero_si256(); 2]; P];
                // SAFETY: `start` and `weights` hold whole blocks; every segment lies under the tile's pixels.
                unsafe {
                    let start = a.start.as_ptr().add(first * BLOCK);
                    for half in 0..2 {
                        let start = _mm256_loadu_si256(start.add(8 * half).cast());
                        for row in &mut acc {
                            row[half] = start;
                        }
                    }
                    let mut weights = a.weights.add(first * a.block_bytes);
                    for segment in a.segments {
                        let mut x = input.offset(segment.offset);
                        for _ in 0..segment.steps {
                            $dot(&mut acc, x, a.input.pixel, weights);
                            x = x.add(4);
                            weights = weights.add($step_bytes);
                        }
                    }
                }
                let channel = first * BLOCK;
                let count = BLOCK.min(a.channels - channel);
                if let Store::U8 { zero_point, lo, hi } = a.store
                    && count == BLOCK
                {
                    // SAFETY: sixteen channels of each of the tile's pixels.
                    unsafe { store_u8(&acc, block(a.multipliers, channel), (zero_point, lo, hi), out, a.out.pixel) }
                    return;
                }
                let spilled = acc;
                for (p, row) in spilled.iter().enumerate() {
                    let mut sums = [0i32; BLOCK];
                    // SAFETY: two vectors of eight fill the block; `count` channels of a pixel of the tile.
                    unsafe {
                        _mm256_storeu_si256(sums.as_mut_ptr().cast(), row[0]);
                        _mm256_storeu_si256(sums.as_mut_ptr().add(8).cast(), row[1]);
                        let (out, other) = (out.add(p * a.out.pixel), other_pixel(a, other, p));
                        store(&a.store, &sums, block(a.multipliers, channel), count, out, other);
                    }
                }
            }

            /// # Safety
            /// Pixel `p` lies inside the second operand's map, if there is one.
            #[inline(always)]
            unsafe fn other_pixel(a: &ConvArgs<'_>, other: *const u8, p: usize) -> *const u8 {
                match a.store {
                    // SAFETY: the caller's promise.
                    Store::Sum { other: map, .. } => unsafe { other.add(p * map.pixel) },
                    _ => other,
                }
            }

            /// # Safety
            /// Sixteen channels fit at each of `P` pixels.
            #[inline]
            #[target_feature(enable = $features)]
            pub(in crate::kernel) unsafe fn store_u8<const P: usize>(
                acc: &[[__m256i; 2]; P],
                multipliers: &[f32; BLOCK],
                (zero_point, lo, hi): (u8, u8, u8),
                out: *mut u8,
                pixel: usize,
            ) {
                let zero = _mm256_set1_epi16(i16::from(zero_point));
                let (lo, hi) = (_mm256_set1_epi8(lo as i8), _mm256_set1_epi8(hi as i8));
                // Packing works within 128-bit lanes; this puts each pixel's four pieces side by side again.
                let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
                // SAFETY: sixteen multipliers; the caller's promise for the stores.
                unsafe {
                    let m = [_mm256_loadu_ps(multipliers.as_ptr()), _mm256_loadu_ps(multipliers.as_ptr().add(8))];
                    // The graph bounds |acc · m| below 2^31, so the conversion cannot wrap; packing saturates.
                    let scaled = |p: usize, half: usize| {
                        _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(acc[p][half]), m[half]))
                    };
                    let words = |p: usize| _mm256_adds_epi16(_mm256_packs_epi32(scaled(p, 0), scaled(p, 1)), zero);
                    for p in (0..P).step_by(2) {
                        let second = (p + 1).min(P - 1);
                        let bytes = _mm256_packus_epi16(words(p), words(second));
                        let bytes = _mm256_permutevar8x32_epi32(bytes, order);
                        let bytes = _mm256_min_epu8(_mm256_max_epu8(bytes, lo), hi);
                        _mm_storeu_si128(out.add(p * pixel).cast(), _mm256_castsi256_si128(bytes));
                        if second > p {
                            let at = out.add(second * pixel).cast();
                            _mm_storeu_si128(at, _mm256_extracti128_si256::<1>(bytes));
                        }
                    }
                }
            }
        }
    };
}

kernel_256!(
    plain,
    "avx2,fma",
    ["avx2", "fma"],
    crate::pack::wide_pairs,
    128,
    super::dot_wide,
    super::spin_wide
);
kernel_256!(
    vnni,
    "avx2,fma,avxvnni",
    ["avx2", "fma", "avxvnni"],
    crate::pack::quads,
    64,
    super::dot_vnni,
    super::spin_vnni
);

/// # Safety
/// Four bytes at each of `P` pixels, one step of weights.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn dot_wide<const P: usize>(
    acc: &mut [[__m256i; 2]; P],
    x: *const u8,
    pixel: usize,
    weights: *const u8,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let w = |i: usize| _mm256_loadu_si256(weights.add(32 * i).cast());
        let even_bytes = _mm256_set1_epi16(0xff);
        for (p, row) in acc.iter_mut().enumerate() {
            let four = _mm256_set1_epi32(x.add(p * pixel).cast::<i32>().read_unaligned());
            let (even, odd) = (_mm256_and_si256(four, even_bytes), _mm256_srli_epi16::<8>(four));
            for (half, sum) in row.iter_mut().enumerate() {
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(even, w(half)));
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(odd, w(2 + half)));
            }
        }
    }
}

/// # Safety
/// Four bytes at each of `P` pixels, one step of weights.
#[inline]
#[target_feature(enable = "avx2,avxvnni")]
unsafe fn dot_vnni<const P: usize>(
    acc: &mut [[__m256i; 2]; P],
    x: *const u8,
    pixel: usize,
    weights: *const u8,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let w = [_mm256_loadu_si256(weights.cast()), _mm256_loadu_si256(weights.add(32).cast())];
        for (p, row) in acc.iter_mut().enumerate() {
            let four = _mm256_set1_epi32(x.add(p * pixel).cast::<i32>().read_unaligned());
            for half in 0..2 {
                row[half] = _mm256_dpbusd_avx_epi32(row[half], four, w[half]);
            }
        }
    }
}

/// # Safety
/// The CPU has the features.
#[target_feature(enable = "avx2")]
unsafe fn spin_wide(loops: u64) -> u64 {
    const SUMS: usize = 12;
    let mut acc = [_mm256_set1_epi32(1); SUMS];
    let x = std::hint::black_box(_mm256_set1_epi16(3));
    let mut w = std::hint::black_box(_mm256_set1_epi16(-5));
    for _ in 0..loops {
        // Opaque, or the product would be computed once for all sums.
        for sum in &mut acc {
            // SAFETY: an empty instruction that claims to change its register.
            unsafe {
                std::arch::asm!("/* {0} */", inout(ymm_reg) w, options(pure, nomem, nostack, preserves_flags))
            };
            *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(x, w));
        }
    }
    std::hint::black_box(acc);
    loops * (SUMS * 16) as u64
}

/// # Safety
/// The CPU has the features.
#[target_feature(enable = "avx2,avxvnni")]
unsafe fn spin_vnni(loops: u64) -> u64 {
    const SUMS: usize = 12;
    let mut acc = [_mm256_set1_epi32(1); SUMS];
    let (x, w) = (std::hint::black_box(_mm256_set1_epi8(3)), std::hint::black_box(_mm256_set1_epi8(-5)));
    for _ in 0..loops {
        for sum in &mut acc {
            *sum = _mm256_dpbusd_avx_epi32(*sum, x, w);
        }
    }
    std::hint::black_box(acc);
    loops * (SUMS * 32) as u64
}
