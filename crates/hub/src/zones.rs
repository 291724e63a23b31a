//! Zones of the room: polygons on its floor, in metres, from a TOML file.
//!
//! ```toml
//! [[zone]]
//! name = "stage"
//! at = "feet"                                   # or "hips", "head", "hands"
//! polygon = [[-1.0, 2.0], [1.0, 2.0], [1.0, 4.0], [-1.0, 4.0]]
//! ```

use std::path::Path;

use pose_events::{Plane, Zones};

use crate::config::{ConfigError, read, wrong};

/// Reads a file of zones.
///
/// # Errors
/// [`ConfigError`] with what is wrong and where.
pub fn zones(path: &Path) -> Result<Zones, ConfigError> {
    let text = read(path, ": `posewire-hub run --help` shows how zones look")?;
    Zones::parse(&text, Plane::Floor).map_err(|why| wrong(path, why))
}
