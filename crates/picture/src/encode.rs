//! From frames to JPEGs: what is recorded, and what a browser shows.

use std::sync::Arc;

use turbojpeg::{Compressor, Image, Subsamp};

use super::{DecodeError, Decoder, Frame, PixelFormat, whole_rgb_into};

/// Why a frame could not be made a JPEG.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// The frame itself is damaged.
    #[error(transparent)]
    Frame(#[from] DecodeError),
    /// The JPEG library refuses it.
    #[error("no JPEG can be made of it")]
    Jpeg(#[from] turbojpeg::Error),
}

/// Makes JPEGs of raw frames; what is one already is kept as it came.
pub struct JpegEncoder {
    decoder: Decoder,
    compressor: Compressor,
    rgb: Vec<u8>,
}

impl JpegEncoder {
    /// `quality` is 1 to 100, as everywhere; colour keeps half of its columns.
    ///
    /// # Errors
    /// [`EncodeError`] where the JPEG library cannot be set up.
    pub fn new(quality: i32) -> Result<Self, EncodeError> {
        let mut compressor = Compressor::new()?;
        compressor.set_quality(quality)?;
        compressor.set_subsamp(Subsamp::Sub2x1)?;
        Ok(Self { decoder: Decoder::new()?, compressor, rgb: Vec::new() })
    }

    /// The bytes of `frame` as a JPEG.
    ///
    /// # Errors
    /// [`EncodeError`] where a raw frame is damaged; a JPEG is not looked into.
    pub fn jpeg_of(&mut self, frame: &Frame) -> Result<Arc<Vec<u8>>, EncodeError> {
        if frame.format == PixelFormat::Mjpeg {
            return Ok(frame.bytes.clone());
        }
        let (width, height) = (frame.width as usize, frame.height as usize);
        let picture = self.decoder.decode(frame, 1)?;
        whole_rgb_into(&picture, width, height, &mut self.rgb);
        let image = Image {
            pixels: &self.rgb[..],
            width,
            pitch: 3 * width,
            height,
            format: turbojpeg::PixelFormat::RGB,
        };
        Ok(Arc::new(self.compressor.compress_to_vec(image)?))
    }

    /// `frame` as MJPEG, its number and time kept.
    ///
    /// # Errors
    /// As [`Self::jpeg_of`].
    pub fn mjpeg_of(&mut self, frame: Frame) -> Result<Frame, EncodeError> {
        let bytes = self.jpeg_of(&frame)?;
        Ok(Frame { bytes, format: PixelFormat::Mjpeg, stride: 0, ..frame })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red(format: PixelFormat, stride: u32) -> Frame {
        let bytes = Arc::new([210, 30, 40].repeat(32 * 16));
        Frame { bytes, format, width: 32, height: 16, stride, seq: 7, captured_at_us: 8 }
    }

    #[test]
    fn a_raw_frame_becomes_a_jpeg_of_the_same_picture_with_its_number_and_time() {
        let mut encoder = JpegEncoder::new(90).unwrap();
        let jpeg = encoder.mjpeg_of(red(PixelFormat::Rgb24, 96)).unwrap();
        assert_eq!((jpeg.format, jpeg.stride, jpeg.seq, jpeg.captured_at_us), (PixelFormat::Mjpeg, 0, 7, 8));
        let mut decoder = Decoder::new().unwrap();
        let picture = decoder.decode(&jpeg, 1).unwrap();
        assert_eq!((picture.width, picture.height), (32, 16));
        assert!(std::iter::zip(&picture.bytes[..3], [210, 30, 40]).all(|(a, b)| a.abs_diff(b) < 6));
        let short = Frame { height: 17, ..red(PixelFormat::Rgb24, 96) };
        assert!(matches!(encoder.mjpeg_of(short), Err(EncodeError::Frame(DecodeError::Short { .. }))));
    }

    #[test]
    fn a_jpeg_is_kept_as_it_came_and_quality_is_what_was_asked_for() {
        let whole = red(PixelFormat::Mjpeg, 0);
        let kept = JpegEncoder::new(90).unwrap().mjpeg_of(whole.clone()).unwrap();
        assert!(Arc::ptr_eq(&whole.bytes, &kept.bytes));
        let mut rng = fastrand::Rng::with_seed(1);
        let bytes = Arc::new((0..3 * 32 * 16).map(|_| rng.u8(..)).collect());
        let noise = Frame { bytes, ..red(PixelFormat::Rgb24, 96) };
        let [poor, good] =
            [20, 90].map(|quality| JpegEncoder::new(quality).unwrap().jpeg_of(&noise).unwrap().len());
        assert!(4 * poor < 3 * good, "{poor} {good}");
    }
}
