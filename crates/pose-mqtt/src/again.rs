//! When a broker that is gone is looked for again, and what is worth a line in the log.
//!
//! A broker has room for one of each name: who connects as somebody who is there has them thrown out. Two programs of one name would throw each
//! other out for ever, so whose connections end soon after they began waits longer, as for a broker that is not there at all.

use std::time::{Duration, Instant};

/// First and longest wait before a broker that is gone is looked for.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(10);
/// A connection that lasted so long was no quarrel about a name. Longer than the other one waits.
const LASTING: Duration = Duration::from_secs(20);
/// So many in a row that did not: a broker that is started anew is gone once or twice.
const QUARREL: u32 = 3;

/// Why there is no connection, told once when that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It cannot be reached, or has let go.
    Gone,
    /// It lets go soon after it was reached, again and again.
    ThrownOut,
}

/// What was seen of the connection. Time is an argument.
#[derive(Debug)]
pub struct Again {
    wait: Duration,
    made_at: Option<Instant>,
    /// Connections in a row that did not last.
    short: u32,
    is_told: bool,
}

impl Again {
    pub const fn new() -> Self {
        Self { wait: FIRST, made_at: None, short: 0, is_told: false }
    }

    /// A connection is made; says whether that is worth a line: every few seconds it is not.
    pub fn connected(&mut self, now: Instant) -> bool {
        self.made_at = Some(now);
        if self.is_quarrel() {
            return false;
        }
        (self.wait, self.is_told) = (FIRST, false);
        true
    }

    /// The connection is still there; says whether a quarrel is over with that.
    pub fn lasts(&mut self, now: Instant) -> bool {
        let is_over = self.is_quarrel() && self.lasted(now).is_some_and(|lasted| lasted >= LASTING);
        if is_over {
            (self.short, self.wait, self.is_told) = (0, FIRST, false);
        }
        is_over
    }

    /// There is no connection: how long to wait, and what to tell.
    pub fn failed(&mut self, now: Instant) -> (Duration, Option<Trouble>) {
        self.lasts(now);
        let lasted = self.lasted(now);
        self.made_at = None;
        let was_quarrel = self.is_quarrel();
        match lasted {
            Some(lasted) if lasted < LASTING => self.short = self.short.saturating_add(1),
            Some(_) => self.short = 0,
            None => {}
        }
        let trouble = match (was_quarrel, self.is_quarrel()) {
            (false, true) => Some(Trouble::ThrownOut),
            (_, false) if !self.is_told => Some(Trouble::Gone),
            _ => None,
        };
        self.is_told = true;
        let wait = self.wait;
        self.wait = (2 * wait).min(LONGEST);
        (wait, trouble)
    }

    fn is_quarrel(&self) -> bool {
        self.short >= QUARREL
    }

    fn lasted(&self, now: Instant) -> Option<Duration> {
        self.made_at.map(|made_at| now.saturating_duration_since(made_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two programs of one name: each that connects throws the other out. How often that was in `within`, and what the first told.
    fn quarrel(within: Duration) -> (u32, Vec<Trouble>) {
        let began = Instant::now();
        let (mut now, mut both, mut told, mut times) = (began, [Again::new(), Again::new()], Vec::new(), 0);
        both[0].connected(now);
        while now - began < within {
            // The other one connects, and the first of the two is out until it comes back.
            let [out, come] = [times as usize % 2, (times as usize + 1) % 2];
            both[come].connected(now);
            let (wait, trouble) = both[out].failed(now);
            told.extend(trouble.filter(|_| out == 0));
            times += 1;
            now += wait;
        }
        (times, told)
    }

    #[test]
    fn two_of_one_name_are_told_so_once_and_throw_each_other_out_less_and_less_often() {
        let (times, told) = quarrel(Duration::from_secs(600));
        assert_eq!(told, [Trouble::Gone, Trouble::Gone, Trouble::ThrownOut]);
        assert!(times < 80, "{times} times in ten minutes");
    }

    #[test]
    fn a_broker_that_goes_is_looked_for_at_growing_intervals_and_told_of_once() {
        let mut again = Again::new();
        let mut now = Instant::now();
        assert!(again.connected(now));
        now += Duration::from_secs(60);
        let (waits, told): (Vec<_>, Vec<_>) = (0..7).map(|_| again.failed(now)).unzip();
        assert_eq!(
            waits.iter().map(Duration::as_millis).collect::<Vec<_>>(),
            [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]
        );
        assert_eq!(told.into_iter().flatten().collect::<Vec<_>>(), [Trouble::Gone]);
        // Back, and gone again at once: no quarrel yet.
        assert!(again.connected(now));
        assert_eq!(again.failed(now), (FIRST, Some(Trouble::Gone)));
    }

    #[test]
    fn connections_that_last_between_short_ones_are_no_quarrel() {
        let mut again = Again::new();
        let mut now = Instant::now();
        for lasted in [1, 1, 20, 1, 1, 3_600, 1, 1].map(Duration::from_secs) {
            assert!(again.connected(now));
            now += lasted;
            assert_eq!(again.failed(now), (FIRST, Some(Trouble::Gone)));
        }
        again.connected(now);
        assert_eq!(again.failed(now), (FIRST, Some(Trouble::ThrownOut)));
    }

    #[test]
    fn who_is_alone_under_their_name_again_is_told_so() {
        let mut again = Again::new();
        let mut now = Instant::now();
        for _ in 0..QUARREL {
            assert!(again.connected(now));
            again.failed(now);
        }
        assert!(!again.connected(now), "one line a quarrel");
        assert!(!again.lasts(now));
        now += LASTING;
        assert!(again.lasts(now) && !again.lasts(now));
        assert_eq!(again.failed(now), (FIRST, Some(Trouble::Gone)));
    }
}
