//! The display in a terminal, as its user meets it: on a pseudo-terminal with a keyboard and a screen.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use crate::cli::Running;
use crate::pty::Pty;

const ENTERS: &str = "\u{1b}[?1049h";
const LEAVES: &str = "\u{1b}[?1049l";

const SHOWS_CURSOR: &str = "\u{1b}[?25h";

const FRAME_ENDS: &str = "\u{1b}[?2026l";

/// A terminal with somebody before it.
struct Desk {
    pty: Pty,
    /// All that was written, and how much of it stands on the screen already.
    written: Vec<u8>,
    read_to: usize,
    columns: usize,
    rows: usize,
    cells: Vec<char>,
    cursor: (usize, usize),
}

impl Desk {
    fn new(columns: usize, rows: usize) -> Self {
        let (pty, cells) = (Pty::open(), Vec::new());
        let mut desk = Self { pty, written: Vec::new(), read_to: 0, columns, rows, cells, cursor: (0, 0) };
        desk.resize(columns, rows);
        desk
    }

    fn stty(&self, arguments: &[&str]) -> String {
        let out = Command::new("stty").arg("-F").arg(&self.pty.path).args(arguments).output().unwrap();
        assert!(out.status.success());
        String::from_utf8(out.stdout).unwrap()
    }

    fn resize(&mut self, columns: usize, rows: usize) {
        self.stty(&["rows", &rows.to_string(), "cols", &columns.to_string()]);
        (self.columns, self.rows, self.cells) = (columns, rows, vec![' '; columns * rows]);
    }

    fn start(&self, arguments: &[&str]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_posewire"));
        command.args(["run", "--smoother", "none", "--display", "terminal"]).args(arguments);
        for variable in ["NO_COLOR", "SSH_CONNECTION", "SSH_TTY"] {
            command.env_remove(variable);
        }
        command.env("TERM", "xterm-256color");
        Running::start(command.stdin(self.pty.file()).stdout(self.pty.file()).stderr(self.pty.file()))
    }

    fn type_in(&self, keys: &str) {
        self.pty.hand.write_all(keys.as_bytes()).unwrap();
    }

    /// Lets the screen change until it is as wanted.
    fn wait_for(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < Duration::from_secs(60), "{what}:\n{}", self.lines().join("\n"));
            self.look();
        }
    }

    fn look(&mut self) {
        self.written.extend(self.pty.read_now());
        // As far as whole frames have come.
        let new = &self.written[self.read_to..];
        let whole = new.windows(FRAME_ENDS.len()).rposition(|w| w == FRAME_ENDS.as_bytes());
        let end = self.read_to + whole.map_or(0, |at| at + FRAME_ENDS.len());
        let text = String::from_utf8_lossy(&self.written[self.read_to..end]).into_owned();
        self.read_to = end;
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '\u{1b}' => {
                    rest.next();
                    let mut parameters = String::new();
                    let last = loop {
                        match rest.next() {
                            Some(c) if !c.is_ascii_alphabetic() => parameters.push(c),
                            c => break c,
                        }
                    };
                    match last {
                        Some('H') => {
                            let place = parameters.split_once(';').unwrap();
                            let from_1 = |text: &str| text.parse::<usize>().unwrap() - 1;
                            self.cursor = (from_1(place.1), from_1(place.0));
                        }
                        Some('J') => self.cells.fill(' '),
                        _ => {}
                    }
                }
                '\r' => self.cursor.0 = 0,
                '\n' => self.cursor.1 += 1,
                c => {
                    let (column, row) = self.cursor;
                    if column < self.columns && row < self.rows {
                        self.cells[row * self.columns + column] = c;
                    }
                    self.cursor.0 += 1;
                }
            }
        }
    }

    fn lines(&self) -> Vec<String> {
        self.cells.chunks(self.columns).map(|row| row.iter().collect()).collect()
    }

    fn shows(&self, text: &str) -> bool {
        self.lines().iter().any(|line| line.contains(text))
    }

    fn was_written(&self, text: &str) -> bool {
        String::from_utf8_lossy(&self.written).contains(text)
    }

    /// Columns and rows of the picture, in whose rectangle nothing else stands.
    fn picture(&self) -> [usize; 2] {
        let is_pixel = |i: &usize| self.cells[*i] == '▀';
        let places = || (0..self.cells.len()).filter(is_pixel).map(|i| (i % self.columns, i / self.columns));
        let (left, right) = (places().map(|p| p.0).min().unwrap(), places().map(|p| p.0).max().unwrap());
        let (top, bottom) = (places().map(|p| p.1).min().unwrap(), places().map(|p| p.1).max().unwrap());
        let [columns, rows] = [right - left + 1, bottom - top + 1];
        assert_eq!(places().count(), columns * rows, "something lies in it:\n{}", self.lines().join("\n"));
        [columns, rows]
    }
}

#[test]
fn the_picture_stands_alone_in_every_window_and_q_ends_it() {
    let mut desk = Desk::new(100, 30);
    let before = desk.stty(&["-g"]);
    let mut child = desk.start(&["--synthetic"]);
    // Half a window of picture, somebody in it, and the log below.
    desk.wait_for("a whole picture", |d| {
        d.cells[0] == '▀'
            && d.shows("person")
            && d.shows("fps")
            && d.lines()[27..].concat().contains("source: ")
    });
    assert_eq!(desk.picture(), [72, 27]);
    assert!(desk.was_written(ENTERS) && !desk.was_written(LEAVES));
    let drawn = String::from_utf8_lossy(&desk.written).into_owned();
    assert!(!drawn.split_once(ENTERS).unwrap().1.contains('\n'), "the log was written into the picture");
    assert_ne!(desk.stty(&["-g"]), before, "keys come at once");

    desk.resize(40, 12);
    desk.wait_for("a smaller picture", |d| d.cells[0] == '▀' && d.shows("fps"));
    assert_eq!(desk.picture(), [26, 10]);
    assert!(desk.was_written("\u{1b}[?2026h"), "frames come whole");
    // An arrow is not Esc.
    desk.type_in("\u{1b}[A");
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.ended().is_none());
    desk.type_in("q");
    desk.wait_for("the end", |d| d.was_written(LEAVES));
    assert_eq!(child.wait_within(Duration::from_secs(20)).code(), Some(0));
    desk.look();
    let said = String::from_utf8_lossy(&desk.written).into_owned();
    let (_, after) = said.split_once(LEAVES).unwrap();
    assert!(after.contains("\u{1b}[?25h") && !after.contains('▀'), "{after:?}");
    assert_eq!(desk.stty(&["-g"]), before, "the keyboard is as it was");
}

impl Desk {
    /// A run that shows somebody, and the terminal's settings before it.
    fn with_picture(arguments: &[&str]) -> (Self, Running, String) {
        let mut desk = Self::new(60, 20);
        let before = desk.stty(&["-g"]);
        let child = desk.start(&[&["--synthetic", "--model", "nano"], arguments].concat());
        desk.wait_for("a picture", |d| d.cells[0] == '▀');
        assert_ne!(desk.stty(&["-g"]), before, "keys come at once");
        (desk, child, before)
    }

    /// How it ended; a screen at which nobody looks would hold it up.
    fn see_it_end(&mut self, child: &mut Running) -> ExitStatus {
        let began = Instant::now();
        loop {
            self.look();
            if let Some(status) = child.ended() {
                return status;
            }
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "it does not end:\n{}",
                self.lines().join("\n")
            );
        }
    }

    /// What was written after the screen was given back, which it was wholly.
    fn given_back(&mut self, before: &str) -> String {
        self.wait_for("the end", |d| d.was_written(LEAVES));
        self.look();
        let said = String::from_utf8_lossy(&self.written).into_owned();
        let (_, after) = said.rsplit_once(LEAVES).unwrap();
        assert!(after.contains(SHOWS_CURSOR) && !after.contains('▀'), "{after:?}");
        assert_eq!(said.matches(ENTERS).count(), said.matches(LEAVES).count());
        assert_eq!(self.stty(&["-g"]), before, "the keyboard is as it was");
        after.to_owned()
    }
}

/// The question is the same for all; who does not answer, as in the other tests, has characters.
#[test]
fn a_terminal_that_says_so_gets_pictures_of_its_own() {
    const ASKED: &str = "\u{1b}[c";
    let kitty = "\u{1b}_Gi=4207;OK\u{1b}\\\u{1b}[6;16;8t\u{1b}[?62c";
    let sixel = "\u{1b}[6;16;8t\u{1b}[?62;4;22c";
    for (answer, picture) in [(kitty, "\u{1b}_Ga=T,"), (sixel, "\u{1b}P0;1;0q")] {
        let mut desk = Desk::new(60, 20);
        let before = desk.stty(&["-g"]);
        let mut child = desk.start(&["--synthetic", "--model", "nano"]);
        desk.wait_for("the question", |d| d.was_written(ASKED));
        desk.type_in(answer);
        desk.wait_for("a picture", |d| d.was_written(picture) && d.shows("fps"));
        let written = desk.written.len();
        // Cleared once for each of the two kinds, then drawn over.
        desk.wait_for("another", |d| {
            String::from_utf8_lossy(&d.written[written..]).matches(picture).count() >= 2
        });
        assert!(!String::from_utf8_lossy(&desk.written[written..]).contains("\u{1b}[2J"));
        assert!(child.ended().is_none(), "an answer is no key");
        desk.type_in("q");
        assert_eq!(desk.see_it_end(&mut child).code(), Some(0));
        desk.given_back(&before);
    }
}

/// Nobody reads (a window that hangs), or the user stops the output (Ctrl-S): poses go on, the picture is whole again as soon as
/// somebody looks, and the end comes when it is asked for.
#[test]
fn a_terminal_that_stops_reading_holds_up_neither_poses_nor_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let poses = folder.path().join("poses");
    let lines = || std::fs::read_to_string(&poses).unwrap_or_default().lines().count();
    for stops in ["", "\u{13}"] {
        let (mut desk, mut child, before) = Desk::with_picture(&["--jsonl", poses.to_str().unwrap()]);
        let columns = desk.picture();
        // Twice: what it is written while it reads nothing must not gather.
        for _ in 0..2 {
            desk.type_in(stops);
            std::thread::sleep(Duration::from_secs(2));
            let before = lines();
            std::thread::sleep(Duration::from_secs(1));
            assert!(lines() > before, "the other output stands still");
            if !stops.is_empty() {
                desk.type_in("\u{11}");
            }
            let written = desk.written.len();
            desk.wait_for("it to go on", |d| d.written.len() > written + 200_000);
            assert_eq!(desk.picture(), columns);
        }
        desk.type_in(stops);
        std::thread::sleep(Duration::from_secs(2));
        child.terminate();
        let status = child.wait_within(Duration::from_secs(2));
        assert_eq!(status.code(), Some(0));
        desk.given_back(&before);
    }
}

#[test]
fn the_terminal_is_given_back_after_every_signal_that_ends_the_run() {
    // Ctrl-\ ends as the system ends it, with signal 3.
    for (signal, code, by) in
        [("-INT", Some(0), None), ("-TERM", Some(0), None), ("-HUP", Some(0), None), ("-QUIT", None, Some(3))]
    {
        let (mut desk, mut child, before) = Desk::with_picture(&[]);
        child.signal(signal);
        let status = desk.see_it_end(&mut child);
        assert_eq!((status.code(), status.signal()), (code, by), "{signal}");
        desk.given_back(&before);
    }
}

#[test]
fn a_run_that_is_stopped_leaves_the_shell_its_terminal_and_takes_it_again() {
    let (mut desk, mut child, before) = Desk::with_picture(&[]);
    child.signal("-TSTP");
    desk.given_back(&before);
    let began = Instant::now();
    while child.state() != 'T' {
        assert!(began.elapsed() < Duration::from_secs(20), "it does not stop: {}", child.state());
        std::thread::sleep(Duration::from_millis(10));
    }
    let written = desk.written.len();
    child.signal("-CONT");
    desk.wait_for("the screen again", |d| {
        String::from_utf8_lossy(&d.written[written..])
            .split_once(ENTERS)
            .is_some_and(|(_, new)| new.contains('▀'))
    });
    assert_ne!(desk.stty(&["-g"]), before);
    desk.type_in("q");
    assert_eq!(desk.see_it_end(&mut child).code(), Some(0));
    desk.given_back(&before);
}

#[test]
fn after_a_panic_the_terminal_is_given_back_and_what_happened_can_be_read() {
    let (mut desk, mut child, before) = Desk::with_picture(&["--inject", "infer.panic=0.1"]);
    assert_eq!(desk.see_it_end(&mut child).code(), Some(1));
    let after = desk.given_back(&before);
    assert!(after.contains("injected fault: infer.panic"), "{after}");
}

/// What is waited for is said on the screen, and what the log said meanwhile afterwards.
#[cfg(feature = "v4l")]
#[test]
fn a_screen_without_a_picture_says_what_is_waited_for_and_the_log_is_not_lost() {
    let mut desk = Desk::new(80, 24);
    let mut child = desk.start(&["--camera", "/dev/video97"]);
    desk.wait_for("a reason", |d| d.shows("/dev/video97") && d.shows("q ends"));
    desk.type_in("\u{1b}");
    desk.wait_for("the end", |d| d.was_written(LEAVES));
    assert_eq!(child.wait_within(Duration::from_secs(20)).code(), Some(0));
    desk.look();
    let said = String::from_utf8_lossy(&desk.written).into_owned();
    assert!(said.contains("/dev/video97"), "{said}");
}

#[test]
fn a_terminal_without_a_screen_gets_lines() {
    let mut desk = Desk::new(80, 24);
    let mut command = Command::new(env!("CARGO_BIN_EXE_posewire"));
    command.args(["run", "--synthetic", "--smoother", "none", "--display", "terminal"]).env("TERM", "dumb");
    let mut child = Running::start(command.stdout(desk.pty.file()).stderr(std::process::Stdio::null()));
    let began = Instant::now();
    // However many the network sees.
    while !desk.was_written(": #1") {
        assert!(began.elapsed() < Duration::from_secs(60), "{}", String::from_utf8_lossy(&desk.written));
        desk.written.extend(desk.pty.read_now());
    }
    child.terminate();
    assert_eq!(child.wait_within(Duration::from_secs(20)).code(), Some(0));
    assert!(!desk.was_written("\u{1b}"));
}
