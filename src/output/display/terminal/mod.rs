//! The terminal: a picture, with what is known beside it and the log below. The picture is of two pixels a character cell, in 24-bit
//! colour, or of the terminal's own where it says that it has them.

mod answers;
mod cells;
mod graphics;
mod layout;
mod log;
mod panel;
mod screen;

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossterm::terminal;

use super::{Canvas, FrameStamp, Status, Surface};
use crate::output::SinkError;
use crate::reason::Reason;
use answers::{Graphics, Keys, QUESTION};
use cells::{Grid, Inks, paint};
use graphics::{MAX_PX, Pictures};
use layout::{Area, Layout, layout};
use screen::Took;

pub use log::LogTarget;
pub use screen::{give_back, give_back_for_good};

/// A terminal over a network takes some hundred kilobytes a second, and the eye is content with this.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(66);
/// Finer pictures take a terminal longer.
const SHORTEST_FINE_INTERVAL: Duration = Duration::from_millis(100);
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

/// `--display terminal`: each cell of the picture is an upper half block, its colours the two pixels, until the terminal says that it
/// shows finer pictures. Cells that did not change are not written again.
pub struct Terminal {
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
    /// What is typed, and what the terminal has said of itself.
    keys: Keys,
    /// Finer pictures are asked for, once.
    may_ask: bool,
    /// How pictures finer than characters are shown; `None`: not at all.
    fine: Option<Fine>,
    pictures: Pictures,
    /// The picture is newer than what stands on the screen.
    is_new: bool,
    /// Where the last one stands.
    stands: Area,
    opened: Instant,
    last: Option<Instant>,
    idled: Instant,
    /// Set when the user asks for the end.
    stop: Option<Arc<AtomicBool>>,
    /// The user has asked for the shell (Ctrl-Z).
    is_suspended: Arc<AtomicBool>,
}

/// Pictures of a terminal's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fine {
    how: Graphics,
    /// Width and height of a character, pixels.
    cell_px: [usize; 2],
}

impl Fine {
    /// An image as the layout wants it, which counts a cell as one wide and two high.
    fn shape(&self, [width, height]: [usize; 2]) -> [usize; 2] {
        [width * self.cell_px[1], 2 * height * self.cell_px[0]]
    }

    /// The pixels of a picture in `area`.
    fn size_px(&self, area: Area, [width, height]: [usize; 2]) -> [usize; 2] {
        let most = [area.columns * self.cell_px[0], area.rows * self.cell_px[1]].map(|most| most.min(MAX_PX));
        let scale = (most[0] as f64 / width as f64).min(most[1] as f64 / height as f64);
        [(width, most[0]), (height, most[1])]
            .map(|(size, most)| ((size as f64 * scale).round() as usize).clamp(1, most.max(1)))
    }
}

impl Terminal {
    /// The terminal that standard output is.
    ///
    /// # Errors
    /// [`SinkError::Fatal`] where it is none.
    pub fn open() -> Result<Self, SinkError> {
        if !io::stdout().is_terminal() {
            return Err(SinkError::Fatal(
                "standard output is not a terminal: leave out the redirection, or use --display png:PATH"
                    .into(),
            ));
        }
        let is_suspended = Arc::default();
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let kind = kind(&variable);
        #[cfg(unix)]
        if kind != Kind::Lines {
            signal_hook::flag::register(signal_hook::consts::SIGTSTP, Arc::clone(&is_suspended)).map_err(
                |e| SinkError::fatal("--display terminal", Reason::new("cannot listen for signals", e)),
            )?;
        }
        Ok(Self {
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
            keys: Keys::default(),
            may_ask: may_ask(kind, &variable),
            fine: None,
            pictures: Pictures::default(),
            is_new: false,
            stands: Area::default(),
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
    fn obey(&mut self) {
        #[cfg(unix)]
        if self.is_suspended.swap(false, Ordering::AcqRel) {
            screen::suspend();
        }
        if let Some(stop) = &self.stop
            && self.keys.take(screen::keys(&mut [0; 256]))
        {
            stop.store(true, Ordering::Release);
        }
    }

    /// Where things stand in a window of `columns` x `rows`, and how a finer picture is shown.
    fn layout(&mut self, columns: usize, rows: usize) -> Layout {
        let fine = self.keys.graphics().and_then(|how| Some(Fine { how, cell_px: self.cell_px()? }));
        if fine != self.fine {
            // Everything is written anew, and the next picture has another size.
            self.fine = fine;
            self.shown.reset(0, 0);
        }
        let mut layout = layout(columns, rows, fine.map_or(self.image_px, |fine| fine.shape(self.image_px)));
        // Sixels down to the last line would scroll the window.
        if fine.is_some() && layout.picture.row + layout.picture.rows == rows {
            layout.picture.rows -= 1;
        }
        layout
    }

    /// Width and height of a character, pixels: as the window has it now, else as the terminal said.
    fn cell_px(&self) -> Option<[usize; 2]> {
        let of_window = terminal::window_size().ok().and_then(|window| {
            let [width, height] = [(window.width, window.columns), (window.height, window.rows)]
                .map(|(pixels, cells)| usize::from(pixels).checked_div(cells.into()).unwrap_or_default());
            (width > 0 && height > 0).then_some([width, height])
        });
        of_window.or(self.keys.cell_px())
    }

    /// Writes what there is to say now.
    fn refresh(&mut self) -> Result<(), SinkError> {
        match self.kind {
            Kind::Lines => self.say(),
            Kind::Screen(inks) => self.draw(inks),
        }
        .map_err(|e: io::Error| match e.kind() {
            io::ErrorKind::BrokenPipe => SinkError::Closed("the terminal is gone".into()),
            _ => SinkError::retry("terminal", Reason::of(e)),
        })
    }

    fn say(&mut self) -> io::Result<()> {
        panel::in_one_line(&self.status, &mut self.scratch);
        self.scratch.push('\n');
        // A line that finds no room is followed by a newer one.
        screen::write(self.scratch.as_bytes()).map(drop)
    }

    fn draw(&mut self, inks: Inks) -> io::Result<()> {
        match screen::take()? {
            Took::Not => return Ok(()),
            Took::Now => {
                self.shown.reset(0, 0);
                if self.may_ask && self.stop.is_some() && screen::has_keys() {
                    self.may_ask = false;
                    screen::write(QUESTION)?;
                }
            }
            Took::Before => {}
        }
        if !screen::is_free()? {
            return Ok(());
        }
        let (columns, rows) = size()?;
        let Layout { picture, panel, line, log } = self.layout(columns, rows);
        self.wanted.reset(columns, rows);
        let fine = self.fine.filter(|_| self.has_picture);
        if fine.is_some() {
            // Its cells stay empty.
            if picture != self.stands {
                self.shown.reset(0, 0);
            }
        } else if self.has_picture {
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
        let is_cleared = paint(&self.wanted, &mut self.shown, inks, &mut self.bytes);
        if let Some(fine) = fine {
            self.stands = picture;
            // One that was made for another window waits for the next frame.
            let fits = [self.canvas.width(), self.canvas.height()] == fine.size_px(picture, self.image_px);
            if fits && (self.is_new || is_cleared) {
                self.pictures.show(fine.how, &self.canvas, picture, &mut self.bytes);
                self.is_new = false;
            }
        }
        if self.bytes.len() == BEGIN.len() {
            return Ok(());
        }
        self.bytes.extend_from_slice(END);
        screen::write(&self.bytes).map(drop)
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

/// Whether the terminal is asked for finer pictures. Over a network characters are quicker; the kernel's own console writes what it does not
/// know onto the screen.
fn may_ask(kind: Kind, variable: &dyn Fn(&str) -> String) -> bool {
    kind == Kind::Screen(Inks::True)
        && variable("TERM") != "linux"
        && variable("SSH_CONNECTION").is_empty()
        && variable("SSH_TTY").is_empty()
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
        let (columns, rows) = size().map_err(|e| SinkError::retry("terminal", Reason::of(e)))?;
        let picture = self.layout(columns, rows).picture;
        let size_px = match &self.fine {
            Some(fine) => fine.size_px(picture, image_px),
            None => [picture.columns, 2 * picture.rows],
        };
        self.shorter_px = size_px[0].min(size_px[1]);
        Ok(size_px)
    }

    fn is_coarse(&self) -> bool {
        self.shorter_px < COARSE_PX
    }

    fn tell(&mut self, status: &Status) -> bool {
        self.status.clone_from(status);
        true
    }

    fn wants_picture(&mut self) -> bool {
        self.obey();
        let interval = match (self.kind, self.fine) {
            (Kind::Lines, _) => LINE_EVERY,
            (_, Some(_)) => SHORTEST_FINE_INTERVAL,
            (_, None) => SHORTEST_INTERVAL,
        };
        self.last.is_none_or(|t| t.elapsed() >= interval)
    }

    fn show(&mut self, canvas: &Canvas, _stamp: FrameStamp) -> Result<(), SinkError> {
        self.last = Some(Instant::now());
        self.canvas.clone_from(canvas);
        (self.has_picture, self.is_new) = (true, true);
        self.refresh()
    }

    fn idle(&mut self, _now_us: i64) -> Result<(), SinkError> {
        self.obey();
        let Kind::Screen(inks) = self.kind else { return Ok(()) };
        let has_to_say = self.has_picture || self.opened.elapsed() > PATIENCE;
        if has_to_say && self.idled.elapsed() >= IDLE_INTERVAL {
            self.idled = Instant::now();
            self.draw(inks).map_err(|e| SinkError::retry("terminal", Reason::of(e)))?;
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

    #[test]
    fn a_terminal_far_away_or_without_a_window_is_not_asked_for_pixels() {
        let asks = |name: &'static str, value: &'static str| {
            let variable = |asked: &str| if asked == name { value.to_owned() } else { String::new() };
            may_ask(kind(&variable), &variable)
        };
        assert!(asks("TERM", "xterm-kitty") && asks("TERM", ""));
        assert!(!asks("TERM", "linux") && !asks("TERM", "dumb") && !asks("NO_COLOR", "1"));
        assert!(!asks("SSH_CONNECTION", "192.0.2.1 5 192.0.2.2 22") && !asks("SSH_TTY", "/dev/pts/1"));
    }

    #[test]
    fn a_fine_picture_keeps_its_aspect_in_cells_of_any_shape() {
        for cell_px in [[8, 16], [9, 20], [10, 17]] {
            let fine = Fine { how: Graphics::Sixel, cell_px };
            let area = layout(100, 30, fine.shape([640, 480])).picture;
            let [width, height] = fine.size_px(area, [640, 480]);
            assert!((width as f32 / height as f32 - 4.0 / 3.0).abs() < 0.01, "{width} x {height}");
            assert!(width <= area.columns * cell_px[0] && height <= area.rows * cell_px[1]);
            // The cells are filled, but for a part of one.
            assert!(width + cell_px[0] > area.columns * cell_px[0], "{width}: {area:?}");
        }
        let fine = Fine { how: Graphics::Kitty, cell_px: [20, 40] };
        let [width, height] = fine.size_px(Area { columns: 500, rows: 200, ..Area::default() }, [640, 480]);
        assert!(width <= MAX_PX && height <= MAX_PX);
    }
}
