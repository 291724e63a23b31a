//! AArch64: tiles of a few pixels × 16 channels, with and without dot product.
//!
//! Both multiply signed by signed, so inputs are read as u8 − 128 (a flip of the top bit) and the accumulators start
//! 128 · Σ weights higher. Everything but the inner loop is the generic code: NEON is part of every AArch64.
//!
//! Inner loops are plain indices: closures and iterator adapters are calls in builds that optimise each unit of code by
//! itself, and then the dot-product kernel ran eight times its instructions.

#![allow(clippy::needless_range_loop, reason = "inner loops are plain indices, as above")]

mod depthwise;

use std::arch::aarch64::*;

/// Declares a kernel around `$dots`, which adds a segment to a tile's sums and returns where the weights go on.
macro_rules! kernel_aarch64 {
    ($module:ident, [$($feature:literal)?], $widest:literal, [$($width:literal),*], $pack:path, $dots:path, $spin:path) => {
        pub(crate) mod $module {
            use std::arch::aarch64::*;

            use crate::kernel::args::{
                AddArgs, AverageArgs, ConvArgs, MaxArgs, Store, TableArgs, UpsampleArgs,
            };
            use crate::kernel::generic::{block, pixel, pixel_mut, store, wrap_generic};
            use crate::kernel::portable::other_at;
            use crate::kernel::{Functions, tiles};
            use crate::pack::BLOCK;

            pub(crate) static FUNCTIONS: Functions = Functions {
                pack: $pack,
                signed_inputs: true,
                conv,
                depthwise: crate::kernel::aarch64::depthwise::depthwise,
                add,
                max_pool,
                average_pool,
                table,
                upsample,
                spin: Some($spin),
            };

            wrap_generic! {
                fn add(AddArgs);
                fn max_pool(MaxArgs);
                fn average_pool(AverageArgs<'_>);
                fn table(TableArgs<'_>);
                fn upsample(UpsampleArgs);
            }

            type Tile = unsafe fn(&ConvArgs<'_>, *const u8, usize, *mut u8, *const u8);
            const TILES: [Tile; $widest] = [$(tile::<$width>),*];
            const WIDTHS: [usize; $widest] = [$($width),*];

            unsafe fn conv(a: &ConvArgs<'_>) {
                let value = if matches!(a.store, Store::F32) { 4 } else { 1 };
                let width = tiles::width(&WIDTHS, a.columns, 4);
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
            $(#[target_feature(enable = $feature)])?
            unsafe fn tile<const P: usize>(
                a: &ConvArgs<'_>,
                input: *const u8,
                first: usize,
                out: *mut u8,
                other: *const u8,
            ) {
                let channel = first * BLOCK;
                let count = BLOCK.min(a.channels - channel);
                let mut sums = [[0i32; BLOCK]; P];
                // SAFETY: `start` and `weights` hold whole blocks; every segment lies under the tile's pixels.
                unsafe {
                    let at = a.start.as_ptr().add(channel);
                    let start = [vld1q_s32(at), vld1q_s32(at.add(4)), vld1q_s32(at.add(8)), vld1q_s32(at.add(12))];
                    let mut acc = [start; P];
                    let mut weights = a.weights.add(first * a.block_bytes).cast::<i8>();
                    for segment in a.segments {
                        let x = input.offset(segment.offset);
                        weights = $dots(&mut acc, x, a.input.pixel, segment.steps, weights, a.has_lowest);
                    }
                    for p in 0..P {
                        for i in 0..4 {
                            vst1q_s32(sums[p].as_mut_ptr().add(4 * i), acc[p][i]);
                        }
                    }
                }
                for (p, sums) in sums.iter().enumerate() {
                    // SAFETY: `count` channels of a pixel of the tile, in the output and the second operand.
                    unsafe {
                        let other = match a.store {
                            Store::Sum { other: map, .. } => other.add(p * map.pixel),
                            _ => other,
                        };
                        let out = out.add(p * a.out.pixel);
                        store(&a.store, sums, block(a.multipliers, channel), count, out, other);
                    }
                }
            }
        }
    };
}

kernel_aarch64!(neon, [], 4, [1, 2, 3, 4], crate::pack::pairs, super::dots_neon, super::spin_neon);
kernel_aarch64!(
    dotprod,
    ["dotprod"],
    4,
    [1, 2, 3, 4],
    crate::pack::quads,
    super::dots_dotprod,
    super::spin_dotprod
);

/// Whether this CPU has `sdot`.
pub(crate) fn has_dotprod() -> bool {
    std::arch::is_aarch64_feature_detected!("dotprod")
}

/// # Safety
/// `4 · steps` bytes at each of `P` pixels, `steps` steps of weights.
#[inline(always)]
unsafe fn dots_neon<const P: usize>(
    acc: &mut [[int32x4_t; 4]; P],
    x: *const u8,
    pixel: usize,
    steps: usize,
    weights: *const i8,
    has_lowest: bool,
) -> *const i8 {
    // SAFETY: the caller's promise.
    unsafe {
        if has_lowest {
            pairs_neon::<P, true>(acc, x, pixel, steps, weights)
        } else {
            pairs_neon::<P, false>(acc, x, pixel, steps, weights)
        }
        weights.add(64 * steps)
    }
}

/// `APART`: two products of −128 by −128 would leave 16 bits, so each is widened before they meet.
///
/// # Safety
/// As [`dots_neon`].
#[inline(always)]
unsafe fn pairs_neon<const P: usize, const APART: bool>(
    acc: &mut [[int32x4_t; 4]; P],
    x: *const u8,
    pixel: usize,
    steps: usize,
    weights: *const i8,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let flip = vdup_n_s8(i8::MIN);
        for step in 0..steps {
            // Four channels' weights each, for the step's first two inputs and for its last two. Halves, because the
            // compiler makes an extra move of every "high half" instruction here.
            let at = weights.add(64 * step);
            let first = [vld1_s8(at), vld1_s8(at.add(8)), vld1_s8(at.add(16)), vld1_s8(at.add(24))];
            let at = at.add(32);
            let last = [vld1_s8(at), vld1_s8(at.add(8)), vld1_s8(at.add(16)), vld1_s8(at.add(24))];
            for p in 0..P {
                let acc = &mut acc[p];
                let x = x.add(p * pixel + 4 * step).cast::<u16>();
                let a = veor_s8(vreinterpret_s8_u16(vdup_n_u16(x.read_unaligned())), flip);
                let b = veor_s8(vreinterpret_s8_u16(vdup_n_u16(x.add(1).read_unaligned())), flip);
                for i in 0..4 {
                    let products = vmull_s8(first[i], a);
                    acc[i] = if APART {
                        vpadalq_s16(vpadalq_s16(acc[i], products), vmull_s8(last[i], b))
                    } else {
                        vpadalq_s16(acc[i], vmlal_s8(products, last[i], b))
                    };
                }
            }
        }
    }
}

/// `sdot` of four i8 a lane with lane `$lane` of `$x`; the intrinsic is not stable yet.
macro_rules! sdot {
    ($acc:expr, $w:expr, $x:expr, $lane:literal) => {
        std::arch::asm!(
            concat!("sdot {acc:v}.4s, {w:v}.16b, {x:v}.4b[", $lane, "]"),
            acc = inout(vreg) $acc,
            w = in(vreg) $w,
            x = in(vreg) $x,
            options(pure, nomem, nostack, preserves_flags)
        )
    };
}

/// # Safety
/// As [`dots_neon`]; the CPU has dot product.
#[inline]
#[target_feature(enable = "dotprod")]
unsafe fn dots_dotprod<const P: usize>(
    acc: &mut [[int32x4_t; 4]; P],
    x: *const u8,
    pixel: usize,
    steps: usize,
    weights: *const i8,
    _has_lowest: bool,
) -> *const i8 {
    // SAFETY: the caller's promise.
    unsafe {
        let flip = vdupq_n_u8(0x80);
        let mut step = 0;
        while step + 4 <= steps {
            let mut four = [vdupq_n_s8(0); P];
            for p in 0..P {
                four[p] = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(x.add(p * pixel + 4 * step)), flip));
            }
            macro_rules! lane {
                ($lane:literal) => {
                    let at = weights.add(64 * (step + $lane));
                    let w = [vld1q_s8(at), vld1q_s8(at.add(16)), vld1q_s8(at.add(32)), vld1q_s8(at.add(48))];
                    for p in 0..P {
                        for i in 0..4 {
                            sdot!(acc[p][i], w[i], four[p], $lane);
                        }
                    }
                };
            }
            lane!(0);
            lane!(1);
            lane!(2);
            lane!(3);
            step += 4;
        }
        while step < steps {
            let at = weights.add(64 * step);
            let w = [vld1q_s8(at), vld1q_s8(at.add(16)), vld1q_s8(at.add(32)), vld1q_s8(at.add(48))];
            for p in 0..P {
                let word = x.add(p * pixel + 4 * step).cast::<u32>().read_unaligned();
                let x = vreinterpretq_s8_u8(veorq_u8(vreinterpretq_u8_u32(vdupq_n_u32(word)), flip));
                for i in 0..4 {
                    sdot!(acc[p][i], w[i], x, 0);
                }
            }
            step += 1;
        }
        weights.add(64 * steps)
    }
}

/// # Safety
/// None beyond NEON, which every AArch64 has.
unsafe fn spin_neon(loops: u64) -> u64 {
    const SUMS: usize = 8;
    // SAFETY: NEON is part of AArch64; no memory is touched.
    unsafe {
        let x = std::hint::black_box(vdupq_n_s8(3));
        let w = std::hint::black_box(vdupq_n_s8(-5));
        let mut acc = [vdupq_n_s32(1); SUMS];
        for _ in 0..loops {
            for sum in &mut acc {
                let mut products = vmull_s8(vget_low_s8(w), vget_low_s8(x));
                // Opaque, or the products would be computed once for all sums.
                std::arch::asm!("/* {0:v} */", inout(vreg) products, options(pure, nomem, nostack, preserves_flags));
                *sum = vpadalq_s16(*sum, vmlal_high_s8(products, w, x));
            }
        }
        std::hint::black_box(acc);
    }
    loops * (SUMS * 16) as u64
}

/// # Safety
/// The CPU has dot product.
#[target_feature(enable = "dotprod")]
unsafe fn spin_dotprod(loops: u64) -> u64 {
    const SUMS: usize = 16;
    // SAFETY: the caller's promise; no memory is touched.
    unsafe {
        let x = std::hint::black_box(vdupq_n_s8(3));
        let w = std::hint::black_box(vdupq_n_s8(-5));
        let mut acc = [vdupq_n_s32(1); SUMS];
        for _ in 0..loops {
            for sum in &mut acc {
                sdot!(*sum, w, x, 0);
            }
        }
        std::hint::black_box(acc);
    }
    loops * (SUMS * 16) as u64
}
