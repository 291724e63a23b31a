//! Zones of the picture, from a TOML file: corners are shares of its width and height, so that they hold at every resolution.

use std::path::{Path, PathBuf};

use pose_events::{Plane, Zones};

use crate::files;

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

/// Reads a file.
///
/// # Errors
/// [`ZoneError`] with what is wrong and where.
pub fn read_zones(path: &Path) -> Result<Zones, ZoneError> {
    let text = files::read_text_at_most(path, files::MAX_TEXT_BYTES)
        .map_err(|source| ZoneError::Unreadable { path: path.into(), source })?;
    Zones::parse(&text, Plane::Picture).map_err(|reason| ZoneError::Wrong { path: path.into(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        assert!(read_zones(Path::new("/nope.toml")).unwrap_err().to_string().contains("/nope.toml"));
    }
}
