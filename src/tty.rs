//! Writing to a terminal that may stop reading: a window that hangs, a network that is gone, Ctrl-S.
//!
//! The system lets a write wait until somebody reads, for ever. Here it waits for a while: what a terminal has not taken by then is kept
//! for the next time, and what comes meanwhile is left out.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a line of the log waits for a terminal that reads slowly.
const LINE_WITHIN: Duration = Duration::from_millis(100);

/// One of the two that a process is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// A stream that may be a terminal.
#[derive(Debug)]
pub struct Tty {
    stream: Stream,
    /// The same terminal, opened anew: whether a write waits is then our own affair, and not the shell's too. `None` where it is no
    /// terminal or may not be opened: a write then waits.
    own: Option<std::fs::File>,
    /// The rest of what was begun.
    rest: Vec<u8>,
    /// It took nothing for as long as was waited.
    is_stalled: bool,
}

impl Tty {
    /// What `stream` is now.
    pub fn of(stream: Stream) -> Self {
        Self { stream, own: opened_anew(stream), rest: Vec::new(), is_stalled: false }
    }

    /// Whether all of what was begun is written, at the latest after `within`; one that has stalled is not waited for again.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn is_free(&mut self, within: Duration) -> io::Result<bool> {
        let rest = std::mem::take(&mut self.rest);
        self.push(&rest, within)?;
        Ok(self.rest.is_empty())
    }

    /// Writes `bytes`; `false` where nothing of them is, as the terminal has not yet taken what came before. What it does not take of
    /// them within this time is written first the next time.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn write(&mut self, bytes: &[u8], within: Duration) -> io::Result<bool> {
        if !self.is_free(within)? {
            return Ok(false);
        }
        self.push(bytes, within)?;
        Ok(true)
    }

    /// Throws away what the terminal was sent and has not read, and lets it go on where it was stopped (Ctrl-S): what is written next
    /// finds room. A sequence may be cut in two.
    pub fn discard(&mut self) {
        self.rest.clear();
        #[cfg(unix)]
        if let Some(own) = &self.own {
            use rustix::termios::{Action, QueueSelector, tcflow, tcflush};
            let _ = tcflush(own, QueueSelector::OFlush);
            let _ = tcflow(own, Action::OOn);
            self.is_stalled = false;
        }
    }

    fn push(&mut self, mut bytes: &[u8], within: Duration) -> io::Result<()> {
        let Some(mut own) = self.own.as_ref() else {
            return match self.stream {
                Stream::Out => write_all(&mut io::stdout().lock(), bytes),
                Stream::Err => write_all(&mut io::stderr().lock(), bytes),
            };
        };
        let within = if self.is_stalled { Duration::ZERO } else { within };
        let began = Instant::now();
        while !bytes.is_empty() {
            match own.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    bytes = &bytes[n..];
                    self.is_stalled = false;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    let left = within.saturating_sub(began.elapsed());
                    if left.is_zero() || !has_room(own, left)? {
                        self.is_stalled = true;
                        self.rest.extend_from_slice(bytes);
                        return Ok(());
                    }
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

fn write_all(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(bytes)?;
    out.flush()
}

/// Waits until the terminal takes something; `false` where it does not `within` this time.
#[cfg(unix)]
fn has_room(own: &std::fs::File, within: Duration) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let within = Timespec { tv_sec: within.as_secs() as _, tv_nsec: within.subsec_nanos().into() };
    match poll(&mut [PollFd::new(own, PollFlags::OUT)], Some(&within)) {
        Ok(ready) => Ok(ready > 0),
        // The caller looks at the clock.
        Err(rustix::io::Errno::INTR) => Ok(true),
        Err(e) => Err(e.into()),
    }
}

#[cfg(not(unix))]
fn has_room(_: &std::fs::File, _: Duration) -> io::Result<bool> {
    Ok(true)
}

/// The terminal that `stream` is, as an open file of its own whose writes do not wait.
#[cfg(target_os = "linux")]
fn opened_anew(stream: Stream) -> Option<std::fs::File> {
    use std::io::IsTerminal;
    use std::os::unix::fs::OpenOptionsExt;
    let (is_terminal, number) = match stream {
        Stream::Out => (io::stdout().is_terminal(), 1),
        Stream::Err => (io::stderr().is_terminal(), 2),
    };
    if !is_terminal {
        return None;
    }
    // By its number: what it is called here may be nothing in a container.
    let path = format!("/proc/self/fd/{number}");
    std::fs::File::options().write(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path).ok()
}

#[cfg(not(target_os = "linux"))]
fn opened_anew(_: Stream) -> Option<std::fs::File> {
    None
}

/// Standard error, with the number of lines that it did not take.
struct Said {
    tty: Option<Tty>,
    left_out: usize,
}

static STDERR: Mutex<Said> = Mutex::new(Said { tty: None, left_out: 0 });

/// Says `bytes` on standard error. Of a terminal that reads nothing it is not waited for long; how many lines it missed is said when it
/// reads again.
///
/// # Errors
/// Standard error is gone.
pub fn say(bytes: &[u8]) -> io::Result<()> {
    let mut said = STDERR.lock().unwrap_or_else(PoisonError::into_inner);
    let Said { tty, left_out } = &mut *said;
    let tty = tty.get_or_insert_with(|| Tty::of(Stream::Err));
    if *left_out > 0 {
        let missed = format!("({left_out} lines of the log are left out: the terminal did not take them)\n");
        if tty.write(missed.as_bytes(), LINE_WITHIN)? {
            *left_out = 0;
        }
    }
    if *left_out > 0 || !tty.write(bytes, LINE_WITHIN)? {
        *left_out += bytes.iter().filter(|byte| **byte == b'\n').count();
    }
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    /// A terminal with room for some kilobytes, and the end at which it is read.
    fn terminal() -> (Tty, serial2::SerialPort) {
        use std::os::unix::fs::OpenOptionsExt;
        let (mut screen, port) = serial2::SerialPort::pair().unwrap();
        screen.set_read_timeout(Duration::from_millis(50)).unwrap();
        let path = format!("/proc/self/fd/{}", port.as_raw_fd());
        let own = std::fs::File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path).unwrap();
        (Tty { stream: Stream::Out, own: Some(own), rest: Vec::new(), is_stalled: false }, screen)
    }

    fn read(screen: &serial2::SerialPort) -> Vec<u8> {
        let (mut all, mut piece) = (Vec::new(), [0; 4096]);
        while let Ok(n @ 1..) = screen.read(&mut piece) {
            all.extend_from_slice(&piece[..n]);
        }
        all
    }

    const SHORT: Duration = Duration::from_millis(20);

    #[test]
    fn what_a_terminal_does_not_read_is_kept_up_to_one_piece_and_comes_whole_later() {
        let (mut tty, screen) = terminal();
        let piece = [b'a'; 10_000];
        let (mut taken, began) = (0, Instant::now());
        while tty.write(&piece, SHORT).unwrap() {
            taken += 1;
            assert!(taken < 1000, "a pseudo-terminal without end");
        }
        assert!(!tty.write(b"b", SHORT).unwrap() && tty.rest.len() <= piece.len());
        for _ in 0..1000 {
            assert!(!tty.write(b"c", Duration::from_secs(1)).unwrap());
        }
        assert!(began.elapsed() < Duration::from_secs(20), "who has stalled is not waited for each time");
        let mut came = read(&screen);
        while !tty.is_free(SHORT).unwrap() {
            came.extend(read(&screen));
        }
        assert!(tty.write(b"d", SHORT).unwrap());
        came.extend(read(&screen));
        assert_eq!(came.len(), taken * piece.len() + 1, "whole pieces, and nothing of what was left out");
        assert_eq!(came.last(), Some(&b'd'));
    }

    #[test]
    fn after_a_discard_there_is_room_for_the_last_words() {
        let (mut tty, screen) = terminal();
        while tty.write(&[b'a'; 10_000], SHORT).unwrap() {}
        tty.discard();
        assert!(tty.write(b"the end", SHORT).unwrap() && tty.is_free(SHORT).unwrap());
        assert!(read(&screen).ends_with(b"the end"));
    }
}
