//! One camera's picture as events watch it.

use pose::gesture::place_px;
use pose::{Joint, MAX_PERSONS, Pose, PoseFrame};
use pose_events::{Event, Person, Watch};

/// A person in a picture of `size_px`; zones' corners are shares of it.
struct InPicture {
    pose: Pose,
    size_px: [u32; 2],
}

impl Person for InPicture {
    fn track_id(&self) -> u32 {
        self.pose.track_id
    }

    fn place(&self, joint: Joint) -> Option<[f32; 2]> {
        let [width, height] = self.size_px;
        place_px(&self.pose, joint).map(|[x, y]| [x / width as f32, y / height as f32])
    }

    fn pictures(&self) -> [Option<Pose>; 2] {
        [Some(self.pose); 2]
    }
}

/// Takes the next frame, as it was at capture; `tell` gets what happened, in the order of the frame's persons. Allocates where somebody is new.
pub fn watch_frame(watch: &mut Watch, frame: &PoseFrame, tell: impl FnMut(Event)) {
    let size_px = [frame.width, frame.height];
    let mut poses = frame.poses_at(frame.captured_at_us);
    let people: [Option<InPicture>; MAX_PERSONS] =
        std::array::from_fn(|_| poses.next().map(|pose| InPicture { pose: pose.value, size_px }));
    watch.update(frame.captured_at_us, people.iter().flatten(), tell);
}

#[cfg(test)]
mod tests {
    use super::*;
    use pose::{Forecast, JointState, PoseJoint, TrackedPerson};
    use pose_events::{At, Plane, Zone, Zones};

    /// Somebody who stands at `x_px`, a trunk of 100 px, in a picture of 400 x 400.
    fn person(track_id: u32, x_px: f32, has_hand_up: bool) -> TrackedPerson {
        let mut forecast = Forecast {
            score: [0.9; pose::JOINTS],
            state: [JointState::Measured; pose::JOINTS],
            ..Forecast::default()
        };
        let wrist_y = if has_hand_up { 20.0 } else { 200.0 };
        for (joint, dx, y) in [
            (Joint::LeftShoulder, 30.0, 100.0),
            (Joint::RightShoulder, -30.0, 100.0),
            (Joint::LeftHip, 20.0, 200.0),
            (Joint::RightHip, -20.0, 200.0),
            (Joint::LeftWrist, 45.0, wrist_y),
            (Joint::RightWrist, -45.0, 200.0),
            (Joint::LeftAnkle, 20.0, 380.0),
            (Joint::RightAnkle, -20.0, 380.0),
        ] {
            for horizon in &mut forecast.places_px {
                horizon[joint as usize] = [x_px + dx, y];
            }
        }
        TrackedPerson { track_id, score: 0.9, forecast, seen: None, place: None }
    }

    fn frame(at_ms: i64, people: &[TrackedPerson]) -> PoseFrame {
        let mut persons = [None; MAX_PERSONS];
        for (place, person) in persons.iter_mut().zip(people) {
            let forecast = Forecast { captured_at_us: 1_000 * at_ms, ..person.forecast };
            *place = Some(TrackedPerson { forecast, ..*person });
        }
        PoseFrame {
            seq: 0,
            frame: 0,
            captured_at_us: 1_000 * at_ms,
            width: 400,
            height: 400,
            persons,
            floor: None,
        }
    }

    fn door() -> Zones {
        let polygon = vec![[0.0, 0.5], [0.5, 0.5], [0.5, 1.0], [0.0, 1.0]];
        Zones { zones: vec![Zone { name: "door".into(), at: At::Feet, polygon }] }
    }

    /// Every event with its time in milliseconds, from frames `every_ms` apart.
    fn told(
        every_ms: i64,
        until_ms: i64,
        scene: impl Fn(i64) -> Vec<TrackedPerson>,
    ) -> Vec<(i64, u32, &'static str)> {
        let mut watch = Watch::new(door());
        let mut all = Vec::new();
        for at_ms in (0..until_ms).step_by(every_ms as usize) {
            watch_frame(&mut watch, &frame(at_ms, &scene(at_ms)), |e| {
                all.push((e.at_us / 1_000, e.track_id, e.what.name()));
            });
        }
        all
    }

    #[test]
    fn somebody_comes_through_the_door_raises_a_hand_and_goes() {
        let scene = |at_ms| match at_ms {
            1_000..2_000 => vec![person(7, 100.0, false)],
            2_000..3_000 => vec![person(7, 300.0, false)],
            3_000..4_000 => vec![person(7, 300.0, true)],
            4_000..5_000 => vec![person(7, 100.0, false)],
            _ => vec![],
        };
        let names =
            |events: Vec<(i64, u32, &'static str)>| events.into_iter().map(|e| e.2).collect::<Vec<_>>();
        let events = told(20, 6_000, scene);
        assert_eq!(
            events,
            [
                (1_000, 7, "appear"),
                (1_200, 7, "enter"),
                (1_300, 0, "count"),
                (2_500, 7, "exit"),
                (3_300, 7, "left_hand_raised"),
                (4_200, 7, "enter"),
                (4_400, 7, "left_hand_lowered"),
                (5_500, 7, "exit"),
                (5_500, 7, "leave"),
                (5_500, 0, "count"),
            ]
        );
        // Dropped frames delay events and lose none.
        assert_eq!(names(told(100, 6_000, scene)), names(events));
    }

    #[test]
    fn what_is_only_expected_has_not_happened() {
        // Somebody on their way to the door: a moment later they would be in it.
        let scene = |_| {
            let mut walking = person(7, 300.0, false);
            walking.forecast.places_px[1..].fill(person(7, 100.0, false).forecast.places_px[0]);
            vec![walking]
        };
        let names: Vec<_> = told(20, 2_000, scene).iter().map(|event| event.2).collect();
        assert_eq!(names, ["appear", "count"]);
    }

    fn at(joints: &[(Joint, f32, f32)]) -> Pose {
        let mut pose = Pose::default();
        for &(joint, x_px, y_px) in joints {
            pose.joints[joint as usize] =
                PoseJoint { x_px, y_px, score: 0.9, sigma_px: 1.0, state: JointState::Measured };
        }
        pose
    }

    #[test]
    fn corners_hold_at_every_resolution_and_a_bay_is_outside() {
        // A U: its bay lies between the two arms.
        let text = "[[zone]]\nname = \"u\"\nat = \"head\"\npolygon = [[0.0,0.0],[0.2,0.0],[0.2,0.8],[0.8,0.8],[0.8,0.0],[1.0,0.0],[1.0,1.0],[0.0,1.0]]";
        let zone = &Zones::parse(text, Plane::Picture).unwrap().zones[0];
        for size_px in [[640, 480], [1920, 1080], [10, 10]] {
            let head = |x: f32, y: f32| {
                let pose = at(&[(Joint::Nose, x * size_px[0] as f32, y * size_px[1] as f32)]);
                zone.holds(&InPicture { pose, size_px })[0]
            };
            for (x, y, is_inside) in
                [(0.1, 0.1, true), (0.5, 0.5, false), (0.9, 0.5, true), (0.5, 0.9, true), (1.2, 0.9, false)]
            {
                assert_eq!(head(x, y), Some(is_inside), "{x} {y} in {size_px:?}");
            }
        }
        let nobody = InPicture { pose: Pose::default(), size_px: [640, 480] };
        assert_eq!(zone.holds(&nobody), [None; 2]);
    }
}
