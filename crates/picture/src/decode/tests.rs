use std::sync::Arc;

use turbojpeg::Image;

use super::*;

pub(super) fn mjpeg(bytes: Vec<u8>) -> Frame {
    let bytes = Arc::new(bytes);
    Frame { bytes, format: PixelFormat::Mjpeg, width: 0, height: 0, stride: 0, seq: 0, captured_at_us: 0 }
}

fn jpeg(width: usize, height: usize, pixel: impl Fn(usize, usize) -> [u8; 3]) -> Vec<u8> {
    let pixels: Vec<u8> = (0..width * height).flat_map(|i| pixel(i % width, i / width)).collect();
    let format = turbojpeg::PixelFormat::RGB;
    let image = Image { pixels: &pixels[..], width, height, pitch: 3 * width, format };
    turbojpeg::compress(image, 95, turbojpeg::Subsamp::Sub2x2).expect("encodes").to_vec()
}

#[test]
fn a_reduced_picture_shows_the_same_scene_at_the_stated_scale() {
    // Left third red, the rest blue; 101×67 is no multiple of any block.
    let frame = mjpeg(jpeg(101, 67, |x, _| if x < 33 { [200, 20, 20] } else { [20, 20, 200] }));
    let mut decoder = Decoder::new().expect("sets up");
    for (asked, reduction) in [(1, 1), (2, 2), (3, 2), (4, 4), (7, 4), (8, 8), (100, 8)] {
        let p = decoder.decode(&frame, asked).expect("decodes");
        assert_eq!((p.width, p.height), (101usize.div_ceil(reduction), 67usize.div_ceil(reduction)));
        assert_eq!(p.image_size, [101, 67]);
        let edge =
            (0..p.width).position(|x| p.bytes[p.stride * (p.height / 2) + 3 * x] < 110).expect("an edge");
        let edge_in_image = edge as f32 * p.image_from_picture[0];
        assert!((edge_in_image - 33.0).abs() <= reduction as f32, "1/{reduction}: edge at {edge_in_image}");
    }
}

#[test]
fn broken_jpegs_are_errors_and_the_decoder_goes_on() {
    let good = jpeg(64, 48, |x, y| [x as u8, y as u8, 0]);
    let mut decoder = Decoder::new().expect("sets up");
    for bad in
        [vec![], vec![0xff], b"not a JPEG".to_vec(), good[..good.len() / 2].to_vec(), good[..20].to_vec()]
    {
        let e = decoder.decode(&mjpeg(bad), 1).expect_err("must not decode").to_string();
        assert!(e.starts_with("JPEG of "), "{e}");
        assert!(decoder.decode(&mjpeg(good.clone()), 1).is_ok());
    }
}

/// A bad table stays in libjpeg and once made every later frame of a camera unreadable.
#[test]
fn a_jpeg_with_a_bogus_huffman_table_spoils_no_later_one() {
    let good = jpeg(64, 48, |x, y| [x as u8, y as u8, 0]);
    let mut bad = good.clone();
    // The lengths of the first table's codes: more of length 1 than there can be.
    let table = bad.windows(2).position(|m| m == [0xff, 0xc4]).expect("a table");
    bad[table + 5] = 9;
    let mut decoder = Decoder::new().expect("sets up");
    assert!(decoder.decode(&mjpeg(bad), 1).is_err());
    assert!(decoder.decode(&mjpeg(good), 1).is_ok());
}

/// Many webcams leave out the tables that every JPEG could have, and fill their buffer up with zeros.
#[test]
fn a_webcams_jpeg_without_huffman_tables_and_with_padding_is_decoded() {
    let whole = jpeg(64, 48, |x, y| [4 * x as u8, 5 * y as u8, 90]);
    let mut bare = whole.clone();
    while let Some(at) = bare.windows(2).position(|m| m == [0xff, 0xc4]) {
        let len = usize::from(u16::from_be_bytes([bare[at + 2], bare[at + 3]]));
        bare.drain(at..at + 2 + len);
    }
    assert!(bare.len() + 300 < whole.len());
    bare.extend([0; 777]);
    let mut decoder = Decoder::new().expect("sets up");
    let expected = decoder.decode(&mjpeg(whole), 1).expect("decodes").bytes.to_vec();
    assert_eq!(decoder.decode(&mjpeg(bare), 1).expect("decodes").bytes, expected);
}

/// As most webcams send them: after every row of blocks the code begins anew.
fn with_restarts(rows: u8) -> Vec<u8> {
    let strip = jpeg(64, 16, |x, _| [4 * x as u8, 90, 90]);
    let code = strip.windows(2).position(|m| m == [0xff, 0xda]).expect("a scan");
    let sof = strip.windows(2).position(|m| m == [0xff, 0xc0]).expect("a baseline header");
    let begins = code + 2 + usize::from(u16::from_be_bytes([strip[code + 2], strip[code + 3]]));
    let mut whole = strip[..code].to_vec();
    whole[sof + 5..sof + 7].copy_from_slice(&(16 * u16::from(rows)).to_be_bytes());
    whole.extend([0xff, 0xdd, 0, 4, 0, 4]);
    whole.extend(&strip[code..begins]);
    for row in 0..rows {
        whole.extend(&strip[begins..strip.len() - 2]);
        whole.extend([0xff, if row + 1 == rows { 0xd9 } else { 0xd0 + row % 8 }]);
    }
    whole
}

/// What is lost between two markers leaves bytes before one of them, as padding does before the last.
#[test]
fn a_jpeg_that_lacks_a_piece_between_its_restarts_is_damaged() {
    let whole = with_restarts(8);
    let mut decoder = Decoder::new().expect("sets up");
    let frame = mjpeg(whole.clone());
    let picture = decoder.decode(&frame, 1).expect("decodes");
    assert_eq!((picture.width, picture.height), (64, 128));
    let marks: Vec<usize> = (0..whole.len() - 1)
        .filter(|&at| whole[at] == 0xff && (0xd0..=0xd7).contains(&whole[at + 1]))
        .collect();
    assert_eq!(marks.len(), 7);
    // From the mark behind the third row's code, or from that code's middle, to the middle of the fourth's.
    let to = (marks[2] + marks[3]) / 2;
    for from in [marks[2], (marks[1] + marks[2]) / 2] {
        let lacking = [&whole[..from], &whole[to..]].concat();
        assert!(decoder.decode(&mjpeg(lacking), 1).is_err());
    }
}

#[test]
fn the_header_is_read_as_the_library_reads_it() {
    for (w, h) in [(1, 1), (64, 48), (101, 67)] {
        let header = jpeg_header(&jpeg(w, h, |_, _| [9; 3])).expect("a header");
        assert_eq!(header, JpegHeader { width: w, height: h, components: 3 });
    }
    assert!(jpeg_header(&[0xff, 0xd8, 0xff]).is_err());
    assert!(jpeg_header(&[]).is_err());
}

#[test]
fn one_pixel_is_decoded_and_ten_thousand_squared_refused_before_any_memory_is_taken() {
    let mut decoder = Decoder::new().expect("sets up");
    assert_eq!(
        decoder.decode(&mjpeg(jpeg(1, 1, |_, _| [5; 3])), 8).map(|p| (p.width, p.height)).ok(),
        Some((1, 1))
    );
    let mut huge = jpeg(16, 16, |_, _| [5; 3]);
    let sof = huge.windows(2).position(|m| m == [0xff, 0xc0]).expect("a baseline header");
    huge[sof + 5..sof + 9].copy_from_slice(&[0x27, 0x10, 0x27, 0x10]);
    let e = decoder.decode(&mjpeg(huge), 8).expect_err("must be refused").to_string();
    assert!(e.contains("10000x10000 refused"), "{e}");
    assert!(decoder.rgb.len() < 1000);
}

#[test]
fn a_raw_frame_is_read_in_place_by_its_own_stride() {
    let mut frame = mjpeg((0..30).collect());
    (frame.format, frame.width, frame.height) = (PixelFormat::Rgb24, 3, 2);
    let mut decoder = Decoder::new().expect("sets up");
    for (stride, second_row) in [(0, 9), (9, 9), (12, 12)] {
        frame.stride = stride;
        let picture = decoder.decode(&frame, 8).expect("is long enough");
        assert_eq!((picture.bytes[picture.stride], picture.stride), (second_row, second_row.into()));
        assert_eq!((picture.image_size, picture.image_from_picture), ([3, 2], [1.0; 2]));
    }
    frame.stride = 16;
    assert!(matches!(decoder.decode(&frame, 1), Err(DecodeError::Short { needed: 32, got: 30, .. })));
}

#[test]
fn a_picture_has_a_pixel_at_least_and_8k_at_most() {
    for (size, is_accepted) in [
        ((1, 1), true),
        ((7680, 4320), true),
        ((7681, 4320), false),
        ((0, 5), false),
        ((5, 0), false),
        ((usize::MAX, 2), false),
    ] {
        assert_eq!(check_size(size.0, size.1).is_ok(), is_accepted, "{size:?}");
    }
}

#[test]
fn a_short_raw_frame_is_an_error() {
    for format in [PixelFormat::Yuyv, PixelFormat::Nv12, PixelFormat::Grey, PixelFormat::Rgb24] {
        let mut frame = mjpeg(vec![0; 63]);
        (frame.format, frame.width, frame.height) = (format, 8, 8);
        let mut decoder = Decoder::new().expect("sets up");
        assert!(matches!(decoder.decode(&frame, 1), Err(DecodeError::Short { .. })), "{format:?}");
    }
}
