//! What happens in the room: who comes and goes, how many are there, who is in which zone, who raises a hand, crosses their arms, falls.
//!
//! Gestures are those of one camera's picture (`pose::gesture`): of the room's metres a picture from before the person is made for them.

use std::fmt::Write;

use pose::gesture::{Fall, Held, arms_crossed, hands_raised};
use pose::{JOINTS, JointState, Pose, PoseJoint};

use crate::V3;
use crate::fuse::RoomPerson;
use crate::hub::Moment;
use crate::zones::Zone;

/// In a zone for so long, microseconds: who walks along its edge is not in it with every step. As the tracker's own.
const ENTER_AFTER_US: i64 = 200_000;
/// Out of it for so long.
const EXIT_AFTER_US: i64 = 500_000;
/// A gesture held for so long is meant, and over after so long.
const GESTURE_AFTER_US: i64 = 300_000;
const GESTURE_ENDS_US: i64 = 400_000;
/// Another number of persons for so long is another number.
const COUNT_AFTER_US: i64 = 300_000;
/// Pixels a metre of the pictures for gestures.
const PX_A_METRE: f64 = 200.0;

/// What may happen: the tracker's own words.
pub const KINDS: [&str; 13] = [
    "appear",
    "leave",
    "enter",
    "exit",
    "left_hand_raised",
    "left_hand_lowered",
    "right_hand_raised",
    "right_hand_lowered",
    "arms_crossed",
    "arms_uncrossed",
    "fall",
    "got_up",
    "count",
];
/// Places in [`KINDS`].
const APPEAR: usize = 0;
const LEAVE: usize = 1;
const ENTER: usize = 2;
const EXIT: usize = 3;
/// Of the first sign; two each, on and off.
const SIGNS: usize = 4;
const COUNT: usize = 12;

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    kind: usize,
    /// Whose doing it is; 0: nobody's alone.
    pub id: u32,
    /// The zone's place in the file.
    pub zone: Option<usize>,
    /// The moment in which it had held for long enough.
    pub at_us: i64,
    /// Persons in that moment.
    pub persons: usize,
}

impl Event {
    /// One of [`KINDS`].
    pub fn kind(&self) -> &'static str {
        KINDS[self.kind]
    }

    /// `{"event":"enter","id":3,"zone":"stage","at_us":…,"sent_us":…,"persons":2}`
    pub fn line(&self, zones: &[Zone], sent_us: i64) -> String {
        let mut text = format!("{{\"event\":\"{}\"", self.kind());
        // Writing to a String cannot fail.
        if self.kind != COUNT {
            let _ = write!(text, ",\"id\":{}", self.id);
        }
        if let Some(zone) = self.zone.and_then(|z| zones.get(z)) {
            let _ = write!(text, ",\"zone\":{}", serde_json::to_string(&zone.name).unwrap_or_default());
        }
        let Event { at_us, persons, .. } = self;
        let _ = write!(text, ",\"at_us\":{at_us},\"sent_us\":{sent_us},\"persons\":{persons}}}");
        text
    }
}

#[derive(Clone, Debug)]
struct Watched {
    id: u32,
    zones: Vec<(Held, bool)>,
    gestures: [Held; 3],
    fall: Fall,
    signs: [bool; 4],
}

/// Turns moments into events; time is the moments' own.
#[derive(Clone, Debug)]
pub struct Happenings {
    zones: Vec<Zone>,
    people: Vec<Watched>,
    count: usize,
    other: Option<(usize, i64)>,
}

impl Happenings {
    /// Knows nobody.
    pub fn new(zones: Vec<Zone>) -> Self {
        Self { zones, people: Vec::new(), count: 0, other: None }
    }

    /// The zones that are watched.
    pub fn zones(&self) -> &[Zone] {
        &self.zones
    }

    /// Persons, when their number has held for long enough.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Persons in a zone.
    pub fn inside(&self, zone: usize) -> usize {
        self.people.iter().filter(|known| known.zones[zone].1).count()
    }

    /// Takes the next moment, and says what happened.
    pub fn update(&mut self, moment: &Moment) -> Vec<Event> {
        let (at_us, persons) = (moment.at_us, moment.people.len());
        let mut events = Vec::new();
        let mut tell = |kind, id, zone| events.push(Event { kind, id, zone, at_us, persons });
        self.people.retain(|known| {
            let is_there = moment.people.iter().any(|p| p.id == known.id);
            if !is_there {
                let inside = known.zones.iter().enumerate().filter(|(_, z)| z.1);
                inside.for_each(|(z, _)| tell(EXIT, known.id, Some(z)));
                tell(LEAVE, known.id, None);
            }
            is_there
        });
        for person in &moment.people {
            let place = self.people.iter().position(|known| known.id == person.id).unwrap_or_else(|| {
                tell(APPEAR, person.id, None);
                let gesture = Held::new(GESTURE_AFTER_US, GESTURE_ENDS_US);
                self.people.push(Watched {
                    id: person.id,
                    zones: vec![(Held::new(ENTER_AFTER_US, EXIT_AFTER_US), false); self.zones.len()],
                    gestures: [gesture; 3],
                    fall: Fall::new(),
                    signs: [false; 4],
                });
                self.people.len() - 1
            });
            let known = &mut self.people[place];
            for (z, (zone, (held, told))) in self.zones.iter().zip(&mut known.zones).enumerate() {
                let is_in = held.update(zone.holds(person), at_us);
                if is_in != std::mem::replace(told, is_in) {
                    tell(if is_in { ENTER } else { EXIT }, person.id, Some(z));
                }
            }
            let (before, beside) = pictures(person);
            let [left, right] = before.as_ref().map_or([None; 2], hands_raised);
            let signs = [
                known.gestures[0].update(left, at_us),
                known.gestures[1].update(right, at_us),
                known.gestures[2].update(before.as_ref().and_then(arms_crossed), at_us),
                beside.is_some_and(|pose| known.fall.update(&pose, at_us)),
            ];
            for (s, (is_on, told)) in signs.into_iter().zip(&mut known.signs).enumerate() {
                if is_on != std::mem::replace(told, is_on) {
                    tell(SIGNS + 2 * s + usize::from(!is_on), person.id, None);
                }
            }
        }
        self.other = match self.other {
            _ if persons == self.count => None,
            Some((other, since_us)) if other == persons && at_us >= since_us => {
                if at_us - since_us >= COUNT_AFTER_US {
                    self.count = persons;
                    tell(COUNT, 0, None);
                    None
                } else {
                    self.other
                }
            }
            _ => Some((persons, at_us)),
        };
        events
    }
}

/// The person as a camera before them would see them, and as one that sees their trunk lean from the side: upright pictures both.
fn pictures(person: &RoomPerson) -> (Option<Pose>, Option<Pose>) {
    let place = |j: usize| person.joints[j].map(|joint| joint.at);
    let middle = |a: usize, b: usize| Some(0.5 * (place(a)? + place(b)?));
    let flat = |v: V3| V3::new(v.x, v.y, 0.0);
    let (Some(hips), Some(shoulders)) = (middle(11, 12), middle(5, 6)) else { return (None, None) };
    // Seen from before, their left is the picture's right.
    let to_left = match (place(5), place(6)) {
        (Some(left), Some(right)) => flat(left - right),
        _ => V3::zeros(),
    };
    let picture = |across: V3| {
        let mut pose = Pose { track_id: person.id, ..Pose::default() };
        for j in 0..JOINTS {
            let Some(at) = place(j) else { continue };
            let (x, y) = ((at - hips).dot(&across), hips.z - at.z);
            pose.joints[j] = PoseJoint {
                x_px: (1_000.0 + PX_A_METRE * x) as f32,
                y_px: (1_000.0 + PX_A_METRE * y) as f32,
                score: 0.9,
                sigma_px: 1.0,
                state: JointState::Measured,
            };
        }
        pose
    };
    let before = (to_left.norm() > 0.05).then(|| picture(to_left.normalize()));
    let lean = flat(shoulders - hips);
    let beside = picture(lean.try_normalize(1e-3).unwrap_or_else(V3::x));
    (before, Some(beside))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuse::RoomJoint;
    use crate::zones::At;

    /// Somebody who stands at `x`, `y` and looks along -y, so that their left is at larger x.
    fn somebody(id: u32, x: f64, y: f64, has_hand_up: bool, lies: bool) -> RoomPerson {
        let mut joints = [None; JOINTS];
        let wrist = if has_hand_up { 2.0 } else { 0.9 };
        for (j, dx, z) in [
            (0, 0.0, 1.6),
            (5, 0.2, 1.4),
            (6, -0.2, 1.4),
            (7, 0.25, 1.2),
            (8, -0.25, 1.2),
            (9, 0.3, wrist),
            (10, -0.3, 0.9),
            (11, 0.12, 0.9),
            (12, -0.12, 0.9),
            (15, 0.1, 0.1),
            (16, -0.1, 0.1),
        ] {
            let at = if lies { V3::new(x + dx, y + z, 0.2) } else { V3::new(x + dx, y, z) };
            joints[j] = Some(RoomJoint { at, sigma: 0.02 });
        }
        RoomPerson { id, joints, cameras: 3 }
    }

    fn stage() -> Vec<Zone> {
        let polygon = vec![[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
        vec![Zone { name: "the \"stage\"".into(), at: At::Feet, polygon }]
    }

    #[test]
    fn somebody_comes_onto_the_stage_raises_a_hand_falls_and_goes() {
        let mut happenings = Happenings::new(stage());
        let mut told = Vec::new();
        for at_ms in (0..12_000).step_by(20) {
            let people = match at_ms {
                1_000..2_000 => vec![somebody(7, 3.0, 0.0, false, false)],
                2_000..3_000 => vec![somebody(7, 0.5, 0.0, false, false)],
                3_000..4_000 => vec![somebody(7, 0.5, 0.0, true, false)],
                4_000..5_000 => vec![somebody(7, 0.5, 0.0, false, false)],
                5_000..8_000 => vec![somebody(7, 0.5, 0.0, false, true)],
                8_000..9_000 => vec![somebody(7, 0.5, 0.0, false, false)],
                _ => vec![],
            };
            let moment = Moment { seq: 0, at_us: 1_000 * at_ms, people, moved: vec![] };
            told.extend(happenings.update(&moment).iter().map(|e| (at_ms, e.id, e.kind())));
            if at_ms == 2_500 {
                assert_eq!((happenings.count(), happenings.inside(0)), (1, 1));
            }
        }
        assert_eq!(
            told,
            [
                (1_000, 7, "appear"),
                (1_300, 0, "count"),
                (2_200, 7, "enter"),
                (3_300, 7, "left_hand_raised"),
                (4_400, 7, "left_hand_lowered"),
                (6_000, 7, "fall"),
                (8_300, 7, "got_up"),
                (9_000, 7, "exit"),
                (9_000, 7, "leave"),
                (9_300, 0, "count"),
            ]
        );
    }

    #[test]
    fn a_line_is_json_whatever_a_zone_is_called() {
        let event = Event { kind: ENTER, id: 3, zone: Some(0), at_us: 5, persons: 2 };
        let read: serde_json::Value = serde_json::from_str(&event.line(&stage(), 9)).unwrap();
        let expected = serde_json::json!({"event": "enter", "id": 3, "zone": "the \"stage\"", "at_us": 5, "sent_us": 9, "persons": 2});
        assert_eq!(read, expected);
        let count = Event { kind: COUNT, id: 0, zone: None, ..event };
        assert_eq!(count.line(&[], 9), r#"{"event":"count","at_us":5,"sent_us":9,"persons":2}"#);
    }
}
