//! Pictures of cameras that hang upside down or on their side, upright; and as a mirror shows them.
//!
//! JPEGs are turned as they are, without decoding (libjpeg-turbo's lossless transform): what does not fill a whole block at the right
//! or lower edge is cut off where that edge comes to the left or to the top, with the usual colours at most 15 pixels of sizes that
//! are no multiple of 16. [`Turn::shown_px`] says what is left. Those of many scans, which no camera sends, are decoded and then turned.

use std::convert::Infallible;

use turbojpeg::{OutputBuf, Transform, TransformOp, Transformer};

use super::decode::{DecodeError, jpeg_header, raw_picture, whole_though_padded};
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
        let fail = |reason: String| DecodeError::Jpeg { bytes: frame.bytes.len(), reason };
        if !scans::are_a_cameras(&frame.bytes, header.components) {
            return self.decoded(frame);
        }
        let mut transform = Transform::op(self.turn.operation());
        (transform.trim, transform.copy_none) = (true, true);
        // A new one each time: after a damaged picture the library would refuse the next.
        let mut transformer = Transformer::new().map_err(|e| fail(e.to_string()))?;
        let bytes = self.pool.fill(|out| {
            // The same blocks in another order: their code is about as long.
            out.resize(2 * frame.bytes.len() + (1 << 16), 0);
            let mut turned = OutputBuf::borrowed(out);
            let done = transformer.transform(&transform, &frame.bytes, &mut turned);
            let len = turned.len();
            drop(turned);
            done.or_else(|e| whole_though_padded(e.to_string())).map_err(fail)?;
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
mod tests {
    use super::super::{Affine, Decoder, PixelsMut, crop_resize_into};
    use super::*;
    use std::sync::Arc;

    const SIZE: (usize, usize) = (32, 16);

    /// Smooth colours, other ones at each corner.
    fn colour(x: usize, y: usize) -> [u8; 3] {
        [(40 + 5 * x) as u8, (60 + 8 * y) as u8, (200 - 3 * x - 2 * y) as u8]
    }

    fn rgb_frame() -> Frame {
        let (w, h) = SIZE;
        let bytes = (0..w * h).flat_map(|i| colour(i % w, i / w)).collect();
        frame(bytes, PixelFormat::Rgb24, 3 * w)
    }

    fn frame(bytes: Vec<u8>, format: PixelFormat, stride: usize) -> Frame {
        let (width, height) = (SIZE.0 as u32, SIZE.1 as u32);
        Frame {
            bytes: Arc::new(bytes),
            format,
            width,
            height,
            stride: stride as u32,
            seq: 7,
            captured_at_us: 8,
        }
    }

    fn compressed(pixels: &[u8], (width, height): (usize, usize), subsamp: turbojpeg::Subsamp) -> Vec<u8> {
        let format = turbojpeg::PixelFormat::RGB;
        let image = turbojpeg::Image { pixels, width, height, pitch: 3 * width, format };
        turbojpeg::compress(image, 95, subsamp).unwrap().to_vec()
    }

    /// The picture of [`rgb_frame`] as a JPEG.
    fn jpeg() -> Vec<u8> {
        compressed(&rgb_frame().bytes, SIZE, turbojpeg::Subsamp::None)
    }

    /// The picture as RGB.
    fn rgb(frame: &Frame) -> Vec<u8> {
        let (w, h) = (frame.width as usize, frame.height as usize);
        let mut decoder = Decoder::new().unwrap();
        let picture = decoder.decode(frame, 1).unwrap();
        let mut bytes = vec![0; 3 * w * h];
        let mut to = PixelsMut { bytes: &mut bytes, width: w, height: h, row_bytes: 3 * w, pixel_bytes: 3 };
        crop_resize_into(&picture, &Affine::IDENTITY, &mut to, [0; 3]);
        bytes
    }

    fn every_turn() -> impl Iterator<Item = Turn> {
        (0..4).flat_map(|quarters| [false, true].map(|mirror| Turn { quarters, mirror }))
    }

    /// The largest difference to the picture turned pixel by pixel.
    fn error(frame: &Frame, turn: Turn) -> u8 {
        let turned = Turner::new(turn).turn(frame).unwrap();
        assert_eq!((turned.seq, turned.captured_at_us), (7, 8));
        let (w, h) = (turned.width as usize, turned.height as usize);
        assert_eq!((w, h), if turn.quarters % 2 == 1 { (SIZE.1, SIZE.0) } else { SIZE });
        let (whole, got) = (rgb(frame), rgb(&turned));
        (0..w * h)
            .flat_map(|i| {
                let (x, y) = turn.source((i % w, i / w), SIZE);
                let at = 3 * (y * SIZE.0 + x);
                std::iter::zip(&whole[at..at + 3], &got[3 * i..3 * i + 3])
                    .map(|(a, b)| a.abs_diff(*b))
                    .collect::<Vec<_>>()
            })
            .max()
            .unwrap()
    }

    #[test]
    fn a_corner_comes_to_where_the_turn_brings_it() {
        // Of a picture of 3 × 2: what stands at the top left afterwards.
        let top_left = |quarters, mirror| Turn { quarters, mirror }.source((0, 0), (3, 2));
        assert_eq!([0, 1, 2, 3].map(|q| top_left(q, false)), [(0, 0), (0, 1), (2, 1), (2, 0)]);
        assert_eq!([0, 1, 2, 3].map(|q| top_left(q, true)), [(2, 0), (0, 0), (0, 1), (2, 1)]);
    }

    #[test]
    fn every_layout_turns_like_the_picture_that_it_shows() {
        let (w, h) = SIZE;
        let rgb = rgb_frame();
        let grey = frame((0..w * h).map(|i| colour(i % w, i / w)[0]).collect(), PixelFormat::Grey, w);
        let jpeg = frame(jpeg(), PixelFormat::Mjpeg, 0);
        // Colours that change slowly enough for halved resolution.
        let u = |x: usize, y: usize| (100 + 2 * x + y) as u8;
        let v = |x: usize, y: usize| (150 - x - 2 * y) as u8;
        let luma = |x: usize, y: usize| (50 + 3 * x + 4 * y) as u8;
        let nv12 = (0..w * h).map(|i| luma(i % w, i / w));
        let nv12 = nv12.chain(
            (0..w / 2 * h / 2).flat_map(|i| [u(i % (w / 2), i / (w / 2)), v(i % (w / 2), i / (w / 2))]),
        );
        let nv12 = frame(nv12.collect(), PixelFormat::Nv12, w);
        let yuyv = (0..w / 2 * h).flat_map(|i| {
            let (x, y) = (i % (w / 2), i / (w / 2));
            [luma(2 * x, y), u(x, y / 2), luma(2 * x + 1, y), v(x, y / 2)]
        });
        let yuyv = frame(yuyv.collect(), PixelFormat::Yuyv, 2 * w);
        for turn in every_turn() {
            for (frame, tolerance) in [(&rgb, 0), (&grey, 0), (&jpeg, 2), (&nv12, 0), (&yuyv, 0)] {
                let error = error(frame, turn);
                assert!(error <= tolerance, "{:?} {turn:?}: {error}", frame.format);
            }
        }
    }

    /// Neither side of 40 × 24 is a multiple of the 16 pixels of a block.
    #[test]
    fn a_jpeg_is_cut_to_whole_blocks_at_its_right_and_lower_edge() {
        let (w, h) = (40, 24);
        let pixels: Vec<u8> = (0..w * h).flat_map(|i| colour(i % w, i / w)).collect();
        let jpeg = compressed(&pixels, (w, h), turbojpeg::Subsamp::Sub2x2);
        let whole = Frame { width: 40, height: 24, ..frame(jpeg, PixelFormat::Mjpeg, 0) };
        let before = rgb(&whole);
        for turn in every_turn().filter(|turn| !turn.is_none()) {
            let turned = Turner::new(turn).turn(&whole).unwrap();
            let shown = turn.shown_px([40, 24], [turned.width, turned.height]);
            let [right, bottom] = match (turn.quarters, turn.mirror) {
                (1, true) => [40, 24],
                (0, _) | (3, false) => [32, 24],
                (1, _) | (2, true) => [40, 16],
                _ => [32, 16],
            };
            assert_eq!(shown, Some([right, bottom]), "{turn:?}");
            let (got, width) = (rgb(&turned), turned.width as usize);
            for (i, pixel) in got.chunks_exact(3).enumerate() {
                let (x, y) = turn.source((i % width, i / width), (right as usize, bottom as usize));
                let at = 3 * (y * w + x);
                // Colours of half the size are spread otherwise at an edge.
                assert!(
                    std::iter::zip(pixel, &before[at..at + 3]).all(|(a, b)| a.abs_diff(*b) < 12),
                    "{turn:?} {x} {y}"
                );
            }
        }
        let half = Turn { quarters: 2, mirror: false };
        assert_eq!(half.shown_px([640, 360], [640, 352]), Some([640, 352]));
        for other in [[640, 328], [640, 353], [640, 368], [360, 640]] {
            assert_eq!(half.shown_px([640, 360], other), None, "{other:?}");
        }
        assert_eq!(Turn { quarters: 0, mirror: true }.shown_px([640, 360], [640, 352]), None);
    }

    /// Many webcams do.
    #[test]
    fn a_jpeg_with_padding_before_its_end_is_turned() {
        let half = Turn { quarters: 2, mirror: false };
        let whole = jpeg();
        let mut padded = whole.clone();
        padded.splice(whole.len() - 2..whole.len() - 2, [0; 77]);
        let [whole, padded] = [whole, padded]
            .map(|bytes| Turner::new(half).turn(&frame(bytes, PixelFormat::Mjpeg, 0)).unwrap());
        assert_eq!(whole.bytes, padded.bytes);
    }

    #[test]
    fn a_progressive_jpeg_is_turned_whole() {
        let (w, h) = (40, 24);
        let pixels: Vec<u8> = (0..w * h).flat_map(|i| colour(i % w, i / w)).collect();
        let mut compressor = turbojpeg::Compressor::new().unwrap();
        compressor.set_progressive(true).unwrap();
        let format = turbojpeg::PixelFormat::RGB;
        let image = turbojpeg::Image { pixels: &pixels[..], width: w, height: h, pitch: 3 * w, format };
        let bytes = compressor.compress_to_vec(image).unwrap();
        assert!(!scans::are_a_cameras(&bytes, 3), "of many scans");
        let whole = Frame { width: 40, height: 24, ..frame(bytes, PixelFormat::Mjpeg, 0) };
        let before = rgb(&whole);
        let turned = Turner::new(Turn { quarters: 1, mirror: false }).turn(&whole).unwrap();
        assert_eq!((turned.width, turned.height, turned.seq), (24, 40, 7));
        let after = rgb(&turned);
        assert_eq!(after[..3], before[3 * w * (h - 1)..][..3], "the lower left corner comes to the top");
    }

    #[test]
    fn what_is_no_whole_picture_is_refused() {
        let mut turner = Turner::new(Turn { quarters: 2, mirror: false });
        assert!(turner.turn(&frame(vec![0; 9], PixelFormat::Grey, SIZE.0)).is_err());
        assert!(turner.turn(&frame(vec![0xff, 0xd8, 0xff, 0xe0], PixelFormat::Mjpeg, 0)).is_err());
        assert!(turner.turn(&rgb_frame()).is_ok(), "the next one is turned again");
    }
}
