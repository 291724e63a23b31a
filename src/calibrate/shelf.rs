//! Where cameras' files are kept, and which of them is a camera's.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use super::file::CameraFile;
use super::usb_id::UsbId;

/// More files than anybody has cameras: a folder that holds something else is not read to its end.
const MAX_FILES: usize = 1000;

/// Folders of cameras' files, the first before the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shelf {
    /// Those that are not there hold nothing.
    pub folders: Vec<PathBuf>,
}

impl Shelf {
    /// The user's own, then the machine's: `~/.config/posewire/cameras` and `/etc/posewire/cameras`. `variable` reads the
    /// environment.
    pub fn of_user(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Self {
        let named = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let own = named("XDG_CONFIG_HOME")
            .or_else(|| named("HOME").map(|home| home.join(".config")))
            .or_else(|| named("APPDATA"));
        let folders = own.into_iter().chain(cfg!(unix).then(|| PathBuf::from("/etc")));
        Self { folders: folders.map(|folder| folder.join("posewire/cameras")).collect() }
    }

    /// Where a new file is put: the user's own folder.
    pub fn first(&self) -> Option<&Path> {
        self.folders.first().map(PathBuf::as_path)
    }

    /// The file of the camera `usb` that suits pictures of `size_px` best, and those that are broken, each with what is wrong.
    ///
    /// A file of the same shape of pictures comes first: one of another is given only where there is none that fits, and who uses it
    /// is told so. Then one of this very serial number before one without, one of the same size, the newest.
    pub fn find(&self, usb: &UsbId, size_px: [u32; 2]) -> (Option<(PathBuf, CameraFile)>, Vec<String>) {
        let (mut found, mut broken) = (Vec::new(), Vec::new());
        for (at, folder) in self.folders.iter().enumerate() {
            let Ok(entries) = std::fs::read_dir(folder) else { continue };
            let mut paths: Vec<PathBuf> = entries.flatten().take(MAX_FILES).map(|e| e.path()).collect();
            paths.retain(|path| path.extension().is_some_and(|e| e == "toml"));
            paths.sort();
            for path in paths {
                match CameraFile::read(&path) {
                    Ok(file) => found.push((at, path, file)),
                    Err(error) => broken.push(error.to_string()),
                }
            }
        }
        found.retain(|(_, _, file)| file.usb_id().is_some_and(|theirs| theirs.may_be(usb)));
        let best = found.into_iter().min_by_key(|(at, _, file)| {
            let is_same = usb.serial.is_some() && file.usb_id().is_some_and(|theirs| theirs == *usb);
            let is_size = [file.width_px, file.height_px] == size_px;
            (!file.has_shape(size_px), !is_same, !is_size, *at, Reverse(file.date.clone()))
        });
        (best.map(|(_, path, file)| (path, file)), broken)
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::tests::webcam;
    use super::*;

    fn put(folder: &Path, name: &str, file: &CameraFile) {
        std::fs::write(folder.join(name), toml::to_string(file).unwrap()).unwrap();
    }

    fn found(shelf: &Shelf, usb: &str, size_px: [u32; 2]) -> Option<String> {
        let (best, _) = shelf.find(&usb.parse().unwrap(), size_px);
        best.map(|(path, _)| path.file_stem().unwrap().to_string_lossy().into_owned())
    }

    #[test]
    fn the_file_of_this_camera_and_this_size_is_found_among_others() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf { folders: vec![folder.path().join("none"), folder.path().into()] };
        assert_eq!(found(&shelf, "046d:0825:A1", [640, 480]), None);
        let of = |usb: &str, width_px, height_px| CameraFile {
            usb: Some(usb.into()),
            width_px,
            height_px,
            cx_px: 0.5 * f64::from(width_px),
            cy_px: 0.5 * f64::from(height_px),
            ..webcam()
        };
        put(folder.path(), "kind.toml", &of("046d:0825", 640, 480));
        put(folder.path(), "one.toml", &of("046d:0825:A1", 640, 480));
        put(folder.path(), "one-wide.toml", &of("046d:0825:A1", 1280, 720));
        put(folder.path(), "one-large.toml", &of("046d:0825:A1", 1280, 960));
        put(folder.path(), "other.toml", &of("1bcf:2b8a", 640, 480));
        std::fs::write(folder.path().join("note.txt"), "no calibration").unwrap();
        assert_eq!(found(&shelf, "046d:0825:A1", [640, 480]).as_deref(), Some("one"));
        assert_eq!(found(&shelf, "046d:0825:A1", [640, 360]).as_deref(), Some("one-wide"));
        assert_eq!(found(&shelf, "046d:0825:A1", [1280, 960]).as_deref(), Some("one-large"));
        assert_eq!(found(&shelf, "046d:0825:B2", [640, 480]).as_deref(), Some("kind"));
        assert_eq!(found(&shelf, "1bcf:2b8a:C3", [640, 480]).as_deref(), Some("other"));
        assert_eq!(found(&shelf, "1bcf:9999", [640, 480]), None);
        std::fs::remove_file(folder.path().join("one.toml")).unwrap();
        std::fs::remove_file(folder.path().join("one-large.toml")).unwrap();
        let fits = "one of the kind that fits, before its own that does not";
        assert_eq!(found(&shelf, "046d:0825:A1", [640, 480]).as_deref(), Some("kind"), "{fits}");
    }

    #[test]
    fn a_broken_file_hides_no_other_and_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf { folders: vec![folder.path().into()] };
        put(folder.path(), "whole.toml", &webcam());
        std::fs::write(folder.path().join("half.toml"), "camera = \"HD Web").unwrap();
        let (best, broken) = shelf.find(&"046d:0825:A1".parse().unwrap(), [640, 480]);
        assert!(best.is_some_and(|(path, _)| path.ends_with("whole.toml")));
        assert!(broken.len() == 1 && broken[0].contains("half.toml"), "{broken:?}");
    }

    #[test]
    fn folders_are_the_users_and_the_machines() {
        let of = |variables: &'static [(&str, &str)]| {
            Shelf::of_user(move |name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| v.into()))
                .folders
        };
        let etc = PathBuf::from("/etc/posewire/cameras");
        assert_eq!(of(&[("HOME", "/home/pi")])[0], Path::new("/home/pi/.config/posewire/cameras"));
        assert_eq!(
            of(&[("HOME", "/home/pi"), ("XDG_CONFIG_HOME", "/c")])[0],
            Path::new("/c/posewire/cameras")
        );
        assert_eq!(of(&[]), [etc]);
    }
}
