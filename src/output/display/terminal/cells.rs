//! The characters of a screen: what is to stand there, and the bytes that change what stands there now.

use std::io::Write;

use super::super::Canvas;
use super::layout::Area;

/// Red, green, blue.
pub(super) type Rgb = [u8; 3];

/// Behind everything.
pub(super) const GROUND: Rgb = [14, 16, 20];

/// From dark to bright, for terminals that are to show no colours.
const SHADES: &[u8; 10] = b" .:-=+*#%@";

/// One character cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub glyph: char,
    pub front: Rgb,
    pub back: Rgb,
}

const EMPTY: Cell = Cell { glyph: ' ', front: GROUND, back: GROUND };

/// Which colours a terminal gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inks {
    /// 24 bits a pixel, two pixels a cell.
    True,
    /// None (`NO_COLOR`): shades made of characters.
    None,
}

/// A screen's cells, row by row. Keeps its memory from frame to frame.
#[derive(Debug, Default)]
pub(super) struct Grid {
    columns: usize,
    rows: usize,
    cells: Vec<Cell>,
}

impl Grid {
    /// Empty, of this size.
    pub fn reset(&mut self, columns: usize, rows: usize) {
        (self.columns, self.rows) = (columns, rows);
        self.cells.clear();
        self.cells.resize(columns * rows, EMPTY);
    }

    /// What stands at a place; empty outside.
    #[cfg(test)]
    pub fn at(&self, column: usize, row: usize) -> Cell {
        self.cells.get(row * self.columns + column).copied().unwrap_or(EMPTY)
    }

    fn set(&mut self, column: usize, row: usize, cell: Cell) {
        if column < self.columns && row < self.rows {
            self.cells[row * self.columns + column] = cell;
        }
    }

    /// Writes `text` into one row of at most `width` cells, from `column` on, and gives the column behind it. What does not fit
    /// ends in `…`; what is not one cell wide is written as `?`.
    pub fn text(&mut self, column: usize, row: usize, width: usize, text: &str, front: Rgb) -> usize {
        let mut glyphs = text.chars().map(one_cell);
        for i in 0..width {
            let Some(mut glyph) = glyphs.next() else { return column + i };
            if i + 1 == width && glyphs.next().is_some() {
                glyph = '…';
            }
            self.set(column + i, row, Cell { glyph, front, back: GROUND });
        }
        column + width
    }

    /// As [`Self::text`], its end at the right edge of the `width` cells.
    pub fn text_right(&mut self, column: usize, row: usize, width: usize, text: &str, front: Rgb) {
        let spare = width.saturating_sub(text.chars().count());
        self.text(column + spare, row, width - spare, text, front);
    }

    /// Lays `canvas` into `area`, two of its rows a cell: an upper half block in the colours of both.
    pub fn picture(&mut self, area: Area, canvas: &Canvas, inks: Inks) {
        for row in 0..area.rows.min(canvas.height() / 2) {
            for column in 0..area.columns.min(canvas.width()) {
                let (upper, lower) = (canvas.at(column, 2 * row), canvas.at(column, 2 * row + 1));
                let cell = match inks {
                    Inks::True => Cell { glyph: '▀', front: upper, back: lower },
                    Inks::None => {
                        let light: u32 = luma(upper) + luma(lower);
                        let shade = SHADES[light as usize * SHADES.len() / (2 * 256)];
                        Cell { glyph: shade.into(), ..EMPTY }
                    }
                };
                self.set(area.column + column, area.row + row, cell);
            }
        }
    }
}

/// BT.601, 0..=255.
fn luma([r, g, b]: Rgb) -> u32 {
    (77 * u32::from(r) + 150 * u32::from(g) + 29 * u32::from(b)) >> 8
}

/// What a terminal may draw two cells wide, over the one before or not at all would shift all that follows.
fn one_cell(c: char) -> char {
    match c {
        ' '..='~' | '\u{a0}'..='\u{2ff}' | '\u{370}'..='\u{52f}' | '\u{2010}'..='\u{2027}' => c,
        '\u{2190}'..='\u{22ff}' | '\u{2500}'..='\u{25ff}' => c,
        _ => '?',
    }
}

/// Appends what turns the screen, on which `shown` stands, into `wanted`. A screen of another size is cleared and written whole: whether
/// it was.
pub(super) fn paint(wanted: &Grid, shown: &mut Grid, inks: Inks, bytes: &mut Vec<u8>) -> bool {
    let is_fresh = (shown.columns, shown.rows) != (wanted.columns, wanted.rows);
    if is_fresh {
        shown.reset(wanted.columns, wanted.rows);
        bytes.extend_from_slice(b"\x1b[0m\x1b[2J");
    }
    let (mut front, mut back) = (None, None);
    for row in 0..wanted.rows {
        // Where the cursor stands after the last cell written; moving it costs bytes only after a gap.
        let mut cursor_at = None;
        for column in 0..wanted.columns {
            let cell = wanted.cells[row * wanted.columns + column];
            let before = &mut shown.cells[row * wanted.columns + column];
            if *before == cell && !is_fresh {
                continue;
            }
            *before = cell;
            // Writing to a Vec cannot fail.
            if cursor_at != Some(column) {
                let _ = write!(bytes, "\x1b[{};{}H", row + 1, column + 1);
            }
            if inks == Inks::True {
                // Of a blank nobody sees the colour.
                if front != Some(cell.front) && cell.glyph != ' ' {
                    let [r, g, b] = cell.front;
                    let _ = write!(bytes, "\x1b[38;2;{r};{g};{b}m");
                    front = Some(cell.front);
                }
                if back != Some(cell.back) {
                    let [r, g, b] = cell.back;
                    let _ = write!(bytes, "\x1b[48;2;{r};{g};{b}m");
                    back = Some(cell.back);
                }
            }
            bytes.extend_from_slice(cell.glyph.encode_utf8(&mut [0; 4]).as_bytes());
            cursor_at = Some(column + 1);
        }
    }
    is_fresh
}

#[cfg(test)]
mod tests {
    use super::*;

    fn painted(wanted: &Grid, shown: &mut Grid, inks: Inks) -> String {
        let mut bytes = Vec::new();
        paint(wanted, shown, inks, &mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    fn of(canvas: &Canvas, inks: Inks) -> Grid {
        let mut grid = Grid::default();
        grid.reset(canvas.width(), canvas.height() / 2);
        let area = Area { column: 0, row: 0, columns: canvas.width(), rows: canvas.height() / 2 };
        grid.picture(area, canvas, inks);
        grid
    }

    #[test]
    fn only_cells_that_changed_are_written_again() {
        let (mut shown, mut canvas) = (Grid::default(), Canvas::default());
        canvas.reset(3, 4);
        let first = painted(&of(&canvas, Inks::True), &mut shown, Inks::True);
        assert_eq!(first.matches('▀').count(), 6);
        assert_eq!(first.matches("38;2;").count(), 1, "one colour is set once");
        assert_eq!(painted(&of(&canvas, Inks::True), &mut shown, Inks::True), "");
        // Pixel (1, 3) is the lower half of the second cell of the second line.
        canvas.rgb_mut()[3 * (3 * 3 + 1)] = 255;
        let second = painted(&of(&canvas, Inks::True), &mut shown, Inks::True);
        assert_eq!(second, "\x1b[2;2H\x1b[38;2;0;0;0m\x1b[48;2;255;0;0m▀");
        canvas.reset(2, 4);
        let third = painted(&of(&canvas, Inks::True), &mut shown, Inks::True);
        assert_eq!(third.matches('▀').count(), 4);
    }

    #[test]
    fn without_colours_shades_are_characters() {
        let mut canvas = Canvas::default();
        canvas.reset(2, 2);
        canvas.rgb_mut()[..3].fill(255);
        canvas.rgb_mut()[6..9].fill(255);
        let text = painted(&of(&canvas, Inks::None), &mut Grid::default(), Inks::None);
        assert_eq!(text, "\x1b[0m\x1b[2J\x1b[1;1H@ ");
    }

    #[test]
    fn text_stays_in_its_place_whatever_it_holds() {
        let mut grid = Grid::default();
        grid.reset(8, 1);
        let row = |grid: &Grid| (0..8).map(|column| grid.at(column, 0).glyph).collect::<String>();
        assert_eq!(grid.text(1, 0, 5, "abcdefgh", [255; 3]), 6);
        assert_eq!(row(&grid), " abcd…  ");
        grid.reset(8, 1);
        grid.text(0, 0, 8, "a\u{1b}[人\u{301}é", [255; 3]);
        assert_eq!(row(&grid), "a?[??é  ");
        grid.reset(8, 1);
        grid.text_right(2, 0, 5, "1.5", [255; 3]);
        assert_eq!(row(&grid), "    1.5 ");
        // Outside is nowhere.
        grid.text(6, 0, 9, "abc", [255; 3]);
        grid.text(0, 3, 9, "abc", [255; 3]);
        assert_eq!(row(&grid), "    1.ab");
    }
}
