//! What stands beside and below the picture: how the tracker is, whom it sees, what the log says.

use std::fmt::Write;

use pose_draw::colour_of;

use super::super::Status;
use super::cells::{Grid, Rgb};
use super::layout::Area;
use super::log::{Grade, Line};

const WHITE: Rgb = [255, 255, 255];
const TEXT: Rgb = [208, 212, 220];
const DIM: Rgb = [116, 122, 134];
const RULE: Rgb = [56, 60, 70];
const AMBER: Rgb = [240, 180, 60];
const RED: Rgb = [244, 96, 88];

/// A panel so wide shows bars of scores.
const WITH_BARS: usize = 22;
/// A wider one stays free on the right.
const WIDEST: usize = 44;
/// Eighths of a cell, from the left.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// One thing a line: name on the left, value on the right.
/// `ends` says what ends the program.
pub(super) fn panel(grid: &mut Grid, area: Area, status: &Status, ends: &str, scratch: &mut String) {
    // A value is found more easily near its name, and does not touch the window's edge.
    let column = area.column;
    let columns = (area.columns - usize::from(area.columns >= WITH_BARS)).min(WIDEST);
    let end = area.row + area.rows;
    let is_airy = area.rows >= 16;
    let mut row = area.row;
    grid.text(column, row, columns, "posewire", WHITE);
    if let Some(vitals) = status.vitals {
        let seconds = vitals.uptime_ms / 1_000;
        told(scratch, format_args!("{}:{:02}", seconds / 60, seconds % 60));
        if columns >= 8 + 2 + scratch.len() {
            grid.text_right(column, row, columns, scratch, DIM);
        }
    }
    row += 1 + usize::from(is_airy);
    let mut line = |grid: &mut Grid, name: &str, value: &str, colour: Rgb| {
        if row < end {
            // Where both do not fit, the value says what it is.
            if name.len() + 1 + value.chars().count() <= columns {
                grid.text(column, row, columns, name, DIM);
                grid.text_right(column, row, columns, value, colour);
            } else {
                grid.text(column, row, columns, value, colour);
            }
            row += 1;
        }
    };
    if let Some(vitals) = status.vitals {
        line(grid, "fps", told(scratch, format_args!("{:.1}", vitals.frame_rate_hz)), TEXT);
        if let Some(age_us) = vitals.age_us {
            line(grid, "age", told(scratch, format_args!("{:.0} ms", age_us as f32 / 1e3)), TEXT);
        }
        line(grid, "dropped", told(scratch, format_args!("{}", vitals.frames_dropped)), TEXT);
        if let Some(celsius) = vitals.temperature_c {
            let (colour, slow) = match vitals.throttled {
                Some(true) => (RED, ", throttled"),
                Some(false) | None => (TEXT, ""),
            };
            line(grid, "board", told(scratch, format_args!("{celsius:.0} °C{slow}")), colour);
        }
        line(grid, "source", status.source(), if status.is_lost() { RED } else { TEXT });
        line(grid, "engine", status.engine(), TEXT);
    } else {
        line(grid, "source", status.source(), TEXT);
    }
    if status.image_px != [0, 0] && is_airy {
        let [width, height] = status.image_px;
        line(grid, "picture", told(scratch, format_args!("{width}×{height}")), TEXT);
    }
    row += usize::from(is_airy);
    let seen = status.persons.iter().flatten().count();
    // The last line is the keys'.
    let end = end.saturating_sub(1);
    if row < end {
        match seen {
            0 => told(scratch, format_args!("nobody")),
            1 => told(scratch, format_args!("1 person")),
            n => told(scratch, format_args!("{n} persons")),
        };
        grid.text(column, row, columns, scratch, if seen == 0 { DIM } else { WHITE });
    }
    for person in status.persons.iter().flatten() {
        row += 1;
        if row >= end {
            break;
        }
        let colour = colour_of(person.track_id);
        told(scratch, format_args!("#{}", person.track_id));
        let after = grid.text(column, row, columns, scratch, colour) - column;
        told(scratch, format_args!("{:.2}", person.score));
        grid.text_right(column, row, columns, scratch, TEXT);
        if columns >= WITH_BARS {
            let start = after.max(4) + 1;
            bar(scratch, columns - start - 6, person.score);
            grid.text(column + start, row, columns - start - 6, scratch, colour);
        }
    }
    if area.rows > 8 {
        grid.text(column, area.row + area.rows - 1, columns, ends, DIM);
    }
}

/// A bar of at most `width` cells, `share` of them filled.
fn bar(text: &mut String, width: usize, share: f32) {
    let eighths = (8.0 * width as f32 * share.clamp(0.0, 1.0)).round() as usize;
    text.clear();
    (0..eighths / 8).for_each(|_| text.push('█'));
    text.push_str(EIGHTHS[eighths % 8]);
}

fn told<'a>(scratch: &'a mut String, what: std::fmt::Arguments<'_>) -> &'a str {
    scratch.clear();
    // Writing to a String cannot fail.
    let _ = scratch.write_fmt(what);
    scratch
}

/// All of it in one line, for narrow windows and for terminals without a screen.
pub(super) fn in_one_line(status: &Status, text: &mut String) {
    text.clear();
    if let Some(vitals) = status.vitals {
        let _ = write!(text, "{:.1} fps", vitals.frame_rate_hz);
        if let Some(age_us) = vitals.age_us {
            let _ = write!(text, ", {:.0} ms old", age_us as f32 / 1e3);
        }
        if vitals.frames_dropped > 0 {
            let _ = write!(text, ", {} dropped", vitals.frames_dropped);
        }
        text.push_str(", ");
    }
    let seen = status.persons.iter().flatten().count();
    let _ = match seen {
        0 => write!(text, "nobody"),
        1 => write!(text, "1 person:"),
        n => write!(text, "{n} persons:"),
    };
    for person in status.persons.iter().flatten() {
        let _ = write!(text, " #{} {:.2}", person.track_id, person.score);
    }
    let _ = write!(text, ", {}", status.source());
    if !status.engine().is_empty() {
        let _ = write!(text, ", {}", status.engine());
    }
}

/// [`in_one_line`] on the screen.
pub(super) fn line(grid: &mut Grid, area: Area, status: &Status, scratch: &mut String) {
    in_one_line(status, scratch);
    grid.text(area.column, area.row, area.columns, scratch, if status.is_lost() { RED } else { TEXT });
}

/// In the place of the first picture.
pub(super) fn waiting(grid: &mut Grid, area: Area, status: &Status) {
    let text =
        if status.is_lost() { "looking for the camera …" } else { "waiting for the first picture …" };
    let width = text.chars().count().min(area.columns);
    grid.text(area.column + (area.columns - width) / 2, area.row + area.rows / 2, width, text, DIM);
}

/// The last lines that fit, the newest last; long ones go on below, indented.
pub(super) fn log(grid: &mut Grid, area: Area, lines: &[Line]) {
    let mut area = area;
    if area.rows >= 5 {
        for column in area.column..area.column + area.columns {
            grid.text(column, area.row, 1, "─", RULE);
        }
        (area.row, area.rows) = (area.row + 1, area.rows - 1);
    }
    if area.rows == 0 || area.columns == 0 {
        return;
    }
    let width = area.columns;
    let rows_of = |line: &Line| wrapped(&line.text, width).count();
    let mut first = lines.len();
    let mut rows = 0;
    while first > 0 && rows < area.rows {
        first -= 1;
        rows += rows_of(&lines[first]);
    }
    // Of the oldest line shown, the beginning may not fit.
    let mut left_out = rows.saturating_sub(area.rows);
    let mut row = area.row;
    for (i, line) in lines[first..].iter().enumerate() {
        let colour = match line.grade {
            Grade::Error => RED,
            Grade::Warning => AMBER,
            Grade::Other if first + i + 1 == lines.len() => TEXT,
            Grade::Other => DIM,
        };
        for (indent, part) in wrapped(&line.text, width) {
            if left_out > 0 {
                left_out -= 1;
                continue;
            }
            grid.text(area.column + indent, row, width - indent, part, colour);
            row += 1;
        }
    }
}

/// How far the second and later rows of a line stand to the right.
const INDENT: usize = 2;

/// The rows of a line in so many columns, each with its indent; broken at a blank where there is one.
fn wrapped(text: &str, width: usize) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = Some(text);
    let mut indent = 0;
    std::iter::from_fn(move || {
        let text = rest?;
        let room = width.saturating_sub(indent).max(1);
        let before = indent;
        indent = if width > 4 * INDENT { INDENT } else { 0 };
        let Some((cut, behind)) = text.char_indices().nth(room) else {
            rest = None;
            return Some((before, text));
        };
        // One blank behind the cut is where a word ends too.
        let word_end = text[..cut + behind.len_utf8()].rfind(' ').filter(|&at| 2 * at > cut);
        let end = word_end.unwrap_or(cut);
        rest = Some(text[end..].trim_start()).filter(|rest| !rest.is_empty());
        Some((before, &text[..end]))
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::Seen;
    use super::*;
    use crate::output::{Source, Vitals};

    fn rows(grid: &Grid, area: Area) -> Vec<String> {
        let row =
            |row| (0..area.columns).map(move |column| grid.at(area.column + column, area.row + row).glyph);
        (0..area.rows).map(|r| row(r).collect::<String>().trim_end().to_owned()).collect()
    }

    fn status() -> Status {
        let mut engine = [0; 16];
        engine[..9].copy_from_slice(b"int8 avx2");
        let vitals = Vitals {
            engine,
            frame_rate_hz: 29.9,
            age_us: Some(41_400),
            frames_dropped: 3,
            uptime_ms: 83_000,
            source: Source::BuiltIn,
            ..Vitals::default()
        };
        let mut status = Status { vitals: Some(vitals), image_px: [640, 480], ..Status::default() };
        status.see_persons([Seen { track_id: 1, score: 0.93 }, Seen { track_id: 4, score: 0.5 }].into_iter());
        status
    }

    #[test]
    fn a_wide_panel_says_everything() {
        let area = Area { column: 3, row: 1, columns: 27, rows: 16 };
        let mut grid = Grid::default();
        grid.reset(40, 20);
        panel(&mut grid, area, &status(), "q ends", &mut String::new());
        let found = rows(&grid, area);
        let wanted = [
            "posewire              1:23",
            "",
            "fps                   29.9",
            "age                  41 ms",
            "dropped                  3",
            "source       built-in clip",
            "engine           int8 avx2",
            "picture            640×480",
            "",
            "2 persons",
            "#1   ██████████████   0.93",
            "#4   ███████▌         0.50",
            "",
            "",
            "",
            "q ends",
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_narrow_panel_keeps_the_values() {
        let area = Area { column: 0, row: 0, columns: 13, rows: 10 };
        let mut grid = Grid::default();
        grid.reset(13, 10);
        panel(&mut grid, area, &status(), "q ends", &mut String::new());
        let found = rows(&grid, area);
        assert_eq!(
            &found[..6],
            ["posewire", "fps      29.9", "age     41 ms", "dropped     3", "built-in clip", "int8 avx2"]
        );
        assert_eq!(&found[6..], ["2 persons", "#1       0.93", "#4       0.50", "q ends"]);
    }

    #[test]
    fn one_line_says_it_too() {
        let mut text = String::new();
        in_one_line(&status(), &mut text);
        assert_eq!(
            text,
            "29.9 fps, 41 ms old, 3 dropped, 2 persons: #1 0.93 #4 0.50, built-in clip, int8 avx2"
        );
    }

    #[test]
    fn the_log_shows_the_end_of_what_does_not_fit() {
        let line = |text: &str| Line { grade: Grade::Other, text: text.into() };
        let lines = [line("old"), line("one two three four five six"), line("new")];
        let area = Area { column: 0, row: 0, columns: 12, rows: 5 };
        let mut grid = Grid::default();
        grid.reset(12, 5);
        log(&mut grid, area, &lines);
        let end = ["one two", "  three four", "  five six", "new"];
        assert_eq!(
            (&*rows(&grid, area)[0], &rows(&grid, area)[1..]),
            ("────────────", &end.map(String::from)[..])
        );
        let area = Area { rows: 2, ..area };
        grid.reset(12, 5);
        log(&mut grid, area, &lines);
        assert_eq!(rows(&grid, area), ["  five six", "new"]);
    }

    #[test]
    fn lines_break_at_blanks_and_words_where_there_are_none() {
        let parts = |text, width| wrapped(text, width).map(|(_, part)| part).collect::<Vec<_>>();
        assert_eq!(parts("one two three", 9), ["one two", "three"]);
        assert_eq!(parts("abcdefghijklm", 9), ["abcdefghi", "jklm"]);
        assert_eq!(parts("äöü äöü äöü", 3), ["äöü", "äöü", "äöü"]);
        assert_eq!(parts("abcä efg", 3), ["abc", "ä e", "fg"]);
        assert_eq!(parts("", 3), [""]);
    }
}
