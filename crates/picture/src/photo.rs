//! Photos: whole picture files of any common kind, as they are meant to be seen.
//!
//! Upright (EXIF), on white where they are transparent, the first picture of an animation, in RGB of 8 bits whatever
//! the file has. Pixels and coordinates are those of the upright picture.

use std::io::Cursor;

use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageReader, Limits, RgbImage};

use super::decode::{MAX_SCANS_DECODED, jpeg_header_of_any_size, whole_though_padded};
use super::jpeg::{Jpeg, JpegError};
use super::{DecodeError, JpegHeader, MAX_PIXELS, Picture, PixelFormat, Turn, check_size};

/// The largest JPEG that is accepted, in pixels: what the largest telephones give. Past [`MAX_PIXELS`] it is read at a half
/// or a quarter of its size.
pub const MAX_PHOTO_PIXELS: usize = 256_000_000;

/// What a progressive JPEG may take: all its coefficients are kept until its last scan.
const MAX_PROGRESSIVE_MB: u32 = 512;

/// Why a photo cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum PhotoError {
    /// There are no bytes.
    #[error("empty file")]
    Empty,
    /// Another kind of file.
    #[error("not a picture that can be read: JPEG, PNG, WebP, GIF and BMP can")]
    Kind,
    /// A JPEG of more than [`MAX_PHOTO_PIXELS`], another picture of more than [`MAX_PIXELS`], or one without pixels.
    #[error(
        "picture of {width}x{height} refused: up to {} megapixels are accepted as JPEG, {} as anything else",
        MAX_PHOTO_PIXELS / 1_000_000, MAX_PIXELS / 1_000_000
    )]
    Size {
        /// Pixels.
        width: usize,
        /// Pixels.
        height: usize,
    },
    /// A JPEG that is cut short or broken.
    #[error("damaged or cut short: {0}")]
    Jpeg(JpegError),
    /// A picture of another kind that is cut short or broken.
    #[error("damaged or cut short")]
    Damaged(#[source] image::ImageError),
}

/// A photo's pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Photo {
    rgb: RgbImage,
    size: [usize; 2],
    reduction: u32,
    is_jpeg: bool,
}

/// Whether a file that begins so is of a kind that [`Photo`] reads.
pub fn is_photo(head: &[u8]) -> bool {
    image::guess_format(head).is_ok_and(|format| format.reading_enabled())
}

impl Photo {
    /// Reads a whole picture file.
    ///
    /// # Errors
    /// [`PhotoError`]; no memory was taken for what is too large.
    pub fn read(bytes: &[u8]) -> Result<Self, PhotoError> {
        if bytes.is_empty() {
            return Err(PhotoError::Empty);
        }
        let reader = || ImageReader::new(Cursor::new(bytes)).with_guessed_format();
        let format = reader().ok().and_then(|r| r.format()).filter(|f| f.reading_enabled());
        let Some(format) = format else { return Err(PhotoError::Kind) };
        let is_jpeg = format == image::ImageFormat::Jpeg;
        if is_jpeg {
            let header = jpeg_header_of_any_size(bytes).map_err(|_| PhotoError::Jpeg(JpegError::NoHeader))?;
            // CMYK is left to the other decoder.
            if header.components != 4 {
                return Self::read_jpeg(bytes, header);
            }
        }
        let mut reader = reader().map_err(|e| PhotoError::Damaged(e.into()))?;
        // The largest picture accepted, as 16-bit RGBA.
        let mut limits = Limits::default();
        limits.max_alloc = Some(8 * MAX_PIXELS as u64);
        reader.limits(limits);
        let mut decoder = reader.into_decoder().map_err(PhotoError::Damaged)?;
        let (width, height) = decoder.dimensions();
        within(check_size(width as usize, height as usize))?;
        let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
        let image = DynamicImage::from_decoder(decoder).map_err(PhotoError::Damaged)?;
        let rgb = if image.color().has_alpha() { on_white(image) } else { image.into_rgb8() };
        Ok(Self::upright(rgb, orientation, [width as usize, height as usize], 1, is_jpeg))
    }

    fn read_jpeg(bytes: &[u8], header: JpegHeader) -> Result<Self, PhotoError> {
        let JpegHeader { width, height, .. } = header;
        let pixels = width * height;
        if pixels == 0 || pixels > MAX_PHOTO_PIXELS {
            return Err(PhotoError::Size { width, height });
        }
        let reduction = [1, 2, 4, 8].into_iter().find(|r| pixels / (r * r) <= MAX_PIXELS).unwrap_or(8);
        let mut jpeg = Jpeg::of_photos(MAX_SCANS_DECODED, MAX_PROGRESSIVE_MB).map_err(PhotoError::Jpeg)?;
        let picture = jpeg.picture(bytes).map_err(PhotoError::Jpeg)?;
        if picture.size != [width, height] {
            return Err(PhotoError::Jpeg(JpegError::TwoSizes));
        }
        let [w, h] = picture.size_at(reduction);
        let mut rgb = RgbImage::new(w as u32, h as u32);
        picture
            .decode_into(reduction, None, &mut rgb)
            .or_else(whole_though_padded)
            .map_err(PhotoError::Jpeg)?;
        Ok(Self::upright(rgb, orientation(bytes), [width, height], reduction as u32, true))
    }

    fn upright(
        rgb: RgbImage,
        orientation: Orientation,
        [width, height]: [usize; 2],
        reduction: u32,
        is_jpeg: bool,
    ) -> Self {
        use Orientation::{Rotate90, Rotate90FlipH, Rotate270, Rotate270FlipH};
        let lies = matches!(orientation, Rotate90 | Rotate90FlipH | Rotate270 | Rotate270FlipH);
        let mut image = DynamicImage::ImageRgb8(rgb);
        image.apply_orientation(orientation);
        let size = if lies { [height, width] } else { [width, height] };
        Self { rgb: image.into_rgb8(), size, reduction, is_jpeg }
    }

    /// Width and height of the upright photo; every coordinate is in these pixels.
    pub fn size(&self) -> [usize; 2] {
        self.size
    }

    /// Whether the file is a JPEG.
    pub fn is_jpeg(&self) -> bool {
        self.is_jpeg
    }

    /// What networks and displays look at.
    pub fn picture(&self) -> Picture<'_> {
        let (width, height) = (self.rgb.width() as usize, self.rgb.height() as usize);
        Picture {
            bytes: &self.rgb,
            format: PixelFormat::Rgb24,
            width,
            height,
            stride: 3 * width,
            image_size: self.size,
            image_from_picture: [self.reduction as f32; 2],
        }
    }
}

fn within(checked: Result<(), DecodeError>) -> Result<(), PhotoError> {
    match checked {
        Err(DecodeError::Size { width, height }) => Err(PhotoError::Size { width, height }),
        _ => Ok(()),
    }
}

/// How a picture file's stored pixels are turned to stand upright, as its EXIF says.
pub fn exif_turn(bytes: &[u8]) -> Turn {
    turn_of(orientation(bytes))
}

fn turn_of(orientation: Orientation) -> Turn {
    let (quarters, mirror) = match orientation {
        Orientation::NoTransforms => (0, false),
        Orientation::Rotate90 => (1, false),
        Orientation::Rotate180 => (2, false),
        Orientation::Rotate270 => (3, false),
        Orientation::FlipHorizontal => (0, true),
        Orientation::Rotate90FlipH => (1, true),
        Orientation::FlipVertical => (2, true),
        Orientation::Rotate270FlipH => (3, true),
    };
    Turn { quarters, mirror }
}

/// As the camera was held; what says nothing, or nonsense, is upright.
fn orientation(bytes: &[u8]) -> Orientation {
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format();
    let decoder = reader.ok().and_then(|reader| reader.into_decoder().ok());
    decoder.and_then(|mut decoder| decoder.orientation().ok()).unwrap_or(Orientation::NoTransforms)
}

/// What is transparent shows white, as in a browser.
fn on_white(image: DynamicImage) -> RgbImage {
    let rgba = image.into_rgba8();
    RgbImage::from_fn(rgba.width(), rgba.height(), |x, y| {
        let [r, g, b, alpha] = rgba.get_pixel(x, y).0.map(u32::from);
        image::Rgb([r, g, b].map(|c| ((c * alpha + 255 * (255 - alpha) + 127) / 255) as u8))
    })
}

#[cfg(test)]
mod tests {
    use image::{ExtendedColorType, ImageEncoder, ImageFormat};

    use super::*;
    use crate::{Frame, Turner};

    /// 40×20, its left half red, its right half blue.
    fn two_halves() -> RgbImage {
        RgbImage::from_fn(40, 20, |x, _| image::Rgb(if x < 20 { [220, 10, 10] } else { [10, 10, 220] }))
    }

    fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).expect("encodes");
        bytes.into_inner()
    }

    /// A JPEG whose EXIF says that the camera was held so.
    fn jpeg_held(orientation: u8) -> Vec<u8> {
        let tiff =
            [&b"II*\0\x08\0\0\0"[..], &[1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0], &[0; 4]]
                .concat();
        let mut bytes = Vec::new();
        let mut encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, 95);
        encoder.set_exif_metadata(tiff).expect("takes EXIF");
        let rgb = two_halves();
        encoder.write_image(&rgb, 40, 20, ExtendedColorType::Rgb8).expect("encodes");
        bytes
    }

    fn at(photo: &Photo, x: u32, y: u32) -> [u8; 3] {
        photo.rgb.get_pixel(x, y).0
    }

    fn is_red(photo: &Photo, x: u32, y: u32) -> bool {
        let [r, g, b] = at(photo, x, y);
        r > 180 && g < 60 && b < 60
    }

    #[test]
    fn photos_stand_upright_however_the_camera_was_held() {
        // Where the stored picture's left half ends up, by EXIF's own numbers.
        for (orientation, size, red, blue) in [
            (1, [40, 20], (5, 10), (35, 10)),
            (2, [40, 20], (35, 10), (5, 10)),
            (3, [40, 20], (35, 10), (5, 10)),
            (4, [40, 20], (5, 10), (35, 10)),
            (5, [20, 40], (10, 5), (10, 35)),
            (6, [20, 40], (10, 5), (10, 35)),
            (7, [20, 40], (10, 35), (10, 5)),
            (8, [20, 40], (10, 35), (10, 5)),
            (0, [40, 20], (5, 10), (35, 10)),
            (99, [40, 20], (5, 10), (35, 10)),
        ] {
            let photo = Photo::read(&jpeg_held(orientation)).expect("reads");
            assert_eq!(photo.size(), size, "orientation {orientation}");
            assert!(is_red(&photo, red.0, red.1), "orientation {orientation}");
            assert!(!is_red(&photo, blue.0, blue.1), "orientation {orientation}");
            assert_eq!(photo.picture().image_size, size);
        }
    }

    #[test]
    fn frames_are_turned_as_photos_are() {
        let pixels: Vec<u8> = (0..18).collect();
        let frame = Frame {
            bytes: std::sync::Arc::new(pixels.clone()),
            format: PixelFormat::Rgb24,
            width: 3,
            height: 2,
            stride: 9,
            seq: 0,
            captured_at_us: 0,
        };
        for held in 1..=8 {
            let mut image = DynamicImage::ImageRgb8(RgbImage::from_raw(3, 2, pixels.clone()).unwrap());
            image.apply_orientation(Orientation::from_exif(held).unwrap());
            let turned = Turner::new(exif_turn(&jpeg_held(held))).turn(&frame).unwrap();
            assert_eq!((turned.width, turned.height), (image.width(), image.height()), "{held}");
            assert_eq!(turned.bytes[..], image.as_bytes()[..], "{held}");
        }
        assert!(exif_turn(&jpeg_held(99)).is_none() && exif_turn(b"").is_none());
    }

    #[test]
    fn every_common_kind_is_read() {
        let rgb = DynamicImage::ImageRgb8(two_halves());
        let kinds = [
            ("JPEG", encoded(&rgb, ImageFormat::Jpeg)),
            ("PNG", encoded(&rgb, ImageFormat::Png)),
            ("PNG of 16 bits", encoded(&DynamicImage::ImageRgb16(rgb.to_rgb16()), ImageFormat::Png)),
            ("PNG with alpha", encoded(&DynamicImage::ImageRgba8(rgb.to_rgba8()), ImageFormat::Png)),
            ("WebP", encoded(&rgb, ImageFormat::WebP)),
            ("GIF", encoded(&rgb, ImageFormat::Gif)),
            ("BMP", encoded(&rgb, ImageFormat::Bmp)),
        ];
        for (kind, bytes) in kinds {
            assert!(is_photo(&bytes[..16]), "{kind}");
            let photo = Photo::read(&bytes).unwrap_or_else(|e| panic!("{kind}: {e}"));
            assert_eq!((photo.size(), photo.is_jpeg()), ([40, 20], kind == "JPEG"), "{kind}");
            assert!(is_red(&photo, 5, 10) && !is_red(&photo, 35, 10), "{kind}: {:?}", at(&photo, 5, 10));
        }
        let grey = encoded(&DynamicImage::ImageLuma16(rgb.to_luma16()), ImageFormat::Png);
        let [r, g, b] = at(&Photo::read(&grey).expect("reads"), 5, 10);
        assert!(r == g && g == b && r > 0);
    }

    #[test]
    fn what_is_transparent_is_white() {
        let clear = image::RgbaImage::from_pixel(3, 3, image::Rgba([0, 0, 0, 0]));
        let photo = Photo::read(&encoded(&DynamicImage::ImageRgba8(clear), ImageFormat::Png)).expect("reads");
        assert_eq!(at(&photo, 1, 1), [255; 3]);
        let half = image::RgbaImage::from_pixel(3, 3, image::Rgba([0, 100, 255, 51]));
        let photo = Photo::read(&encoded(&DynamicImage::ImageRgba8(half), ImageFormat::Png)).expect("reads");
        assert_eq!(at(&photo, 1, 1), [204, 224, 255], "a fifth of the colour");
    }

    #[test]
    fn of_an_animation_the_first_picture_is_shown() {
        let mut bytes = Vec::new();
        {
            let mut encoder = image::codecs::gif::GifEncoder::new(&mut bytes);
            for colour in [[250, 0, 0, 255], [0, 250, 0, 255]] {
                let frame = image::RgbaImage::from_pixel(8, 8, image::Rgba(colour));
                encoder.encode_frame(image::Frame::new(frame)).expect("encodes");
            }
        }
        assert_eq!(at(&Photo::read(&bytes).expect("reads"), 4, 4), [250, 0, 0]);
    }

    #[test]
    fn what_cannot_be_read_is_said_and_takes_no_memory() {
        let png = encoded(&DynamicImage::ImageRgb8(two_halves()), ImageFormat::Png);
        let jpeg = jpeg_held(1);
        let mut huge_png = png.clone();
        huge_png[16..24].copy_from_slice(&[0, 1, 0, 0, 0, 1, 0, 0]);
        // Its header has a sum.
        let crc = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&huge_png[12..29]);
        huge_png[29..33].copy_from_slice(&crc.to_be_bytes());
        let mut huge_jpeg = jpeg.clone();
        let sof = huge_jpeg.windows(2).position(|m| m == [0xff, 0xc0]).expect("a baseline header");
        huge_jpeg[sof + 5..sof + 9].copy_from_slice(&[0xff, 0xff, 0xff, 0xff]);
        let cases: [(&[u8], &str); 7] = [
            (b"", "empty file"),
            (b"This is no picture.\n", "not a picture that can be read: JPEG, PNG"),
            (&jpeg[..jpeg.len() / 2], "damaged or cut short"),
            (&jpeg[..20], "damaged or cut short"),
            (&png[..png.len() - 30], "damaged or cut short"),
            (&huge_png, "picture of 65536x65536 refused: up to 256 megapixels are accepted as JPEG, 33 as"),
            (&huge_jpeg, "picture of 65535x65535 refused"),
        ];
        for (bytes, expected) in cases {
            let said = Photo::read(bytes).map(|p| p.size()).expect_err(expected).to_string();
            assert!(said.contains(expected), "{expected}: {said}");
        }
        assert_eq!(
            Photo::read(&encoded(&RgbImage::new(1, 1).into(), ImageFormat::Png)).map(|p| p.size()).ok(),
            Some([1, 1])
        );
    }
}
