//! Cameras through the system's own interface where there is no V4L2: AVFoundation on macOS, Media Foundation on Windows.
//!
//! The library's calls block until a frame comes and cannot be interrupted, so a thread of its own makes them and hands
//! the newest frame over. Its time stamps are of other clocks; a frame is stamped when it arrives, which is later than
//! its light by the exposure and the transfer.

mod pump;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{self as channel, RecvTimeoutError};
use latest::{Received, Receiver};
use nokhwa::Camera;
use nokhwa::utils::{
    ApiBackend, CameraFormat, CameraIndex, FrameFormat, RequestedFormat, RequestedFormatType,
};

use self::pump::{Pump, format_of};
use super::mode::{self, Mode, Wanted};
use super::{CaptureError, FrameSource, SourceCounters, SourceInfo};
use crate::picture::{BufferPool, Frame};
use crate::reason::Reason;

/// Opening: macOS asks the user for permission meanwhile.
const OPENING: Duration = Duration::from_secs(30);

/// The cameras that the system names, by number and name.
///
/// # Errors
/// Why it cannot say, and what to do.
pub fn list_cameras() -> Result<Vec<(String, String)>, String> {
    let found = nokhwa::query(ApiBackend::Auto).map_err(|e| format!("cameras cannot be listed: {e}"))?;
    Ok(found.iter().map(|c| (c.index().as_string(), c.human_name())).collect())
}

/// A camera, closed at first. Then and after [`CaptureError::Lost`] call [`reopen`](FrameSource::reopen); [`Reopening`](super::Reopening) does.
pub struct NokhwaCamera {
    wanted: Wanted,
    open: Option<Open>,
    /// The thread of a camera that was closed and may still wait for a last frame.
    closed: Option<JoinHandle<()>>,
    name: String,
    next_seq: u64,
    counters: SourceCounters,
}

struct Open {
    mode: Mode,
    frames: Receiver<Result<Frame, Reason>>,
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
    alive: Instant,
    started: bool,
}

/// What the thread and the source tell each other beside frames.
#[derive(Default)]
struct Shared {
    is_over: AtomicBool,
    overtaken: AtomicU64,
    damaged: AtomicU64,
}

/// Why a camera cannot be started.
#[derive(Debug)]
enum Trouble {
    /// Plugging in, waiting or a permission may cure it.
    Passing(Reason),
    /// It needs another camera or another configuration.
    Lasting(Reason),
}

impl NokhwaCamera {
    /// A camera that is not open yet.
    pub fn new(wanted: Wanted) -> Self {
        Self {
            name: format!("camera {}", wanted.device),
            wanted,
            open: None,
            closed: None,
            next_seq: 0,
            counters: SourceCounters::default(),
        }
    }

    fn start(&mut self) -> Result<(), Trouble> {
        if self.closed.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return Err(Trouble::Passing(format!("{}: its driver still holds it", self.name).into()));
        }
        let (sender, frames) = latest::newest_wins();
        let (tell, opened) = channel::bounded(1);
        let shared = Arc::new(Shared::default());
        let pump = Pump {
            sender,
            shared: shared.clone(),
            pool: BufferPool::new(),
            next_seq: self.next_seq,
            reports_to: self.name.clone(),
        };
        let wanted = self.wanted.clone();
        let thread = std::thread::Builder::new()
            .name("camera".into())
            .spawn(move || match open(&wanted) {
                Ok((camera, mode, name)) => {
                    let _ = tell.send(Ok((mode, name)));
                    pump.run(camera, mode);
                }
                Err(reason) => drop(tell.send(Err(reason))),
            })
            .map_err(|e| Trouble::Passing(Reason::new("no thread for the camera", e)))?;
        let (mode, name) = match opened.recv_timeout(OPENING) {
            Ok(result) => result?,
            Err(RecvTimeoutError::Timeout) => {
                self.closed = Some(thread);
                let why = format!(
                    "{}: does not open within {} s; may this program use the camera (the system's privacy settings)?",
                    self.name,
                    OPENING.as_secs()
                );
                return Err(Trouble::Passing(why.into()));
            }
            // The library panicked; its message is in the log.
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Trouble::Lasting(format!("{}: could not be opened", self.name).into()));
            }
        };
        log::info!("{name}: {mode}");
        self.name = name;
        self.open = Some(Open { mode, frames, shared, thread, alive: Instant::now(), started: false });
        Ok(())
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        open.shared.is_over.store(true, Ordering::Release);
        self.counters.overtaken += open.shared.overtaken.load(Ordering::Relaxed);
        self.counters.damaged += open.shared.damaged.load(Ordering::Relaxed);
        self.closed = Some(open.thread);
    }

    fn lose(&mut self, reason: impl Into<Reason>) -> CaptureError {
        self.close();
        CaptureError::Lost { device: self.name.clone(), reason: reason.into() }
    }
}

impl Drop for NokhwaCamera {
    fn drop(&mut self) {
        self.close();
    }
}

impl FrameSource for NokhwaCamera {
    fn info(&self) -> SourceInfo {
        let (width, height, fps) =
            self.open.as_ref().map_or((0, 0, self.wanted.fps), |o| (o.mode.width, o.mode.height, o.mode.fps));
        SourceInfo { name: self.name.clone(), width, height, fps, live: true }
    }

    fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError> {
        let Some(open) = &mut self.open else { return Err(self.lose("closed")) };
        match open.frames.recv_timeout(timeout) {
            Received::Value(Ok(frame)) => {
                (open.alive, open.started) = (Instant::now(), true);
                self.next_seq = frame.seq + 1;
                Ok(Some(frame))
            }
            Received::Value(Err(reason)) => Err(self.lose(reason)),
            Received::Closed => Err(self.lose("its driver stopped")),
            Received::Timeout => {
                let patience = Duration::from_micros(open.mode.patience_us(open.started) as u64);
                if open.alive.elapsed() < patience {
                    return Ok(None);
                }
                Err(self.lose(format!("no frame for {:.1} s", patience.as_secs_f64())))
            }
        }
    }

    fn reopen(&mut self) -> Result<(), CaptureError> {
        self.close();
        self.start().map_err(|trouble| match trouble {
            Trouble::Lasting(why) if self.next_seq == 0 => CaptureError::Unusable(why),
            // A camera that has worked with this configuration will do so again.
            Trouble::Passing(reason) | Trouble::Lasting(reason) => {
                CaptureError::Lost { device: self.name.clone(), reason }
            }
        })
    }

    fn counters(&self) -> SourceCounters {
        let now = |of: fn(&Shared) -> &AtomicU64| {
            self.open.as_ref().map_or(0, |o| of(&o.shared).load(Ordering::Relaxed))
        };
        SourceCounters {
            overtaken: self.counters.overtaken + now(|s| &s.overtaken),
            damaged: self.counters.damaged + now(|s| &s.damaged),
            ..self.counters
        }
    }
}

/// Finds the camera that is wanted, in the mode that [`mode::choose`] names, and starts it.
fn open(wanted: &Wanted) -> Result<(Camera, Mode, String), Trouble> {
    let cameras = list_cameras().map_err(|why| Trouble::Passing(why.into()))?;
    let (index, name) = find(&wanted.device, &cameras).map_err(|why| Trouble::Passing(why.into()))?;
    let any = [
        FrameFormat::MJPEG,
        FrameFormat::YUYV,
        FrameFormat::NV12,
        FrameFormat::GRAY,
        FrameFormat::RAWRGB,
        FrameFormat::RAWBGR,
    ];
    let fail = |e: nokhwa::NokhwaError| {
        let words = format!("{name}: cannot be used; is it plugged in, free, and may this program use it?");
        Trouble::Passing(Reason::new(words, e))
    };
    let request = RequestedFormat::with_formats(RequestedFormatType::None, &any);
    let mut camera = Camera::new(index, request).map_err(fail)?;
    let theirs = camera.compatible_camera_formats().map_err(fail)?;
    let modes: Vec<Mode> = theirs.iter().map(mode_of).collect();
    let Wanted { width, height, fps, format, .. } = *wanted;
    let Some(mode) = mode::choose(&modes, width, height, fps, format) else {
        let theirs: Vec<_> = modes.iter().map(Mode::to_string).collect();
        let told = format!("{name}: no mode in the format asked for; it has: {}", theirs.join("; "));
        return Err(Trouble::Lasting(told.into()));
    };
    let exact = theirs.into_iter().find(|f| mode_of(f) == mode).unwrap_or_default();
    camera
        .set_camera_requset(RequestedFormat::with_formats(RequestedFormatType::Exact(exact), &any))
        .map_err(fail)?;
    camera.open_stream().map_err(fail)?;
    Ok((camera, mode, name))
}

/// A camera's number has no more digits; more are a part of a name, as in C310.
const NUMBER_DIGITS: usize = 2;

/// The camera that is meant: by its number, or else by a part of its name. One whose number is not there is waited for.
fn find(device: &str, cameras: &[(String, String)]) -> Result<(CameraIndex, String), String> {
    let known = || {
        let all: Vec<_> = cameras.iter().map(|(index, name)| format!("{index} ({name})")).collect();
        if all.is_empty() {
            "no camera is plugged in".into()
        } else {
            format!("there are: {}", all.join(", "))
        }
    };
    let by_number = |(index, _): &&(String, String)| device == "auto" || device == index;
    let is_number = device.len() <= NUMBER_DIGITS && device.bytes().all(|byte| byte.is_ascii_digit());
    let by_name = |(_, name): &&(String, String)| !is_number && name.contains(device);
    let (index, name) = cameras
        .iter()
        .find(by_number)
        .or_else(|| cameras.iter().find(by_name))
        .ok_or_else(|| format!("camera {device}: there is no such camera; {}", known()))?;
    let number = index.parse().map_or_else(|_| CameraIndex::String(index.clone()), CameraIndex::Index);
    Ok((number, name.clone()))
}

fn mode_of(theirs: &CameraFormat) -> Mode {
    Mode {
        format: format_of(theirs.format()),
        width: theirs.width(),
        height: theirs.height(),
        fps: theirs.frame_rate() as f32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_camera_that_is_not_there_is_refused_with_what_there_is() {
        let wanted =
            Wanted { device: "no such camera".into(), width: 640, height: 480, fps: 30.0, format: None };
        match NokhwaCamera::new(wanted).reopen() {
            Err(CaptureError::Lost { reason: why, .. }) => {
                let why = why.to_string();
                assert!(why.contains("no such camera") || why.contains("cannot be listed"), "{why}");
            }
            other => panic!("what may be plugged in is waited for: {other:?}"),
        }
    }

    #[test]
    fn a_number_is_a_number_before_it_is_a_part_of_a_name() {
        let cameras = [("0", "Logitech C310"), ("1", "FaceTime HD")]
            .map(|(index, name)| (index.to_owned(), name.to_owned()));
        let name = |device: &str| find(device, &cameras).map(|(_, name)| name);
        assert_eq!(name("1").as_deref(), Ok("FaceTime HD"));
        assert_eq!(name("310").as_deref(), Ok("Logitech C310"));
        assert_eq!(name("auto").as_deref(), Ok("Logitech C310"));
        assert!(name("2").is_err_and(|why| why.contains("1 (FaceTime HD)")));
        let missing = find("1", &cameras[..1]);
        assert!(missing.is_err_and(|why| why.contains("0 (Logitech C310)")), "its name has that digit");
    }
}
