//! x86-64 with 512-bit `vpdpbusd`: tiles of up to 12 pixels × 16 channels, or 6 × 64.
//!
//! Each step broadcasts four input bytes of a pixel against four weights of sixteen channels; twenty-four sums live in
//! registers, which hides the instruction's latency on both ports that have it.

#![allow(clippy::needless_range_loop, reason = "pixels and blocks index several arrays at once")]

mod depthwise;

use std::arch::x86_64::*;

use super::args::{AddArgs, AverageArgs, ConvArgs, InnerSum, MaxArgs, Store, TableArgs, UpsampleArgs};
use super::generic::{pixel, pixel_mut, wrap_generic};
use super::portable::other_at;
use super::{Functions, tiles};
use crate::pack::{self, BLOCK};

pub(crate) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vnni")
}

pub(crate) static FUNCTIONS: Functions = Functions {
    pack: pack::quads,
    signed_inputs: false,
    conv,
    depthwise: depthwise::depthwise,
    add,
    max_pool,
    average_pool,
    table,
    upsample,
    spin: Some(spin),
};

wrap_generic! {
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
    fn add(AddArgs);
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
    fn max_pool(MaxArgs);
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
    fn average_pool(AverageArgs<'_>);
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
    fn table(TableArgs<'_>);
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
    fn upsample(UpsampleArgs);
}

/// One tile: arguments, input pixel, first block, output pixel at that block, fused operand at that block.
type Tile = unsafe fn(&ConvArgs<'_>, *const u8, usize, *mut u8, *const u8);

/// Tile widths in pixels by blocks of channels: at most 24 accumulators, at least enough to hide latency where the map is wide.
const WIDTHS: [&[usize]; 4] = [
    &[1, 2, 3, 4, 5, 6, 8, 10, 12],
    &[1, 2, 3, 4, 5, 6, 8, 10, 12],
    &[1, 2, 3, 4, 5, 6, 8],
    &[1, 2, 3, 4, 5, 6],
];

fn tile_of(blocks: usize, width: usize) -> Tile {
    match (blocks, width) {
        (1, 12) => tile::<12, 1>,
        (1, 10) => tile::<10, 1>,
        (1, 8) => tile::<8, 1>,
        (1, 6) => tile::<6, 1>,
        (1, 5) => tile::<5, 1>,
        (1, 4) => tile::<4, 1>,
        (1, 3) => tile::<3, 1>,
        (1, 2) => tile::<2, 1>,
        (1, _) => tile::<1, 1>,
        (2, 12) => tile::<12, 2>,
        (2, 10) => tile::<10, 2>,
        (2, 8) => tile::<8, 2>,
        (2, 6) => tile::<6, 2>,
        (2, 5) => tile::<5, 2>,
        (2, 4) => tile::<4, 2>,
        (2, 3) => tile::<3, 2>,
        (2, 2) => tile::<2, 2>,
        (2, _) => tile::<1, 2>,
        (3, 8) => tile::<8, 3>,
        (3, 6) => tile::<6, 3>,
        (3, 5) => tile::<5, 3>,
        (3, 4) => tile::<4, 3>,
        (3, 3) => tile::<3, 3>,
        (3, 2) => tile::<2, 3>,
        (3, _) => tile::<1, 3>,
        (_, 6) => tile::<6, 4>,
        (_, 5) => tile::<5, 4>,
        (_, 4) => tile::<4, 4>,
        (_, 3) => tile::<3, 4>,
        (_, 2) => tile::<2, 4>,
        (_, _) => tile::<1, 4>,
    }
}

unsafe fn conv(a: &ConvArgs<'_>) {
    let value = if matches!(a.store, Store::F32) { 4 } else { 1 };
    for (first, blocks) in tiles::groups(a.start.len() / BLOCK, 4) {
        let width = tiles::width(WIDTHS[blocks - 1], a.columns, blocks);
        let tile = tile_of(blocks, width);
        let channel = first * BLOCK;
        for y in 0..a.rows {
            for x in tiles::starts(a.columns, width) {
                // SAFETY: the tile's pixels lie in the output grid, whose inputs and weights are inside (checked when
                // lowered); the CPU has the features, or these functions would not have been given out.
                unsafe {
                    let out = pixel_mut(a.out, y, x).add(channel * value);
                    tile(a, pixel(a.input, y, x), first, out, other_at(&a.store, y, x, channel));
                }
            }
        }
    }
}

/// # Safety
/// `P` pixels and `B` blocks from the given ones lie inside the maps and weights.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
unsafe fn tile<const P: usize, const B: usize>(
    a: &ConvArgs<'_>,
    input: *const u8,
    first: usize,
    out: *mut u8,
    other: *const u8,
) {
    let step = a.input.pixel;
    let mut acc = [[_mm512_setzero_si512(); B]; P];
    // SAFETY: `start` and `weights` hold whole blocks; every segment lies under the tile's pixels.
    unsafe {
        for b in 0..B {
            let start = _mm512_loadu_si512(a.start.as_ptr().add((first + b) * BLOCK).cast());
            for row in &mut acc {
                row[b] = start;
            }
        }
        let mut weights = a.weights.add(first * a.block_bytes);
        for segment in a.segments {
            let mut x = input.offset(segment.offset);
            for _ in 0..segment.steps {
                let mut w = [_mm512_setzero_si512(); B];
                for (b, w) in w.iter_mut().enumerate() {
                    *w = _mm512_loadu_si512(weights.add(b * a.block_bytes).cast());
                }
                for (p, row) in acc.iter_mut().enumerate() {
                    let four = _mm512_set1_epi32(x.add(p * step).cast::<i32>().read_unaligned());
                    for b in 0..B {
                        row[b] = _mm512_dpbusd_epi32(row[b], four, w[b]);
                    }
                }
                x = x.add(4);
                weights = weights.add(64);
            }
        }
        let left = a.channels - first * BLOCK;
        match a.store {
            Store::U8 { zero_point, lo, hi } => {
                // A copy: where this call is not inlined it takes the sums' address, and the loop above would write each
                // sum to memory after every product, which halves its speed.
                let spilled = acc;
                let multipliers = &a.multipliers[first * BLOCK..];
                store_u8(&spilled, multipliers, left, (zero_point, lo, hi), out, a.out.pixel);
            }
            Store::Sum { .. } => {
                let spilled = acc;
                for p in 0..P {
                    for b in 0..B {
                        store_sum(spilled[p][b], a, first + b, p, out.add(b * BLOCK), other.add(b * BLOCK));
                    }
                }
            }
            Store::F32 => {
                let spilled = acc;
                for p in 0..P {
                    for b in 0..B {
                        let mask = mask(left, b);
                        let m = _mm512_loadu_ps(a.multipliers.as_ptr().add((first + b) * BLOCK));
                        let real = _mm512_mul_ps(_mm512_cvtepi32_ps(spilled[p][b]), m);
                        let at = out.add(p * a.out.pixel + b * BLOCK * 4).cast();
                        _mm512_mask_storeu_ps(at, mask, real);
                    }
                }
            }
        }
    }
}

/// Lanes of a block that hold channels, when `left` channels remain from the tile's first block.
#[inline]
fn mask(left: usize, block: usize) -> u16 {
    let count = left.saturating_sub(block * BLOCK).min(BLOCK);
    ((1u32 << count) - 1) as u16
}

/// Stores `P` pixels of `B` blocks, of whose channels `left` are the map's own; `multipliers` begin at the first block.
///
/// # Safety
/// `out` is at the first pixel's first block, the next pixels `pixel` bytes on.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
pub(super) unsafe fn store_u8<const P: usize, const B: usize>(
    acc: &[[__m512i; B]; P],
    multipliers: &[f32],
    left: usize,
    (zero_point, lo, hi): (u8, u8, u8),
    out: *mut u8,
    pixel: usize,
) {
    let zero = _mm512_set1_epi16(i16::from(zero_point));
    let (lo, hi) = (_mm512_set1_epi8(lo as i8), _mm512_set1_epi8(hi as i8));
    // Packing works within 128-bit lanes; this puts each vector's four pieces side by side again.
    let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    // SAFETY: sixteen multipliers a block; stores are limited to the pixel's own channels.
    unsafe {
        let mut m = [_mm512_setzero_ps(); B];
        for (m, multipliers) in m.iter_mut().zip(multipliers.as_chunks::<BLOCK>().0) {
            *m = _mm512_loadu_ps(multipliers.as_ptr());
        }
        // The graph bounds |acc · m| below 2^31, so the conversion cannot wrap; packing saturates.
        let scaled = |i: usize| {
            let i = i.min(P * B - 1);
            _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(acc[i / B][i % B]), m[i % B]))
        };
        let whole = left >= B * BLOCK;
        for four in (0..P * B).step_by(4) {
            let low = _mm512_adds_epi16(_mm512_packs_epi32(scaled(four), scaled(four + 1)), zero);
            let high = _mm512_adds_epi16(_mm512_packs_epi32(scaled(four + 2), scaled(four + 3)), zero);
            let bytes = _mm512_permutexvar_epi32(order, _mm512_packus_epi16(low, high));
            let bytes = _mm512_min_epu8(_mm512_max_epu8(bytes, lo), hi);
            if B == 4 && whole {
                _mm512_storeu_si512(out.add(four / 4 * pixel).cast(), bytes);
                continue;
            }
            if B == 2 && whole {
                let at = out.add(four / 2 * pixel);
                _mm256_storeu_si256(at.cast(), _mm512_castsi512_si256(bytes));
                if four + 2 < P * B {
                    let at = at.add(pixel).cast();
                    _mm256_storeu_si256(at, _mm512_extracti64x4_epi64::<1>(bytes));
                }
                continue;
            }
            let pieces = [
                _mm512_castsi512_si128(bytes),
                _mm512_extracti32x4_epi32::<1>(bytes),
                _mm512_extracti32x4_epi32::<2>(bytes),
                _mm512_extracti32x4_epi32::<3>(bytes),
            ];
            for (i, piece) in pieces.into_iter().enumerate() {
                let i = four + i;
                if i < P * B {
                    let at = out.add(i / B * pixel + i % B * BLOCK).cast::<i8>();
                    if whole {
                        _mm_storeu_si128(at.cast(), piece);
                    } else {
                        _mm_mask_storeu_epi8(at, mask(left, i % B), piece);
                    }
                }
            }
        }
    }
}

/// # Safety
/// As [`tile`]; `out` and `other` are at pixel 0 and the block's first channel.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
unsafe fn store_sum(acc: __m512i, a: &ConvArgs<'_>, block: usize, p: usize, out: *mut u8, other: *const u8) {
    let Store::Sum { sum: InnerSum { lo, hi, zero, is_first, add }, other: map } = a.store else { return };
    const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    // SAFETY: `multipliers` holds whole blocks; `other` may be read SLACK bytes past its end; the store is masked.
    unsafe {
        let m = _mm512_loadu_ps(a.multipliers.as_ptr().add(block * BLOCK));
        let inner = _mm512_mul_ps(_mm512_cvtepi32_ps(acc), m);
        let inner = _mm512_min_ps(_mm512_max_ps(inner, _mm512_set1_ps(lo)), _mm512_set1_ps(hi));
        let inner = _mm512_add_ps(_mm512_roundscale_ps::<NEAREST>(inner), _mm512_set1_ps(zero));
        let other = _mm512_cvtepu8_epi32(_mm_loadu_si128(other.add(p * map.pixel).cast()));
        let other = _mm512_cvtepi32_ps(other);
        let (first, second) = if is_first { (inner, other) } else { (other, inner) };
        let sum = _mm512_fmadd_ps(second, _mm512_set1_ps(add.b_ratio), _mm512_set1_ps(add.fixed));
        let sum = _mm512_fmadd_ps(first, _mm512_set1_ps(add.a_ratio), sum);
        // The graph bounds the ratios, so the sum cannot wrap.
        let sum = _mm512_cvtps_epi32(sum);
        let lo = _mm512_set1_epi32(i32::from(add.lo));
        let hi = _mm512_set1_epi32(i32::from(add.hi));
        let bytes = _mm512_cvtepi32_epi8(_mm512_min_epi32(_mm512_max_epi32(sum, lo), hi));
        _mm_mask_storeu_epi8(out.add(p * a.out.pixel).cast(), mask(a.channels, block), bytes);
    }
}

/// # Safety
/// The CPU has the features.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
unsafe fn spin(loops: u64) -> u64 {
    const SUMS: usize = 24;
    let mut acc = [_mm512_set1_epi32(1); SUMS];
    let (x, w) = (std::hint::black_box(_mm512_set1_epi8(3)), std::hint::black_box(_mm512_set1_epi8(-5)));
    for _ in 0..loops {
        for sum in &mut acc {
            *sum = _mm512_dpbusd_epi32(*sum, x, w);
        }
    }
    std::hint::black_box(acc);
    loops * (SUMS * 64) as u64
}
