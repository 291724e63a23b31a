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

/// The hub's side, with one agent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answers {
    /// What was answered last: an agent's word on it is believed once.
    last: Option<(i64, i64, i64)>,
}

/// What follows from an agent's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// This is to be answered.
    Answer(Said),
    /// Clocks were compared.
    Compared(Exchange),
}

impl Answers {
    /// `said` was heard at `heard_us`, and now it is `now_us`. `None`: words that follow from nothing that this hub said, as they come
    /// from an agent that speaks with two.
    pub fn hear(&mut self, said: Said, heard_us: i64, now_us: i64) -> Option<Then> {
        match said {
            Said::Ask(asked) => {
                self.last = Some((asked, heard_us, now_us));
                Some(Then::Answer(Said::Answer(asked, heard_us, now_us)))
            }
            Said::Done(e) if self.last == Some((e.asked_us, e.heard_us, e.answered_us)) => {
                self.last = None;
                Some(Then::Compared(e))
            }
            Said::Done(_) | Said::Answer(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_on_clocks_is_believed_once_and_only_if_it_rests_on_what_was_answered() {
        let (mut one, mut other) = (Answers::default(), Answers::default());
        assert_eq!(one.hear(Said::Ask(5), 100, 101), Some(Then::Answer(Said::Answer(5, 100, 101))));
        assert_eq!(other.hear(Said::Ask(5), 200, 201), Some(Then::Answer(Said::Answer(5, 200, 201))));
        let of = |heard_us, answered_us| Exchange { asked_us: 5, heard_us, answered_us, got_us: 9 };
        // Both hubs hear what the agent makes of either's answer.
        assert_eq!(one.hear(Said::Done(of(200, 201)), 300, 300), None);
        let done = of(100, 101);
        assert_eq!(one.hear(Said::Done(done), 301, 301), Some(Then::Compared(done)));
        assert_eq!(one.hear(Said::Done(done), 302, 302), None);
        assert_eq!(other.hear(Said::Done(done), 301, 301), None);
        assert_eq!(other.hear(Said::Answer(5, 100, 101), 301, 301), None);
        let done = of(200, 201);
        assert_eq!(other.hear(Said::Done(done), 302, 302), Some(Then::Compared(done)));
    }

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
