//! How many there are, so that a flicker is no change.

use pose::gesture::Held;

/// More persons for so long are more.
const MORE_AFTER_US: i64 = 300_000;

/// The number of persons, as it is told.
///
/// What has to hold is that there are more, or fewer, not one exact number: with a person who is seen now and then it would never hold, and
/// another who stands beside them all the time would not be counted.
#[derive(Clone, Debug)]
pub(crate) struct Count {
    told: usize,
    fewer_after_us: i64,
    /// Whether there are more than were told, and fewer.
    more: Held,
    fewer: Held,
    /// Of the numbers since there are more, or fewer, the one nearest to what was told: so many there were all the time.
    nearest: Option<usize>,
    /// Whether as many as were told are there, and whether that has held since there were moments.
    same: Held,
    is_known: bool,
    /// When the last number was taken.
    at_us: i64,
}

impl Count {
    /// Nobody, as far as is known. Fewer are fewer after so many microseconds.
    pub(crate) const fn new(fewer_after_us: i64) -> Self {
        Self {
            told: 0,
            fewer_after_us,
            more: Held::new(MORE_AFTER_US, 0),
            fewer: Held::new(fewer_after_us, 0),
            nearest: None,
            same: Held::new(fewer_after_us, 0),
            is_known: false,
            at_us: i64::MIN,
        }
    }

    /// The number told last.
    pub(crate) fn told(&self) -> usize {
        self.told
    }

    /// Whether a number has held since the last [`Self::forget`].
    pub(crate) fn is_known(&self) -> bool {
        self.is_known
    }

    /// Nobody knows how many there are until a number has held again.
    pub(crate) fn forget(&mut self) {
        *self = Self { told: self.told, ..Self::new(self.fewer_after_us) };
    }

    /// Takes the number of the next moment, and says whether another one is told from now on.
    pub(crate) fn update(&mut self, persons: usize, at_us: i64) -> bool {
        let told = self.told;
        // A clock that went back begins anew, as it does for what is held.
        if at_us < std::mem::replace(&mut self.at_us, at_us) {
            self.nearest = None;
        }
        // One more now and then changes nothing about those who were told of.
        let is_same = persons == told || (told > 0 && persons > told);
        self.is_known |= self.same.update(Some(is_same), at_us);
        let is_same_way = |nearest: &usize| (*nearest > told) == (persons > told);
        self.nearest = match self.nearest.filter(is_same_way) {
            _ if persons == told => None,
            Some(nearest) if nearest.abs_diff(told) < persons.abs_diff(told) => Some(nearest),
            _ => Some(persons),
        };
        let is_more = self.more.update(Some(persons > told), at_us);
        let is_fewer = self.fewer.update(Some(persons < told), at_us);
        let Some(nearest) = self.nearest.filter(|_| is_more || is_fewer) else { return false };
        *self = Self { told: nearest, is_known: true, ..Self::new(self.fewer_after_us) };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_before_a_clock_went_back_is_not_told() {
        let mut count = Count::new(500_000);
        let mut told = Vec::new();
        let mut go = |from_ms: i64, to_ms: i64, persons: usize| {
            for at_ms in (from_ms..to_ms).step_by(20) {
                if count.update(persons, 1_000 * at_ms) {
                    told.push(count.told());
                }
            }
        };
        go(10_000, 11_000, 1);
        go(11_000, 11_200, 2);
        go(0, 1_000, 3);
        assert_eq!(told, [1, 3]);
    }
}
