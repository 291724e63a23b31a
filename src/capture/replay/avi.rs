//! AVI with MJPEG: what cameras, `ffmpeg -c copy` and Posewire itself write.
//!
//! Posewire's own recordings say each frame's number and capture time ([`crate::avi::Stamp`]): then these count, from the first
//! frame's time on.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use super::{DEFAULT_FPS, MAX_JPEG_BYTES, due_us, short_name};
use crate::avi::{AviError, Demuxer, Header, Stamp};
use crate::capture::clip::Clip;
use crate::capture::{CaptureError, SourceInfo};
use crate::picture::{Frame, PixelFormat, check_size};
use crate::reason::{Chain, Reason};

/// A recording goes on while its camera is unplugged, for a day at most; a longer gap is damage.
const LONGEST_GAP_US: i64 = 24 * 3_600_000_000;
/// The same at 120 frames per second.
const LONGEST_GAP_FRAMES: u64 = 24 * 3_600 * 120;

/// The video stream of an AVI, its JPEGs handed on as they are.
pub struct Avi<R = BufReader<File>> {
    name: String,
    demuxer: Demuxer<R>,
    seq: u64,
    first_captured_at_us: Option<i64>,
    /// Number and time of the last frame that was handed on.
    last: Option<(u64, i64)>,
    damaged: u64,
    ended: bool,
}

impl Avi {
    /// Opens a file that begins like an AVI; `None` where its video is not MJPEG.
    ///
    /// # Errors
    /// [`CaptureError::Unusable`] where there is no video stream, or no data.
    pub fn open(path: &Path) -> Result<Option<Self>, CaptureError> {
        let fail = |why: Reason| CaptureError::unusable(path.display(), why);
        let file = File::open(path).map_err(|e| fail(Reason::of(e)))?;
        Avi::new(BufReader::with_capacity(1 << 16, file), short_name(path)).map_err(|e| fail(Reason::of(e)))
    }
}

impl<R: Read + Seek> Avi<R> {
    /// Reads the headers, up to the first frame; `None` where the video is not MJPEG.
    ///
    /// # Errors
    /// What is missing.
    pub fn new(input: R, name: String) -> Result<Option<Self>, AviError> {
        let demuxer = Demuxer::new(input, MAX_JPEG_BYTES)?;
        let header = demuxer.header();
        let Some(codec) = header.codec else { return Err(AviError::NoVideo) };
        if !codec.eq_ignore_ascii_case(b"MJPG") {
            return Ok(None);
        }
        // A stated size of 0 is left to the pictures.
        if header.width > 0 && header.height > 0 {
            check_size(header.width as usize, header.height as usize)?;
        }
        Ok(Some(Self {
            name,
            demuxer,
            seq: 0,
            first_captured_at_us: None,
            last: None,
            damaged: 0,
            ended: false,
        }))
    }

    /// A recording's own number and time where they can be true, else the next ones: both rise, and neither leaps.
    fn believed(&mut self, seq: u64, at_us: i64) -> (u64, i64) {
        let (next_seq, next_us) = self.last.map_or((0, 0), |(seq, us)| (seq + 1, us + due_us(1, self.fps())));
        let last_us = self.last.map_or(0, |l| l.1);
        let seq = if (next_seq..=next_seq + LONGEST_GAP_FRAMES).contains(&seq) { seq } else { next_seq };
        let at_us = if (last_us..=last_us + LONGEST_GAP_US).contains(&at_us) { at_us } else { next_us };
        self.last = Some((seq, at_us));
        (seq, at_us)
    }

    fn fps(&self) -> f64 {
        self.demuxer.header().fps.unwrap_or(f64::from(DEFAULT_FPS))
    }
}

impl<R: Read + Seek + Send> Clip for Avi<R> {
    fn info(&self) -> SourceInfo {
        let Header { width, height, .. } = *self.demuxer.header();
        SourceInfo { name: self.name.clone(), width, height, fps: self.fps() as f32, live: false }
    }

    fn poll(&mut self) -> Result<Option<Frame>, CaptureError> {
        while !self.ended {
            match self.demuxer.next_chunk() {
                Ok(Some((bytes, stamp))) => {
                    let seq = self.seq;
                    self.seq += 1;
                    // Recorders write an empty chunk for "as before": a frame that was never taken.
                    if bytes.is_empty() {
                        continue;
                    }
                    let Header { width, height, .. } = *self.demuxer.header();
                    let (seq, captured_at_us) = match stamp {
                        Some(Stamp { seq, captured_at_us: at_us }) => {
                            let first_us = *self.first_captured_at_us.get_or_insert(at_us);
                            self.believed(seq, at_us.saturating_sub(first_us))
                        }
                        None if self.first_captured_at_us.is_none() => {
                            let own = (seq, due_us(seq, self.fps()));
                            *self.last.insert(own)
                        }
                        // A recording that lost a stamp.
                        None => self.believed(u64::MAX, i64::MAX),
                    };
                    return Ok(Some(Frame {
                        bytes,
                        format: PixelFormat::Mjpeg,
                        width,
                        height,
                        stride: 0,
                        seq,
                        captured_at_us,
                    }));
                }
                Ok(None) => self.ended = true,
                Err(why) => {
                    self.ended = true;
                    self.damaged += 1;
                    log::warn!("{}: {} after {} frames", self.name, Chain(&why), self.seq);
                }
            }
        }
        if self.seq == 0 {
            return Err(CaptureError::unusable(&self.name, "the AVI holds no whole frame"));
        }
        Err(CaptureError::Ended)
    }

    fn damaged(&self) -> u64 {
        self.damaged
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    fn chunk(id: &[u8; 4], body: &[u8]) -> Vec<u8> {
        let mut c = [&id[..], &(body.len() as u32).to_le_bytes(), body].concat();
        if body.len() % 2 == 1 {
            c.push(0);
        }
        c
    }

    fn list(id: &[u8; 4], kind: &[u8; 4], parts: &[Vec<u8>]) -> Vec<u8> {
        chunk(id, &[&kind[..], &parts.concat()].concat())
    }

    /// An AVI with an audio stream first, video at 25 a second second.
    fn avi(codec: &[u8; 4], frames: &[&[u8]]) -> Vec<u8> {
        let strh = |kind: &[u8; 4], scale: u32, rate: u32| {
            let mut h = [0; 56];
            h[..4].copy_from_slice(kind);
            h[20..24].copy_from_slice(&scale.to_le_bytes());
            h[24..28].copy_from_slice(&rate.to_le_bytes());
            chunk(b"strh", &h)
        };
        let mut strf = [0; 40];
        strf[4..8].copy_from_slice(&320u32.to_le_bytes());
        strf[8..12].copy_from_slice(&(-240i32).to_le_bytes());
        strf[16..20].copy_from_slice(codec);
        let movi: Vec<Vec<u8>> =
            frames.iter().flat_map(|f| [chunk(b"00wb", b"sound"), chunk(b"01dc", f)]).collect();
        list(
            b"RIFF",
            b"AVI ",
            &[
                list(
                    b"LIST",
                    b"hdrl",
                    &[
                        chunk(b"avih", &[0; 56]),
                        list(b"LIST", b"strl", &[strh(b"auds", 1, 48_000), chunk(b"strf", &[0; 18])]),
                        list(b"LIST", b"strl", &[strh(b"vids", 2, 50), chunk(b"strf", &strf)]),
                    ],
                ),
                chunk(b"JUNK", &[0; 33]),
                list(b"LIST", b"movi", &movi),
            ],
        )
    }

    fn open(bytes: Vec<u8>) -> Result<Option<Avi<Cursor<Vec<u8>>>>, AviError> {
        Avi::new(Cursor::new(bytes), "test.avi".into())
    }

    #[test]
    fn frames_of_the_video_stream_come_with_their_times_and_empty_ones_leave_a_gap() {
        let mut avi = open(avi(b"MJPG", &[b"one", b"", b"three"])).expect("reads").expect("is MJPEG");
        let info = avi.info();
        assert_eq!((info.width, info.height, info.fps), (320, 240, 25.0));
        let mut next = || avi.next().map(|f| (f.bytes.to_vec(), f.seq, f.captured_at_us));
        assert_eq!(next().ok(), Some((b"one".to_vec(), 0, 0)));
        assert_eq!(next().ok(), Some((b"three".to_vec(), 2, 80_000)));
        assert!(matches!(next(), Err(CaptureError::Ended)));
        assert!(matches!(next(), Err(CaptureError::Ended)));
    }

    #[test]
    fn other_codecs_are_left_to_ffmpeg_and_a_file_without_video_is_refused() {
        assert!(open(avi(b"XVID", &[b"one"])).expect("reads").is_none());
        let only_header = list(b"RIFF", b"AVI ", &[list(b"LIST", b"movi", &[])]);
        assert!(open(only_header).is_err_and(|e| matches!(e, AviError::NoVideo)));
    }

    #[test]
    fn a_size_that_no_picture_has_is_refused() {
        let mut bytes = avi(b"MJPG", &[b"one"]);
        let strf = bytes.windows(4).rposition(|w| w == b"strf").expect("a format");
        bytes[strf + 12..strf + 20].copy_from_slice(&[0xff; 8]);
        assert!(open(bytes).is_err_and(|e| matches!(e, AviError::Size(_))));
    }

    #[test]
    fn stamps_that_cannot_be_true_are_replaced_by_the_next_number_and_time() {
        let stamps: [(u64, i64); 5] =
            [(7, 1_000), (8, 41_000), (u64::MAX, i64::MAX), (8, i64::MIN), (12, 201_000)];
        let bytes = avi(b"MJPG", &stamps.map(|_| &b"x"[..]));
        let movi = bytes.windows(4).position(|w| w == b"movi").expect("data") + 4;
        let mut stamped = bytes[..movi].to_vec();
        for (seq, at_us) in stamps {
            let body = [seq.to_le_bytes(), at_us.to_le_bytes()].concat();
            stamped.extend([chunk(b"pwts", &body), chunk(b"01dc", b"x")].concat());
        }
        let mut avi = open(stamped).expect("reads").expect("is MJPEG");
        let seen: Vec<_> =
            std::iter::from_fn(|| avi.next().ok()).map(|f| (f.seq, f.captured_at_us)).collect();
        assert_eq!(seen, [(7, 0), (8, 40_000), (9, 80_000), (10, 120_000), (12, 200_000)]);
    }

    #[test]
    fn a_file_cut_off_anywhere_gives_its_whole_frames_and_then_ends() {
        let whole = avi(b"MJPG", &[b"first", b"second"]);
        for len in 12..whole.len() {
            let Ok(Some(mut avi)) = open(whole[..len].to_vec()) else { continue };
            let mut frames = Vec::new();
            let end = loop {
                match avi.next() {
                    Ok(f) => frames.push(f.bytes.to_vec()),
                    Err(e) => break e,
                }
            };
            assert!([&b"first"[..], b"second"].iter().zip(&frames).all(|(a, b)| a == b));
            match end {
                CaptureError::Ended => assert!(!frames.is_empty()),
                CaptureError::Unusable(why) => {
                    assert!(frames.is_empty() && why.to_string().contains("no whole frame"))
                }
                CaptureError::Lost { .. } => panic!("a file cannot be lost"),
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_run_for_ever(
            flips in prop::collection::vec((0usize..400, any::<u8>()), 0..12),
        ) {
            let mut bytes = avi(b"MJPG", &[b"first", b"second", b"third"]);
            for (at, to) in flips {
                let at = at % bytes.len();
                bytes[at] = to;
            }
            if let Ok(Some(mut avi)) = open(bytes) {
                let frames = (0..10_000).take_while(|_| avi.next().is_ok()).count();
                prop_assert!(frames < 100);
            }
        }
    }
}
