//! How long something takes, of many times: a histogram of fixed size, 4 % wide.

/// Buckets a doubling, and doublings: up to an hour of microseconds.
const FINE: u32 = 16;
const BUCKETS: usize = 32 * FINE as usize;

/// Durations in microseconds.
#[derive(Clone, Debug)]
pub struct Spread {
    counts: Vec<u64>,
    most_us: u64,
}

impl Default for Spread {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], most_us: 0 }
    }
}

impl Spread {
    /// One more.
    pub fn add(&mut self, us: u64) {
        let bucket = ((us.max(1) as f64).log2() * f64::from(FINE)) as usize;
        self.counts[bucket.min(BUCKETS - 1)] += 1;
        self.most_us = self.most_us.max(us);
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The least that `share` of them do not exceed, to 4 %.
    pub fn at(&self, share: f64) -> f64 {
        let (mut left, last) = ((share * self.count() as f64).ceil() as i64, BUCKETS - 1);
        let bucket = self.counts.iter().position(|n| {
            left -= *n as i64;
            left <= 0
        });
        (((bucket.unwrap_or(last) + 1) as f64) / f64::from(FINE)).exp2().min(self.most_us as f64)
    }

    /// In words.
    pub fn said(&self, what: &str) -> String {
        let ms = |us: f64| us / 1e3;
        let (half, most) = (ms(self.at(0.5)), ms(self.most_us as f64));
        format!(
            "{what}: p50 {half:.2} ms, p99 {:.2} ms, most {most:.2} ms, of {}",
            ms(self.at(0.99)),
            self.count()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_found_to_a_few_hundredths() {
        let mut spread = Spread::default();
        (1..=1_000).for_each(|us| spread.add(us));
        for (share, us) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1_000.0)] {
            assert!((spread.at(share) / us - 1.0).abs() < 0.05, "{share}: {}", spread.at(share));
        }
        spread.add(0);
        spread.add(u64::MAX);
        assert_eq!(spread.count(), 1_002);
        assert!(spread.said("x").starts_with("x: p50 0.5"), "{}", spread.said("x"));
        let mut falling = Spread::default();
        [9_000, 2_000, 1_000].into_iter().for_each(|us| falling.add(us));
        assert_eq!((falling.at(1.0), falling.count()), (9_000.0, 3));
    }
}
