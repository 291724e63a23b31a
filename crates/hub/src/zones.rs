//! Zones of the room: polygons on its floor, in metres, from a TOML file.
//!
//! ```toml
//! [[zone]]
//! name = "stage"
//! at = "feet"                                   # or "hips", "head", "hands"
//! polygon = [[-1.0, 2.0], [1.0, 2.0], [1.0, 4.0], [-1.0, 4.0]]
//! ```

use std::path::Path;

use pose::polygon;
use serde::Deserialize;

use crate::V3;
use crate::config::{ConfigError, read, wrong};
use crate::fuse::RoomPerson;

/// More would be a drawing, not zones.
const MAX_ZONES: usize = 32;
/// Nobody's room reaches farther from its first camera, metres.
const FAR_M: f32 = 1_000.0;

/// What of a person has to be above the polygon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum At {
    /// Between the ankles: where they stand.
    #[default]
    Feet,
    /// Between the hips.
    Hips,
    /// The nose, or between the ears.
    Head,
    /// Either wrist.
    Hands,
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
    /// Corners, metres of the room.
    pub polygon: Vec<[f32; 2]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ZonesFile {
    #[serde(default)]
    zone: Vec<Zone>,
}

/// Reads a file of zones.
///
/// # Errors
/// [`ConfigError`] with what is wrong and where.
pub fn zones(path: &Path) -> Result<Vec<Zone>, ConfigError> {
    let text = read(path, ": `posewire-hub run --help` shows how zones look")?;
    parse(&text).map_err(|why| wrong(path, why))
}

fn parse(text: &str) -> Result<Vec<Zone>, String> {
    let file: ZonesFile = toml::from_str(text).map_err(|e| e.to_string().trim().to_owned())?;
    let zones = file.zone;
    if zones.is_empty() {
        return Err("there is no [[zone]] in it".into());
    }
    if zones.len() > MAX_ZONES {
        return Err(format!("{} zones, {MAX_ZONES} at most", zones.len()));
    }
    for (i, zone) in zones.iter().enumerate() {
        let name = &zone.name;
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(format!("zone {}: name {name:?} is no name", i + 1));
        }
        if zones[..i].iter().any(|other| other.name == *name) {
            return Err(format!("zone {name:?} is there twice"));
        }
        if zone.polygon.len() < 3 {
            return Err(format!("zone {name:?}: {} corners, 3 are needed", zone.polygon.len()));
        }
        if zone.polygon.iter().flatten().any(|v| !v.is_finite() || v.abs() > FAR_M) {
            return Err(format!("zone {name:?}: corners are metres of the room, x and y"));
        }
    }
    Ok(zones)
}

impl Zone {
    /// Whether the person is inside; `None` where the joints that count are not known.
    pub fn holds(&self, person: &RoomPerson) -> Option<bool> {
        let place = |j: usize| person.joints[j].map(|joint| joint.at);
        let middle = |a: usize, b: usize| match (place(a), place(b)) {
            (Some(a), Some(b)) => Some(0.5 * (a + b)),
            (one, other) => one.or(other),
        };
        let inside = |at: V3| polygon::holds(&self.polygon, [at.x as f32, at.y as f32]);
        match self.at {
            At::Feet => middle(15, 16).map(inside),
            At::Hips => middle(11, 12).map(inside),
            At::Head => place(0).or_else(|| middle(3, 4)).map(inside),
            At::Hands => match [place(9).map(inside), place(10).map(inside)] {
                [None, None] => None,
                hands => Some(hands.contains(&Some(true))),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuse::RoomJoint;

    fn person(joints: &[(usize, f64, f64)]) -> RoomPerson {
        let mut all = [None; pose::JOINTS];
        for &(j, x, y) in joints {
            all[j] = Some(RoomJoint { at: V3::new(x, y, 1.0), sigma: 0.02 });
        }
        RoomPerson { id: 1, joints: all, cameras: 2 }
    }

    #[test]
    fn what_is_above_the_polygon_counts_and_nothing_else() {
        let text = "[[zone]]\nname = 'stage'\npolygon = [[-1, 0], [1, 0], [0, 2]]\n[[zone]]\nname = 'table'\nat = 'hands'\npolygon = [[5, 0], [6, 0], [6, 1], [5, 1]]\n";
        let zones = parse(text).unwrap();
        let somebody = person(&[(15, 0.4, 0.5), (16, -0.2, 0.5), (9, 5.5, 0.5), (10, 9.0, 9.0)]);
        assert_eq!((zones[0].holds(&somebody), zones[1].holds(&somebody)), (Some(true), Some(true)));
        let outside = person(&[(15, 0.9, 1.5)]);
        assert_eq!((zones[0].holds(&outside), zones[1].holds(&outside)), (Some(false), None));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let zone = |name: &str, polygon: &str| format!("[[zone]]\nname = '{name}'\npolygon = {polygon}\n");
        for (text, told) in [
            (String::new(), "no [[zone]]"),
            (zone("a", "[[0, 0], [1, 0]]"), "3 are needed"),
            (zone("a", "[[0, 0], [1, 0], [1, 2e9]]"), "metres"),
            (zone("a", "[[0, 0], [1, 0], [1, 1]]").repeat(2), "twice"),
            (zone("", "[[0, 0], [1, 0], [1, 1]]"), "no name"),
        ] {
            let said = parse(&text).unwrap_err();
            assert!(said.contains(told), "{said}");
        }
    }
}
