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
    Frame { bytes: Arc::new(bytes), format, width, height, stride: stride as u32, seq: 7, captured_at_us: 8 }
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
    let nv12 = nv12
        .chain((0..w / 2 * h / 2).flat_map(|i| [u(i % (w / 2), i / (w / 2)), v(i % (w / 2), i / (w / 2))]));
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
    let [whole, padded] =
        [whole, padded].map(|bytes| Turner::new(half).turn(&frame(bytes, PixelFormat::Mjpeg, 0)).unwrap());
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
