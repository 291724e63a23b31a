//! What is sent, read back by the decoder of `rosc`.

use pose::{Forecast, HORIZONS_US, JOINTS, Joint, JointState, MAX_PERSONS, Place, TrackedPerson};
use pose_osc::avatar::HIPS_M;
use pose_osc::vmc::Vmc;
use pose_osc::{bones, message, vrchat};
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
    PoseFrame { seq: 4, frame: 9, captured_at_us: 1_000_000, width: 400, height: 200, persons, floor: None }
}

fn bundle(slots: &mut Slots<MAX_PERSONS>, frame: &PoseFrame, with_3d: bool) -> ((u32, u32), Vec<OscMessage>) {
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
    for horizon in &mut persons.persons[0].as_mut().unwrap().forecast.places_px {
        horizon[Joint::RightEye as usize][1] = f32::NAN;
    }
    let (_, without) = bundle(&mut Slots::default(), &persons, false);
    assert_eq!(said(&without, "/posewire/1/right_eye"), absent, "nor is what is nowhere");

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
    let Some(seen) = avatar.look(frame, frame.captured_at_us) else { return told };
    vrchat::messages(&seen, |address, place| {
        let mut bytes = Vec::new();
        message::write_floats(&mut bytes, address, &place);
        let (_, packet) = rosc::decoder::decode_udp(&bytes).unwrap();
        let OscPacket::Message(message) = packet else { panic!("{packet:?}") };
        let floats: Vec<f32> = message.args.iter().map(|arg| arg.clone().float().unwrap()).collect();
        told.push((message.addr, floats.try_into().unwrap()));
        Ok::<(), SinkError>(())
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
    assert_eq!(avatar.whose.id, Some(3));
    trackers(&mut avatar, &frame(&[1, 3]));
    assert_eq!(avatar.whose.id, Some(3));
    let mut without_legs = frame(&[1]);
    if let Some(person) = &mut without_legs.persons[0] {
        for joint in [Joint::LeftAnkle, Joint::RightAnkle, Joint::LeftKnee, Joint::LeftEar] {
            person.forecast.state[joint as usize] = JointState::Absent;
        }
    }
    let told = trackers(&mut avatar, &without_legs);
    assert_eq!(avatar.whose.id, Some(1));
    // Nobody knows how tall they are, and they are not as tall as the one before.
    near(&told, "1", [0.0, HIPS_M, 0.0]);
    let told: Vec<&str> = told.iter().map(|(address, _)| &address[19..]).collect();
    let place = |n: &str| format!("{n}/position");
    assert_eq!(told, ["1", "2", "6", "7", "8", "head"].map(place));
    if let Some(person) = &mut without_legs.persons[0] {
        person.forecast.joints_3d_m = None;
    }
    assert!(trackers(&mut avatar, &without_legs).is_empty());
    assert!(trackers(&mut avatar, &frame(&[])).is_empty());
    assert_eq!(avatar.whose.id, None);
}

#[test]
fn who_has_a_place_walks_across_the_floor_from_where_the_first_one_stood() {
    let at = |id: u32, seconds: i64, at_m: Option<[f32; 3]>| {
        let mut frame = frame(&[id]);
        let person = frame.persons[0].as_mut().unwrap();
        person.place = at_m.map(|at_m| Place { at_m, ..Place::default() });
        frame.captured_at_us = 1_000_000 * seconds;
        person.forecast.captured_at_us = frame.captured_at_us;
        frame
    };
    let mut avatar = Avatar::default();
    near(&trackers(&mut avatar, &at(3, 1, Some([0.5, 0.2, 3.0]))), "1", [0.0, 0.89, 0.0]);
    // A second to the right in the picture and nearer: to their left, forwards. By then the smoothing is over.
    let there = [-0.5, 0.89, 1.0];
    let told = trackers(&mut avatar, &at(3, 11, Some([1.0, 0.2, 2.0])));
    near(&told, "1", there);
    near(&told, "3", [-0.6, 0.09, 1.2]);
    // Where no place is known they stay; what is no number is none.
    near(&trackers(&mut avatar, &at(3, 12, None)), "1", there);
    near(&trackers(&mut avatar, &at(3, 13, Some([f32::NAN, 0.0, 2.0]))), "1", there);
    // A tenth of a second on it has gone two fifths of the way.
    let mut soon = at(3, 13, Some([2.0, 0.2, 2.0]));
    soon.captured_at_us = 11_100_000;
    soon.persons[0].as_mut().unwrap().forecast.captured_at_us = 11_100_000;
    let told = trackers(&mut avatar, &soon);
    let x = told.iter().find(|(address, _)| address.ends_with("/1/position")).unwrap().1[0];
    assert!((-1.0..-0.8).contains(&x), "{x}");
    // Somebody else is where they are, at once.
    near(&trackers(&mut avatar, &at(4, 20, Some([0.5, 0.2, 5.0]))), "1", [0.0, 0.89, -2.0]);
    let mut next = at(5, 20, Some([1.5, 0.2, 3.0]));
    next.captured_at_us += 33_000;
    next.persons[0].as_mut().unwrap().forecast.captured_at_us += 33_000;
    near(&trackers(&mut avatar, &next), "1", [-1.0, 0.89, 0.0]);
}

#[test]
fn a_joint_that_is_far_from_every_body_or_no_number_is_not_told() {
    let mut persons = frame(&[7]);
    let joints_m = persons.persons[0].as_mut().unwrap().forecast.joints_3d_m.as_mut().unwrap();
    joints_m[Joint::LeftKnee as usize] = [0.1, 25.0, 0.0];
    joints_m[Joint::RightKnee as usize] = [0.1, f32::NAN, 0.0];
    let told = trackers(&mut Avatar::default(), &persons);
    assert_eq!(told.len(), 7, "nine without two knees");
}

#[test]
fn vmc_gets_every_bone_in_packets_of_ethernet() {
    let (mut vmc, mut packet) = (Vmc::default(), Vec::new());
    let mut persons = frame(&[7]);
    let person = persons.persons[0].as_mut().unwrap();
    person.place = Some(Place { at_m: [0.0, 0.0, 3.0], ..Place::default() });
    // A head has a direction where the nose is not between the ears.
    person.forecast.joints_3d_m.as_mut().unwrap()[Joint::Nose as usize] = [0.03, -0.35, 0.0];
    let mut told: Vec<OscMessage> = Vec::new();
    for _ in 0..2 {
        told.clear();
        let seen = Avatar::default().look(&persons, 1_000_000).unwrap();
        vmc.bundles(&mut packet, &seen, 1_500_000, |bytes| {
            assert!(bytes.len() <= 1_472, "{} bytes are two packets", bytes.len());
            let (_, packet) = rosc::decoder::decode_udp(bytes).unwrap();
            let OscPacket::Bundle(bundle) = packet else { panic!("{packet:?}") };
            assert_eq!(bundle.timetag, (0, 1).into(), "at once");
            told.extend(bundle.content.into_iter().map(|packet| match packet {
                OscPacket::Message(message) => message,
                OscPacket::Bundle(inner) => panic!("{inner:?}"),
            }));
            Ok::<(), SinkError>(())
        })
        .unwrap();
    }
    assert_eq!(said(&told, "/VMC/Ext/OK"), [OscType::Int(1)]);
    assert_eq!(said(&told, "/VMC/Ext/T"), [OscType::Float(0.0)]);
    let placed = |name: &str| -> [f32; 7] {
        let args = told.iter().map(|m| &m.args).find(|args| args[0] == OscType::String(name.into()));
        let args = args.unwrap_or_else(|| panic!("no {name}"));
        let floats: Vec<f32> = args[1..].iter().map(|arg| arg.clone().float().unwrap()).collect();
        floats.try_into().unwrap()
    };
    assert_eq!(placed("root"), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    let hips = placed("Hips");
    assert!((hips[1] - 0.89).abs() < 1e-6 && hips[0] == 0.0 && hips[2] == 0.0, "{hips:?}");
    // The shoulders' own height, and half of the way between them.
    assert!((placed("LeftUpperArm")[0] + 0.2).abs() < 1e-6);
    for (_, name, _) in bones::NAMES {
        let [.., x, y, z, w] = placed(name);
        assert!(((x * x + y * y + z * z + w * w).sqrt() - 1.0).abs() < 1e-4, "{name}");
    }
}
