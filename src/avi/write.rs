//! Recordings: every frame as its source gave it, with its own number and capture time, so that a replay sees exactly
//! what was seen.

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
    /// The source changed what one AVI stream cannot change.
    #[error(
        "{path}: the source changed from {from} to {to} after {frames} frames; record the rest into another file"
    )]
    Changed {
        /// Which file.
        path: PathBuf,
        /// Frames that are in the file.
        frames: u64,
        /// Format and size before.
        from: String,
        /// Format and size now.
        to: String,
    },
}

fn ended(frames: u64) -> String {
    match frames {
        0 => "nothing could be recorded, and there is no file (make room and record again)".into(),
        _ => format!(
            "recording ends after {frames} frames; the file is complete up to there (make room and record again)"
        ),
    }
}

/// A recording under way.
pub struct Recording {
    path: PathBuf,
    file: Replacement,
    nominal_fps: f32,
    /// Format and size of the frames, from the first one on.
    layout: Option<Layout>,
    segment: Segment,
    /// Entries of the first segment: offset of the chunk from 'movi', length of its data.
    index: Vec<(u32, u32)>,
    frames: u64,
    first_segment_frames: u64,
    /// The file's length after its last complete frame.
    complete_bytes: u64,
    /// One row of BGR, or nothing.
    row: Vec<u8>,
    is_published: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Layout {
    format: PixelFormat,
    width: u32,
    height: u32,
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
        let file = Replacement::create(path)
            .map_err(|source| RecordError::Create { path: path.to_owned(), source })?;
        Ok(Self {
            path: path.to_owned(),
            file,
            nominal_fps,
            layout: None,
            segment: Segment::default(),
            index: Vec::new(),
            frames: 0,
            first_segment_frames: 0,
            complete_bytes: 0,
            row: Vec::new(),
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

    /// Appends one frame.
    ///
    /// # Errors
    /// [`RecordError::Write`] or [`RecordError::Changed`]: the recording is over and the file readable up to here.
    pub fn write(&mut self, frame: &Frame) -> Result<(), RecordError> {
        let layout = Layout { format: frame.format, width: frame.width, height: frame.height };
        // A JPEG carries its own size; raw pixels rely on the header's.
        if let Some(first) = self.layout.filter(|&l| l != layout)
            && (first.format, frame.format) != (PixelFormat::Mjpeg, PixelFormat::Mjpeg)
        {
            let _ = self.publish();
            let shown = |l: Layout| format!("{:?} {}x{}", l.format, l.width, l.height);
            return Err(RecordError::Changed {
                path: self.path.clone(),
                frames: self.frames,
                from: shown(first),
                to: shown(layout),
            });
        }
        let written = self.append(frame, layout);
        written.map_err(|source| {
            // Half a frame would be taken for a damaged one; the space it frees pays for the lengths.
            let _ = self.file.set_len(self.complete_bytes);
            let _ = self.publish();
            RecordError::Write { path: self.path.clone(), frames: self.frames, source }
        })
    }

    /// Writes the lengths and the index, hands the file to the disk and puts it into its place. Dropping the recording does
    /// the same but for the index, and tells nobody what went wrong.
    ///
    /// # Errors
    /// [`RecordError::Write`]; the frames are in the file nevertheless.
    pub fn finish(mut self) -> Result<(), RecordError> {
        let written = self.write_index();
        let published = self.publish();
        written.and(published).map_err(|source| RecordError::Write {
            path: self.path.clone(),
            frames: self.frames,
            source,
        })
    }

    /// What has a frame takes its place; what has none leaves no trace.
    fn publish(&mut self) -> io::Result<()> {
        if self.frames == 0 || std::mem::replace(&mut self.is_published, true) {
            return Ok(());
        }
        let sealed = self.seal().and_then(|()| self.file.sync_all());
        sealed.and(self.file.commit())
    }

    fn append(&mut self, frame: &Frame, layout: Layout) -> io::Result<()> {
        if self.layout.is_none() {
            self.begin(layout)?;
            self.layout = Some(layout);
        } else if self.complete_bytes - self.segment.riff_at > SEGMENT_BYTES {
            self.next_segment()?;
        }
        self.file.seek(SeekFrom::Start(self.complete_bytes))?;

        let mut head = [0; CHUNK_HEAD as usize + STAMP_BYTES + CHUNK_HEAD as usize];
        let frame_bytes = if frame.format == PixelFormat::Rgb24 {
            bgr_row_bytes(frame.width) as u64 * u64::from(frame.height)
        } else {
            frame.bytes.len() as u64
        };
        let length = u32::try_from(frame_bytes).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        head[..4].copy_from_slice(&STAMP_CHUNK);
        head[4..8].copy_from_slice(&(STAMP_BYTES as u32).to_le_bytes());
        let stamp = Stamp { seq: frame.seq, captured_at_us: frame.captured_at_us };
        head[8..24].copy_from_slice(&stamp.to_bytes());
        head[24..28].copy_from_slice(&FRAME_CHUNK);
        head[28..].copy_from_slice(&length.to_le_bytes());
        self.file.write_all(&head)?;
        if frame.format == PixelFormat::Rgb24 {
            self.write_bgr(frame)?;
        } else {
            self.file.write_all(&frame.bytes)?;
        }
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

    /// RGB rows as BGR, each filled up to four bytes: the only 24-bit layout that every player knows.
    fn write_bgr(&mut self, frame: &Frame) -> io::Result<()> {
        self.row.resize(bgr_row_bytes(frame.width), 0);
        let width_bytes = 3 * frame.width as usize;
        for row in frame.bytes.chunks(frame.stride as usize).take(frame.height as usize) {
            for (to, from) in self.row.chunks_exact_mut(3).zip(row[..width_bytes].chunks_exact(3)) {
                to.copy_from_slice(&[from[2], from[1], from[0]]);
            }
            self.file.write_all(&self.row)?;
        }
        Ok(())
    }

    /// The headers and the first segment.
    fn begin(&mut self, layout: Layout) -> io::Result<()> {
        let head = header(layout, self.nominal_fps);
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
        if self.layout.is_none() {
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

fn bgr_row_bytes(width: u32) -> usize {
    (3 * width as usize).next_multiple_of(4)
}

/// Everything up to and including 'movi'.
fn header(layout: Layout, fps: f32) -> Vec<u8> {
    // A code, bits a pixel, and the height: negative for rows from the top, where the code itself does not say.
    let (code, bits, height) = match layout.format {
        PixelFormat::Mjpeg => (*b"MJPG", 24, layout.height as i32),
        PixelFormat::Yuyv => (*b"YUY2", 16, layout.height as i32),
        PixelFormat::Nv12 => (*b"NV12", 12, layout.height as i32),
        PixelFormat::Grey => (*b"Y800", 8, layout.height as i32),
        PixelFormat::Rgb24 => ([0; 4], 24, -(layout.height as i32)),
    };
    let fps = if fps.is_finite() && fps > 0.0 { fps } else { 30.0 };
    let (scale, rate) = (1000u32, (fps * 1000.0) as u32);
    let (width, image_bytes) = (layout.width, layout.width * layout.height * bits / 8);

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
    words(&mut h, &[56, (1e6 / fps) as u32, 0, 0, AVIF_HASINDEX, 0, 0, 1, image_bytes, width, layout.height]);
    words(&mut h, &[0; 4]);
    h.extend_from_slice(b"LIST");
    words(&mut h, &[116]);
    h.extend_from_slice(b"strlstrh");
    words(&mut h, &[56]);
    h.extend_from_slice(b"vids");
    h.extend_from_slice(&code);
    // Flags; priority and language; first frame; scale; rate; start; length; buffer; quality; sample size; rectangle.
    words(&mut h, &[0, 0, 0, scale, rate, 0, 0, image_bytes, u32::MAX, 0, 0]);
    h.extend_from_slice(&(width as u16).to_le_bytes());
    h.extend_from_slice(&(layout.height as u16).to_le_bytes());
    h.extend_from_slice(b"strf");
    words(&mut h, &[40, 40, width, height as u32]);
    h.extend_from_slice(&1u16.to_le_bytes());
    h.extend_from_slice(&(bits as u16).to_le_bytes());
    h.extend_from_slice(&code);
    words(&mut h, &[image_bytes, 0, 0, 0, 0]);
    h.extend_from_slice(b"LIST\0\0\0\0movi");
    h
}
