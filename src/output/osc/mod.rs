//! Poses as OSC (Open Sound Control 1.0) over UDP, for Max, TouchDesigner, SuperCollider and the like, for VRChat, and for
//! whatever speaks the Virtual Motion Capture protocol.
//!
//! | [`OscFormat`] | a moment is | |
//! |---|---|---|
//! | `posewire` | one bundle with a time tag | every joint of every person (`poses.rs`) |
//! | `vrchat` | up to nine messages | eight trackers and the head of one person, in metres (`avatar.rs`) |
//! | `vmc` | two bundles | bones of one person as rotations (`avatar.rs`) |
//!
//! Avatars are written by `crates/pose-osc`, which the hub's `--osc` has too. Nothing waits for whoever listens (`crates/datagrams`), and nothing is
//! allocated for a moment.

mod avatar;
mod poses;

#[cfg(test)]
mod tests;

use std::time::Duration;

use datagrams::{Datagrams, MAX_BYTES};
use pose::{MAX_PERSONS, PoseFrame};
pub use pose_osc::OscFormat;
use pose_osc::{AvatarWriter, Slots};

use super::{PoseSink, Predict, Sending, SinkError};
use crate::clock::since_1970_us;
use avatar::Avatar;

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
    slots: Slots<MAX_PERSONS>,
    packet: Vec<u8>,
    /// Who is one, where the format is of avatars.
    avatar: Avatar,
    writer: Option<AvatarWriter>,
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
        let (avatar, writer) = (Avatar::default(), AvatarWriter::of(options.format));
        Self { name, datagrams, options, slots: Slots::default(), packet, avatar, writer }
    }
}

impl PoseSink for Osc {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<Sending, SinkError> {
        let Self { options, datagrams, packet, .. } = self;
        let OscOptions { predict, with_3d, .. } = *options;
        let valid_at_us = predict.valid_at_us(poses.captured_at_us, now_us);
        if let Some(writer) = &mut self.writer {
            let Some(seen) = self.avatar.look(poses, valid_at_us) else { return Ok(Sending::Sent) };
            writer.tell(&seen, valid_at_us, |bytes| datagrams.send(bytes, now_us))?;
            return Ok(Sending::Sent);
        }
        packet.clear();
        // The time tag is the moment that the poses speak of, on the clock that everybody has.
        let tag_us = since_1970_us().saturating_add(valid_at_us.saturating_sub(now_us));
        poses::write_bundle(packet, &mut self.slots, poses, valid_at_us, tag_us, with_3d);
        datagrams.send(packet, now_us)?;
        Ok(Sending::Sent)
    }

    /// A moment of which nothing is sent says nothing of the peer.
    fn is_away(&self) -> bool {
        self.datagrams.has_failed()
    }

    fn finish(&mut self, _within: Duration) -> Result<(), SinkError> {
        // Every datagram is already with the kernel.
        Ok(())
    }
}
