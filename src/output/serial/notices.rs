//! What happens, until the line has room for it.

use std::collections::VecDeque;

use pose::PoseFrame;
use pose_wire::{Notice, NoticeCode};

use super::super::events::{Event, Watch, Zones, watch_frame};

/// How many go with one moment: more would make its poses late.
pub(super) const A_BATCH: usize = 4;
/// How many wait. The oldest make room; `number` tells of the gap.
const KEPT: usize = 16;

/// Watches poses for events, and keeps those that are not sent yet.
pub(super) struct Notices {
    watch: Watch,
    waiting: VecDeque<Notice>,
    number: u32,
}

impl Notices {
    pub fn new(zones: Zones) -> Self {
        Self { watch: Watch::new(zones), waiting: VecDeque::with_capacity(KEPT), number: 0 }
    }

    /// Looks at one frame.
    pub fn watch(&mut self, poses: &PoseFrame) {
        let Self { watch, waiting, number } = self;
        let first = waiting.len();
        watch_frame(watch, poses, |event| {
            if waiting.len() == KEPT {
                waiting.pop_front();
            }
            waiting.push_back(notice(&event, *number));
            *number = number.wrapping_add(1);
        });
        if waiting.len() > first || first == KEPT {
            let zones = &watch.zones().zones;
            for notice in waiting.iter_mut().filter(|notice| notice.zone > 0) {
                if let Some(zone) = zones.get(usize::from(notice.zone) - 1) {
                    notice.zone_name = Notice::zone_text(&zone.name);
                }
            }
        }
    }

    /// The oldest that waits; it waits no longer.
    pub fn next(&mut self) -> Option<Notice> {
        self.waiting.pop_front()
    }
}

/// As the wire has it, but for the zone's name.
fn notice(event: &Event, number: u32) -> Notice {
    // There are 32 zones at most.
    let zone = event.what.zone().map_or(0, |place| place as u8 + 1);
    Notice {
        number,
        captured_at_us: event.at_us,
        track_id: event.track_id,
        code: NoticeCode::of_name(event.what.name()).unwrap_or_default(),
        persons: event.persons as u8,
        zone,
        zone_name: [0; 12],
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::events::What;
    use super::*;
    use pose::{Forecast, JOINTS, JointState, MAX_PERSONS, TrackedPerson};
    use pose_events::Plane;

    fn frame(persons: usize, at_us: i64) -> PoseFrame {
        let forecast = Forecast {
            captured_at_us: at_us,
            places_px: [[[10.0, 20.0]; JOINTS]; 4],
            score: [0.9; JOINTS],
            state: [JointState::Measured; JOINTS],
            ..Forecast::default()
        };
        let person = |track_id| TrackedPerson { track_id, score: 0.5, forecast, seen: None, place: None };
        let persons =
            std::array::from_fn::<_, MAX_PERSONS, _>(|i| (i < persons).then(|| person(i as u32 + 1)));
        PoseFrame { seq: 0, frame: 0, captured_at_us: at_us, width: 64, height: 48, persons, floor: None }
    }

    #[test]
    fn every_event_is_told_once_and_a_flood_loses_the_oldest() {
        let mut notices = Notices::new(Zones::default());
        for k in 0..20 {
            notices.watch(&frame(1, 100_000 * k));
        }
        let told: Vec<Notice> = std::iter::from_fn(|| notices.next()).collect();
        let words: Vec<_> = told.iter().filter_map(|n| n.code.name()).collect();
        assert!(words.contains(&"appear") && words.contains(&"count"), "{words:?}");
        assert!(told.iter().zip(0..).all(|(notice, number)| notice.number == number));
        for k in 20..400 {
            notices.watch(&frame(if k / 10 % 2 == 0 { 0 } else { 3 }, 100_000 * k));
        }
        let told: Vec<Notice> = std::iter::from_fn(|| notices.next()).collect();
        assert_eq!(told.len(), KEPT);
        assert!(told[0].number > 20 && told.windows(2).all(|w| w[1].number == w[0].number + 1));
    }

    #[test]
    fn an_event_of_a_zone_names_it_and_says_how_many_are_there() {
        let whole = |name: &str, x: f32| {
            format!("[[zone]]\nname = \"{name}\"\npolygon = [[{x},0.0],[1.0,0.0],[1.0,1.0],[{x},1.0]]\n")
        };
        // Everybody stands in the first; in the second nobody does.
        let zones = Zones::parse(&(whole("bed", 0.0) + &whole("door", 0.9)), Plane::Picture).unwrap();
        let mut notices = Notices::new(zones);
        for k in 0..20 {
            notices.watch(&frame(2, 100_000 * k));
        }
        let told: Vec<Notice> = std::iter::from_fn(|| notices.next()).collect();
        let entered: Vec<_> = told.iter().filter(|n| n.code == NoticeCode::ENTER).collect();
        assert_eq!(entered.len(), 2);
        assert!(
            entered.iter().all(|n| (n.zone, n.zone_name) == (1, Notice::zone_text("bed"))),
            "{entered:?}"
        );
        let others = || told.iter().filter(|n| n.code != NoticeCode::ENTER);
        assert!(others().all(|n| (n.zone, n.zone_name) == (0, [0; 12])));
        let count = others().find(|n| n.code.name() == Some("count"));
        assert_eq!(count.map(|n| n.persons), Some(2));
    }

    #[test]
    fn every_event_has_a_code() {
        for what in [
            What::Appear,
            What::Leave,
            What::Enter(3),
            What::Exit(0),
            What::LeftHandRaised,
            What::LeftHandLowered,
            What::RightHandRaised,
            What::RightHandLowered,
            What::ArmsCrossed,
            What::ArmsUncrossed,
            What::Fall,
            What::GotUp,
            What::Count,
        ] {
            let event = Event { what, track_id: 1, at_us: 5, persons: 2 };
            assert_eq!(notice(&event, 0).code.name(), Some(what.name()));
        }
    }
}
