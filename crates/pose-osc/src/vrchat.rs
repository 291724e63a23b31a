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
