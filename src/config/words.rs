//! Values that are written as a word or a number, in the file and on the command line alike.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::did_you_mean;

/// Which of a camera's pixel formats is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // the names say it
pub enum CameraFormat {
    #[default]
    Auto,
    Mjpeg,
    Yuyv,
    Nv12,
    Grey,
    Rgb24,
}

/// What becomes of JSON lines that are in the file at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExistingLines {
    /// Kept by a service, which is started again and again; replaced otherwise.
    #[default]
    Auto,
    /// New lines follow them.
    Append,
    /// The first new line takes their place.
    Replace,
}

/// The temporal model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // the names say it
pub enum Smoother {
    Xl,
    OneEuro,
    Exponential,
    Kalman,
    None,
}

impl Smoother {
    /// The word in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Smoother::Xl => "xl",
            Smoother::OneEuro => "one-euro",
            Smoother::Exponential => "exponential",
            Smoother::Kalman => "kalman",
            Smoother::None => "none",
        }
    }
}

impl FromStr for Smoother {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        let all = [Self::Xl, Self::OneEuro, Self::Exponential, Self::Kalman, Self::None];
        all.into_iter().find(|s| s.name() == word).ok_or_else(|| {
            let names = all.map(Self::name);
            format!("there is no smoother '{word}', only {}{}", names.join(", "), did_you_mean(word, names))
        })
    }
}

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

/// The moment that sent poses speak of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Predict {
    /// The moment of sending.
    #[default]
    Now,
    /// The capture of the frame.
    Capture,
    /// So many milliseconds after capture.
    Ms(u32),
}

impl FromStr for Predict {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        match (word, word.parse::<u32>()) {
            ("now", _) => Ok(Self::Now),
            ("capture", _) => Ok(Self::Capture),
            (_, Ok(ms)) if ms <= 150 => Ok(Self::Ms(ms)),
            _ => Err(format!(
                "'{word}' is neither \"now\", \"capture\" nor 0 to 150 (milliseconds after capture)"
            )),
        }
    }
}

impl fmt::Display for Predict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now => f.write_str("now"),
            Self::Capture => f.write_str("capture"),
            Self::Ms(ms) => ms.fmt(f),
        }
    }
}

/// Words and numbers: `rate = "camera"` or `rate = 50`, by the type's own `FromStr` and `Display`.
macro_rules! word_or_number {
    ($($type:ty),*) => {$(
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
                serializer.collect_str(self)
            }
        }
    )*};
}

word_or_number!(Frames, Rate, Predict);
