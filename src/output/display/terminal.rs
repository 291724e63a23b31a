//! The terminal: two pixels a character cell, in 24-bit colour.

use std::io::{self, IsTerminal, Stdout, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossterm::{cursor, execute, terminal};

use super::{Canvas, Surface};
use crate::output::SinkError;

/// A terminal over a network takes some hundred kilobytes a second, and the eye is content with this.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(66);

/// No screen has more cells than these; what a terminal claims beyond is left empty.
const MAX_COLUMNS: u16 = 1024;
const MAX_ROWS: u16 = 512;

/// `--display terminal`: each cell is an upper half block, its colours the two pixels. Cells that did not change are not
/// written again.
pub struct Terminal {
    out: Stdout,
    /// The cells on the screen now: upper and lower pixel.
    shown: Vec<[u8; 6]>,
    columns: usize,
    bytes: Vec<u8>,
    last: Option<Instant>,
    is_entered: bool,
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
        #[cfg(unix)]
        signal_hook::flag::register(signal_hook::consts::SIGTSTP, Arc::clone(&is_suspended))
            .map_err(|e| SinkError::Fatal(format!("--display terminal: cannot listen for signals: {e}")))?;
        let (shown, bytes) = (Vec::new(), Vec::new());
        Ok(Self { out, shown, columns: 0, bytes, last: None, is_entered: false, is_suspended })
    }

    /// Gives the shell its screen back and stops, where that was asked for; goes on when the user does.
    fn suspend(&mut self) {
        if self.is_suspended.swap(false, Ordering::AcqRel) {
            self.leave();
            #[cfg(unix)]
            let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP);
        }
    }

    fn leave(&mut self) {
        if std::mem::take(&mut self.is_entered) {
            let _ = self.out.write_all(b"\x1b[0m");
            let _ = execute!(self.out, terminal::LeaveAlternateScreen, cursor::Show);
        }
    }
}

impl Surface for Terminal {
    fn name(&self) -> &str {
        "terminal"
    }

    fn size_px(&mut self, _image_px: [usize; 2]) -> Result<[usize; 2], SinkError> {
        // Asked anew each time: windows are resized.
        let (columns, rows) = terminal::size().map_err(|e| SinkError::Retry(format!("terminal: {e}")))?;
        Ok(pixels(columns, rows))
    }

    fn show(&mut self, canvas: &Canvas, _seq: u64) -> Result<(), SinkError> {
        self.suspend();
        if self.last.is_some_and(|t| t.elapsed() < SHORTEST_INTERVAL) {
            return Ok(());
        }
        self.last = Some(Instant::now());
        let lost = |e: io::Error| match e.kind() {
            io::ErrorKind::BrokenPipe => SinkError::Closed("the terminal is gone".into()),
            _ => SinkError::Retry(format!("terminal: {e}")),
        };
        if !self.is_entered {
            execute!(self.out, terminal::EnterAlternateScreen, cursor::Hide).map_err(lost)?;
            self.is_entered = true;
            self.columns = 0;
        }
        self.bytes.clear();
        paint(canvas, &mut self.columns, &mut self.shown, &mut self.bytes);
        self.out.write_all(&self.bytes).and_then(|()| self.out.flush()).map_err(lost)
    }

    fn idle(&mut self) -> Result<(), SinkError> {
        self.suspend();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), SinkError> {
        self.leave();
        Ok(())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A thread that ends by an error must not leave the user without a cursor.
        self.leave();
    }
}

/// The picture on a terminal of this size.
fn pixels(columns: u16, rows: u16) -> [usize; 2] {
    [columns.clamp(1, MAX_COLUMNS).into(), 2 * usize::from(rows.clamp(1, MAX_ROWS))]
}

/// Appends what turns `shown` into `canvas`, two of its rows a line. A canvas of another shape is painted whole.
fn paint(canvas: &Canvas, columns: &mut usize, shown: &mut Vec<[u8; 6]>, bytes: &mut Vec<u8>) {
    let rows = canvas.height() / 2;
    let is_fresh = *columns != canvas.width() || shown.len() != rows * canvas.width();
    if is_fresh {
        *columns = canvas.width();
        shown.clear();
        shown.resize(rows * *columns, [0; 6]);
        bytes.extend_from_slice(b"\x1b[0m\x1b[2J");
    }
    let mut colours = None;
    for row in 0..rows {
        // Where the cursor stands after the last cell written; moving it costs bytes only after a gap.
        let mut cursor_at = None;
        for column in 0..*columns {
            let (upper, lower) = (canvas.at(column, 2 * row), canvas.at(column, 2 * row + 1));
            let cell = [upper[0], upper[1], upper[2], lower[0], lower[1], lower[2]];
            let before = &mut shown[row * *columns + column];
            if *before == cell && !is_fresh {
                continue;
            }
            *before = cell;
            // Writing to a Vec cannot fail.
            if cursor_at != Some(column) {
                let _ = write!(bytes, "\x1b[{};{}H", row + 1, column + 1);
            }
            if colours != Some(cell) {
                let [r, g, b, r2, g2, b2] = cell;
                let _ = write!(bytes, "\x1b[38;2;{r};{g};{b};48;2;{r2};{g2};{b2}m");
                colours = Some(cell);
            }
            bytes.extend_from_slice("▀".as_bytes());
            cursor_at = Some(column + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn painted(canvas: &Canvas, columns: &mut usize, shown: &mut Vec<[u8; 6]>) -> String {
        let mut bytes = Vec::new();
        paint(canvas, columns, shown, &mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_terminal_that_claims_to_be_endless_gets_a_picture_that_can_be_held() {
        let [width, height] = pixels(u16::MAX, u16::MAX);
        assert!(3 * width * height < 4 << 20);
        assert_eq!((pixels(80, 24), pixels(0, 0)), ([80, 48], [1, 2]));
    }

    #[test]
    fn only_cells_that_changed_are_written_again() {
        let (mut columns, mut shown, mut canvas) = (0, Vec::new(), Canvas::default());
        canvas.reset(3, 4);
        let first = painted(&canvas, &mut columns, &mut shown);
        assert_eq!(first.matches('▀').count(), 6);
        assert_eq!(first.matches("38;2;").count(), 1, "one colour is set once");
        assert_eq!(painted(&canvas, &mut columns, &mut shown), "");
        // Pixel (1, 3) is the lower half of the second cell of the second line.
        canvas.rgb_mut()[3 * (3 * 3 + 1)] = 255;
        assert_eq!(painted(&canvas, &mut columns, &mut shown), "\x1b[2;2H\x1b[38;2;0;0;0;48;2;255;0;0m▀");
        canvas.reset(2, 4);
        assert_eq!(painted(&canvas, &mut columns, &mut shown).matches('▀').count(), 4);
    }
}
