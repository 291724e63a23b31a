//! When to look at the whole picture.

use pose::MAX_PERSONS;

/// With the one person followed in sight, how often newcomers are looked for: half a second is hardly noticed, and at 30 frames a
/// second the finder then costs one run in fifteen frames.
const NEWCOMERS_EVERY_US: i64 = 500_000;

/// With somebody out of sight, and among several, who stand before each other and hide and show others all the time: every fourth
/// frame of 30 a second, and a sixth of the silence after which an identity is no longer reported. What it costs: docs/lab/identities.md.
const AMONG_PEOPLE_EVERY_US: i64 = 100_000;

/// Among several, all in sight, of two frames in a row both are searched only if so far apart: a board that sees ten frames a second
/// with several people has no time for more.
const IN_A_ROW_US: i64 = 200_000;

/// With everybody in sight and no room to follow more, so many times as long between two searches: somebody may still have come out from
/// behind something and show more than their crop does.
const FULL_FACTOR: i64 = 2;

/// How many people there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Persons with a box in this frame.
    pub followed: usize,
    /// Those of them whom the last frame did not show.
    pub unseen: usize,
    /// Persons who are no longer followed, but were a moment ago: they may be hidden by who is.
    pub away: usize,
}

/// The rhythm of searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Search {
    last_us: Option<i64>,
    /// Whether there was a frame since then.
    has_rested: bool,
}

impl Search {
    /// Whether this frame is to be searched: with nobody tracked every frame, with somebody out of sight and among several every
    /// 100 ms, else every 500 ms; half as often where all are in sight and leave no room for more. Among several, all in sight, two
    /// frames in a row are searched only if 200 ms lie between them.
    pub fn is_due(&self, captured_at_us: i64, around: Around, max_persons: usize) -> bool {
        let Around { followed, unseen, away } = around;
        let every_us = match (followed, unseen) {
            (0, _) => 0,
            (1, 0) if away == 0 => NEWCOMERS_EVERY_US,
            _ => AMONG_PEOPLE_EVERY_US,
        };
        let is_full = unseen == 0 && followed >= max_persons.min(MAX_PERSONS);
        let every_us = if is_full { FULL_FACTOR * every_us } else { every_us };
        let every_us = if unseen == 0 && followed > 0 && !self.has_rested {
            every_us.max(IN_A_ROW_US)
        } else {
            every_us
        };
        // A clock that went back (another source) starts anew.
        self.last_us.is_none_or(|last| captured_at_us - last >= every_us || captured_at_us < last)
    }

    /// A frame was not searched.
    pub fn rested(&mut self) {
        self.has_rested = true;
    }

    /// The frame of this time was searched; one that turned out to be damaged was not.
    pub fn done(&mut self, captured_at_us: i64) {
        *self = Self { last_us: Some(captured_at_us), has_rested: false };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rhythm_is_the_one_stated() {
        let mut search = Search::default();
        let mut is_due = |at_us: i64, followed: usize, unseen: usize| {
            let due = search.is_due(at_us, Around { followed, unseen, away: 0 }, 4);
            if due {
                search.done(at_us);
            } else {
                search.rested();
            }
            due
        };
        let searched: Vec<i64> = (0..40).map(|i| i * 33_000).filter(|&t| is_due(t, 1, 0)).collect();
        assert_eq!(searched, [0, 528_000, 1_056_000]);
        assert!(is_due(1_320_000, 0, 0) && is_due(1_320_001, 0, 0), "nobody tracked: every frame");
        assert!(!is_due(1_410_000, 1, 1) && is_due(1_430_000, 1, 1), "lost: every 100 ms");
        assert!(!is_due(1_520_000, 3, 0) && is_due(1_530_000, 3, 0), "among people: every 100 ms");
        assert!(
            !is_due(1_720_000, 4, 0) && is_due(1_730_000, 4, 0),
            "nobody more can be followed: half as often"
        );
        assert!(is_due(0, 1, 0), "the clock went back");
    }

    #[test]
    fn a_search_that_was_not_done_is_still_due() {
        let mut search = Search::default();
        let one = Around { followed: 1, ..Around::default() };
        search.done(0);
        assert!(search.is_due(600_000, one, 4));
        assert!(search.is_due(633_000, one, 4), "the frame before was damaged");
        search.done(633_000);
        assert!(!search.is_due(666_000, one, 4));
    }

    #[test]
    fn two_frames_in_a_row_are_searched_only_if_somebody_is_out_of_sight_or_frames_are_rare() {
        let three = |unseen: usize| Around { followed: 3, unseen, away: 0 };
        let searched = |every_us: i64, unseen: usize| {
            let mut search = Search::default();
            (0..6)
                .map(|i| i * every_us)
                .map(|t| {
                    let due = search.is_due(t, three(unseen), 4);
                    if due {
                        search.done(t)
                    } else {
                        search.rested()
                    }
                    due
                })
                .filter(|due| *due)
                .count()
        };
        assert_eq!(searched(100_000, 0), 3, "ten frames a second: every other one");
        assert_eq!(searched(100_000, 1), 6, "and every one while somebody is out of sight");
        assert_eq!(searched(200_000, 0), 6, "five frames a second");
    }

    #[test]
    fn whoever_was_there_a_moment_ago_is_looked_for_behind_who_is() {
        let mut search = Search::default();
        search.done(0);
        search.rested();
        let alone = Around { followed: 1, ..Around::default() };
        assert!(!search.is_due(200_000, alone, 4) && search.is_due(100_000, Around { away: 1, ..alone }, 4));
    }
}
