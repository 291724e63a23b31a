//! A chessboard to print: one page of PDF, to scale.

use std::fmt::Write;
use std::str::FromStr;

use super::Board;

/// Points of PDF in a millimetre.
const PT: f64 = 72.0 / 25.4;
/// What no printer leaves out, mm; below the board stands a line of text.
const MARGIN_MM: f64 = 12.0;
const TEXT_MM: f64 = 8.0;
/// Smaller squares are not found from where a camera sees sharp.
const MIN_SQUARE_MM: u32 = 5;

/// The paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paper {
    /// 297 × 210 mm.
    #[default]
    A4,
    /// 420 × 297 mm.
    A3,
    /// 279.4 × 215.9 mm.
    Letter,
}

impl FromStr for Paper {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        crate::names::one_of("paper", word, &[("a4", Self::A4), ("a3", Self::A3), ("letter", Self::Letter)])
    }
}

impl Paper {
    /// On its side, mm.
    fn size_mm(self) -> [f64; 2] {
        match self {
            Self::A4 => [297.0, 210.0],
            Self::A3 => [420.0, 297.0],
            Self::Letter => [279.4, 215.9],
        }
    }
}

/// A page with the board, and how large its squares are, mm: as large as the paper holds, whole millimetres.
///
/// # Errors
/// The paper is too small for so many squares.
pub fn sheet(board: Board, paper: Paper) -> Result<(Vec<u8>, u32), String> {
    let [width_mm, height_mm] = paper.size_mm();
    let (columns, rows) = (board.columns + 1, board.rows + 1);
    let room = |all_mm: f64, squares: usize| (all_mm - 2.0 * MARGIN_MM) / squares as f64;
    let square_mm = room(width_mm, columns).min(room(height_mm - TEXT_MM, rows)).floor() as u32;
    if square_mm < MIN_SQUARE_MM {
        return Err(format!(
            "{}x{} corners are too many for this paper: squares of {square_mm} mm; name fewer, or --paper a3",
            board.columns, board.rows
        ));
    }
    let side = f64::from(square_mm) * PT;
    let left = 0.5 * (width_mm * PT - columns as f64 * side);
    let bottom = 0.5 * ((height_mm + TEXT_MM) * PT - rows as f64 * side);
    // Writing to a String cannot fail.
    let mut drawn = String::from("0 g\n");
    for (i, j) in (0..rows).flat_map(|j| (0..columns).map(move |i| (i, j))).filter(|(i, j)| (i + j) % 2 == 0)
    {
        let (x, y) = (left + i as f64 * side, bottom + j as f64 * side);
        let _ = writeln!(drawn, "{x:.3} {y:.3} {side:.3} {side:.3} re");
    }
    drawn += "f\n";
    let told = format!(
        "posewire calibrate --board {}x{}    squares of {square_mm} mm: print at 100 %, glue it to something flat",
        board.columns, board.rows
    );
    let _ = writeln!(drawn, "BT /F 9 Tf {:.3} {:.3} Td ({told}) Tj ET", left, (MARGIN_MM - 5.0) * PT);
    Ok((page([width_mm * PT, height_mm * PT], &drawn), square_mm))
}

/// A file of one page: five objects and where each begins (ISO 32000, 7.5).
fn page([width, height]: [f64; 2], drawn: &str) -> Vec<u8> {
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.3} {height:.3}] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>"
        ),
        format!("<< /Length {} >>\nstream\n{drawn}endstream", drawn.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let mut pdf = String::from("%PDF-1.4\n");
    let mut begins = Vec::new();
    for (number, object) in (1..).zip(&objects) {
        begins.push(pdf.len());
        let _ = write!(pdf, "{number} 0 obj\n{object}\nendobj\n");
    }
    let table = pdf.len();
    let _ = write!(pdf, "xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for begin in begins {
        let _ = writeln!(pdf, "{begin:010} 00000 n ");
    }
    let size = objects.len() + 1;
    let _ = write!(pdf, "trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n");
    pdf.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::{Grey, find_corners};
    use super::*;

    const BOARD: Board = Board { columns: 9, rows: 6 };

    /// The page's black squares, painted at 2 pixels a point.
    fn painted(pdf: &str, [width, height]: [usize; 2]) -> Vec<u8> {
        let mut grey = vec![255; width * height];
        for line in pdf.lines().filter_map(|line| line.strip_suffix(" re")) {
            let [x, y, w, h]: [f64; 4] = line
                .split(' ')
                .map(|v| 2.0 * v.parse::<f64>().unwrap())
                .collect::<Vec<_>>()
                .try_into()
                .unwrap();
            for row in (height as f64 - y - h) as usize..(height as f64 - y) as usize {
                grey[row * width + x as usize..row * width + (x + w) as usize].fill(0);
            }
        }
        grey
    }

    #[test]
    fn the_printed_board_is_the_one_that_is_looked_for() {
        for (board, paper) in
            [(BOARD, Paper::A4), (BOARD, Paper::Letter), (Board { columns: 7, rows: 5 }, Paper::A3)]
        {
            let (pdf, square_mm) = sheet(board, paper).unwrap();
            let pdf = String::from_utf8(pdf).unwrap();
            let [width, height] = paper.size_mm().map(|mm| (2.0 * mm * PT) as usize);
            let bytes = painted(&pdf, [width, height]);
            let view =
                find_corners(Grey { bytes: &bytes, width, height }, board).expect("the board is there");
            assert!(view.is_whole);
            let [a, b] = [0, 1].map(|i| view.corners[i].seen_px);
            let apart_mm = (b[0] - a[0]).hypot(b[1] - a[1]) / (2.0 * PT);
            assert!(
                (apart_mm - f64::from(square_mm)).abs() < 0.3,
                "{paper:?}: {apart_mm} mm for {square_mm}"
            );
        }
    }

    #[test]
    fn every_object_begins_where_the_table_says() {
        let pdf = String::from_utf8(sheet(BOARD, Paper::A4).unwrap().0).unwrap();
        let table = pdf.find("xref\n").unwrap();
        assert!(pdf.ends_with(&format!("startxref\n{table}\n%%EOF\n")));
        let begins = pdf[table..].lines().skip(3).take(5).map(|line| line[..10].parse::<usize>().unwrap());
        for (number, begin) in (1..).zip(begins) {
            assert!(pdf[begin..].starts_with(&format!("{number} 0 obj\n")), "object {number}");
        }
        let drawn = pdf.split("stream\n").nth(1).unwrap().strip_suffix("end").unwrap();
        assert!(pdf.contains(&format!("/Length {} ", drawn.len())));
    }

    #[test]
    fn too_many_squares_are_refused() {
        assert!(sheet(Board { columns: 30, rows: 30 }, Paper::A4).is_ok());
        assert!(sheet(Board { columns: 60, rows: 60 }, Paper::A4).unwrap_err().contains("--paper a3"));
    }
}
