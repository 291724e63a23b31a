//! People of a room as OSC: everybody under addresses of Posewire's own, or one person as an avatar (`crates/pose-osc`).
//!
//! | address | arguments |
//! |---|---|
//! | `/room/frame` | i seq, i persons |
//! | `/room/ids` | i × 16: the identity of person 1 to 16; 0 where nobody is |
//! | `/room/1/person` | i identity, i cameras, f x y z: the middle of the hips, or below the shoulders; not sent where nobody sees either |
//! | `/room/1/left_wrist` | f x y z, f sigma (m), i 1 where it is known; zeros else |

use std::convert::Infallible;

use pose::Joint;
use pose_osc::avatar::HIPS_M;
use pose_osc::message::Argument::{Float, Int};
use pose_osc::message::{Argument, add_message, begin_bundle};
use pose_osc::{AvatarWriter, OscFormat, Slots};

use crate::V3;
use crate::avatar::Avatar;
use crate::fuse::RoomPerson;
use crate::hub::Moment;

/// Persons that have a number of their own.
const NUMBERS: usize = 16;

/// What is said in OSC to one peer.
#[derive(Debug)]
pub struct Osc {
    slots: Slots<NUMBERS>,
    packet: Vec<u8>,
    /// Whose hips were so high, by number, the last time that they were seen.
    hips_z_m: [(u32, f64); NUMBERS],
    /// Who is one, where the format is of avatars.
    avatar: Avatar,
    writer: Option<AvatarWriter>,
}

impl Osc {
    /// Says nothing yet.
    pub fn new(format: OscFormat) -> Self {
        let (slots, avatar) = (Slots::default(), Avatar::default());
        let hips_z_m = [(0, 0.0); NUMBERS];
        Self { slots, packet: Vec::new(), hips_z_m, avatar, writer: AvatarWriter::of(format) }
    }

    /// Identities by number; where there is an avatar, whose it is.
    pub fn numbers(&self) -> &[u32] {
        match self.writer {
            Some(_) => self.avatar.whose.id.as_slice(),
            None => &self.slots.ids,
        }
    }

    /// As another hub of the room, which has the same format, gives them.
    pub fn take_over(&mut self, numbers: &[u32]) {
        match self.writer {
            Some(_) => self.avatar.whose.id = numbers.first().copied(),
            None => self.slots.take_over(numbers),
        }
    }

    /// Gives the datagrams of a moment, which is `tag_us` microseconds after 1970.
    pub fn tell(&mut self, moment: &Moment, tag_us: i64, mut send: impl FnMut(&[u8])) {
        let Self { slots, packet, hips_z_m, avatar, writer } = self;
        if let Some(writer) = writer {
            if let Some(seen) = avatar.look(&moment.people) {
                let Ok(()) = writer.tell(&seen, moment.at_us, |bytes| {
                    send(bytes);
                    Ok::<(), Infallible>(())
                });
            }
            return;
        }
        packet.clear();
        write_bundle(packet, slots, hips_z_m, moment, tag_us);
        send(packet);
    }
}

fn write_bundle(
    to: &mut Vec<u8>,
    slots: &mut Slots<NUMBERS>,
    hips_z_m: &mut [(u32, f64); NUMBERS],
    moment: &Moment,
    tag_us: i64,
) {
    slots.update(moment.people.iter().map(|person| person.id));
    begin_bundle(to, tag_us);
    // OSC's integers have 32 bits.
    add_message(to, "/room/frame", &[Int(moment.seq as i32), Int(moment.people.len() as i32)]);
    add_message(to, "/room/ids", &slots.ids.map(|id| Int(id as i32)));
    for person in &moment.people {
        let Some(number) = slots.number(person.id) else { continue };
        // A place that nobody knows is not the first camera's.
        if let Some(at) = stands(person, &mut hips_z_m[number - 1]) {
            let [x, y, z] = floats(at);
            let about = [Int(person.id as i32), Int(person.cameras as i32), x, y, z];
            add_message(to, format_args!("/room/{number}/person"), &about);
        }
        for joint in Joint::ALL {
            let known = person.joints[joint as usize];
            let (at, sigma) = known.map_or((V3::zeros(), 0.0), |k| (k.at, k.sigma));
            let [x, y, z] = floats(at);
            let arguments = [x, y, z, Float(sigma as f32), Int(i32::from(known.is_some()))];
            add_message(to, format_args!("/room/{number}/{}", joint.name()), &arguments);
        }
    }
}

/// The middle of somebody's hips, or below their shoulders at the height that the hips had.
fn stands(person: &RoomPerson, hips_z_m: &mut (u32, f64)) -> Option<V3> {
    let middle = |joints: [Joint; 2]| {
        let known = joints.map(|joint| person.joints[joint as usize].map(|joint| joint.at));
        let count = known.iter().flatten().count();
        (count > 0).then(|| known.iter().flatten().sum::<V3>() / count as f64)
    };
    let hips = middle([Joint::LeftHip, Joint::RightHip]);
    if let Some(hips) = hips {
        *hips_z_m = (person.id, hips.z);
    }
    hips.or_else(|| {
        let shoulders = middle([Joint::LeftShoulder, Joint::RightShoulder])?;
        let z = if hips_z_m.0 == person.id { hips_z_m.1 } else { f64::from(HIPS_M) };
        Some(V3::new(shoulders.x, shoulders.y, z))
    })
}

fn floats(at: V3) -> [Argument; 3] {
    [at.x, at.y, at.z].map(|v| Float(v as f32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuse::RoomJoint;
    use crate::output::tests::moment;
    use rosc::{OscMessage, OscPacket, OscTime, OscType};

    fn told(osc: &mut Osc, moment: &Moment) -> Vec<OscPacket> {
        let mut packets = Vec::new();
        osc.tell(moment, 1_500_000, |bytes| packets.push(rosc::decoder::decode_udp(bytes).unwrap().1));
        packets
    }

    fn messages(packets: Vec<OscPacket>) -> Vec<OscMessage> {
        let flat = |packet| match packet {
            OscPacket::Message(message) => vec![message],
            OscPacket::Bundle(bundle) => messages(bundle.content),
        };
        packets.into_iter().flat_map(flat).collect()
    }

    #[test]
    fn osc_is_read_back_and_numbers_stay_with_persons() {
        let mut osc = Osc::new(OscFormat::Posewire);
        told(&mut osc, &moment(&[4, 9]));
        let packets = told(&mut osc, &moment(&[9]));
        let [OscPacket::Bundle(bundle)] = &packets[..] else { panic!("{packets:?}") };
        assert_eq!(bundle.timetag, OscTime { seconds: 2_208_988_801, fractional: 1 << 31 });
        let messages = messages(packets);
        let of = |address: &str| messages.iter().find(|m| m.addr == address).map(|m| m.args.clone());
        assert_eq!(of("/room/frame").unwrap(), [OscType::Int(7), OscType::Int(1)]);
        assert_eq!(of("/room/ids").unwrap()[..2], [OscType::Int(0), OscType::Int(9)]);
        assert_eq!(of("/room/1/person"), None);
        let about = of("/room/2/person").unwrap();
        assert_eq!(about[..3], [OscType::Int(9), OscType::Int(3), OscType::Float(1.0)]);
        assert_eq!(about[4], OscType::Float(1.15));
        let wrist = of("/room/2/left_wrist").unwrap();
        assert_eq!(wrist[0], OscType::Float(1.0));
        assert_eq!((&wrist[1], &wrist[3]), (&OscType::Float(-2.0), &OscType::Float(0.02)));
        assert_eq!(wrist[4], OscType::Int(1));
        assert_eq!(of("/room/2/right_ear").unwrap()[4], OscType::Int(0));
        let mut second = Osc::new(OscFormat::Posewire);
        second.take_over(osc.numbers());
        told(&mut second, &moment(&[9, 3]));
        assert_eq!(second.numbers()[..3], [3, 9, 0], "another hub goes on with the numbers");
    }

    #[test]
    fn hips_that_nobody_sees_are_below_the_shoulders_and_never_at_the_first_camera() {
        let mut person = moment(&[9]).people.remove(0);
        let mut hips_z_m = (4, 0.5);
        for hip in [Joint::LeftHip, Joint::RightHip] {
            person.joints[hip as usize] = None;
        }
        let shoulders = [Joint::LeftShoulder, Joint::RightShoulder];
        for shoulder in shoulders {
            person.joints[shoulder as usize] = Some(RoomJoint { at: V3::new(1.5, 2.0, 1.4), sigma: 0.02 });
        }
        assert_eq!(stands(&person, &mut hips_z_m), Some(V3::new(1.5, 2.0, f64::from(HIPS_M))));
        hips_z_m = (9, 0.8);
        assert_eq!(stands(&person, &mut hips_z_m), Some(V3::new(1.5, 2.0, 0.8)));
        for shoulder in shoulders {
            person.joints[shoulder as usize] = None;
        }
        let mut moment = moment(&[9]);
        moment.people = vec![person];
        let messages = messages(told(&mut Osc::new(OscFormat::Posewire), &moment));
        assert!(messages.iter().any(|m| m.addr == "/room/1/nose"));
        assert!(!messages.iter().any(|m| m.addr == "/room/1/person"));
    }

    #[test]
    fn an_avatar_is_one_person_and_another_hub_goes_on_with_them() {
        let mut first = Osc::new(OscFormat::VrChat);
        assert!(told(&mut first, &moment(&[])).is_empty());
        let messages = messages(told(&mut first, &moment(&[5, 9])));
        let hips = messages.iter().find(|m| m.addr == "/tracking/trackers/1/position").unwrap();
        assert_eq!(hips.args, [-1.0, 1.15, 2.0].map(OscType::Float));
        assert_eq!(messages.len(), 9, "of one person");
        told(&mut first, &moment(&[3, 5, 9]));
        assert_eq!(first.numbers(), [5]);
        let mut second = Osc::new(OscFormat::Vmc);
        second.take_over(first.numbers());
        let bundles = told(&mut second, &moment(&[3, 5, 9]));
        assert!(!bundles.is_empty() && second.numbers() == [5]);
    }
}
