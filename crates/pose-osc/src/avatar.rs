//! One person as an avatar: who it is, how they are at one moment, and what is sent of them.

use pose::{JOINTS, Joint};

use crate::vmc::Vmc;
use crate::{OscFormat, message, vrchat};

/// The hips' height of somebody of whom nobody knows it yet, metres.
pub const HIPS_M: f32 = 0.95;
/// One packet of Ethernet, which no datagram here is longer than.
const PACKET_BYTES: usize = 1_472;

/// Whose the avatar is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Whose {
    /// The identity; somebody else's once they are gone.
    pub id: Option<u32>,
}

impl Whose {
    /// Who is the avatar now, and whether they are somebody new: the same as long as they are there, then the oldest identity. `None` where nobody
    /// is there.
    pub fn choose(&mut self, there: impl Iterator<Item = u32> + Clone) -> Option<(u32, bool)> {
        let same = self.id.filter(|id| there.clone().any(|other| other == *id));
        let chosen = same.or_else(|| there.min());
        let is_new = self.id != chosen;
        self.id = chosen;
        chosen.map(|id| (id, is_new))
    }
}

/// How the avatar is at one moment, in Unity's axes: left-handed, y up, metres.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Whose they are.
    pub id: u32,
    /// From the middle of the hips; `None` where a joint is not known.
    pub joints_m: [Option<[f32; 3]>; JOINTS],
    /// Where the middle of the hips is.
    pub hips_m: [f32; 3],
}

impl Seen {
    /// Between two joints, both of which have to be known; from the middle of the hips.
    pub fn middle(&self, [a, b]: [Joint; 2]) -> Option<[f32; 3]> {
        Some(between(self.joints_m[a as usize]?, self.joints_m[b as usize]?, 0.5))
    }

    /// Where a place that is given from the middle of the hips is in the room.
    pub fn in_room(&self, place: [f32; 3]) -> [f32; 3] {
        std::array::from_fn(|i| self.hips_m[i] + place[i])
    }
}

pub(crate) fn between(a: [f32; 3], b: [f32; 3], share: f32) -> [f32; 3] {
    std::array::from_fn(|i| a[i] + share * (b[i] - a[i]))
}

/// Writes the datagrams of one avatar.
#[derive(Debug)]
pub struct AvatarWriter {
    /// Bones rather than trackers.
    vmc: Option<Vmc>,
    packet: Vec<u8>,
}

impl AvatarWriter {
    /// `None` where `format` is of no avatar.
    pub fn of(format: OscFormat) -> Option<Self> {
        let vmc = match format {
            OscFormat::Posewire => return None,
            OscFormat::VrChat => None,
            OscFormat::Vmc => Some(Vmc::default()),
        };
        Some(Self { vmc, packet: Vec::with_capacity(PACKET_BYTES) })
    }

    /// Gives the datagrams of a moment.
    ///
    /// # Errors
    /// What `send` says; the rest of the moment is left out then.
    pub fn tell<E>(
        &mut self,
        seen: &Seen,
        valid_at_us: i64,
        mut send: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { vmc, packet } = self;
        match vmc {
            Some(vmc) => vmc.bundles(packet, seen, valid_at_us, send),
            None => vrchat::messages(seen, |address, place_m| {
                packet.clear();
                message::write_floats(packet, address, &place_m);
                send(packet)
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_avatar_is_the_oldest_and_stays_the_same_until_they_go() {
        let mut whose = Whose::default();
        let mut choose = |there: &[u32]| whose.choose(there.iter().copied());
        assert_eq!(choose(&[5, 3]), Some((3, true)));
        assert_eq!(choose(&[1, 3]), Some((3, false)));
        assert_eq!(choose(&[1]), Some((1, true)));
        assert_eq!(choose(&[]), None);
        assert_eq!(choose(&[1]), Some((1, true)));
    }
}
