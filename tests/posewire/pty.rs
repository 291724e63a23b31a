//! A serial cable without hardware: pseudo-terminals.

use std::fs;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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

    /// The terminal as a program gets it.
    pub fn file(&self) -> fs::File {
        fs::OpenOptions::new().read(true).write(true).open(&self.path).unwrap()
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

/// Writes to a terminal or pipe what nobody reads, until it takes no more.
pub fn fill(path: &Path) {
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let mut file = fs::OpenOptions::new().write(true).custom_flags(flags).open(path).unwrap();
    for piece in [1024, 1] {
        while file.write_all(&[b'.'; 1024][..piece]).is_ok() {}
    }
}

/// A port joined to one or more others by a cable of `baud` bits a second in both directions: what the first sends
/// arrives at all others, what they send arrives at the first.
pub struct Cable {
    /// The sender's, then each reader's.
    pub ports: Vec<PathBuf>,
    is_cut: Arc<AtomicBool>,
    readers_heard: Arc<AtomicUsize>,
    pump: Option<std::thread::JoinHandle<()>>,
}

impl Cable {
    pub fn plug(baud: u32) -> Self {
        Self::split(baud, 1)
    }

    /// A cable with `readers` far ends.
    pub fn split(baud: u32, readers: usize) -> Self {
        let mut ends: Vec<Pty> = (0..=readers).map(|_| Pty::open()).collect();
        let ports = ends.iter().map(|end| end.path.clone()).collect();
        let is_cut = Arc::new(AtomicBool::new(false));
        let readers_heard = Arc::new(AtomicUsize::new(0));
        let (cut, heard) = (is_cut.clone(), readers_heard.clone());
        let pump = std::thread::spawn(move || {
            let mut bytes = [0; 512];
            let mut has_spoken = vec![false; ends.len()];
            for end in &mut ends {
                end.hand.set_read_timeout(Duration::from_millis(1)).unwrap();
            }
            while !cut.load(Ordering::Relaxed) {
                for from in 0..ends.len() {
                    let Ok(n) = ends[from].hand.read(&mut bytes) else { continue };
                    // What another end does not take is lost, as on a cable.
                    for to in if from == 0 { 1..ends.len() } else { 0..1 } {
                        let _ = ends[to].hand.write_all(&bytes[..n]);
                    }
                    if from > 0 && !std::mem::replace(&mut has_spoken[from], true) {
                        heard.fetch_add(1, Ordering::Relaxed);
                    }
                    std::thread::sleep(Duration::from_secs_f64(n as f64 * 10.0 / f64::from(baud)));
                }
            }
        });
        Self { ports, is_cut, readers_heard, pump: Some(pump) }
    }

    /// Waits until every reader is there: each asks for HELLO when it opens its port.
    pub fn wait_for_readers(&self, within: Duration) {
        let began = Instant::now();
        while self.readers_heard.load(Ordering::Relaxed) + 1 < self.ports.len() {
            assert!(began.elapsed() < within, "a reader did not open its port");
            std::thread::sleep(Duration::from_millis(5));
        }
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
