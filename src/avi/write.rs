//! Recordings: every JPEG as it is given, with its frame's own number and capture time, so that a replay sees exactly what was
//! recorded.

use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{FRAME_CHUNK, STAMP_BYTES, STAMP_CHUNK, Stamp};
use crate::files::Replacement;
use crate::picture::{Frame, PixelFormat};

/// Players' 32-bit offsets are safe up to here; then a new segment begins.
const SEGMENT_BYTES: u64 = 1 << 30;
/// Bytes of a chunk's code and length.
const CHUNK_HEAD: u64 = 8;
const AVIH_FRAMES_AT: u64 = 48;
const STRH_LENGTH_AT: u64 = 140;
const CODEC: [u8; 4] = *b"MJPG";
/// Of a decoded picture, as players want to know.
const PIXEL_BITS: u16 = 24;
const AVIF_HASINDEX: u32 = 0x10;
const AVIIF_KEYFRAME: u32 = 0x10;

/// Why a recording ended or cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be made.
    #[error("{path}: cannot be created")]
    Create {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No more frames can be written; those before are kept.
    #[error("{path}: {}", ended(*frames))]
    Write {
        /// Which file.
        path: PathBuf,
        /// Frames that are in the file.
        frames: u64,
        /// What the system said.
        source: io::Error,
    },
    /// The recording is over, and its file is not where it belongs; what the system said says where it is.
    #[error("{path}: recording ends after {frames} frames, and the file could not take its place")]
    Unplaced {
        /// Where it belongs.
        path: PathBuf,
        /// Frames that were written.
        frames: u64,
        /// What the system said.
        source: io::Error,
    },
    /// A frame that is no JPEG; the recording goes on without it.
    #[error(
        "{path}: a {format:?} frame cannot be recorded, only JPEGs: compress it first (JpegEncoder::mjpeg_of)"
    )]
    Raw {
        /// Which file.
        path: PathBuf,
        /// The frame's.
        format: PixelFormat,
    },
}

fn ended(frames: u64) -> String {
    match frames {
        0 => "nothing could be recorded, and there is no new file (make room and record again)".into(),
        _ => format!(
            "recording ends after {frames} frames; the file is complete up to there (make room and record again)"
        ),
    }
}

/// A recording's lengths are written last, at its beginning; and a pipe that nobody reads could not even be opened.
fn refuse_pipe(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if std::fs::metadata(path).is_ok_and(|there| std::os::unix::fs::FileTypeExt::is_fifo(&there.file_type()))
    {
        let why = "it is a pipe, and a recording is completed at its beginning: name a file";
        return Err(io::Error::new(io::ErrorKind::NotSeekable, why));
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// A recording under way.
pub struct Recording {
    path: PathBuf,
    file: Replacement,
    nominal_fps: f32,
    /// The headers are written, with the first frame.
    has_begun: bool,
    segment: Segment,
    /// Entries of the first segment: offset of the chunk from 'movi', length of its data.
    index: Vec<(u32, u32)>,
    frames: u64,
    first_segment_frames: u64,
    /// The file's length after its last complete frame.
    complete_bytes: u64,
    is_published: bool,
}

/// Where the lengths of the current segment stand.
#[derive(Clone, Copy, Default)]
struct Segment {
    riff_at: u64,
    movi_at: u64,
    is_first: bool,
}

impl Recording {
    /// Begins a recording that takes its place at `path` when it ends, if it has a frame by then; a file that is there stays
    /// until then. `nominal_fps` is what players go by; a replay goes by the capture times.
    ///
    /// # Errors
    /// [`RecordError::Create`].
    pub fn create(path: &Path, nominal_fps: f32) -> Result<Self, RecordError> {
        let file = refuse_pipe(path)
            .and_then(|()| Replacement::create_alone(path))
            .map_err(|source| RecordError::Create { path: path.to_owned(), source })?;
        Ok(Self {
            path: path.to_owned(),
            file,
            nominal_fps,
            has_begun: false,
            segment: Segment::default(),
            index: Vec::new(),
            frames: 0,
            first_segment_frames: 0,
            complete_bytes: 0,
            is_published: false,
        })
    }

    /// Another rate than that of the beginning, where it is known only with the first frame: before that is written.
    pub fn set_nominal_fps(&mut self, fps: f32) {
        self.nominal_fps = fps;
    }

    /// Frames that are in the file.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// The file's length, bytes.
    pub fn bytes(&self) -> u64 {
        self.complete_bytes
    }

    /// Appends one frame, a JPEG; another size than that of the first one is its own affair.
    ///
    /// # Errors
    /// [`RecordError::Write`]: the recording is over and the file readable up to here; [`RecordError::Unplaced`], [`RecordError::Raw`].
    pub fn write(&mut self, frame: &Frame) -> Result<(), RecordError> {
        if frame.format != PixelFormat::Mjpeg {
            return Err(RecordError::Raw { path: self.path.clone(), format: frame.format });
        }
        self.append(frame).map_err(|source| self.cut_short(source))
    }

    /// What it means that no more can be written.
    fn cut_short(&mut self, source: io::Error) -> RecordError {
        // Half a frame would be taken for a damaged one; the space it frees pays for the lengths.
        let _ = self.file.set_len(self.complete_bytes);
        let (path, frames) = (self.path.clone(), self.frames);
        self.publish().err().unwrap_or(RecordError::Write { path, frames, source })
    }

    /// Writes the lengths and the index, hands the file to the disk and puts it into its place. Dropping the recording does
    /// the same but for the index, and tells nobody what went wrong.
    ///
    /// # Errors
    /// [`RecordError::Write`]: the frames are in the file nevertheless; [`RecordError::Unplaced`].
    pub fn finish(mut self) -> Result<(), RecordError> {
        match self.write_index() {
            Ok(()) => self.publish(),
            Err(source) => Err(self.cut_short(source)),
        }
    }

    /// What has a frame takes its place; what has none leaves no trace. Without its lengths it can be read nevertheless, and is better there
    /// than nowhere.
    fn publish(&mut self) -> Result<(), RecordError> {
        if self.frames == 0 || std::mem::replace(&mut self.is_published, true) {
            return Ok(());
        }
        let (path, frames) = (self.path.clone(), self.frames);
        match (self.seal(), self.file.commit()) {
            (_, Err(source)) => Err(RecordError::Unplaced { path, frames, source }),
            (Err(source), Ok(())) => Err(RecordError::Write { path, frames, source }),
            (Ok(()), Ok(())) => Ok(()),
        }
    }

    fn append(&mut self, frame: &Frame) -> io::Result<()> {
        if !self.has_begun {
            self.begin([frame.width, frame.height])?;
            self.has_begun = true;
        } else if self.complete_bytes - self.segment.riff_at > SEGMENT_BYTES {
            self.next_segment()?;
        }
        self.file.seek(SeekFrom::Start(self.complete_bytes))?;

        let mut head = [0; CHUNK_HEAD as usize + STAMP_BYTES + CHUNK_HEAD as usize];
        let length =
            u32::try_from(frame.bytes.len()).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        head[..4].copy_from_slice(&STAMP_CHUNK);
        head[4..8].copy_from_slice(&(STAMP_BYTES as u32).to_le_bytes());
        let stamp = Stamp { seq: frame.seq, captured_at_us: frame.captured_at_us };
        head[8..24].copy_from_slice(&stamp.to_bytes());
        head[24..28].copy_from_slice(&FRAME_CHUNK);
        head[28..].copy_from_slice(&length.to_le_bytes());
        self.file.write_all(&head)?;
        self.file.write_all(&frame.bytes)?;
        if length % 2 == 1 {
            self.file.write_all(&[0])?;
        }

        let frame_at = self.complete_bytes + CHUNK_HEAD + STAMP_BYTES as u64;
        if self.segment.is_first {
            self.index.push(((frame_at - self.segment.movi_at) as u32, length));
            self.first_segment_frames += 1;
        }
        self.complete_bytes = frame_at + CHUNK_HEAD + u64::from(length) + u64::from(length % 2);
        self.frames += 1;
        Ok(())
    }

    /// The headers and the first segment.
    fn begin(&mut self, size_px: [u32; 2]) -> io::Result<()> {
        let head = header(size_px, self.nominal_fps);
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&head)?;
        self.complete_bytes = head.len() as u64;
        self.segment = Segment { riff_at: 0, movi_at: head.len() as u64 - 4, is_first: true };
        Ok(())
    }

    fn next_segment(&mut self) -> io::Result<()> {
        if self.segment.is_first {
            self.write_index()?;
        }
        self.seal()?;
        let riff_at = self.complete_bytes;
        self.file.seek(SeekFrom::Start(riff_at))?;
        self.file.write_all(b"RIFF\0\0\0\0AVIXLIST\0\0\0\0movi")?;
        self.complete_bytes = riff_at + 24;
        self.segment = Segment { riff_at, movi_at: riff_at + 20, is_first: false };
        Ok(())
    }

    /// Appends the first segment's index; its frames' list ends before it.
    fn write_index(&mut self) -> io::Result<()> {
        if !self.segment.is_first || self.index.is_empty() {
            return Ok(());
        }
        self.seal()?;
        let mut bytes = Vec::with_capacity(8 + 16 * self.index.len());
        bytes.extend_from_slice(b"idx1");
        bytes.extend_from_slice(&(16 * self.index.len() as u32).to_le_bytes());
        for (at, length) in self.index.drain(..) {
            bytes.extend_from_slice(&FRAME_CHUNK);
            for value in [AVIIF_KEYFRAME, at, length] {
                bytes.extend_from_slice(&value.to_le_bytes());
            }
        }
        self.file.seek(SeekFrom::Start(self.complete_bytes))?;
        self.file.write_all(&bytes)?;
        let list_ends = self.complete_bytes;
        self.complete_bytes += bytes.len() as u64;
        self.patch(self.segment.riff_at + 4, self.complete_bytes - self.segment.riff_at - 8)?;
        self.patch(self.segment.movi_at - 4, list_ends - self.segment.movi_at)?;
        // The next seal must not count the index as frames.
        self.segment.is_first = false;
        self.segment.movi_at = 0;
        Ok(())
    }

    /// Writes the lengths that players go by.
    fn seal(&mut self) -> io::Result<()> {
        if !self.has_begun {
            return Ok(());
        }
        self.patch(self.segment.riff_at + 4, self.complete_bytes - self.segment.riff_at - 8)?;
        if self.segment.movi_at > 0 {
            self.patch(self.segment.movi_at - 4, self.complete_bytes - self.segment.movi_at)?;
        }
        self.patch(AVIH_FRAMES_AT, self.first_segment_frames)?;
        self.patch(STRH_LENGTH_AT, self.frames)
    }

    fn patch(&mut self, at: u64, value: u64) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(at))?;
        self.file.write_all(&u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes())
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = self.publish();
    }
}

/// Everything up to and including 'movi'.
fn header([width, height]: [u32; 2], fps: f32) -> Vec<u8> {
    let fps = if fps.is_finite() && fps > 0.0 { fps } else { 30.0 };
    let (scale, rate) = (1000u32, (fps * 1000.0) as u32);
    let image_bytes = width * height * u32::from(PIXEL_BITS) / 8;

    let mut h = Vec::with_capacity(224);
    let words = |h: &mut Vec<u8>, values: &[u32]| {
        for v in values {
            h.extend_from_slice(&v.to_le_bytes());
        }
    };
    h.extend_from_slice(b"RIFF\0\0\0\0AVI LIST");
    words(&mut h, &[192]);
    h.extend_from_slice(b"hdrlavih");
    // Length; µs a frame; bytes per second, padding; flags; frames; first frame; streams; buffer; width; height.
    words(&mut h, &[56, (1e6 / fps) as u32, 0, 0, AVIF_HASINDEX, 0, 0, 1, image_bytes, width, height]);
    words(&mut h, &[0; 4]);
    h.extend_from_slice(b"LIST");
    words(&mut h, &[116]);
    h.extend_from_slice(b"strlstrh");
    words(&mut h, &[56]);
    h.extend_from_slice(b"vids");
    h.extend_from_slice(&CODEC);
    // Flags; priority and language; first frame; scale; rate; start; length; buffer; quality; sample size; rectangle.
    words(&mut h, &[0, 0, 0, scale, rate, 0, 0, image_bytes, u32::MAX, 0, 0]);
    h.extend_from_slice(&(width as u16).to_le_bytes());
    h.extend_from_slice(&(height as u16).to_le_bytes());
    h.extend_from_slice(b"strf");
    words(&mut h, &[40, 40, width, height]);
    h.extend_from_slice(&1u16.to_le_bytes());
    h.extend_from_slice(&PIXEL_BITS.to_le_bytes());
    h.extend_from_slice(&CODEC);
    words(&mut h, &[image_bytes, 0, 0, 0, 0]);
    h.extend_from_slice(b"LIST\0\0\0\0movi");
    h
}

#[cfg(test)]
mod tests;
