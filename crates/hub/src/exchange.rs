//! What an agent and a hub say to each other of their clocks, in datagrams of one line between those of poses.
//!
//! ```text
//! agent → hub   clock ask ASKED
//! hub → agent   clock answer ASKED HEARD ANSWERED
//! agent → hub   clock done ASKED HEARD ANSWERED GOT
//! ```
//!
//! ASKED and GOT are microseconds of the board's monotonic clock, which stamps its poses; HEARD and ANSWERED of the hub's.

use crate::clock::Exchange;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// The agent asks.
    Ask(i64),
    /// The hub answers.
    Answer(i64, i64, i64),
    /// The agent tells all four.
    Done(Exchange),
}

impl Said {
    /// `None` for what is no word on clocks.
    pub fn read(text: &str) -> Option<Self> {
        let mut words = text.trim_end().split(' ');
        if words.next() != Some("clock") {
            return None;
        }
        let kind = words.next()?;
        let stamps: Vec<i64> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
        // Sums of such stamps cannot overflow.
        if stamps.iter().any(|s| s.unsigned_abs() > 1 << 60) {
            return None;
        }
        match (kind, &stamps[..]) {
            ("ask", &[asked]) => Some(Said::Ask(asked)),
            ("answer", &[asked, heard, answered]) => Some(Said::Answer(asked, heard, answered)),
            ("done", &[asked_us, heard_us, answered_us, got_us]) => {
                Some(Said::Done(Exchange { asked_us, heard_us, answered_us, got_us }))
            }
            _ => None,
        }
    }

    /// As it is sent.
    pub fn text(&self) -> String {
        match self {
            Said::Ask(asked) => format!("clock ask {asked}\n"),
            Said::Answer(asked, heard, answered) => format!("clock answer {asked} {heard} {answered}\n"),
            Said::Done(e) => {
                let Exchange { asked_us, heard_us, answered_us, got_us } = e;
                format!("clock done {asked_us} {heard_us} {answered_us} {got_us}\n")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood_and_nothing_else_is() {
        let done = Exchange { asked_us: -1, heard_us: 2, answered_us: 3, got_us: 4 };
        for said in [Said::Ask(7), Said::Answer(7, 8, 9), Said::Done(done)] {
            assert_eq!(Said::read(&said.text()), Some(said));
        }
        for other in [
            "",
            "clock",
            "clock ask",
            "clock ask x",
            "clock ask 1 2",
            "{\"seq\":0}",
            "clock ask 9223372036854775807",
        ] {
            assert_eq!(Said::read(other), None, "{other}");
        }
    }
}
