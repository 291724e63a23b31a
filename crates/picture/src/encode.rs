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
