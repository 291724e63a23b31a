//! Posewire's serial protocol, version 1: packets, framing, a decoder that finds its way back after any damage, and the
//! assembly of packets into moments.
//!
//! `no_std`, no allocation: the host, the firmware and the tests run this code. `docs/wire.md` is the specification;
//! the Python and C clients follow it and share the golden vectors of `tests/golden/wire_v1.json`.
//!
//! ```text
//!            ┌─────────┬──────┬──────────┬──────────────────┬──────────┐
//!  payload   │ version │ type │ length   │ body             │ CRC-32   │   little-endian throughout
//!            │ u8 = 1  │ u8   │ u16 of   │ `length` bytes   │ u32 over │
//!            │         │      │ the body │                  │ the rest │
//!            └─────────┴──────┴──────────┴──────────────────┴──────────┘
//!  on the    ┌───────────────────────────────────────────────────┬──────┐
//!  wire      │ COBS(payload): no zero byte inside                │ 0x00 │   at most MAX_FRAME bytes
//!            └───────────────────────────────────────────────────┴──────┘
//! ```
//!
//! How it grows: a body may get longer (new fields at its end, old ones never move), so a decoder reads the fields it
//! knows and ignores the rest; a type it does not know it skips and counts. `version` changes only when this would not do,
//! and then an old decoder skips and counts the packet.
//!
//! ```
//! use pose_wire::{Decoder, Event, MAX_PACKET, Packet, Command, encode};
//!
//! let mut bytes = [0; MAX_PACKET];
//! let n = encode(&Packet::Command(Command::RequestHello), &mut bytes)?;
//! let mut decoder = Decoder::new();
//! let mut events = decoder.feed(&bytes[..n]);
//! assert_eq!(events.next(), Some(Event::Packet(Packet::Command(Command::RequestHello))));
//! # Ok::<(), pose_wire::EncodeError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

mod budget;
mod bytes;
mod decode;
mod encode;
mod moment;
mod notice;
mod packet;
mod place_packet;
mod pose_packet;
mod quantise;

pub use budget::{DEFAULT_BAUD, Downgrade, Fit, LINE_SHARE, MIN_RATE_HZ, Stream, TooSlow, fits_baud};
pub use decode::{Counters, Decoder, Event, Events, Fault};
pub use encode::{EncodeError, encode};
pub use moment::{Assembly, Moment, MomentCounters, QUIET_US};
pub use notice::{Notice, NoticeCode};
pub use packet::{Command, Hello, HelloFlags, Packet, Receipt, SourceState, Status, text16};
pub use place_packet::PlacePacket;
pub use pose_packet::{Emission, JointCode, Person, PosePacket, ScaleError, scale_for};
pub use quantise::{SIGMA_MAX_PX, sigma_code, sigma_px};

/// The first byte of every payload.
pub const VERSION: u8 = 1;
/// Counts extensions of version 1: fields appended, types added. Carried by HELLO; nothing depends on it.
/// 1: PLACE and NOTICE.
pub const MINOR: u8 = 1;
/// The skeleton of HELLO's `skeleton` field: COCO's 17 joints in COCO's order.
pub const SKELETON_COCO17: u8 = 1;

/// Bytes of version, type and length before the body.
pub const HEADER_LEN: usize = 4;
/// Bytes of the CRC after the body.
pub const CRC_LEN: usize = 4;
/// Longest payload that [`encode`] makes: a POSE with its 3D block.
pub const MAX_PAYLOAD: usize = HEADER_LEN + pose_packet::BODY_LEN_3D + CRC_LEN;
/// Longest frame that [`encode`] makes, its 0x00 included: COBS adds one byte below 255 bytes of payload.
pub const MAX_PACKET: usize = MAX_PAYLOAD + 2;
/// Longest frame, its 0x00 included, that any version-1 sender will ever make: what a decoder must have room for.
pub const MAX_FRAME: usize = 512;

/// CRC-32/ISO-HDLC: the CRC of zlib, PNG and Ethernet.
pub(crate) const CRC: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);

const _: () = assert!(MAX_PAYLOAD <= 254, "COBS would add a second byte");
const _: () = assert!(MAX_PACKET <= MAX_FRAME);

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadMe;
