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
