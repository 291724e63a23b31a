//! Watches who is there and what they do.

use pose::gesture::{Fall, Held, arms_crossed, hands_raised};
use pose::{MAX_PERSONS, Pose, PoseFrame};

use super::zones::Zones;

/// In a zone for so long, microseconds: who walks along its edge is not in it with every step.
const ENTER_AFTER_US: i64 = 200_000;
/// Out of it for so long.
const EXIT_AFTER_US: i64 = 500_000;
/// A gesture held for so long is meant.
const GESTURE_AFTER_US: i64 = 300_000;
/// And over after so long.
const GESTURE_ENDS_US: i64 = 400_000;
/// Another number of persons for so long is another number.
const COUNT_AFTER_US: i64 = 300_000;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A person is there.
    Appear,
    /// They are not any more.
    Leave,
    /// They are in the zone of this place in [`Zones`].
    Enter(usize),
    /// They are out of it.
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
}

/// Every word that an event may have.
#[cfg(feature = "mqtt")]
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
    /// The frame in which it held long enough, microseconds of the clock that stamps frames.
    pub captured_at_us: i64,
    /// Persons in that frame.
    pub persons: usize,
}

/// The signs that a person gives, besides their zones.
const SIGNS: [(What, What); 4] = [
    (What::LeftHandRaised, What::LeftHandLowered),
    (What::RightHandRaised, What::RightHandLowered),
    (What::ArmsCrossed, What::ArmsUncrossed),
    (What::Fall, What::GotUp),
];

/// What is known of one person.
#[derive(Debug)]
struct Watched {
    track_id: u32,
    hands: [Held; 2],
    arms: Held,
    fall: Fall,
    /// What was told last of each of [`SIGNS`].
    told: [bool; SIGNS.len()],
    zones: Vec<Held>,
    told_zones: Vec<bool>,
}

impl Watched {
    fn new(track_id: u32, zones: usize) -> Self {
        let gesture = Held::new(GESTURE_AFTER_US, GESTURE_ENDS_US);
        Self {
            track_id,
            hands: [gesture; 2],
            arms: gesture,
            fall: Fall::new(),
            told: [false; SIGNS.len()],
            zones: vec![Held::new(ENTER_AFTER_US, EXIT_AFTER_US); zones],
            told_zones: vec![false; zones],
        }
    }

    /// What began or ended with this pose.
    fn update(
        &mut self,
        pose: &Pose,
        at_us: i64,
        zones: &Zones,
        size_px: [u32; 2],
        mut tell: impl FnMut(What),
    ) {
        for (i, zone) in zones.zones.iter().enumerate() {
            let is_in = self.zones[i].update(zone.holds(pose, size_px), at_us);
            if is_in != std::mem::replace(&mut self.told_zones[i], is_in) {
                tell(if is_in { What::Enter(i) } else { What::Exit(i) });
            }
        }
        let [left, right] = hands_raised(pose);
        let signs = [
            self.hands[0].update(left, at_us),
            self.hands[1].update(right, at_us),
            self.arms.update(arms_crossed(pose), at_us),
            self.fall.update(pose, at_us),
        ];
        for ((is_on, told), (begins, ends)) in signs.into_iter().zip(&mut self.told).zip(SIGNS) {
            if is_on != std::mem::replace(told, is_on) {
                tell(if is_on { begins } else { ends });
            }
        }
    }
}

/// Turns frames into events. Time is the frames' own, so a replay tells the same events every time.
#[derive(Debug)]
pub struct Watch {
    zones: Zones,
    people: Vec<Watched>,
    /// The number told last, another one, and since when there are so many.
    count: usize,
    other: Option<(usize, i64)>,
}

impl Watch {
    /// Knows nobody.
    pub fn new(zones: Zones) -> Self {
        Self { zones, people: Vec::with_capacity(MAX_PERSONS), count: 0, other: None }
    }

    /// The zones that are watched.
    pub fn zones(&self) -> &Zones {
        &self.zones
    }

    /// Takes the next frame; `tell` gets what happened, in the order of the frame's persons. Allocates where somebody is new.
    pub fn update(&mut self, frame: &PoseFrame, mut tell: impl FnMut(Event)) {
        let at_us = frame.captured_at_us;
        let persons = frame.persons.iter().flatten().count();
        let mut happened = |track_id, what| tell(Event { what, track_id, captured_at_us: at_us, persons });
        self.people.retain(|known| {
            let is_there = frame.persons.iter().flatten().any(|p| p.track_id == known.track_id);
            if !is_there {
                let zones = known.told_zones.iter().enumerate().filter(|(_, is_in)| **is_in);
                zones.for_each(|(i, _)| happened(known.track_id, What::Exit(i)));
                happened(known.track_id, What::Leave);
            }
            is_there
        });
        for pose in frame.poses_at(at_us) {
            let pose = pose.value;
            let known = self.people.iter().position(|known| known.track_id == pose.track_id);
            let place = known.unwrap_or_else(|| {
                happened(pose.track_id, What::Appear);
                self.people.push(Watched::new(pose.track_id, self.zones.zones.len()));
                self.people.len() - 1
            });
            let size_px = [frame.width, frame.height];
            self.people[place]
                .update(&pose, at_us, &self.zones, size_px, |what| happened(pose.track_id, what));
        }
        self.other = match self.other {
            _ if persons == self.count => None,
            Some((other, since_us)) if other == persons && at_us >= since_us => {
                if at_us - since_us >= COUNT_AFTER_US {
                    self.count = persons;
                    happened(0, What::Count);
                    None
                } else {
                    self.other
                }
            }
            _ => Some((persons, at_us)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::zones::{At, Zone};
    use super::*;
    use pose::{Forecast, Joint, JointState, TrackedPerson};

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
            watch.update(&frame(at_ms, &scene(at_ms)), |e| {
                all.push((e.captured_at_us / 1_000, e.track_id, e.what.name()));
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
                (5_000, 7, "exit"),
                (5_000, 7, "leave"),
                (5_300, 0, "count"),
            ]
        );
        // Dropped frames delay events and lose none.
        assert_eq!(names(told(100, 6_000, scene)), names(events));
    }

    #[test]
    fn flickers_tell_nothing() {
        let scene = |at_ms: i64| {
            vec![person(7, if at_ms / 100 % 2 == 0 { 100.0 } else { 300.0 }, at_ms / 200 % 2 == 0)]
        };
        assert_eq!(told(20, 4_000, scene), [(0, 7, "appear"), (300, 0, "count")]);
    }
}
