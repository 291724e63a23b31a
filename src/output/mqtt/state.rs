//! Who is there, as a broker is told: made of events, so that a flicker is no change.

use pose::PoseFrame;
use serde_json::{Value, json};

use super::super::events::{Event, Watch, What, Zones, watch_frame};
use crate::output::Vitals;

/// Without a frame for so long nobody knows who is there.
const BLIND_AFTER_US: i64 = 5_000_000;

/// What is known of the room.
pub(super) struct State {
    watch: Watch,
    last_frame_us: Option<i64>,
    is_blind: bool,
}

impl State {
    pub fn new(zones: Zones) -> Self {
        Self { watch: Watch::new(zones), last_frame_us: None, is_blind: true }
    }

    /// Takes the next frame; `tell` gets what happened. Whether [`Self::said`] says something else now.
    pub fn update(&mut self, frame: &PoseFrame, now_us: i64, mut tell: impl FnMut(&Event, &Zones)) -> bool {
        self.last_frame_us = Some(now_us);
        let mut events = Vec::new();
        watch_frame(&mut self.watch, frame, |event| events.push(event));
        let mut is_other = std::mem::replace(&mut self.is_blind, false);
        for event in events {
            is_other |= matches!(event.what, What::Count | What::Enter(_) | What::Exit(_));
            tell(&event, self.watch.zones());
        }
        is_other
    }

    /// No frame has come until `now_us`; whether [`Self::said`] says something else now.
    pub fn wait(&mut self, now_us: i64) -> bool {
        let is_blind =
            self.last_frame_us.is_none_or(|last_us| now_us.saturating_sub(last_us) >= BLIND_AFTER_US);
        is_blind && !std::mem::replace(&mut self.is_blind, true)
    }

    /// What the broker keeps: null where no frame comes.
    pub fn said(&self) -> Value {
        self.watch.said(!self.is_blind)
    }
}

/// How the tracker is.
pub(super) fn health(vitals: &Vitals) -> Value {
    json!({
        "source": vitals.source.name(),
        "engine": vitals.engine(),
        // To a tenth: what changes in the last of many digits fills a recorder.
        "fps": (10.0 * vitals.frame_rate_hz).round() / 10.0,
        "age_ms": vitals.age_us / 1_000,
        "uptime_s": vitals.uptime_ms / 1_000,
        "frames_dropped": vitals.frames_dropped,
        "camera_losses": vitals.camera_losses,
        "camera_errors": vitals.camera_errors,
        "temperature_c": vitals.temperature_c.map(|t| (10.0 * t).round() / 10.0),
        "throttled": vitals.throttled,
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::events::{At, Zone};
    use super::*;
    use pose::{Forecast, JointState, MAX_PERSONS, TrackedPerson};

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
            // A frame's flicker at half a second, there from 1 s to 3 s.
            let is_there = at_ms == 500 || (1_000..3_000).contains(&at_ms);
            if state.update(&frame(at_ms, is_there), 1_000 * at_ms, |e, _| happened.push(e.what.name())) {
                said.push((
                    at_ms,
                    state.said()["persons"].clone(),
                    state.said()["zones"][0]["persons"].clone(),
                ));
            }
        }
        let expected = [(0, 0, 0), (1_200, 0, 1), (1_300, 1, 1), (3_000, 1, 0), (3_300, 0, 0)]
            .map(|(t, p, z)| (t, json!(p), json!(z)));
        assert_eq!(said, expected);
        assert_eq!(happened, ["appear", "leave", "appear", "enter", "count", "exit", "leave", "count"]);
        assert!(!state.wait(10_000_000));
        assert!(state.wait(11_000_000) && !state.wait(12_000_000));
        assert_eq!(state.said()["presence"], Value::Null);
        assert!(state.update(&frame(12_000, false), 12_000_000, |_, _| ()));
        assert_eq!(state.said()["presence"], false);
    }

    #[test]
    fn health_is_json_whatever_the_figures_are() {
        let mut vitals = Vitals { frame_rate_hz: f32::NAN, temperature_c: Some(51.26), ..Vitals::default() };
        vitals.backend[..4].copy_from_slice(b"int8");
        let said = health(&vitals);
        assert!(said["fps"].is_null());
        assert!((said["temperature_c"].as_f64().unwrap() - 51.3).abs() < 1e-4, "{said}");
        assert_eq!((&said["engine"], &said["source"]), (&json!("int8"), &json!("file")));
    }
}
