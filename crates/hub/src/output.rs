//! People of a room as JSON lines and as OSC.

use std::fmt::Write;

use pose::Joint;
use rosc::{OscBundle, OscMessage, OscPacket, OscTime, OscType};

use crate::V3;
use crate::fuse::RoomPerson;
use crate::hub::Moment;

/// `{"seq":0,"at_us":…,"sent_us":…,"moved":["door"],"persons":[{"id":1,"cameras":3,"joints":[[x,y,z,sigma]|null, … 17]}]}`: metres of the
/// room, times of the hub's monotonic clock.
pub fn json_line(moment: &Moment, sent_us: i64, names: &[&str]) -> String {
    let mut text = String::with_capacity(200 + 800 * moment.people.len());
    // Writing to a String cannot fail.
    let _ =
        write!(text, "{{\"seq\":{},\"at_us\":{},\"sent_us\":{sent_us},\"moved\":[", moment.seq, moment.at_us);
    for (k, camera) in moment.moved.iter().enumerate() {
        let name = serde_json::to_string(names[*camera]).unwrap_or_default();
        let _ = write!(text, "{}{name}", if k > 0 { "," } else { "" });
    }
    text.push_str("],\"persons\":[");
    for (k, person) in moment.people.iter().enumerate() {
        let comma = if k > 0 { "," } else { "" };
        let _ = write!(text, "{comma}{{\"id\":{},\"cameras\":{},\"joints\":[", person.id, person.cameras);
        for (j, joint) in person.joints.iter().enumerate() {
            let comma = if j > 0 { "," } else { "" };
            let _ = match joint {
                Some(joint) => {
                    let [x, y, z] = [joint.at.x, joint.at.y, joint.at.z];
                    write!(text, "{comma}[{x:.4},{y:.4},{z:.4},{:.4}]", joint.sigma)
                }
                None => write!(text, "{comma}null"),
            };
        }
        text.push_str("]}");
    }
    text.push_str("]}\n");
    text
}

/// Persons that have a number of their own in OSC.
const SLOTS: usize = 16;
/// Seconds from the beginning of NTP's time, 1900, to 1970.
const NTP_TO_UNIX_S: i64 = 2_208_988_800;

/// Who has which number: the lowest free one, as long as they are there.
#[derive(Clone, Debug, Default)]
pub struct Slots([u32; SLOTS]);

impl Slots {
    /// By number.
    pub fn ids(&self) -> &[u32] {
        &self.0
    }

    /// As another hub gave them.
    pub fn take_over(&mut self, ids: &[u32]) {
        for (slot, id) in self.0.iter_mut().zip(ids) {
            *slot = *id;
        }
    }

    fn update(&mut self, people: &[RoomPerson]) {
        for slot in &mut self.0 {
            if !people.iter().any(|p| p.id == *slot) {
                *slot = 0;
            }
        }
        for person in people {
            if !self.0.contains(&person.id)
                && let Some(free) = self.0.iter_mut().find(|s| **s == 0)
            {
                *free = person.id;
            }
        }
    }

    /// A bundle of what is there, its time tag `tag_us` after 1970.
    ///
    /// | address | arguments |
    /// |---|---|
    /// | `/room/frame` | i seq, i persons |
    /// | `/room/ids` | i × 16: the identity of person 1 to 16; 0 where nobody is |
    /// | `/room/1/person` | i identity, i cameras, f x y z: the middle of the hips |
    /// | `/room/1/left_wrist` | f x y z, f sigma (m), i 1 where it is known; zeros else |
    pub fn bundle(&mut self, moment: &Moment, tag_us: i64) -> Vec<u8> {
        self.update(&moment.people);
        let message = |addr: String, args: Vec<OscType>| OscPacket::Message(OscMessage { addr, args });
        let mut content = vec![
            message(
                "/room/frame".into(),
                // OSC's integers have 32 bits.
                vec![OscType::Int(moment.seq as i32), OscType::Int(moment.people.len() as i32)],
            ),
            message("/room/ids".into(), self.0.iter().map(|id| OscType::Int(*id as i32)).collect()),
        ];
        for person in &moment.people {
            let Some(slot) = self.0.iter().position(|s| *s == person.id) else { continue };
            let number = slot + 1;
            let hips: Vec<V3> = [11, 12].iter().filter_map(|&j| Some(person.joints[j]?.at)).collect();
            let middle = hips.iter().sum::<V3>() / hips.len().max(1) as f64;
            let mut arguments = vec![OscType::Int(person.id as i32), OscType::Int(person.cameras as i32)];
            arguments.extend(middle.iter().map(|v| OscType::Float(*v as f32)));
            content.push(message(format!("/room/{number}/person"), arguments));
            for joint in Joint::ALL {
                let known = person.joints[joint as usize];
                let (at, sigma) = known.map_or((V3::zeros(), 0.0), |k| (k.at, k.sigma));
                let mut arguments: Vec<OscType> = at.iter().map(|v| OscType::Float(*v as f32)).collect();
                arguments.extend([OscType::Float(sigma as f32), OscType::Int(i32::from(known.is_some()))]);
                content.push(message(format!("/room/{number}/{}", joint.name()), arguments));
            }
        }
        let seconds = tag_us.div_euclid(1_000_000) + NTP_TO_UNIX_S;
        let fractional = ((tag_us.rem_euclid(1_000_000) << 32) / 1_000_000) as u32;
        let timetag = OscTime { seconds: seconds as u32, fractional };
        // Every type that is used here can be written.
        rosc::encoder::encode(&OscPacket::Bundle(OscBundle { timetag, content })).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuse::RoomJoint;

    fn moment(ids: &[u32]) -> Moment {
        let people = ids
            .iter()
            .map(|&id| RoomPerson {
                id,
                cameras: 3,
                joints: std::array::from_fn(|j| {
                    (j != 4).then(|| RoomJoint { at: V3::new(1.0, -2.0, 0.1 * j as f64), sigma: 0.02 })
                }),
            })
            .collect();
        Moment { seq: 7, at_us: 1_000_000, people, moved: vec![1] }
    }

    #[test]
    fn a_line_is_json_with_everything_in_it() {
        let text = json_line(&moment(&[4, 9]), 1_020_000, &["door", "the \"window\""]);
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["moved"][0], "the \"window\"");
        assert_eq!(read["persons"][1]["id"], 9);
        assert_eq!(read["persons"][0]["joints"][9], serde_json::json!([1.0, -2.0, 0.9, 0.02]));
        assert!(read["persons"][0]["joints"][4].is_null());
        assert!(text.ends_with("]}\n") && !text.trim_end().contains('\n'));
    }

    #[test]
    fn osc_is_read_back_and_numbers_stay_with_persons() {
        let mut slots = Slots::default();
        slots.bundle(&moment(&[4, 9]), 0);
        let bytes = slots.bundle(&moment(&[9]), 1_500_000);
        let (_, OscPacket::Bundle(bundle)) = rosc::decoder::decode_udp(&bytes).unwrap() else { panic!() };
        assert_eq!(bundle.timetag, OscTime { seconds: 2_208_988_801, fractional: 1 << 31 });
        let of = |address: &str| {
            bundle.content.iter().find_map(|p| match p {
                OscPacket::Message(m) if m.addr == address => Some(m.args.clone()),
                _ => None,
            })
        };
        assert_eq!(of("/room/ids").unwrap()[..2], [OscType::Int(0), OscType::Int(9)]);
        assert_eq!(of("/room/1/person"), None);
        let wrist = of("/room/2/left_wrist").unwrap();
        assert_eq!(wrist[0], OscType::Float(1.0));
        assert_eq!(wrist[4], OscType::Int(1));
        assert_eq!(of("/room/2/right_ear").unwrap()[4], OscType::Int(0));
    }
}
