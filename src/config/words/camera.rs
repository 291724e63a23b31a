//! Values that speak of the camera and its pictures.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use super::AUTO;
use crate::config::NONE;
use crate::names::{name_of, one_of};
use crate::picture::PixelFormat;

/// Which of a camera's pixel formats is asked for; `None` takes what serves best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CameraFormat(pub Option<PixelFormat>);

const FORMATS: [(&str, Option<PixelFormat>); 6] = [
    ("auto", None),
    ("mjpeg", Some(PixelFormat::Mjpeg)),
    ("yuyv", Some(PixelFormat::Yuyv)),
    ("nv12", Some(PixelFormat::Nv12)),
    ("grey", Some(PixelFormat::Grey)),
    ("rgb24", Some(PixelFormat::Rgb24)),
];

impl FromStr for CameraFormat {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        one_of("format", word, &FORMATS).map(Self)
    }
}

impl fmt::Display for CameraFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name_of(self.0, &FORMATS))
    }
}

/// By how much pictures are turned, clockwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    quarters: u8,
}

impl Rotation {
    /// Quarters of a full turn: 0 to 3.
    pub fn quarters(self) -> u8 {
        self.quarters
    }
}

impl FromStr for Rotation {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        match word.parse() {
            Ok(degrees @ (0 | 90 | 180 | 270)) => Ok(Self { quarters: (degrees / 90) as u8 }),
            _ => Err(format!("'{word}' is no turn of a picture: 0, 90, 180 or 270 degrees clockwise")),
        }
    }
}

impl fmt::Display for Rotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (90 * u16::from(self.quarters)).fmt(f)
    }
}

/// Width and height on the command line: `640x480`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
}

impl Size {
    /// What a side may be, pixels.
    pub const SIDES: RangeInclusive<u32> = 16..=8192;
}

impl FromStr for Size {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        let side = |text: &str| text.parse::<u32>().ok().filter(|side| Self::SIDES.contains(side));
        let sides = word.split_once(['x', 'X', '×']).and_then(|(w, h)| Some((side(w)?, side(h)?)));
        let (width, height) =
            sides.ok_or_else(|| format!("'{word}' is no size: WIDTHxHEIGHT in pixels, as in 640x480"))?;
        Ok(Self { width, height })
    }
}

/// How much of a picture's brightness is taken away, in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percent(u8);

impl Percent {
    /// 0 to 100.
    pub fn get(self) -> u8 {
        self.0
    }
}

impl FromStr for Percent {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        let percent = word.parse().ok().filter(|percent| *percent <= 100);
        percent.map(Self).ok_or_else(|| format!("'{word}' is no share: give percent, 0 to 100"))
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where the camera's lens is told of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Calibration {
    /// By the camera's USB id.
    #[default]
    Auto,
    /// Nowhere.
    None,
    /// In this file.
    File(PathBuf),
}

impl FromStr for Calibration {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        Ok(match word {
            "" => return Err("nothing is named: a file, auto or none".into()),
            AUTO => Self::Auto,
            NONE => Self::None,
            path => Self::File(path.into()),
        })
    }
}

impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str(AUTO),
            Self::None => f.write_str(NONE),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// The word for what nobody has measured.
const UNKNOWN: &str = "unknown";

/// A number that somebody may have measured: its type, its word for nothing, what it may be, and what is said of others.
macro_rules! measured {
    ($(#[$doc:meta])* $type:ident, $unit:ident, $nothing:ident, $range:expr, $is:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $type(Option<f64>);

        impl $type {
            /// In that unit, where somebody has said.
            pub fn $unit(self) -> Option<f64> {
                self.0
            }
        }

        impl FromStr for $type {
            type Err = String;
            fn from_str(word: &str) -> Result<Self, String> {
                if word == $nothing {
                    return Ok(Self(None));
                }
                let number = word.parse().ok().filter(|number| $range.contains(number));
                number
                    .map(|number| Self(Some(number)))
                    .ok_or_else(|| format!("'{word}' is no {}, or {}", $is, $nothing))
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.0 {
                    Some(number) => number.fmt(f),
                    None => f.write_str($nothing),
                }
            }
        }
    };
}

measured!(
    /// Degrees that a camera sees across its picture: a pinhole sees no half circle, and a telescope no people.
    FieldOfView, degrees, NONE, (5.0..=150.0), "field of view: degrees across the picture, 5 to 150"
);
measured!(
    /// How tall persons are, metres.
    PersonHeight, metres, UNKNOWN, (0.5..=2.5), "height of a person: metres, 0.5 to 2.5"
);
measured!(
    /// How high the camera is above the floor, metres.
    CameraHeight, metres, UNKNOWN, (0.3..=20.0), "height of a camera above the floor: metres, 0.3 to 20"
);
