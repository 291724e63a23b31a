//! The other end of the wire on a host: bytes of a port to whole moments.

use std::io;

use pose::{MAX_PERSONS, Pose, Stamped};
use pose_wire::{Counters, Decoder, Event, Hello, Packet, PosePacket, Status};

/// Every person of one moment of sending.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Counts moments of sending; a gap is a loss.
    pub seq: u32,
    /// Start of the exposure, microseconds of the sender's clock.
    pub captured_at_us: i64,
    /// When it was handed to the sender's serial driver, on the same clock.
    pub sent_at_us: i64,
    /// The moment that the poses speak of, on the same clock.
    pub valid_at_us: i64,
    /// How many persons it was sent with: more than there are [`Self::poses`] where packets were lost.
    pub persons: u8,
    poses: [Stamped<Pose>; MAX_PERSONS],
    len: usize,
}

impl Moment {
    fn begun(packet: &PosePacket) -> Self {
        let after_capture = |us: i32| packet.captured_at_us.saturating_add(i64::from(us));
        Self {
            seq: packet.seq,
            captured_at_us: packet.captured_at_us,
            sent_at_us: after_capture(packet.age_us),
            valid_at_us: after_capture(packet.horizon_us),
            persons: packet.persons,
            poses: [Stamped::default(); MAX_PERSONS],
            len: 0,
        }
    }

    /// The persons that arrived, in the order of sending.
    pub fn poses(&self) -> &[Stamped<Pose>] {
        &self.poses[..self.len]
    }

    fn is_whole(&self) -> bool {
        self.len >= usize::from(self.persons).min(MAX_PERSONS)
    }
}

/// What a reader is told.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant)] // one at a time, on the stack
pub enum Heard {
    /// Poses, as soon as the last person's packet is there or the next moment begins.
    Moment(Moment),
    /// Who speaks.
    Hello(Hello),
    /// How the sender is.
    Status(Status),
}

/// What was read so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounters {
    /// Moments given out.
    pub moments: u64,
    /// Moments of which a person's packet is missing.
    pub incomplete: u64,
    /// Moments that the sender counted and that never arrived.
    pub missed: u64,
    /// What the decoder met.
    pub wire: Counters,
}

/// Puts packets together into moments. Takes bytes from anywhere and holds one moment at most.
#[derive(Default)]
pub struct Reader {
    decoder: Decoder,
    moment: Option<Moment>,
    last_seq: Option<u32>,
    counters: ReadCounters,
}

impl Reader {
    /// What was read so far.
    pub fn counters(&self) -> ReadCounters {
        ReadCounters { wire: self.decoder.counters(), ..self.counters }
    }

    /// Takes bytes as they come and tells `hear` of everything that they complete.
    ///
    /// # Errors
    /// The first error of `hear`; the rest of `bytes` is not taken.
    pub fn feed(&mut self, bytes: &[u8], mut hear: impl FnMut(Heard) -> io::Result<()>) -> io::Result<()> {
        for &byte in bytes {
            match self.decoder.push(byte) {
                Some(Event::Packet(Packet::Pose(packet))) => self.take(&packet, &mut hear)?,
                Some(Event::Packet(Packet::Hello(hello))) => hear(Heard::Hello(hello))?,
                Some(Event::Packet(Packet::Status(status))) => hear(Heard::Status(status))?,
                Some(Event::Packet(Packet::Command(_) | Packet::Receipt(_)) | Event::Dropped(_)) | None => {}
            }
        }
        Ok(())
    }

    /// Gives out what is there of a moment whose last packet is not coming.
    ///
    /// # Errors
    /// As `hear`.
    pub fn flush(&mut self, mut hear: impl FnMut(Heard) -> io::Result<()>) -> io::Result<()> {
        match self.moment.take() {
            Some(moment) => self.give(moment, &mut hear),
            None => Ok(()),
        }
    }

    fn take(
        &mut self,
        packet: &PosePacket,
        hear: &mut impl FnMut(Heard) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.moment.is_some_and(|m| m.seq != packet.seq) {
            self.flush(&mut *hear)?;
        }
        let moment = self.moment.get_or_insert_with(|| Moment::begun(packet));
        if let (Some(pose), Some(place)) = (packet.stamped(), moment.poses.get_mut(moment.len)) {
            *place = pose;
            moment.len += 1;
        }
        if moment.is_whole() { self.flush(hear) } else { Ok(()) }
    }

    fn give(&mut self, moment: Moment, hear: &mut impl FnMut(Heard) -> io::Result<()>) -> io::Result<()> {
        self.counters.moments += 1;
        self.counters.incomplete += u64::from(!moment.is_whole());
        // A sender that starts anew counts from 0 again: only a step forward of less than half the range is a gap.
        let step = self.last_seq.map_or(1, |last| moment.seq.wrapping_sub(last));
        if (2..1 << 31).contains(&step) {
            self.counters.missed += u64::from(step - 1);
        }
        self.last_seq = Some(moment.seq);
        hear(Heard::Moment(moment))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pose_wire::{Emission, MAX_PACKET, encode};

    fn packets(seq: u32, persons: u8) -> Vec<Vec<u8>> {
        let at = Emission { seq, sent_at_us: 900, persons, scale: 0 };
        let pose = |i: u8| Stamped {
            captured_at_us: 500,
            valid_at_us: 950,
            value: Pose { track_id: u32::from(i) + 1, ..Pose::default() },
        };
        let packet = |i: u8| Packet::Pose(PosePacket::new(&pose(i), i, at));
        let nobody = Packet::Pose(PosePacket::nobody(500, 950, at));
        let all: Vec<Packet> = if persons == 0 { vec![nobody] } else { (0..persons).map(packet).collect() };
        all.iter()
            .map(|p| {
                let mut bytes = vec![0; MAX_PACKET];
                let n = encode(p, &mut bytes).unwrap();
                bytes.truncate(n);
                bytes
            })
            .collect()
    }

    fn moments(reader: &mut Reader, bytes: &[u8]) -> Vec<(u32, Vec<u32>)> {
        let mut out = Vec::new();
        reader
            .feed(bytes, |heard| {
                if let Heard::Moment(m) = heard {
                    assert_eq!((m.captured_at_us, m.sent_at_us, m.valid_at_us), (500, 900, 950));
                    out.push((m.seq, m.poses().iter().map(|p| p.value.track_id).collect()));
                }
                Ok(())
            })
            .unwrap();
        out
    }

    #[test]
    fn a_moment_is_given_out_with_its_last_person() {
        let mut reader = Reader::default();
        let two = packets(7, 2);
        assert_eq!(moments(&mut reader, &two[0]), []);
        assert_eq!(moments(&mut reader, &two[1]), [(7, vec![1, 2])]);
        assert_eq!(moments(&mut reader, &packets(8, 0)[0]), [(8, vec![])]);
        assert_eq!(reader.counters().moments, 2);
    }

    #[test]
    fn a_lost_packet_costs_its_person_and_a_lost_moment_is_counted() {
        let mut reader = Reader::default();
        assert_eq!(moments(&mut reader, &packets(1, 2)[1]), []);
        assert_eq!(moments(&mut reader, &packets(4, 1)[0]), [(1, vec![2]), (4, vec![1])]);
        let counters = reader.counters();
        assert_eq!((counters.moments, counters.incomplete, counters.missed), (2, 1, 2));
        // The sender was started again.
        moments(&mut reader, &packets(0, 1)[0]);
        assert_eq!(reader.counters().missed, 2);
    }
}
