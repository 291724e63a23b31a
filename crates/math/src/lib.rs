//! The exponential and the logistic function of every decoder and model, and what else they are made of.
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

/// Sine and cosine, each within 2e-7 of exact for |x| up to 1,000; beyond, and for what is not finite, some numbers.
///
/// Straight-line arithmetic, as [`exp_nonpositive`]: a whole number of quarter turns is taken away, and two polynomials of an eighth of a
/// turn (Cephes' `sinf` and `cosf`) take each other's places by the quarter.
#[inline(always)]
pub fn sin_cos(x: f32) -> (f32, f32) {
    const ROUND: f32 = 12_582_912.0;
    let rounded = x * std::f32::consts::FRAC_2_PI + ROUND;
    let whole = rounded - ROUND;
    // π / 2 in three parts, the first two of so few bits that their products are exact.
    let r = ((x - whole * 1.570_312_5) - whole * 4.837_513e-4) - whole * 7.549_79e-8;
    let square = r * r;
    let sin = ((-1.951_529_6e-4 * square + 8.332_161e-3) * square - 1.666_665_5e-1) * square * r + r;
    let cos = ((2.443_315_7e-5 * square - 1.388_731_6e-3) * square + 4.166_664_6e-2) * square * square
        - 0.5 * square
        + 1.0;
    // The low bits of `rounded` count quarter turns: odd ones exchange the two, and signs are bits.
    let quarter = rounded.to_bits();
    let exchanged = (quarter & 1).wrapping_neg();
    let (sin, cos) = (sin.to_bits(), cos.to_bits());
    let (s, c) = ((sin & !exchanged) | (cos & exchanged), (cos & !exchanged) | (sin & exchanged));
    let (s_sign, c_sign) = ((quarter & 2) << 30, (quarter.wrapping_add(1) & 2) << 30);
    (f32::from_bits(s ^ s_sign), f32::from_bits(c ^ c_sign))
}

/// x Φ(x), the Gaussian error linear unit (Hendrycks and Gimpel, 2016), within 4e-7: the error function is Abramowitz and Stegun's
/// 7.1.26.
#[inline(always)]
pub fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let p = ((((1.061_405_4 * t - 1.453_152) * t + 1.421_413_8) * t - 0.284_496_74) * t + 0.254_829_6) * t;
    // erfc(z) / 2 = Φ(-|x|)
    let tail = 0.5 * p * exp_nonpositive(-z * z);
    if x < 0.0 { x * tail } else { x - x * tail }
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
        for i in 0..20_000 {
            let x = -87.0 - 0.1 * i as f32;
            assert!((0.0..2e-38).contains(&exp_nonpositive(x)), "{x}: {:e}", exp_nonpositive(x));
        }
    }

    #[test]
    fn it_is_the_probability_of_a_logit() {
        for (x, exact) in [(0.0, 0.5), (3.0f32.ln(), 0.75), (-(3.0f32.ln()), 0.25), (9.0f32.ln(), 0.9)] {
            assert!((logistic(x) - exact).abs() < 1e-6, "{x}: {}", logistic(x));
        }
        assert_eq!((logistic(f32::NEG_INFINITY), logistic(1e3), logistic(-1e3)), (0.0, 1.0, 0.0));
    }

    #[test]
    fn they_are_sine_and_cosine() {
        for i in -200_000..=200_000 {
            let x = i as f32 * 5e-3;
            let (sin, cos) = sin_cos(x);
            let (exact_sin, exact_cos) = f64::from(x).sin_cos();
            let error = (f64::from(sin) - exact_sin).abs().max((f64::from(cos) - exact_cos).abs());
            assert!(error < 2e-7, "{x}: {error:e}");
        }
    }

    #[test]
    fn it_is_the_gaussian_error_linear_unit() {
        // Φ by Simpson's rule over the density, in double precision.
        let (mut phi, step) = (0.0, 1e-3);
        let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
        for i in -9_000..=9_000 {
            let x = f64::from(i) * step;
            phi += step / 6.0 * (density(x - step) + 4.0 * density(x - 0.5 * step) + density(x));
            let error = (f64::from(gelu(x as f32)) - x * phi).abs();
            assert!(error < 1e-6, "{x}: {error:e}");
        }
    }
}
