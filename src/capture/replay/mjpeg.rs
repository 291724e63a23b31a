//! A raw MJPEG stream: JPEGs one after the other, as `v4l2-ctl --stream-to` and IP cameras write them.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::light::{Hope, Word, word};
use super::{DEFAULT_FPS, MAX_JPEG_BYTES, due_us, short_name};
use crate::capture::clip::Clip;
use crate::capture::{CaptureError, SourceInfo};
use crate::picture::{BufferPool, DecodeError, Frame, PixelFormat, jpeg_header};
use crate::reason::Reason;

/// Bytes asked of the file at once.
const READ_BYTES: usize = 1 << 16;

/// Reads at most between two looks whether to go on: a few milliseconds.
const READS: usize = 16;

/// Splits a stream at the JPEGs' own markers. What lies between pictures is skipped.
pub struct Mjpeg<R = File> {
    name: String,
    input: R,
    /// Read and not yet handed out, from `start`.
    buffer: Vec<u8>,
    start: usize,
    walk: Walk,
    pool: BufferPool,
    size: (u32, u32),
    /// Pictures so far, whole ones and those left out.
    seq: u64,
    given: u64,
    damaged: u64,
    first_damage: Option<DecodeError>,
    /// What follows a picture may say when its light fell; `None` where that is not looked at.
    hope: Option<Hope>,
    /// A picture of which word is waited for.
    held: Option<Frame>,
    light_us: Option<i64>,
}

impl Mjpeg {
    /// Opens a file that begins with a JPEG.
    ///
    /// # Errors
    /// [`CaptureError::Unusable`] where it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let file = File::open(path).map_err(|e| CaptureError::unusable(path.display(), Reason::of(e)))?;
        Ok(Mjpeg::new(file, short_name(path)))
    }
}

impl<R: Read> Mjpeg<R> {
    /// Splits any stream of bytes.
    pub fn new(input: R, name: String) -> Self {
        Self {
            name,
            input,
            buffer: Vec::new(),
            start: 0,
            walk: Walk::default(),
            pool: BufferPool::new(),
            size: (0, 0),
            seq: 0,
            given: 0,
            damaged: 0,
            first_damage: None,
            hope: None,
            held: None,
            light_us: None,
        }
    }

    /// Looks for word of each picture's light in what follows it.
    pub fn with_light(self) -> Self {
        Self { hope: Some(Hope::default()), ..self }
    }

    /// The held picture, as soon as there is word of it, or none to be had.
    fn settled(&mut self, is_end: bool) -> Option<Frame> {
        self.held.as_ref()?;
        let word = word(&self.buffer[self.start..], is_end);
        self.light_us = match word {
            Word::Wait => return None,
            Word::Light(light_us) => Some(light_us),
            Word::None => None,
        };
        if let Some(hope) = &mut self.hope {
            hope.after(word);
        }
        self.held.take()
    }

    /// Reads more; false at the end.
    fn refill(&mut self) -> Result<bool, CaptureError> {
        self.buffer.drain(..std::mem::take(&mut self.start));
        let len = self.buffer.len();
        self.buffer.resize(len + READ_BYTES, 0);
        let got = loop {
            match self.input.read(&mut self.buffer[len..]) {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                got => break got,
            }
        };
        let got = got.map_err(|e| CaptureError::unusable(&self.name, Reason::of(e)));
        self.buffer.truncate(len + *got.as_ref().unwrap_or(&0));
        got.map(|n| n > 0)
    }
}

impl<R: Read> Mjpeg<R> {
    /// The picture of `len` bytes at the front; `None` where it is none that can be read.
    fn hand_out(&mut self, len: usize) -> Option<Frame> {
        let bytes = &self.buffer[self.start..self.start + len];
        self.start += len;
        let seq = self.seq;
        self.seq += 1;
        match jpeg_header(bytes) {
            Ok(header) => {
                let (width, height) = (header.width as u32, header.height as u32);
                self.size = (width, height);
                self.given += 1;
                Some(Frame {
                    bytes: self.pool.copy(bytes),
                    format: PixelFormat::Mjpeg,
                    width,
                    height,
                    stride: 0,
                    seq,
                    captured_at_us: due_us(seq, f64::from(DEFAULT_FPS)),
                })
            }
            Err(why) => {
                self.damaged += 1;
                log::warn!("{}: picture {seq}: {why}; left out", self.name);
                self.first_damage.get_or_insert(why);
                None
            }
        }
    }

    /// Why there are no more pictures.
    fn end(&mut self) -> CaptureError {
        if self.walk.begins_at.take().is_some() {
            self.damaged += 1;
            log::warn!("{}: the last picture is cut off; left out", self.name);
        }
        match self.first_damage.take() {
            _ if self.seq == 0 => CaptureError::unusable(&self.name, "no whole JPEG in this stream"),
            Some(first) if self.given == 0 => {
                let none = format!("none of the {} pictures can be read; the first", self.seq);
                CaptureError::unusable(&self.name, Reason::new(none, first))
            }
            _ => CaptureError::Ended,
        }
    }
}

impl<R: Read + Send> Clip for Mjpeg<R> {
    fn info(&self) -> SourceInfo {
        let (width, height) = self.size;
        SourceInfo { name: self.name.clone(), width, height, fps: DEFAULT_FPS, live: false }
    }

    fn poll(&mut self) -> Result<Option<Frame>, CaptureError> {
        for _ in 0..READS {
            if self.held.is_some() {
                let frame = self.settled(false);
                if frame.is_some() {
                    return Ok(frame);
                }
                if !self.refill()? {
                    return Ok(self.settled(true));
                }
                continue;
            }
            let whole = self.walk.on(&self.buffer[self.start..]);
            self.start += self.walk.let_go();
            if let Some(len) = whole {
                self.walk = Walk::default();
                let frame = self.hand_out(len);
                self.light_us = None;
                if self.hope.is_some_and(Hope::is_there) {
                    self.held = frame;
                    continue;
                }
                return Ok(frame);
            }
            if self.buffer.len() - self.start > MAX_JPEG_BYTES {
                self.damaged += 1;
                log::warn!("{}: a picture without an end; left out", self.name);
                self.walk.give_up();
            } else if !self.refill()? {
                self.start = self.buffer.len();
                return Err(self.end());
            }
        }
        Ok(None)
    }

    fn states_rate(&self) -> bool {
        false
    }

    fn damaged(&self) -> u64 {
        self.damaged
    }

    fn light_us(&self) -> Option<i64> {
        self.light_us
    }
}

/// Whether what begins with a JPEG is that one whole picture: none begins soon after it.
pub(super) fn is_one(mut input: impl Read) -> std::io::Result<bool> {
    let mut bytes = Vec::new();
    let mut walk = Walk::default();
    let mut more = |bytes: &mut Vec<u8>| input.by_ref().take(READ_BYTES as u64).read_to_end(bytes);
    while walk.on(&bytes).is_none() {
        if bytes.len() > MAX_JPEG_BYTES || more(&mut bytes)? == 0 {
            return Ok(false);
        }
    }
    more(&mut bytes)?;
    Ok(walk.begins_at == Some(0) && !bytes[walk.at..].windows(3).any(|start| start == [0xff, 0xd8, 0xff]))
}

/// Walks a picture's markers, so that a thumbnail in its header is not taken for the next picture, and goes on where it
/// stood when there are more bytes: each is looked at once. Places count from the first byte that is kept.
#[derive(Clone, Copy, Debug, Default)]
struct Walk {
    /// Where the picture begins; `None` while one is looked for.
    begins_at: Option<usize>,
    /// At the next marker, or inside coded data.
    at: usize,
    in_data: bool,
    /// From here the next picture is looked for if this one turns out to be broken.
    resume_at: usize,
}

impl Walk {
    /// Goes on as far as `bytes` reach; the picture's length, from its first byte on, where it is whole. Call
    /// [`Self::let_go`] then, so that this byte is the first one kept.
    fn on(&mut self, bytes: &[u8]) -> Option<usize> {
        loop {
            let rest = bytes.get(self.at..).unwrap_or_default();
            let Some(begins_at) = self.begins_at else {
                let Some(found) = rest.windows(3).position(|m| m == [0xff, 0xd8, 0xff]) else {
                    // The last two bytes may be the beginning of a start.
                    self.at += rest.len().saturating_sub(2);
                    return None;
                };
                let begins_at = self.at + found;
                let at = begins_at + 2;
                *self = Self { begins_at: Some(begins_at), at, in_data: false, resume_at: at };
                continue;
            };
            if self.in_data {
                // The next marker is an FF that is neither stuffed nor a restart.
                let marker = rest.windows(2).position(|m| m[0] == 0xff && !matches!(m[1], 0 | 0xd0..=0xd7));
                self.at += marker.unwrap_or(rest.len().saturating_sub(1));
                self.in_data = marker.is_none();
                self.resume_at = self.at;
                marker?;
                continue;
            }
            match *rest.first_chunk::<2>()? {
                [0xff, 0xff] => self.at += 1,
                [0xff, 0xd9] => return Some(self.at + 2 - begins_at),
                [0xff, 0x01 | 0xd0..=0xd7] => self.at += 2,
                [0xff, kind @ 0xc0..=0xfe] if kind != 0xd8 => {
                    let [_, _, hi, lo] = *rest.first_chunk::<4>()?;
                    self.resume_at = self.at + 2;
                    self.at += 2 + usize::from(u16::from_be_bytes([hi, lo]));
                    self.in_data = kind == 0xda;
                }
                // No marker where one must be, or a new picture: this one was broken.
                _ => self.give_up(),
            }
        }
    }

    /// This picture is none: the next one is looked for.
    fn give_up(&mut self) {
        *self = Self { at: self.resume_at, ..Self::default() };
    }

    /// How many bytes at the front are not needed any more; places count from there afterwards.
    fn let_go(&mut self) -> usize {
        let n = self.begins_at.unwrap_or(self.at);
        self.begins_at = self.begins_at.map(|_| 0);
        self.at -= n;
        self.resume_at = self.resume_at.saturating_sub(n);
        n
    }
}

#[cfg(test)]
mod tests;
