//! Where frames come from: cameras, files, pipes, the built-in clip, and seeded faults round any of them.
//!
//! Everything behind one trait, [`FrameSource`]; every frame carries the time of its light.

pub mod auto;
pub mod child;
pub mod clip;
pub mod faults;
#[cfg(any(feature = "nokhwa", all(feature = "v4l", target_os = "linux")))]
pub mod mode;
#[cfg(feature = "nokhwa")]
pub mod nokhwa;
pub mod noticed;
pub mod open;
pub mod reopening;
pub mod replay;
pub mod standby;
pub mod stream;
pub mod synthetic;
pub mod turned;
#[cfg(all(feature = "v4l", target_os = "linux"))]
mod usb;
#[cfg(all(feature = "v4l", target_os = "linux"))]
pub mod v4l;

pub use auto::Auto;
pub use child::ChildCamera;
pub use faults::{FaultPlan, Faulty};
pub use noticed::{Noticed, Seen};
pub use open::{SourceConfig, check_name, has_camera, has_csi_camera, is_camera_name, open, told_name};
pub use reopening::Reopening;
pub use standby::Standby;
pub use stream::Stream;
pub use turned::Turned;

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::picture::{Frame, Turn};
use crate::reason::Reason;

/// What a source says of itself, for HELLO and the log.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceInfo {
    /// A name for people: `/dev/video0 (HD Webcam)`, `clip.avi`, `synthetic`.
    pub name: String,
    /// Pixels; 0 until the first frame is seen.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Nominal frames per second.
    pub fps: f32,
    /// A live source drops what is not taken in time; a file waits.
    pub live: bool,
}

/// A picture as its file has it, and how that is turned to stand upright.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Width and height before it is turned, pixels.
    pub size_px: [u32; 2],
    /// What is done to it.
    pub turn: Turn,
}

/// A source of frames. One thread owns it.
pub trait FrameSource: Send {
    /// The source that this one wraps, which answers every question that the wrapper does not answer itself.
    fn inner(&self) -> Option<&dyn FrameSource> {
        None
    }

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
        Err(CaptureError::unusable(self.info().name, "not a device that could be opened again"))
    }

    /// Whether the device is known not to be there: what would otherwise show only by silence.
    fn is_away(&self) -> bool {
        self.inner().is_some_and(|inner| inner.is_away())
    }

    /// Whether no frame is due yet, as in a gap of a recording that is played: nothing is lost.
    fn is_pausing(&self) -> bool {
        self.inner().is_some_and(|inner| inner.is_pausing())
    }

    /// Which USB device frames come from now: `vendor:product`, or `vendor:product:serial` where it has a serial number.
    fn usb_id(&self) -> Option<&str> {
        self.inner()?.usb_id()
    }

    /// How the picture of the last frame is stored, where it was turned upright by what its EXIF says.
    fn stored(&self) -> Option<Stored> {
        self.inner()?.stored()
    }

    /// Another number than before wherever something else may have taken the source's place: what costs too much to be asked at
    /// every frame, such as the name, is to be asked again.
    fn generation(&self) -> u64 {
        self.inner().map_or(0, |inner| inner.generation())
    }

    /// What has happened so far, for telemetry; none of the counts ever falls, whatever takes a source's place.
    fn counters(&self) -> SourceCounters {
        self.inner().map(|inner| inner.counters()).unwrap_or_default()
    }
}

impl FrameSource for Box<dyn FrameSource> {
    fn inner(&self) -> Option<&dyn FrameSource> {
        Some(&**self)
    }
    fn info(&self) -> SourceInfo {
        (**self).info()
    }
    fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError> {
        (**self).next_frame(timeout)
    }
    fn reopen(&mut self) -> Result<(), CaptureError> {
        (**self).reopen()
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

/// Of one source and then of the one that took its place.
impl std::ops::Add for SourceCounters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            gaps: self.gaps + other.gaps,
            overtaken: self.overtaken + other.overtaken,
            damaged: self.damaged + other.damaged,
            lost: self.lost + other.lost,
            injected: self.injected + other.injected,
        }
    }
}

/// `2 overtaken by newer ones, 1 damaged`; empty where nothing happened.
impl std::fmt::Display for SourceCounters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { gaps, overtaken, damaged, lost, injected } = *self;
        let said = [
            (gaps, "never arrived"),
            (overtaken, "overtaken by newer ones"),
            (damaged, "damaged"),
            (lost, "times the source was lost"),
            (injected, "faults injected"),
        ];
        for (i, (count, what)) in said.into_iter().filter(|(count, _)| *count > 0).enumerate() {
            write!(f, "{}{count} {what}", if i > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

/// Why no frame can be had.
#[derive(Debug)]
pub enum CaptureError {
    /// The file or clip is over.
    Ended,
    /// The device went away or stopped; opening it again may help.
    Lost {
        /// Which device.
        device: String,
        /// What the driver said.
        reason: Reason,
    },
    /// Opening it again will not help until a person does something: the text says what.
    Unusable(Reason),
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("the source has ended"),
            Self::Lost { device, reason } => {
                write!(f, "{device}: lost: ")?;
                reason.fmt(f)
            }
            Self::Unusable(reason) => reason.fmt(f),
        }
    }
}

impl Error for CaptureError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Ended => None,
            Self::Lost { reason, .. } | Self::Unusable(reason) => reason.source(),
        }
    }
}

impl CaptureError {
    /// What cannot be used, and why.
    fn unusable(what: impl fmt::Display, reason: impl Into<Reason>) -> Self {
        Self::Unusable(reason.into().within(what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Monotonic;

    /// A source that has an answer of its own to every question.
    struct Outspoken;

    const STORED: Stored = Stored { size_px: [4, 3], turn: Turn { quarters: 1, mirror: true } };
    const COUNTERS: SourceCounters =
        SourceCounters { gaps: 1, overtaken: 2, damaged: 3, lost: 4, injected: 0 };

    impl FrameSource for Outspoken {
        fn info(&self) -> SourceInfo {
            SourceInfo { name: "outspoken".into(), width: 4, height: 3, fps: 30.0, live: true }
        }
        fn next_frame(&mut self, _: Duration) -> Result<Option<Frame>, CaptureError> {
            Ok(None)
        }
        fn is_away(&self) -> bool {
            true
        }
        fn is_pausing(&self) -> bool {
            true
        }
        fn usb_id(&self) -> Option<&str> {
            Some("046d:0825")
        }
        fn stored(&self) -> Option<Stored> {
            Some(STORED)
        }
        fn generation(&self) -> u64 {
            7
        }
        fn counters(&self) -> SourceCounters {
            COUNTERS
        }
    }

    #[test]
    fn every_wrapper_answers_as_the_source_that_it_wraps() {
        let boxed = || Box::new(Outspoken) as Box<dyn FrameSource>;
        let wrappers: [(&str, Box<dyn FrameSource>); 7] = [
            ("a box", Box::new(boxed())),
            ("turned", Box::new(Turned::new(Outspoken, STORED.turn))),
            ("noticed", Box::new(Noticed::new(Outspoken, Box::new(|_| Ok(()))))),
            ("faulty", Box::new(Faulty::new(Outspoken, FaultPlan::default()).expect("live"))),
            ("reopening", Box::new(Reopening::new(Outspoken))),
            ("standby", Box::new(Standby::new(boxed(), Box::new(|| Ok(None)), Box::new(|_| ())))),
            ("auto", Box::new(Auto::with_clock(Outspoken, Box::new(|| None), Monotonic))),
        ];
        for (name, source) in &wrappers {
            assert!(source.is_away() && source.is_pausing(), "{name}");
            assert_eq!((source.usb_id(), source.stored()), (Some("046d:0825"), Some(STORED)), "{name}");
            assert_eq!((source.generation(), source.counters()), (7, COUNTERS), "{name}");
        }
    }
}
