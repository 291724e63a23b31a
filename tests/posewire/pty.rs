//! A serial cable without hardware: pseudo-terminals.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
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
