//! The exponential and the logistic function of every decoder and model.
#![forbid(unsafe_code)]

/// e^x for x <= 0, within 2e-7 of exact relative to it; below -87, and for NaN, e^-87.
///
/// Straight-line arithmetic, so that rows of values go through vector registers: the softmax of heat maps alone takes 39,000 of
/// them a person and frame. Positive values are [`f32::exp`]'s.
///
/// 2^(n + f) with n whole and |f| <= 1/2: n goes into the exponent's bits, 2^f is a Taylor polynomial of degree 7
/// (its first missing term is below 6e-9).
#[inline(always)]
pub fn exp_nonpositive(x: f32) -> f32 {
    // Adding and taking away 1.5·2²³ rounds to a whole number without a branch or a call.
    const ROUND: f32 = 12_582_912.0;
    let x = if x > -87.0 { x } else { -87.0 };
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let whole = rounded - ROUND;
    // ln 2 in two parts, so that the difference keeps its digits.
    let r = (x - whole * 0.693_359_4) + whole * 2.121_944_4e-4;
    let p = 1.0 / 5040.0;
    let p = p * r + 1.0 / 720.0;
    let p = p * r + 1.0 / 120.0;
    let p = p * r + 1.0 / 24.0;
    let p = p * r + 1.0 / 6.0;
    let p = p * r + 0.5;
    let p = p * r + 1.0;
    let p = p * r + 1.0;
    // The low bits of `rounded` hold the whole number; a cast would keep the loop out of vector registers.
    p * f32::from_bits((rounded.to_bits() << 23).wrapping_add(127 << 23))
}

/// 1 / (1 + e^-x): a logit as a probability.
pub fn logistic(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_e_to_the_x() {
        for i in 0..=200_000 {
            let x = -86.0 * i as f32 / 200_000.0;
            let exact = f64::from(x).exp();
            let error = (f64::from(exp_nonpositive(x)) - exact).abs() / exact;
            assert!(error < 2e-7, "{x}: {error:e}");
        }
        assert_eq!(exp_nonpositive(0.0), 1.0);
        assert!(exp_nonpositive(-1e9) < 1e-37 && exp_nonpositive(f32::NEG_INFINITY) < 1e-37);
        assert!(exp_nonpositive(f32::NAN) < 1e-37);
    }
}
