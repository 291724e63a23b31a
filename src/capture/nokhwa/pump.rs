//! The camera's own thread: waits in the library for each frame and hands the newest one over.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use latest::{Sender, Sent};
use nokhwa::utils::FrameFormat;
use nokhwa::{Buffer, Camera};

use super::{Mode, Shared};
use crate::clock::{Clock, Monotonic};
use crate::picture::{BufferPool, Frame, PixelFormat, packed_stride, raw_len};
use crate::reason::Reason;

/// What the camera's thread owns.
pub(super) struct Pump {
    pub sender: Sender<Result<Frame, Reason>>,
    pub shared: Arc<Shared>,
    pub pool: BufferPool,
    pub next_seq: u64,
    pub reports_to: String,
}

impl Pump {
    pub fn run(mut self, mut camera: Camera, mode: Mode) {
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

/// What we call a format of the library's.
pub(super) fn format_of(theirs: FrameFormat) -> PixelFormat {
    match theirs {
        FrameFormat::MJPEG => PixelFormat::Mjpeg,
        FrameFormat::YUYV => PixelFormat::Yuyv,
        FrameFormat::NV12 => PixelFormat::Nv12,
        FrameFormat::GRAY => PixelFormat::Grey,
        // The other order of bytes is turned round as they are copied.
        FrameFormat::RAWRGB | FrameFormat::RAWBGR => PixelFormat::Rgb24,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
