//! Whether a camera's pictures come too seldom for people to be followed.

/// Between pictures that are farther apart people are lost for moments.
const SELDOM_US: i64 = 250_000;
/// Over so long it must be so.
const LASTS_US: i64 = 10_000_000;
/// Whoever pauses for longer is silent rather than slow.
const PAUSE_US: i64 = 3_000_000;

/// How often a camera's pictures come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slow {
    since_us: Option<i64>,
    last_us: i64,
    count: u32,
    is_said: bool,
}

impl Slow {
    /// A picture came: how many come a second, once, where they are too few; in tenths, downwards: just below four is not 4.0.
    pub fn heard(&mut self, now_us: i64) -> Option<f64> {
        let goes_on = self.since_us.filter(|_| now_us - self.last_us < PAUSE_US);
        self.last_us = now_us;
        let Some(since_us) = goes_on else {
            (self.since_us, self.count) = (Some(now_us), 0);
            return None;
        };
        self.count += 1;
        if now_us - since_us < LASTS_US {
            return None;
        }
        let each_us = (now_us - since_us) / i64::from(self.count);
        (self.since_us, self.count) = (Some(now_us), 0);
        (each_us > SELDOM_US && !std::mem::replace(&mut self.is_said, true))
            .then(|| (10_000_000 / each_us) as f64 / 10.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_that_come_too_seldom_for_ten_seconds_are_said_once() {
        let said = |gap_us: i64| {
            let mut slow = Slow::default();
            (0..200)
                .filter_map(|k| slow.heard(k * gap_us))
                .map(|a_second| (10.0 * a_second).round())
                .collect::<Vec<_>>()
        };
        assert_eq!([said(500_000), said(251_000)], [[20.0], [39.0]]);
        assert!(said(200_000).is_empty() && said(33_000).is_empty());
        // A silence between pictures that come quickly is none of its own.
        let mut slow = Slow::default();
        assert!((0..1_000).all(|k| slow.heard(k * 33_000 + k / 100 * 20_000_000).is_none()));
    }
}
