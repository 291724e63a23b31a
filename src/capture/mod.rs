//! Where frames come from: cameras, files, the built-in figure, and seeded faults round any of them.
//!
//! Everything behind one trait, [`FrameSource`]; every frame carries the time of its light.

pub mod clip;
pub mod decode;
pub mod faults;
mod jpeg;
#[cfg(any(feature = "nokhwa", all(feature = "v4l", target_os = "linux")))]
pub mod mode;
#[cfg(feature = "nokhwa")]
pub mod nokhwa;
pub mod open;
pub mod pixel;
pub mod pool;
pub mod reopening;
pub mod replay;
mod resize;
pub mod synthetic;
#[cfg(all(feature = "v4l", target_os = "linux"))]
pub mod v4l;

pub use decode::{DecodeError, Decoder, MAX_PIXELS, Part, Picture};
pub use faults::{FaultPlan, Faulty};
pub use open::{SourceConfig, open};
pub use pixel::{Affine, PixelsMut, crop_resize_into, whole_rgb_into};
pub use reopening::Reopening;

use std::sync::Arc;
use std::time::Duration;

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
    /// Start of exposure where the driver tells, microseconds of the monotonic clock.
    pub captured_at_us: i64,
}

/// What a source says of itself, for HELLO and the log.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceInfo {
    /// A name for people: `/dev/video0 (HD Webcam)`, `clip.avi`, `synthetic`.
    pub name: String,
    /// Pixels; 0 until the first frame is seen.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Nominal frames a second.
    pub fps: f32,
    /// A live source drops what is not taken in time; a file waits.
    pub live: bool,
}

/// A source of frames. One thread owns it.
pub trait FrameSource: Send {
    /// What is known of the source now.
    fn info(&self) -> SourceInfo;

    /// The next frame; for a live source the newest one there is.
    ///
    /// `Ok(None)` after `timeout` without a frame: the caller decides what to do.
    ///
    /// # Errors
    /// [`CaptureError::Ended`] at the end of a file; anything else says what went wrong and whether opening again may help.
    fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError>;

    /// Closes the device wholly and opens it again, after [`CaptureError::Lost`]. Frame numbers go on rising.
    ///
    /// # Errors
    /// [`CaptureError::Lost`] where trying again may help; [`CaptureError::Unusable`] where it will not, which is
    /// every source that is not a device.
    fn reopen(&mut self) -> Result<(), CaptureError> {
        Err(CaptureError::Unusable(format!("{}: not a device that could be opened again", self.info().name)))
    }

    /// Whether the device is known not to be there: what would otherwise show only by silence.
    fn is_away(&self) -> bool {
        false
    }

    /// What has happened so far, for telemetry.
    fn counters(&self) -> SourceCounters {
        SourceCounters::default()
    }
}

impl<S: FrameSource + ?Sized> FrameSource for Box<S> {
    fn info(&self) -> SourceInfo {
        (**self).info()
    }
    fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError> {
        (**self).next_frame(timeout)
    }
    fn reopen(&mut self) -> Result<(), CaptureError> {
        (**self).reopen()
    }
    fn is_away(&self) -> bool {
        (**self).is_away()
    }
    fn counters(&self) -> SourceCounters {
        (**self).counters()
    }
}

/// Frames that did not arrive, by reason, since the source was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceCounters {
    /// The source's own numbering jumped: the driver, the cable or the file lost them.
    pub gaps: u64,
    /// A newer frame was there before this one was asked for.
    pub overtaken: u64,
    /// Arrived damaged (driver's error flag, unreadable picture) and were left out.
    pub damaged: u64,
    /// Times the device was lost.
    pub lost: u64,
    /// Faults that were injected on purpose.
    pub injected: u64,
}

/// Why no frame can be had.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file or clip is over.
    #[error("the source has ended")]
    Ended,
    /// The device went away or stopped; opening it again may help.
    #[error("{device}: lost: {reason}")]
    Lost {
        /// Which device.
        device: String,
        /// What the driver said.
        reason: String,
    },
    /// Opening it again will not help until a person does something: the text says what.
    #[error("{0}")]
    Unusable(String),
}
