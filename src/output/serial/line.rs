//! One serial port that comes and goes, and the one batch of bytes on its way into it.

use std::io;
use std::mem::{Discriminant, discriminant};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pose::MAX_PERSONS;
use pose_wire::MAX_PACKET;
use serial2::{FlowControl, SerialPort, Settings};

use super::PortError;
use super::lasting::{again, lasting_name, product_of};
use super::ports::PortSpec;
use crate::reason::Chain;

/// Everything that one moment can put on the wire: HELLO, STATUS, every person and their place, and what happened.
const BATCH_BYTES: usize = (2 * MAX_PERSONS + 2 + super::notices::A_BATCH) * MAX_PACKET;
/// How long one attempt may wait for room in the driver's buffer. Room for a whole batch comes at the line's own
/// speed or, with a reader that stopped, not at all; either way the caller looks at newer poses meanwhile.
const WRITE_TIMEOUT: Duration = Duration::from_millis(20);
/// How much older than the newest moment a batch may get behind bytes that the driver still holds.
const LINE_SLACK_US: i64 = 5_000;
/// First wait before a lost port is looked for: udev needs about this long to make its links.
const REOPEN_FIRST_US: i64 = 250_000;
/// Longest such wait: somebody who has plugged the cable in again is watching.
const REOPEN_LONGEST_US: i64 = 2_000_000;
/// A driver may round the rate; a UART follows up to about 5 % off, of which both ends have half.
const RATE_TOLERANCE: f64 = 0.025;

/// The port, open or looked for.
pub(super) struct Line {
    /// The name under which it is looked for again: the lasting one from its first opening on.
    path: PathBuf,
    /// As the user gave it.
    asked: PortSpec,
    /// Vendor and product of what was opened first, on USB.
    product: Option<String>,
    read_wait: Duration,
    port: Option<SerialPort>,
    /// Why it is not open: the kinds of reasons that the log has.
    told: Vec<Discriminant<PortError>>,
    reopen_at_us: i64,
    reopen_wait_us: i64,
    batch: Box<[u8; BATCH_BYTES]>,
    batch_len: usize,
    sent_len: usize,
    /// When the line will have carried everything that the driver has taken.
    free_at_us: i64,
}

/// What became of the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The driver has all of it.
    Done,
    /// The driver is full: the rest follows.
    Stuck,
}

/// When the line takes a new batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Now,
    /// When it has carried what the driver holds.
    At {
        us: i64,
    },
    /// The driver is full, or the port gone.
    Unknown,
}

impl Line {
    /// Opens the port; [`Self::read`] will wait `read_wait` for bytes.
    ///
    /// # Errors
    /// [`PortError`]: what is wrong with it and what to do.
    pub fn open(spec: &PortSpec, read_wait: Duration) -> Result<Self, PortError> {
        let mut line = Self::closed(spec, read_wait);
        line.port = Some(open_port(&line.path, spec, read_wait)?);
        line.product = product_of(&line.path);
        Ok(line)
    }

    /// A port that is looked for, as it could not be opened; the log has `why`.
    pub fn waited_for(spec: &PortSpec, read_wait: Duration, why: &PortError) -> Self {
        let mut line = Self::closed(spec, read_wait);
        line.told.push(discriminant(why));
        line
    }

    fn closed(spec: &PortSpec, read_wait: Duration) -> Self {
        Self {
            path: lasting_name(&spec.path),
            asked: spec.clone(),
            product: None,
            read_wait,
            port: None,
            told: Vec::new(),
            reopen_at_us: 0,
            reopen_wait_us: REOPEN_FIRST_US,
            batch: Box::new([0; BATCH_BYTES]),
            batch_len: 0,
            sent_len: 0,
            free_at_us: i64::MIN,
        }
    }

    /// The name under which the port is looked for.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn is_open(&self) -> bool {
        self.port.is_some()
    }

    /// When a new batch would go onto the wire at once: nothing of the last one is left here, and next to nothing in the
    /// driver.
    pub fn room(&self, now_us: i64) -> Room {
        let at_us = self.free_at_us.saturating_sub(LINE_SLACK_US);
        match self.batch_len == self.sent_len && self.is_open() {
            true if at_us <= now_us => Room::Now,
            true => Room::At { us: at_us },
            false => Room::Unknown,
        }
    }

    /// Begins a batch, forgetting what is left of the last one; [`Self::extend`] adds each packet.
    pub fn begin(&mut self) {
        (self.batch_len, self.sent_len) = (0, 0);
    }

    /// Appends what `write` puts into the room it is given and says the length of; nothing where it fails.
    pub fn extend<E>(&mut self, write: impl FnOnce(&mut [u8]) -> Result<usize, E>) -> Result<(), E> {
        self.batch_len += write(&mut self.batch[self.batch_len..])?;
        Ok(())
    }

    /// Gives the driver as much of the batch as it takes within some 20 ms.
    ///
    /// # Errors
    /// [`PortError::Lost`]: it is closed and looked for from now on.
    pub fn push(&mut self, now_us: i64) -> Result<Progress, PortError> {
        let Some(port) = &self.port else { return Ok(Progress::Stuck) };
        while self.sent_len < self.batch_len {
            match port.write(&self.batch[self.sent_len..self.batch_len]) {
                Ok(0) => {
                    let told = io::Error::new(io::ErrorKind::WriteZero, "it takes no bytes");
                    return Err(self.lose(now_us, told));
                }
                Ok(n) => {
                    self.sent_len += n;
                    let carry_us = n as i64 * 10 * 1_000_000 / i64::from(self.asked.baud);
                    self.free_at_us = self.free_at_us.max(now_us) + carry_us;
                }
                Err(e) if is_full(&e) => return Ok(Progress::Stuck),
                Err(e) => return Err(self.lose(now_us, e)),
            }
        }
        Ok(Progress::Done)
    }

    /// Reads what the other end has sent; 0 where nothing.
    ///
    /// # Errors
    /// [`PortError::Lost`]: it is closed and looked for from now on.
    pub fn read(&mut self, to: &mut [u8], now_us: i64) -> Result<usize, PortError> {
        let Some(port) = &self.port else { return Ok(0) };
        match port.read(to) {
            // A terminal that is there gives "nothing yet"; end of file means that it was hung up.
            Ok(0) => Err(self.lose(now_us, io::Error::new(io::ErrorKind::UnexpectedEof, "hung up"))),
            Ok(n) => Ok(n),
            Err(e) if is_full(&e) => Ok(0),
            Err(e) => Err(self.lose(now_us, e)),
        }
    }

    /// Looks for a lost port when it is time to; says whether it was found. Why not goes to the log, each kind of reason once.
    pub fn reopen(&mut self, now_us: i64) -> bool {
        if self.port.is_some() || now_us < self.reopen_at_us {
            return false;
        }
        let place = again(&self.path, &self.asked.path, self.product.as_deref());
        match place.and_then(|path| Ok((path, open_port(path, &self.asked, self.read_wait)?))) {
            Ok((path, port)) => {
                self.port = Some(port);
                self.product = self.product.take().or_else(|| product_of(path));
                // One that was not there at the start had no other name yet.
                self.path = lasting_name(path);
                self.reopen_wait_us = REOPEN_FIRST_US;
                self.free_at_us = now_us;
                self.begin();
                true
            }
            Err(why) => {
                self.reopen_at_us = now_us + self.reopen_wait_us;
                self.reopen_wait_us = (2 * self.reopen_wait_us).min(REOPEN_LONGEST_US);
                if self.is_news(&why) {
                    log::warn!("{}; still looking for it", Chain(&why));
                }
                false
            }
        }
    }

    fn is_news(&mut self, why: &PortError) -> bool {
        let is_news = !self.told.contains(&discriminant(why));
        if is_news {
            self.told.push(discriminant(why));
        }
        is_news
    }

    /// Closes without waiting for a reader that stopped: the kernel would wait 30 s for it.
    pub fn close(&mut self) {
        if let Some(port) = self.port.take() {
            if self.sent_len < self.batch_len {
                let _ = port.discard_output_buffer();
            }
            if self.asked.rtscts {
                end_flow_control(&port);
            }
            unlock(&port);
            let _ = port.close();
        }
    }

    fn lose(&mut self, now_us: i64, source: io::Error) -> PortError {
        self.close();
        self.begin();
        self.reopen_at_us = now_us + REOPEN_FIRST_US;
        // That a lost port is not there is no news.
        let missing = PortError::Missing { path: PathBuf::new(), there_are: Vec::new() };
        self.told = vec![discriminant(&missing)];
        PortError::Lost { path: self.path.clone(), source }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.close();
    }
}

/// No room, or no bytes, as yet.
fn is_full(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Opens `path` raw, 8N1, as `asked`: reads wait `read_wait`, writes [`WRITE_TIMEOUT`].
fn open_port(path: &Path, asked: &PortSpec, read_wait: Duration) -> Result<SerialPort, PortError> {
    let baud = asked.baud;
    let raw = |mut settings: Settings| {
        settings.set_raw();
        if asked.rtscts {
            settings.set_flow_control(FlowControl::RtsCts);
        }
        settings.set_baud_rate(baud)?;
        Ok(settings)
    };
    let mut port = SerialPort::open(path, raw).map_err(|e| PortError::of_opening(path.into(), baud, e))?;
    lock(&port, path)?;
    let real = port.get_configuration().and_then(|c| c.get_baud_rate()).unwrap_or(baud);
    check_rate(path, baud, real)?;
    // Neither call can fail on Unix; elsewhere the library's own timeout of 3 s would stay.
    let timeouts = port.set_read_timeout(read_wait).and_then(|()| port.set_write_timeout(WRITE_TIMEOUT));
    timeouts.map_err(|source| PortError::Timeouts { path: path.into(), source })?;
    Ok(port)
}

/// Keeps everybody else off the line: two senders would interleave on it, two readers take each other's bytes. The lock is
/// what other programs for serial ports respect and what root cannot pass; the mark of exclusive use stops those that ask
/// for nothing. Both end with the last handle, however this program ends.
#[cfg(unix)]
fn lock(port: &SerialPort, path: &Path) -> Result<(), PortError> {
    match rustix::fs::flock(port, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => return Err(PortError::InUse { path: path.into() }),
        // A file system without locks, or a driver without the mark: a line that works is worth more.
        Err(e) => log::debug!("{}: cannot be locked: {e}", path.display()),
    }
    if let Err(e) = rustix::termios::ioctl_tiocexcl(port) {
        log::debug!("{}: cannot be marked as in use: {e}", path.display());
    }
    Ok(())
}

/// A pseudo-terminal keeps the mark as long as its other end is open.
#[cfg(unix)]
fn unlock(port: &SerialPort) {
    // One that is gone takes its mark along.
    let _ = rustix::termios::ioctl_tiocnxcl(port);
}

/// Lets go what the driver holds for an other end that has stopped the line: the kernel would wait 30 s for it.
#[cfg(unix)]
fn end_flow_control(port: &SerialPort) {
    use rustix::termios::{ControlModes, OptionalActions, tcgetattr, tcsetattr};
    // One that is gone holds nothing.
    let _ = tcgetattr(port).and_then(|mut settings| {
        settings.control_modes.remove(ControlModes::CRTSCTS);
        // At once: serial2 would wait first.
        tcsetattr(port, OptionalActions::Now, &settings)
    });
}

/// Windows opens every port for one program alone.
#[cfg(not(unix))]
fn lock(_: &SerialPort, _: &Path) -> Result<(), PortError> {
    Ok(())
}

#[cfg(not(unix))]
fn unlock(_: &SerialPort) {}

#[cfg(not(unix))]
fn end_flow_control(_: &SerialPort) {}

/// Whether the rate that the hardware really runs at is near enough to the one asked for.
fn check_rate(path: &Path, asked: u32, real: u32) -> Result<(), PortError> {
    if (f64::from(real) / f64::from(asked) - 1.0).abs() <= RATE_TOLERANCE {
        return Ok(());
    }
    Err(PortError::OtherRate { path: path.into(), asked, nearest: real })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_why_a_port_is_away_is_told_once_a_loss() {
        let [missing, denied, in_use] = [libc::ENOENT, libc::EACCES, libc::EBUSY].map(|code| {
            PortError::of_opening("/dev/ttyS9".into(), 9_600, io::Error::from_raw_os_error(code))
        });
        let asked: PortSpec = "/dev/ttyS9".parse().unwrap();
        let mut line = Line::waited_for(&asked, Duration::ZERO, &missing);
        let told = |line: &mut Line, reasons: &[&PortError]| -> Vec<bool> {
            reasons.iter().map(|why| line.is_news(why)).collect()
        };
        let reasons = [&missing, &denied, &denied, &in_use, &denied, &missing];
        let expected = [false, true, false, true, false, false];
        assert_eq!(told(&mut line, &reasons), expected);
        line.lose(0, io::Error::other("hung up"));
        assert_eq!(told(&mut line, &reasons), expected, "lost is as good as missing");
    }

    #[cfg(unix)]
    #[test]
    fn the_other_end_may_stop_the_line_where_flow_control_was_asked_for() {
        use rustix::termios::{ControlModes, tcgetattr};
        use std::os::fd::AsRawFd;
        let (_hand, own) = SerialPort::pair().unwrap();
        let path = std::fs::read_link(format!("/proc/self/fd/{}", own.as_raw_fd())).unwrap();
        let may_stop = || tcgetattr(&own).unwrap().control_modes.contains(ControlModes::CRTSCTS);
        for rtscts in [false, true] {
            let spec = PortSpec { path: path.clone(), baud: 115_200, rtscts };
            let mut line = Line::open(&spec, Duration::ZERO).unwrap();
            assert_eq!(may_stop(), rtscts);
            line.close();
            assert!(!may_stop(), "what it holds goes out when the port is closed");
        }
    }

    #[test]
    fn a_rate_that_the_hardware_cannot_make_is_refused_and_its_nearest_named() {
        let check = |real| check_rate(Path::new("/dev/ttyS0"), 921_600, real);
        assert!(check(921_600).is_ok());
        // Dividers make most rates a little wrong; receivers put up with that.
        assert!(check(923_076).is_ok());
        let told = check(460_800).unwrap_err().to_string();
        assert!(told.contains("/dev/ttyS0") && told.contains("921600") && told.contains("460800"), "{told}");
    }
}
