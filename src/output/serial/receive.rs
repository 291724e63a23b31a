//! A port that is read: waits a moment for bytes, and for the device when it is gone.

use std::time::{Duration, Instant};

use super::PortError;
use super::line::Line;
use super::ports::PortSpec;
use crate::reason::Chain;

/// How long [`ReceivePort::receive`] waits: short enough to notice Ctrl-C, long enough to sleep in between.
const WAIT: Duration = Duration::from_millis(20);

/// The consumer's side of a serial port, found again under the same lasting name when it goes away.
pub struct ReceivePort {
    line: Line,
    started: Instant,
    losses: u64,
}

impl ReceivePort {
    /// Opens the port.
    ///
    /// # Errors
    /// [`PortError`]: what is wrong with it and what to do.
    pub fn open(spec: &PortSpec) -> Result<Self, PortError> {
        Ok(Self { line: Line::open(spec, WAIT)?, started: Instant::now(), losses: 0 })
    }

    /// How often the port went away.
    pub fn losses(&self) -> u64 {
        self.losses
    }

    /// What has arrived, waiting some 20 ms for it; 0 where nothing has.
    pub fn receive(&mut self, to: &mut [u8]) -> usize {
        let now_us = self.started.elapsed().as_micros() as i64;
        if !self.line.is_open() {
            if self.line.reopen(now_us) {
                log::info!("{}: there again", self.line.path().display());
            } else {
                std::thread::sleep(WAIT);
            }
            return 0;
        }
        self.line.read(to, now_us).unwrap_or_else(|error| {
            self.losses += 1;
            log::warn!("{}; looking for it again", Chain(&error));
            0
        })
    }

    /// Sends a packet's bytes, or nothing where there is no room now: asking is a courtesy.
    pub fn send(&mut self, bytes: &[u8]) {
        self.line.begin();
        let copied: Result<(), ()> = self.line.extend(|room| {
            room.get_mut(..bytes.len()).ok_or(())?.copy_from_slice(bytes);
            Ok(bytes.len())
        });
        if copied.is_ok() {
            // A port that has gone says so again when it is read.
            let _ = self.line.push(self.started.elapsed().as_micros() as i64);
        }
    }
}
