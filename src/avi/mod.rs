//! AVI: what is recorded and replayed.
//!
//! A recording is an AVI with MJPEG that players show; raw frames are made JPEGs before they come here. In front of each frame
//! stands a chunk that players skip:
//!
//! ```text
//! RIFF size 'AVI ' ─┬─ LIST size 'hdrl'   avih (microseconds a frame), LIST 'strl' a stream: strh (kind, codec, rate/scale),
//!                   │                     strf (codec, size)
//!                   ├─ LIST size 'movi' ─┬─ 'pwts'  a stamp: frame number u64, capture time µs i64, little-endian
//!                   │                    ├─ '00dc'  the frame; other recorders put it into a LIST 'rec '
//!                   │                    └─ … and so on
//!                   └─ 'idx1'             one entry a frame, for players
//! RIFF size 'AVIX' ─── LIST size 'movi'   … further segments, one for each GiB, without an index
//! ```
//!
//! Chunks are padded to even sizes. Whatever ends a recording — a full disk, a pulled plug — the frames before it can be read:
//! the reader walks the chunks and needs neither the index nor the lengths of the lists.

mod read;
mod write;

pub use read::{AviError, Chunk, Demuxer, Header};
pub use write::{RecordError, Recording};

/// The chunk in front of each frame.
const STAMP_CHUNK: [u8; 4] = *b"pwts";
/// The chunk that holds a frame.
const FRAME_CHUNK: [u8; 4] = *b"00dc";
const STAMP_BYTES: usize = 16;

/// What a recording says of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The source's own count.
    pub seq: u64,
    /// Microseconds of the clock that stamped the source's frames.
    pub captured_at_us: i64,
}

impl Stamp {
    fn to_bytes(self) -> [u8; STAMP_BYTES] {
        let mut bytes = [0; STAMP_BYTES];
        bytes[..8].copy_from_slice(&self.seq.to_le_bytes());
        bytes[8..].copy_from_slice(&self.captured_at_us.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; STAMP_BYTES]) -> Self {
        Self {
            seq: u64::from_le_bytes(std::array::from_fn(|i| bytes[i])),
            captured_at_us: i64::from_le_bytes(std::array::from_fn(|i| bytes[8 + i])),
        }
    }
}
