//! Two hubs of one room: both hear the cameras, one tells, the other takes over when that one is silent.
//!
//! Whoever tells says so ten times a second, with everybody's identity and place ([`Beat`]); the other gives its own people the same
//! identities by where they are, so whoever takes over goes on with them. The first hub tells whenever it is there, after a second in
//! which it learns from the second. Cut off from each other, both tell.

use serde::{Deserialize, Serialize};

/// From one beat to the next.
const BEAT_US: i64 = 100_000;
/// Silent for so long, the other one is gone.
const SILENT_US: i64 = 450_000;
/// Whoever starts listens for so long.
const LEARNS_US: i64 = 1_000_000;
/// Two that meet again both tell for a beat. So many within so long, and their roles are wrong: with two firsts a second of beats; two
/// seconds silence each other in turn.
const BOTH_TELL: u32 = 10;
const BOTH_TELL_US: i64 = 10_000_000;

/// What the hub that tells says to the other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Beat {
    /// Moments told so far.
    pub beat: u64,
    /// The next person's identity.
    pub next_id: u32,
    /// Identities by number in OSC.
    pub numbers: Vec<u32>,
    /// Identity, and the middle of shoulders and hips, metres of the room.
    pub persons: Vec<(u32, [f64; 3])>,
}

impl Beat {
    /// As it is sent.
    pub fn text(&self) -> String {
        // Numbers and names alone cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// `None` for what is no beat.
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// One hub's part of two.
#[derive(Clone, Copy, Debug)]
pub struct Twin {
    is_second: bool,
    started_us: i64,
    heard_us: Option<i64>,
    beat_us: i64,
    /// Since when, and how often, the other one told while this one did.
    both: (i64, u32),
    is_said: bool,
}

impl Twin {
    /// `is_second`: the other one tells as long as it is there.
    pub fn new(is_second: bool, now_us: i64) -> Self {
        Self {
            is_second,
            started_us: now_us,
            heard_us: None,
            beat_us: i64::MIN / 2,
            both: (now_us, 0),
            is_said: false,
        }
    }

    /// The other one told; whether this one is to go on as it says. Whoever tells gives the names.
    pub fn hear(&mut self, now_us: i64) -> bool {
        if now_us - self.both.0 > BOTH_TELL_US {
            self.both = (now_us, 0);
        }
        self.both.1 += u32::from(self.tells(now_us));
        self.heard_us = Some(now_us);
        !self.tells(now_us)
    }

    /// Whether both tell, which is no state of two hubs with a role each; true once.
    pub fn is_wrong(&mut self) -> bool {
        self.both.1 >= BOTH_TELL && !std::mem::replace(&mut self.is_said, true)
    }

    /// Whether this one tells.
    pub fn tells(&self, now_us: i64) -> bool {
        let learnt = now_us - self.started_us > LEARNS_US;
        learnt && !(self.is_second && self.heard_us.is_some_and(|heard| now_us - heard < SILENT_US))
    }

    /// Whether a beat is due, of one that tells.
    pub fn beats(&mut self, now_us: i64) -> bool {
        let due = self.tells(now_us) && now_us - self.beat_us >= BEAT_US;
        if due {
            self.beat_us = now_us;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_tells_when_the_first_is_silent_and_no_longer_when_it_is_back() {
        let (mut first, mut second) = (Twin::new(false, 0), Twin::new(true, 0));
        let (mut told, mut both, mut nobody) = (Vec::new(), 0, 0);
        for now_us in (0..12_000_000).step_by(20_000) {
            // The first is away from 4 s to 8 s, and then starts anew.
            let away = (4_000_000..8_000_000).contains(&now_us);
            if now_us == 8_000_000 {
                first = Twin::new(false, now_us);
            }
            let tells = [!away && first.tells(now_us), second.tells(now_us)];
            if !away && first.beats(now_us) {
                second.hear(now_us);
            }
            if second.beats(now_us) {
                first.hear(now_us);
            }
            both += usize::from(tells == [true, true]);
            nobody += usize::from(now_us > 1_100_000 && tells == [false, false]);
            told.push(tells);
        }
        assert!(both * 20 < 200, "both told for {} ms", both * 20);
        assert!(nobody * 20 < 500, "nobody told for {} ms", nobody * 20);
        assert_eq!(told[300], [false, true], "at 6 s");
        assert_eq!([told[190], told[500]], [[true, false]; 2], "at 3.8 s and at 10 s");
    }

    #[test]
    fn two_firsts_and_two_seconds_are_told_once_and_one_of_each_is_not() {
        // A first that goes away for 2 s again and again is wrong in nothing.
        let wrong = |are_second: [bool; 2]| {
            let (mut twins, mut told) = (are_second.map(|is_second| Twin::new(is_second, 0)), [0, 0]);
            for now_us in (0..60_000_000).step_by(20_000) {
                let is_away = now_us % 10_000_000 >= 8_000_000 && are_second == [false, true];
                if is_away {
                    twins[0] = Twin::new(false, now_us);
                }
                // What both say crosses on its way.
                let beats = [!is_away && twins[0].beats(now_us), twins[1].beats(now_us)];
                for (k, twin) in twins.iter_mut().enumerate() {
                    if beats[1 - k] {
                        twin.hear(now_us);
                    }
                    told[k] += u32::from(twin.is_wrong());
                }
            }
            told
        };
        assert_eq!(wrong([false, false]), [1, 1]);
        assert_eq!(wrong([true, true]), [1, 1]);
        assert_eq!(wrong([false, true]), [0, 0]);
    }

    #[test]
    fn two_hubs_that_meet_again_have_the_first_ones_names() {
        let (mut first, mut second) = (Twin::new(false, 0), Twin::new(true, 0));
        // What a first that has just started does not know it learns.
        assert!(first.hear(500_000));
        // Cut off from each other, both tell.
        assert!(first.tells(5_000_000) && second.tells(5_000_000));
        assert!(!first.hear(5_100_000) && second.hear(5_100_000));
    }

    #[test]
    fn a_beat_is_read_as_it_was_written() {
        let beat = Beat { beat: 7, next_id: 4, numbers: vec![3, 0], persons: vec![(3, [1.0, -2.0, 0.5])] };
        assert_eq!(Beat::read(&beat.text()), Some(beat));
        assert_eq!(Beat::read("{}"), None);
    }
}
