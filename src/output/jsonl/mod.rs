//! JSON lines, and the other ways to write poses as text: one complete line after the other.
//!
//! | [`Format`] | a line is | |
//! |---|---|---|
//! | `full` | a frame | all that is known of it; what everything of Posewire's own reads |
//! | `named` | a frame | joints by their names |
//! | `coco` | a person | an element of COCO's keypoint results |
//! | `flat` | a person | a number a key: what tables are made of |
//! | `csv` | a person | the cells of `flat` under a row of their names |
//!
//! Places are pixels of the source image (but `coco`'s, see there), sigma pixels, 3D metres from the hips, a person's place metres
//! before the camera. Numbers are the shortest decimals that read back as the same `f32`: nothing is rounded on the way. Allocates
//! nothing where there is room.

mod cells;
mod coco;
mod csv;
mod flat;
mod full;
mod named;
mod sink;
mod stills;
mod values;

#[cfg(test)]
mod tests;

use std::str::FromStr;

use pose::{Floor, Pose, PoseFrame, Stamped};

use super::Host;
use crate::names::{name_of, one_of};

pub use sink::JsonLines;
pub use stills::Still;

/// Room for the lines of one frame with every person and 3D, and for a table's first row: `flat` takes the most, some 5 KB
/// a person.
const CAPACITY: usize = 64 * 1024;

/// What a line says of its source where nobody is there; lines of cameras and files say nothing.
pub const BUILT_IN: &str = "built-in clip";

/// What a line is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// A frame: all that is known.
    #[default]
    Full,
    /// A frame, its joints by name.
    Named,
    /// A person, as COCO's results have them.
    Coco,
    /// A person, one number a key.
    Flat,
    /// A person's row of a table.
    Csv,
}

const FORMATS: [(&str, Format); 5] = [
    ("full", Format::Full),
    ("named", Format::Named),
    ("coco", Format::Coco),
    ("flat", Format::Flat),
    ("csv", Format::Csv),
];

impl FromStr for Format {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        one_of("format of lines", word, &FORMATS)
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(name_of(*self, &FORMATS))
    }
}

/// What lines say of a frame besides its persons.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Head<'a> {
    /// Counts processed frames, or moments of sending.
    pub seq: u64,
    /// The source's own number, where somebody knows it.
    pub frame: Option<u64>,
    /// When the light fell.
    pub captured_at_us: i64,
    /// The moment of sending.
    pub emitted_at_us: i64,
    /// Width and height of the picture that places refer to, where somebody knows them.
    pub size_px: Option<[u32; 2]>,
    /// [`BUILT_IN`] or nothing.
    pub source: Option<&'a str>,
    /// Where it is known.
    pub floor: Option<Floor>,
}

impl<'a> Head<'a> {
    /// Of a frame that is sent at `now_us`; `host` knows where frames come from.
    pub(super) fn of(frame: &PoseFrame, now_us: i64, host: Option<&'a dyn Host>) -> Self {
        Self {
            seq: frame.seq,
            frame: Some(frame.frame),
            captured_at_us: frame.captured_at_us,
            emitted_at_us: now_us,
            size_px: Some([frame.width, frame.height]),
            source: source_of(host, frame.frame),
            floor: frame.floor,
        }
    }
}

impl Format {
    /// Every format, `full` first.
    pub const ALL: [Self; 5] = [Self::Full, Self::Named, Self::Coco, Self::Flat, Self::Csv];

    /// Appends what stands before the first line, newline included: nothing, but for a table the names of its columns.
    pub fn write_first_row(self, to: &mut Vec<u8>) {
        if self == Self::Csv {
            csv::write_first_row(to, &Head::default().cells());
        }
    }

    /// Whether there is a first row.
    pub fn has_first_row(self) -> bool {
        self == Self::Csv
    }

    /// Appends the lines of one frame, newlines included: one, or as many as there are persons.
    pub fn write(self, to: &mut Vec<u8>, head: &Head<'_>, poses: impl Iterator<Item = Stamped<Pose>>) {
        let poses = poses.map(|pose| pose.value);
        match self {
            Self::Full => full::write_line(to, head, poses),
            Self::Named => named::write_line(to, head, poses),
            Self::Coco => poses.for_each(|pose| coco::write_line(to, head, &pose)),
            Self::Flat => {
                poses.for_each(|pose| flat::write_line(to, &head.cells(), head.floor.as_ref(), &pose))
            }
            Self::Csv => poses.for_each(|pose| csv::write_row(to, &head.cells(), head.floor.as_ref(), &pose)),
        }
    }

    /// How every line begins that is an object; a table's rows begin in no way of their own.
    fn beginning(self) -> &'static [u8] {
        match self {
            Self::Full | Self::Named | Self::Flat => b"{\"seq\":",
            Self::Coco => b"{\"image_id\":",
            Self::Csv => b"",
        }
    }
}

/// What lines are to say of the source of this frame.
pub(super) fn source_of(host: Option<&dyn Host>, frame: u64) -> Option<&'static str> {
    host.filter(|host| host.is_built_in(frame)).map(|_| BUILT_IN)
}
