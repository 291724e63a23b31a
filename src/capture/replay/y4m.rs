//! Y4M, the raw video that `ffmpeg`, `mjpegtools` and encoders' test clips use.
//!
//! ```text
//! YUV4MPEG2 W320 H240 F30:1 Ip A1:1 C420jpeg\n
//! FRAME\n  Y plane, U plane, V plane
//! ```
//! Planes become NV12 (4:2:0), YUYV (4:2:2), RGB24 (4:4:4) or GREY, 8 bits. Colours are BT.601 in limited range; what the header says
//! is in full range (`XCOLORRANGE=FULL`) is brought into it. Grey is taken as it is.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use super::{due_us, short_name};
use crate::capture::clip::Clip;
use crate::capture::{CaptureError, SourceInfo};
use crate::picture::{
    BufferPool, DecodeError, Frame, PixelFormat, check_size, packed_stride, raw_len, rgb_from_yuv_bytes,
};
use crate::reason::{Chain, Reason};

/// No header line is longer: it bounds what a file without line ends makes us read.
const MAX_LINE_BYTES: usize = 1024;

/// Why a Y4M stream cannot be read, or not further.
#[derive(Debug, thiserror::Error)]
pub enum Y4mError {
    /// There are no bytes.
    #[error("empty stream")]
    Empty,
    /// It begins with bytes that are no text.
    #[error("Y4M header is not text")]
    NotText,
    /// It begins otherwise.
    #[error("not a Y4M stream")]
    NotY4m,
    /// A side of the picture.
    #[error("Y4M {side} `{value}` is no number")]
    Side {
        /// Which one.
        side: &'static str,
        /// What stands there.
        value: String,
    },
    /// Its pictures are none, or too large.
    #[error(transparent)]
    Size(#[from] DecodeError),
    /// Planes that are not read.
    #[error("Y4M colour layout `{0}` is not supported; convert with: ffmpeg -i IN -pix_fmt yuv420p OUT.y4m")]
    Layout(String),
    /// Something else between two frames.
    #[error("no FRAME where one must be")]
    NoFrame,
    /// A line without an end.
    #[error("endless header line")]
    EndlessLine,
    /// It is over too early.
    #[error("cut off inside a {0}")]
    CutOff(&'static str),
    /// The system does not give it.
    #[error("cannot be read")]
    Unreadable(#[source] io::Error),
}

/// Full range to limited range: 0 to 255 becomes 16 to 235.
const LIMITED_LUMA: [u8; 256] = scaled(219);
/// The same for chroma: 16 to 240, and 128 stays.
const LIMITED_CHROMA: [u8; 256] = scaled(224);

/// Every level times `span` / 255, rounded, from 16 up.
const fn scaled(span: usize) -> [u8; 256] {
    let mut levels = [0; 256];
    let mut level = 0;
    while level < 256 {
        levels[level] = 16 + ((2 * level * span + 255) / 510) as u8;
        level += 1;
    }
    levels
}

/// Frames of a Y4M stream.
pub struct Y4m<R = BufReader<File>> {
    name: String,
    input: R,
    width: usize,
    height: usize,
    fps: f64,
    format: PixelFormat,
    is_full_range: bool,
    planes: Vec<u8>,
    pool: BufferPool,
    seq: u64,
    damaged: u64,
    ended: bool,
}

impl Y4m {
    /// Opens a file.
    ///
    /// # Errors
    /// [`CaptureError::Unusable`], as [`Y4m::new`].
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let fail = |why: Reason| CaptureError::unusable(path.display(), why);
        let file = File::open(path).map_err(|e| fail(Reason::of(e)))?;
        Y4m::new(BufReader::with_capacity(1 << 16, file), short_name(path)).map_err(|e| fail(Reason::of(e)))
    }
}

impl<R: Read> Y4m<R> {
    /// Reads the header line.
    ///
    /// # Errors
    /// Which field is missing or not supported, and how to convert.
    pub fn new(mut input: R, name: String) -> Result<Self, Y4mError> {
        let line = read_line(&mut input)?.ok_or(Y4mError::Empty)?;
        let line = String::from_utf8(line).map_err(|_| Y4mError::NotText)?;
        let mut fields = line.split(' ');
        if fields.next() != Some("YUV4MPEG2") {
            return Err(Y4mError::NotY4m);
        }
        // What is not stated is 4:2:0; a rate is mandatory, but 0:0 means unknown.
        let (mut width, mut height, mut fps, mut chroma) = (0usize, 0usize, 0.0, "420");
        let mut is_full_range = false;
        let side =
            |side, value: &str| value.parse().map_err(|_| Y4mError::Side { side, value: value.to_owned() });
        for field in fields.filter(|f| !f.is_empty()) {
            let (tag, value) = field.split_at(field.chars().next().map_or(0, char::len_utf8));
            match tag {
                "W" => width = side("width", value)?,
                "H" => height = side("height", value)?,
                "F" => {
                    let (n, d) = value.split_once(':').unwrap_or((value, "1"));
                    fps = n.parse::<f64>().unwrap_or(0.0) / d.parse::<f64>().unwrap_or(0.0);
                }
                "C" => chroma = value,
                "X" if value == "COLORRANGE=FULL" => is_full_range = true,
                _ => {}
            }
        }
        check_size(width, height)?;
        let format = match chroma {
            "420" | "420jpeg" | "420mpeg2" | "420paldv" => PixelFormat::Nv12,
            "422" => PixelFormat::Yuyv,
            "444" => PixelFormat::Rgb24,
            "mono" => PixelFormat::Grey,
            other => return Err(Y4mError::Layout(other.to_owned())),
        };
        if !(0.1..=1000.0).contains(&fps) {
            fps = f64::from(super::DEFAULT_FPS);
        }
        let (planes, pool) = (Vec::new(), BufferPool::new());
        Ok(Self {
            name,
            input,
            width,
            height,
            fps,
            format,
            is_full_range,
            planes,
            pool,
            seq: 0,
            damaged: 0,
            ended: false,
        })
    }

    /// Bytes of the three planes.
    fn planes_len(&self) -> usize {
        let (w, h) = (self.width, self.height);
        match self.format {
            PixelFormat::Nv12 => w * h + 2 * w.div_ceil(2) * h.div_ceil(2),
            PixelFormat::Yuyv => w * h + 2 * w.div_ceil(2) * h,
            PixelFormat::Rgb24 => 3 * w * h,
            PixelFormat::Grey | PixelFormat::Mjpeg => w * h,
        }
    }

    /// `Ok(false)` at the end.
    fn read_planes(&mut self) -> Result<bool, Y4mError> {
        let Some(line) = read_line(&mut self.input)? else { return Ok(false) };
        if !line.starts_with(b"FRAME") {
            return Err(Y4mError::NoFrame);
        }
        let len = self.planes_len();
        self.planes.resize(len, 0);
        self.input.read_exact(&mut self.planes).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => Y4mError::CutOff("frame"),
            _ => Y4mError::Unreadable(e),
        })?;
        if self.is_full_range && self.format != PixelFormat::Grey {
            let (luma, chroma) = self.planes.split_at_mut(self.width * self.height);
            luma.iter_mut().for_each(|y| *y = LIMITED_LUMA[usize::from(*y)]);
            chroma.iter_mut().for_each(|c| *c = LIMITED_CHROMA[usize::from(*c)]);
        }
        Ok(true)
    }

    fn pack(&mut self) -> std::sync::Arc<Vec<u8>> {
        let (w, h) = (self.width, self.height);
        let stride = packed_stride(self.format, w);
        let planes = &self.planes;
        let packed = self.pool.fill(|out| {
            out.resize(raw_len(self.format, stride, h), 0);
            let (luma, chroma) = planes.split_at(w * h);
            match self.format {
                PixelFormat::Nv12 => {
                    let cw = w.div_ceil(2);
                    let (u, v) = chroma.split_at(cw * h.div_ceil(2));
                    let (out_y, out_uv) = out.split_at_mut(stride * h);
                    for (to, from) in out_y.chunks_exact_mut(stride).zip(luma.chunks_exact(w)) {
                        to[..w].copy_from_slice(from);
                    }
                    for (to, (u, v)) in out_uv.chunks_exact_mut(2).zip(u.iter().zip(v)) {
                        to.copy_from_slice(&[*u, *v]);
                    }
                }
                PixelFormat::Yuyv => {
                    let cw = w.div_ceil(2);
                    let (u, v) = chroma.split_at(cw * h);
                    for (y, row) in out.chunks_exact_mut(stride).enumerate() {
                        for (i, four) in row.chunks_exact_mut(4).enumerate() {
                            let (a, b) = (y * w + 2 * i, y * w + (2 * i + 1).min(w - 1));
                            four.copy_from_slice(&[luma[a], u[y * cw + i], luma[b], v[y * cw + i]]);
                        }
                    }
                }
                PixelFormat::Rgb24 => {
                    let (u, v) = chroma.split_at(w * h);
                    for (to, ((y, u), v)) in out.chunks_exact_mut(3).zip(luma.iter().zip(u).zip(v)) {
                        to.copy_from_slice(&rgb_from_yuv_bytes(*y, *u, *v));
                    }
                }
                PixelFormat::Grey | PixelFormat::Mjpeg => out.copy_from_slice(luma),
            }
            Ok::<(), std::convert::Infallible>(())
        });
        match packed {
            Ok(bytes) => bytes,
            Err(never) => match never {},
        }
    }
}

impl<R: Read + Send> Clip for Y4m<R> {
    fn info(&self) -> SourceInfo {
        let (width, height) = (self.width as u32, self.height as u32);
        SourceInfo { name: self.name.clone(), width, height, fps: self.fps as f32, live: false }
    }

    fn poll(&mut self) -> Result<Option<Frame>, CaptureError> {
        if !self.ended {
            match self.read_planes() {
                Ok(true) => {
                    let seq = self.seq;
                    self.seq += 1;
                    let bytes = self.pack();
                    let (width, height) = (self.width as u32, self.height as u32);
                    let stride = packed_stride(self.format, self.width) as u32;
                    let captured_at_us = due_us(seq, self.fps);
                    return Ok(Some(Frame {
                        bytes,
                        format: self.format,
                        width,
                        height,
                        stride,
                        seq,
                        captured_at_us,
                    }));
                }
                Ok(false) => self.ended = true,
                Err(why) => {
                    self.ended = true;
                    self.damaged += 1;
                    log::warn!("{}: {} after {} frames", self.name, Chain(&why), self.seq);
                }
            }
        }
        if self.seq == 0 {
            return Err(CaptureError::unusable(&self.name, "no whole frame in this Y4M"));
        }
        Err(CaptureError::Ended)
    }

    fn damaged(&self) -> u64 {
        self.damaged
    }
}

/// A line without its end; `None` at the end of the stream.
fn read_line(input: &mut impl Read) -> Result<Option<Vec<u8>>, Y4mError> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        match input.read(&mut byte) {
            Ok(0) if line.is_empty() => return Ok(None),
            Ok(0) => return Err(Y4mError::CutOff("header line")),
            Ok(_) if byte[0] == b'\n' => return Ok(Some(line)),
            Ok(_) if line.len() == MAX_LINE_BYTES => return Err(Y4mError::EndlessLine),
            Ok(_) => line.push(byte[0]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Y4mError::Unreadable(e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{Affine, Decoder, PixelsMut, crop_resize_into};

    /// Every pixel of a 5×3 picture of one colour, after packing and sampling. `layout`: the header from C on.
    fn colour_after(layout: &str, planes: &[(usize, u8)]) -> Vec<u8> {
        let mut stream = format!("YUV4MPEG2 W5 H3 F25:1 Ip A1:1 C{layout} Xsome\nFRAME Ip\n").into_bytes();
        for &(len, level) in planes {
            stream.extend(std::iter::repeat_n(level, len));
        }
        let mut clip = Y4m::new(&stream[..], "test".into()).expect("header");
        let frame = clip.next().expect("frame");
        assert!(matches!(clip.next(), Err(CaptureError::Ended)));
        let mut decoder = Decoder::new().expect("sets up");
        let picture = decoder.decode(&frame, 1).expect("raw");
        let mut rgb = vec![0; 45];
        let mut net = PixelsMut { bytes: &mut rgb, width: 5, height: 3, row_bytes: 15, pixel_bytes: 3 };
        crop_resize_into(&picture, &Affine::IDENTITY, &mut net, [0; 3]);
        rgb
    }

    #[test]
    fn every_layout_gives_the_same_colour_and_odd_sizes_fit() {
        // BT.601 limited: Y 81, U 90, V 240 is pure red.
        let red = [254, 0, 0].repeat(15);
        let near = |got: &[u8]| got.iter().zip(&red).all(|(a, b)| a.abs_diff(*b) <= 2);
        for (chroma, c) in [("420jpeg", 3 * 2), ("422", 3 * 3), ("444", 15)] {
            let got = colour_after(chroma, &[(15, 81), (c, 90), (c, 240)]);
            assert!(near(&got), "{chroma}: {got:?}");
        }
        assert_eq!(colour_after("mono", &[(15, 77)]), vec![77; 45]);
    }

    #[test]
    fn full_range_is_read_where_the_header_says_so() {
        for (chroma, c) in [("420jpeg", 3 * 2), ("422", 3 * 3), ("444", 15)] {
            let colour = |tag: &str, [y, u, v]: [u8; 3]| {
                let rgb = colour_after(&format!("{chroma}{tag}"), &[(15, y), (c, u), (c, v)]);
                assert!(rgb.chunks_exact(3).all(|pixel| pixel == &rgb[..3]), "{chroma}{tag}: {rgb:?}");
                [rgb[0], rgb[1], rgb[2]]
            };
            let grey = |tag, y| colour(tag, [y, 128, 128]);
            for (y, full, limited) in [(0, 0, 0), (16, 16, 0), (235, 235, 255), (255, 255, 255)] {
                assert_eq!(grey(" XCOLORRANGE=FULL", y), [full; 3], "{chroma}");
                assert_eq!(grey("", y), [limited; 3], "{chroma}");
                assert_eq!(grey(" XCOLORRANGE=LIMITED", y), [limited; 3], "{chroma}");
            }
            // BT.601: pure red.
            let red = colour(" XCOLORRANGE=FULL", [76, 85, 255]);
            assert!(red.iter().zip([254, 0, 0]).all(|(a, b)| a.abs_diff(b) <= 2), "{chroma}: {red:?}");
        }
        assert_eq!(colour_after("mono XCOLORRANGE=FULL", &[(15, 77)]), vec![77; 45]);
    }

    #[test]
    fn times_follow_the_stated_rate_and_a_cut_off_frame_is_counted() {
        let mut stream = b"YUV4MPEG2 W2 H2 F10:1 Cmono\n".to_vec();
        for _ in 0..2 {
            stream.extend(b"FRAME\nabcd");
        }
        stream.extend(b"FRAME\nab");
        let mut clip = Y4m::new(&stream[..], "test".into()).expect("header");
        let times: Vec<_> = std::iter::from_fn(|| clip.next().ok().map(|f| f.captured_at_us)).collect();
        assert_eq!((times, clip.damaged()), (vec![0, 100_000], 1));
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_the_reason() {
        let refused = |header: &str| Y4m::new(header.as_bytes(), "test".into()).err();
        assert!(matches!(refused("YUV4MPEG2 W9999 H9999 F1:1\n"), Some(Y4mError::Size(_))));
        assert!(matches!(refused("YUV4MPEG2 W9 H9 F1:1 C420p10\n"), Some(Y4mError::Layout(_))));
        assert!(matches!(refused(&"YUV4MPEG2 ".repeat(200)), Some(Y4mError::EndlessLine)));
        assert!(matches!(refused("YUV4MPEG2 Wx H9 F1:1\n"), Some(Y4mError::Side { .. })));
    }
}
