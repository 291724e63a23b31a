//! `csv`: a row a person under a row of names (RFC 4180, lines ended by a line feed): the cells of `flat`.
//!
//! ```csv
//! seq,frame,captured_us,emitted_us,width,height,source,floor_height, … ,id,score,box_x,box_y,box_w,box_h,nose_x,nose_y,nose_score,nose_sigma,nose_state,…
//! 0,0,1000,9000,640,480,,, … ,1,0.93,80.5,40,95,300.25,120.5,60,0.97,1.5,measured,…
//! ```
//!
//! What is not known is an empty cell.

use std::io::Write;

use pose::{Floor, Pose};

use super::cells::{Cell, HeadCell, cells};
use super::values::number;

/// The names of the columns, of which those in `head` come first.
pub(super) fn write_first_row(to: &mut Vec<u8>, head: &[HeadCell<'_>]) {
    let mut before = "";
    cells(head, None, &Pose::default(), |column, _| {
        // Writing to a Vec cannot fail.
        let _ = write!(to, "{before}{column}");
        before = ",";
    });
    to.push(b'\n');
}

pub(super) fn write_row(to: &mut Vec<u8>, head: &[HeadCell<'_>], floor: Option<&Floor>, pose: &Pose) {
    let mut is_first = true;
    cells(head, floor, pose, |_, cell| {
        if !std::mem::take(&mut is_first) {
            to.push(b',');
        }
        match cell {
            Cell::Empty => {}
            Cell::Whole(value) => {
                let _ = write!(to, "{value}");
            }
            Cell::Real(value) => number(to, value),
            Cell::Word(word) => self::word(to, word),
        }
    });
    to.push(b'\n');
}

/// In quotes where it would be taken for more than one cell; quotes inside are doubled.
fn word(to: &mut Vec<u8>, word: &str) {
    if !word.contains([',', '"', '\n', '\r']) {
        return to.extend_from_slice(word.as_bytes());
    }
    to.push(b'"');
    for byte in word.bytes() {
        to.push(byte);
        if byte == b'"' {
            to.push(byte);
        }
    }
    to.push(b'"');
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_word_with_a_comma_or_a_quote_stays_one_cell() {
        for (word, cell) in
            [("built-in clip", "built-in clip"), ("a,b", "\"a,b\""), ("a \"b\"\n", "\"a \"\"b\"\"\n\"")]
        {
            let mut to = Vec::new();
            super::word(&mut to, word);
            assert_eq!(String::from_utf8(to).unwrap(), cell);
        }
    }
}
