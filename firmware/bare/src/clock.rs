//! Time since the start, from SysTick.
//!
//! The counter itself is read, and its rounds are told by its own flag. Counting its interrupts instead would lose every one that
//! comes while another is pending: on a chip none, in an emulator on a busy machine nearly all, and the board's time would all
//! but stand still. The interrupt only ends the main loop's sleep.

use core::cell::Cell;

use cortex_m::peripheral::{SYST, syst::SystClkSource};

/// A round of the counter, which has 24 bits. Short enough to repeat HELLO's request and to feed the watchdog in time, and both
/// HELLO's half second and the seconds of "link lost" are multiples of it.
const ROUND_MS: u32 = 125;

/// Microseconds since the start. Has to be read at least once in two rounds, or one is missed.
pub struct Clock {
    systick: Cell<Option<SYST>>,
    per_us: u32,
    rounds: Cell<Rounds>,
}

impl Clock {
    /// Starts SysTick on the processor's clock of `clock_hz`, at most 134 MHz.
    pub fn start(mut systick: SYST, clock_hz: u32) -> Self {
        let round = clock_hz / 1_000 * ROUND_MS;
        systick.set_clock_source(SystClkSource::Core);
        systick.set_reload(round - 1);
        systick.clear_current();
        systick.enable_counter();
        systick.enable_interrupt();
        let rounds = Rounds { round, count: 0, last: 0, is_ahead: false };
        Self { systick: Cell::new(Some(systick)), per_us: clock_hz / 1_000_000, rounds: Cell::new(rounds) }
    }

    /// Microseconds.
    pub fn now_us(&self) -> u64 {
        let mut rounds = self.rounds.get();
        let mut systick = self.systick.take();
        // The flag first: a round that ends between the two is seen by the counter.
        let has_wrapped = systick.as_mut().is_some_and(SYST::has_wrapped);
        let cycles = rounds.cycles(has_wrapped, SYST::get_current());
        self.systick.set(systick);
        self.rounds.set(rounds);
        cycles / u64::from(self.per_us)
    }
}

/// Counts the rounds of a counter that counts down.
#[derive(Clone, Copy)]
struct Rounds {
    /// Cycles.
    round: u32,
    count: u32,
    /// Where in its round the counter was.
    last: u32,
    /// A round was counted before its flag was seen.
    is_ahead: bool,
}

impl Rounds {
    /// Cycles since the start, when the flag was read and then the counter, at `counter`.
    fn cycles(&mut self, has_wrapped: bool, counter: u32) -> u64 {
        // The flag rises when the counter reaches 0: that is where a round begins.
        let at = if counter == 0 { 0 } else { self.round - counter };
        if has_wrapped && !self.is_ahead {
            self.count += 1;
        } else if has_wrapped {
            self.is_ahead = false;
        } else if at < self.last {
            self.count += 1;
            self.is_ahead = true;
        }
        self.last = at;
        u64::from(self.count) * u64::from(self.round) + u64::from(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: u32 = 100;

    /// The counter as it is `cycles` after its start, and whether its flag rose since `before`.
    fn systick(before: u64, cycles: u64) -> (bool, u32) {
        let round = u64::from(ROUND);
        let left = (round - cycles % round) % round;
        (cycles / round > before / round, left as u32)
    }

    #[test]
    fn every_wait_of_less_than_two_rounds_is_measured() {
        for wait in 1..u64::from(2 * ROUND) {
            let mut rounds = Rounds { round: ROUND, count: 0, last: 0, is_ahead: false };
            // Never two rounds' ends in one wait: the flag tells of one.
            let (mut before, mut now) = (0, 0);
            while now + wait < 5_000 && (now + wait) / 100 - now / 100 < 2 {
                now += wait;
                let (flag, counter) = systick(before, now);
                assert_eq!(rounds.cycles(flag, counter), now, "{wait}");
                before = now;
            }
        }
    }

    #[test]
    fn a_round_that_ends_between_flag_and_counter_is_counted_once() {
        let mut rounds = Rounds { round: ROUND, count: 0, last: 0, is_ahead: false };
        assert_eq!(rounds.cycles(false, 1), 99);
        // The flag was still down; the counter is in the next round.
        assert_eq!(rounds.cycles(false, 98), 102);
        // Now the flag is up, for the same end.
        assert_eq!(rounds.cycles(true, 90), 110);
        assert_eq!(rounds.cycles(true, 0), 200);
    }
}
