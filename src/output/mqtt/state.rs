//! Who is there, as a broker is told: made of events, so that a flicker is no change.

use pose::PoseFrame;
use serde_json::Value;

use super::super::events::{BLIND_AFTER_US, Event, Watch, What, Zones, watch_frame};

/// What is known of the room.
pub(super) struct State {
    watch: Watch,
    last_frame_us: Option<i64>,
    is_blind: bool,
    /// Where the last frame came from, where nobody is there.
    source: Option<&'static str>,
    told: Value,
}

impl State {
    pub fn new(zones: Zones) -> Self {
        let watch = Watch::new(zones);
        Self { told: watch.said(false), watch, last_frame_us: None, is_blind: true, source: None }
    }

    /// Takes the next frame, of `source` where that is to be said; `tell` gets what happened. Whether [`Self::said`] says something else
    /// now.
    pub fn update(
        &mut self,
        frame: &PoseFrame,
        source: Option<&'static str>,
        now_us: i64,
        mut tell: impl FnMut(&Event, &Zones),
    ) -> bool {
        self.last_frame_us = Some(now_us);
        let mut events = Vec::new();
        watch_frame(&mut self.watch, frame, |event| events.push(event));
        let mut may_be_other = std::mem::replace(&mut self.is_blind, false);
        may_be_other |= std::mem::replace(&mut self.source, source) != source;
        may_be_other |= self.watch.is_counted() == self.told["persons"].is_null();
        for event in events {
            may_be_other |= matches!(event.what, What::Count | What::Enter(_) | What::Exit(_));
            tell(&event, self.watch.zones());
        }
        may_be_other && self.is_other()
    }

    fn is_other(&mut self) -> bool {
        let said = self.said();
        let is_other = said != self.told;
        self.told = said;
        is_other
    }

    /// No frame has come until `now_us`; whether [`Self::said`] says something else now.
    pub fn wait(&mut self, now_us: i64) -> bool {
        let is_blind =
            self.last_frame_us.is_none_or(|last_us| now_us.saturating_sub(last_us) >= BLIND_AFTER_US);
        is_blind && !std::mem::replace(&mut self.is_blind, true) && self.is_other()
    }

    /// What the broker keeps: null where no frame comes, and until it is known how many are there.
    pub fn said(&self) -> Value {
        let mut said = self.watch.said(!self.is_blind);
        if let Some(source) = self.source {
            said["source"] = source.into();
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::{At, Zone};
    use super::*;
    use pose::{Forecast, JointState, MAX_PERSONS, TrackedPerson};
    use serde_json::json;

    /// Somebody whose every joint is in the left half, or nobody.
    fn frame(at_ms: i64, is_there: bool) -> PoseFrame {
        let captured_at_us = 1_000 * at_ms;
        let forecast = Forecast {
            captured_at_us,
            places_px: [[[10.0; 2]; pose::JOINTS]; pose::HORIZONS_US.len()],
            score: [0.9; pose::JOINTS],
            state: [JointState::Measured; pose::JOINTS],
            ..Forecast::default()
        };
        let mut persons = [None; MAX_PERSONS];
        persons[0] =
            is_there.then_some(TrackedPerson { track_id: 4, score: 0.9, forecast, seen: None, place: None });
        PoseFrame { seq: 0, frame: 0, captured_at_us, width: 100, height: 100, persons, floor: None }
    }

    #[test]
    fn a_flicker_changes_nothing_and_a_camera_that_is_gone_makes_it_unknown() {
        let polygon = vec![[0.0, 0.0], [0.5, 0.0], [0.5, 1.0], [0.0, 1.0]];
        let mut state = State::new(Zones { zones: vec![Zone { name: "bed".into(), at: At::Hips, polygon }] });
        assert_eq!(
            state.said(),
            json!({"presence": null, "persons": null, "zones": [{"name": "bed", "persons": null}]})
        );
        assert!(!state.wait(9_000_000), "it is unknown anyhow");
        let mut said = Vec::new();
        let mut happened = Vec::new();
        for at_ms in (0..6_000).step_by(50) {
            // A frame's flicker at 0.3 s, there from 1 s to 3 s but for a frame.
            let is_there = at_ms == 300 || ((1_000..3_000).contains(&at_ms) && at_ms != 2_000);
            if state.update(&frame(at_ms, is_there), None, 1_000 * at_ms, |e, _| happened.push(e.what.name()))
            {
                said.push((
                    at_ms,
                    state.said()["persons"].clone(),
                    state.said()["zones"][0]["persons"].clone(),
                ));
            }
        }
        let expected = [(850, 0, 0), (1_300, 1, 1), (3_500, 0, 0)].map(|(t, p, z)| (t, json!(p), json!(z)));
        assert_eq!(said, expected);
        assert_eq!(happened, ["appear", "leave", "appear", "enter", "count", "exit", "leave", "count"]);
        assert!(!state.wait(10_000_000));
        assert!(state.wait(11_000_000) && !state.wait(12_000_000));
        assert_eq!(state.said()["presence"], Value::Null);
        for at_ms in (12_000..12_500).step_by(50) {
            assert!(!state.update(&frame(at_ms, false), None, 1_000 * at_ms, |_, _| ()), "not known yet");
        }
        assert!(state.update(&frame(12_500, false), None, 12_500_000, |_, _| ()));
        assert_eq!(state.said()["presence"], false);
        for (source, at_us) in [(Some("built-in clip"), 12_550_000), (None, 12_600_000)] {
            assert!(state.update(&frame(12_500, false), source, at_us, |_, _| ()), "another source");
            assert_eq!(state.said()["source"].as_str(), source);
        }
    }
}
