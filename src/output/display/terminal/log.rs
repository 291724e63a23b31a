//! The log while the terminal shows pictures: its last lines are shown, and said once the terminal is given back.

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::tty;

/// A window shows fewer.
const SHOWN: usize = 64;
/// What is said at the end: `-vv` says a line a frame, and nobody reads more than the last of them.
const KEPT: usize = 200;

/// One terminal a process, one log.
static LINES: Mutex<Lines> = Mutex::new(Lines::new());

fn lines() -> MutexGuard<'static, Lines> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How grave a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grade {
    Error,
    Warning,
    Other,
}

/// A line of the log without its colours and without what only tells its level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub grade: Grade,
    pub text: String,
}

struct Lines {
    shown: VecDeque<Line>,
    /// Counts lines, so that a screen sees whether there are new ones.
    count: u64,
    is_held: bool,
    /// As they came, colours included; said when the terminal is free.
    kept: VecDeque<(Grade, Vec<u8>)>,
    left_out: u64,
}

impl Lines {
    const fn new() -> Self {
        Self { shown: VecDeque::new(), count: 0, is_held: false, kept: VecDeque::new(), left_out: 0 }
    }

    /// Notes what was written; whether it is kept, and so is not to be written now.
    fn take(&mut self, bytes: &[u8]) -> bool {
        let text = plain(bytes);
        let mut grade = Grade::Other;
        for line in text.lines() {
            let line = read(line);
            grade = line.grade;
            self.count += 1;
            self.shown.push_back(line);
        }
        while self.shown.len() > SHOWN {
            self.shown.pop_front();
        }
        if self.is_held {
            self.kept.push_back((grade, bytes.to_vec()));
            if self.kept.len() > KEPT {
                // Errors are the last to go.
                let oldest = self.kept.iter().position(|(grade, _)| *grade != Grade::Error);
                self.kept.remove(oldest.unwrap_or(0));
                self.left_out += 1;
            }
        }
        self.is_held
    }
}

/// `[WARN ] text` as env_logger writes it.
fn read(line: &str) -> Line {
    let (level, text) = line.strip_prefix('[').and_then(|rest| rest.split_once("] ")).unwrap_or(("", line));
    let (grade, text) = match level.trim() {
        "ERROR" => (Grade::Error, text),
        "WARN" => (Grade::Warning, text),
        "INFO" | "DEBUG" | "TRACE" => (Grade::Other, text),
        _ => (Grade::Other, line),
    };
    Line { grade, text: text.to_owned() }
}

/// Without the sequences that set colours.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\u{1b}' {
            plain.push(c);
        } else if rest.next() == Some('[') {
            let _ = rest.find(char::is_ascii_alphabetic);
        }
    }
    plain
}

/// Where the program's log is to be written: standard error, or, while that terminal shows pictures, a place below them.
#[derive(Debug, Default)]
pub struct LogTarget(());

impl Write for LogTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The lock is free again before a slow terminal is written to.
        let is_kept = lines().take(bytes);
        if !is_kept {
            tty::say(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The terminal now shows pictures. A log that goes elsewhere (`2> FILE`) goes on.
pub(super) fn hold() {
    lines().is_held = io::stderr().is_terminal();
}

/// The terminal is free: says what was kept.
pub(super) fn release() {
    let (kept, left_out) = {
        let mut lines = lines();
        lines.is_held = false;
        (std::mem::take(&mut lines.kept), std::mem::take(&mut lines.left_out))
    };
    // Nobody may be there to read it.
    if left_out > 0 {
        let _ = tty::say(format!("({left_out} earlier lines of the log are left out)\n").as_bytes());
    }
    for (_, line) in kept {
        let _ = tty::say(&line);
    }
}

/// Copies the last lines into `copy`, where there are others than those of `count`.
pub(super) fn copy_last(copy: &mut Vec<Line>, count: &mut u64) -> bool {
    let lines = lines();
    if lines.count == *count {
        return false;
    }
    *count = lines.count;
    copy.clear();
    copy.extend(lines.shown.iter().cloned());
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_shown_without_colours_and_level() {
        let mut lines = Lines::new();
        assert!(!lines.take(b"\x1b[90m[\x1b[0m\x1b[32mINFO \x1b[0m\x1b[90m]\x1b[0m source: clip\n"));
        assert!(!lines.take(b"[WARN ] camera: gone\nlooking [for] it\n"));
        let found: Vec<(Grade, &str)> = lines.shown.iter().map(|l| (l.grade, l.text.as_str())).collect();
        let gone = (Grade::Warning, "camera: gone");
        assert_eq!(found, [(Grade::Other, "source: clip"), gone, (Grade::Other, "looking [for] it")]);
        assert!(lines.kept.is_empty(), "they were written at once");
    }

    #[test]
    fn what_is_kept_is_bounded_and_errors_are_the_last_to_go() {
        let mut lines = Lines { is_held: true, ..Lines::new() };
        assert!(lines.take(b"[ERROR] first\n"));
        for i in 0..3 * KEPT {
            assert!(lines.take(format!("[DEBUG] {i}\n").as_bytes()));
        }
        assert_eq!((lines.kept.len(), lines.left_out), (KEPT, 2 * KEPT as u64 + 1));
        assert_eq!(lines.kept[0].1, b"[ERROR] first\n");
        assert_eq!(lines.kept[KEPT - 1].1, format!("[DEBUG] {}\n", 3 * KEPT - 1).as_bytes());
        assert_eq!(lines.shown.len(), SHOWN);
    }
}
