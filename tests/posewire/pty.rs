//! A serial cable without hardware: pseudo-terminals.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serial2::SerialPort;

/// One end is a port under a path, the other is in the test's hand.
pub struct Pty {
    pub hand: SerialPort,
    /// Held open, as a terminal without anyone on it hangs up.
    _port: SerialPort,
    pub path: PathBuf,
}

impl Pty {
    pub fn open() -> Self {
        let (mut hand, port) = SerialPort::pair().expect("a pseudo-terminal");
        hand.set_read_timeout(Duration::from_millis(2)).unwrap();
        hand.set_write_timeout(Duration::from_millis(200)).unwrap();
        let path = fs::read_link(format!("/proc/self/fd/{}", port.as_raw_fd())).unwrap();
        Self { hand, _port: port, path }
    }

    /// What has arrived by now.
    pub fn read_now(&self) -> Vec<u8> {
        self.read_until_quiet_for(Duration::ZERO)
    }

    /// What arrives until nothing has for a while.
    pub fn read(&self) -> Vec<u8> {
        self.read_until_quiet_for(Duration::from_millis(100))
    }

    fn read_until_quiet_for(&self, quiet: Duration) -> Vec<u8> {
        let (mut all, mut bytes) = (Vec::new(), [0; 4096]);
        let mut heard_at = Instant::now();
        loop {
            match self.hand.read(&mut bytes) {
                Ok(n) => {
                    all.extend_from_slice(&bytes[..n]);
                    heard_at = Instant::now();
                }
                Err(_) if heard_at.elapsed() >= quiet => return all,
                Err(_) => {}
            }
        }
    }
}

/// Two ports joined by a cable of `baud` bits a second in both directions.
pub struct Cable {
    pub ports: [PathBuf; 2],
    is_cut: Arc<AtomicBool>,
    pump: Option<std::thread::JoinHandle<()>>,
}

impl Cable {
    pub fn plug(baud: u32) -> Self {
        let ends = [Pty::open(), Pty::open()];
        let ports = [ends[0].path.clone(), ends[1].path.clone()];
        let is_cut = Arc::new(AtomicBool::new(false));
        let cut = is_cut.clone();
        let pump = std::thread::spawn(move || {
            let mut bytes = [0; 512];
            let mut ends = ends;
            for end in &mut ends {
                end.hand.set_read_timeout(Duration::from_millis(1)).unwrap();
            }
            while !cut.load(Ordering::Relaxed) {
                for (from, to) in [(0, 1), (1, 0)] {
                    if let Ok(n) = ends[from].hand.read(&mut bytes) {
                        // What the other end does not take is lost, as on a cable.
                        let _ = ends[to].hand.write_all(&bytes[..n]);
                        std::thread::sleep(Duration::from_secs_f64(n as f64 * 10.0 / f64::from(baud)));
                    }
                }
            }
        });
        Self { ports, is_cut, pump: Some(pump) }
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.is_cut.store(true, Ordering::Relaxed);
        if let Some(pump) = self.pump.take() {
            let _ = pump.join();
        }
    }
}
