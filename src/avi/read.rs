//! A demuxer for exactly what holds MJPEG.
//!
//! The index is not used: a file whose recorder died has none. Such a file also states sizes of 0 for its lists; they are then
//! read to the end of the file.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use super::{STAMP_BYTES, STAMP_CHUNK, Stamp};
use crate::picture::{BufferPool, DecodeError};

/// Why an AVI cannot be read, or not further.
#[derive(Debug, thiserror::Error)]
pub enum AviError {
    /// It is over inside its header.
    #[error("AVI cut off inside its header")]
    NoHeader,
    /// It ends before its frames.
    #[error("AVI without video data")]
    NoData,
    /// Its headers name no video.
    #[error("AVI without a video stream")]
    NoVideo,
    /// More chunks than any header has.
    #[error("AVI with an endless header")]
    EndlessHeader,
    /// Its pictures are none, or too large.
    #[error(transparent)]
    Size(#[from] DecodeError),
    /// It is over inside a chunk.
    #[error("cut off")]
    CutOff,
    /// No frame is that long.
    #[error("a chunk states an impossible length")]
    Length,
    /// The system does not give it.
    #[error("cannot be read")]
    Unreadable(#[source] io::Error),
}

impl AviError {
    /// Of a file that is `cut` where it ends.
    fn of(error: io::Error, cut: Self) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof { cut } else { Self::Unreadable(error) }
    }
}

/// What the headers say of the first video stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Header {
    stream: u32,
    /// Frames a second, where it says something that can be true.
    pub fps: Option<f64>,
    /// Pixels; 0 where it does not say.
    pub width: u32,
    /// Pixels; 0 where it does not say.
    pub height: u32,
    /// The codec's four characters; `None` without a video stream.
    pub codec: Option<[u8; 4]>,
}

/// The first video stream of an AVI, chunk by chunk.
pub struct Demuxer<R> {
    input: R,
    pool: BufferPool,
    header: Header,
    max_chunk_bytes: usize,
    /// Of the next frame, where the file tells.
    stamp: Option<Stamp>,
}

/// A frame's bytes as the file holds them, and what its recorder says of it.
pub type Chunk = (Arc<Vec<u8>>, Option<Stamp>);

impl<R: Read + Seek> Demuxer<R> {
    /// Reads the headers, up to the first frame; a chunk longer than `max_chunk_bytes` is damage.
    ///
    /// # Errors
    /// What is missing.
    pub fn new(mut input: R, max_chunk_bytes: usize) -> Result<Self, AviError> {
        let header = read_header(&mut input)?;
        Ok(Self { input, pool: BufferPool::new(), header, max_chunk_bytes, stamp: None })
    }

    /// What the headers say.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The next chunk of the video stream; `Ok(None)` at the end of the file, `Err` where it was cut off.
    ///
    /// # Errors
    /// How it is damaged.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>, AviError> {
        let cut = |e| AviError::of(e, AviError::CutOff);
        loop {
            let Some((id, size)) = read_chunk_head(&mut self.input).map_err(AviError::Unreadable)? else {
                return Ok(None);
            };
            match &id {
                b"LIST" | b"RIFF" => {
                    // Step inside: the sizes of lists are not needed (and not true in files cut short).
                    skip(&mut self.input, 4).map_err(cut)?;
                }
                [a, b, b'd', b'c' | b'b'] if stream_number(*a, *b) == Some(self.header.stream) => {
                    if size as usize > self.max_chunk_bytes {
                        return Err(AviError::Length);
                    }
                    let input = &mut self.input;
                    let bytes = self.pool.fill(|buffer| {
                        buffer.clear();
                        let got =
                            input.take(u64::from(size)).read_to_end(buffer).map_err(AviError::Unreadable)?;
                        if got < size as usize { Err(AviError::CutOff) } else { Ok(()) }
                    })?;
                    if size % 2 == 1 {
                        // The last chunk's padding may be missing.
                        let _ = skip(&mut self.input, 1);
                    }
                    return Ok(Some((bytes, self.stamp.take())));
                }
                id if *id == STAMP_CHUNK && size as usize == STAMP_BYTES => {
                    let mut bytes = [0; STAMP_BYTES];
                    self.input.read_exact(&mut bytes).map_err(cut)?;
                    self.stamp = Some(Stamp::from_bytes(&bytes));
                }
                _ => skip(&mut self.input, i64::from(size) + i64::from(size % 2)).map_err(cut)?,
            }
        }
    }
}

/// Reads chunks up to and into the first `movi`.
fn read_header(input: &mut (impl Read + Seek)) -> Result<Header, AviError> {
    let cut = |e| AviError::of(e, AviError::NoHeader);
    let mut header = Header::default();
    let mut stream = 0u32;
    let mut this_is_video = false;
    // Far more chunks than any header has; a file of empty chunks must not keep us.
    for _ in 0..10_000 {
        let (id, size) = read_chunk_head(input).map_err(AviError::Unreadable)?.ok_or(AviError::NoData)?;
        match &id {
            b"RIFF" | b"LIST" => {
                let mut kind = [0; 4];
                input.read_exact(&mut kind).map_err(cut)?;
                match &kind {
                    b"movi" => return Ok(header),
                    // Whole lists that cannot hold what is looked for.
                    b"INFO" | b"odml" => skip(input, i64::from(size) - 4).map_err(cut)?,
                    _ => {}
                }
            }
            b"strh" if size >= 32 => {
                let h: [u8; 32] = read_part(input, size).map_err(cut)?;
                this_is_video = &h[..4] == b"vids" && header.codec.is_none();
                if this_is_video {
                    let (scale, rate) = (le32(&h[20..]), le32(&h[24..]));
                    let fps = f64::from(rate) / f64::from(scale.max(1));
                    header.fps = (scale > 0 && (0.1..=1000.0).contains(&fps)).then_some(fps);
                    header.stream = stream;
                }
                stream += 1;
            }
            b"strf" if size >= 20 => {
                let f: [u8; 20] = read_part(input, size).map_err(cut)?;
                if this_is_video {
                    header.width = le32(&f[4..]);
                    // Negative heights mean rows from the top.
                    header.height = (le32(&f[8..]) as i32).unsigned_abs();
                    header.codec = Some([f[16], f[17], f[18], f[19]]);
                    this_is_video = false;
                }
            }
            _ => skip(input, i64::from(size) + i64::from(size % 2)).map_err(cut)?,
        }
    }
    Err(AviError::EndlessHeader)
}

/// The first `N` bytes of a chunk; the rest is skipped.
fn read_part<const N: usize>(input: &mut (impl Read + Seek), size: u32) -> io::Result<[u8; N]> {
    let mut part = [0; N];
    input.read_exact(&mut part)?;
    skip(input, i64::from(size) + i64::from(size % 2) - N as i64)?;
    Ok(part)
}

/// A chunk's name and length; `None` at the end of the file.
fn read_chunk_head(input: &mut impl Read) -> io::Result<Option<([u8; 4], u32)>> {
    let mut head = [0; 8];
    match input.read_exact(&mut head) {
        Ok(()) => Ok(Some(([head[0], head[1], head[2], head[3]], le32(&head[4..])))),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(e) => Err(e),
    }
}

fn skip(input: &mut impl Seek, bytes: i64) -> io::Result<()> {
    input.seek(SeekFrom::Current(bytes.max(0))).map(|_| ())
}

fn le32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// `01` of `01dc`.
fn stream_number(a: u8, b: u8) -> Option<u32> {
    (a.is_ascii_digit() && b.is_ascii_digit()).then(|| u32::from(a - b'0') * 10 + u32::from(b - b'0'))
}
