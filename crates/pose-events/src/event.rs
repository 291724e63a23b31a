//! Something that happened, and its line.

use std::io::Write;

use crate::Zones;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A person is there.
    Appear,
    /// They have not been there for half a second.
    Leave,
    /// They are in the zone of this place in [`Zones`].
    Enter(usize),
    /// They are out of it, or have left.
    Exit(usize),
    /// They hold their left hand up.
    LeftHandRaised,
    /// They do not any more.
    LeftHandLowered,
    /// They hold their right hand up.
    RightHandRaised,
    /// They do not any more.
    RightHandLowered,
    /// They stand with crossed arms.
    ArmsCrossed,
    /// They do not any more.
    ArmsUncrossed,
    /// They lie after having been up.
    Fall,
    /// They are up again.
    GotUp,
    /// There are now as many persons as the event says.
    Count,
}

impl What {
    /// The word that lines carry.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Appear => "appear",
            Self::Leave => "leave",
            Self::Enter(_) => "enter",
            Self::Exit(_) => "exit",
            Self::LeftHandRaised => "left_hand_raised",
            Self::LeftHandLowered => "left_hand_lowered",
            Self::RightHandRaised => "right_hand_raised",
            Self::RightHandLowered => "right_hand_lowered",
            Self::ArmsCrossed => "arms_crossed",
            Self::ArmsUncrossed => "arms_uncrossed",
            Self::Fall => "fall",
            Self::GotUp => "got_up",
            Self::Count => "count",
        }
    }

    /// The place in [`Zones`] of the zone that it is about.
    pub const fn zone(self) -> Option<usize> {
        match self {
            Self::Enter(place) | Self::Exit(place) => Some(place),
            _ => None,
        }
    }
}

/// Every word that an event may have.
pub const KINDS: [&str; 13] = [
    What::Appear.name(),
    What::Leave.name(),
    What::Enter(0).name(),
    What::Exit(0).name(),
    What::LeftHandRaised.name(),
    What::LeftHandLowered.name(),
    What::RightHandRaised.name(),
    What::RightHandLowered.name(),
    What::ArmsCrossed.name(),
    What::ArmsUncrossed.name(),
    What::Fall.name(),
    What::GotUp.name(),
    What::Count.name(),
];

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What.
    pub what: What,
    /// Whose doing it is; 0 for [`What::Count`].
    pub track_id: u32,
    /// The moment in which it had held long enough, microseconds of the clock that stamps moments.
    pub at_us: i64,
    /// Persons in that moment; of [`What::Count`] as many as there were all the time until then.
    pub persons: usize,
}

impl Event {
    /// Writes its JSON line; `keys` are those of `at_us` and of `sent_us`, microseconds of the same clock.
    pub fn write_line(&self, line: &mut Vec<u8>, zones: &Zones, keys: [&str; 2], sent_us: i64) {
        // Writing to a Vec cannot fail.
        let _ = write!(line, "{{\"event\":\"{}\"", self.what.name());
        if self.what != What::Count {
            let _ = write!(line, ",\"id\":{}", self.track_id);
        }
        if let Some(zone) = self.what.zone().and_then(|place| zones.zones.get(place)) {
            line.extend_from_slice(b",\"zone\":");
            let _ = serde_json::to_writer(&mut *line, &zone.name);
        }
        let (Self { at_us, persons, .. }, [at, sent]) = (self, keys);
        let _ = writeln!(line, ",\"{at}\":{at_us},\"{sent}\":{sent_us},\"persons\":{persons}}}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{At, Zone};
    use serde_json::{Value, json};

    /// What homes and robots have by name: `docs/events.md`.
    #[test]
    fn words_are_those_of_the_document() {
        let words = "appear leave enter exit left_hand_raised left_hand_lowered right_hand_raised right_hand_lowered arms_crossed arms_uncrossed fall got_up count";
        assert_eq!(KINDS.join(" "), words);
    }

    #[test]
    fn a_line_is_json_whatever_a_zone_is_called() {
        let name = "Tür \"A\"\\".to_owned();
        let zones =
            Zones { zones: vec![Zone { name: name.clone(), at: At::Feet, polygon: vec![[0.0; 2]; 3] }] };
        let mut lines = Vec::new();
        for (what, track_id) in [(What::Enter(0), 3), (What::Exit(0), 3), (What::Fall, 4), (What::Count, 0)] {
            let event = Event { what, track_id, at_us: 5, persons: 2 };
            event.write_line(&mut lines, &zones, ["captured_us", "emitted_us"], 9);
        }
        let text = String::from_utf8(lines).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(
            lines,
            [
                json!({"event": "enter", "id": 3, "zone": name, "captured_us": 5, "emitted_us": 9, "persons": 2}),
                json!({"event": "exit", "id": 3, "zone": name, "captured_us": 5, "emitted_us": 9, "persons": 2}),
                json!({"event": "fall", "id": 4, "captured_us": 5, "emitted_us": 9, "persons": 2}),
                json!({"event": "count", "captured_us": 5, "emitted_us": 9, "persons": 2}),
            ]
        );
    }
}
