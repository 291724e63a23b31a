//! A picture as its source gave it.

use std::sync::Arc;

/// How the bytes of a [`Frame`] are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PixelFormat {
    /// One whole JPEG picture.
    Mjpeg,
    /// Packed Y0 U Y1 V, two pixels in four bytes.
    Yuyv,
    /// A plane of Y, then a plane of interleaved U V at half resolution.
    Nv12,
    /// One byte a pixel.
    Grey,
    /// Three bytes a pixel: red, green, blue.
    Rgb24,
}

/// One picture as its source gave it. The buffer goes back to its pool when the last owner lets go of it.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The bytes; for [`PixelFormat::Mjpeg`] exactly the JPEG.
    pub bytes: Arc<Vec<u8>>,
    /// How to read them.
    pub format: PixelFormat,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Bytes from one row to the next (of the first plane); 0 for MJPEG.
    pub stride: u32,
    /// The source's own count, from 0; gaps are frames that never arrived.
    pub seq: u64,
    /// When the frame began, as the driver stamps it: microseconds of the monotonic clock.
    pub captured_at_us: i64,
}
