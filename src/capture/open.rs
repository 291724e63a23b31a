//! From configuration to a source.

use std::path::PathBuf;

use super::{CaptureError, FrameSource, PixelFormat, replay, synthetic::Synthetic};

/// Which source to open, and how.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceConfig {
    /// A camera.
    Camera {
        /// `auto`, or a device: `/dev/video0`, `/dev/v4l/by-id/…`.
        device: String,
        /// Wanted width, pixels; the nearest mode is chosen.
        width: u32,
        /// Wanted height, pixels.
        height: u32,
        /// Wanted frames a second.
        fps: f32,
        /// Only this format; `None` chooses.
        format: Option<PixelFormat>,
        /// Wait for a camera that is missing, busy or not allowed yet, instead of refusing it.
        wait: bool,
    },
    /// A folder of pictures or a video.
    Replay {
        /// Folder or file.
        path: PathBuf,
        /// Every frame, as fast as it is taken, stamped with the file's own times; otherwise in real time, dropping what
        /// comes late, stamped by the clock.
        no_drop: bool,
        /// Instead of the file's own rate.
        fps_override: Option<f32>,
    },
    /// The built-in figures.
    Synthetic {
        /// 1 to [`pose::MAX_PERSONS`].
        persons: usize,
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
        /// Frames a second.
        fps: f32,
        /// The same seed gives the same frames.
        seed: u64,
        /// How many frames; `None` never ends.
        frames: Option<u64>,
        /// As for [`SourceConfig::Replay`].
        no_drop: bool,
    },
}

/// Opens what `config` names. Cameras come back inside [`Reopening`](super::Reopening): they never report
/// [`CaptureError::Lost`] but give no frame until they are there again.
///
/// # Errors
/// [`CaptureError::Unusable`], saying what to do.
pub fn open(config: &SourceConfig) -> Result<Box<dyn FrameSource>, CaptureError> {
    match config {
        SourceConfig::Camera { .. } => open_camera(config),
        SourceConfig::Replay { path, no_drop, fps_override } => replay::open(path, *no_drop, *fps_override),
        SourceConfig::Synthetic { persons, width, height, fps, seed, frames, no_drop } => {
            let clip = Synthetic::new(*persons, *width, *height, *fps, *seed)?.frames(*frames).as_mjpeg()?;
            Ok(super::clip::as_source(clip, *no_drop))
        }
    }
}

#[cfg(all(feature = "v4l", target_os = "linux"))]
fn open_camera(config: &SourceConfig) -> Result<Box<dyn FrameSource>, CaptureError> {
    use super::{Reopening, v4l::V4lCamera};
    let SourceConfig::Camera { device, width, height, fps, format, wait } = config else {
        return Err(no_camera_support());
    };
    let wanted = super::v4l::Wanted {
        device: device.clone(),
        width: *width,
        height: *height,
        fps: *fps,
        format: *format,
    };
    let mut camera = V4lCamera::new(wanted);
    match camera.reopen() {
        Ok(()) => Ok(Box::new(Reopening::new(camera))),
        Err(CaptureError::Lost { reason, .. }) if *wait => Ok(Box::new(Reopening::waiting(camera, reason))),
        Err(CaptureError::Lost { reason, .. }) => Err(CaptureError::Unusable(reason)),
        Err(error) => Err(error),
    }
}

#[cfg(not(all(feature = "v4l", target_os = "linux")))]
fn open_camera(_: &SourceConfig) -> Result<Box<dyn FrameSource>, CaptureError> {
    Err(no_camera_support())
}

fn no_camera_support() -> CaptureError {
    CaptureError::Unusable(
        "this posewire was built without camera support: build it on Linux with --features v4l, or give --replay or --synthetic"
            .into(),
    )
}
