//! Cameras through the system's own interface where there is no V4L2: AVFoundation on macOS, Media Foundation on Windows.
//!
//! The library's calls block until a frame comes and cannot be interrupted, so a thread of its own makes them and hands
//! the newest frame over. Its time stamps are of other clocks; a frame is stamped when it arrives, which is later than
//! its light by the exposure and the transfer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{self as channel, RecvTimeoutError};
use latest::{Received, Receiver, Sender, Sent};
use nokhwa::utils::{
    ApiBackend, CameraFormat, CameraIndex, FrameFormat, RequestedFormat, RequestedFormatType,
};
use nokhwa::{Buffer, Camera};

use super::mode::{self, Mode, Wanted};
use super::{CaptureError, FrameSource, SourceCounters, SourceInfo};
use crate::clock::{Clock, Monotonic};
use crate::picture::{BufferPool, Frame, PixelFormat, packed_stride, raw_len};
use crate::reason::Reason;

/// A camera that gives nothing for so long, and for so many frames of its mode, is lost: as for V4L2.
const STALL: Duration = Duration::from_millis(900);
const STALL_FRAMES: f32 = 3.0;
/// Until the first frame: USB cameras start their sensor first.
const FIRST_FRAME: Duration = Duration::from_secs(3);
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
                let of_mode = Duration::from_secs_f32(STALL_FRAMES / open.mode.fps.max(0.1));
                let patience = if open.started { STALL } else { FIRST_FRAME }.max(of_mode);
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

fn format_of(theirs: FrameFormat) -> PixelFormat {
    match theirs {
        FrameFormat::MJPEG => PixelFormat::Mjpeg,
        FrameFormat::YUYV => PixelFormat::Yuyv,
        FrameFormat::NV12 => PixelFormat::Nv12,
        FrameFormat::GRAY => PixelFormat::Grey,
        // The other order of bytes is turned round as they are copied.
        FrameFormat::RAWRGB | FrameFormat::RAWBGR => PixelFormat::Rgb24,
    }
}

fn mode_of(theirs: &CameraFormat) -> Mode {
    Mode {
        format: format_of(theirs.format()),
        width: theirs.width(),
        height: theirs.height(),
        fps: theirs.frame_rate() as f32,
    }
}

/// What the camera's thread owns.
struct Pump {
    sender: Sender<Result<Frame, Reason>>,
    shared: Arc<Shared>,
    pool: BufferPool,
    next_seq: u64,
    reports_to: String,
}

impl Pump {
    fn run(mut self, mut camera: Camera, mode: Mode) {
        while !self.shared.is_over.load(Ordering::Acquire) {
            let given = camera.frame().map_err(Reason::of);
            let captured_at_us = Monotonic.now_us();
            let failed = given.is_err();
            let value = match given.map(|buffer| self.frame(&buffer, mode, captured_at_us)) {
                Ok(Some(frame)) => Ok(frame),
                Ok(None) => {
                    self.shared.damaged.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                Err(reason) => Err(reason),
            };
            match self.sender.send(value, Duration::ZERO) {
                Sent::Displaced => drop(self.shared.overtaken.fetch_add(1, Ordering::Relaxed)),
                Sent::Closed => break,
                Sent::Delivered | Sent::Timeout(_) => {}
            }
            if failed {
                break;
            }
        }
        if let Err(e) = camera.stop_stream() {
            log::debug!("{}: {e}", self.reports_to);
        }
    }

    /// The buffer as a frame; `None` where it is not a whole picture.
    fn frame(&mut self, buffer: &Buffer, mode: Mode, captured_at_us: i64) -> Option<Frame> {
        let bytes = buffer.buffer();
        let theirs = buffer.source_frame_format();
        let format = format_of(theirs);
        let (width, height) = (buffer.resolution().width(), buffer.resolution().height());
        let stride = packed_stride(format, width as usize);
        let whole = match format {
            PixelFormat::Mjpeg => bytes.starts_with(&[0xff, 0xd8]),
            raw => bytes.len() >= raw_len(raw, stride, height as usize),
        };
        if !whole || format != mode.format {
            return None;
        }
        let filled = self.pool.fill(|to| {
            to.clear();
            to.extend_from_slice(bytes);
            if theirs == FrameFormat::RAWBGR {
                to.chunks_exact_mut(3).for_each(|pixel| pixel.swap(0, 2));
            }
            Ok::<(), std::convert::Infallible>(())
        });
        let bytes = match filled {
            Ok(bytes) => bytes,
            Err(never) => match never {},
        };
        self.next_seq += 1;
        Some(Frame {
            bytes,
            format,
            width,
            height,
            stride: stride as u32,
            seq: self.next_seq - 1,
            captured_at_us,
        })
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

    #[test]
    fn buffers_become_frames_and_partial_ones_none() {
        let (sender, _frames) = latest::newest_wins();
        let mut pump = Pump {
            sender,
            shared: Arc::default(),
            pool: BufferPool::new(),
            next_seq: 7,
            reports_to: String::new(),
        };
        let size = nokhwa::utils::Resolution::new(2, 1);
        let mode = Mode { format: PixelFormat::Rgb24, width: 2, height: 1, fps: 30.0 };
        let bgr = Buffer::new(size, &[1, 2, 3, 4, 5, 6], FrameFormat::RAWBGR);
        let frame = pump.frame(&bgr, mode, 5).expect("whole");
        assert_eq!((&frame.bytes[..], frame.seq, frame.stride), (&[3, 2, 1, 6, 5, 4][..], 7, 6));
        let short = Buffer::new(size, &[1, 2, 3], FrameFormat::RAWRGB);
        assert!(pump.frame(&short, mode, 6).is_none());
        let other = Buffer::new(size, &[0xff, 0xd8, 0], FrameFormat::MJPEG);
        assert!(pump.frame(&other, mode, 6).is_none(), "not in the mode that was set");
    }
}
