//! How often cameras look, and how much longer their looks hold where they are slow.

/// A look is held against another camera's that is no older; slow cameras' looks lie that far apart, as a part of the time between two.
pub(super) const FRESH_US: i64 = 120_000;
const FRESH: f64 = 0.55;
/// Who fitted so long ago did so in a row with who fits now; of slow cameras, so many looks ago.
const ROW_US: i64 = 1_000_000;
const ROW: i64 = 6;
/// Until then two cameras must see somebody new, or there is nobody; slow ones have two looks and a half.
const PROBATION_US: i64 = 400_000;
const PROBATION: f64 = 2.5;
/// Rays have a speed from looks so near each other; a slow camera's from any two in a row.
const SPEED_US: i64 = 200_000;
const SPEED: f64 = 1.5;
/// What is slower is silent now and then.
const SLOW_US: i64 = 700_000;
/// So many looks make a mean.
const MEAN: i64 = 8;

/// How far apart each camera's looks come, microseconds.
#[derive(Clone, Debug)]
pub(super) struct Rates(Vec<i64>);

impl Rates {
    /// Of so many cameras, of which nothing is known yet.
    pub fn new(cameras: usize) -> Self {
        Self(vec![0; cameras])
    }

    /// A look came so long after the one before.
    pub fn looked(&mut self, camera: usize, gap_us: i64) {
        let (gap_us, every_us) = (gap_us.clamp(0, SLOW_US), &mut self.0[camera]);
        *every_us = if *every_us == 0 { gap_us } else { *every_us + (gap_us - *every_us) / MEAN };
    }

    /// So old may one's look be for another's.
    pub fn fresh_us(&self, a: usize, b: usize) -> i64 {
        FRESH_US.max((FRESH * self.0[a].max(self.0[b]) as f64) as i64)
    }

    /// So long ago may two have fitted that fit again now.
    pub fn row_us(&self, a: usize, b: usize) -> i64 {
        ROW_US.max(ROW * self.0[a].max(self.0[b]))
    }

    /// So long may it take until somebody whom `cameras` see is sure.
    pub fn probation_us(&self, cameras: impl Iterator<Item = usize>) -> i64 {
        let slowest_us = cameras.map(|c| self.0[c]).max().unwrap_or(0);
        PROBATION_US.max((PROBATION * slowest_us as f64) as i64)
    }

    /// So far apart may looks be whose rays have a speed.
    pub fn speed_us(&self, camera: usize) -> i64 {
        SPEED_US.max((SPEED * self.0[camera] as f64) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_quick_cameras_looks_hold_as_long_as_ever_and_of_slow_ones_until_the_next() {
        let mut rates = Rates::new(3);
        let all = |rates: &Rates| {
            [rates.fresh_us(0, 1), rates.row_us(0, 1), rates.probation_us(0..2), rates.speed_us(0)]
        };
        let usual = [FRESH_US, ROW_US, PROBATION_US, SPEED_US];
        assert_eq!(all(&rates), usual);
        // A silence now and then makes no slow camera.
        (0..200).for_each(|k| rates.looked(0, if k % 50 == 49 { 9_000_000 } else { 33_000 }));
        assert_eq!(all(&rates), usual);
        (0..20).for_each(|_| rates.looked(1, 500_000));
        assert_eq!(all(&rates), [275_000, 3_000_000, 1_250_000, SPEED_US]);
        assert_eq!((rates.fresh_us(0, 2), rates.speed_us(1)), (FRESH_US, 750_000));
    }
}
