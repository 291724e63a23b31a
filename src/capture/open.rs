//! From configuration to a source.

use std::path::PathBuf;

use super::child::{ChildCamera, csi, programs};
use super::{CaptureError, FrameSource, Reopening, replay, synthetic::Synthetic};
use crate::picture::PixelFormat;

/// Which source to open, and how.
#[derive(Clone, Debug, PartialEq)]
pub enum SourceConfig {
    /// A camera.
    Camera {
        /// `auto`, a device (`/dev/video0`, `/dev/v4l/by-id/…`), or what a program gives: `csi`, `rtsp://…`
        /// ([`child`](super::child)).
        device: String,
        /// Wanted width, pixels; the nearest mode is chosen.
        width: u32,
        /// Wanted height, pixels.
        height: u32,
        /// Wanted frames per second.
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
    },
    /// The built-in figures.
    Synthetic {
        /// 1 to [`MAX_CLIP_PERSONS`](super::synthetic::MAX_CLIP_PERSONS).
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

/// Opens what `config` names. Cameras come back inside [`Reopening`]: they never report
/// [`CaptureError::Lost`] but give no frame until they are there again. One behind a program may be
/// [`CaptureError::Unusable`] until its first frame.
///
/// # Errors
/// [`CaptureError::Unusable`], saying what to do.
pub fn open(config: &SourceConfig) -> Result<Box<dyn FrameSource>, CaptureError> {
    match config {
        SourceConfig::Camera { .. } => open_camera(config),
        SourceConfig::Replay { path, no_drop } => replay::open(path, *no_drop),
        SourceConfig::Synthetic { persons, width, height, fps, seed, frames, no_drop } => {
            let clip = Synthetic::new(*persons, *width, *height, *fps, *seed)?.frames(*frames).as_mjpeg()?;
            Ok(super::clip::as_source(clip, *no_drop))
        }
    }
}

/// What is asked for where only the name matters.
const ANY: programs::Wish = programs::Wish { width: 640, height: 480, fps: 30.0 };

/// Whether a camera may be called so; whether it is there shows when it is opened.
///
/// # Errors
/// What is wrong with the name, and what can be said instead.
pub fn check_name(device: &str) -> Result<(), String> {
    programs::launch(device, ANY).map_or(Ok(()), |launch| launch.map(drop))
}

/// A camera's name for people: an address without name, password and query.
pub fn told_name(device: &str) -> String {
    programs::apart(device).0
}

/// Whether a source is a camera by its name, right or wrong; else it is a file, a folder or a pipe.
pub fn is_camera_name(source: &str) -> bool {
    source == "auto"
        || source.starts_with("/dev/v")
        || source.starts_with(NOKHWA)
        || programs::launch(source, ANY).is_some()
}

fn open_camera(config: &SourceConfig) -> Result<Box<dyn FrameSource>, CaptureError> {
    let SourceConfig::Camera { device, width, height, fps, format, wait } = config else {
        return Err(no_camera_support());
    };
    let (width, height, fps, format, wait) = (*width, *height, *fps, *format, *wait);
    // Who has none but a camera on the board's connector means that one.
    let device = if device == "auto" && !has_camera() && has_csi_camera() { "csi" } else { device };
    let wish = programs::Wish { width, height, fps };
    if let Some(launch) = programs::launch(device, wish) {
        let camera = ChildCamera::new(launch.map_err(|why| CaptureError::Unusable(why.into()))?);
        // What comes of it shows later: nobody who asks it to end is kept waiting here.
        let mut camera = if wait { camera } else { camera.that_must_begin() };
        let started = camera.reopen();
        return opened(camera, started, wait);
    }
    #[cfg(all(feature = "v4l", target_os = "linux"))]
    if !device.starts_with(NOKHWA) {
        let wanted = super::mode::Wanted { device: device.into(), width, height, fps, format };
        let mut camera = super::v4l::V4lCamera::new(wanted);
        let started = camera.reopen();
        if device == "auto" && started.is_err() {
            let camera = super::Auto::new(camera, Box::new(move || csi_camera(wish)));
            return opened(camera, started, wait);
        }
        return opened(camera, started, wait);
    }
    #[cfg(feature = "nokhwa")]
    {
        let device = device.strip_prefix(NOKHWA).unwrap_or(device).into();
        let wanted = super::mode::Wanted { device, width, height, fps, format };
        let mut camera = super::nokhwa::NokhwaCamera::new(wanted);
        let started = camera.reopen();
        opened(camera, started, wait)
    }
    #[cfg(not(feature = "nokhwa"))]
    {
        // Without any kind of camera nothing of it is used.
        let _ = (device, width, height, fps, format, wait, wish);
        Err(no_camera_support())
    }
}

/// A camera that is not there, or busy, is an error, or waited for.
fn opened<C: FrameSource + 'static>(
    camera: C,
    started: Result<(), CaptureError>,
    wait: bool,
) -> Result<Box<dyn FrameSource>, CaptureError> {
    match started {
        Ok(()) => Ok(Box::new(Reopening::new(camera))),
        Err(CaptureError::Lost { reason, .. }) if wait => Ok(Box::new(Reopening::waiting(camera, &reason))),
        Err(CaptureError::Lost { reason, .. }) => Err(CaptureError::Unusable(reason)),
        Err(error) => Err(error),
    }
}

/// How a camera is named that is to be opened through `nokhwa` where there is V4L2 too.
const NOKHWA: &str = "nokhwa:";

fn no_camera_support() -> CaptureError {
    CaptureError::Unusable(
        "this posewire was built without support for this camera: build it with --features v4l (Linux) or nokhwa (macOS, \
         Windows), or give --replay FILE"
            .into(),
    )
}

/// Whether the system shows a camera that could be used, now or once it is free or allowed.
pub fn has_camera() -> bool {
    #[cfg(all(feature = "v4l", target_os = "linux"))]
    return super::v4l::list_cameras().iter().any(|node| node.kind == super::v4l::NodeKind::Camera);
    #[cfg(all(feature = "nokhwa", not(all(feature = "v4l", target_os = "linux"))))]
    return super::nokhwa::list_cameras().is_ok_and(|cameras| !cameras.is_empty());
    #[cfg(not(any(feature = "nokhwa", all(feature = "v4l", target_os = "linux"))))]
    false
}

/// The first camera on the board's own connector, where one is listed by now.
#[cfg(all(feature = "v4l", target_os = "linux"))]
fn csi_camera(wish: programs::Wish) -> Option<Box<dyn FrameSource>> {
    csi::list_cameras().filter(|cameras| !cameras.is_empty())?;
    let launch = programs::launch("csi", wish)?.ok()?;
    Some(Box::new(ChildCamera::new(launch)))
}

/// Whether a camera on the board's own connector is listed. It takes up to a second, and is looked for once: nobody plugs one in
/// while the board runs. A service that starts with the board looks again ([`Auto`](super::Auto)).
pub fn has_csi_camera() -> bool {
    static LISTED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *LISTED.get_or_init(|| csi::list_cameras().is_some_and(|cameras| !cameras.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::is_camera_name;

    #[test]
    fn cameras_are_told_from_files_by_their_names() {
        for camera in [
            "auto",
            "/dev/video0",
            "/dev/v4l/by-id/x",
            "nokhwa:0",
            "csi",
            "csi:1",
            "csi:x",
            "rtsp://host/live",
        ] {
            assert!(is_camera_name(camera), "{camera}");
        }
        for file in ["clip.avi", "pictures", "-", "csi.mp4", "nokhwa", "/dev/stdin", "a/video0"] {
            assert!(!is_camera_name(file), "{file}");
        }
    }
}
