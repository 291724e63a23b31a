//! What numbers become on the wire. Integer shifts only, so that every decoder gets the same value to the last bit.

/// Coordinates count this many steps to the pixel at scale 0.
pub(crate) const STEPS_PER_PX: f32 = 8.0;
/// Sigmas count this many steps to the pixel at scale 0.
const SIGMA_STEPS_PER_PX: f32 = 16.0;
/// Largest sigma that the wire carries at scale 0; larger ones are sent as this: both mean "anywhere".
pub const SIGMA_MAX_PX: f32 = 63.0 * 64.0 / SIGMA_STEPS_PER_PX;
/// Largest score of a joint: six bits, the other two are its state.
pub(crate) const JOINT_SCORE_MAX: u8 = 63;

/// Pixels to wire units of 2^`scale`/8 px, rounded half away from zero, saturating at the i16 range.
pub(crate) fn coordinate_code(px: f32, scale: u8) -> i16 {
    round_i16(px * STEPS_PER_PX / (1u32 << scale) as f32)
}

/// Wire units to pixels.
pub(crate) fn coordinate_px(code: i16, scale: u8) -> f32 {
    f32::from(code) * (1u32 << scale) as f32 / STEPS_PER_PX
}

/// Rounded half away from zero, saturating; NaN is 0.
pub(crate) fn round_i16(x: f32) -> i16 {
    (x + 0.5f32.copysign(x)) as i16
}

/// 0..=1 to 0..=`max`, rounded, clamped; NaN is 0.
pub(crate) fn unit_code(x: f32, max: u8) -> u8 {
    (x.clamp(0.0, 1.0) * f32::from(max) + 0.5) as u8
}

/// The one-byte float that carries a sigma: three bits of exponent over five of mantissa, in units of 2^`scale`/16 px.
///
/// ```text
///   7   5 4       0
///  ┌─────┬─────────┐   e = 0:  m                 0 … 31 steps, exact          (0 … 1.94 px at scale 0)
///  │  e  │    m    │   e > 0:  (32 + m) << (e-1)  32 … 4032 steps, ±1.6 %     (2 … 252 px at scale 0)
///  └─────┴─────────┘   0:      no sigma is given
/// ```
///
/// A sigma above 0 never becomes 0; one above [`SIGMA_MAX_PX`]·2^`scale`, or infinite, becomes the largest; NaN is 0.
pub fn sigma_code(px: f32, scale: u8) -> u8 {
    if px.is_nan() || px <= 0.0 {
        return 0;
    }
    let steps = (px * SIGMA_STEPS_PER_PX / (1u32 << scale) as f32 + 0.5) as u32;
    let (mut mantissa, mut exponent) = (steps.clamp(1, 63 << 6), 0);
    while mantissa >> exponent > 63 {
        exponent += 1;
    }
    // The first rounding was to whole steps; the second is to the five bits that stay.
    if exponent > 0 {
        mantissa += 1 << (exponent - 1);
        if mantissa >> exponent > 63 {
            exponent += 1;
        }
    }
    let m = (mantissa >> exponent) as u8;
    match m {
        0..32 => m,
        _ if exponent > 6 => u8::MAX,
        _ => ((exponent as u8 + 1) << 5) | (m - 32),
    }
}

/// What a sigma's code means, in pixels; 0 where none was given.
pub fn sigma_px(code: u8, scale: u8) -> f32 {
    let (e, m) = (code >> 5, u32::from(code & 31));
    let steps = if e == 0 { m } else { (32 + m) << (e - 1) };
    (steps << scale) as f32 / SIGMA_STEPS_PER_PX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sigma_code_is_its_own_code_at_every_scale() {
        for scale in 0..=8 {
            for code in 0..=255 {
                assert_eq!(sigma_code(sigma_px(code, scale), scale), code, "scale {scale}");
            }
        }
    }

    #[test]
    fn sigma_codes_rise_and_stay_within_the_stated_error() {
        for code in 1..=255 {
            assert!(sigma_px(code, 0) > sigma_px(code - 1, 0));
        }
        let mut px = 0.001;
        while px < SIGMA_MAX_PX {
            let back = sigma_px(sigma_code(px, 0), 0);
            // Half a step near zero; above it half a step (rounding to steps) and 1/64 (rounding to five bits).
            let allowed = if px < 1.0 / 16.0 { 1.0 / 16.0 } else { 1.0 / 32.0 + px / 64.0 };
            assert!((back - px).abs() <= allowed, "{px} came back as {back}");
            px *= 1.003;
        }
    }

    #[test]
    fn sigmas_out_of_range_saturate_and_nonsense_is_none() {
        assert_eq!(sigma_code(1e9, 0), 255);
        assert_eq!(sigma_code(f32::INFINITY, 3), 255);
        assert_eq!(sigma_code(f32::NAN, 0), 0);
        assert_eq!(sigma_code(-1.0, 0), 0);
        assert_eq!(sigma_code(1e-9, 0), 1, "a sigma that is given stays given");
        assert_eq!(sigma_px(255, 0), SIGMA_MAX_PX);
    }

    #[test]
    fn coordinates_round_to_the_nearest_step_and_saturate() {
        assert_eq!(coordinate_code(1.0, 0), 8);
        assert_eq!(coordinate_code(-0.07, 0), -1);
        assert_eq!(coordinate_code(1e9, 0), i16::MAX);
        assert_eq!(coordinate_code(-1e9, 0), i16::MIN);
        assert_eq!(coordinate_px(coordinate_code(5000.0, 1), 1), 5000.0);
    }

    #[test]
    fn unit_codes_hit_both_ends() {
        assert_eq!(unit_code(0.0, 63), 0);
        assert_eq!(unit_code(1.0, 63), 63);
        assert_eq!(unit_code(7.0, 255), 255);
        assert_eq!(unit_code(f32::NAN, 255), 0);
    }
}
