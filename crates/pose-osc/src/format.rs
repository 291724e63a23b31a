//! What is said in OSC.

use std::str::FromStr;

use names::{name_of, one_of};
use serde::{Deserialize, Serialize};

/// What is said in OSC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "&str")]
pub enum OscFormat {
    /// The program's own addresses.
    #[default]
    Posewire,
    /// VRChat's trackers.
    VrChat,
    /// Bones by the Virtual Motion Capture protocol.
    Vmc,
}

impl OscFormat {
    /// Whether it is of 3D poses, which not every smoother gives.
    pub fn needs_3d(self) -> bool {
        self != Self::Posewire
    }
}

const FORMATS: [(&str, OscFormat); 3] =
    [("posewire", OscFormat::Posewire), ("vrchat", OscFormat::VrChat), ("vmc", OscFormat::Vmc)];

impl FromStr for OscFormat {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        one_of("format of OSC", word, &FORMATS)
    }
}

impl TryFrom<String> for OscFormat {
    type Error = String;
    fn try_from(word: String) -> Result<Self, String> {
        word.parse()
    }
}

impl From<OscFormat> for &str {
    fn from(format: OscFormat) -> Self {
        name_of(format, &FORMATS)
    }
}

impl std::fmt::Display for OscFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str((*self).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_as_they_are_told_and_avatars_need_3d() {
        for (word, format, needs_3d) in [
            ("posewire", OscFormat::Posewire, false),
            ("vrchat", OscFormat::VrChat, true),
            ("vmc", OscFormat::Vmc, true),
        ] {
            assert_eq!((word.parse(), format.to_string().as_str()), (Ok(format), word));
            assert_eq!(format.needs_3d(), needs_3d, "{word}");
        }
        assert!("vrchatt".parse::<OscFormat>().unwrap_err().contains("did you mean 'vrchat'"));
    }
}
