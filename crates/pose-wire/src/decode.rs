//! The bytes of the wire to packets, whatever happened to them on the way.

use cobs::{DecodeResult, DecoderState};

use crate::{
    CRC, CRC_LEN, Command, HEADER_LEN, Hello, MAX_FRAME, Notice, Packet, PlacePacket, PosePacket, Receipt,
    Status, VERSION,
    bytes::Reader,
    packet::{CommandBody, kind},
};

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "boxing needs an allocator")]
pub enum Event {
    /// A packet, whole and understood.
    Packet(Packet),
    /// A frame that gave none.
    Dropped(Fault),
}

/// Why a frame gave no packet. Tested in this order; the first that applies is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// More than [`MAX_FRAME`] bytes without a 0x00: noise, or a lost delimiter. Told once, when it happens.
    Overfull,
    /// No valid COBS, shorter than header and CRC, or (with a good CRC) a length that does not add up.
    Framing,
    /// The CRC does not match.
    Crc,
    /// A whole packet of another version of the protocol.
    Version(u8),
    /// A whole packet of a type, or a COMMAND of a code, that this version does not know.
    UnknownType(u8),
    /// A whole packet whose fields contradict each other, or whose body is shorter than version 1 began with.
    Malformed(u8),
}

/// How often each [`Event`] happened; all wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets understood.
    pub packets: u32,
    /// [`Fault::Overfull`].
    pub overfull: u32,
    /// [`Fault::Framing`].
    pub framing: u32,
    /// [`Fault::Crc`].
    pub crc: u32,
    /// [`Fault::Version`].
    pub version: u32,
    /// [`Fault::UnknownType`].
    pub unknown_type: u32,
    /// [`Fault::Malformed`].
    pub malformed: u32,
}

impl Counters {
    /// Frames damaged on the way: every fault but those of other versions and types.
    pub fn damaged(&self) -> u32 {
        self.overfull.wrapping_add(self.framing).wrapping_add(self.crc).wrapping_add(self.malformed)
    }

    fn count(&mut self, event: &Event) {
        let counter = match event {
            Event::Packet(_) => &mut self.packets,
            Event::Dropped(Fault::Overfull) => &mut self.overfull,
            Event::Dropped(Fault::Framing) => &mut self.framing,
            Event::Dropped(Fault::Crc) => &mut self.crc,
            Event::Dropped(Fault::Version(_)) => &mut self.version,
            Event::Dropped(Fault::UnknownType(_)) => &mut self.unknown_type,
            Event::Dropped(Fault::Malformed(_)) => &mut self.malformed,
        };
        *counter = counter.wrapping_add(1);
    }
}

/// Takes bytes, gives [`Event`]s. Every 0x00 starts afresh, so damage costs the frames it touches and none after them.
///
/// Holds one frame and never grows; a byte costs a bounded time.
pub struct Decoder {
    cobs: DecoderState,
    payload: [u8; MAX_FRAME],
    payload_len: usize,
    /// Bytes since the last 0x00; stops one above what a frame may have.
    frame_len: usize,
    counters: Counters,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// Waits for a first frame. What comes before the first 0x00 is taken for a frame and most likely counted as damaged.
    pub const fn new() -> Self {
        Self {
            cobs: DecoderState::Idle,
            payload: [0; MAX_FRAME],
            payload_len: 0,
            frame_len: 0,
            counters: Counters {
                packets: 0,
                overfull: 0,
                framing: 0,
                crc: 0,
                version: 0,
                unknown_type: 0,
                malformed: 0,
            },
        }
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// After bytes were lost, as by an overrun of the receiver: forgets the frame that was begun and drops what comes up to the next
    /// 0x00, uncounted. Where none was begun that is the next frame, whose beginning may be among what was lost.
    pub fn desync(&mut self) {
        self.frame_len = MAX_FRAME;
        self.cobs = DecoderState::Idle;
    }

    /// Takes one byte; at the end of a frame says what became of it. Empty frames say nothing.
    pub fn push(&mut self, byte: u8) -> Option<Event> {
        let event = self.step(byte)?;
        self.counters.count(&event);
        Some(event)
    }

    /// Takes all of `bytes`, giving events on the way. What the iterator has not reached when it is dropped is not taken.
    pub fn feed<'a>(&'a mut self, bytes: &'a [u8]) -> Events<'a> {
        Events { decoder: self, bytes: bytes.iter() }
    }

    fn step(&mut self, byte: u8) -> Option<Event> {
        if byte != 0 {
            // The longest frame has MAX_FRAME - 1 bytes before its 0x00.
            if self.frame_len >= MAX_FRAME {
                return None;
            }
            self.frame_len += 1;
            if self.frame_len == MAX_FRAME {
                self.cobs = DecoderState::Idle;
                return Some(Event::Dropped(Fault::Overfull));
            }
        } else if core::mem::take(&mut self.frame_len) >= MAX_FRAME {
            return None;
        }
        match self.cobs.feed(byte) {
            Ok(DecodeResult::NoData) => None,
            Ok(DecodeResult::DataStart) => {
                self.payload_len = 0;
                None
            }
            Ok(DecodeResult::DataContinue(decoded)) => {
                // Decoded bytes are fewer than encoded ones, so there is room.
                if let Some(place) = self.payload.get_mut(self.payload_len) {
                    *place = decoded;
                    self.payload_len += 1;
                }
                None
            }
            Ok(DecodeResult::DataComplete) => Some(match parse(&self.payload[..self.payload_len]) {
                Ok(packet) => Event::Packet(packet),
                Err(fault) => Event::Dropped(fault),
            }),
            Err(_) => Some(Event::Dropped(Fault::Framing)),
        }
    }
}

/// Events of [`Decoder::feed`].
pub struct Events<'a> {
    decoder: &'a mut Decoder,
    bytes: core::slice::Iter<'a, u8>,
}

impl Iterator for Events<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        self.bytes.by_ref().find_map(|&byte| self.decoder.push(byte))
    }
}

fn parse(payload: &[u8]) -> Result<Packet, Fault> {
    let (covered, crc) = payload.split_last_chunk::<CRC_LEN>().ok_or(Fault::Framing)?;
    let (&[version, kind, low, high], body) =
        covered.split_first_chunk::<HEADER_LEN>().ok_or(Fault::Framing)?;
    if CRC.checksum(covered) != u32::from_le_bytes(*crc) {
        return Err(Fault::Crc);
    }
    if version != VERSION {
        return Err(Fault::Version(version));
    }
    if usize::from(u16::from_le_bytes([low, high])) != body.len() {
        return Err(Fault::Framing);
    }
    let r = Reader::new(body);
    let packet = match kind {
        kind::HELLO => Hello::read(r).map(Packet::Hello),
        kind::POSE => PosePacket::read(r).map(Packet::Pose),
        kind::STATUS => Status::read(r).map(Packet::Status),
        kind::PLACE => PlacePacket::read(r).map(Packet::Place),
        kind::NOTICE => Notice::read(r).map(Packet::Notice),
        kind::COMMAND => match Command::read(r) {
            Some(CommandBody::Known(command)) => Some(Packet::Command(command)),
            Some(CommandBody::Unknown) => return Err(Fault::UnknownType(kind)),
            None => None,
        },
        kind::RECEIPT => Receipt::read(r).map(Packet::Receipt),
        _ => return Err(Fault::UnknownType(kind)),
    };
    packet.ok_or(Fault::Malformed(kind))
}
