//! The other end of the wire on a host: bytes of a port to whole moments.

use std::io;

use pose::{MAX_PERSONS, Pose, Stamped};
use pose_wire::{
    Assembly, Counters, Decoder, Event, Hello, Moment, MomentCounters, Notice, Packet, PlacePacket, Status,
};

/// What a reader is told.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant, reason = "one at a time, on the stack")]
pub enum Heard {
    /// Poses, as soon as the last person's packet is there or the next moment begins; and where they stand.
    Moment(Moment, Places),
    /// Who speaks.
    Hello(Hello),
    /// How the sender is.
    Status(Status),
    /// Something happened.
    Notice(Notice),
}

/// What was read so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounters {
    /// What became of the poses.
    pub moments: MomentCounters,
    /// What the decoder met.
    pub wire: Counters,
}

/// Takes bytes from anywhere and says what they say. Holds one frame and one moment at most.
#[derive(Default)]
pub struct Reader {
    decoder: Decoder,
    assembly: Assembly,
    places: Places,
}

/// Where persons stand by the newest PLACEs, each of which comes before its POSE; the oldest make room.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places {
    /// The newest first.
    newest: [Option<PlacePacket>; MAX_PERSONS],
}

impl Places {
    fn take(&mut self, place: PlacePacket) {
        self.newest.rotate_right(1);
        self.newest[0] = Some(place);
    }

    /// The poses of `moment` with their places.
    pub fn poses<'a>(&'a self, moment: &'a Moment) -> impl Iterator<Item = Stamped<Pose>> + 'a {
        moment.poses().map(move |mut pose| {
            let is_its = |place: &&PlacePacket| {
                (place.seq, place.track_id, place.captured_at_us)
                    == (moment.seq, pose.value.track_id, moment.captured_at_us)
            };
            pose.value.place = self.newest.iter().flatten().find(is_its).map(PlacePacket::place);
            pose
        })
    }
}

impl Reader {
    /// What was read so far.
    pub fn counters(&self) -> ReadCounters {
        ReadCounters { moments: self.assembly.counters(), wire: self.decoder.counters() }
    }

    /// Takes bytes as they come and tells `hear` of everything that they complete.
    ///
    /// # Errors
    /// The first error of `hear`; the rest of `bytes` is not taken.
    pub fn feed(&mut self, bytes: &[u8], mut hear: impl FnMut(Heard) -> io::Result<()>) -> io::Result<()> {
        for &byte in bytes {
            match self.decoder.push(byte) {
                Some(Event::Packet(Packet::Pose(packet))) => {
                    let mut heard = Ok(());
                    let Self { assembly, places, .. } = self;
                    assembly.push(&packet, |moment| tell(&mut heard, &mut hear, moment, places));
                    heard?;
                }
                Some(Event::Packet(Packet::Place(place))) => self.places.take(place),
                Some(Event::Packet(Packet::Notice(notice))) => hear(Heard::Notice(notice))?,
                Some(Event::Packet(Packet::Hello(hello))) => hear(Heard::Hello(hello))?,
                Some(Event::Packet(Packet::Status(status))) => hear(Heard::Status(status))?,
                Some(Event::Packet(_) | Event::Dropped(_)) | None => {}
            }
        }
        Ok(())
    }

    /// Gives out what is there of a moment whose last packet is not coming.
    ///
    /// # Errors
    /// As `hear`.
    pub fn flush(&mut self, mut hear: impl FnMut(Heard) -> io::Result<()>) -> io::Result<()> {
        let mut heard = Ok(());
        let Self { assembly, places, .. } = self;
        assembly.flush(|moment| tell(&mut heard, &mut hear, moment, places));
        heard
    }
}

/// Tells `hear` of a moment, unless it has failed before.
fn tell(
    heard: &mut io::Result<()>,
    hear: &mut impl FnMut(Heard) -> io::Result<()>,
    moment: &Moment,
    places: &Places,
) {
    if heard.is_ok() {
        *heard = hear(Heard::Moment(*moment, *places));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pose::{Pose, Stamped};
    use pose_wire::{Emission, MAX_PACKET, PosePacket, encode};

    /// The packets of a moment of `persons`, captured at `seq` times 1000 µs.
    fn packets(seq: u32, persons: u8) -> Vec<Vec<u8>> {
        let captured_at_us = i64::from(seq) * 1_000;
        let at = Emission { seq, sent_at_us: captured_at_us + 400, persons, scale: 0 };
        let pose = |i: u8| Stamped {
            captured_at_us,
            valid_at_us: captured_at_us + 450,
            value: Pose { track_id: u32::from(i) + 1, ..Pose::default() },
        };
        let packet = |i: u8| Packet::Pose(PosePacket::new(&pose(i), i, at));
        let nobody = Packet::Pose(PosePacket::nobody(captured_at_us, captured_at_us + 450, at));
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
                if let Heard::Moment(m, _) = heard {
                    assert_eq!(
                        (m.sent_at_us(), m.valid_at_us()),
                        (m.captured_at_us + 400, m.captured_at_us + 450)
                    );
                    out.push((m.seq, m.poses().map(|p| p.value.track_id).collect()));
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
        assert_eq!(moments(&mut reader, &two[0]), [], "a doubled packet brings nobody");
        assert_eq!(moments(&mut reader, &two[1]), [(7, vec![1, 2])]);
        assert_eq!(moments(&mut reader, &packets(8, 0)[0]), [(8, vec![])]);
        let counters = reader.counters().moments;
        assert_eq!((counters.given, counters.refused), (2, 1));
    }

    #[test]
    fn a_place_of_another_moment_or_person_is_not_taken_for_this_one() {
        let place = |seq, track_id, captured_at_us| {
            let place = pose::Place { at_m: [0.5, 0.25, 3.0], ..pose::Place::default() };
            let mut bytes = vec![0; MAX_PACKET];
            let packet = Packet::Place(PlacePacket::new(&place, track_id, seq, captured_at_us));
            let n = encode(&packet, &mut bytes).unwrap();
            bytes.truncate(n);
            bytes
        };
        for (seq, track_id, captured_at_us, is_its) in
            [(7, 1, 7_000, true), (6, 1, 7_000, false), (7, 2, 7_000, false), (7, 1, 6_000, false)]
        {
            let mut bytes = place(seq, track_id, captured_at_us);
            bytes.extend(&packets(7, 1)[0]);
            let mut places = Vec::new();
            let hear = |heard| {
                if let Heard::Moment(moment, of) = heard {
                    places.extend(of.poses(&moment).map(|pose| pose.value.place));
                }
                Ok(())
            };
            Reader::default().feed(&bytes, hear).unwrap();
            let is_there: Vec<_> = places.iter().map(Option::is_some).collect();
            assert_eq!(is_there, [is_its], "moment {seq}, person {track_id}, {captured_at_us} us");
        }
    }

    #[test]
    fn a_listener_that_has_had_enough_ends_the_reading() {
        let mut reader = Reader::default();
        let both = [packets(1, 2)[1].clone(), packets(2, 1)[0].clone()].concat();
        let mut told = 0;
        let ended = reader.feed(&both, |_| {
            told += 1;
            Err(io::ErrorKind::BrokenPipe.into())
        });
        assert_eq!((ended.unwrap_err().kind(), told), (io::ErrorKind::BrokenPipe, 1));
    }

    #[test]
    fn a_lost_packet_costs_its_person_and_a_lost_moment_is_counted() {
        let mut reader = Reader::default();
        assert_eq!(moments(&mut reader, &packets(1, 2)[1]), []);
        assert_eq!(moments(&mut reader, &packets(4, 1)[0]), [(1, vec![2]), (4, vec![1])]);
        let counters = reader.counters().moments;
        assert_eq!((counters.given, counters.incomplete, counters.missed), (2, 1, 2));
    }
}
