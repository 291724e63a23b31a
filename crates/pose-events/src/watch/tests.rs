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
            watch.update(1_000 * at_ms, there.iter(), |e| all.push((at_ms, e.track_id, e.what, e.persons)));
        }
        let said = watch.said(true);
        [&said["persons"], &said["zones"][0]["persons"], &said["zones"][1]["persons"]].map(|n| n.as_u64())
    };
    assert_eq!(go(0, 1_000, &[Stands(3, 0.5), Stands(8, 1.5), Stands(9, 1.5)]), [Some(3), Some(1), Some(2)]);
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
fn who_is_always_there_is_counted_beside_somebody_seen_now_and_then() {
    let all = [3, 4, 5].map(|id| Stands(id, 0.5));
    let mut watch = Watch::new(Zones { zones: Vec::new() });
    let mut counts = Vec::new();
    // By turns so many and so many, each for 0.2 s.
    let mut go = |from_ms: i64, to_ms: i64, by_turns: [usize; 2]| {
        for at_ms in (from_ms..to_ms).step_by(20) {
            let there = &all[..by_turns[(at_ms / 200 % 2) as usize]];
            watch.update(1_000 * at_ms, there.iter(), |e| {
                if e.what == What::Count {
                    counts.push((at_ms, e.persons));
                }
            });
        }
        watch.said(true)["persons"].as_u64()
    };
    assert_eq!(go(0, 1_000, [0, 0]), Some(0));
    assert_eq!(go(1_000, 2_000, [2, 1]), Some(1), "more");
    assert_eq!(go(2_000, 3_000, [3, 3]), Some(3));
    assert_eq!(go(3_000, 4_000, [0, 1]), Some(1), "fewer");
    assert_eq!(go(4_000, 5_000, [0, 2]), Some(1), "now fewer and now more");
    // After time in which nobody looked.
    assert_eq!(go(15_000, 15_500, [1, 2]), None);
    assert_eq!(go(15_500, 15_520, [1, 2]), Some(1));
    assert_eq!(counts, [(1_300, 1), (2_300, 3), (3_500, 1)]);
}

#[test]
fn time_in_which_nobody_looked_is_no_time_in_which_more_were_there() {
    let mut watch = Watch::new(Zones { zones: Vec::new() });
    let mut go = |from_ms: i64, to_ms: i64, there: &[Stands]| {
        (from_ms..to_ms).step_by(20).for_each(|at_ms| watch.update(1_000 * at_ms, there.iter(), |_| ()));
        watch.said(true)["persons"].as_u64()
    };
    assert_eq!(go(0, 1_000, &[]), Some(0));
    assert_eq!(go(1_000, 1_100, &[Stands(3, 0.5)]), Some(0), "not for long enough");
    assert_eq!(go(61_000, 61_300, &[Stands(3, 0.5)]), None, "a frame after a minute");
    assert_eq!(go(61_300, 61_320, &[Stands(3, 0.5)]), Some(1));
}

#[test]
fn who_is_missing_in_the_frames_before_and_after_a_stall_has_not_left() {
    let mut watch = Watch::new(Zones { zones: Vec::new() });
    let mut all = Vec::new();
    let mut go = |at_ms: i64, there: &[Stands]| {
        watch.update(1_000 * at_ms, there.iter(), |e| all.push((at_ms, e.what)));
    };
    (0..1_000).step_by(20).for_each(|at_ms| go(at_ms, &[Stands(3, 0.5)]));
    [1_000, 4_000].into_iter().for_each(|at_ms| go(at_ms, &[]));
    (4_020..5_000).step_by(20).for_each(|at_ms| go(at_ms, &[Stands(3, 0.5)]));
    assert_eq!(all, [(0, What::Appear), (300, What::Count)]);
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
    assert_eq!(told(At::Feet, scene), [(0, "appear"), (300, "count"), (3_000, "fall"), (8_300, "got_up")]);
}

#[test]
fn a_fall_outlasts_time_in_which_they_were_out_of_sight_under_the_same_number() {
    let scene = |lies: fn(i64) -> bool, hidden: std::ops::Range<i64>| {
        let at = move |at_ms| {
            let somebody = Somebody { at: [2.0, 0.5], lies: Some(lies(at_ms)) };
            (!hidden.contains(&at_ms)).then_some(somebody)
        };
        told(At::Feet, at).into_iter().filter(|event| event.1 != "count").collect::<Vec<_>>()
    };
    let begun = scene(|at_ms| at_ms >= 2_000, 2_300..4_000);
    // 300 ms of lying, and 700 ms.
    assert_eq!(begun, [(0, "appear"), (2_800, "leave"), (4_000, "appear"), (4_700, "fall")]);
    let ended = scene(|at_ms| (2_000..5_000).contains(&at_ms), 4_000..5_000);
    let expected = [(0, "appear"), (3_000, "fall"), (4_500, "leave"), (5_000, "appear"), (5_300, "got_up")];
    assert_eq!(ended, expected);
}
