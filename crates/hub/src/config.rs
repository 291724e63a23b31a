//! The file of cameras, which a person writes, and that of the room, which `calibrate` writes.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use nalgebra::{Quaternion, UnitQuaternion};
use serde::Deserialize;

use crate::calibrate::Calibration;
use crate::camera::Lens;
use crate::endpoint::Endpoint;
use crate::geometry::centre;
use crate::{Extrinsics, V3};

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("{path}: {why}{hint}")]
    Unreadable {
        /// Which.
        path: String,
        /// What the system says.
        why: String,
        /// What to do.
        hint: &'static str,
    },
    /// It is not what it should be.
    #[error("{path}: {why}")]
    Wrong {
        /// Which.
        path: String,
        /// What is wrong, and what to do.
        why: String,
    },
}

/// One camera of the file.
#[derive(Clone, Debug)]
pub struct Camera {
    /// What people call it.
    pub name: String,
    /// Its lens.
    pub lens: Lens,
    /// The lens' file.
    pub calibration: PathBuf,
    /// Where its lines come in.
    pub endpoint: Endpoint,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CamerasFile {
    camera: Vec<CameraEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CameraEntry {
    name: String,
    calibration: PathBuf,
    listen: String,
}

pub(crate) fn read(path: &Path, hint: &'static str) -> Result<String, ConfigError> {
    let unreadable = |why: String| ConfigError::Unreadable { path: path.display().to_string(), why, hint };
    files::read_text_at_most(path, files::MAX_TEXT_BYTES).map_err(|e| unreadable(e.to_string()))
}

pub(crate) fn wrong(path: &Path, why: impl Into<String>) -> ConfigError {
    ConfigError::Wrong { path: path.display().to_string(), why: why.into() }
}

/// Reads the file of cameras, and their lenses, whose paths are beside it.
///
/// # Errors
/// [`ConfigError`]
pub fn cameras(path: &Path) -> Result<Vec<Camera>, ConfigError> {
    let text = read(path, ": `posewire-hub --help` shows how such a file looks")?;
    let file: CamerasFile = toml::from_str(&text).map_err(|e| wrong(path, e.to_string()))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut cameras: Vec<Camera> = Vec::new();
    for entry in file.camera {
        let at = folder.join(&entry.calibration);
        let text = read(&at, ": `posewire calibrate --out FILE` writes it")?;
        let lens = Lens::read(&text).map_err(|why| {
            wrong(&at, format!("{why}: `posewire calibrate --out FILE` writes such a file"))
        })?;
        let endpoint = Endpoint::read(&entry.listen).map_err(|why| wrong(path, format!("listen = {why}")))?;
        if let Some(other) = cameras.iter().find(|c| c.name == entry.name || c.endpoint == endpoint) {
            let why = format!(
                "{:?} and {:?} need a name and a port, or a key, of their own each",
                other.name, entry.name
            );
            return Err(wrong(path, why));
        }
        cameras.push(Camera { name: entry.name, lens, calibration: at, endpoint });
    }
    if cameras.is_empty() {
        return Err(wrong(path, "there is no [[camera]] in it"));
    }
    Ok(cameras)
}

/// Where the cameras stand, and what their stamps need.
#[derive(Clone, Debug)]
pub struct Room {
    /// From the room to each camera, in the order of the cameras' file.
    pub places: Vec<Extrinsics>,
    /// Added to each camera's stamps.
    pub offsets_us: Vec<i64>,
}

#[derive(Deserialize)]
struct RoomFile {
    camera: Vec<RoomEntry>,
}

#[derive(Deserialize)]
struct RoomEntry {
    name: String,
    at_m: [f64; 3],
    rotation: [f64; 4],
    #[serde(default)]
    offset_us: f64,
}

/// Reads what [`room_text`] wrote, for `cameras`.
///
/// # Errors
/// [`ConfigError`]
pub fn room(path: &Path, cameras: &[Camera]) -> Result<Room, ConfigError> {
    let text = read(path, ": `posewire-hub calibrate CAMERAS --out FILE` writes it")?;
    let file: RoomFile = toml::from_str(&text).map_err(|e| wrong(path, e.to_string()))?;
    let (mut places, mut offsets_us) = (Vec::new(), Vec::new());
    for camera in cameras {
        let Some(entry) = file.camera.iter().find(|e| e.name == camera.name) else {
            let why = format!("camera {:?} is not in it: calibrate again, with all cameras", camera.name);
            return Err(wrong(path, why));
        };
        let [w, x, y, z] = entry.rotation;
        let quaternion = Quaternion::new(w, x, y, z);
        // Of what is no number this is false, too.
        let is_turn = (quaternion.norm() - 1.0).abs() <= 1e-3;
        if !is_turn || !entry.at_m.iter().all(|v| v.is_finite()) {
            return Err(wrong(path, format!("the place of {:?} is no place: calibrate again", camera.name)));
        }
        let rotation = UnitQuaternion::from_quaternion(quaternion);
        let eye = V3::from(entry.at_m);
        places.push(Extrinsics::from_parts((-(rotation * eye)).into(), rotation));
        offsets_us.push(entry.offset_us.round() as i64);
    }
    Ok(Room { places, offsets_us })
}

/// What a camera says in the room's file where it stands elsewhere than `calibrate` found.
const PLACED_ANEW: &str = "placed_anew";

/// Whether the room's file `text` is [`placed_text`] rather than what `calibrate` wrote.
pub fn is_placed_anew(text: &str) -> bool {
    let room: Option<toml::Table> = text.parse().ok();
    let cameras = room.as_ref().and_then(|room| room.get("camera")?.as_array());
    cameras.into_iter().flatten().any(|camera| camera.get(PLACED_ANEW).is_some())
}

/// The room's file `text` with another place of one camera; `None` where it is no such file, or without that camera.
pub fn placed_text(text: &str, name: &str, place: &Extrinsics) -> Option<String> {
    let mut room: toml::Table = text.parse().ok()?;
    let cameras = room.get_mut("camera")?.as_array_mut()?;
    let camera = cameras.iter_mut().find(|c| c.get("name").and_then(|n| n.as_str()) == Some(name))?;
    let (eye, q) = (centre(place), place.rotation);
    let rounded = |v: f64, to: f64| toml::Value::Float((v * to).round() / to);
    let entry = camera.as_table_mut()?;
    entry.insert("at_m".into(), eye.iter().map(|v| rounded(*v, 1e4)).collect::<Vec<_>>().into());
    let rotation = [q.w, q.i, q.j, q.k].map(|v| rounded(v, 1e7));
    entry.insert("rotation".into(), rotation.to_vec().into());
    entry.insert(PLACED_ANEW.into(), true.into());
    let head: String = text.lines().take_while(|l| l.starts_with('#')).map(|l| format!("{l}\n")).collect();
    Some(head + &room.to_string())
}

/// The room's file.
pub fn room_text(found: &Calibration, names: &[&str]) -> String {
    let mut text = String::from(
        "# Where the cameras stand: written by `posewire-hub calibrate`. Metres; z up from the floor, the origin below the first camera,\n# which looks along y. rotation (w, x, y, z): from the room to the camera (x right, y down, z ahead).\n",
    );
    let Calibration { stature_m, scale_sigma, misfit, moments, .. } = found;
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "stature_m = {stature_m:.3}\nscale_sigma = {scale_sigma:.4}\nmisfit = {misfit:.3}\nmoments = {moments}\n"
    );
    for ((place, offset_us), name) in found.places.iter().zip(&found.offsets_us).zip(names) {
        let (eye, q) = (centre(place), place.rotation);
        let _ = write!(
            text,
            "\n[[camera]]\nname = {name:?}\nat_m = [{:.4}, {:.4}, {:.4}]\nrotation = [{:.7}, {:.7}, {:.7}, {:.7}]\noffset_us = {offset_us:.0}.0\n",
            eye.x, eye.y, eye.z, q.w, q.i, q.j, q.k
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    fn folder(cameras: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cameras.toml"), cameras).unwrap();
        let lens = "width_px = 640\nheight_px = 480\nfx_px = 500\nfy_px = 500\ncx_px = 320\ncy_px = 240\nk1 = 0\nk2 = 0\n";
        fs::write(folder.path().join("lens.toml"), lens).unwrap();
        folder
    }

    const TWO: &str = "[[camera]]\nname = 'door'\ncalibration = 'lens.toml'\nlisten = '0.0.0.0:9101'\n[[camera]]\nname = 'window'\ncalibration = 'lens.toml'\nlisten = '0.0.0.0:9102'\n";

    #[test]
    fn a_room_is_read_as_it_was_written() {
        let folder = folder(TWO);
        let cameras = cameras(&folder.path().join("cameras.toml")).unwrap();
        let place = |x: f64| Extrinsics::new(V3::new(x, 2.0, 3.0), V3::new(0.1, x, -0.4));
        let found = Calibration {
            places: vec![place(0.3), place(-0.7)],
            offsets_us: vec![0.0, -1234.4],
            misfit: 0.9,
            moments: 300,
            scale_sigma: 0.012,
            stature_m: 1.78,
        };
        let file = folder.path().join("room.toml");
        fs::write(&file, room_text(&found, &["door", "window"])).unwrap();
        let room = room(&file, &cameras).unwrap();
        assert_eq!(room.offsets_us, [0, -1234]);
        for (a, b) in room.places.iter().zip(&found.places) {
            let (turned, moved) = crate::geometry::apart(a, b);
            assert!(turned < 1e-5 && moved < 1e-3, "{turned} {moved}");
        }
        // Placed anew, it is read again, with everything else as it was.
        let before = room_text(&found, &["door", "window"]);
        let text = placed_text(&before, "window", &place(0.9)).unwrap();
        assert!(is_placed_anew(&text) && !is_placed_anew(&before), "{text}");
        assert!(text.starts_with("# Where the cameras stand"), "{text}");
        fs::write(&file, text).unwrap();
        let anew = super::room(&file, &cameras).unwrap();
        assert_eq!(anew.offsets_us, [0, -1234]);
        for (k, x) in [0.3, 0.9].into_iter().enumerate() {
            let (turned, moved) = crate::geometry::apart(&anew.places[k], &place(x));
            assert!(turned < 1e-5 && moved < 1e-3, "{turned} {moved}");
        }
        assert_eq!(placed_text("camera = 3", "window", &place(0.9)), None);
        for rotation in ["[0.5, 0.0, 0.0, 0.0]", "[0.0, 0.0, 0.0, 0.0]", "[nan, 0.0, 0.0, 0.0]"] {
            let line = before.lines().find(|line| line.starts_with("rotation = ")).unwrap();
            fs::write(&file, before.replacen(line, &format!("rotation = {rotation}"), 1)).unwrap();
            let told = super::room(&file, &cameras).unwrap_err().to_string();
            assert!(told.contains("\"door\" is no place"), "{told}");
        }
        fs::write(&file, room_text(&found, &["door", "cellar"])).unwrap();
        assert!(super::room(&file, &cameras).unwrap_err().to_string().contains("window"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn every_place_is_read_as_it_was_written(
            at in prop::array::uniform3(-50.0..50.0), axis in prop::array::uniform3(-3.2..3.2), offset_us in -1e5..1e5,
        ) {
            let place = Extrinsics::new(V3::from(at), V3::from(axis));
            let (misfit, moments, scale_sigma, stature_m) = (0.9, 300, 0.012, 1.78);
            let (places, offsets_us) = (vec![place; 2], vec![0.0, offset_us]);
            let found = Calibration { places, offsets_us, misfit, moments, scale_sigma, stature_m };
            let folder = folder(TWO);
            let cameras = cameras(&folder.path().join("cameras.toml")).unwrap();
            let file = folder.path().join("room.toml");
            let text = room_text(&found, &["door", "window"]);
            for text in [&text, &placed_text(&text, "window", &place).unwrap()] {
                fs::write(&file, text).unwrap();
                let room = room(&file, &cameras).unwrap();
                prop_assert!((room.offsets_us[1] as f64 - offset_us).abs() <= 0.5 + 1e-9);
                let (turned, moved) = crate::geometry::apart(&room.places[1], &place);
                prop_assert!(turned < 1e-5 && moved < 1e-3, "{turned} {moved}: {text}");
            }
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_do() {
        for (text, told) in [
            (TWO.replace("lens.toml", "none.toml"), "posewire calibrate --out"),
            (TWO.replace("9102", "9101"), "of their own each"),
            (TWO.replace("0.0.0.0:9101", "here"), "ADDRESS:PORT"),
            (TWO.replace("0.0.0.0:9101", "zenoh:hall/*"), "zenoh:hall/door"),
            (TWO.replace("0.0.0.0:910", "zenoh:hall/").replace("/2", "/1"), "of their own each"),
            (TWO.replace("listen", "listens"), "listens"),
            ("camera = []".to_owned(), "no [[camera]]"),
        ] {
            let folder = folder(&text);
            let said = cameras(&folder.path().join("cameras.toml")).unwrap_err().to_string();
            assert!(said.contains(told), "{said}");
        }
        assert!(cameras(Path::new("/none")).unwrap_err().to_string().contains("--help"));
    }
}
