//! Zones: polygons in the picture, from a TOML file.
//!
//! ```toml
//! [[zone]]
//! name = "door"
//! at = "feet"                                   # or "hips", "head", "hands"
//! polygon = [[0.1, 0.5], [0.4, 0.5], [0.4, 1.0], [0.1, 1.0]]
//! ```
//!
//! Corners are shares of the picture's width and height, so that they hold at every resolution.

use std::path::{Path, PathBuf};

use pose::gesture::{middle_px, place_px};
use pose::{Joint, Pose, polygon};
use serde::Deserialize;

use crate::files;

/// More would be a drawing, not zones.
const MAX_ZONES: usize = 32;

/// What of a person has to be inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum At {
    /// Between the ankles: where they stand on the floor.
    #[default]
    Feet,
    /// Between the hips.
    Hips,
    /// The nose, or between the ears.
    Head,
    /// Either wrist: a button in the air.
    Hands,
}

impl At {
    /// As the file has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Feet => "feet",
            Self::Hips => "hips",
            Self::Head => "head",
            Self::Hands => "hands",
        }
    }
}

/// A polygon with a name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// What events call it.
    pub name: String,
    /// What of a person has to be inside.
    #[serde(default)]
    pub at: At,
    /// Corners, shares of the picture's width and height.
    pub polygon: Vec<[f32; 2]>,
}

/// Every zone of a file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zones {
    /// In the file's order.
    #[serde(default, rename = "zone")]
    pub zones: Vec<Zone>,
}

/// Why zones cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ZoneError {
    /// The file cannot be read.
    #[error("{path}: cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file says something wrong.
    #[error("{path}: {reason}")]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What, and where.
        reason: String,
    },
}

impl Zones {
    /// Reads a file.
    ///
    /// # Errors
    /// [`ZoneError`] with what is wrong and where.
    pub fn read(path: &Path) -> Result<Self, ZoneError> {
        let text = files::read_text_at_most(path, files::MAX_TEXT_BYTES)
            .map_err(|source| ZoneError::Unreadable { path: path.into(), source })?;
        Self::parse(&text).map_err(|reason| ZoneError::Wrong { path: path.into(), reason })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let zones: Self = toml::from_str(text).map_err(|e| e.to_string().trim().to_owned())?;
        if zones.zones.is_empty() {
            return Err("no [[zone]] in it".into());
        }
        if zones.zones.len() > MAX_ZONES {
            return Err(format!("{} zones, {MAX_ZONES} at most", zones.zones.len()));
        }
        for (i, zone) in zones.zones.iter().enumerate() {
            let name = &zone.name;
            if name.is_empty() || name.chars().any(char::is_control) {
                return Err(format!("zone {}: name {name:?} is no name", i + 1));
            }
            if zones.zones[..i].iter().any(|other| other.name == *name) {
                return Err(format!("zone {name:?} is there twice"));
            }
            if zone.polygon.len() < 3 {
                return Err(format!("zone {name:?}: {} corners, 3 are needed", zone.polygon.len()));
            }
            if let Some(corner) = zone.polygon.iter().find(|c| !c.iter().all(|v| (0.0..=1.0).contains(v))) {
                let [x, y] = corner;
                return Err(format!("zone {name:?}: corner [{x}, {y}]: shares of the picture lie in 0..=1"));
            }
        }
        Ok(zones)
    }
}

impl Zone {
    /// Whether the person is inside; `None` where the joints that count are not known.
    pub fn holds(&self, pose: &Pose, size_px: [u32; 2]) -> Option<bool> {
        let inside =
            |[x, y]: [f32; 2]| polygon::holds(&self.polygon, [x / size_px[0] as f32, y / size_px[1] as f32]);
        let both = |a, b| middle_px(pose, a, b);
        match self.at {
            At::Feet => both(Joint::LeftAnkle, Joint::RightAnkle).map(inside),
            At::Hips => both(Joint::LeftHip, Joint::RightHip).map(inside),
            At::Head => {
                place_px(pose, Joint::Nose).or_else(|| both(Joint::LeftEar, Joint::RightEar)).map(inside)
            }
            At::Hands => {
                let hands =
                    [Joint::LeftWrist, Joint::RightWrist].map(|wrist| place_px(pose, wrist).map(inside));
                match hands {
                    [None, None] => None,
                    [left, right] => Some(left == Some(true) || right == Some(true)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pose::{JointState, PoseJoint};

    fn at(joints: &[(Joint, f32, f32)]) -> Pose {
        let mut pose = Pose::default();
        for &(joint, x_px, y_px) in joints {
            pose.joints[joint as usize] =
                PoseJoint { x_px, y_px, score: 0.9, sigma_px: 1.0, state: JointState::Measured };
        }
        pose
    }

    #[test]
    fn corners_hold_at_every_resolution_and_a_bay_is_outside() {
        // A U: its bay lies between the two arms.
        let text = "[[zone]]\nname = \"u\"\nat = \"head\"\npolygon = [[0.0,0.0],[0.2,0.0],[0.2,0.8],[0.8,0.8],[0.8,0.0],[1.0,0.0],[1.0,1.0],[0.0,1.0]]";
        let zone = &Zones::parse(text).unwrap().zones[0];
        for size_px in [[640, 480], [1920, 1080], [10, 10]] {
            let head = |x: f32, y: f32| {
                zone.holds(&at(&[(Joint::Nose, x * size_px[0] as f32, y * size_px[1] as f32)]), size_px)
            };
            for (x, y, is_inside) in
                [(0.1, 0.1, true), (0.5, 0.5, false), (0.9, 0.5, true), (0.5, 0.9, true), (1.2, 0.9, false)]
            {
                assert_eq!(head(x, y), Some(is_inside), "{x} {y} in {size_px:?}");
            }
        }
        assert_eq!(zone.holds(&Pose::default(), [640, 480]), None);
    }

    #[test]
    fn feet_are_between_the_ankles_and_either_hand_counts() {
        let zone =
            |at| Zone { name: "z".into(), at, polygon: vec![[0.4, 0.0], [0.6, 0.0], [0.6, 1.0], [0.4, 1.0]] };
        let pose = at(&[
            (Joint::LeftAnkle, 20.0, 90.0),
            (Joint::RightAnkle, 80.0, 90.0),
            (Joint::LeftWrist, 50.0, 10.0),
        ]);
        assert_eq!(zone(At::Feet).holds(&pose, [100, 100]), Some(true));
        assert_eq!(zone(At::Hands).holds(&pose, [100, 100]), Some(true));
        assert_eq!(zone(At::Hips).holds(&pose, [100, 100]), None);
    }

    #[test]
    fn what_is_wrong_with_a_file_is_named() {
        for (text, told) in [
            ("", "no [[zone]]"),
            ("[[zone]]\nname = \"a\"\npolygon = [[0,0],[1,1]]", "3 are needed"),
            ("[[zone]]\nname = \"a\"\npolygon = [[0,0],[1,0],[640,480]]", "0..=1"),
            ("[[zone]]\nname = \"a\"\npolygon = [[0,0],[1,0],[nan,1]]", "0..=1"),
            ("[[zone]]\nname = \"\"\npolygon = [[0,0],[1,0],[1,1]]", "no name"),
            ("[[zone]]\nname = \"a\"\nwhere = \"feet\"\npolygon = [[0,0],[1,0],[1,1]]", "unknown field"),
            ("[[zone]]\nname = \"a\"\nat = \"tail\"\npolygon = [[0,0],[1,0],[1,1]]", "tail"),
        ] {
            let error = Zones::parse(text).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
        let twice = "[[zone]]\nname = \"a\"\npolygon = [[0,0],[1,0],[1,1]]\n".repeat(2);
        assert!(Zones::parse(&twice).unwrap_err().contains("twice"));
        assert!(Zones::read(Path::new("/nope.toml")).unwrap_err().to_string().contains("/nope.toml"));
    }
}
