//! `flat`: a line a person, one number a key, every key in every line: `pandas.read_json(path, lines=True)` is a table.
//!
//! ```json
//! {"seq":0,"frame":0,"captured_us":1000,"emitted_us":9000,"width":640,"height":480,"source":null,"floor_height":null, …,
//!  "id":1,"score":0.93,"box_x":80.5, …,
//!  "nose_x":120.5,"nose_y":60,"nose_score":0.97,"nose_sigma":1.5,"nose_state":"measured", …,"nose_x3d":0.01, …}
//! ```
//!
//! What is not known is null: the place of an absent joint, 3D where the smoother gives none.

use std::io::Write;

use pose::{Floor, Pose};

use super::cells::{Cell, HeadCell, cells};
use super::values::{number, text};

pub(super) fn write_line(to: &mut Vec<u8>, head: &[HeadCell<'_>], floor: Option<&Floor>, pose: &Pose) {
    let mut before = '{';
    cells(head, floor, pose, |column, cell| {
        // Writing to a Vec cannot fail.
        let _ = write!(to, "{before}\"{column}\":");
        before = ',';
        match cell {
            Cell::Empty => to.extend_from_slice(b"null"),
            Cell::Whole(value) => {
                let _ = write!(to, "{value}");
            }
            Cell::Real(value) => number(to, value),
            Cell::Word(word) => text(to, word),
        }
    });
    to.extend_from_slice(b"}\n");
}
