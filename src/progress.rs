//! How far a long command is: one line on standard error that is written anew, or a line every ten seconds where that is no terminal.

use std::io::{self, IsTerminal};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::tty;

/// The eye sees that it goes on.
const REDRAWN_EVERY: Duration = Duration::from_millis(250);
/// A log file stays readable, and nobody thinks that it hangs.
const SAID_EVERY: Duration = Duration::from_secs(10);

/// Whether the line stands on the terminal now.
static IS_SHOWN: Mutex<bool> = Mutex::new(false);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the line away, for whatever else is to be written to the terminal.
pub fn clear() {
    if std::mem::take(&mut *lock(&IS_SHOWN)) {
        let _ = tty::say(b"\r\x1b[2K");
    }
}

/// Says a line on standard error, in the place of that of the work. Where it cannot be written (a full disk, a reader that is gone) what was
/// done is done nevertheless.
pub fn say(line: std::fmt::Arguments<'_>) {
    clear();
    let _ = tty::say(format!("{line}\n").as_bytes());
}

/// A long piece of work, until the value is dropped. A thread of its own writes: the work may be at one thing for long.
pub struct Progress {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    over: Condvar,
}

struct State {
    text: String,
    is_over: bool,
}

impl Progress {
    /// Work of which `text` says what it is.
    pub fn start(text: impl Into<String>) -> Self {
        let state = Mutex::new(State { text: text.into(), is_over: false });
        let shared = Arc::new(Shared { state, over: Condvar::new() });
        let rewrites = io::stderr().is_terminal() && std::env::var("TERM").is_ok_and(|term| term != "dumb");
        let told = shared.clone();
        // Without room for a thread there is less to read, and the same work.
        let thread = std::thread::Builder::new().name("progress".into()).spawn(move || tell(&told, rewrites));
        Self { shared, thread: thread.ok() }
    }

    /// Where the work is now.
    pub fn at(&self, text: std::fmt::Arguments<'_>) {
        use std::fmt::Write;
        let mut state = lock(&self.shared.state);
        state.text.clear();
        // Writing to a String cannot fail.
        let _ = state.text.write_fmt(text);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        lock(&self.shared.state).is_over = true;
        self.shared.over.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn tell(shared: &Shared, rewrites: bool) {
    let began = Instant::now();
    let every = if rewrites { REDRAWN_EVERY } else { SAID_EVERY };
    let mut state = lock(&shared.state);
    loop {
        // Work that ended before this thread began to wait notifies nobody.
        let waited = shared.over.wait_timeout_while(state, every, |state| !state.is_over);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
        if state.is_over {
            break;
        }
        let text = line(&state.text, began.elapsed());
        drop(state);
        if rewrites {
            let columns = crossterm::terminal::size().map_or(80, |(columns, _)| usize::from(columns));
            let text: String = text.chars().take(columns.saturating_sub(1)).collect();
            let mut is_shown = lock(&IS_SHOWN);
            *is_shown = true;
            let _ = tty::say(format!("\r\x1b[2K{text}").as_bytes());
        } else {
            let _ = tty::say(format!("{text}\n").as_bytes());
        }
        state = lock(&shared.state);
    }
    clear();
}

fn line(text: &str, elapsed: Duration) -> String {
    format!("{text} ({} s)", elapsed.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_and_how_long() {
        assert_eq!(
            line("networks: 3 of 9 runs", Duration::from_millis(12_700)),
            "networks: 3 of 9 runs (12 s)"
        );
    }

    #[test]
    fn the_end_of_the_work_waits_for_nothing() {
        let began = Instant::now();
        let progress = Progress::start("work");
        progress.at(format_args!("{} of 2", 1));
        assert_eq!(lock(&progress.shared.state).text, "1 of 2");
        drop(progress);
        assert!(began.elapsed() < SAID_EVERY / 2);
    }
}
