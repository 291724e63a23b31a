//! Zones: polygons that people stand in, of a picture or of a room's floor.
//!
//! ```toml
//! [[zone]]
//! name = "door"
//! at = "feet"                                   # or "hips", "head", "hands"
//! polygon = [[0.1, 0.5], [0.4, 0.5], [0.4, 1.0], [0.1, 1.0]]
//! ```

use pose::{Joint, polygon};
use serde::Deserialize;

use crate::Person;

/// Zones of one file: more would be a drawing.
pub const MAX_ZONES: usize = 32;
/// Nobody's room reaches farther from its first camera, metres.
const FAR_M: f32 = 1_000.0;

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

/// What corners are places of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plane {
    /// Shares of a picture's width and height, so that they hold at every resolution.
    Picture,
    /// Metres of a room's floor.
    Floor,
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
    /// Corners, in the unit of their [`Plane`].
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

impl Zones {
    /// Reads a file's text.
    ///
    /// # Errors
    /// What is wrong, and of which zone.
    pub fn parse(text: &str, plane: Plane) -> Result<Self, String> {
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
            if let Some([x, y]) = zone.polygon.iter().find(|corner| !plane.has(**corner)) {
                return Err(format!("zone {name:?}: corner [{x}, {y}]: {}", plane.wants()));
            }
            if is_a_line(&zone.polygon) {
                return Err(format!("zone {name:?}: its corners lie on one line, so nobody can be in it"));
            }
        }
        Ok(zones)
    }
}

/// Whether no corner lies beside the line through the first one and the one farthest from it.
fn is_a_line(polygon: &[[f32; 2]]) -> bool {
    /// Of the line's length: what is left of a line when its corners are written with a few digits.
    const MIN_WIDTH: f32 = 1e-4;
    let Some((&[x, y], others)) = polygon.split_first() else { return true };
    let from_first = others.iter().map(|corner| [corner[0] - x, corner[1] - y]);
    let length = |[dx, dy]: [f32; 2]| dx.hypot(dy);
    let Some(line) = from_first.clone().max_by(|a, b| length(*a).total_cmp(&length(*b))) else { return true };
    let beside = |[dx, dy]: [f32; 2]| (line[0] * dy - line[1] * dx).abs();
    from_first.map(beside).all(|area| area <= MIN_WIDTH * length(line) * length(line))
}

impl Plane {
    fn has(self, corner: [f32; 2]) -> bool {
        // NaN is in no range.
        let range = match self {
            Self::Picture => 0.0..=1.0,
            Self::Floor => -FAR_M..=FAR_M,
        };
        corner.iter().all(|v| range.contains(v))
    }

    fn wants(self) -> &'static str {
        match self {
            Self::Picture => "shares of the picture lie in 0..=1",
            Self::Floor => "corners are metres of the room, x and y",
        }
    }
}

impl Zone {
    /// Whether the person is inside: of hands the left and the right one, of all else the first answer. `None` where the joints that
    /// count are not known; each hand by itself, because a hidden one is not outside where the other hangs.
    pub fn holds(&self, person: &impl Person) -> [Option<bool>; 2] {
        let inside = |place| polygon::holds(&self.polygon, place);
        // Where one is known alone, that one.
        let middle = |a, b| match (person.place(a), person.place(b)) {
            (Some([ax, ay]), Some([bx, by])) => Some([0.5 * (ax + bx), 0.5 * (ay + by)]),
            (one, other) => one.or(other),
        };
        let places = match self.at {
            At::Feet => [middle(Joint::LeftAnkle, Joint::RightAnkle), None],
            At::Hips => [middle(Joint::LeftHip, Joint::RightHip), None],
            At::Head => [person.place(Joint::Nose).or_else(|| middle(Joint::LeftEar, Joint::RightEar)), None],
            At::Hands => [Joint::LeftWrist, Joint::RightWrist].map(|wrist| person.place(wrist)),
        };
        places.map(|place| place.map(inside))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pose::Pose;

    /// Where the named joints are; of the others nobody knows.
    struct Joints(&'static [(Joint, f32, f32)]);

    impl Person for Joints {
        fn track_id(&self) -> u32 {
            1
        }
        fn place(&self, joint: Joint) -> Option<[f32; 2]> {
            self.0.iter().find(|known| known.0 == joint).map(|known| [known.1, known.2])
        }
        fn pictures(&self) -> [Option<Pose>; 2] {
            [None; 2]
        }
    }

    #[test]
    fn feet_are_between_the_ankles_and_each_hand_is_by_itself() {
        let zone =
            |at| Zone { name: "z".into(), at, polygon: vec![[0.4, 0.0], [0.6, 0.0], [0.6, 1.0], [0.4, 1.0]] };
        let somebody = Joints(&[
            (Joint::LeftAnkle, 0.2, 0.9),
            (Joint::RightAnkle, 0.8, 0.9),
            (Joint::LeftWrist, 0.5, 0.1),
        ]);
        assert_eq!(zone(At::Feet).holds(&somebody), [Some(true), None]);
        assert_eq!(zone(At::Hands).holds(&somebody), [Some(true), None]);
        assert_eq!(zone(At::Hips).holds(&somebody), [None; 2]);
        let away = Joints(&[(Joint::RightWrist, 0.9, 0.1), (Joint::RightEar, 0.5, 0.1)]);
        assert_eq!(zone(At::Hands).holds(&away), [None, Some(false)]);
        assert_eq!(zone(At::Head).holds(&away), [Some(true), None], "one ear alone");
        let leaning = Joints(&[
            (Joint::Nose, 0.5, 0.1),
            (Joint::LeftEar, 0.2, 0.1),
            (Joint::RightEar, 0.3, 0.1),
            (Joint::LeftHip, 0.3, 0.5),
            (Joint::RightHip, 0.45, 0.5),
            (Joint::LeftAnkle, 0.1, 0.9),
        ]);
        assert_eq!(zone(At::Head).holds(&leaning), [Some(true), None], "the nose comes first");
        assert_eq!(zone(At::Hips).holds(&leaning), [Some(false), None]);
        assert_eq!(zone(At::Feet).holds(&leaning), [Some(false), None], "one ankle alone");
    }

    #[test]
    fn what_is_wrong_with_a_file_is_named() {
        let zone = |name: &str, polygon: &str| format!("[[zone]]\nname = \"{name}\"\npolygon = {polygon}\n");
        let triangle = "[[0,0],[1,0],[1,1]]";
        for (text, plane, told) in [
            (String::new(), Plane::Picture, "no [[zone]]"),
            (zone("a", "[[0,0],[1,1]]"), Plane::Floor, "3 are needed"),
            (zone("a", "[[0,0],[1,0],[640,480]]"), Plane::Picture, "0..=1"),
            (zone("a", "[[0,0],[1,0],[nan,1]]"), Plane::Picture, "0..=1"),
            (zone("a", "[[0,0],[1,0],[1,2e9]]"), Plane::Floor, "metres"),
            (zone("a", "[[0,0],[1,0],[nan,1]]"), Plane::Floor, "metres"),
            (zone("a", "[[0.1,0.1],[0.5,0.5],[0.9,0.9]]"), Plane::Picture, "one line"),
            (zone("a", "[[2,3],[2,3],[2,3]]"), Plane::Floor, "one line"),
            (zone("", triangle), Plane::Picture, "no name"),
            (zone("a\\tb", triangle), Plane::Picture, "no name"),
            ((0..33).map(|i| zone(&i.to_string(), triangle)).collect(), Plane::Floor, "33 zones, 32 at most"),
            (zone("a", triangle) + "where = \"feet\"", Plane::Picture, "unknown field"),
            (zone("a", triangle) + "at = \"tail\"", Plane::Picture, "tail"),
            (zone("a", triangle).repeat(2), Plane::Floor, "twice"),
        ] {
            let error = Zones::parse(&text, plane).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
        for polygon in
            ["[[-3,0],[640,480],[1,1]]", "[[0,0],[1,1],[1,0],[0,1]]", "[[0,0],[0.5,0],[1,0],[1,0.01]]"]
        {
            assert!(Zones::parse(&zone("a", polygon), Plane::Floor).is_ok(), "{polygon}");
        }
        let most: String = (0..32).map(|i| zone(&i.to_string(), triangle)).collect();
        assert_eq!(Zones::parse(&most, Plane::Picture).unwrap().zones.len(), 32);
    }

    #[test]
    fn feet_count_unless_something_else_is_said() {
        let text = |at: &str| format!("[[zone]]\nname = \"a\"\n{at}polygon = [[0,0],[1,0],[1,1]]\n");
        let read = |at: &str| Zones::parse(&text(at), Plane::Picture).unwrap().zones[0].at;
        assert_eq!(read(""), At::Feet);
        for at in [At::Feet, At::Hips, At::Head, At::Hands] {
            assert_eq!(read(&format!("at = \"{}\"\n", at.name())), at);
        }
    }
}
