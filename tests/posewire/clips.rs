//! Real clips out of the data beside the repository.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tiny;

/// A real clip in a folder of its own, and what its labels say.
pub struct Clip {
    pub path: PathBuf,
    pub frames: usize,
    _folder: tempfile::TempDir,
}

/// The J-HMDB clip `name` (MPEG-4 in AVI, 320×240); `None`, said loudly, without the data or without `ffmpeg`.
pub fn jhmdb(name: &str) -> Option<Clip> {
    let tar = tiny::shared("data/jhmdb/videos_0.tar")?;
    if Command::new("ffmpeg").arg("-version").output().is_err() {
        eprintln!("SKIPPED: ffmpeg is not installed (sudo apt install ffmpeg)");
        return None;
    }
    let labels = fs::read(tar.with_file_name("labels.json")).unwrap();
    let labels: serde_json::Value = serde_json::from_slice(&labels).unwrap();
    let stated = labels["clips"].as_array().unwrap().iter().find(|c| c["file_name"] == name);
    let frames = stated.expect("the clip is labelled")["frames"].as_u64().unwrap() as usize;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clip.avi");
    fs::write(&path, out_of_tar(&tar, name)).unwrap();
    Some(Clip { path, frames, _folder: folder })
}

/// The bytes of the file `name` in a tar.
fn out_of_tar(tar: &Path, name: &str) -> Vec<u8> {
    let mut file = fs::File::open(tar).unwrap();
    let mut head = [0; 512];
    loop {
        file.read_exact(&mut head).unwrap_or_else(|e| panic!("{name} in {}: {e}", tar.display()));
        let text = |range: std::ops::Range<usize>| {
            String::from_utf8_lossy(&head[range]).trim_matches(|c| c == '\0' || c == ' ').to_string()
        };
        let len = usize::from_str_radix(&text(124..136), 8).unwrap();
        let mut bytes = vec![0; len.next_multiple_of(512)];
        file.read_exact(&mut bytes).unwrap();
        if text(0..100) == name {
            bytes.truncate(len);
            return bytes;
        }
    }
}
