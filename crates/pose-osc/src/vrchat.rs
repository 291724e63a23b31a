//! VRChat's OSC trackers: hips, chest, feet, knees and elbows of one person, and their head, in metres of Unity's space.
//!
//! VRChat lays the head that is sent over the player's own, and the rest with it.

use pose::Joint;

use crate::avatar::{Seen, between};

/// How far down the trunk the chest is, from shoulders to hips.
const CHEST: f32 = 0.3;

/// Address and the joints between which the tracker is; the chest is made of these and the hips.
const TRACKERS: [(&str, [Joint; 2]); 8] = [
    ("/tracking/trackers/1/position", [Joint::LeftHip, Joint::RightHip]),
    ("/tracking/trackers/2/position", [Joint::LeftShoulder, Joint::RightShoulder]),
    ("/tracking/trackers/3/position", [Joint::LeftAnkle; 2]),
    ("/tracking/trackers/4/position", [Joint::RightAnkle; 2]),
    ("/tracking/trackers/5/position", [Joint::LeftKnee; 2]),
    ("/tracking/trackers/6/position", [Joint::RightKnee; 2]),
    ("/tracking/trackers/7/position", [Joint::LeftElbow; 2]),
    ("/tracking/trackers/8/position", [Joint::RightElbow; 2]),
];
const CHEST_TRACKER: usize = 1;
const HEAD: &str = "/tracking/trackers/head/position";

/// Gives address and place of every tracker whose joints are known.
///
/// # Errors
/// What `send` says; the rest of the moment is left out then.
pub fn messages<E>(seen: &Seen, mut send: impl FnMut(&str, [f32; 3]) -> Result<(), E>) -> Result<(), E> {
    let hips = seen.middle([Joint::LeftHip, Joint::RightHip]);
    for (i, (address, joints)) in TRACKERS.iter().enumerate() {
        let mut place = seen.middle(*joints);
        if i == CHEST_TRACKER {
            place = place.zip(hips).map(|(shoulders, hips)| between(shoulders, hips, CHEST));
        }
        if let Some(place) = place {
            send(address, seen.in_room(place))?;
        }
    }
    let ears = seen.middle([Joint::LeftEar, Joint::RightEar]);
    match ears.or_else(|| seen.middle([Joint::Nose; 2])) {
        Some(head) => send(HEAD, seen.in_room(head)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use pose::JOINTS;

    use super::*;

    /// Every joint at a place of its own.
    fn somebody() -> Seen {
        let joints_m = std::array::from_fn(|j| Some([j as f32, 10.0 * j as f32, 0.5]));
        Seen { id: 1, joints_m, hips_m: [100.0, 1.0, -0.5] }
    }

    fn told(seen: &Seen) -> Vec<(String, [f32; 3])> {
        let mut told = Vec::new();
        let Ok(()) = messages(seen, |address, place| {
            let name = address.trim_start_matches("/tracking/trackers/").trim_end_matches("/position");
            told.push((name.to_owned(), place));
            Ok::<(), std::convert::Infallible>(())
        });
        told
    }

    #[test]
    fn every_tracker_is_where_its_joints_are_in_the_room() {
        let (hips, shoulders) = (11.5, 5.5);
        let places = [
            ("1", hips),
            ("2", shoulders + 0.3 * (hips - shoulders)),
            ("3", 15.0),
            ("4", 16.0),
            ("5", 13.0),
            ("6", 14.0),
            ("7", 7.0),
            ("8", 8.0),
            ("head", 3.5),
        ];
        let all = told(&somebody());
        assert_eq!(all.len(), places.len());
        for ((name, [x, y, z]), (wanted, j)) in all.iter().zip(places) {
            assert_eq!(name, wanted);
            let off = (x - 100.0 - j).abs().max((y - 1.0 - 10.0 * j).abs()).max(z.abs());
            assert!(off < 1e-4, "{name}: {x} {y} {z}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_sent_and_the_nose_stands_for_the_ears() {
        let mut seen = somebody();
        for joint in [Joint::LeftHip, Joint::RightEar, Joint::LeftKnee] {
            seen.joints_m[joint as usize] = None;
        }
        let names = |seen: &Seen| told(seen).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(&seen), ["3", "4", "6", "7", "8", "head"]);
        assert_eq!(told(&seen)[5].1, seen.in_room([0.0, 0.0, 0.5]));
        seen.joints_m[Joint::Nose as usize] = None;
        assert_eq!(names(&seen), ["3", "4", "6", "7", "8"]);
        seen.joints_m = [None; JOINTS];
        assert!(names(&seen).is_empty());
    }

    #[test]
    fn what_cannot_be_sent_is_told_and_ends_the_moment() {
        for fails_at in [0, 8] {
            let mut sent = 0;
            let told = messages(&somebody(), |_, _| {
                sent += 1;
                if sent > fails_at { Err(sent) } else { Ok(()) }
            });
            assert_eq!((told, sent), (Err(fails_at + 1), fails_at + 1));
        }
    }
}
