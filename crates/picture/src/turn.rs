//! Pictures of cameras that hang upside down or on their side, upright; and as a mirror shows them.
//!
//! JPEGs are turned as they are, without decoding (libjpeg-turbo's lossless transform): what does not fill a whole block at the right
//! or lower edge is cut off where that edge comes to the left or to the top, with the usual colours at most 15 pixels of sizes that
//! are no multiple of 16. [`Turn::shown_px`] says what is left. Those of many scans, which no camera sends, are decoded and then turned.

use std::convert::Infallible;

use turbojpeg::{OutputBuf, Transform, TransformOp, Transformer};

use super::decode::{DecodeError, jpeg_header, raw_picture, whole_though_padded};
use super::jpeg::JpegError;
use super::{BufferPool, Decoder, Frame, Picture, PixelFormat, packed_stride, raw_len, scans};

/// Sides of the blocks that a JPEG is turned by, by how much coarser its colours are.
const SMALLEST_BLOCK_PX: u32 = 8;
const LARGEST_BLOCK_PX: u32 = 32;

/// How a picture is turned: clockwise, then mirrored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Quarters of a full turn, clockwise: 0 to 3.
    pub quarters: u8,
    /// Left and right exchanged, after that.
    pub mirror: bool,
}

impl Turn {
    /// Whether anything changes.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// Whether width and height change places.
    fn is_on_its_side(self) -> bool {
        self.quarters % 2 == 1
    }

    fn operation(self) -> TransformOp {
        match (self.quarters % 4, self.mirror) {
            (0, false) => TransformOp::None,
            (1, false) => TransformOp::Rot90,
            (2, false) => TransformOp::Rot180,
            (_, false) => TransformOp::Rot270,
            (0, true) => TransformOp::Hflip,
            (1, true) => TransformOp::Transpose,
            (2, true) => TransformOp::Vflip,
            (_, true) => TransformOp::Transverse,
        }
    }

    /// How much of a picture of `of_px` a turned one of `turned_px` shows, width and height before it was turned: all of it, or what
    /// whole blocks of a JPEG there are, always from its top left corner. `None` where it is no such picture.
    pub fn shown_px(self, of_px: [u32; 2], turned_px: [u32; 2]) -> Option<[u32; 2]> {
        let [w, h] = turned_px;
        let shown_px = if self.is_on_its_side() { [h, w] } else { [w, h] };
        // An edge that comes to the other side cannot bring half a block there.
        let (x, y) = self.source((0, 0), (2, 2));
        let is_shown = |of: u32, shown: u32, comes_first: usize| {
            let is_trimmed = comes_first == 1 && shown > 0 && shown.is_multiple_of(SMALLEST_BLOCK_PX);
            let cut = of.checked_sub(shown);
            cut == Some(0) || is_trimmed && cut.is_some_and(|cut| cut < LARGEST_BLOCK_PX)
        };
        (is_shown(of_px[0], shown_px[0], x) && is_shown(of_px[1], shown_px[1], y)).then_some(shown_px)
    }

    /// Which pixel of a picture of `w` × `h` comes to (x, y) of the turned one.
    fn source(self, (x, y): (usize, usize), (w, h): (usize, usize)) -> (usize, usize) {
        let x = match (self.mirror, self.is_on_its_side()) {
            (false, _) => x,
            (true, false) => w - 1 - x,
            (true, true) => h - 1 - x,
        };
        match self.quarters % 4 {
            0 => (x, y),
            1 => (y, h - 1 - x),
            2 => (w - 1 - x, h - 1 - y),
            _ => (w - 1 - y, x),
        }
    }
}

/// Turns frames.
pub struct Turner {
    turn: Turn,
    pool: BufferPool,
}

impl Turner {
    /// Turns every frame by `turn`.
    pub fn new(turn: Turn) -> Self {
        Self { turn, pool: BufferPool::new() }
    }

    /// The turned frame; number and time stay.
    ///
    /// # Errors
    /// [`DecodeError`]: the frame cannot be read.
    pub fn turn(&mut self, frame: &Frame) -> Result<Frame, DecodeError> {
        match frame.format {
            PixelFormat::Mjpeg => self.jpeg(frame),
            _ => self.raw(frame),
        }
    }

    fn jpeg(&mut self, frame: &Frame) -> Result<Frame, DecodeError> {
        let header = jpeg_header(&frame.bytes)?;
        let fail = |reason: JpegError| DecodeError::Jpeg { bytes: frame.bytes.len(), reason };
        if !scans::are_a_cameras(&frame.bytes, header.components) {
            return self.decoded(frame);
        }
        let mut transform = Transform::op(self.turn.operation());
        (transform.trim, transform.copy_none) = (true, true);
        // A new one each time: after a damaged picture the library would refuse the next.
        let refused = |e: turbojpeg::Error| JpegError::Refused(e.to_string());
        let mut transformer = Transformer::new().map_err(|e| fail(refused(e)))?;
        let bytes = self.pool.fill(|out| {
            // The same blocks in another order: their code is about as long.
            out.resize(2 * frame.bytes.len() + (1 << 16), 0);
            let mut turned = OutputBuf::borrowed(out);
            let done = transformer.transform(&transform, &frame.bytes, &mut turned);
            let len = turned.len();
            drop(turned);
            done.map_err(refused).or_else(whole_though_padded).map_err(fail)?;
            out.truncate(len);
            Ok::<(), DecodeError>(())
        })?;
        let header = jpeg_header(&bytes)?;
        let (width, height) = (header.width as u32, header.height as u32);
        Ok(Frame { bytes, width, height, ..frame.clone() })
    }

    /// A JPEG turned as pixels: the decoder bounds what its scans may ask for.
    fn decoded(&mut self, frame: &Frame) -> Result<Frame, DecodeError> {
        let mut decoder = Decoder::new()?;
        let picture = decoder.decode(frame, 1)?;
        let (width, height, stride) = (picture.width as u32, picture.height as u32, picture.stride as u32);
        let bytes = self.pool.copy(picture.bytes);
        self.raw(&Frame { bytes, format: picture.format, width, height, stride, ..frame.clone() })
    }

    fn raw(&mut self, frame: &Frame) -> Result<Frame, DecodeError> {
        let Picture { width: w, height: h, stride: from_stride, bytes: from, .. } = raw_picture(frame)?;
        let turn = self.turn;
        let (to_w, to_h) = if turn.is_on_its_side() { (h, w) } else { (w, h) };
        // Of pairs of pixels only whole rows stay pairs.
        let format = match frame.format {
            PixelFormat::Yuyv if turn.is_on_its_side() => PixelFormat::Nv12,
            other => other,
        };
        let stride = packed_stride(format, to_w);
        let filled = self.pool.fill(|out| {
            out.resize(raw_len(format, stride, to_h), 0);
            // What turns: planes of so many bytes a pixel, read through whatever layout they have.
            match frame.format {
                PixelFormat::Mjpeg => {}
                PixelFormat::Grey => remap(turn, (w, h), out, stride, |x, y| [from[y * from_stride + x]]),
                PixelFormat::Rgb24 => remap(turn, (w, h), out, stride, |x, y| {
                    let at = y * from_stride + 3 * x;
                    [from[at], from[at + 1], from[at + 2]]
                }),
                PixelFormat::Nv12 => {
                    let (luma, chroma) = out.split_at_mut(stride * to_h);
                    remap(turn, (w, h), luma, stride, |x, y| [from[y * from_stride + x]]);
                    let theirs = &from[from_stride * h..];
                    remap(turn, (w.div_ceil(2), h.div_ceil(2)), chroma, stride, |x, y| {
                        let at = y * from_stride + 2 * x;
                        [theirs[at], theirs[at + 1]]
                    });
                }
                PixelFormat::Yuyv if format == PixelFormat::Nv12 => {
                    let (luma, chroma) = out.split_at_mut(stride * to_h);
                    remap(turn, (w, h), luma, stride, |x, y| [from[y * from_stride + 2 * x]]);
                    remap(turn, (w.div_ceil(2), h.div_ceil(2)), chroma, stride, |x, y| {
                        let at = 2 * y * from_stride + 4 * x;
                        [from[at + 1], from[at + 3]]
                    });
                }
                PixelFormat::Yuyv => {
                    // Two pixels of an odd row's end are one: the last stands for both.
                    let luma = |x: usize, y: usize| from[y * from_stride + 2 * x];
                    for (y, row) in out.chunks_exact_mut(stride).enumerate() {
                        for (pair, four) in row.chunks_exact_mut(4).enumerate() {
                            let (x, next) = (2 * pair, (2 * pair + 1).min(w - 1));
                            let ((x0, y0), (x1, _)) =
                                (turn.source((x, y), (w, h)), turn.source((next, y), (w, h)));
                            let at = y0 * from_stride + x0 / 2 * 4;
                            four.copy_from_slice(&[luma(x0, y0), from[at + 1], luma(x1, y0), from[at + 3]]);
                        }
                    }
                }
            }
            Ok::<(), Infallible>(())
        });
        let bytes = match filled {
            Ok(bytes) => bytes,
            Err(never) => match never {},
        };
        let (width, height, stride) = (to_w as u32, to_h as u32, stride as u32);
        Ok(Frame { bytes, format, width, height, stride, ..frame.clone() })
    }
}

/// Fills a turned plane of `N` bytes a pixel with what `read` gives of one of `size`.
fn remap<const N: usize>(
    turn: Turn,
    size: (usize, usize),
    out: &mut [u8],
    stride: usize,
    read: impl Fn(usize, usize) -> [u8; N],
) {
    let width = if turn.is_on_its_side() { size.1 } else { size.0 };
    for (y, row) in out.chunks_exact_mut(stride).enumerate() {
        for (x, pixel) in row.chunks_exact_mut(N).take(width).enumerate() {
            let (from_x, from_y) = turn.source((x, y), size);
            pixel.copy_from_slice(&read(from_x, from_y));
        }
    }
}

#[cfg(test)]
mod tests;
