//! A camera that is open: its mode, and its stream in the driver's hands.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use v4l::buffer::Type;
use v4l::io::mmap::Stream;
use v4l::io::traits::{CaptureStream, Stream as _};
use v4l::video::Capture;
use v4l::video::capture::Parameters;
use v4l::{Device, Format, FourCC, Fraction};

use super::find::Trouble;
use super::{BUFFERS, Mode, SYSFS};
use crate::capture::mode;
use crate::capture::usb::usb_id_of;
use crate::clock::{Clock, Monotonic};
use crate::picture::{PixelFormat, check_size, packed_stride};

pub(super) struct Open {
    /// Always there, but for the moment of closing.
    pub(super) stream: Option<Stream<'static>>,
    pub(super) path: PathBuf,
    /// What the driver calls it.
    pub(super) card: String,
    /// Where it hangs on USB.
    pub(super) usb_id: Option<String>,
    pub(super) mode: Mode,
    pub(super) stride: u32,
    pub(super) driver_seq: Option<u32>,
    /// When the last whole frame came (or the stream was started), on the monotonic clock.
    pub(super) alive_us: i64,
    /// The same of the last one that was handed on.
    pub(super) given_us: i64,
    pub(super) started: bool,
}

impl Open {
    /// Of a format that the user named no other takes the place.
    pub(super) fn start(
        device: &Device,
        path: PathBuf,
        card: String,
        wanted: Mode,
        is_named: bool,
    ) -> Result<Self, Trouble> {
        let fail = |e: io::Error| Trouble::of(&path, e);
        let listed: Vec<_> =
            device.enum_formats().unwrap_or_default().iter().map(|f| f.fourcc.repr).collect();
        let fourcc = FourCC::new(&mode::listed_as(wanted.format, &listed));
        let set = device.set_format(&Format::new(wanted.width, wanted.height, fourcc)).map_err(fail)?;
        let got = mode::from_fourcc(&set.fourcc.repr).filter(|got| !is_named || *got == wanted.format);
        let Some(format) = got.filter(|_| check_size(set.width as usize, set.height as usize).is_ok()) else {
            return Err(Trouble::lasting(format!(
                "{}: asked for {wanted}, the driver set {}x{} {}",
                path.display(),
                set.width,
                set.height,
                set.fourcc
            )));
        };
        // Frame rates are best effort: not every driver has them.
        let interval = Fraction::new(1000, (wanted.fps * 1000.0).round().max(1.0) as u32);
        let rate = device.set_params(&Parameters::new(interval)).ok().map(|p| p.interval);
        let fps = rate
            .filter(|r| r.numerator > 0)
            .map_or(wanted.fps, |r| r.denominator as f32 / r.numerator as f32);
        let mode = Mode { format, width: set.width, height: set.height, fps };
        let stride = if format == PixelFormat::Mjpeg {
            0
        } else {
            set.stride.max(packed_stride(format, set.width as usize) as u32)
        };
        let mut stream = Stream::with_buffers(device, Type::VideoCapture, BUFFERS).map_err(fail)?;
        // Only so that no wait is endless: `next` is called when `poll` has said that a frame is there.
        stream.set_timeout(Duration::from_millis(100));
        // The crate's `next` gives back the buffer held before and takes a new one; it begins with holding buffer 0.
        let queued = (1..BUFFERS as usize).try_for_each(|i| match CaptureStream::queue(&mut stream, i) {
            // The driver may have given fewer than asked for.
            Err(e) if i >= 2 && e.raw_os_error() == Some(libc::EINVAL) => Ok(()),
            other => other,
        });
        if let Err(e) = queued.and_then(|()| stream.start()) {
            close(stream);
            return Err(fail(e));
        }
        let (stream, alive_us) = (Some(stream), Monotonic.now_us());
        let usb_id = usb_id_of(&path, Path::new(SYSFS));
        let (given_us, driver_seq, started) = (alive_us, None, false);
        Ok(Self { stream, path, card, usb_id, mode, stride, driver_seq, alive_us, given_us, started })
    }

    /// Has the driver something (a frame or an error) within `timeout`?
    pub(super) fn ready(&self, timeout: Duration) -> io::Result<bool> {
        let Some(stream) = &self.stream else { return Ok(false) };
        // Rounded up: 0 would spin.
        let ms = timeout.as_micros().div_ceil(1000).min(60_000) as i32;
        match stream.handle().poll(libc::POLLIN, ms) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(false),
            other => other.map(|n| n > 0),
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take() {
            close(stream);
        }
    }
}

/// Drops a stream; the crate panics where the driver refuses to stop, which a vanishing device may do.
fn close(stream: Stream<'static>) {
    let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(stream)));
    if dropped.is_err() {
        log::warn!(
            "the camera's driver refused to stop streaming; its memory is given back when the device closes"
        );
    }
}
