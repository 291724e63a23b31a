//! Means that can be added up, and 95 % intervals by the bootstrap.

use std::fmt;

use serde::Serialize;

const RESAMPLES: usize = 400;

/// A sum and how many were summed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Mean {
    pub sum: f64,
    pub count: f64,
}

impl Mean {
    pub fn add(&mut self, value: f64) {
        *self = self.with(Self { sum: value, count: 1.0 });
    }

    pub fn hit(&mut self, hit: bool) {
        self.add(f64::from(u8::from(hit)));
    }

    /// Both together.
    pub fn with(self, other: Self) -> Self {
        Self { sum: self.sum + other.sum, count: self.count + other.count }
    }

    pub fn get(self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

/// What was claimed to be true with some probability, and how often it was.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Claims {
    /// By tenths of what was claimed: the claims' sum less how many of them were true.
    excess: [f64; Self::BINS],
    count: f64,
}

impl Claims {
    const BINS: usize = 10;

    /// A claim of 0..=1.
    pub fn add(&mut self, claimed: f64, is_true: bool) {
        let bin = ((claimed * Self::BINS as f64) as usize).min(Self::BINS - 1);
        self.excess[bin] += claimed - f64::from(u8::from(is_true));
        self.count += 1.0;
    }

    /// Both together.
    pub fn with(mut self, other: Self) -> Self {
        self.excess.iter_mut().zip(other.excess).for_each(|(excess, more)| *excess += more);
        Self { count: self.count + other.count, ..self }
    }

    /// Expected calibration error (Guo et al., 2017): how far what is claimed lies from what is true, on average over the claims.
    pub fn error(self) -> Option<f64> {
        let off: f64 = self.excess.iter().map(|excess| excess.abs()).sum();
        (self.count > 0.0).then(|| off / self.count)
    }
}

/// A figure and its 95 % interval over resampled clips.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Interval {
    /// Over all clips.
    pub value: f64,
    /// 2.5th percentile.
    pub low: f64,
    /// 97.5th percentile.
    pub high: f64,
}

impl Interval {
    /// `figure` of all of `0..groups`, and over as many of them drawn with replacement; a draw that has no figure is left out. Every call
    /// draws alike, so that settings are compared on the same draws.
    pub(crate) fn of(groups: usize, figure: impl Fn(&[usize]) -> Option<f64>) -> Self {
        let mut random = fastrand::Rng::with_seed(1);
        let mut drawn: Vec<f64> = (0..RESAMPLES)
            .filter_map(|_| figure(&(0..groups).map(|_| random.usize(..groups)).collect::<Vec<_>>()))
            .collect();
        drawn.sort_by(f64::total_cmp);
        let at = |q: f64| drawn.get((q * drawn.len() as f64) as usize).copied().unwrap_or(f64::NAN);
        let value = figure(&(0..groups).collect::<Vec<_>>()).unwrap_or(f64::NAN);
        Self { value, low: at(0.025), high: at(0.975) }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} [{:.2}, {:.2}]", self.value, self.low, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_mean_is_about_two_standard_errors_wide_on_each_side() {
        // 0 and 1, a hundred of each: the standard error is 0.5 / sqrt(200).
        let of =
            |groups: &[usize]| Some(groups.iter().map(|g| (g % 2) as f64).sum::<f64>() / groups.len() as f64);
        let Interval { value, low, high } = Interval::of(200, of);
        assert_eq!(value, 0.5);
        for side in [value - low, high - value] {
            assert!((0.055..0.085).contains(&side), "{side}");
        }
    }

    #[test]
    fn claims_are_off_by_as_much_as_they_are_true_less_often() {
        let claims = |claimed: f64, of_ten: usize| {
            let mut claims = Claims::default();
            (0..10).for_each(|i| claims.add(claimed, i < of_ten));
            claims
        };
        let sure = claims(1.0, 7);
        assert!((sure.error().unwrap() - 0.3).abs() < 1e-9);
        assert!(claims(0.7, 7).error().unwrap() < 1e-9);
        // One tenth too sure and another too modest: one does not make up for the other.
        let both = sure.with(claims(0.25, 5)).error().unwrap();
        assert!((both - 0.275).abs() < 1e-9, "{both}");
        assert_eq!(Claims::default().error(), None);
    }

    #[test]
    fn what_has_no_figure_has_none() {
        let Interval { value, low, high } = Interval::of(3, |_| None);
        assert!(value.is_nan() && low.is_nan() && high.is_nan());
        assert_eq!(Mean::default().get(), None);
    }
}
