//! From a [`Frame`] to pixels that can be sampled: MJPEG is decoded (at 1/2, 1/4 or 1/8 where that is enough), every
//! other format is read in place.

use std::ops::Range;

use super::jpeg::{Jpeg, JpegError, Window};
use super::marks::marks;
use super::{Frame, PixelFormat};

/// The largest picture that is accepted, in pixels: 8K UHD, the largest that any camera or video here gives. Past it a
/// file of a few kilobytes could ask for gigabytes.
pub const MAX_PIXELS: usize = 7680 * 4320;

/// A progressive JPEG may name its scans endlessly; real ones have about ten.
pub(super) const MAX_SCANS_DECODED: u32 = 100;

/// Pixels that can be sampled, borrowed from a [`Decoder`] or from the frame itself.
#[derive(Clone, Copy, Debug)]
pub struct Picture<'a> {
    /// Rows of `stride` bytes in `format`.
    pub bytes: &'a [u8],
    /// Any but [`PixelFormat::Mjpeg`].
    pub format: PixelFormat,
    /// Pixels of this picture, at most those of the image.
    pub width: usize,
    /// Pixels of this picture.
    pub height: usize,
    /// Bytes from one row to the next (of the first plane).
    pub stride: usize,
    /// Pixels of the source image that this picture shows, width and height; every coordinate that leaves Posewire is
    /// in these.
    pub image_size: [usize; 2],
    /// Pixels of the image for one of the picture, in x and in y: 1 unless decoded at reduced scale.
    pub image_from_picture: [f32; 2],
}

/// Why a frame cannot be looked at. The frame is skipped and counted; the source goes on.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The buffer is shorter than its format and size ask for.
    #[error("{format:?} frame of {width}x{height} has {got} bytes, {needed} needed")]
    Short {
        /// As the frame says.
        format: PixelFormat,
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
        /// Bytes.
        got: usize,
        /// Bytes.
        needed: usize,
    },
    /// More than [`MAX_PIXELS`], or none.
    #[error("picture of {width}x{height} refused: between 1 and {MAX_PIXELS} pixels (8K) are accepted")]
    Size {
        /// Pixels.
        width: usize,
        /// Pixels.
        height: usize,
    },
    /// Not a JPEG, or a damaged one.
    #[error("JPEG of {bytes} bytes: {reason}")]
    Jpeg {
        /// Length of the JPEG.
        bytes: usize,
        /// What is wrong with it.
        reason: JpegError,
    },
}

/// Columns and rows of an image that somebody will look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Pixels of the source image; may reach beyond it.
    pub columns: Range<usize>,
    /// Pixels of the source image; may reach beyond it.
    pub rows: Range<usize>,
}

/// Decodes frames into one reused buffer.
#[derive(Debug)]
pub struct Decoder {
    jpeg: Jpeg,
    rgb: Vec<u8>,
}

impl Decoder {
    /// A decoder with nothing in it.
    ///
    /// # Errors
    /// [`DecodeError::Jpeg`] where the JPEG library cannot be set up (out of memory).
    pub fn new() -> Result<Self, DecodeError> {
        let jpeg = Jpeg::new(MAX_SCANS_DECODED).map_err(|reason| DecodeError::Jpeg { bytes: 0, reason })?;
        Ok(Self { jpeg, rgb: Vec::new() })
    }

    /// The pixels of `frame`; MJPEG at 1/`max_reduction` of its size or the next larger of 1, 1/2, 1/4, 1/8.
    ///
    /// `max_reduction` says how many image pixels one sample of the consumer spans: a network that shows a 480-pixel
    /// person on 192 rows asks for 2 (down to 240 rows), for 1 when the person fills 200.
    ///
    /// # Errors
    /// [`DecodeError`]; the decoder can be used again.
    pub fn decode<'a>(
        &'a mut self,
        frame: &'a Frame,
        max_reduction: u32,
    ) -> Result<Picture<'a>, DecodeError> {
        self.decode_part(frame, max_reduction, None)
    }

    /// As [`decode`](Self::decode), but the pixels outside `part` may be those of an earlier picture, and damage there
    /// may go unseen: reading a JPEG ends where nothing more of it is needed. `None` is the whole picture.
    ///
    /// Whoever samples between pixels names a part that holds the neighbours too.
    ///
    /// # Errors
    /// [`DecodeError`]; the decoder can be used again.
    pub fn decode_part<'a>(
        &'a mut self,
        frame: &'a Frame,
        max_reduction: u32,
        part: Option<&Part>,
    ) -> Result<Picture<'a>, DecodeError> {
        if frame.format != PixelFormat::Mjpeg {
            return raw_picture(frame);
        }
        let decoded = self.decode_jpeg(&frame.bytes, max_reduction, part);
        let Decoded { width, height, reduction, w, h } = match decoded {
            Ok(decoded) => decoded,
            Err(e) => {
                if let Ok(fresh) = Jpeg::new(MAX_SCANS_DECODED) {
                    self.jpeg = fresh;
                }
                return Err(e);
            }
        };
        let stride = 3 * w;
        Ok(Picture {
            bytes: &self.rgb[..stride * h],
            format: PixelFormat::Rgb24,
            width: w,
            height: h,
            stride,
            image_size: [width, height],
            // Not width / w: the DCT scales by exactly this and pads the last block.
            image_from_picture: [reduction as f32; 2],
        })
    }

    /// Fills `self.rgb`.
    fn decode_jpeg(
        &mut self,
        bytes: &[u8],
        max_reduction: u32,
        part: Option<&Part>,
    ) -> Result<Decoded, DecodeError> {
        let fail = |reason: JpegError| DecodeError::Jpeg { bytes: bytes.len(), reason };
        let picture = self.jpeg.picture(bytes).map_err(fail)?;
        let [width, height] = picture.size;
        check_size(width, height)?;
        let reduction = match max_reduction {
            8.. => 8,
            4.. => 4,
            2.. => 2,
            _ => 1,
        };
        let [w, h] = picture.size_at(reduction);
        let len = 3 * w * h;
        if self.rgb.len() < len {
            self.rgb.resize(len, 0);
        }
        let window = part.map(|part| Window::around(part, reduction, w, h));
        picture
            .decode_into(reduction, window, &mut self.rgb[..len])
            .or_else(whole_though_padded)
            .map_err(fail)?;
        Ok(Decoded { width, height, reduction, w, h })
    }
}

/// Many webcams pad before the end marker; the picture is whole. Bytes before any other marker, such as one to restart at, are what
/// remains of a lost piece.
pub(super) fn whole_though_padded(reason: JpegError) -> Result<(), JpegError> {
    let is_padding = matches!(&reason, JpegError::Refused(text)
        if text.contains("extraneous bytes before marker") && text.trim_end().ends_with("0xd9"));
    if is_padding { Ok(()) } else { Err(reason) }
}

/// Sizes of the image and of the reduced picture in the decoder's buffer.
struct Decoded {
    width: usize,
    height: usize,
    reduction: usize,
    w: usize,
    h: usize,
}

/// What a JPEG's frame header states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JpegHeader {
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
    /// 1 grey, 3 colour, 4 CMYK.
    pub components: u8,
}

/// Reads a JPEG's frame header, without a decoder and whatever state one would be in; the size is checked against
/// [`MAX_PIXELS`].
///
/// # Errors
/// [`DecodeError`] where there is none, or its picture is empty or too large.
pub fn jpeg_header(bytes: &[u8]) -> Result<JpegHeader, DecodeError> {
    let header = jpeg_header_of_any_size(bytes)?;
    check_size(header.width, header.height)?;
    Ok(header)
}

/// As [`jpeg_header`], for whoever has a limit of their own.
pub(super) fn jpeg_header_of_any_size(bytes: &[u8]) -> Result<JpegHeader, DecodeError> {
    let fail = || DecodeError::Jpeg { bytes: bytes.len(), reason: JpegError::NoHeader };
    for (kind, behind) in marks(bytes) {
        match kind {
            0xc4 | 0xc8 | 0xcc | 0xdb..=0xfe => {} // tables, a reserve, and what others write
            // Every start of frame.
            0xc0..=0xcf => {
                let f = bytes.get(behind..).and_then(|b| b.first_chunk::<6>()).ok_or_else(fail)?;
                let two = |i: usize| usize::from(u16::from_be_bytes([f[i], f[i + 1]]));
                return Ok(JpegHeader { width: two(3), height: two(1), components: f[5] });
            }
            _ => break,
        }
    }
    Err(fail())
}

/// Refuses what is empty or larger than [`MAX_PIXELS`].
///
/// # Errors
/// [`DecodeError::Size`].
pub fn check_size(width: usize, height: usize) -> Result<(), DecodeError> {
    match width.checked_mul(height) {
        Some(1..=MAX_PIXELS) => Ok(()),
        _ => Err(DecodeError::Size { width, height }),
    }
}

/// Bytes that a picture of `format` takes; 0 for MJPEG, whose length only the JPEG knows.
pub fn raw_len(format: PixelFormat, stride: usize, height: usize) -> usize {
    match format {
        PixelFormat::Mjpeg => 0,
        PixelFormat::Nv12 => stride * (height + height.div_ceil(2)),
        PixelFormat::Yuyv | PixelFormat::Grey | PixelFormat::Rgb24 => stride * height,
    }
}

/// Bytes of one row (of the first plane) without padding; 0 for MJPEG.
pub fn packed_stride(format: PixelFormat, width: usize) -> usize {
    match format {
        PixelFormat::Mjpeg => 0,
        PixelFormat::Yuyv => 4 * width.div_ceil(2),
        // The chroma row holds whole pairs.
        PixelFormat::Nv12 => width.next_multiple_of(2),
        PixelFormat::Grey => width,
        PixelFormat::Rgb24 => 3 * width,
    }
}

/// A raw frame in place; one that is too short for its size is refused.
pub(super) fn raw_picture(frame: &Frame) -> Result<Picture<'_>, DecodeError> {
    let (width, height) = (frame.width as usize, frame.height as usize);
    check_size(width, height)?;
    let stride = (frame.stride as usize).max(packed_stride(frame.format, width));
    let needed = raw_len(frame.format, stride, height);
    if frame.bytes.len() < needed {
        return Err(DecodeError::Short {
            format: frame.format,
            width: frame.width,
            height: frame.height,
            got: frame.bytes.len(),
            needed,
        });
    }
    Ok(Picture {
        bytes: &frame.bytes[..needed],
        format: frame.format,
        width,
        height,
        stride,
        image_size: [width, height],
        image_from_picture: [1.0; 2],
    })
}

#[cfg(test)]
mod tests;
