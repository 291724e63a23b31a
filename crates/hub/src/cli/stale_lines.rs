//! The lines of a take whose clock goes back.

/// Cameras' lines are written about as they arrive: one whose thread was held up stands behind younger ones, but never by so much.
const LATE_US: i64 = 1_000_000;

/// Leaves out lines that are older than what came before them: time has gone on without them.
#[derive(Debug, Default)]
pub struct StaleLineFilter {
    newest_us: Option<i64>,
    lines: u64,
    /// How many were left out, and the number of the first.
    left_out: Option<(u64, u64)>,
}

impl StaleLineFilter {
    /// Whether the next line, which came at `arrived_us`, is to be used.
    pub fn accepts(&mut self, arrived_us: i64) -> bool {
        self.lines += 1;
        let newest_us = self.newest_us.unwrap_or(arrived_us);
        if arrived_us < newest_us.saturating_sub(LATE_US) {
            self.left_out.get_or_insert((0, self.lines)).0 += 1;
            return false;
        }
        self.newest_us = Some(newest_us.max(arrived_us));
        true
    }

    /// How many were left out, and what to do; `None` where none was.
    pub fn left_out(&self) -> Option<String> {
        self.left_out.map(|(count, first)| {
            format!(
                "{count} of its lines are more than a second older (arrived_us) than one before them and were left out, the first is line {first}: if several takes were put into one file, use each by itself"
            )
        })
    }
}
