//! Streams of poses and the moments that every client makes of them: part of the golden vectors of [`crate::wire`].

use std::fmt::Write as _;

use pose_wire::{Assembly, Decoder, Event, JointCode, Moment, Packet, Person, PosePacket, SourceState};

use posewire::output::jsonl::{BUILT_IN, Format, Head};
use posewire::output::serial::{Heard, Reader};

use crate::wire::frame;

/// What decoder and assembly make of `bytes`: one line a moment, numbers only, the counters last. The C and Python clients'
/// `transcript` write the same when they are asked for `moments`.
pub(crate) fn transcript(bytes: &[u8]) -> Vec<String> {
    let (mut decoder, mut assembly, mut lines) = (Decoder::new(), Assembly::new(), Vec::new());
    for event in decoder.feed(bytes) {
        if let Event::Packet(Packet::Pose(packet)) = event {
            assembly.push(&packet, |moment| lines.push(line(moment)));
        }
    }
    assembly.flush(|moment| lines.push(line(moment)));
    let c = assembly.counters();
    lines.push(format!("counters {} {} {} {}", c.given, c.incomplete, c.missed, c.refused));
    lines
}

fn line(m: &Moment) -> String {
    let times = [m.captured_at_us, m.sent_at_us(), m.valid_at_us()];
    let mut to = format!("moment {} {} {} {} {}", m.seq, times[0], times[1], times[2], m.expected);
    m.persons().for_each(|p| write!(to, " {}:{}", p.index, p.track_id).unwrap());
    to
}

/// Person `index` of `persons` of moment `seq`, captured at `seq` frames of 30 Hz.
fn packet(seq: u32, index: u8, persons: u8) -> PosePacket {
    let captured_at_us = i64::from(seq) * 33_333;
    let track_id = u32::from(index) + 1;
    let joints = [JointCode::default(); pose::JOINTS];
    let person = Person { index, track_id, score: 200, scale: 0, joints, joints_3d_mm: None };
    let person = (persons > 0).then_some(person);
    PosePacket { seq, captured_at_us, age_us: 20_000, horizon_us: 25_000, persons, person }
}

fn with(mut packet: PosePacket, change: impl FnOnce(&mut PosePacket)) -> PosePacket {
    change(&mut packet);
    packet
}

/// The bytes of moment `seq`.
pub(crate) fn whole(seq: u32, persons: u8) -> Vec<u8> {
    (0..persons).flat_map(|index| frame(&Packet::Pose(packet(seq, index, persons)))).collect()
}

/// Name and packets, in the order of arrival.
fn cases() -> Vec<(&'static str, Vec<PosePacket>)> {
    let at_us = |us: i64| move |p: &mut PosePacket| p.captured_at_us = us;
    let times = |captured_at_us, age_us, horizon_us| {
        move |p: &mut PosePacket| {
            (p.captured_at_us, p.age_us, p.horizon_us) = (captured_at_us, age_us, horizon_us);
        }
    };
    vec![
        ("whole_moments", vec![packet(1, 0, 2), packet(1, 1, 2), packet(2, 0, 0), packet(3, 0, 1)]),
        ("persons_in_another_order", vec![packet(1, 2, 3), packet(1, 0, 3), packet(1, 1, 3)]),
        ("doubled_packet", vec![packet(1, 0, 2), packet(1, 0, 2), packet(1, 1, 2)]),
        ("doubled_moment", vec![packet(1, 0, 1), packet(1, 0, 1), packet(2, 0, 0), packet(2, 0, 0)]),
        ("packet_lost", vec![packet(1, 0, 2), packet(2, 0, 2), packet(2, 1, 2)]),
        ("first_packet_lost", vec![packet(1, 1, 2), packet(2, 0, 1)]),
        ("last_packet_lost", vec![packet(1, 0, 3), packet(1, 1, 3)]),
        ("moments_lost", vec![packet(1, 0, 1), packet(5, 0, 1)]),
        (
            "persons_change_within_a_seq",
            vec![packet(1, 0, 2), packet(1, 1, 3), packet(1, 0, 0), packet(1, 1, 2)],
        ),
        (
            "horizon_changes_within_a_seq",
            vec![packet(1, 0, 2), with(packet(1, 1, 2), |p| p.horizon_us += 1), packet(2, 0, 1)],
        ),
        ("age_grows_within_a_seq", vec![packet(1, 0, 2), with(packet(1, 1, 2), |p| p.age_us += 900)]),
        (
            "packet_of_the_moment_before",
            vec![packet(1, 0, 2), packet(2, 0, 2), packet(1, 1, 2), packet(2, 1, 2)],
        ),
        ("fifteen_moments_back", vec![packet(20, 0, 1), packet(5, 0, 1), packet(21, 0, 1)]),
        ("sixteen_moments_back", vec![packet(20, 0, 1), packet(4, 0, 1), packet(5, 0, 1)]),
        ("sender_starts_anew", vec![packet(900, 0, 2), packet(0, 0, 1), packet(1, 0, 1)]),
        (
            "sender_starts_anew_soon",
            vec![
                packet(2, 0, 1),
                with(packet(0, 0, 1), at_us(500_000)),
                with(packet(1, 0, 1), at_us(533_333)),
            ],
        ),
        (
            "same_seq_later_capture",
            vec![packet(3, 0, 2), with(packet(3, 1, 2), at_us(900_000)), packet(3, 1, 2)],
        ),
        ("same_seq_earlier_capture", vec![packet(3, 0, 1), with(packet(3, 0, 1), at_us(0))]),
        (
            "seq_wraps",
            [u32::MAX - 1, u32::MAX, 0, 1]
                .into_iter()
                .zip(0..)
                .flat_map(|(seq, n)| [0, 1].map(|i| with(packet(seq, i, 2), at_us(n * 33_333))))
                .collect(),
        ),
        (
            "seq_wraps_over_a_gap",
            vec![with(packet(u32::MAX - 1, 0, 1), at_us(0)), with(packet(2, 0, 1), at_us(133_332))],
        ),
        (
            "step_of_half_the_range",
            vec![with(packet(0, 0, 1), at_us(0)), with(packet(1 << 31, 0, 1), at_us(1))],
        ),
        (
            "more_persons_than_are_kept",
            (0..10)
                .chain(9..10)
                .map(|i| packet(1, i, 10))
                .chain([packet(2, 9, 10), packet(3, 0, 1)])
                .collect(),
        ),
        (
            "times_at_the_ends",
            vec![
                with(packet(0, 0, 1), times(i64::MIN + 7, i32::MIN, -8)),
                with(packet(1, 0, 1), times(i64::MAX - 7, i32::MAX, 8)),
            ],
        ),
    ]
}

/// Name and bytes.
pub(crate) fn streams() -> Vec<(&'static str, Vec<u8>)> {
    let bytes = |packets: &[PosePacket]| -> Vec<u8> {
        packets.iter().flat_map(|p| frame(&Packet::Pose(*p))).collect()
    };
    let mut all: Vec<_> = cases().into_iter().map(|(name, packets)| (name, bytes(&packets))).collect();
    let mut damaged = bytes(&[packet(1, 0, 2), packet(1, 1, 2), packet(2, 0, 1)]);
    damaged[200] ^= 0x10;
    all.push(("packet_damaged", damaged));
    all
}

/// What a bad cable, a bridge that doubles and reorders, and a sender that is started again make of `moments` moments.
pub(crate) fn random_stream(moments: usize, seed: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mut seq, mut at_us) = (u32::MAX - 300, 0);
    let mut packets = Vec::new();
    for _ in 0..moments {
        let persons = rng.u8(..11);
        for index in 0..persons.max(1) {
            let mut p = with(packet(seq, index.min(persons.saturating_sub(1)), persons), |p| {
                p.captured_at_us = at_us
            });
            match rng.u8(..60) {
                0 => p.horizon_us = rng.i32(..),
                1 => p.persons = p.persons.saturating_add(u8::from(persons > 0)),
                2 => p.captured_at_us = rng.i64(..),
                3 => p.seq = p.seq.wrapping_sub(rng.u32(..20)),
                4 => p.age_us = rng.i32(..),
                _ => {}
            }
            match rng.u8(..20) {
                0 => {}
                1 => packets.extend([p, p]),
                2 => packets.insert(packets.len() - rng.usize(..packets.len().min(30) + 1), p),
                _ => packets.push(p),
            }
        }
        match rng.u16(..200) {
            0 => seq = rng.u32(..),
            1 => seq = seq.wrapping_add(rng.u32(..5)),
            2 => at_us = rng.i64(..),
            _ => {}
        }
        (seq, at_us) = (seq.wrapping_add(1), at_us.wrapping_add(33_333));
    }
    packets.iter().flat_map(|p| frame(&Packet::Pose(*p))).collect()
}

/// The lines that `posewire read --jsonl-format FORMAT` prints of `bytes`.
pub(crate) fn json_lines(format: Format, bytes: &[u8]) -> Vec<String> {
    let (mut reader, mut lines) = (Reader::default(), Vec::new());
    format.write_first_row(&mut lines);
    let (mut size_px, mut source) = (None, None);
    let mut hear = |heard| {
        match heard {
            Heard::Hello(hello) if hello.width_px > 0 && hello.height_px > 0 => {
                size_px = Some([hello.width_px, hello.height_px].map(u32::from));
            }
            Heard::Status(status) => {
                source = (status.source == SourceState::BUILT_IN).then_some(BUILT_IN);
            }
            Heard::Moment(m, places) => {
                let (captured_at_us, emitted_at_us) = (m.captured_at_us, m.sent_at_us());
                let head = Head {
                    seq: m.seq.into(),
                    frame: None,
                    captured_at_us,
                    emitted_at_us,
                    size_px,
                    source,
                    floor: None,
                };
                format.write(&mut lines, &head, places.poses(&m));
            }
            _ => {}
        }
        Ok(())
    };
    reader.feed(bytes, &mut hear).unwrap();
    reader.flush(&mut hear).unwrap();
    String::from_utf8(lines).unwrap().lines().map(Into::into).collect()
}

#[test]
fn no_stream_of_moments_leaves_an_assembly_that_gives_no_more() {
    for (name, bytes) in streams() {
        let anew = packet(1 << 30, 0, 1);
        let anew = with(anew, |p| p.captured_at_us = i64::MAX);
        let lines = transcript(&[bytes, frame(&Packet::Pose(anew))].concat());
        assert!(
            lines.iter().any(|l| l.starts_with(&format!("moment {} ", 1 << 30))),
            "after {name}: {lines:?}"
        );
    }
}

#[test]
fn a_doubled_packet_completes_no_moment() {
    let (_, bytes) = streams().into_iter().find(|s| s.0 == "doubled_packet").unwrap();
    assert_eq!(transcript(&bytes), ["moment 1 33333 53333 58333 2 0:1 1:2", "counters 1 0 0 1"]);
}
