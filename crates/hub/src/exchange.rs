//! How an agent and a hub compare their clocks: messages in datagrams of one line between those of poses.
//!
//! ```text
//! agent → hub   clock ask ASKED
//! hub → agent   clock answer ASKED HEARD ANSWERED
//! agent → hub   clock done ASKED HEARD ANSWERED GOT
//! ```
//!
//! ASKED and GOT are microseconds of the board's monotonic clock, which stamps its poses; HEARD and ANSWERED of the hub's.

use crate::clock::Exchange;

/// One message of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockMessage {
    /// The agent asks.
    Ask(i64),
    /// The hub answers.
    Answer(i64, i64, i64),
    /// The agent reports all four.
    Done(Exchange),
}

impl ClockMessage {
    /// `None` for anything else.
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
            ("ask", &[asked]) => Some(ClockMessage::Ask(asked)),
            ("answer", &[asked, heard, answered]) => Some(ClockMessage::Answer(asked, heard, answered)),
            ("done", &[asked_us, heard_us, answered_us, got_us]) => {
                Some(ClockMessage::Done(Exchange { asked_us, heard_us, answered_us, got_us }))
            }
            _ => None,
        }
    }

    /// As it is sent.
    pub fn text(&self) -> String {
        match self {
            ClockMessage::Ask(asked) => format!("clock ask {asked}\n"),
            ClockMessage::Answer(asked, heard, answered) => {
                format!("clock answer {asked} {heard} {answered}\n")
            }
            ClockMessage::Done(e) => {
                let Exchange { asked_us, heard_us, answered_us, got_us } = e;
                format!("clock done {asked_us} {heard_us} {answered_us} {got_us}\n")
            }
        }
    }
}

/// The hub's side, with one agent.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClockResponder {
    /// What was answered last: an agent's report of it is taken once.
    last: Option<(i64, i64, i64)>,
}

/// What follows from an agent's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// This is sent back.
    Answer(ClockMessage),
    /// Clocks were compared.
    Compared(Exchange),
}

impl ClockResponder {
    /// `message` came at `heard_us`, and now it is `now_us`. `None`: it answers nothing that this hub sent, as where an agent has two
    /// hubs.
    pub fn receive(&mut self, message: ClockMessage, heard_us: i64, now_us: i64) -> Option<Response> {
        match message {
            ClockMessage::Ask(asked) => {
                self.last = Some((asked, heard_us, now_us));
                Some(Response::Answer(ClockMessage::Answer(asked, heard_us, now_us)))
            }
            ClockMessage::Done(e) if self.last == Some((e.asked_us, e.heard_us, e.answered_us)) => {
                self.last = None;
                Some(Response::Compared(e))
            }
            ClockMessage::Done(_) | ClockMessage::Answer(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_on_clocks_is_believed_once_and_only_if_it_rests_on_what_was_answered() {
        let (mut one, mut other) = (ClockResponder::default(), ClockResponder::default());
        assert_eq!(
            one.receive(ClockMessage::Ask(5), 100, 101),
            Some(Response::Answer(ClockMessage::Answer(5, 100, 101)))
        );
        assert_eq!(
            other.receive(ClockMessage::Ask(5), 200, 201),
            Some(Response::Answer(ClockMessage::Answer(5, 200, 201)))
        );
        let of = |heard_us, answered_us| Exchange { asked_us: 5, heard_us, answered_us, got_us: 9 };
        // Both hubs hear what the agent makes of either's answer.
        assert_eq!(one.receive(ClockMessage::Done(of(200, 201)), 300, 300), None);
        let done = of(100, 101);
        assert_eq!(one.receive(ClockMessage::Done(done), 301, 301), Some(Response::Compared(done)));
        assert_eq!(one.receive(ClockMessage::Done(done), 302, 302), None);
        assert_eq!(other.receive(ClockMessage::Done(done), 301, 301), None);
        assert_eq!(other.receive(ClockMessage::Answer(5, 100, 101), 301, 301), None);
        let done = of(200, 201);
        assert_eq!(other.receive(ClockMessage::Done(done), 302, 302), Some(Response::Compared(done)));
    }

    #[test]
    fn what_is_said_is_understood_and_nothing_else_is() {
        let done = Exchange { asked_us: -1, heard_us: 2, answered_us: 3, got_us: 4 };
        for said in [ClockMessage::Ask(7), ClockMessage::Answer(7, 8, 9), ClockMessage::Done(done)] {
            assert_eq!(ClockMessage::read(&said.text()), Some(said));
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
            assert_eq!(ClockMessage::read(other), None, "{other}");
        }
    }
}
