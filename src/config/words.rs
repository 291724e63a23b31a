//! Values that are written as a word or a number, in the file and on the command line alike.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::NONE;
use crate::infer::Engine;
use crate::names::{name_of, one_of};
use crate::output::Predict;
use crate::output::display::{DisplayStyle, DisplayTarget};
use crate::output::jsonl::Format;
use crate::picture::PixelFormat;

/// Reads a flag's value, which may not be empty.
pub(super) fn given<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, String> {
    if text.is_empty() {
        return Err("nothing is given: name a value, or leave the option out".into());
    }
    text.parse().map_err(|e: T::Err| e.to_string())
}

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
            Ok(-90) => Ok(Self { quarters: 3 }),
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

/// What becomes of JSON lines that are in the file at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExistingLines {
    /// Kept by a service, which is started again and again; replaced otherwise.
    #[default]
    Auto,
    /// New lines follow them.
    Append,
    /// The first new line takes their place.
    Replace,
}

const EXISTING: [(&str, ExistingLines); 3] =
    [("auto", ExistingLines::Auto), ("append", ExistingLines::Append), ("replace", ExistingLines::Replace)];

impl FromStr for ExistingLines {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        one_of("way with lines", word, &EXISTING)
    }
}

impl fmt::Display for ExistingLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name_of(*self, &EXISTING))
    }
}

/// How many persons are followed at once: from 1 to [`pose::MAX_PERSONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxPersons(usize);

impl MaxPersons {
    /// So many; `None` where nobody could follow them.
    pub fn new(persons: usize) -> Option<Self> {
        (1..=pose::MAX_PERSONS).contains(&persons).then_some(Self(persons))
    }

    /// The number.
    pub fn get(self) -> usize {
        self.0
    }
}

impl Default for MaxPersons {
    /// A living room.
    fn default() -> Self {
        Self(4)
    }
}

impl FromStr for MaxPersons {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        let persons = word.parse().map_err(|_| format!("'{word}' is not a number of persons"))?;
        Self::new(persons)
            .ok_or_else(|| format!("{persons} persons cannot be followed: from 1 to {}", pose::MAX_PERSONS))
    }
}

impl fmt::Display for MaxPersons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The word for what suits the network.
const AUTO: &str = "auto";

/// From which score on somebody is a person, 0..=1; `None`: what suits the network.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MinScore(pub Option<f32>);

impl FromStr for MinScore {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        if word == AUTO {
            return Ok(Self(None));
        }
        let score = word.parse().ok().filter(|score| (0.0..=1.0).contains(score));
        score.map(|score| Self(Some(score))).ok_or_else(|| format!("'{word}' is no score: 0 to 1, or {AUTO}"))
    }
}

impl fmt::Display for MinScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(score) => score.fmt(f),
            None => f.write_str(AUTO),
        }
    }
}

/// Of how many joints a person has to consist to be told of: from 4 to 17.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinJoints(usize);

impl MinJoints {
    /// Fewer joints are of no use to anybody.
    pub const MIN: usize = 4;

    /// The number.
    pub fn get(self) -> usize {
        self.0
    }
}

impl Default for MinJoints {
    fn default() -> Self {
        Self(Self::MIN)
    }
}

impl FromStr for MinJoints {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        let joints = word.parse().ok().filter(|joints| (Self::MIN..=pose::JOINTS).contains(joints));
        joints.map(Self).ok_or_else(|| {
            format!(
                "'{word}' is no number of joints that make a person: from {} to {}",
                Self::MIN,
                pose::JOINTS
            )
        })
    }
}

impl fmt::Display for MinJoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
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

/// Where poses are drawn; empty for nowhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DisplayKind(pub Option<DisplayTarget>);

impl FromStr for DisplayKind {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        if word.is_empty() { Ok(Self(None)) } else { word.parse().map(Some).map(Self) }
    }
}

impl fmt::Display for DisplayKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |target| target.fmt(f))
    }
}

/// Where something listens, `HOST:PORT`; empty for nowhere. Whether the host is there shows when it is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Address(String);

impl Address {
    /// The text; `None` for nowhere.
    pub fn get(&self) -> Option<&str> {
        Some(&*self.0).filter(|text| !text.is_empty())
    }
}

impl FromStr for Address {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let is_address = |(host, port): (&str, &str)| {
            // Without brackets an address of version 6 would lose its last part to the port.
            let is_host =
                !host.is_empty() && (!host.contains(':') || (host.starts_with('[') && host.ends_with(']')));
            is_host && port.parse::<u16>().is_ok()
        };
        if text.is_empty() || text.rsplit_once(':').is_some_and(is_address) {
            return Ok(Self(text.into()));
        }
        Err(format!("'{text}' is no address: give HOST:PORT, as in 127.0.0.1:8080 or [::1]:8080"))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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

/// How many frames are processed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Frames {
    /// To the end of the source.
    #[default]
    All,
    /// This many.
    Count(u64),
}

impl FromStr for Frames {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "all" => Ok(Self::All),
            _ => {
                word.parse().map(Self::Count).map_err(|_| format!("'{word}' is neither a number nor \"all\""))
            }
        }
    }
}

impl fmt::Display for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Count(n) => n.fmt(f),
        }
    }
}

/// How often poses are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Rate {
    /// Once for every frame.
    #[default]
    Camera,
    /// This often, whatever the camera and the networks do: forecasts fill in.
    Hz(f64),
}

impl FromStr for Rate {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        match (word, word.parse::<f64>()) {
            ("camera", _) => Ok(Self::Camera),
            // Above 1 kHz no wire carries the poses; below 0.1 Hz nobody would wait for them.
            (_, Ok(hz)) if (0.1..=1_000.0).contains(&hz) => Ok(Self::Hz(hz)),
            _ => Err(format!("'{word}' is neither \"camera\" nor a number of Hz from 0.1 to 1000")),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Camera => f.write_str("camera"),
            Self::Hz(hz) => hz.fmt(f),
        }
    }
}

/// Words and numbers: `rate = "camera"` or `rate = 50`, by the type's own `FromStr` and `Display`.
macro_rules! word_or_number {
    ($($type:ty),* $(,)?) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl de::Visitor<'_> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("a word or a number")
                    }
                    fn visit_str<E: de::Error>(self, word: &str) -> Result<$type, E> {
                        word.parse().map_err(E::custom)
                    }
                    fn visit_i64<E: de::Error>(self, number: i64) -> Result<$type, E> {
                        self.visit_str(&number.to_string())
                    }
                    fn visit_f64<E: de::Error>(self, number: f64) -> Result<$type, E> {
                        self.visit_str(&number.to_string())
                    }
                }
                deserializer.deserialize_any(Visitor)
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let text = self.to_string();
                match text.parse() {
                    Ok(number) => serializer.serialize_i64(number),
                    Err(_) => serializer.serialize_str(&text),
                }
            }
        }
    )*};
}

word_or_number!(
    Address,
    Calibration,
    CameraFormat,
    DisplayKind,
    DisplayStyle,
    CameraHeight,
    Engine,
    ExistingLines,
    FieldOfView,
    Format,
    Frames,
    MaxPersons,
    MinJoints,
    MinScore,
    Percent,
    PersonHeight,
    Rotation,
    Predict,
    Rate,
);
