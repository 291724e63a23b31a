//! What has happened lately, for the page.

use std::collections::VecDeque;

use pose::PoseFrame;
use serde_json::{Value, json};

use super::super::events::{Event, Watch, What, Zones, watch_frame};

/// What fits beside a picture.
const KEPT: usize = 12;

/// The newest events, kept whether or not somebody looks: whoever comes later sees what they missed.
pub(super) struct Told {
    watch: Watch,
    newest: VecDeque<Event>,
    /// Of the newest frame, microseconds: how long ago something was is told against it.
    now_us: i64,
}

impl Told {
    pub fn new(zones: Zones) -> Self {
        Self { watch: Watch::new(zones), newest: VecDeque::with_capacity(KEPT), now_us: 0 }
    }

    pub fn update(&mut self, frame: &PoseFrame) {
        let Self { watch, newest, now_us } = self;
        *now_us = frame.captured_at_us;
        watch_frame(watch, frame, |event| {
            if newest.len() == KEPT {
                newest.pop_front();
            }
            newest.push_back(event);
        });
    }

    /// The newest first: the word, the person or null, the zone or null, seconds ago.
    pub fn events(&self) -> Value {
        let event = |e: &Event| {
            let zone = e.what.zone().map(|place| &*self.watch.zones().zones[place].name);
            let id = (e.what != What::Count).then_some(e.track_id);
            let ago_s = self.now_us.saturating_sub(e.at_us) / 1_000_000;
            match e.what {
                What::Count => json!([format!("{} there", e.persons), id, zone, ago_s]),
                _ => json!([e.what.name(), id, zone, ago_s]),
            }
        };
        self.newest.iter().rev().map(event).collect()
    }

    /// Name, corners in shares of the picture, and what of a person has to be inside.
    pub fn zones(&self) -> Value {
        self.watch.zones().zones.iter().map(|z| json!([z.name, z.polygon, z.at.name()])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::{At, Zone};
    use super::*;
    use pose::{Forecast, JointState, MAX_PERSONS, TrackedPerson};

    /// Whoever is there stands with every joint at one place.
    fn frame(at_ms: i64, id: Option<u32>) -> PoseFrame {
        let captured_at_us = 1_000 * at_ms;
        let forecast = Forecast {
            captured_at_us,
            places_px: [[[5.0; 2]; pose::JOINTS]; 4],
            score: [0.9; pose::JOINTS],
            state: [JointState::Measured; pose::JOINTS],
            ..Forecast::default()
        };
        let mut persons = [None; MAX_PERSONS];
        persons[0] =
            id.map(|track_id| TrackedPerson { track_id, score: 0.9, forecast, seen: None, place: None });
        PoseFrame { seq: 0, frame: 0, captured_at_us, width: 10, height: 10, persons, floor: None }
    }

    #[test]
    fn the_newest_events_come_first_and_no_more_than_fit() {
        let polygon = vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let mut told = Told::new(Zones { zones: vec![Zone { name: "room".into(), at: At::Hips, polygon }] });
        told.update(&frame(0, Some(7)));
        told.update(&frame(200, Some(7)));
        told.update(&frame(2_200, Some(7)));
        assert_eq!(
            told.events(),
            json!([["1 there", null, null, 0], ["enter", 7, "room", 2], ["appear", 7, null, 2]])
        );
        assert_eq!((&told.zones()[0][0], &told.zones()[0][2]), (&json!("room"), &json!("hips")));
        for id in 8..40 {
            told.update(&frame(3_000 + i64::from(id), Some(id)));
        }
        assert_eq!(told.events().as_array().map(Vec::len), Some(KEPT));
        assert_eq!((&told.events()[0][0], &told.events()[0][1]), (&json!("appear"), &json!(39)));
        let ids: Vec<_> = told.events().as_array().unwrap().iter().map(|event| event[1].clone()).collect();
        assert!(!ids.contains(&json!(7)), "the oldest have gone: {ids:?}");
    }
}
