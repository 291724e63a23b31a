//! 32-bit Arm with NEON (Cortex-A7, A53 and others under a 32-bit system): tiles of one or two pixels × 16 channels.
//!
//! As on AArch64 without dot product: inputs are read as u8 − 128, two products meet in 16 bits before they are widened. The inner
//! loop is assembly, because the intrinsics are not stable on this architecture and the target by itself leaves NEON out:
//! whether the CPU has it is asked of the kernel. Sixteen vector registers hold two pixels' sums, a step's weights and no more.

use std::sync::LazyLock;

use super::args::{AddArgs, AverageArgs, ConvArgs, DepthwiseArgs, MaxArgs, Store, TableArgs, UpsampleArgs};
use super::generic::{block, pixel, pixel_mut, store, wrap_generic};
use super::portable::other_at;
use super::{Functions, tiles};
use crate::pack::{self, BLOCK};

pub(crate) static FUNCTIONS: Functions = Functions {
    pack: pack::pairs,
    signed_inputs: true,
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

/// Whether this CPU has NEON.
pub(crate) fn is_available() -> bool {
    static FOUND: LazyLock<bool> =
        LazyLock::new(|| std::fs::read("/proc/self/auxv").is_ok_and(|vector| has_neon(&vector)));
    *FOUND
}

/// Looks into the auxiliary vector: pairs of words, a kind and its value.
fn has_neon(vector: &[u8]) -> bool {
    const AT_HWCAP: u32 = 16;
    const NEON: u32 = 1 << 12;
    let word = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
    let (words, _) = vector.as_chunks::<4>();
    words.as_chunks::<2>().0.iter().any(|[kind, value]| word(kind) == AT_HWCAP && word(value) & NEON != 0)
}

unsafe fn conv(a: &ConvArgs<'_>) {
    let value = if matches!(a.store, Store::F32) { 4 } else { 1 };
    let width = tiles::width(&[1, 2], a.columns, 4);
    for first in 0..a.start.len() / BLOCK {
        let channel = first * BLOCK;
        for y in 0..a.rows {
            for x in tiles::starts(a.columns, width) {
                // SAFETY: the tile's pixels lie in the output grid, whose inputs and weights are inside (checked when
                // lowered); this function is given out only where the CPU has NEON.
                unsafe {
                    let out = pixel_mut(a.out, y, x).add(channel * value);
                    let (input, other) = (pixel(a.input, y, x), other_at(&a.store, y, x, channel));
                    if width == 2 {
                        tile::<2>(a, input, first, out, other);
                    } else {
                        tile::<1>(a, input, first, out, other);
                    }
                }
            }
        }
    }
}

/// # Safety
/// `P` pixels from the given one and the block lie inside the maps and weights; `P` is 1 or 2.
unsafe fn tile<const P: usize>(
    a: &ConvArgs<'_>,
    input: *const u8,
    first: usize,
    out: *mut u8,
    other: *const u8,
) {
    let channel = first * BLOCK;
    let count = BLOCK.min(a.channels - channel);
    let mut sums = [*block(a.start, channel); P];
    // SAFETY: `weights` holds whole blocks; every segment lies under the tile's pixels.
    unsafe {
        let mut weights = a.weights.add(first * a.block_bytes);
        for segment in a.segments {
            let x = input.offset(segment.offset);
            let at = sums.as_mut_ptr().cast::<i32>();
            match (P, a.has_lowest) {
                (2, false) => two(at, x, x.add(a.input.pixel), segment.steps, weights),
                (2, true) => two_apart(at, x, x.add(a.input.pixel), segment.steps, weights),
                (_, false) => one(at, x, segment.steps, weights),
                (_, true) => one_apart(at, x, segment.steps, weights),
            }
            weights = weights.add(4 * BLOCK * segment.steps);
        }
    }
    for (p, sums) in sums.iter().enumerate() {
        // SAFETY: `count` channels of a pixel of the tile, in the output and the second operand.
        unsafe {
            let other = match a.store {
                Store::Sum { other: map, .. } => other.add(p * map.pixel),
                _ => other,
            };
            store(&a.store, sums, block(a.multipliers, channel), count, out.add(p * a.out.pixel), other);
        }
    }
}

/// A pixel's next four inputs, in pairs in every lane of d24 and d25, as signed.
macro_rules! inputs {
    ($x:literal) => {
        concat!("vld1.16 {{d24[]}}, [{", $x, "}]!\n vld1.16 {{d25[]}}, [{", $x, "}]!\n veor q12, q12, q15")
    };
}

/// Adds their products with the weights in d16 to d23 to four sums.
macro_rules! products {
    ($a:literal, $b:literal, $c:literal, $d:literal) => {
        concat!(
            "vmull.s8 q13, d16, d24\n vmull.s8 q14, d17, d24\n vmlal.s8 q13, d20, d25\n vmlal.s8 q14, d21, d25\n",
            "vpadal.s16 ", $a, ", q13\n vpadal.s16 ", $b, ", q14\n",
            "vmull.s8 q13, d18, d24\n vmull.s8 q14, d19, d24\n vmlal.s8 q13, d22, d25\n vmlal.s8 q14, d23, d25\n",
            "vpadal.s16 ", $c, ", q13\n vpadal.s16 ", $d, ", q14"
        )
    };
}

/// The same for one sum where two products of −128 by −128 would leave 16 bits: each is widened before they meet.
macro_rules! apart {
    ($sum:literal, $first:literal, $last:literal) => {
        concat!(
            "vmull.s8 q13, ",
            $first,
            ", d24\n vpadal.s16 ",
            $sum,
            ", q13\n vmull.s8 q14, ",
            $last,
            ", d25\n vpadal.s16 ",
            $sum,
            ", q14"
        )
    };
}

/// A segment of `steps` times four inputs at one or two pixels, against the weights of sixteen channels.
macro_rules! segment {
    ($name:ident($($x:ident),*), $sums:literal, $($body:expr),*) => {
        /// # Safety
        /// The CPU has NEON; sixteen sums a pixel, `4 · steps` bytes at each pixel, 64 · `steps` weights; `steps` is not 0.
        unsafe fn $name(sums: *mut i32, $($x: *const u8,)* steps: usize, weights: *const u8) {
            // SAFETY: the caller's promise; what is read ends with the last step.
            unsafe {
                std::arch::asm!(
                    ".fpu neon",
                    concat!("vldmia {sums}, {{", $sums, "}}"),
                    "vmov.i8 q15, #0x80",
                    "2:",
                    "vld1.8 {{d16-d19}}, [{weights}]!",
                    "vld1.8 {{d20-d23}}, [{weights}]!",
                    $($body,)*
                    "subs {steps}, {steps}, #1",
                    "bne 2b",
                    concat!("vstmia {sums}, {{", $sums, "}}"),
                    // What the rest of the program is assembled for.
                    ".fpu vfpv3-d16",
                    sums = in(reg) sums,
                    $($x = inout(reg) $x => _,)*
                    steps = inout(reg) steps => _,
                    weights = inout(reg) weights => _,
                    // The rest of the program knows no more of them, and of these only by such names.
                    out("d0") _, out("d1") _, out("d2") _, out("d3") _, out("d4") _, out("d5") _, out("d6") _, out("d7") _,
                    out("d8") _, out("d9") _, out("d10") _, out("d11") _, out("d12") _, out("d13") _, out("d14") _, out("d15") _,
                    options(nostack)
                );
            }
        }
    };
}

segment!(one(x), "d0-d7", inputs!("x"), products!("q0", "q1", "q2", "q3"));
segment!(
    one_apart(x),
    "d0-d7",
    inputs!("x"),
    apart!("q0", "d16", "d20"),
    apart!("q1", "d17", "d21"),
    apart!("q2", "d18", "d22"),
    apart!("q3", "d19", "d23")
);
segment!(
    two(x, next),
    "d0-d15",
    inputs!("x"),
    products!("q0", "q1", "q2", "q3"),
    inputs!("next"),
    products!("q4", "q5", "q6", "q7")
);
segment!(
    two_apart(x, next),
    "d0-d15",
    inputs!("x"),
    apart!("q0", "d16", "d20"),
    apart!("q1", "d17", "d21"),
    apart!("q2", "d18", "d22"),
    apart!("q3", "d19", "d23"),
    inputs!("next"),
    apart!("q4", "d16", "d20"),
    apart!("q5", "d17", "d21"),
    apart!("q6", "d18", "d22"),
    apart!("q7", "d19", "d23")
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::SLACK;

    /// Sums of one and of two pixels over `steps` steps against the same in plain Rust.
    fn sums_are_those_of_plain_rust(apart: bool) {
        if !is_available() {
            eprintln!("SKIPPED: this CPU has no NEON");
            return;
        }
        let mut random = 1u32;
        let mut byte = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 24) as u8
        };
        for steps in [1, 2, 7] {
            let x: Vec<u8> = (0..8 * steps + SLACK).map(|_| byte()).collect();
            // −128 in half of the places, or nowhere.
            let weight = |of: u8| match (apart, of) {
                (true, 0..0x80) => 0x80,
                (false, 0x80) => 0x81,
                _ => of,
            };
            let w: Vec<u8> = (0..64 * steps).map(|_| weight(byte())).collect();
            let second = 4 * steps;
            let mut expected = [[1i32; BLOCK]; 2];
            for (p, sums) in expected.iter_mut().enumerate() {
                for (channel, sum) in sums.iter_mut().enumerate() {
                    for i in 0..4 * steps {
                        let weight = w[i / 4 * 64 + i % 4 / 2 * 32 + channel * 2 + i % 2] as i8;
                        *sum += (i32::from(x[p * second + i]) - 128) * i32::from(weight);
                    }
                }
            }
            let mut sums = [[1i32; BLOCK]; 2];
            let (at, x, w) = (sums.as_mut_ptr().cast(), x.as_ptr(), w.as_ptr());
            // SAFETY: NEON is there; sums, inputs and weights are as long as the steps ask for.
            unsafe {
                if apart {
                    two_apart(at, x, x.add(second), steps, w)
                } else {
                    two(at, x, x.add(second), steps, w)
                }
            }
            assert_eq!(sums, expected, "two pixels, {steps} steps");
            let mut sums = [1i32; BLOCK];
            // SAFETY: as above.
            unsafe {
                if apart {
                    one_apart(sums.as_mut_ptr(), x, steps, w)
                } else {
                    one(sums.as_mut_ptr(), x, steps, w)
                }
            }
            assert_eq!(sums, expected[0], "one pixel, {steps} steps");
        }
    }

    #[test]
    fn pairs_meet_in_16_bits() {
        sums_are_those_of_plain_rust(false);
    }

    #[test]
    fn the_lowest_weight_is_widened_before_it_meets_another() {
        sums_are_those_of_plain_rust(true);
    }

    #[test]
    fn neon_is_a_bit_of_the_auxiliary_vector() {
        let vector = |capabilities: u32| {
            [6, 4096, 16, capabilities, 0, 0].into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
        };
        assert!(has_neon(&vector(1 << 12 | 7)));
        assert!(!has_neon(&vector(7)));
        assert!(!has_neon(&vector(1 << 12)[..14]));
        assert!(!has_neon(&[]));
    }
}
