//! Which lens the camera has: from `--calibration` and `--fov`, told in one line of the log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use posewire::calibrate::{CameraFile, CameraFileError, Intrinsics, Shelf, UsbId};
use posewire::capture::noticed::Notice;
use posewire::capture::{FrameSource, Noticed, Seen, Stored};
use posewire::config::{Calibration, Config};
use posewire::metres::Lens;
use posewire::output::{Host, Source};
use posewire::pipeline::Session;

use crate::cli::Usage;

/// What is known of lenses before a camera is there.
pub struct Lenses {
    calibration: Known,
    fov_deg: Option<f64>,
    /// The flag that asks for metres, where nothing was said yet of why there are none.
    asked: Option<&'static str>,
}

enum Known {
    /// Whatever is found by the camera's USB id.
    Shelf(Shelf),
    /// What was named.
    File(PathBuf, Box<CameraFile>),
    Nothing,
}

impl Lenses {
    /// As `config` has it.
    ///
    /// # Errors
    /// The file that it names cannot be used.
    pub fn open(config: &Config) -> Result<Self, Usage> {
        let calibration = match &config.metres.calibration {
            Calibration::Auto => Known::Shelf(Shelf::of_user(|name| std::env::var_os(name))),
            Calibration::None => Known::Nothing,
            Calibration::File(path) => {
                let file = CameraFile::read(path).map_err(|e| Usage(e.to_string()))?;
                Known::File(path.clone(), Box::new(file))
            }
        };
        let fov_deg = config.metres.fov.degrees();
        let in_vain = in_vain(config);
        if let Some(why) = &in_vain {
            log::warn!("{why}");
        }
        let asked = asked(config).filter(|_| in_vain.is_none());
        Ok(Self { calibration, fov_deg, asked })
    }

    /// `source`, of which `lens` says at any time what lens it has; pictures are not turned before that.
    pub fn watch(
        self,
        source: Box<dyn FrameSource>,
        lens: Lens,
        session: Arc<Session>,
    ) -> Box<dyn FrameSource> {
        if matches!(self.calibration, Known::Nothing) && self.fov_deg.is_none() {
            return source;
        }
        let notice: Notice = Box::new(move |seen| {
            let is_built_in = session.source() == Source::BuiltIn;
            let of_camera = if is_built_in { None } else { self.calibrated(seen)? };
            let found = of_camera.or_else(|| {
                let across_deg = self.fov_deg?;
                log::info!("lens: taken to see {across_deg} degrees across (--fov), which is rough");
                Some(Intrinsics::from_view(across_deg, seen.size_px))
            });
            if let (None, Some(flag)) = (&found, self.asked) {
                log::warn!(
                    "{flag} needs the camera's lens, and none is known: give --calibration FILE or --fov DEGREES"
                );
            }
            lens.set(found.map(|intrinsics| (intrinsics, seen.size_px)));
            Ok(())
        });
        Box::new(Noticed::new(source, notice))
    }

    /// The calibration of what is seen; what was named and does not fit is an error, what was only found is said to be left out.
    fn calibrated(&self, seen: &Seen) -> Result<Option<Intrinsics>, String> {
        let Some(Stored { size_px, turn }) = seen.stored else { return self.of_sensor(seen, seen.size_px) };
        // A calibration is of pictures as they are stored: it is turned as they are.
        let shown_px = turn.shown_px(size_px, seen.size_px).unwrap_or(size_px);
        let stored = self.of_sensor(seen, size_px)?;
        Ok(stored.map(|lens| lens.turned(turn.quarters, turn.mirror, shown_px)))
    }

    /// The same before the pictures, of `size_px`, are turned.
    fn of_sensor(&self, seen: &Seen, size_px: [u32; 2]) -> Result<Option<Intrinsics>, String> {
        let usb: Option<UsbId> = seen.usb_id.as_ref().and_then(|id| id.parse().ok());
        match &self.calibration {
            Known::Nothing => Ok(None),
            Known::File(path, file) => {
                file.check_camera(usb.as_ref(), path).map_err(|e| e.to_string())?;
                let intrinsics = file.intrinsics(size_px, path).map_err(|e| e.to_string())?;
                log::info!("{}", told(file, path, size_px));
                Ok(Some(intrinsics))
            }
            Known::Shelf(shelf) => {
                let Some(usb) = usb else {
                    log::debug!("{}: no USB id to find a calibration by (--calibration FILE)", seen.name);
                    return Ok(None);
                };
                let (found, broken) = shelf.find(&usb, size_px);
                for error in broken {
                    log::warn!("{error}; left out");
                }
                let Some((path, file)) = found else {
                    log::info!("{}", uncalibrated(&usb, self.fov_deg));
                    return Ok(None);
                };
                match file.intrinsics(size_px, &path) {
                    Ok(intrinsics) => {
                        log::info!("{}", told(&file, &path, size_px));
                        Ok(Some(intrinsics))
                    }
                    Err(error) => {
                        let (level, text) = unfit(&error, self.fov_deg);
                        log::log!(level, "{text}");
                        Ok(None)
                    }
                }
            }
        }
    }
}

/// What is said where the camera has no calibration.
fn uncalibrated(usb: &UsbId, fov_deg: Option<f64>) -> String {
    let (then, cure) = match fov_deg {
        Some(_) => ("--fov stands in", "is better"),
        None => ("no metres", "makes one"),
    };
    format!("lens: no calibration of this camera ({usb}): {then}; `posewire calibrate` {cure}")
}

/// What is said, and how loud, where it has one of other pictures.
fn unfit(error: &CameraFileError, fov_deg: Option<f64>) -> (log::Level, String) {
    match fov_deg {
        Some(_) => (log::Level::Info, format!("lens: {error}; until then --fov stands in")),
        None => (log::Level::Warn, format!("lens: {error}; until then no metres")),
    }
}

/// The first flag that asks for what only a lens gives.
fn asked(config: &Config) -> Option<&'static str> {
    let metres = &config.metres;
    let flags = [
        ("--floor", metres.floor),
        ("--camera-height", metres.camera_height.metres().is_some()),
        ("--person-height", metres.person_height.metres().is_some()),
    ];
    flags.into_iter().find(|(_, is_asked)| *is_asked).map(|(flag, _)| flag)
}

/// Why what `config` asks of metres cannot be had with the rest of it, and what to do.
fn in_vain(config: &Config) -> Option<String> {
    let (metres, smoother) = (&config.metres, config.temporal.smoother);
    let names_lens = metres.fov.degrees().is_some() || matches!(metres.calibration, Calibration::File(_));
    let asked = asked(config);
    if (names_lens || asked.is_some()) && smoother.network().is_none() {
        return Some(format!(
            "--smoother {smoother} gives no 3D poses, which metres are made from: leave it out"
        ));
    }
    let flag = asked.filter(|_| !names_lens && metres.calibration == Calibration::None)?;
    Some(format!(
        "{flag} needs the camera's lens, and --calibration none says of none: leave it out, or give --fov"
    ))
}

/// The line of the log.
fn told(file: &CameraFile, path: &Path, [w, h]: [u32; 2]) -> String {
    let is_scaled = [file.width_px, file.height_px] != [w, h];
    let scaled = match is_scaled {
        true => format!(", scaled from {}x{} to {w}x{h}", file.width_px, file.height_px),
        false => String::new(),
    };
    let date = if file.date.is_empty() { String::new() } else { format!(" of {}", file.date) };
    format!("lens: {}{date}, error {:.2} px{scaled}", path.display(), file.rms_px)
}

#[cfg(test)]
mod tests {
    use posewire::picture::Turn;

    use super::*;

    fn file() -> CameraFile {
        CameraFile {
            camera: "folder".into(),
            usb: None,
            date: String::new(),
            width_px: 640,
            height_px: 480,
            fx_px: 610.0,
            fy_px: 605.0,
            cx_px: 326.0,
            cy_px: 233.0,
            k1: 0.0,
            k2: 0.0,
            rms_px: 0.1,
            f_sigma_px: 0.1,
            coverage: 1.0,
            views: 20,
            board: "9x6".into(),
        }
    }

    #[test]
    fn where_no_calibration_fits_what_stands_in_is_told() {
        let usb: UsbId = "046d:0825".parse().unwrap();
        let error = file().intrinsics([1280, 720], Path::new("lens.toml")).unwrap_err();
        assert!(uncalibrated(&usb, None).contains("no metres; `posewire calibrate` makes one"));
        let (level, text) = unfit(&error, None);
        assert!(level == log::Level::Warn && text.ends_with("until then no metres"), "{text}");
        let (level, text) = unfit(&error, Some(70.0));
        assert!(level == log::Level::Info, "{level}");
        for text in [text, uncalibrated(&usb, Some(70.0))] {
            assert!(text.contains("--fov stands in") && !text.contains("no metres"), "{text}");
        }
    }

    #[test]
    fn a_lens_is_turned_as_the_pictures_are_that_it_was_measured_from() {
        let calibration = Known::File("lens.toml".into(), Box::new(file()));
        let lenses = Lenses { calibration, fov_deg: None, asked: None };
        let centre = |size_px, quarters| {
            let turn = Turn { quarters, mirror: false };
            let stored = (!turn.is_none()).then_some(Stored { size_px: [640, 480], turn });
            let seen = Seen { size_px, stored, ..Seen::default() };
            lenses.calibrated(&seen).map(|lens| lens.map(|lens| [lens.fx, lens.cx, lens.cy]))
        };
        assert_eq!(centre([640, 480], 0), Ok(Some([610.0, 326.0, 233.0])));
        assert_eq!(centre([640, 480], 2), Ok(Some([610.0, 314.0, 247.0])));
        assert_eq!(centre([480, 640], 1), Ok(Some([605.0, 247.0, 326.0])));
        assert!(centre([480, 640], 0).is_err(), "another shape that nobody has turned");
    }

    #[test]
    fn what_is_asked_of_metres_in_vain_is_told() {
        let said = |metres: &str, smoother: &str| {
            let text = format!("[metres]\n{metres}\n[temporal]\nsmoother = \"{smoother}\"\n");
            in_vain(&Config::parse(&text, Path::new("x")).unwrap())
        };
        for asked in ["floor = true", "camera_height = 1.5", "person_height = 1.7", "fov = 70"] {
            assert_eq!(said(asked, "xl"), None, "{asked}");
            assert!(said(asked, "kalman").unwrap().contains("--smoother kalman"), "{asked}");
        }
        for (asked, flag) in [("floor = true", "--floor"), ("camera_height = 1.5", "--camera-height")] {
            let without = format!("{asked}\ncalibration = \"none\"");
            assert!(said(&without, "xl").unwrap().starts_with(flag));
            assert_eq!(said(&format!("{without}\nfov = 70"), "xl"), None);
        }
        assert_eq!(said("calibration = \"none\"", "kalman"), None);
    }
}
