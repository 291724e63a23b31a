//! Poses as OSC (Open Sound Control 1.0) over UDP, for Max, TouchDesigner, SuperCollider and the like, for VRChat, and for
//! whatever speaks the Virtual Motion Capture protocol.
//!
//! | [`OscFormat`] | a moment is | |
//! |---|---|---|
//! | `posewire` | one bundle with a time tag | every joint of every person (`poses.rs`) |
//! | `vrchat` | up to nine messages | eight trackers and the head of one person, in metres (`vrchat.rs`) |
//! | `vmc` | two bundles | bones of one person as rotations (`vmc.rs`, `bones`) |
//!
//! Nothing waits for whoever listens (`datagrams.rs`), and nothing is allocated for a moment.

mod avatar;
mod bones;
mod message;
mod poses;
mod slots;
mod vmc;
mod vrchat;

#[cfg(test)]
mod tests;

use std::str::FromStr;
use std::time::Duration;

use pose::PoseFrame;

use super::datagrams::{Datagrams, MAX_BYTES};
use super::{PoseSink, Predict, SinkError};
use crate::clock::since_1970_us;
use crate::names::{name_of, one_of};
use avatar::Avatar;
use slots::Slots;
use vmc::Vmc;

/// What is said in OSC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OscFormat {
    /// Posewire's own addresses.
    #[default]
    Posewire,
    /// VRChat's trackers.
    VrChat,
    /// Bones by the Virtual Motion Capture protocol.
    Vmc,
}

impl OscFormat {
    /// Whether it is of 3D poses, which not every smoother gives.
    pub fn needs_3d(self) -> bool {
        self != Self::Posewire
    }
}

const FORMATS: [(&str, OscFormat); 3] =
    [("posewire", OscFormat::Posewire), ("vrchat", OscFormat::VrChat), ("vmc", OscFormat::Vmc)];

impl FromStr for OscFormat {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        one_of("format of OSC", word, &FORMATS)
    }
}

impl std::fmt::Display for OscFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(name_of(*self, &FORMATS))
    }
}

/// What the sink of `--osc` is told.
#[derive(Clone, Copy, Debug, Default)]
pub struct OscOptions {
    /// What is said.
    pub format: OscFormat,
    /// The moment that poses speak of.
    pub predict: Predict,
    /// Own addresses also say hip-centred metres.
    pub with_3d: bool,
}

/// The sink of `--osc HOST:PORT`.
pub struct Osc {
    name: String,
    datagrams: Datagrams,
    options: OscOptions,
    slots: Slots,
    avatar: Avatar,
    vmc: Vmc,
    packet: Vec<u8>,
}

impl Osc {
    /// Sends to `HOST:PORT` from now on, whether or not somebody listens there.
    pub fn to(peer: &str, options: OscOptions) -> Self {
        let datagrams = Datagrams::to(peer);
        let name = match options.format {
            OscFormat::Posewire => format!("osc {}", datagrams.peer()),
            other => format!("osc {} ({other})", datagrams.peer()),
        };
        let packet = Vec::with_capacity(MAX_BYTES);
        let (slots, avatar, vmc) = (Slots::default(), Avatar::default(), Vmc::default());
        Self { name, datagrams, options, slots, avatar, vmc, packet }
    }
}

impl PoseSink for Osc {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<(), SinkError> {
        let Self { options, datagrams, packet, avatar, .. } = self;
        let OscOptions { format, predict, with_3d } = *options;
        let valid_at_us = predict.valid_at_us(poses.captured_at_us, now_us);
        packet.clear();
        if format == OscFormat::Posewire {
            // The time tag is the moment that the poses speak of, on the clock that everybody has.
            let tag_us = since_1970_us().saturating_add(valid_at_us.saturating_sub(now_us));
            poses::write_bundle(packet, &mut self.slots, poses, valid_at_us, tag_us, with_3d);
            return datagrams.send(packet, now_us);
        }
        let Some(seen) = avatar.look(poses, valid_at_us) else { return Ok(()) };
        if format == OscFormat::Vmc {
            return self.vmc.bundles(packet, &seen, valid_at_us, |bytes| datagrams.send(bytes, now_us));
        }
        vrchat::messages(&seen, |address, place_m| {
            packet.clear();
            message::write_floats(packet, address, &place_m);
            datagrams.send(packet, now_us)
        })
    }

    fn finish(&mut self, _within: Duration) -> Result<(), SinkError> {
        // Every datagram is already with the kernel.
        Ok(())
    }
}
