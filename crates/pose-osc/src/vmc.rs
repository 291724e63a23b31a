//! The Virtual Motion Capture protocol, as its performers send it to marionettes: one person's bones.
//!
//! | address | arguments |
//! |---|---|
//! | `/VMC/Ext/OK` | i 1: there is somebody |
//! | `/VMC/Ext/T` | f seconds since the first moment that was sent |
//! | `/VMC/Ext/Root/Pos` | s `root`, f x y z, f x y z w: the room's origin, which stays |
//! | `/VMC/Ext/Bone/Pos` | s bone, f x y z, f x y z w: in the bone's parent |
//!
//! Metres and quaternions of Unity's space. A bone that the pose does not say is not sent.

use crate::avatar::Seen;
use crate::bones::{self, Body, NAMES};
use crate::message::Argument::{Float, Int, Text};
use crate::message::{add_message, begin_bundle_of_now};

/// A bundle is sent before it would be longer: one packet of Ethernet, as the protocol asks for.
const FULL_BYTES: usize = 1_350;

/// What lasts from one moment to the next.
#[derive(Debug, Default)]
pub struct Vmc {
    body: Body,
    began_us: Option<i64>,
}

impl Vmc {
    /// Gives the bundles of a moment, which `packet` is used for.
    ///
    /// # Errors
    /// What `send` says; the rest of the moment is left out then.
    pub fn bundles<E>(
        &mut self,
        packet: &mut Vec<u8>,
        seen: &Seen,
        valid_at_us: i64,
        mut send: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.body.learn(seen);
        let began_us = *self.began_us.get_or_insert(valid_at_us);
        let time_s = valid_at_us.saturating_sub(began_us) as f32 * 1e-6;
        packet.clear();
        begin_bundle_of_now(packet);
        add_message(packet, "/VMC/Ext/OK", &[Int(1)]);
        add_message(packet, "/VMC/Ext/T", &[Float(time_s)]);
        add_placed(packet, "/VMC/Ext/Root/Pos", "root", [0.0; 3], [0.0, 0.0, 0.0, 1.0]);
        let rotations = bones::solve(&seen.joints_m);
        for ((bone, name, _), rotation) in NAMES.iter().zip(rotations) {
            let Some(rotation) = rotation else { continue };
            if packet.len() > FULL_BYTES {
                send(packet)?;
                packet.clear();
                begin_bundle_of_now(packet);
            }
            let place = if *bone == bones::Bone::Hips { seen.hips_m } else { self.body.offset_m(*bone) };
            add_placed(packet, "/VMC/Ext/Bone/Pos", name, place, rotation.coords.into());
        }
        send(packet)
    }
}

fn add_placed(packet: &mut Vec<u8>, address: &str, name: &'static str, place: [f32; 3], turn: [f32; 4]) {
    let ([x, y, z], [qx, qy, qz, qw]) = (place.map(Float), turn.map(Float));
    add_message(packet, address, &[Text(name), x, y, z, qx, qy, qz, qw]);
}

#[cfg(test)]
mod tests {
    use rosc::decoder::decode_udp;
    use rosc::{OscMessage, OscPacket, OscType};

    use super::*;
    use crate::bones::tests::t_pose;

    fn told(vmc: &mut Vmc, seen: &Seen, at_us: i64) -> Vec<OscMessage> {
        let mut all = Vec::new();
        let Ok(()) = vmc.bundles(&mut Vec::new(), seen, at_us, |bytes| {
            assert!(bytes.len() <= 1_472, "{} bytes are two packets", bytes.len());
            let (_, packet) = decode_udp(bytes).unwrap();
            let OscPacket::Bundle(bundle) = packet else { panic!("{packet:?}") };
            all.extend(bundle.content.into_iter().map(|packet| match packet {
                OscPacket::Message(message) => message,
                OscPacket::Bundle(inner) => panic!("{inner:?}"),
            }));
            Ok::<(), std::convert::Infallible>(())
        });
        all
    }

    fn of<'a>(all: &'a [OscMessage], name: &str) -> &'a [OscType] {
        let is_it = |m: &&OscMessage| m.addr == name || m.args[0] == OscType::String(name.into());
        &all.iter().find(is_it).unwrap_or_else(|| panic!("no {name}")).args
    }

    /// In a T-pose, half of the line through the shoulders so long.
    fn somebody(id: u32, shoulders_m: f32) -> Seen {
        let mut joints_m = t_pose();
        joints_m[5] = Some([-shoulders_m, 0.5, 0.0]);
        joints_m[6] = Some([shoulders_m, 0.5, 0.0]);
        Seen { id, joints_m, hips_m: [1.0, 0.9, 2.0] }
    }

    #[test]
    fn a_moment_has_every_bone_once_and_its_time_in_seconds() {
        let mut vmc = Vmc::default();
        for (at_us, seconds) in [(1_500_000, 0.0), (4_000_000, 2.5)] {
            let all = told(&mut vmc, &somebody(1, 0.2), at_us);
            assert_eq!(of(&all, "/VMC/Ext/T"), [OscType::Float(seconds)]);
            let bones = all.iter().filter(|m| m.addr == "/VMC/Ext/Bone/Pos");
            let names: Vec<_> = bones.map(|m| m.args[0].clone().string().unwrap()).collect();
            assert_eq!(names, NAMES.map(|(_, name, _)| name));
            assert_eq!(of(&all, "Hips")[1..4], [1.0, 0.9, 2.0].map(OscType::Float));
        }
    }

    #[test]
    fn bones_are_a_mean_of_one_person_and_nobodys_are_longer_than_there_are() {
        let mut vmc = Vmc::default();
        let mut shoulder = |id: u32, shoulders_m: f32| {
            let all = told(&mut vmc, &somebody(id, shoulders_m), 0);
            let x = of(&all, "LeftUpperArm")[1].clone().float().unwrap();
            (x * 1e3).round() as i32
        };
        assert_eq!([shoulder(1, 0.2), shoulder(1, 0.3), shoulder(1, 0.25)], [-200, -250, -250]);
        assert_eq!(shoulder(1, 9.0), -250);
        assert_eq!((0..60).map(|_| shoulder(1, 0.25)).last(), Some(-250));
        assert!((-262..-250).contains(&shoulder(1, 0.5)), "one of sixty");
        assert_eq!([shoulder(2, 0.15), shoulder(3, 9.0)], [-150, -170], "measured anew; of an adult");
    }
}
