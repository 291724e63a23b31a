//! A take in the place of cameras.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;

use super::{Incoming, Next, Room, Told};
use crate::cli::stale_lines::StaleLineFilter;

/// A longer pause nobody waits for: the boards were off, or another take follows in the same file.
const PAUSE_US: i64 = 10_000_000;

/// When moments of a take come where it goes by as it was recorded.
#[derive(Debug, Default)]
pub struct Pace {
    /// The clock less the take's.
    later_us: Option<i64>,
    last_us: Option<i64>,
}

impl Pace {
    /// When `at_us` of the take comes by the clock, and the pause before it, if that is left out.
    pub fn due_us(&mut self, at_us: i64, now_us: i64) -> (i64, Option<i64>) {
        let pause_us = at_us - self.last_us.replace(at_us).unwrap_or(at_us);
        let left_out = (pause_us > PAUSE_US).then_some(pause_us);
        if left_out.is_some() {
            self.later_us = None;
        }
        (at_us + *self.later_us.get_or_insert(now_us - at_us), left_out)
    }
}

/// A take, in which time goes by as its lines say: each is its own moment, or waits for one as it would have waited.
/// `pace` waits until a time of the take, or does not.
pub fn replay(
    room: &mut Room,
    mut next: impl FnMut(Duration) -> Result<Next>,
    mut pace: impl FnMut(i64),
    stop: &AtomicBool,
) -> Result<StaleLineFilter> {
    let mut stale_lines = StaleLineFilter::default();
    while !stop.load(Ordering::Relaxed) {
        let packet = match next(Duration::ZERO)? {
            Next::Incoming(Incoming::Line(packet)) => Some(packet),
            Next::Incoming(_) | Next::Nothing => continue,
            Next::End => None,
        };
        let arrived_us = packet.as_ref().map_or(i64::MAX, |packet| packet.arrived_us);
        if !stale_lines.accepts(arrived_us) {
            continue;
        }
        // What was due before this line came, or the end.
        let due_us = room.hub.due_us(room.gap_us).filter(|due| *due < arrived_us);
        if let Some(due_us) = due_us {
            pace(due_us);
            if room.tell(due_us)? == Told::ToNobody {
                break;
            }
        }
        let Some(packet) = packet else { break };
        pace(arrived_us);
        room.receive(Incoming::Line(packet), arrived_us);
        if room.tell(arrived_us)? == Told::ToNobody {
            break;
        }
    }
    Ok(stale_lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_take_goes_by_as_it_was_recorded_but_for_long_pauses() {
        let mut pace = Pace::default();
        assert_eq!(pace.due_us(1_000_000, 70_000_000), (70_000_000, None));
        assert_eq!(pace.due_us(9_000_000, 70_100_000), (78_000_000, None));
        // Four hours later another take.
        assert_eq!(pace.due_us(14_409_000_000, 78_000_000), (78_000_000, Some(14_400_000_000)));
        assert_eq!(pace.due_us(14_409_500_000, 78_001_000), (78_500_000, None));
    }
}
