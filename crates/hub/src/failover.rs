//! Two hubs of one room: both receive the cameras' lines, one is active and sends, the other takes over when that one is silent.
//!
//! The active one sends a [`Heartbeat`] ten times a second, with everybody's identity and place; the other gives its own people the same
//! identities by where they are, so that it goes on with them when it takes over. The first hub is active whenever it runs, after a second
//! in which it learns from the second. Cut off from each other, both are active.

use serde::{Deserialize, Serialize};

/// From one heartbeat to the next.
const HEARTBEAT_US: i64 = 100_000;
/// After so long without a heartbeat the other one is gone.
const SILENT_US: i64 = 450_000;
/// A hub that starts listens for so long.
const LEARN_US: i64 = 1_000_000;
/// Two that meet again are both active for one heartbeat. So many within so long, and both have the same role: two firsts are both active
/// all the time, two seconds silence each other in turn.
const BOTH_ACTIVE: u32 = 10;
const BOTH_ACTIVE_US: i64 = 10_000_000;

/// What the active hub sends to the other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// Moments sent so far.
    #[serde(rename = "beat")]
    pub moments: u64,
    /// The next person's identity.
    pub next_id: u32,
    /// Identities by number in OSC.
    pub numbers: Vec<u32>,
    /// Identity, and the middle of shoulders and hips, metres of the room.
    pub persons: Vec<(u32, [f64; 3])>,
}

impl Heartbeat {
    /// As it is sent.
    pub fn text(&self) -> String {
        // Numbers and names alone cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// `None` for anything else.
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// One hub's role beside the other.
#[derive(Clone, Copy, Debug)]
pub struct Failover {
    is_second: bool,
    started_us: i64,
    heard_us: Option<i64>,
    heartbeat_us: i64,
    /// Since when, and how often, the other one was active while this one was.
    both: (i64, u32),
    is_said: bool,
}

impl Failover {
    /// `is_second`: the other one is active as long as it runs.
    pub fn new(is_second: bool, now_us: i64) -> Self {
        Self {
            is_second,
            started_us: now_us,
            heard_us: None,
            heartbeat_us: i64::MIN / 2,
            both: (now_us, 0),
            is_said: false,
        }
    }

    /// A heartbeat came; whether this one is to take over its identities. The active one gives them.
    pub fn receive(&mut self, now_us: i64) -> bool {
        if now_us - self.both.0 > BOTH_ACTIVE_US {
            self.both = (now_us, 0);
        }
        self.both.1 += u32::from(self.is_active(now_us));
        self.heard_us = Some(now_us);
        !self.is_active(now_us)
    }

    /// True once: when both have been active for longer than two hubs with different roles ever are.
    pub fn has_role_conflict(&mut self) -> bool {
        self.both.1 >= BOTH_ACTIVE && !std::mem::replace(&mut self.is_said, true)
    }

    /// Whether this one is active.
    pub fn is_active(&self, now_us: i64) -> bool {
        let learnt = now_us - self.started_us > LEARN_US;
        learnt && !(self.is_second && self.heard_us.is_some_and(|heard| now_us - heard < SILENT_US))
    }

    /// Whether a heartbeat is due; only of an active one.
    pub fn heartbeat_due(&mut self, now_us: i64) -> bool {
        let due = self.is_active(now_us) && now_us - self.heartbeat_us >= HEARTBEAT_US;
        if due {
            self.heartbeat_us = now_us;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_active_when_the_first_is_silent_and_no_longer_when_it_is_back() {
        let (mut first, mut second) = (Failover::new(false, 0), Failover::new(true, 0));
        let (mut told, mut both, mut nobody) = (Vec::new(), 0, 0);
        for now_us in (0..12_000_000).step_by(20_000) {
            // The first is away from 4 s to 8 s, and then starts again.
            let away = (4_000_000..8_000_000).contains(&now_us);
            if now_us == 8_000_000 {
                first = Failover::new(false, now_us);
            }
            let active = [!away && first.is_active(now_us), second.is_active(now_us)];
            if !away && first.heartbeat_due(now_us) {
                second.receive(now_us);
            }
            if second.heartbeat_due(now_us) {
                first.receive(now_us);
            }
            both += usize::from(active == [true, true]);
            nobody += usize::from(now_us > 1_100_000 && active == [false, false]);
            told.push(active);
        }
        assert!(both * 20 < 200, "both were active for {} ms", both * 20);
        assert!(nobody * 20 < 500, "neither was active for {} ms", nobody * 20);
        assert_eq!(told[300], [false, true], "at 6 s");
        assert_eq!([told[190], told[500]], [[true, false]; 2], "at 3.8 s and at 10 s");
    }

    #[test]
    fn two_firsts_and_two_seconds_are_reported_once_and_one_of_each_is_not() {
        // A first that goes away for 2 s again and again is wrong in nothing.
        let wrong = |are_second: [bool; 2]| {
            let (mut hubs, mut told) = (are_second.map(|is_second| Failover::new(is_second, 0)), [0, 0]);
            for now_us in (0..60_000_000).step_by(20_000) {
                let is_away = now_us % 10_000_000 >= 8_000_000 && are_second == [false, true];
                if is_away {
                    hubs[0] = Failover::new(false, now_us);
                }
                // What both say crosses on its way.
                let beats = [!is_away && hubs[0].heartbeat_due(now_us), hubs[1].heartbeat_due(now_us)];
                for (k, hub) in hubs.iter_mut().enumerate() {
                    if beats[1 - k] {
                        hub.receive(now_us);
                    }
                    told[k] += u32::from(hub.has_role_conflict());
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
        let (mut first, mut second) = (Failover::new(false, 0), Failover::new(true, 0));
        // What a first that has just started does not know it learns.
        assert!(first.receive(500_000));
        // Cut off from each other, both are active.
        assert!(first.is_active(5_000_000) && second.is_active(5_000_000));
        assert!(!first.receive(5_100_000) && second.receive(5_100_000));
    }

    #[test]
    fn a_heartbeat_is_read_as_it_was_written() {
        let heartbeat =
            Heartbeat { moments: 7, next_id: 4, numbers: vec![3, 0], persons: vec![(3, [1.0, -2.0, 0.5])] };
        assert_eq!(Heartbeat::read(&heartbeat.text()), Some(heartbeat));
        assert_eq!(Heartbeat::read("{}"), None);
    }
}
