//! The serial line: bytes from whatever is at the other end.

use pose_wire::{Decoder, Event, MAX_PACKET, encode};
use posewire::output::serial::Reader;

use super::Target;

const CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);

/// Version, type and length of the packets that there are.
const HEADS: &[&[u8]] =
    &[&[1, 1], &[1, 2], &[1, 3], &[1, 4], &[1, 5], &[1, 0x81], &[1, 0x82], &[0], &[1, 2, 0x77, 0]];

pub const DECODER: Target = Target { name: "wire", max_len: 1024, words: HEADS, run: decode };
pub const READER: Target = Target { name: "reader", max_len: 4096, words: HEADS, run: read };

/// The line's bytes. A first byte of 0 means: as they are; otherwise each piece between two 0x00 is a payload that is given
/// its CRC and framed, so that damage reaches what lies behind the checksum.
fn line(data: &[u8]) -> Vec<u8> {
    let Some((kind, rest)) = data.split_first() else { return Vec::new() };
    if *kind == 0 {
        return rest.to_vec();
    }
    let mut bytes = Vec::new();
    let mut rest = rest;
    while let Some((len, after)) = rest.split_first() {
        let (payload, after) = after.split_at(usize::from(*len).min(after.len()));
        let payload = [payload, &CRC.checksum(payload).to_le_bytes()].concat();
        let start = bytes.len();
        bytes.resize(start + cobs::max_encoding_length(payload.len()), 0);
        let len = cobs::encode(&payload, &mut bytes[start..]);
        bytes.truncate(start + len);
        bytes.push(0);
        rest = after;
    }
    bytes
}

fn decode(data: &[u8]) {
    let line = line(data);
    let mut decoder = Decoder::new();
    let mut frames = 0;
    for &byte in &line {
        frames += u32::from(byte == 0);
        let Some(event) = decoder.push(byte) else { continue };
        let Event::Packet(packet) = event else { continue };
        // What was understood can be said again, and means the same.
        let mut again = [0; MAX_PACKET];
        let len = encode(&packet, &mut again).expect("a packet that was decoded can be encoded");
        let mut second = Decoder::new();
        let heard = again[..len].iter().find_map(|b| second.push(*b));
        assert_eq!(heard, Some(Event::Packet(packet)), "encoding and decoding changed a packet");
    }
    let c = decoder.counters();
    let told = c.packets + c.overfull + c.framing + c.crc + c.version + c.unknown_type + c.malformed;
    // One more: a frame that is too long is told before it ends.
    assert!(told <= frames + 1, "{c:?} from {frames} frames");
}

fn read(data: &[u8]) {
    let mut reader = Reader::default();
    for piece in line(data).chunks(61) {
        reader.feed(piece, |_| Ok(())).expect("the listener never fails");
    }
    reader.flush(|_| Ok(())).expect("the listener never fails");
    let c = reader.counters().moments;
    assert!(c.incomplete <= c.given, "{c:?}");
}
