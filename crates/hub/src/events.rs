//! What happens in the room: who comes and goes, how many are there, who is in which zone, who raises a hand, crosses their arms, falls.
//!
//! What counts as an event is `crates/pose-events`, by which a board tells those of its picture too. Gestures are those of one camera's picture
//! (`pose::gesture`): of the room's metres a picture from before the person is made for them.

use pose::{JOINTS, Joint, JointState, Pose, PoseJoint};
use pose_events::{Event, Person, Watch, Zones};

use crate::V3;
use crate::fuse::RoomPerson;
use crate::hub::Moment;

/// Pixels a metre of the pictures for gestures.
const PX_A_METRE: f64 = 200.0;

impl Person for RoomPerson {
    fn track_id(&self) -> u32 {
        self.id
    }

    fn place(&self, joint: Joint) -> Option<[f32; 2]> {
        self.joints[joint as usize].map(|known| [known.at.x as f32, known.at.y as f32])
    }

    fn pictures(&self) -> [Option<Pose>; 2] {
        pictures(self)
    }
}

/// Takes the next moment, and says what happened.
pub fn happened(watch: &mut Watch, moment: &Moment) -> Vec<Event> {
    let mut events = Vec::new();
    watch.update(moment.at_us, moment.people.iter(), |event| events.push(event));
    events
}

/// The line of `event`: `{"event":"enter","id":3,"zone":"stage","at_us":…,"sent_us":…,"persons":2}`, with its end.
pub fn line(event: &Event, zones: &Zones, sent_us: i64) -> Vec<u8> {
    let mut line = Vec::new();
    event.write_line(&mut line, zones, ["at_us", "sent_us"], sent_us);
    line
}

/// The person as a camera before them would see them, and as one that sees their trunk lean from the side: upright pictures both.
fn pictures(person: &RoomPerson) -> [Option<Pose>; 2] {
    let place = |j: usize| person.joints[j].map(|joint| joint.at);
    let middle = |a: usize, b: usize| Some(0.5 * (place(a)? + place(b)?));
    let flat = |v: V3| V3::new(v.x, v.y, 0.0);
    let (Some(hips), Some(shoulders)) = (middle(11, 12), middle(5, 6)) else { return [None; 2] };
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
    [before, Some(beside)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuse::RoomJoint;
    use pose_events::{At, Plane, Zone, Zones};

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

    fn stage() -> Zones {
        let polygon = vec![[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
        Zones { zones: vec![Zone { name: "stage".into(), at: At::Feet, polygon }] }
    }

    #[test]
    fn somebody_comes_onto_the_stage_raises_a_hand_falls_and_goes() {
        let mut watch = Watch::new(stage());
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
            told.extend(happened(&mut watch, &moment).iter().map(|e| (at_ms, e.track_id, e.what.name())));
            if at_ms == 2_500 {
                let said = watch.said(true);
                assert_eq!((&said["persons"], &said["zones"][0]["persons"]), (&1.into(), &1.into()));
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
                (9_500, 7, "exit"),
                (9_500, 7, "leave"),
                (9_500, 0, "count"),
            ]
        );
    }

    #[test]
    fn a_line_has_the_keys_of_the_room() {
        let event = Event { what: pose_events::What::Fall, track_id: 3, at_us: 5, persons: 2 };
        let read: serde_json::Value =
            serde_json::from_slice(&line(&event, &Zones::default(), 9)).expect("is JSON");
        assert_eq!(
            read,
            serde_json::json!({"event": "fall", "id": 3, "at_us": 5, "sent_us": 9, "persons": 2})
        );
    }

    #[test]
    fn who_has_fallen_lies_there_while_their_shoulders_are_hidden() {
        let mut watch = Watch::new(Zones::default());
        let mut told = Vec::new();
        for at_ms in (0..9_000).step_by(20) {
            let mut person = somebody(7, 0.0, 0.0, false, (2_000..7_000).contains(&at_ms));
            if (4_000..6_000).contains(&at_ms) {
                person.joints[5..=6].fill(None);
            }
            let moment = Moment { seq: 0, at_us: 1_000 * at_ms, people: vec![person], moved: vec![] };
            told.extend(happened(&mut watch, &moment).iter().map(|e| (at_ms, e.what.name())));
        }
        assert_eq!(told, [(0, "appear"), (300, "count"), (3_000, "fall"), (7_300, "got_up")]);
    }

    fn person(joints: &[(usize, f64, f64)]) -> RoomPerson {
        let mut all = [None; pose::JOINTS];
        for &(j, x, y) in joints {
            all[j] = Some(RoomJoint { at: V3::new(x, y, 1.0), sigma: 0.02 });
        }
        RoomPerson { id: 1, joints: all, cameras: 2 }
    }

    #[test]
    fn what_is_above_the_polygon_counts_and_nothing_else() {
        let text = "[[zone]]\nname = 'stage'\npolygon = [[-1, 0], [1, 0], [0, 2]]\n[[zone]]\nname = 'table'\nat = 'hands'\npolygon = [[5, 0], [6, 0], [6, 1], [5, 1]]\n";
        let zones = Zones::parse(text, Plane::Floor).unwrap().zones;
        let somebody = person(&[(15, 0.4, 0.5), (16, -0.2, 0.5), (9, 5.5, 0.5), (10, 9.0, 9.0)]);
        let holds = |person| [zones[0].holds(person), zones[1].holds(person)];
        assert_eq!(holds(&somebody), [[Some(true), None], [Some(true), Some(false)]]);
        let outside = person(&[(15, 0.9, 1.5)]);
        assert_eq!(holds(&outside), [[Some(false), None], [None; 2]]);
    }
}
