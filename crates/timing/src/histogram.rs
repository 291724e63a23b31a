//! A histogram of times in fixed memory.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Sub-divisions of each power of two: a value is known to 1/32, about 3 %, which is finer than any two runs agree.
const SUB_BITS: u32 = 5;
const SUB: usize = 1 << SUB_BITS;
/// Powers of two above the linear part: the last bucket starts at 2³⁷ ns, 137 s, longer than anything timed.
const OCTAVES: usize = 33;
const BUCKETS: usize = SUB * (OCTAVES + 1);

/// Counts of times by size, logarithmic above 32 ns. Any thread may record while another reads.
pub struct Histogram {
    buckets: [AtomicU32; BUCKETS],
    max_ns: AtomicU64,
}

/// Quantiles of a [`Histogram`], nanoseconds; all 0 where nothing was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Values recorded.
    pub count: u64,
    /// Half of the values are at most this.
    pub p50_ns: u64,
    /// 95 % of the values are at most this.
    pub p95_ns: u64,
    /// 99 % of the values are at most this.
    pub p99_ns: u64,
    /// The largest value, exact.
    pub max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: [const { AtomicU32::new(0) }; BUCKETS], max_ns: AtomicU64::new(0) }
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.summary().fmt(f)
    }
}

impl Histogram {
    /// Adds one value.
    pub fn record(&self, ns: u64) {
        self.buckets[bucket_of(ns)].fetch_add(1, Ordering::Relaxed);
        self.max_ns.fetch_max(ns, Ordering::Relaxed);
    }

    /// Forgets everything.
    pub fn reset(&self) {
        self.buckets.iter().for_each(|b| b.store(0, Ordering::Relaxed));
        self.max_ns.store(0, Ordering::Relaxed);
    }

    /// Quantiles of all that was recorded, by nearest rank; each is the upper end of its bucket, so never too small.
    pub fn summary(&self) -> Summary {
        let count: u64 = self.buckets.iter().map(|b| u64::from(b.load(Ordering::Relaxed))).sum();
        let max_ns = self.max_ns.load(Ordering::Relaxed);
        let quantile = |per_cent: u64| {
            let rank = (count * per_cent).div_ceil(100);
            let mut seen = 0;
            for (i, bucket) in self.buckets.iter().enumerate() {
                seen += u64::from(bucket.load(Ordering::Relaxed));
                if rank > 0 && seen >= rank {
                    return upper_end_of(i).min(max_ns);
                }
            }
            0
        };
        Summary { count, p50_ns: quantile(50), p95_ns: quantile(95), p99_ns: quantile(99), max_ns }
    }
}

/// Values below `SUB` have a bucket each; above, each power of two is cut into `SUB` equal parts.
fn bucket_of(ns: u64) -> usize {
    if ns < SUB as u64 {
        return ns as usize;
    }
    let shift = ns.ilog2() - SUB_BITS;
    let bucket = SUB * (shift as usize + 1) + (ns >> shift) as usize - SUB;
    bucket.min(BUCKETS - 1)
}

/// The largest value that falls into bucket `i`.
fn upper_end_of(i: usize) -> u64 {
    if i < SUB {
        return i as u64;
    }
    let shift = (i / SUB - 1) as u32;
    (((i % SUB + SUB + 1) as u64) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_recorded_reads_as_zero() {
        assert_eq!(Histogram::default().summary(), Summary::default());
    }

    #[test]
    fn a_value_beyond_the_range_counts_in_the_last_bucket() {
        let h = Histogram::default();
        h.record(u64::MAX);
        assert_eq!(h.summary().count, 1);
        assert_eq!(h.summary().max_ns, u64::MAX);
    }

    proptest! {
        #[test]
        fn a_bucket_holds_its_values_to_one_part_in_32(ns in 0u64..1 << 37) {
            let i = bucket_of(ns);
            prop_assert!(ns <= upper_end_of(i));
            prop_assert!(i == 0 || upper_end_of(i - 1) < ns);
            prop_assert!(upper_end_of(i) - ns <= ns / 32);
        }

        #[test]
        fn quantiles_agree_with_sorting(mut values in prop::collection::vec(0u64..1 << 34, 1..300)) {
            let h = Histogram::default();
            values.iter().for_each(|v| h.record(*v));
            values.sort_unstable();
            let s = h.summary();
            for (per_cent, got) in [(50, s.p50_ns), (95, s.p95_ns), (99, s.p99_ns)] {
                let exact = values[(values.len() * per_cent).div_ceil(100) - 1];
                prop_assert!(got >= exact && got - exact <= exact / 32, "p{per_cent}: {got} for {exact}");
            }
            prop_assert_eq!(s.max_ns, values[values.len() - 1]);
        }
    }
}
