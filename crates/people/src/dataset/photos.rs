//! Photographs that pictures are made with: behind people, or as their cloth.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use turbojpeg::PixelFormat;

use super::{DatasetError, io_error};
use crate::{rng::Rng, shot::Photo};

/// Sets the choice of photographs apart from the pictures' random numbers.
const BEHIND: u64 = 0x6265_6869_6e64;
const WORN: u64 = 0x776f_726e;

/// Photographs that the cloth of one group of pictures is cut from.
const CLOTHS: usize = 3;

/// Photographs by name, in a folder.
#[derive(Debug, Default)]
pub struct Photos {
    folder: PathBuf,
    pub(super) names: Vec<String>,
    /// CRC-32 of all of them, one after another.
    crc: u32,
    pub(super) share: f32,
}

impl Photos {
    /// All JPEGs of a folder, for a share of the pictures.
    ///
    /// # Errors
    /// [`DatasetError`] where the folder cannot be read, holds none, or one that is none.
    pub fn of(folder: &Path, share: f32) -> Result<Self, DatasetError> {
        let list = fs::read_dir(folder).map_err(io_error("cannot read", folder))?;
        let mut names: Vec<String> = list
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| {
                let name = name.to_ascii_lowercase();
                name.ends_with(".jpg") || name.ends_with(".jpeg")
            })
            .collect();
        names.sort();
        if names.is_empty() {
            return Err(DatasetError::Order(format!(
                "{} holds no JPEG: photographs end in .jpg or .jpeg",
                folder.display()
            )));
        }
        if !(0.0..=1.0).contains(&share) {
            return Err(DatasetError::Order(format!("a share of {share} asked for: 0 to 1 can be")));
        }
        let mut crc = crc32fast::Hasher::new();
        // Before hours have passed: what is no picture at all.
        for name in &names {
            let path = folder.join(name);
            let bytes = fs::read(&path).map_err(io_error("cannot read", &path))?;
            crc.update(&bytes);
            turbojpeg::read_header(&bytes).map_err(|source| DatasetError::Photo { path, source })?;
        }
        Ok(Self { folder: folder.to_owned(), names, crc: crc.finalize(), share })
    }

    pub(super) fn described(&self) -> Value {
        let names = crc32fast::hash(self.names.join("\n").as_bytes());
        let mut described = json!({ "share": self.share, "count": self.names.len(), "names": names });
        if !self.names.is_empty() {
            described["contents"] = self.crc.into();
        }
        described
    }

    /// The one behind a picture, by name, if any is.
    pub(super) fn of_picture(&self, seed: u64, index: u64) -> Result<Option<(&str, Photo)>, DatasetError> {
        let mut rng = Rng::new(seed ^ BEHIND, index);
        if self.names.is_empty() || !rng.chance(self.share) {
            return Ok(None);
        }
        self.read(rng.below(self.names.len())).map(Some)
    }

    /// What cloth of a group of pictures is cut from.
    pub(super) fn of_group(&self, seed: u64, group: u64) -> Result<Vec<(&str, Photo)>, DatasetError> {
        let mut rng = Rng::new(seed ^ WORN, group);
        let count = if self.names.is_empty() { 0 } else { CLOTHS };
        (0..count).map(|_| self.read(rng.below(self.names.len()))).collect()
    }

    fn read(&self, photo: usize) -> Result<(&str, Photo), DatasetError> {
        let name = &self.names[photo];
        let path = self.folder.join(name);
        let bytes = fs::read(&path).map_err(io_error("cannot read", &path))?;
        let image = turbojpeg::decompress(&bytes, PixelFormat::RGB)
            .map_err(|source| DatasetError::Photo { path: path.clone(), source })?;
        let row = 3 * image.width;
        let rgb = image.pixels.chunks_exact(image.pitch).flat_map(|r| &r[..row]).copied().collect();
        Ok((name, Photo { width: image.width, height: image.height, rgb }))
    }
}
