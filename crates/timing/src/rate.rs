//! How often something is to happen, as `--rate` has it.

use std::ops::RangeInclusive;

/// Above 1 kHz no wire carries the poses; below 0.1 Hz nobody would wait for them.
const RATES_HZ: RangeInclusive<f64> = 0.1..=1_000.0;

/// Reads a number of Hz; `None` for what is no number, or not in the range that `--rate` takes.
pub fn parse_hz(text: &str) -> Option<f64> {
    text.parse().ok().filter(|hz| RATES_HZ.contains(hz))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_within_the_limits() {
        assert_eq!(
            [parse_hz("30"), parse_hz("0.1"), parse_hz("1e3")],
            [Some(30.0), Some(0.1), Some(1_000.0)]
        );
        for wrong in ["", "fast", "0", "-30", "0.09", "1001", "nan", "inf"] {
            assert_eq!(parse_hz(wrong), None, "{wrong}");
        }
    }
}
