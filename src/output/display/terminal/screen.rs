//! Takes the terminal's screen and keyboard, and gives them back as they were: at the end, for a while (Ctrl-Z), after a panic.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use crossterm::{cursor, queue, terminal};

use super::log;
use crate::tty::{Stream, Tty};

/// How long a frame may take to be written; its rest is then written first the next time.
const FRAME_WITHIN: Duration = Duration::from_millis(60);
/// How long a frame is waited for that has to end before the screen is given back.
const LAST_FRAME_WITHIN: Duration = Duration::from_millis(150);

/// Ends whatever sequence was cut in two: CAN for control sequences, ST for strings.
const CUT: &[u8] = b"\x18\x1b\\";

/// A process has one terminal.
static SCREEN: Mutex<Screen> = Mutex::new(Screen { tty: None, taken: None, is_over: false });

struct Screen {
    /// Standard output, once something was written.
    tty: Option<Tty>,
    taken: Option<Taken>,
    /// The program ends by a fault: what it says must stay to be read.
    is_over: bool,
}

/// What is to be given back.
struct Taken {
    #[cfg(unix)]
    keyboard: Option<rustix::termios::Termios>,
}

fn screen() -> MutexGuard<'static, Screen> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the screen may be written to: it is taken now, or was before.
///
/// # Errors
/// The terminal is gone.
pub(super) fn take() -> io::Result<Took> {
    let mut screen = screen();
    if screen.taken.is_some() {
        return Ok(Took::Before);
    }
    if screen.is_over || is_background() {
        return Ok(Took::Not);
    }
    log::hold();
    screen.taken = Some(Taken {
        #[cfg(unix)]
        keyboard: keyboard::take(),
    });
    let mut bytes = Vec::new();
    queue!(bytes, terminal::EnterAlternateScreen, cursor::Hide)?;
    screen.tty().write(&bytes, FRAME_WITHIN)?;
    Ok(Took::Now)
}

/// Whether what was written last is out: a terminal that does not read gets no more.
///
/// # Errors
/// The terminal is gone.
pub(super) fn is_free() -> io::Result<bool> {
    screen().tty().is_free(FRAME_WITHIN)
}

/// Writes to standard output; `false` where it has not yet taken what came before.
///
/// # Errors
/// The terminal is gone.
pub(super) fn write(bytes: &[u8]) -> io::Result<bool> {
    screen().tty().write(bytes, FRAME_WITHIN)
}

/// How [`take`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Took {
    /// Nothing stands on the screen.
    Now,
    /// What was written last stands there.
    Before,
    /// It is the shell's.
    Not,
}

impl Screen {
    fn tty(&mut self) -> &mut Tty {
        self.tty.get_or_insert_with(|| Tty::of(Stream::Out))
    }

    fn give_back(&mut self) {
        let Some(taken) = self.taken.take() else { return };
        let (tty, mut bytes) = (self.tty(), Vec::new());
        // One that does not read must not hold up the end; what it is told then, it finds when it reads again.
        if tty.is_free(LAST_FRAME_WITHIN).is_ok_and(|is_free| !is_free) {
            tty.discard();
            bytes.extend_from_slice(CUT);
        }
        bytes.extend_from_slice(b"\x1b[?2026l\x1b[0m");
        // Writing to a Vec cannot fail, and a terminal that is gone takes nothing back.
        let _ = queue!(bytes, terminal::LeaveAlternateScreen, cursor::Show);
        let _ = tty.write(&bytes, FRAME_WITHIN);
        #[cfg(unix)]
        taken.keyboard.iter().for_each(keyboard::give_back);
        #[cfg(not(unix))]
        let Taken {} = taken;
        log::release();
    }
}

/// Gives the terminal back, where it was taken; what the log said meanwhile is then written to standard error.
pub fn give_back() {
    screen().give_back();
}

/// Gives the terminal back before a panic's message is written, and keeps it from being taken again. Waits a moment at most: the
/// thread that panics may be the one that writes to the screen.
pub fn give_back_for_good() {
    for _ in 0..100 {
        let mut screen = match SCREEN.try_lock() {
            Ok(screen) => screen,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(Duration::from_millis(2));
                continue;
            }
        };
        screen.is_over = true;
        screen.give_back();
        return;
    }
}

/// Gives the shell its screen back and stops the process, as Ctrl-Z asks for; returns when the user goes on.
#[cfg(unix)]
pub(super) fn suspend() {
    let mut screen = screen();
    screen.give_back();
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP);
}

/// Whether the shell runs this program behind another (`bg`): the screen is not ours then.
fn is_background() -> bool {
    #[cfg(unix)]
    if let Ok(group) = rustix::termios::tcgetpgrp(io::stdout()) {
        return group != rustix::process::getpgrp();
    }
    false
}

/// Whether keys are read: the screen is taken, and standard input is the same terminal.
pub(super) fn has_keys() -> bool {
    #[cfg(unix)]
    return screen().taken.as_ref().is_some_and(|taken| taken.keyboard.is_some());
    #[cfg(not(unix))]
    false
}

/// The keys pressed since the last call, and what the terminal has answered; none where they are not read.
pub(super) fn keys(room: &mut [u8]) -> &[u8] {
    #[cfg(unix)]
    if has_keys() {
        return keyboard::read(room).unwrap_or_default();
    }
    &room[..0]
}

#[cfg(unix)]
mod keyboard {
    use std::io;

    use rustix::termios::{
        LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, isatty, tcflush, tcgetattr,
        tcsetattr,
    };

    /// Keys come at once and are not written to the screen. `None` where standard input is another terminal or none.
    pub fn take() -> Option<Termios> {
        let (input, output) = (io::stdin(), io::stdout());
        let device = |fd: &dyn std::os::fd::AsFd| rustix::fs::fstat(fd.as_fd()).ok().map(|stat| stat.st_rdev);
        if !isatty(&input) || device(&input) != device(&output) {
            return None;
        }
        let before = tcgetattr(&input).ok()?;
        let mut wanted = before.clone();
        // Ctrl-C and Ctrl-Z stay signals.
        wanted.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        // A read never waits.
        wanted.special_codes[SpecialCodeIndex::VMIN] = 0;
        wanted.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&input, OptionalActions::Now, &wanted).ok()?;
        Some(before)
    }

    /// As it was; keys that nobody read are not the shell's.
    pub fn give_back(before: &Termios) {
        // Not both at once, which would first wait for all that was written to be read.
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
    }

    /// The keys pressed since the last call.
    pub fn read(keys: &mut [u8]) -> Option<&[u8]> {
        let n = rustix::io::read(io::stdin(), &mut *keys).ok()?;
        (n > 0).then(|| &keys[..n])
    }
}
