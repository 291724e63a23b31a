//! The terminal: two pixels a character cell, in 24-bit colour, with what is known beside them and the log below.

mod cells;
mod layout;
mod log;
mod panel;
mod screen;

use std::io::{self, IsTerminal, Stdout, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossterm::terminal;

use super::{Canvas, FrameStamp, Status, Surface};
use crate::output::SinkError;
use cells::{Grid, Inks, paint};
use layout::{Layout, layout};
use screen::Took;

pub use log::LogTarget;
pub use screen::{give_back, give_back_for_good};

/// A terminal over a network takes some hundred kilobytes a second, and the eye is content with this.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(66);
/// A terminal without a screen gets a line so often.
const LINE_EVERY: Duration = Duration::from_secs(1);
/// While nothing new comes, the log may still say something.
const IDLE_INTERVAL: Duration = Duration::from_millis(100);
/// A source that is there gives its first picture before this; without one the screen says what is waited for.
const PATIENCE: Duration = Duration::from_millis(400);

/// No screen has more cells than these; what a terminal claims beyond is left empty.
const MAX_COLUMNS: u16 = 1024;
const MAX_ROWS: u16 = 512;

/// In a picture whose shorter side is less, an arm is one pixel wide.
const COARSE_PX: usize = 90;

/// Around synchronised updates: the terminal shows a frame when all of it has come.
const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";

/// What the terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A screen of cells.
    Screen(Inks),
    /// Lines, one after the other (`TERM=dumb`).
    Lines,
}

/// `--display terminal`: each cell of the picture is an upper half block, its colours the two pixels. Cells that did not change are
/// not written again.
pub struct Terminal {
    out: Stdout,
    kind: Kind,
    wanted: Grid,
    /// What stands on the screen now.
    shown: Grid,
    bytes: Vec<u8>,
    scratch: String,
    status: Status,
    log: Vec<log::Line>,
    log_count: u64,
    /// Of the last picture, pixels.
    canvas: Canvas,
    has_picture: bool,
    image_px: [usize; 2],
    /// Of the picture, as it is shown.
    shorter_px: usize,
    opened: Instant,
    last: Option<Instant>,
    idled: Instant,
    /// Set when the user asks for the end.
    stop: Option<Arc<AtomicBool>>,
    /// The user has asked for the shell (Ctrl-Z).
    is_suspended: Arc<AtomicBool>,
}

impl Terminal {
    /// The terminal that standard output is.
    ///
    /// # Errors
    /// [`SinkError::Fatal`] where it is none.
    pub fn open() -> Result<Self, SinkError> {
        let out = io::stdout();
        if !out.is_terminal() {
            return Err(SinkError::Fatal(
                "standard output is not a terminal: leave out the redirection, or use --display png:PATH"
                    .into(),
            ));
        }
        let is_suspended = Arc::default();
        let kind = kind(&|name| std::env::var(name).unwrap_or_default());
        #[cfg(unix)]
        if kind != Kind::Lines {
            signal_hook::flag::register(signal_hook::consts::SIGTSTP, Arc::clone(&is_suspended)).map_err(
                |e| SinkError::Fatal(format!("--display terminal: cannot listen for signals: {e}")),
            )?;
        }
        Ok(Self {
            out,
            kind,
            wanted: Grid::default(),
            shown: Grid::default(),
            bytes: Vec::new(),
            scratch: String::new(),
            status: Status::default(),
            log: Vec::new(),
            log_count: 0,
            canvas: Canvas::default(),
            has_picture: false,
            image_px: [640, 480],
            shorter_px: 0,
            opened: Instant::now(),
            last: None,
            idled: Instant::now(),
            stop: None,
            is_suspended,
        })
    }

    /// `q` and Esc set `stop`, as a signal does.
    pub fn stopping(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = Some(stop);
        self
    }

    /// Gives the shell its screen back and stops, where that was asked for; goes on when the user does. Sees to the keys.
    fn obey(&self) {
        #[cfg(unix)]
        if self.is_suspended.swap(false, Ordering::AcqRel) {
            screen::suspend();
        }
        if let Some(stop) = &self.stop
            && screen::is_end_asked()
        {
            stop.store(true, Ordering::Release);
        }
    }

    /// Writes what there is to say now.
    fn refresh(&mut self) -> Result<(), SinkError> {
        match self.kind {
            Kind::Lines => self.say(),
            Kind::Screen(inks) => self.draw(inks),
        }
        .map_err(|e: io::Error| match e.kind() {
            io::ErrorKind::BrokenPipe => SinkError::Closed("the terminal is gone".into()),
            _ => SinkError::Retry(format!("terminal: {e}")),
        })
    }

    fn say(&mut self) -> io::Result<()> {
        panel::in_one_line(&self.status, &mut self.scratch);
        writeln!(self.out, "{}", self.scratch)
    }

    fn draw(&mut self, inks: Inks) -> io::Result<()> {
        match screen::take()? {
            Took::Not => return Ok(()),
            Took::Now => self.shown.reset(0, 0),
            Took::Before => {}
        }
        let (columns, rows) = size()?;
        let Layout { picture, panel, line, log } = layout(columns, rows, self.image_px);
        self.wanted.reset(columns, rows);
        if self.has_picture {
            self.wanted.picture(picture, &self.canvas, inks);
        } else {
            panel::waiting(&mut self.wanted, picture, &self.status);
        }
        if let Some(area) = panel {
            let ends = if screen::has_keys() { "q ends" } else { "Ctrl-C ends" };
            panel::panel(&mut self.wanted, area, &self.status, ends, &mut self.scratch);
        }
        if let Some(area) = line {
            panel::line(&mut self.wanted, area, &self.status, &mut self.scratch);
        }
        log::copy_last(&mut self.log, &mut self.log_count);
        panel::log(&mut self.wanted, log, &self.log);
        self.bytes.clear();
        self.bytes.extend_from_slice(BEGIN);
        paint(&self.wanted, &mut self.shown, inks, &mut self.bytes);
        if self.bytes.len() == BEGIN.len() {
            return Ok(());
        }
        self.bytes.extend_from_slice(END);
        self.out.write_all(&self.bytes)?;
        self.out.flush()
    }
}

/// What the terminal can show, from the environment.
fn kind(variable: &dyn Fn(&str) -> String) -> Kind {
    match (variable("TERM").as_str(), variable("NO_COLOR").as_str()) {
        ("dumb", _) => Kind::Lines,
        (_, "") => Kind::Screen(Inks::True),
        _ => Kind::Screen(Inks::None),
    }
}

/// The window's columns and rows. Asked anew each time: windows are resized.
fn size() -> io::Result<(usize, usize)> {
    terminal::size().map(|(columns, rows)| bounded(columns, rows))
}

fn bounded(columns: u16, rows: u16) -> (usize, usize) {
    (columns.clamp(1, MAX_COLUMNS).into(), rows.clamp(1, MAX_ROWS).into())
}

impl Surface for Terminal {
    fn name(&self) -> &str {
        "terminal"
    }

    fn size_px(&mut self, image_px: [usize; 2]) -> Result<[usize; 2], SinkError> {
        self.image_px = image_px;
        let (columns, rows) = size().map_err(|e| SinkError::Retry(format!("terminal: {e}")))?;
        let picture = layout(columns, rows, image_px).picture;
        self.shorter_px = picture.columns.min(2 * picture.rows);
        Ok([picture.columns, 2 * picture.rows])
    }

    fn is_coarse(&self) -> bool {
        self.shorter_px < COARSE_PX
    }

    fn tell(&mut self, status: &Status) -> bool {
        self.status.clone_from(status);
        true
    }

    fn show(&mut self, canvas: &Canvas, _stamp: FrameStamp) -> Result<(), SinkError> {
        self.obey();
        let interval = if self.kind == Kind::Lines { LINE_EVERY } else { SHORTEST_INTERVAL };
        if self.last.is_some_and(|t| t.elapsed() < interval) {
            return Ok(());
        }
        self.last = Some(Instant::now());
        self.canvas.clone_from(canvas);
        self.has_picture = true;
        self.refresh()
    }

    fn idle(&mut self, _now_us: i64) -> Result<(), SinkError> {
        self.obey();
        let Kind::Screen(inks) = self.kind else { return Ok(()) };
        let has_to_say = self.has_picture || self.opened.elapsed() > PATIENCE;
        if has_to_say && self.idled.elapsed() >= IDLE_INTERVAL {
            self.idled = Instant::now();
            self.draw(inks).map_err(|e| SinkError::Retry(format!("terminal: {e}")))?;
        }
        Ok(())
    }

    fn finish(&mut self, _within: Duration) -> Result<(), SinkError> {
        screen::give_back();
        Ok(())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A thread that ends by an error must not leave the user without a cursor.
        screen::give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_claims_to_be_endless_gets_a_picture_that_can_be_held() {
        let (columns, rows) = bounded(u16::MAX, u16::MAX);
        assert!(3 * columns * 2 * rows < 4 << 20);
        assert_eq!((bounded(80, 24), bounded(0, 0)), ((80, 24), (1, 1)));
    }

    #[test]
    fn the_environment_says_what_a_terminal_shows() {
        let of = |term: &str, no_color: &str| {
            kind(&|name| if name == "TERM" { term.into() } else { no_color.into() })
        };
        assert_eq!(of("xterm-256color", ""), Kind::Screen(Inks::True));
        assert_eq!(of("", ""), Kind::Screen(Inks::True), "over ssh and in containers nothing is said");
        assert_eq!(of("xterm", "1"), Kind::Screen(Inks::None));
        assert_eq!(of("dumb", ""), Kind::Lines);
    }
}
