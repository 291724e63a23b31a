//! Watches who is there and what they do.

use pose::gesture::{Fall, Held, arms_crossed, hands_raised};
use pose::{Joint, Pose};
use serde_json::{Value, json};

use crate::{Event, What, Zones};

/// In a zone for so long, microseconds: who walks along its edge is not in it with every step.
const ENTER_AFTER_US: i64 = 200_000;
/// Out of it for so long.
const EXIT_AFTER_US: i64 = 500_000;
/// Missing for so long: whoever the tracker is silent of for some frames has not left.
const GONE_AFTER_US: i64 = 500_000;
/// A gesture held for so long is meant.
const GESTURE_AFTER_US: i64 = 300_000;
/// And over after so long.
const GESTURE_ENDS_US: i64 = 400_000;
/// More persons for so long are more.
const COUNT_AFTER_US: i64 = 300_000;
/// After so long without a moment nobody knows how many there are, until a number has held again.
pub const BLIND_AFTER_US: i64 = 5_000_000;

/// A person as they are watched at one moment.
pub trait Person {
    /// Who they are.
    fn track_id(&self) -> u32;

    /// Where a joint is in the plane that zones lie in; `None` where nobody knows well enough.
    fn place(&self, joint: Joint) -> Option<[f32; 2]>;

    /// Two upright pictures of them, of any size: from before, for gestures, and one in which a trunk that leans is seen to, for falls. `None`
    /// where nobody can say how they would look.
    fn pictures(&self) -> [Option<Pose>; 2];
}

/// The signs that a person gives, besides their zones.
const SIGNS: [(What, What); 4] = [
    (What::LeftHandRaised, What::LeftHandLowered),
    (What::RightHandRaised, What::RightHandLowered),
    (What::ArmsCrossed, What::ArmsUncrossed),
    (What::Fall, What::GotUp),
];

/// What is known of one person.
#[derive(Clone, Debug)]
struct Watched {
    track_id: u32,
    gone: Held,
    hands: [Held; 2],
    arms: Held,
    fall: Fall,
    /// What was told last of each of [`SIGNS`].
    told: [bool; SIGNS.len()],
    /// Of each zone, by either answer of [`crate::Zone::holds`], and what was told of it last.
    zones: Vec<([Held; 2], bool)>,
}

impl Watched {
    fn new(track_id: u32, zones: usize) -> Self {
        let gesture = Held::new(GESTURE_AFTER_US, GESTURE_ENDS_US);
        Self {
            track_id,
            gone: Held::new(GONE_AFTER_US, 0),
            hands: [gesture; 2],
            arms: gesture,
            fall: Fall::new(),
            told: [false; SIGNS.len()],
            zones: vec![([Held::new(ENTER_AFTER_US, EXIT_AFTER_US); 2], false); zones],
        }
    }

    /// What began or ended with this moment. Of whom nobody can say anything, or who is not there, nothing begins and nothing ends.
    fn update(
        &mut self,
        person: Option<&impl Person>,
        at_us: i64,
        zones: &Zones,
        mut tell: impl FnMut(What),
    ) {
        for (i, (zone, ([first, second], told))) in zones.zones.iter().zip(&mut self.zones).enumerate() {
            let holds = person.map_or([None; 2], |person| zone.holds(person));
            let is_in = first.update(holds[0], at_us) | second.update(holds[1], at_us);
            if is_in != std::mem::replace(told, is_in) {
                tell(if is_in { What::Enter(i) } else { What::Exit(i) });
            }
        }
        // As of a pose without joints.
        let pictures = person.map_or([None; 2], Person::pictures);
        let [before, beside] = pictures.map(Option::unwrap_or_default);
        let [left, right] = hands_raised(&before);
        let signs = [
            self.hands[0].update(left, at_us),
            self.hands[1].update(right, at_us),
            self.arms.update(arms_crossed(&before), at_us),
            self.fall.update(&beside, at_us),
        ];
        for ((is_on, told), (begins, ends)) in signs.into_iter().zip(&mut self.told).zip(SIGNS) {
            if is_on != std::mem::replace(told, is_on) {
                tell(if is_on { begins } else { ends });
            }
        }
    }
}

/// Turns moments into events. Time is the moments' own, so a replay tells the same events every time.
#[derive(Clone, Debug)]
pub struct Watch {
    zones: Zones,
    people: Vec<Watched>,
    /// The number told last, another one, and since when there are so many.
    count: usize,
    other: Option<(usize, i64)>,
    /// Whether the number told last has held since there were moments, and since when it does where it has not for long enough.
    is_counted: bool,
    same_since_us: Option<i64>,
    last_us: Option<i64>,
}

impl Watch {
    /// Knows nobody.
    pub fn new(zones: Zones) -> Self {
        Self {
            zones,
            people: Vec::with_capacity(pose::MAX_PERSONS),
            count: 0,
            other: None,
            is_counted: false,
            same_since_us: None,
            last_us: None,
        }
    }

    /// Whether a number of persons has held: before that, nobody is not known to be there.
    pub fn is_counted(&self) -> bool {
        self.is_counted
    }

    /// The zones that are watched.
    pub fn zones(&self) -> &Zones {
        &self.zones
    }

    /// Who is there, as a broker keeps it: made of events, so that a flicker is no change. Nulls where nothing is known, which is so
    /// until a number of persons has held, and never more persons in a zone than there are.
    pub fn said(&self, is_known: bool) -> Value {
        let known = |value: Value| if is_known && self.is_counted { value } else { Value::Null };
        let zone = |(place, zone): (usize, &crate::Zone)| {
            // Who has got another number is in it twice until the first one has left.
            let inside = self.people.iter().filter(|known| known.zones[place].1).count().min(self.count);
            json!({"name": zone.name, "persons": known(inside.into())})
        };
        let zones: Vec<Value> = self.zones.zones.iter().enumerate().map(zone).collect();
        json!({"presence": known((self.count > 0).into()), "persons": known(self.count.into()), "zones": zones})
    }

    /// Takes the people of the next moment; `tell` gets what happened, in their order. Whoever is missing is told to have left
    /// in the moment in which they have been missing for half a second; until then they are where they were. Allocates where
    /// somebody is new.
    pub fn update<'a, P: Person + 'a>(
        &mut self,
        at_us: i64,
        people: impl Iterator<Item = &'a P> + Clone,
        mut tell: impl FnMut(Event),
    ) {
        let persons = people.clone().count();
        let mut happened = |track_id, what| tell(Event { what, track_id, at_us, persons });
        self.people.retain_mut(|known| {
            let track_id = known.track_id;
            let is_there = people.clone().any(|person| person.track_id() == track_id);
            let is_gone = known.gone.update(Some(!is_there), at_us);
            if is_gone {
                let inside = known.zones.iter().enumerate().filter(|(_, (_, is_in))| *is_in);
                inside.for_each(|(place, _)| happened(track_id, What::Exit(place)));
                happened(track_id, What::Leave);
            } else if !is_there {
                known.update(None::<&P>, at_us, &self.zones, |what| happened(track_id, what));
            }
            !is_gone
        });
        for person in people {
            let track_id = person.track_id();
            let known = self.people.iter().position(|known| known.track_id == track_id);
            let place = known.unwrap_or_else(|| {
                happened(track_id, What::Appear);
                self.people.push(Watched::new(track_id, self.zones.zones.len()));
                self.people.len() - 1
            });
            self.people[place].update(Some(person), at_us, &self.zones, |what| happened(track_id, what));
        }
        if self.last_us.replace(at_us).is_none_or(|last_us| at_us.saturating_sub(last_us) >= BLIND_AFTER_US) {
            (self.is_counted, self.same_since_us) = (false, None);
        }
        self.same_since_us = (persons == self.count).then(|| self.same_since_us.unwrap_or(at_us));
        self.is_counted |= self.same_since_us.is_some_and(|since_us| at_us - since_us >= GONE_AFTER_US);
        // Fewer when those who are missing have left: the number and the zones say the same.
        let after_us = if persons < self.count { GONE_AFTER_US } else { COUNT_AFTER_US };
        self.other = match self.other {
            _ if persons == self.count => None,
            Some((other, since_us)) if other == persons && at_us >= since_us => {
                if at_us - since_us >= after_us {
                    (self.count, self.is_counted) = (persons, true);
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
    use super::*;
    use crate::{At, Zone};
    use pose::{JointState, PoseJoint};

    /// Somebody whose every joint is at one place, and how their trunk lies, seen from beside alone: `None` where nobody can say.
    struct Somebody {
        at: [f32; 2],
        lies: Option<bool>,
    }

    impl Person for Somebody {
        fn track_id(&self) -> u32 {
            7
        }
        fn place(&self, _: Joint) -> Option<[f32; 2]> {
            Some(self.at)
        }
        fn pictures(&self) -> [Option<Pose>; 2] {
            let pose = self.lies.map(|lies| {
                let mut pose = Pose::default();
                for (joint, up_px) in [
                    (Joint::LeftHip, 0.0),
                    (Joint::RightHip, 0.0),
                    (Joint::LeftShoulder, 100.0),
                    (Joint::RightShoulder, 100.0),
                ] {
                    let [x_px, y_px] = if lies { [up_px, 0.0] } else { [0.0, -up_px] };
                    pose.joints[joint as usize] =
                        PoseJoint { x_px, y_px, score: 0.9, sigma_px: 1.0, state: JointState::Measured };
                }
                pose
            });
            [None, pose]
        }
    }

    /// Who stands and is seen from before alone, with each wrist somewhere; nobody knows where.
    struct Gesturing {
        id: u32,
        wrists: [[f32; 2]; 2],
    }

    impl Person for Gesturing {
        fn track_id(&self) -> u32 {
            self.id
        }
        fn place(&self, _: Joint) -> Option<[f32; 2]> {
            None
        }
        fn pictures(&self) -> [Option<Pose>; 2] {
            let mut pose = Pose::default();
            for (joint, [x_px, y_px]) in [
                (Joint::LeftShoulder, [30.0, 0.0]),
                (Joint::RightShoulder, [-30.0, 0.0]),
                (Joint::LeftHip, [20.0, 100.0]),
                (Joint::RightHip, [-20.0, 100.0]),
                (Joint::LeftWrist, self.wrists[0]),
                (Joint::RightWrist, self.wrists[1]),
            ] {
                pose.joints[joint as usize] =
                    PoseJoint { x_px, y_px, score: 0.9, sigma_px: 1.0, state: JointState::Measured };
            }
            [Some(pose), None]
        }
    }

    /// Whose hands alone are known: whether each is in the zone.
    struct Hands([Option<bool>; 2]);

    impl Person for Hands {
        fn track_id(&self) -> u32 {
            7
        }
        fn place(&self, joint: Joint) -> Option<[f32; 2]> {
            let is_in = match joint {
                Joint::LeftWrist => self.0[0],
                Joint::RightWrist => self.0[1],
                _ => None,
            };
            is_in.map(|is_in| if is_in { [0.5, 0.5] } else { [2.0, 0.5] })
        }
        fn pictures(&self) -> [Option<Pose>; 2] {
            [None; 2]
        }
    }

    fn told<P: Person>(at: At, scene: impl Fn(i64) -> Option<P>) -> Vec<(i64, &'static str)> {
        let polygon = vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let mut watch = Watch::new(Zones { zones: vec![Zone { name: "z".into(), at, polygon }] });
        let mut all = Vec::new();
        for at_ms in (0..10_000).step_by(20) {
            let somebody = scene(at_ms);
            watch.update(1_000 * at_ms, somebody.iter(), |event| all.push((at_ms, event.what.name())));
            let said = watch.said(true);
            assert_eq!(said["presence"], json!(said["persons"].as_u64().map(|persons| persons != 0)));
            assert_eq!(watch.said(false)["zones"][0]["persons"], Value::Null);
        }
        all
    }

    #[test]
    fn gestures_are_told_of_the_hand_that_makes_them_once_they_have_held() {
        let scene = |at_ms: i64| {
            let [left, right] = [[45.0, 100.0], [-45.0, 100.0]];
            let [left_up, right_up] = [[45.0, -60.0], [-45.0, -60.0]];
            let wrists = match at_ms {
                1_000..2_000 => [left_up, right],
                3_000..4_000 => [left, right_up],
                5_000..6_000 => [[-20.0, 50.0], [20.0, 50.0]],
                // Too short, and let go of for too short.
                7_000..7_280 => [left_up, right_up],
                8_000..8_400 | 8_780..9_000 => [left_up, right],
                _ => [left, right],
            };
            Some(Gesturing { id: 7, wrists })
        };
        let expected = [
            (0, "appear"),
            (300, "count"),
            (1_300, "left_hand_raised"),
            (2_400, "left_hand_lowered"),
            (3_300, "right_hand_raised"),
            (4_400, "right_hand_lowered"),
            (5_300, "arms_crossed"),
            (6_400, "arms_uncrossed"),
            (8_300, "left_hand_raised"),
            (9_400, "left_hand_lowered"),
        ];
        assert_eq!(told(At::Feet, scene), expected);
    }

    /// Stands at the hips' place; nobody knows more.
    struct Stands(u32, f32);

    impl Person for Stands {
        fn track_id(&self) -> u32 {
            self.0
        }
        fn place(&self, joint: Joint) -> Option<[f32; 2]> {
            matches!(joint, Joint::LeftHip | Joint::RightHip).then_some([self.1, 0.5])
        }
        fn pictures(&self) -> [Option<Pose>; 2] {
            [None; 2]
        }
    }

    #[test]
    fn of_several_each_is_told_by_their_own_number_and_zones_are_counted_by_themselves() {
        let zone = |name: &str, x: f32| Zone {
            name: name.into(),
            at: At::Hips,
            polygon: vec![[x, 0.0], [x + 1.0, 0.0], [x + 1.0, 1.0], [x, 1.0]],
        };
        let mut watch = Watch::new(Zones { zones: vec![zone("a", 0.0), zone("b", 1.0)] });
        let mut all = Vec::new();
        let mut go = |from_ms: i64, to_ms: i64, there: &[Stands]| {
            for at_ms in (from_ms..to_ms).step_by(20) {
                watch.update(1_000 * at_ms, there.iter(), |e| {
                    all.push((at_ms, e.track_id, e.what, e.persons))
                });
            }
            let said = watch.said(true);
            [&said["persons"], &said["zones"][0]["persons"], &said["zones"][1]["persons"]].map(|n| n.as_u64())
        };
        assert_eq!(
            go(0, 1_000, &[Stands(3, 0.5), Stands(8, 1.5), Stands(9, 1.5)]),
            [Some(3), Some(1), Some(2)]
        );
        assert_eq!(go(1_000, 2_000, &[Stands(8, 1.5)]), [Some(1), Some(0), Some(1)]);
        // A clock that goes back: what was not told yet is counted from there.
        assert_eq!(go(2_000, 2_100, &[Stands(8, 1.5), Stands(9, 2.5)]), [Some(1), Some(0), Some(1)]);
        assert_eq!(go(100, 1_000, &[Stands(8, 1.5), Stands(9, 2.5)]), [Some(2), Some(0), Some(1)]);
        let expected = [
            (0, 3, What::Appear, 3),
            (0, 8, What::Appear, 3),
            (0, 9, What::Appear, 3),
            (200, 3, What::Enter(0), 3),
            (200, 8, What::Enter(1), 3),
            (200, 9, What::Enter(1), 3),
            (300, 0, What::Count, 3),
            (1_500, 3, What::Exit(0), 1),
            (1_500, 3, What::Leave, 1),
            (1_500, 9, What::Exit(1), 1),
            (1_500, 9, What::Leave, 1),
            (1_500, 0, What::Count, 1),
            (2_000, 9, What::Appear, 2),
            (400, 0, What::Count, 2),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_number_is_said_once_it_has_held_and_no_zone_has_more() {
        let polygon = vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
        let zone = Zone { name: "z".into(), at: At::Hips, polygon };
        let mut watch = Watch::new(Zones { zones: vec![zone] });
        let mut go = |from_ms: i64, to_ms: i64, there: &[Stands]| {
            (from_ms..to_ms).step_by(20).for_each(|at_ms| watch.update(1_000 * at_ms, there.iter(), |_| ()));
            let said = watch.said(true);
            [&said["persons"], &said["zones"][0]["persons"]].map(Value::as_u64)
        };
        let unknown = [None; 2];
        // In the zone after 0.2 s, and counted after 0.3 s.
        assert_eq!(go(0, 300, &[Stands(3, 0.5)]), unknown);
        assert_eq!(go(300, 320, &[Stands(3, 0.5)]), [Some(1), Some(1)]);
        // Under another number: the first one has not left yet.
        assert_eq!(go(320, 700, &[Stands(4, 0.5)]), [Some(1), Some(1)]);
        assert_eq!(go(700, 1_000, &[Stands(4, 0.5), Stands(5, 0.5)]), [Some(1), Some(1)]);
        assert_eq!(go(1_000, 2_000, &[Stands(4, 0.5), Stands(5, 0.5)]), [Some(2), Some(2)]);
        // Nobody has looked for so long, and nobody is there.
        assert_eq!(go(7_000, 7_500, &[]), unknown);
        assert_eq!(go(7_500, 7_520, &[]), [Some(0), Some(0)]);
        assert_eq!(go(7_520, 12_600, &[]), [Some(0), Some(0)]);
        // As many as before.
        assert_eq!(go(20_000, 20_500, &[]), unknown);
        assert_eq!(go(20_500, 20_520, &[]), [Some(0), Some(0)]);
    }

    #[test]
    fn flickers_tell_nothing() {
        let scene = |at_ms: i64| {
            let x = if at_ms / 100 % 2 == 0 { 0.5 } else { 2.0 };
            Some(Somebody { at: [x, 0.5], lies: Some(at_ms / 100 % 3 == 0) })
        };
        assert_eq!(told(At::Feet, scene), [(0, "appear"), (300, "count")]);
    }

    #[test]
    fn who_is_missing_for_a_moment_goes_on_and_who_stays_away_has_left() {
        let scene = |at_ms: i64| {
            let is_there = !matches!(at_ms, 2_500 | 5_000..5_280 | 9_000..);
            is_there.then(|| Somebody { at: [0.5, 0.5], lies: Some((2_000..8_000).contains(&at_ms)) })
        };
        let expected = [
            (0, "appear"),
            (200, "enter"),
            (300, "count"),
            // A second of lying, but for the 20 ms in which nobody knows.
            (3_020, "fall"),
            (8_300, "got_up"),
            (9_500, "exit"),
            (9_500, "leave"),
            (9_500, "count"),
        ];
        assert_eq!(told(At::Feet, scene), expected);
    }

    #[test]
    fn a_hidden_hand_stays_where_it_was_and_one_never_seen_holds_nobody() {
        let hidden = |at_ms: i64| match at_ms {
            0..1_000 => Some(Hands([Some(true), Some(false)])),
            1_000..2_000 => Some(Hands([None, Some(false)])),
            _ => Some(Hands([Some(false); 2])),
        };
        let begins = [(0, "appear"), (200, "enter"), (300, "count")];
        assert_eq!(told(At::Hands, hidden), [&begins[..], &[(2_500, "exit")]].concat());
        let one_handed = |at_ms: i64| Some(Hands([None, Some(at_ms < 1_000)]));
        assert_eq!(told(At::Hands, one_handed), [&begins[..], &[(1_500, "exit")]].concat());
    }

    #[test]
    fn who_has_fallen_lies_there_as_long_as_nobody_can_say_otherwise() {
        let scene = |at_ms: i64| {
            let lies = match at_ms {
                0..2_000 => Some(false),
                2_000..5_000 => Some(true),
                // A table hides them.
                5_000..6_000 => None,
                6_000..8_000 => Some(true),
                _ => Some(false),
            };
            Some(Somebody { at: [2.0, 0.5], lies })
        };
        assert_eq!(
            told(At::Feet, scene),
            [(0, "appear"), (300, "count"), (3_000, "fall"), (8_300, "got_up")]
        );
    }
}
