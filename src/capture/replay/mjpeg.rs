//! A raw MJPEG stream: JPEGs one after the other, as `v4l2-ctl --stream-to` and IP cameras write them.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::{DEFAULT_FPS, MAX_JPEG_BYTES, due_us, short_name};
use crate::capture::clip::Clip;
use crate::capture::{CaptureError, SourceInfo};
use crate::picture::{BufferPool, Frame, PixelFormat, jpeg_header};

/// Bytes asked of the file at once.
const READ_BYTES: usize = 1 << 16;

/// Splits a stream at the JPEGs' own markers. What lies between pictures is skipped.
pub struct Mjpeg<R = File> {
    name: String,
    input: R,
    /// Read and not yet handed out, from `start`.
    buffer: Vec<u8>,
    start: usize,
    pool: BufferPool,
    size: (u32, u32),
    seq: u64,
    damaged: u64,
}

impl Mjpeg {
    /// Opens a file that begins with a JPEG.
    ///
    /// # Errors
    /// [`CaptureError::Unusable`] where it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let file =
            File::open(path).map_err(|e| CaptureError::Unusable(format!("{}: {e}", path.display())))?;
        Ok(Mjpeg::new(file, short_name(path)))
    }
}

impl<R: Read> Mjpeg<R> {
    /// Splits any stream of bytes.
    pub fn new(input: R, name: String) -> Self {
        let (buffer, pool) = (Vec::new(), BufferPool::new());
        Self { name, input, buffer, start: 0, pool, size: (0, 0), seq: 0, damaged: 0 }
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
        let got = got.map_err(|e| CaptureError::Unusable(format!("{}: {e}", self.name)));
        self.buffer.truncate(len + *got.as_ref().unwrap_or(&0));
        got.map(|n| n > 0)
    }
}

impl<R: Read + Send> Clip for Mjpeg<R> {
    fn info(&self) -> SourceInfo {
        let (width, height) = self.size;
        SourceInfo { name: self.name.clone(), width, height, fps: DEFAULT_FPS, live: false }
    }

    fn next(&mut self) -> Result<Frame, CaptureError> {
        loop {
            let rest = &self.buffer[self.start..];
            match find_jpeg(rest) {
                Found::Whole { start, end } => {
                    let bytes = &rest[start..end];
                    let size = jpeg_header(bytes);
                    let (seq, captured_at_us) = (self.seq, due_us(self.seq, f64::from(DEFAULT_FPS)));
                    self.seq += 1;
                    self.start += end;
                    match size {
                        Ok(header) => {
                            let (width, height) = (header.width as u32, header.height as u32);
                            self.size = (width, height);
                            let bytes = self.pool.copy(&self.buffer[self.start - (end - start)..self.start]);
                            let format = PixelFormat::Mjpeg;
                            return Ok(Frame {
                                bytes,
                                format,
                                width,
                                height,
                                stride: 0,
                                seq,
                                captured_at_us,
                            });
                        }
                        Err(why) => {
                            self.damaged += 1;
                            log::warn!("{}: picture {seq}: {why}; left out", self.name);
                        }
                    }
                }
                Found::Partial { start } => {
                    self.start += start;
                    if rest.len() - start > MAX_JPEG_BYTES {
                        self.damaged += 1;
                        // Look for the next picture inside.
                        self.start += 2;
                    } else if !self.refill()? {
                        if self.buffer.len() > self.start + 2 {
                            self.damaged += 1;
                            log::warn!("{}: the last picture is cut off; left out", self.name);
                            self.start = self.buffer.len();
                        }
                        return Err(if self.seq == 0 {
                            CaptureError::Unusable(format!("{}: no whole JPEG in this stream", self.name))
                        } else {
                            CaptureError::Ended
                        });
                    }
                }
            }
        }
    }

    fn damaged(&self) -> u64 {
        self.damaged
    }
}

/// Where the first JPEG of some bytes lies.
enum Found {
    Whole {
        start: usize,
        end: usize,
    },
    /// It begins (or may begin) at `start` and goes on after these bytes.
    Partial {
        start: usize,
    },
}

/// Walks the markers, so that a thumbnail inside a picture's header is not taken for the next picture.
fn find_jpeg(bytes: &[u8]) -> Found {
    let mut from = 0;
    'pictures: loop {
        let Some(found) = bytes[from..].windows(3).position(|m| m == [0xff, 0xd8, 0xff]) else {
            // The last two bytes may be the beginning of a start.
            return Found::Partial { start: bytes.len().saturating_sub(2).max(from.min(bytes.len())) };
        };
        let start = from + found;
        let mut at = start + 2;
        loop {
            // At a marker.
            let Some(&[ff, kind]) = bytes.get(at..).and_then(|b| b.first_chunk::<2>()) else {
                return Found::Partial { start };
            };
            match (ff, kind) {
                (0xff, 0xff) => at += 1,
                (0xff, 0xd9) => return Found::Whole { start, end: at + 2 },
                (0xff, 0x01 | 0xd0..=0xd7) => at += 2,
                (0xff, 0xc0..=0xfe) if kind != 0xd8 => {
                    let Some(&[_, _, hi, lo]) = bytes.get(at..).and_then(|b| b.first_chunk::<4>()) else {
                        return Found::Partial { start };
                    };
                    at += 2 + usize::from(u16::from_be_bytes([hi, lo]));
                    if kind == 0xda {
                        // Coded data: the next marker is an FF that is neither stuffed nor a restart.
                        let data = bytes.get(at..).unwrap_or_default();
                        match data.windows(2).position(|m| m[0] == 0xff && !matches!(m[1], 0 | 0xd0..=0xd7)) {
                            Some(n) => at += n,
                            None => return Found::Partial { start },
                        }
                    }
                }
                // No marker where one must be, or a new picture: this one was broken.
                _ => {
                    from = start + 2;
                    continue 'pictures;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn jpeg(side: usize, level: u8) -> Vec<u8> {
        let pixels: Vec<u8> = (0..side * side).map(|i| level.wrapping_add(i as u8)).collect();
        let format = turbojpeg::PixelFormat::GRAY;
        let image = turbojpeg::Image { pixels: &pixels[..], width: side, pitch: side, height: side, format };
        turbojpeg::compress(image, 80, turbojpeg::Subsamp::Gray).expect("encodes").to_vec()
    }

    /// Gives the stream in pieces of chosen lengths.
    struct Pieces<'a>(&'a [u8], Vec<usize>);

    impl Read for Pieces<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let n = self.1.pop().unwrap_or(usize::MAX).clamp(1, out.len()).min(self.0.len());
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn all(input: impl Read + Send) -> (Vec<Vec<u8>>, u64) {
        let mut clip = Mjpeg::new(input, "test".into());
        let frames = std::iter::from_fn(|| clip.next().ok().map(|f| f.bytes.to_vec())).collect();
        (frames, clip.damaged())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn pictures_come_out_whole_however_the_stream_arrives(
            pieces in prop::collection::vec(1usize..900, 0..60), garbage in prop::collection::vec(0u8..0xff, 0..40),
        ) {
            // A comment that looks like a picture sits inside the second.
            let mut second = jpeg(16, 9);
            let decoy = jpeg(8, 1);
            let comment = [&[0xff, 0xfe][..], &(decoy.len() as u16 + 2).to_be_bytes(), &decoy].concat();
            second.splice(2..2, comment);
            let pictures = vec![jpeg(64, 3), second, jpeg(1, 200)];
            let stream = [&pictures[0][..], &garbage, &pictures[1], &pictures[2]].concat();
            prop_assert_eq!(all(Pieces(&stream, pieces)), (pictures, 0));
        }

        #[test]
        fn damaged_streams_neither_panic_nor_hang(
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        ) {
            let mut stream = [jpeg(32, 3), jpeg(16, 9), jpeg(8, 200)].concat();
            for (at, to) in flips {
                let at = at.index(stream.len());
                stream[at] = to;
            }
            let (frames, damaged) = all(&stream[..]);
            prop_assert!(frames.len() as u64 + damaged < 20);
        }
    }

    #[test]
    fn a_picture_cut_off_at_the_end_is_counted_and_one_alone_is_an_error() {
        let stream = [jpeg(32, 1), jpeg(32, 2)].concat();
        let (frames, damaged) = all(&stream[..stream.len() - 5]);
        assert_eq!((frames.len(), damaged), (1, 1));
        let alone = jpeg(32, 1);
        let mut clip = Mjpeg::new(&alone[..50], "test".into());
        assert!(matches!(clip.next(), Err(CaptureError::Unusable(why)) if why.contains("no whole JPEG")));
    }
}
