//! Values that are written as a word or a number, in the file and on the command line alike.

mod camera;
mod output;
mod persons;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub use camera::{
    Calibration, CameraFormat, CameraHeight, FieldOfView, Percent, PersonHeight, Rotation, Size,
};
pub use output::{Address, DisplayKind, ExistingLines, Frames, Rate};
pub use persons::{MaxPersons, MinJoints, MinScore};

use crate::infer::Engine;
use crate::output::Predict;
use crate::output::display::DisplayStyle;
use crate::output::jsonl::Format;

/// The word for what suits the camera or the network.
const AUTO: &str = "auto";

/// Reads a flag's value, which may not be empty.
#[cfg(feature = "cli")]
pub(super) fn given<T: std::str::FromStr<Err: fmt::Display>>(text: &str) -> Result<T, String> {
    if text.is_empty() {
        return Err("nothing is given: name a value, or leave the option out".into());
    }
    text.parse().map_err(|e: T::Err| e.to_string())
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
