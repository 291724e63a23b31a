//! A packet to the bytes of the wire.

use crate::{CRC, HEADER_LEN, MAX_PAYLOAD, Packet, VERSION, bytes::Writer, packet::kind};

/// Why a packet cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The caller's buffer is too small.
    #[error(
        "the packet needs {needed} bytes and the buffer has {have}; give encode() a buffer of MAX_PACKET bytes"
    )]
    Buffer {
        /// Bytes of the frame, its 0x00 included.
        needed: usize,
        /// Bytes of the buffer.
        have: usize,
    },
    /// A POSE that every decoder would refuse.
    #[error(
        "POSE of person {index} of {persons}, scale {scale}: index must lie below persons, scale below 9, and persons be 0 exactly where there is no person"
    )]
    Inconsistent {
        /// The person's index, 0 where there is none.
        index: u8,
        /// Persons of the moment.
        persons: u8,
        /// Units of the coordinates, 0 where there is no person.
        scale: u8,
    },
}

/// Writes the frame of `packet`, its ending 0x00 included, to the start of `to`, and says how long it is: at most
/// [`crate::MAX_PACKET`] bytes.
///
/// # Errors
/// See [`EncodeError`]; `to` holds nothing useful then.
pub fn encode(packet: &Packet, to: &mut [u8]) -> Result<usize, EncodeError> {
    let mut payload = [0; MAX_PAYLOAD];
    let (head, rest) = payload.split_at_mut(HEADER_LEN);
    let mut body = Writer::new(rest);
    let kind = match packet {
        Packet::Hello(p) => {
            p.write(&mut body);
            kind::HELLO
        }
        Packet::Pose(p) => {
            if !p.is_consistent() {
                let (index, scale) = p.person.map_or((0, 0), |x| (x.index, x.scale));
                return Err(EncodeError::Inconsistent { index, persons: p.persons, scale });
            }
            p.write(&mut body);
            kind::POSE
        }
        Packet::Status(p) => {
            p.write(&mut body);
            kind::STATUS
        }
        Packet::Place(p) => {
            p.write(&mut body);
            kind::PLACE
        }
        Packet::Notice(p) => {
            p.write(&mut body);
            kind::NOTICE
        }
        Packet::Command(p) => {
            p.write(&mut body);
            kind::COMMAND
        }
        Packet::Receipt(p) => {
            p.write(&mut body);
            kind::RECEIPT
        }
    };
    let body_len = body.len();
    let [low, high] = (body_len as u16).to_le_bytes();
    head.copy_from_slice(&[VERSION, kind, low, high]);

    let (covered, rest) = payload.split_at_mut(HEADER_LEN + body_len);
    let crc = CRC.checksum(covered).to_le_bytes();
    rest[..crc.len()].copy_from_slice(&crc);
    let payload = &payload[..HEADER_LEN + body_len + crc.len()];

    // Below 255 bytes COBS adds exactly one.
    let needed = payload.len() + 2;
    let have = to.len();
    let to = to.get_mut(..needed).ok_or(EncodeError::Buffer { needed, have })?;
    let stuffed = cobs::encode(payload, to);
    to[stuffed] = 0;
    Ok(stuffed + 1)
}
