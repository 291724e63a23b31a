//! Values that speak of how much is told, how often and where.

use std::fmt;
use std::str::FromStr;

use crate::names::{name_of, one_of};
use crate::output::display::DisplayTarget;

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
        match (word, timing::parse_hz(word)) {
            ("camera", _) => Ok(Self::Camera),
            (_, Some(hz)) => Ok(Self::Hz(hz)),
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
        if text.is_empty() || datagrams::is_host_and_port(text) {
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
