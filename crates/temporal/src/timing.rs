//! What a capture time means for a memory.

/// A longer silence, or a jump of the clock by more, starts a memory anew, in microseconds.
///
/// Two seconds are longer than any pause a person can be forecast through, and the slowest camera in use gives two
/// frames within them.
pub const MAX_GAP_US: i64 = 2_000_000;

/// Two observations closer than this are one frame delivered twice, in microseconds: no camera runs at 1 kHz.
const MIN_STEP_US: i64 = 1_000;

/// How an observation stands to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The memory is empty, or the clock jumped: begin here.
    First,
    /// This long after the last one.
    After(i64),
    /// Not later than the last one: leave it out.
    Stale,
}

/// The time of a slot's last observation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastSeen(Option<i64>);

impl LastSeen {
    /// Judges `captured_at_us` and, unless it is stale, remembers it.
    pub fn arrive(&mut self, captured_at_us: i64) -> Arrival {
        let arrival = match self.0.map(|last| captured_at_us.saturating_sub(last)) {
            None => Arrival::First,
            Some(dt) if !(-MAX_GAP_US..=MAX_GAP_US).contains(&dt) => Arrival::First,
            Some(dt) if dt < MIN_STEP_US => Arrival::Stale,
            Some(dt) => Arrival::After(dt),
        };
        if arrival != Arrival::Stale {
            self.0 = Some(captured_at_us);
        }
        arrival
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_and_earlier_times_are_stale_and_do_not_move_the_clock() {
        let mut last = LastSeen::default();
        assert_eq!(last.arrive(5_000_000), Arrival::First);
        assert_eq!(last.arrive(5_000_000), Arrival::Stale);
        assert_eq!(last.arrive(4_900_000), Arrival::Stale);
        assert_eq!(last.arrive(5_033_000), Arrival::After(33_000));
    }

    #[test]
    fn a_millisecond_is_a_step_and_two_seconds_are_no_jump() {
        for (captured_at_us, arrival) in [
            (10_000_999, Arrival::Stale),
            (10_001_000, Arrival::After(1_000)),
            (12_000_000, Arrival::After(2_000_000)),
            (12_000_001, Arrival::First),
            (8_000_000, Arrival::Stale),
            (7_999_999, Arrival::First),
        ] {
            let mut last = LastSeen::default();
            last.arrive(10_000_000);
            assert_eq!(last.arrive(captured_at_us), arrival, "{captured_at_us}");
        }
    }

    #[test]
    fn a_jump_of_hours_either_way_begins_anew() {
        let mut last = LastSeen::default();
        last.arrive(10_000_000_000);
        assert_eq!(last.arrive(3_000_000), Arrival::First);
        assert_eq!(last.arrive(7_200_000_000), Arrival::First);
        last.arrive(i64::MIN);
        assert_eq!(last.arrive(i64::MAX), Arrival::First);
    }
}
