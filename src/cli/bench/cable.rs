//! A serial cable without hardware, and a listener that notes when each pose has arrived.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use posewire::clock::{Clock, Monotonic};
use posewire::output::serial::{Heard, Reader};
use posewire::telemetry::{Histogram, Summary};
use serial2::SerialPort;

pub struct Cable {
    port: String,
    heard: Arc<HeardSoFar>,
    listener: Option<JoinHandle<()>>,
    /// Held open: a terminal without anyone on it hangs up.
    _far_end: SerialPort,
}

#[derive(Default)]
struct HeardSoFar {
    /// From the capture time to the moment's last byte.
    latency: Histogram,
    moments: AtomicU64,
    bytes: AtomicU64,
    end: AtomicBool,
}

impl Cable {
    pub fn open(baud: u32) -> io::Result<Self> {
        let (mut near_end, far_end) = SerialPort::pair()?;
        near_end.set_read_timeout(Duration::from_millis(20))?;
        #[cfg(unix)]
        let path = {
            use std::os::fd::AsRawFd;
            std::fs::read_link(format!("/proc/self/fd/{}", far_end.as_raw_fd()))?
        };
        let heard = Arc::new(HeardSoFar::default());
        let to = heard.clone();
        let listener =
            std::thread::Builder::new().name("listener".into()).spawn(move || listen(&near_end, &to))?;
        Ok(Self {
            port: format!("{}@{baud}", path.display()),
            heard,
            listener: Some(listener),
            _far_end: far_end,
        })
    }

    pub fn port(&self) -> &str {
        &self.port
    }

    /// When the first pose arrived; `None` where none does `within` or before the pipeline `ended`.
    pub fn wait_for_pose(&self, within: Duration, ended: &AtomicBool) -> Option<Instant> {
        let began = Instant::now();
        while began.elapsed() < within && !ended.load(Ordering::Acquire) {
            if self.heard.moments.load(Ordering::Acquire) > 0 {
                return Some(Instant::now());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }

    pub fn reset(&self) {
        self.heard.latency.reset();
        self.heard.moments.store(0, Ordering::Release);
        self.heard.bytes.store(0, Ordering::Release);
    }

    pub fn latency(&self) -> Summary {
        self.heard.latency.summary()
    }

    /// Bytes on the wire for each moment, heartbeats included.
    pub fn bytes_per_moment(&self) -> f64 {
        let moments = self.heard.moments.load(Ordering::Acquire).max(1);
        self.heard.bytes.load(Ordering::Acquire) as f64 / moments as f64
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.heard.end.store(true, Ordering::Release);
        if let Some(listener) = self.listener.take() {
            // A panic there has been printed; there is nothing to add while dropping.
            let _ = listener.join();
        }
    }
}

fn listen(near_end: &SerialPort, heard: &HeardSoFar) {
    let mut reader = Reader::default();
    let mut bytes = [0; 4096];
    while !heard.end.load(Ordering::Acquire) {
        let Ok(n) = near_end.read(&mut bytes) else { continue };
        heard.bytes.fetch_add(n as u64, Ordering::AcqRel);
        let fed = reader.feed(&bytes[..n], |what| {
            if let Heard::Moment(moment, _) = what {
                let latency_us = (Monotonic.now_us() - moment.captured_at_us).max(0);
                heard.latency.record(latency_us as u64 * 1_000);
                heard.moments.fetch_add(1, Ordering::AcqRel);
            }
            Ok(())
        });
        if fed.is_err() {
            return;
        }
    }
}
