//! Heat maps: the peak of one, and where its joint most likely counts as found.
//!
//! Every value of every map is read in every frame. What is called from other crates is never inlined there: packages make those
//! small, and this with them.
#![forbid(unsafe_code)]

mod hits;

pub use hits::{Hits, Place};

/// The first of the largest values; `None` in an empty slice or where the largest is not finite.
#[inline(never)]
pub fn peak(values: &[f32]) -> Option<(usize, f32)> {
    // Eight running maxima: one alone is a chain of dependent compares.
    let mut best = [f32::NEG_INFINITY; 8];
    let chunks = values.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (b, &v) in best.iter_mut().zip(chunk) {
            *b = if v > *b { v } else { *b };
        }
    }
    let top = best.iter().chain(rest).copied().fold(f32::NEG_INFINITY, f32::max);
    if !top.is_finite() {
        return None;
    }
    values.iter().position(|&v| v == top).map(|at| (at, top))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_peaks_wins_and_no_number_is_no_peak() {
        let mut values = vec![0.0; 100];
        values[37] = 3.0;
        values[99] = 3.0;
        assert_eq!(peak(&values), Some((37, 3.0)));
        assert_eq!(peak(&[f32::NAN; 9]), None);
        assert_eq!(peak(&[]), None);
        assert_eq!(peak(&[f32::INFINITY, 1.0]), None);
    }

    #[test]
    fn the_peak_is_found_in_every_place_of_every_length() {
        for length in 1..=40 {
            for at in 0..length {
                let mut values: Vec<f32> = (0..length).map(|i| -1.0 - i as f32).collect();
                values[at] = -0.5;
                assert_eq!(peak(&values), Some((at, -0.5)), "{at} of {length}");
            }
        }
    }
}
