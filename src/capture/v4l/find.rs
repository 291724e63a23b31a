//! Which devices are cameras, by which names, and in which modes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use v4l::frameinterval::FrameIntervalEnum;
use v4l::framesize::FrameSizeEnum;
use v4l::video::Capture;
use v4l::{Capabilities, Device, FourCC, Fraction};

use super::judge::{Facts, Not, PIPED, judge};
use crate::capture::mode::{Mode, from_fourcc};
use crate::permission::{Denial, forbidden};
use crate::reason::Reason;

/// Names that stay with a camera whatever port number it gets.
const BY_ID: &str = "/dev/v4l/by-id";

/// Sizes tried on a camera that takes any size between two limits.
const COMMON_SIZES: [(u32, u32); 8] =
    [(160, 120), (320, 240), (640, 360), (640, 480), (800, 600), (1280, 720), (1920, 1080), (3840, 2160)];

/// Rates tried on a camera that takes any rate between two limits.
const COMMON_RATES: [f32; 8] = [5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 60.0, 120.0];

/// A video node, for `posewire devices`.
#[derive(Clone, Debug, PartialEq)]
pub struct CameraListing {
    /// `/dev/video0`.
    pub path: PathBuf,
    /// `/dev/v4l/by-id/…`, where there is one.
    pub by_id: Option<PathBuf>,
    /// What the driver calls it.
    pub name: String,
    /// What Posewire could read from it; empty where it is not a camera for us.
    pub modes: Vec<Mode>,
    /// Why it cannot be used, and what to do.
    pub problem: Option<String>,
    /// What it is, or may be.
    pub kind: NodeKind,
    /// Why it may not be opened, where it may not.
    pub denial: Option<Denial>,
}

/// What a video node is to somebody who looks for a camera.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// It is one, or what is wrong may pass (busy, not allowed).
    Camera,
    /// Gives pictures only once the pipeline behind it is set up: never taken where nobody asked for a camera, and after all others.
    Piped,
    /// The raw end of a camera on the board's ribbon cable: `--camera csi`.
    Ribbon,
    /// Neither: a codec, a picture processor, metadata.
    Other,
}

/// Why a node gives no pictures.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    /// What is wrong and what to do.
    pub why: Reason,
    /// Plugging in, waiting or a permission may cure it; otherwise it needs another camera or another configuration.
    pub may_pass: bool,
    /// It is a camera, but its pictures come another way.
    is_ribbon: bool,
    /// Smaller or compressed pictures may fit where these do not.
    pub is_bus_full: bool,
}

impl Trouble {
    /// What no waiting cures.
    pub fn lasting(why: String) -> Self {
        Self { why: why.into(), may_pass: false, is_ribbon: false, is_bus_full: false }
    }

    /// What plugging in or waiting may cure.
    pub fn passing(why: String) -> Self {
        Self { why: why.into(), may_pass: true, is_ribbon: false, is_bus_full: false }
    }

    /// What keeps a camera of that name away that was there: the first trouble with a node of its own, or with one that may be it later. What
    /// other nodes are for good is no news of it.
    pub fn of_lost(card: &str, troubles: impl IntoIterator<Item = (bool, Self)>) -> Self {
        let may_be_it = |(is_its_own, trouble): &(bool, Self)| *is_its_own || trouble.may_pass;
        let found = troubles.into_iter().find(may_be_it);
        found.map_or_else(|| Self::passing(format!("{card} is not there")), |(_, trouble)| trouble)
    }

    fn kind(&self) -> NodeKind {
        match (self.may_pass, self.is_ribbon) {
            (true, _) => NodeKind::Camera,
            (false, true) => NodeKind::Ribbon,
            (false, false) => NodeKind::Other,
        }
    }

    /// What the system said of `path`.
    pub fn of(path: &Path, error: io::Error) -> Self {
        // These two say that the node is none of a camera; anything else may be said of a camera that is coming or going.
        let not_a_camera = matches!(error.raw_os_error(), Some(libc::ENOTTY | libc::EINVAL));
        let is_bus_full = error.raw_os_error() == Some(libc::ENOSPC);
        Self { why: explain(path, error), may_pass: !not_a_camera, is_ribbon: false, is_bus_full }
    }
}

/// Every `/dev/video*`, in the order of their numbers, cameras or not.
pub fn list_cameras() -> Vec<CameraListing> {
    let opened = nodes().into_iter().map(|path| (Device::with_path(&path), path));
    opened.map(|(opened, path)| listing(path, opened)).collect()
}

/// The node `path`, `opened` just now.
fn listing(path: PathBuf, opened: io::Result<Device>) -> CameraListing {
    let by_id = by_id_of(&path);
    let denial = opened.as_ref().err().and_then(Denial::of);
    let device = opened.map_err(|e| Trouble::of(&path, e));
    match device.and_then(|d| probe(&d, &path)) {
        Ok(Probed { card: name, modes, is_piped }) => {
            let kind = if is_piped { NodeKind::Piped } else { NodeKind::Camera };
            let problem = is_piped.then(|| unset_pipeline(&path, &name));
            CameraListing { path, by_id, name, modes, problem, kind, denial }
        }
        Err(trouble) => {
            let name = sysfs_name(&path);
            let kind = trouble.kind();
            let (modes, problem) = (Vec::new(), Some(format!("{:#}", trouble.why)));
            CameraListing { path, by_id, name, modes, problem, kind, denial }
        }
    }
}

/// `/dev/video*` by number.
pub(super) fn nodes() -> Vec<PathBuf> {
    let number = |p: &Path| p.file_name()?.to_str()?.strip_prefix("video")?.parse::<u32>().ok();
    let entries =
        fs::read_dir("/dev").map(|d| d.flatten().map(|e| e.path()).collect()).unwrap_or_else(|_| Vec::new());
    let mut nodes: Vec<_> = entries.into_iter().filter_map(|p| Some((number(&p)?, p))).collect();
    nodes.sort();
    nodes.into_iter().map(|(_, p)| p).collect()
}

/// The lasting name of a node, where udev made one.
pub(super) fn by_id_of(path: &Path) -> Option<PathBuf> {
    let node = fs::canonicalize(path).ok()?;
    let mut links: Vec<_> = fs::read_dir(BY_ID).ok()?.flatten().map(|e| e.path()).collect();
    links.sort();
    links.into_iter().find(|l| fs::canonicalize(l).is_ok_and(|to| to == node))
}

fn sysfs_name(path: &Path) -> String {
    let node = path.file_name().unwrap_or_default().to_string_lossy();
    fs::read_to_string(format!("/sys/class/video4linux/{node}/name")).unwrap_or_default().trim().to_string()
}

/// What an open device says.
pub(super) struct Probed {
    /// What the driver calls it.
    pub card: String,
    pub modes: Vec<Mode>,
    /// As of [`NodeKind::Piped`].
    pub is_piped: bool,
}

fn unset_pipeline(path: &Path, card: &str) -> String {
    format!(
        "{} ({card}): gives pictures only once the board's camera pipeline behind it is set up (media-ctl)",
        path.display()
    )
}

/// Name and modes of an open device.
///
/// # Errors
/// Why it is no camera for us.
pub(super) fn probe(device: &Device, path: &Path) -> Result<Probed, Trouble> {
    let caps = device.query_caps().map_err(|e| Trouble::of(path, e))?;
    let formats = device.enum_formats().map(|formats| formats.iter().map(|f| f.fourcc).collect::<Vec<_>>());
    let formats = verdict(path, &caps, formats)?;
    let mut modes = Vec::new();
    for format in formats {
        let Some(known) = from_fourcc(&format.repr) else { continue };
        for size in listed(path, device.enum_framesizes(format))? {
            for (width, height) in sizes(&size.size) {
                let intervals = listed(path, device.enum_frameintervals(format, width, height))?;
                let before = modes.len();
                for fps in intervals.iter().flat_map(|i| rates(&i.interval)) {
                    modes.push(Mode { format: known, width, height, fps });
                }
                if modes.len() == before {
                    // Some drivers do not say: the rate is then read back after it was set.
                    modes.push(Mode { format: known, width, height, fps: 30.0 });
                }
            }
        }
    }
    if modes.is_empty() {
        let told = format!("{} ({}): lists no size of its pictures", path.display(), caps.card);
        return Err(Trouble::lasting(told));
    }
    let is_piped = PIPED.contains(&&*caps.driver);
    Ok(Probed { card: caps.card, modes, is_piped })
}

/// The formats of a node, where it is a camera for us.
fn verdict(
    path: &Path,
    caps: &Capabilities,
    formats: io::Result<Vec<FourCC>>,
) -> Result<Vec<FourCC>, Trouble> {
    // A node that gives no pictures has no such formats to list.
    let formats = listed(path, formats)?;
    let theirs: Vec<[u8; 4]> = formats.iter().map(|f| f.repr).collect();
    let facts = Facts { driver: &caps.driver, capabilities: caps.capabilities, formats: &theirs };
    match judge(&facts) {
        Ok(()) => Ok(formats),
        Err(not) => Err(Trouble {
            is_ribbon: not == Not::Raw,
            ..Trouble::lasting(not.told(path, &caps.card, &theirs))
        }),
    }
}

/// What a node lists; nothing where it has no such list.
///
/// # Errors
/// It has none any more: it was pulled out meanwhile.
fn listed<T: Default>(path: &Path, list: io::Result<T>) -> Result<T, Trouble> {
    match list {
        Err(e) if matches!(e.raw_os_error(), Some(libc::ENODEV | libc::ENXIO | libc::EIO)) => {
            Err(Trouble::of(path, e))
        }
        list => Ok(list.unwrap_or_default()),
    }
}

fn sizes(size: &FrameSizeEnum) -> Vec<(u32, u32)> {
    match size {
        FrameSizeEnum::Discrete(d) => vec![(d.width, d.height)],
        FrameSizeEnum::Stepwise(s) => {
            let fits = |v: u32, min: u32, max: u32, step: u32| {
                (min..=max).contains(&v) && (v - min).is_multiple_of(step.max(1))
            };
            let common = COMMON_SIZES.into_iter();
            let mut sizes: Vec<_> = common
                .filter(|&(w, h)| {
                    fits(w, s.min_width, s.max_width, s.step_width)
                        && fits(h, s.min_height, s.max_height, s.step_height)
                })
                .collect();
            if sizes.is_empty() {
                sizes.push((s.max_width, s.max_height));
            }
            sizes
        }
    }
}

fn rates(interval: &FrameIntervalEnum) -> Vec<f32> {
    let fps = |f: &Fraction| f.denominator as f32 / f.numerator.max(1) as f32;
    match interval {
        FrameIntervalEnum::Discrete(f) => vec![fps(f)],
        FrameIntervalEnum::Stepwise(s) => {
            let (fastest, slowest) = (fps(&s.min), fps(&s.max));
            let mut rates: Vec<_> =
                COMMON_RATES.into_iter().filter(|r| (slowest..=fastest).contains(r)).collect();
            rates.push(fastest);
            rates
        }
    }
}

/// What an error of the system means for a camera, and what to do.
pub(super) fn explain(node: &Path, error: io::Error) -> Reason {
    let (path, denial) = (node.display(), Denial::of(&error));
    let known = match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENXIO | libc::ENODEV) => {
            format!("{path}: no such camera; plug it in, or see `posewire devices` for those there are")
        }
        _ if denial == Some(Denial::Permissions) => {
            format!("{path}: no permission; run `sudo usermod -aG video $USER` and log in again")
        }
        _ if denial == Some(Denial::DeviceList) => format!("{path}: {}", forbidden(node)),
        Some(libc::EBUSY) => {
            format!("{path}: busy: another program uses it; `fuser -v {path}` says which")
        }
        // The system's words for it are those of a full disk.
        Some(libc::ENOSPC) => {
            format!(
                "{path}: its USB bus has no room for these pictures beside what else is on it: set [source] format = \"mjpeg\", ask \
                 for fewer with --size and --fps, or plug it into a port of another bus (`lsusb -t` shows them)"
            )
        }
        // Nothing is joined to the node, or in formats that do not fit.
        Some(libc::EPIPE | libc::ENOLINK) => {
            format!(
                "{path}: the board's camera pipeline behind it is not set up (media-ctl), so that it gives no pictures"
            )
        }
        Some(libc::ENOTTY | libc::EINVAL) => {
            format!("{path}: not a camera (it does not answer V4L2); `posewire devices` lists the cameras")
        }
        _ => return Reason::of(error).within(path),
    };
    known.into()
}

#[cfg(test)]
mod tests {
    use v4l::capability::Flags;

    use super::*;

    #[test]
    fn a_node_that_may_not_be_opened_is_listed_with_what_denies_it() {
        for (code, denial, cure) in [
            (libc::EACCES, Some(Denial::Permissions), "usermod -aG video"),
            (libc::EPERM, Some(Denial::DeviceList), "DeviceAllow=/dev/video97 rw"),
            (libc::EBUSY, None, "another program uses it"),
        ] {
            let node = listing("/dev/video97".into(), Err(io::Error::from_raw_os_error(code)));
            assert_eq!((node.denial, node.kind), (denial, NodeKind::Camera));
            assert!(node.problem.as_ref().is_some_and(|problem| problem.contains(cure)), "{node:?}");
        }
    }

    #[test]
    fn of_a_camera_that_is_lost_no_other_node_is_reported_as_none() {
        let (codec, busy) = (Trouble::lasting("a codec".into()), Trouble::passing("busy".into()));
        let told = |troubles: &[(bool, &Trouble)]| {
            Trouble::of_lost("C270", troubles.iter().map(|(is_own, trouble)| (*is_own, (*trouble).clone())))
                .why
                .to_string()
        };
        assert_eq!(told(&[]), "C270 is not there");
        assert_eq!(told(&[(false, &codec), (false, &codec)]), "C270 is not there");
        assert_eq!(told(&[(false, &codec), (false, &busy), (true, &codec)]), "busy");
        assert_eq!(told(&[(false, &codec), (true, &codec)]), "a codec", "the node that it was");
    }

    #[test]
    fn a_camera_that_is_pulled_out_while_it_is_asked_may_come_back() {
        let caps = |capabilities| Capabilities {
            driver: "uvcvideo".into(),
            card: "C270".into(),
            bus: String::new(),
            version: (6, 1, 0),
            capabilities,
        };
        let path = Path::new("/dev/video0");
        let camera = caps(Flags::VIDEO_CAPTURE | Flags::STREAMING);
        let error = |code| Err(io::Error::from_raw_os_error(code));
        for gone in [libc::ENODEV, libc::EIO] {
            let told = verdict(path, &camera, error(gone)).unwrap_err();
            assert!(told.may_pass, "{told:?}");
            assert!(listed::<Vec<FourCC>>(path, error(gone)).is_err_and(|told| told.may_pass));
        }
        // And one that is none says so for good, though it answers no better.
        let told = verdict(path, &caps(Flags::META_CAPTURE | Flags::STREAMING), error(libc::EINVAL));
        assert!(
            told.is_err_and(|told| !told.may_pass && told.why.to_string().contains("describes pictures"))
        );
        assert!(verdict(path, &camera, error(libc::EINVAL)).is_err_and(|told| !told.may_pass));
        assert!(listed::<Vec<FourCC>>(path, error(libc::ENOTTY)).is_ok_and(|none| none.is_empty()));
        let format = FourCC::new(b"MJPG");
        assert!(verdict(path, &camera, Ok(vec![format])).is_ok_and(|listed| listed == [format]));
    }
}
