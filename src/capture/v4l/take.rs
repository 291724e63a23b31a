//! From a buffer of the driver's to a frame: whole or damaged, the newest or not, and when its light fell.

use std::io;

use v4l::buffer::Flags;
use v4l::io::traits::CaptureStream;

use super::known::{Known, Node};
use super::stamp::{Came, captured_at_us, error_us, starts_exposure};
use super::{Mode, V4lCamera, every_node, sysfs};
use crate::clock::{Clock, Monotonic};
use crate::picture::{Frame, PixelFormat, raw_len};

/// What one look at the driver gave.
pub(super) enum Taken {
    Frame(Frame),
    /// Damaged, or overtaken by a newer one: look again at once.
    Skipped,
}

impl V4lCamera {
    /// Takes what the driver has; call when [`Open::ready`].
    pub(super) fn take(&mut self, last_look: bool) -> io::Result<Taken> {
        let Some(open) = &mut self.open else { return Err(io::ErrorKind::NotConnected.into()) };
        let Some(stream) = &mut open.stream else { return Err(io::ErrorKind::NotConnected.into()) };
        let handle = stream.handle();
        let (bytes, meta) = CaptureStream::next(stream)?;
        let now_us = Monotonic.now_us();
        let bytes = &bytes[..(meta.bytesused as usize).min(bytes.len())];
        let Mode { format, width, height, .. } = open.mode;
        // Buffers that uvcvideo gives back with the error flag have neither number nor time.
        let whole = match format {
            PixelFormat::Mjpeg => bytes.starts_with(&[0xff, 0xd8]),
            raw => bytes.len() >= raw_len(raw, open.stride as usize, height as usize),
        };
        if meta.flags.contains(Flags::ERROR) || !whole {
            self.counters.damaged += 1;
            return Ok(Taken::Skipped);
        }
        // Not before: a camera that sends nothing but damaged frames is as lost as a silent one, and reopening may cure it.
        open.alive_us = now_us;
        self.frame_at_us = now_us;
        let step = open.driver_seq.map_or(1, |before| meta.sequence.wrapping_sub(before));
        // A driver that starts over, or repeats a number, lost nothing that could be counted.
        let step = if (1..1000).contains(&step) { step } else { 1 };
        open.driver_seq = Some(meta.sequence);
        if !std::mem::replace(&mut open.started, true) {
            // Only now: a node that can be opened may still be none that ever sends.
            let node = Node::of(&open.path, sysfs());
            self.known = Some(Known::new(open.card.clone(), node, &every_node()));
            if !starts_exposure(meta.flags) {
                let path = open.path.display();
                log::info!(
                    "{path}: the driver stamps the end of a frame; its light is taken to be a frame older"
                );
            }
        }
        self.counters.gaps += u64::from(step) - 1;
        self.next_seq += u64::from(step);
        if !last_look && handle.poll(libc::POLLIN, 0).is_ok_and(|n| n > 0) {
            self.counters.overtaken += 1;
            return Ok(Taken::Skipped);
        }
        let interval_us = open.mode.interval_us();
        #[allow(clippy::useless_conversion, reason = "32-bit platforms count in i32")]
        let stamp_us = i64::from(meta.timestamp.sec) * 1_000_000 + i64::from(meta.timestamp.usec);
        let after_us = std::mem::replace(&mut open.given_us, now_us);
        let came = Came { at_us: now_us, after_us, interval_us };
        if let Some(error_us) = error_us(meta.flags, stamp_us, came)
            && !std::mem::replace(&mut self.is_error_told, true)
        {
            let (path, error_s) = (open.path.display(), error_us as f64 / 1e6);
            log::warn!(
                "{path}: a time stamp of the driver's is {error_s:+.3} s off: such frames are taken to be a frame old when they come"
            );
        }
        Ok(Taken::Frame(Frame {
            bytes: self.pool.copy(bytes),
            format,
            width,
            height,
            stride: open.stride,
            seq: self.next_seq - 1,
            captured_at_us: captured_at_us(meta.flags, stamp_us, came),
        }))
    }
}
