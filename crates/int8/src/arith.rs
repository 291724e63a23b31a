//! The arithmetic, exactly: every kernel gives the bits of these functions.
//!
//! It is that of ONNX Runtime's QLinear operators: products are summed in i32, converted to f32 (round to nearest even),
//! multiplied by one f32, rounded to nearest even, offset by the zero point and saturated.

use crate::tensor::Quant;

/// Larger than any distance between two u8 values, small enough that [`round_even`] is exact.
const BEYOND_U8: f32 = 1024.0;

/// Rounds to nearest, ties to even, for |x| < 2^22, by the adder's own rounding: vectorises on every CPU.
#[inline(always)]
pub fn round_even(x: f32) -> f32 {
    const SHIFT: f32 = 12_582_912.0; // 1.5 * 2^23: one unit in the last place is 1
    (x + SHIFT) - SHIFT
}

/// `value` rounded to nearest even and offset by `zero_point`, saturated to `lo..=hi`.
#[inline(always)]
pub fn quantise(value: f32, zero_point: u8, lo: u8, hi: u8) -> u8 {
    let rounded = round_even(value.clamp(-BEYOND_U8, BEYOND_U8));
    debug_assert!(!rounded.is_nan(), "the graph refuses scales that could give one");
    // SAFETY: between ±1024, and not a number only for a NaN `value`, which is mapped to zero first. A plain cast checks
    // every lane again, which doubles the cost of a store.
    let rounded: i32 = unsafe { if rounded.is_nan() { 0.0 } else { rounded }.to_int_unchecked() };
    (rounded + i32::from(zero_point)).clamp(i32::from(lo), i32::from(hi)) as u8
}

/// An accumulator scaled by `multiplier` (input scale · weight scale / output scale).
#[inline(always)]
pub fn requantise(acc: i32, multiplier: f32, zero_point: u8, lo: u8, hi: u8) -> u8 {
    quantise(acc as f32 * multiplier, zero_point, lo, hi)
}

/// A code in another quantisation.
pub(crate) fn requantise_code(q: u8, from: Quant, to: Quant) -> u8 {
    let centred = i32::from(q) - i32::from(from.zero_point);
    requantise(centred, from.scale / to.scale, to.zero_point, 0, 255)
}

/// How two u8 tensors are added into a third.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AddParams {
    /// Scale of the first operand / scale of the sum.
    pub a_ratio: f32,
    /// Scale of the second operand / scale of the sum.
    pub b_ratio: f32,
    /// What the three zero points come to: the sum's, less each operand's times its ratio.
    pub fixed: f32,
    /// Smallest value of the sum, after the activation.
    pub lo: u8,
    /// Largest value of the sum, after the activation.
    pub hi: u8,
}

/// `a + b`: two fused multiply-adds on the codes, the second operand's first, as ONNX Runtime's kernels do on CPUs that
/// have them. Any other order rounds one value in some thousands to the neighbouring code, and deep networks spread that.
#[inline(always)]
pub fn add(a: u8, b: u8, p: &AddParams) -> u8 {
    add_codes(f32::from(a), f32::from(b), p)
}

/// [`add`] of codes that are whole numbers already.
#[inline(always)]
pub fn add_codes(a: f32, b: f32, p: &AddParams) -> u8 {
    quantise(a.mul_add(p.a_ratio, b.mul_add(p.b_ratio, p.fixed)), 0, p.lo, p.hi)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_even() {
        assert_eq!(round_even(0.5), 0.0);
        assert_eq!(round_even(1.5), 2.0);
        assert_eq!(round_even(-2.5), -2.0);
        assert_eq!(round_even(-1023.5), -1024.0);
    }

    #[test]
    fn saturates_at_the_activation_range() {
        assert_eq!(requantise(i32::MAX, 1.0, 3, 0, 255), 255);
        assert_eq!(requantise(i32::MIN, 1.0, 3, 0, 255), 0);
        assert_eq!(requantise(-100, 1.0, 128, 128, 200), 128);
        assert_eq!(requantise(100, 1.0, 128, 128, 200), 200);
    }

    #[test]
    fn adds_across_scales() {
        // Zero points 10, 0 and 1.
        let p = AddParams { a_ratio: 0.5, b_ratio: 2.0, fixed: 1.0 - 0.5 * 10.0, lo: 0, hi: 255 };
        assert_eq!(add(20, 3, &p), 12);
        assert_eq!(add(0, 0, &p), 0);
    }
}
