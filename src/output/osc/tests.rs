//! What is sent, read back by the decoder of `rosc`.

use pose::{Forecast, HORIZONS_US, JOINTS, Joint, JointState, MAX_PERSONS, TrackedPerson};
use rosc::{OscMessage, OscPacket, OscType};

use super::*;

/// Somebody who stands 100 px high with every joint at a place of its own.
fn person(track_id: u32) -> TrackedPerson {
    let places = std::array::from_fn(|j| [10.0 * j as f32 + 1.0, 100.0 + j as f32]);
    let mut lifted: [[f32; 3]; JOINTS] = std::array::from_fn(|j| [0.01 * j as f32, -0.4, 0.125]);
    for (joint, place) in [
        (Joint::LeftHip, [0.1, 0.0, 0.0]),
        (Joint::RightHip, [-0.1, 0.0, 0.0]),
        (Joint::LeftShoulder, [0.2, -0.5, 0.0]),
        (Joint::RightShoulder, [-0.2, -0.5, 0.0]),
        (Joint::LeftAnkle, [0.1, 0.8, -0.2]),
        (Joint::RightAnkle, [-0.1, 0.7, 0.0]),
    ] {
        lifted[joint as usize] = place;
    }
    let forecast = Forecast {
        captured_at_us: 1_000_000,
        places_px: [places; HORIZONS_US.len()],
        sigma_px: [[2.0; JOINTS]; HORIZONS_US.len()],
        score: [0.75; JOINTS],
        state: [JointState::Measured; JOINTS],
        joints_3d_m: Some(lifted),
    };
    TrackedPerson { track_id, score: 0.5, forecast, seen: None, place: None }
}

fn frame(ids: &[u32]) -> PoseFrame {
    let mut persons = [None; MAX_PERSONS];
    for (place, id) in persons.iter_mut().zip(ids) {
        *place = Some(person(*id));
    }
    PoseFrame { seq: 4, frame: 9, captured_at_us: 1_000_000, width: 400, height: 200, persons }
}

fn bundle(slots: &mut Slots, frame: &PoseFrame, with_3d: bool) -> ((u32, u32), Vec<OscMessage>) {
    let mut bytes = Vec::new();
    // 1.5 s after 1970.
    poses::write_bundle(&mut bytes, slots, frame, 1_020_000, 1_500_000, with_3d);
    let (rest, packet) = rosc::decoder::decode_udp(&bytes).unwrap();
    assert!(rest.is_empty());
    let OscPacket::Bundle(bundle) = packet else { panic!("{packet:?}") };
    let message = |packet| match packet {
        OscPacket::Message(message) => message,
        OscPacket::Bundle(inner) => panic!("{inner:?}"),
    };
    (bundle.timetag.into(), bundle.content.into_iter().map(message).collect())
}

fn said<'a>(messages: &'a [OscMessage], address: &str) -> &'a [OscType] {
    &messages.iter().find(|m| m.addr == address).unwrap_or_else(|| panic!("no {address}")).args
}

#[test]
fn a_bundle_says_everything_of_a_moment_under_its_time() {
    use OscType::{Float, Int};
    let mut persons = frame(&[7]);
    if let Some(person) = &mut persons.persons[0] {
        person.forecast.state[Joint::LeftEye as usize] = JointState::Absent;
        person.forecast.state[Joint::RightEye as usize] = JointState::Predicted;
        person.forecast.score[Joint::RightEye as usize] = f32::NAN;
    }
    let (tag, messages) = bundle(&mut Slots::default(), &persons, false);
    assert_eq!(tag, (2_208_988_801, 1 << 31));
    assert_eq!(messages.len(), 2 + 1 + JOINTS);
    assert_eq!(said(&messages, "/posewire/frame"), [Int(4), Int(1), Int(400), Int(200), Float(20.0)]);
    let ids = [7, 0, 0, 0, 0, 0, 0, 0].map(Int);
    assert_eq!(said(&messages, "/posewire/ids"), ids);
    // Without the left eye: the box begins at the nose all the same.
    let about = said(&messages, "/posewire/1/person");
    assert_eq!(about[..4], [Int(7), Float(0.5), Float(1.0 / 400.0), Float(0.5)]);
    assert_eq!(about[4..], [Float(160.0 / 400.0), Float(16.0 / 200.0)]);
    let wrist = Joint::LeftWrist as usize as f32;
    let (x, y) = (10.0 * wrist + 1.0, 100.0 + wrist);
    assert_eq!(
        said(&messages, "/posewire/1/left_wrist"),
        [Float(x / 400.0), Float(y / 200.0), Float(0.75), Int(1), Float(x), Float(y), Float(2.0)]
    );
    let absent = said(&messages, "/posewire/1/left_eye");
    assert_eq!(
        absent,
        [0.0, 0.0, 0.0].map(Float).into_iter().chain([Int(0)]).chain([0.0; 3].map(Float)).collect::<Vec<_>>()
    );
    let predicted = said(&messages, "/posewire/1/right_eye");
    assert_eq!(predicted[2..4], [Float(0.0), Int(2)], "what is no number is not sent");

    let (_, messages) = bundle(&mut Slots::default(), &persons, true);
    assert_eq!(said(&messages, "/posewire/1/left_ankle/metres"), [Float(0.1), Float(0.8), Float(-0.2)]);
    assert!(!messages.iter().any(|m| m.addr == "/posewire/1/left_eye/metres"), "it is absent");
}

#[test]
fn a_person_keeps_their_number_and_who_comes_takes_a_free_one() {
    let mut slots = Slots::default();
    let mut ids = |there: &[u32]| {
        let (_, messages) = bundle(&mut slots, &frame(there), false);
        let persons = messages.iter().filter(|m| m.addr.ends_with("/person"));
        let who: Vec<_> = persons.map(|m| (m.addr.clone(), m.args[0].clone())).collect();
        for (address, id) in who {
            let OscType::Int(id) = id else { panic!("{id:?}") };
            assert_eq!(Some(address), slots.number(id as u32).map(|n| format!("/posewire/{n}/person")));
        }
        slots.ids
    };
    assert_eq!(ids(&[1, 2, 3])[..4], [1, 2, 3, 0]);
    assert_eq!(ids(&[2, 3])[..4], [0, 2, 3, 0]);
    assert_eq!(ids(&[2, 3, 9])[..4], [9, 2, 3, 0]);
    assert_eq!(ids(&[]), [0; MAX_PERSONS]);
    assert_eq!(ids(&[11, 12, 13, 14, 15, 16, 17, 18]), [11, 12, 13, 14, 15, 16, 17, 18]);
}

fn trackers(avatar: &mut Avatar, frame: &PoseFrame) -> Vec<(String, [f32; 3])> {
    let mut told = Vec::new();
    avatar
        .messages(frame, frame.captured_at_us, |address, place| {
            let mut bytes = Vec::new();
            message::write_floats(&mut bytes, address, &place);
            let (_, packet) = rosc::decoder::decode_udp(&bytes).unwrap();
            let OscPacket::Message(message) = packet else { panic!("{packet:?}") };
            let floats: Vec<f32> = message.args.iter().map(|arg| arg.clone().float().unwrap()).collect();
            told.push((message.addr, floats.try_into().unwrap()));
            Ok(())
        })
        .unwrap();
    told
}

fn near(told: &[(String, [f32; 3])], tracker: &str, place: [f32; 3]) {
    let address = format!("/tracking/trackers/{tracker}/position");
    let (_, there) = told.iter().find(|(a, _)| *a == address).unwrap_or_else(|| panic!("no {address}"));
    assert!(there.iter().zip(place).all(|(a, b)| (a - b).abs() < 1e-6), "{tracker}: {there:?}");
}

#[test]
fn vrchat_gets_an_avatar_that_stands_on_the_floor_and_faces_forwards() {
    let told = trackers(&mut Avatar::default(), &frame(&[7]));
    assert_eq!(told.len(), 9);
    // The lower ankle is 0.8 m below the hips and 0.09 m above the floor.
    near(&told, "1", [0.0, 0.89, 0.0]);
    near(&told, "2", [0.0, 0.89 + 0.35, 0.0]);
    near(&told, "3", [-0.1, 0.09, 0.2]);
    near(&told, "4", [0.1, 0.19, 0.0]);
    near(&told, "head", [-0.035, 0.89 + 0.4, -0.125]);
}

#[test]
fn vrchat_follows_one_person_until_they_go_and_is_told_what_is_known() {
    let mut avatar = Avatar::default();
    trackers(&mut avatar, &frame(&[3, 5]));
    assert_eq!(avatar.id, Some(3));
    trackers(&mut avatar, &frame(&[1, 3]));
    assert_eq!(avatar.id, Some(3));
    let mut without_legs = frame(&[1]);
    if let Some(person) = &mut without_legs.persons[0] {
        for joint in [Joint::LeftAnkle, Joint::RightAnkle, Joint::LeftKnee, Joint::LeftEar] {
            person.forecast.state[joint as usize] = JointState::Absent;
        }
    }
    let told = trackers(&mut avatar, &without_legs);
    assert_eq!(avatar.id, Some(1));
    near(&told, "1", [0.0, 0.89, 0.0]);
    let told: Vec<&str> = told.iter().map(|(address, _)| &address[19..]).collect();
    let place = |n: &str| format!("{n}/position");
    assert_eq!(told, ["1", "2", "6", "7", "8", "head"].map(place));
    if let Some(person) = &mut without_legs.persons[0] {
        person.forecast.joints_3d_m = None;
    }
    assert!(trackers(&mut avatar, &without_legs).is_empty());
    assert!(trackers(&mut avatar, &frame(&[])).is_empty());
    assert_eq!(avatar.id, None);
}
