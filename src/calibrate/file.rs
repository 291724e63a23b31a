//! A camera's file: what `posewire calibrate` writes and `posewire run` reads.

use std::path::{Path, PathBuf};

use camera_model::is_same_shape;
use serde::{Deserialize, Serialize};

use super::Intrinsics;
use super::usb_id::UsbId;
use crate::files;

/// What the file says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CameraFile {
    /// What the source calls itself.
    #[serde(default)]
    pub camera: String,
    /// Which camera it is: `046d:0825` or `046d:0825:SERIAL`. Without it the file fits any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usb: Option<String>,
    /// The day on which it was made: `2026-11-24`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub date: String,
    /// The size that the numbers hold for, pixels.
    pub width_px: u32,
    /// Pixels.
    pub height_px: u32,
    /// As of [`Intrinsics`].
    pub fx_px: f64,
    /// As of [`Intrinsics`].
    pub fy_px: f64,
    /// As of [`Intrinsics`].
    pub cx_px: f64,
    /// As of [`Intrinsics`].
    pub cy_px: f64,
    /// As of [`Intrinsics`].
    pub k1: f64,
    /// As of [`Intrinsics`].
    pub k2: f64,
    /// Distance between corners seen and explained, root mean square, pixels.
    #[serde(default)]
    pub rms_px: f64,
    /// Standard deviation of the focal lengths, pixels; 0 where nobody has told.
    #[serde(default)]
    pub f_sigma_px: f64,
    /// Share of the picture in which the board was seen, 0..=1.
    #[serde(default)]
    pub coverage: f64,
    /// How many views it was made from.
    #[serde(default)]
    pub views: u32,
    /// Inner corners of the board: `9x6`. The last line, and never left out: a file without it was cut off.
    pub board: String,
}

/// Why a camera's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CameraFileError {
    /// It cannot be read.
    #[error("{path}: the calibration cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is no such file, or half of one.
    #[error("{path}: no whole file of `posewire calibrate`: {reason}")]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What, and where.
        reason: String,
    },
    /// Its numbers are of no camera.
    #[error("{path}: these are the numbers of no camera: {reason}; calibrate again")]
    Impossible {
        /// The file.
        path: PathBuf,
        /// Which.
        reason: String,
    },
    /// Its camera is another one.
    #[error(
        "{path} is of another camera ({theirs}, this one is {ours}): calibrate this one, or take the line `usb` out of the file to use it nevertheless"
    )]
    OtherCamera {
        /// The file.
        path: PathBuf,
        /// The file's.
        theirs: String,
        /// The camera's.
        ours: String,
    },
    /// The pictures show another part of the sensor, and nobody knows which.
    #[error(
        "{path} is of pictures of {theirs}, these have {ours}: another shape is another part of the sensor; run `posewire calibrate --size {ours}`"
    )]
    OtherShape {
        /// The file.
        path: PathBuf,
        /// The file's: `640x480`.
        theirs: String,
        /// The pictures'.
        ours: String,
    },
}

impl CameraFile {
    /// Reads a file.
    ///
    /// # Errors
    /// [`CameraFileError::Unreadable`], [`CameraFileError::Wrong`] or [`CameraFileError::Impossible`].
    pub fn read(path: &Path) -> Result<Self, CameraFileError> {
        let text = files::read_text_at_most(path, files::MAX_TEXT_BYTES)
            .map_err(|source| CameraFileError::Unreadable { path: path.into(), source })?;
        let file: Self = toml::from_str(&text).map_err(|e| CameraFileError::Wrong {
            path: path.into(),
            reason: e.to_string().trim().replace('\n', " "),
        })?;
        file.check(path)?;
        Ok(file)
    }

    /// Whether its numbers are those of a camera: what passes can be read again. `path` is for the message.
    ///
    /// # Errors
    /// [`CameraFileError::Impossible`].
    pub fn check(&self, path: &Path) -> Result<(), CameraFileError> {
        match self.fault() {
            None => Ok(()),
            Some(reason) => Err(CameraFileError::Impossible { path: path.into(), reason }),
        }
    }

    /// What no camera has.
    fn fault(&self) -> Option<String> {
        let fault = self.as_calibrated().fault([self.width_px, self.height_px]);
        fault.or_else(|| self.usb.as_ref().and_then(|usb| usb.parse::<UsbId>().err()))
    }

    /// For pictures of the size that was calibrated.
    fn as_calibrated(&self) -> Intrinsics {
        let Self { fx_px: fx, fy_px: fy, cx_px: cx, cy_px: cy, k1, k2, .. } = *self;
        Intrinsics { fx, fy, cx, cy, k1, k2 }
    }

    /// The camera that it is of; `None` where it says nothing.
    pub fn usb_id(&self) -> Option<UsbId> {
        self.usb.as_ref()?.parse().ok()
    }

    /// Whether pictures of `size_px` have the shape of those that were calibrated.
    pub fn has_shape(&self, size_px: [u32; 2]) -> bool {
        is_same_shape([self.width_px, self.height_px], size_px)
    }

    /// The camera for pictures of `size_px`: those that were calibrated, or of the same shape, which is taken for the same part
    /// of the sensor. `path` is for the message.
    ///
    /// # Errors
    /// [`CameraFileError::OtherShape`].
    pub fn intrinsics(&self, size_px: [u32; 2], path: &Path) -> Result<Intrinsics, CameraFileError> {
        if !self.has_shape(size_px) {
            return Err(CameraFileError::OtherShape {
                path: path.into(),
                theirs: format!("{}x{}", self.width_px, self.height_px),
                ours: format!("{}x{}", size_px[0], size_px[1]),
            });
        }
        let [width, height] = size_px.map(f64::from);
        let [across, down] = [width / f64::from(self.width_px), height / f64::from(self.height_px)];
        Ok(self.as_calibrated().scaled(across, down))
    }

    /// Whether it may be used for this camera, `None` where it has no such id.
    ///
    /// # Errors
    /// [`CameraFileError::OtherCamera`].
    pub fn check_camera(&self, usb: Option<&UsbId>, path: &Path) -> Result<(), CameraFileError> {
        match (self.usb_id(), usb) {
            (Some(theirs), Some(ours)) if !theirs.may_be(ours) => Err(CameraFileError::OtherCamera {
                path: path.into(),
                theirs: theirs.to_string(),
                ours: ours.to_string(),
            }),
            _ => Ok(()),
        }
    }
}

/// The day of a moment, by Greenwich: `2026-11-24`. Howard Hinnant's `civil_from_days`.
pub fn date(since_1970: std::time::Duration) -> String {
    let days = (since_1970.as_secs() / 86_400) as i64 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Years begin in March, so that leap days come last.
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::*;

    pub fn webcam() -> CameraFile {
        CameraFile {
            camera: "/dev/video0 (HD Webcam)".into(),
            usb: Some("046d:0825:A1".into()),
            date: "2026-11-24".into(),
            width_px: 640,
            height_px: 480,
            fx_px: 610.0,
            fy_px: 605.0,
            cx_px: 330.0,
            cy_px: 236.0,
            k1: -0.12,
            k2: 0.05,
            rms_px: 0.11,
            f_sigma_px: 0.6,
            coverage: 0.9,
            views: 20,
            board: "9x6".into(),
        }
    }

    fn read(text: &str) -> Result<CameraFile, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        CameraFile::read(file.path()).map_err(|e| e.to_string())
    }

    #[test]
    fn a_file_reads_as_it_was_written_and_old_ones_still_do() {
        let text = toml::to_string(&webcam()).unwrap();
        assert_eq!(read(&text), Ok(webcam()));
        let old = "camera = \"x\"\nwidth_px = 640\nheight_px = 480\nfx_px = 610.0\nfy_px = 605.0\ncx_px = 330.0\n\
                   cy_px = 236.0\nk1 = -0.12\nk2 = 0.05\nrms_px = 0.11\nviews = 20\nboard = \"9x6\"\n";
        assert_eq!(read(old).unwrap().usb_id(), None);
    }

    /// A pulled plug leaves any part of it, and none may be taken for a camera.
    #[test]
    fn half_a_file_is_refused_wherever_it_ends() {
        let text = toml::to_string(&webcam()).unwrap();
        for end in 0..text.trim_end().len() {
            let said = read(&text[..end]).unwrap_err();
            assert!(said.contains("no whole file of `posewire calibrate`"), "{end}: {said}");
        }
        assert!(read("").unwrap_err().contains("width_px"));
    }

    #[test]
    fn numbers_of_no_camera_are_refused_by_name() {
        let bent = CameraFile { k2: 190.0, ..webcam() };
        let said = bent.check(Path::new("webcam.toml")).unwrap_err().to_string();
        assert!(said.contains("webcam.toml: these are the numbers of no camera: k2 = 190"), "{said}");
        for (key, value) in [
            ("fx_px", "0.0"),
            ("fy_px", "nan"),
            ("fx_px", "-610.0"),
            ("cx_px", "inf"),
            ("width_px", "0"),
            ("height_px", "4000000"),
            ("k1", "1e9"),
            ("usb", "\"webcam\""),
        ] {
            let mut table: toml::Table = toml::to_string(&webcam()).unwrap().parse().unwrap();
            table.insert(key.into(), format!("v = {value}").parse::<toml::Table>().unwrap()["v"].clone());
            let said = read(&table.to_string()).unwrap_err();
            assert!(said.contains("numbers of no camera"), "{key}: {said}");
        }
        assert!(
            CameraFile::read(Path::new("/nowhere.toml")).unwrap_err().to_string().contains("cannot be read")
        );
    }

    #[test]
    fn another_size_of_the_same_shape_is_scaled_and_any_other_refused() {
        let path = Path::new("webcam.toml");
        let half = webcam().intrinsics([320, 240], path).unwrap();
        assert_eq!((half.fx, half.cy, half.k1), (305.0, 118.0, -0.12));
        let said = webcam().intrinsics([1280, 720], path).unwrap_err().to_string();
        assert!(said.contains("640x480, these have 1280x720") && said.contains("--size 1280x720"), "{said}");
    }

    #[test]
    fn another_camera_is_refused_by_its_number() {
        let check = |usb: &str| {
            let usb = usb.parse().unwrap();
            webcam().check_camera(Some(&usb), Path::new("webcam.toml")).map_err(|e| e.to_string())
        };
        assert_eq!((check("046d:0825:A1"), check("046d:0825")), (Ok(()), Ok(())));
        assert!(check("046d:0825:B2").unwrap_err().contains("046d:0825:A1, this one is 046d:0825:B2"));
        assert!(check("1bcf:2b8a").unwrap_err().contains("another camera"));
        assert!(webcam().check_camera(None, Path::new("x")).is_ok(), "what has no number may be any");
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        let day = |seconds| date(Duration::from_secs(seconds));
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(951_782_399), "2000-02-28");
        assert_eq!(day(951_782_400), "2000-02-29");
        assert_eq!(day(1_793_664_000), "2026-11-03");
    }
}
