//! Video4Linux cameras: memory-mapped streaming, always the newest frame, losses told apart from pauses.

mod find;
mod judge;
mod known;
mod opened;
mod stamp;
mod take;

use std::path::{Path, PathBuf};
use std::time::Duration;

use v4l::Device;

pub use self::find::{CameraListing, NodeKind, list_cameras};
pub use super::mode::{Mode, Wanted};

use self::find::Trouble;
use self::known::{Known, Node, node_of};
use self::opened::Open;
use self::take::Taken;
use super::mode;
use super::{CaptureError, FrameSource, SourceCounters, SourceInfo};
use crate::clock::{Clock, Monotonic};
use crate::picture::{BufferPool, Frame};
use crate::reason::Reason;

/// Buffers in the driver's hands. One is held here while waiting; with the other three the driver never starves at the
/// pace of one frame, and more would only hide latency.
const BUFFERS: u32 = 4;

/// What the kernel says of video nodes.
const SYSFS: &str = "/sys/class/video4linux";

/// A camera that gives no frame for so long has been replaced, or hangs: another one is taken in its stead. Long enough for a hub
/// that was unplugged with everything on it, whose cameras come back one after the other.
const REPLACED_US: i64 = 5_000_000;

/// A camera, closed at first. Then and after [`CaptureError::Lost`] call [`reopen`](FrameSource::reopen);
/// [`Reopening`](super::Reopening) does.
pub struct V4lCamera {
    wanted: Wanted,
    /// Who it was when its first frame came, so that it is known again under another number.
    known: Option<Known>,
    /// What gave no frame since the last one came, the latest last: of several cameras, others are tried first.
    mute: Vec<PathBuf>,
    /// Those of them that could not even be started.
    refused: Vec<PathBuf>,
    open: Option<Open>,
    /// What the log last said of the device and its mode.
    told: String,
    pool: BufferPool,
    next_seq: u64,
    /// The log has said that the driver's stamps are wrong.
    is_error_told: bool,
    /// When the last whole frame came, on the monotonic clock.
    frame_at_us: i64,
    counters: SourceCounters,
}

impl V4lCamera {
    /// A camera that is not open yet.
    pub fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            known: None,
            mute: Vec::new(),
            refused: Vec::new(),
            open: None,
            told: String::new(),
            pool: BufferPool::new(),
            next_seq: 0,
            is_error_told: false,
            frame_at_us: 0,
            counters: SourceCounters::default(),
        }
    }

    /// The mode in use, chosen by the rule of [`Mode`]'s module, and how it came about, to be printed.
    pub fn mode(&self) -> Option<Mode> {
        self.open.as_ref().map(|o| o.mode)
    }

    fn start(&mut self) -> Result<(), Trouble> {
        let (device, path, card, modes) = self.find()?;
        let Wanted { width, height, fps, format, .. } = self.wanted;
        let Some(mode) = mode::choose(&modes, width, height, fps, format) else {
            let theirs: Vec<_> = modes.iter().map(Mode::to_string).collect();
            let format = format.map_or("any format", mode::name);
            return Err(Trouble::lasting(format!(
                "{}: no mode in {format}; it has: {}",
                path.display(),
                theirs.join("; ")
            )));
        };
        let is_named = format.is_some();
        let (mut started, mut why) = (Open::start(&device, path.clone(), card.clone(), mode, is_named), "");
        if format.is_none()
            && started.as_ref().is_err_and(|trouble| trouble.is_bus_full)
            && let Some(lighter) = mode::compressed(&modes, mode, width, height, fps)
        {
            started = Open::start(&device, path.clone(), card, lighter, is_named);
            why = " (compressed: its USB bus has no room for more)";
        }
        let open = started.inspect_err(|_| {
            let node = node_of(&path);
            put_last(&mut self.mute, node.clone());
            put_last(&mut self.refused, node);
        })?;
        let card = &open.card;
        let name = open.path.display();
        let found = format!("{name} ({card}): {}{why}", open.mode);
        // A stalled camera is opened every few seconds: the same again is no news.
        if self.told != found {
            if (open.mode.width, open.mode.height) == (width, height) {
                log::info!("{found}");
            } else {
                log::warn!(
                    "{name} ({card}): {width}x{height} at {fps} fps was asked for; the nearest is {}{why}",
                    open.mode
                );
            }
            self.told = found;
        }
        self.open = Some(open);
        Ok(())
    }

    /// The wanted device, or the one that it was before.
    fn find(&self) -> Result<(Device, PathBuf, String, Vec<Mode>), Trouble> {
        let try_path = |path: &Path| {
            let device = Device::with_path(path).map_err(|e| Trouble::of(path, e))?;
            let find::Probed { card, modes, is_piped } = find::probe(&device, path)?;
            Ok::<_, Trouble>(((device, path.to_path_buf(), card, modes), is_piped))
        };
        let auto = self.wanted.device == "auto";
        if let Some(known) = &self.known {
            let named = Path::new(&self.wanted.device);
            let own = (!auto).then(|| node_of(named));
            let is_replaced = Monotonic.now_us() - self.frame_at_us >= REPLACED_US;
            // One that hangs has had its time where the user named none.
            let given_up: &[PathBuf] = if auto && is_replaced { &self.mute } else { &[] };
            let nodes = every_node();
            let mut troubles = Vec::new();
            for path in known.candidates(own.as_deref(), &nodes, &self.refused, given_up) {
                let path = if own.as_ref() == Some(&path) { named } else { &path };
                match try_path(path) {
                    Ok((found, _)) if known.may_be(&found.2, Node::of(path, sysfs()).usb_id.as_deref()) => {
                        return Ok(found);
                    }
                    Ok(_) => {}
                    Err(trouble) => {
                        let node = Node::of(path, sysfs());
                        let is_its_own = own.as_ref() == Some(&node.path)
                            || node.port.is_some() && node.port == known.node.port;
                        troubles.push((is_its_own, trouble));
                    }
                }
            }
            if !is_replaced {
                return Err(Trouble::of_lost(&known.card, troubles));
            }
        }
        if !auto {
            return try_path(Path::new(&self.wanted.device)).map(|(found, _)| found);
        }
        let (mut problems, mut piped) = (Vec::new(), None);
        for path in mute_last(find::nodes(), &self.mute) {
            match try_path(&path) {
                // It may give nothing, whatever it lists: after all others.
                Ok((found, true)) => piped = piped.or(Some(found)),
                Ok((found, false)) if !self.mute.contains(&path) || piped.is_none() => return Ok(found),
                // All plain ones were mute; that one was not, or longer ago.
                Ok(_) => break,
                // A board has nodes of codecs and of cameras' metadata by the dozen; they are not what is amiss.
                Err(e) if e.may_pass => problems.push(format!("{:#}", e.why)),
                Err(_) => {}
            }
        }
        if let Some(found) = piped {
            return Ok(found);
        }
        Err(Trouble::passing(match problems.len() {
            0 => {
                "no camera found: plug one in, or give --replay FILE; `posewire devices` lists what there is"
                    .into()
            }
            _ => format!("no usable camera found: {}", problems.join("; ")),
        }))
    }

    fn lose(&mut self, reason: impl Into<Reason>) -> CaptureError {
        let open = self.open.take();
        match &open {
            Some(open) if !open.started => put_last(&mut self.mute, node_of(&open.path)),
            Some(_) => {
                // It had no time to be plugged in anywhere else.
                if let Some(known) = &mut self.known {
                    known.see(&every_node());
                }
                self.mute.clear();
                self.refused.clear();
            }
            None => {}
        }
        let device = open.map_or_else(|| self.wanted.device.clone(), |open| open.path.display().to_string());
        CaptureError::Lost { device, reason: reason.into() }
    }
}

fn sysfs() -> &'static Path {
    Path::new(SYSFS)
}

/// Every video node, with what the kernel tells of it.
fn every_node() -> Vec<Node> {
    find::nodes().iter().map(|path| Node::of(path, sysfs())).collect()
}

fn put_last(paths: &mut Vec<PathBuf>, path: PathBuf) {
    paths.retain(|other| *other != path);
    paths.push(path);
}

/// Those that were not mute first, then the one that was so the longest ago.
fn mute_last(mut nodes: Vec<PathBuf>, mute: &[PathBuf]) -> Vec<PathBuf> {
    nodes.sort_by_key(|path| mute.iter().position(|other| other == path).map_or(0, |at| at + 1));
    nodes
}

impl FrameSource for V4lCamera {
    fn info(&self) -> SourceInfo {
        match &self.open {
            None => {
                let card = self.known.as_ref().map_or("camera", |k| &k.card);
                SourceInfo { name: card.to_string(), width: 0, height: 0, fps: self.wanted.fps, live: true }
            }
            Some(Open { path, card, mode, .. }) => {
                let name = format!("{} ({card})", path.display());
                SourceInfo { name, width: mode.width, height: mode.height, fps: mode.fps, live: true }
            }
        }
    }

    fn next_frame(&mut self, timeout: Duration) -> Result<Option<Frame>, CaptureError> {
        let until_us = Monotonic.now_us() + timeout.as_micros() as i64;
        // Newest wins: a few more looks than there are buffers, then what is there is new enough.
        let mut looks = 2 * BUFFERS;
        loop {
            let Some(open) = &self.open else { return Err(self.lose("closed")) };
            let now_us = Monotonic.now_us();
            let patience_us = open.mode.patience_us(open.started);
            let silent_us = now_us - open.alive_us;
            let wait_us = (until_us - now_us).min(patience_us - silent_us).max(0);
            match open.ready(Duration::from_micros(wait_us as u64)) {
                Ok(true) => {}
                Ok(false) if Monotonic.now_us() - open.alive_us >= patience_us => {
                    return Err(self.lose(format!("no frame for {:.1} s", patience_us as f64 / 1e6)));
                }
                Ok(false) if Monotonic.now_us() >= until_us => return Ok(None),
                Ok(false) => continue,
                Err(e) => return Err(self.lose(Reason::of(e))),
            }
            looks -= 1;
            match self.take(looks == 0) {
                Ok(Taken::Frame(frame)) => return Ok(Some(frame)),
                Ok(Taken::Skipped) if looks == 0 => return Ok(None),
                Ok(Taken::Skipped) => {}
                Err(e) => return Err(self.lose(Reason::of(e))),
            }
        }
    }

    fn reopen(&mut self) -> Result<(), CaptureError> {
        self.open = None;
        self.start().map_err(|Trouble { why, may_pass, .. }| {
            // A camera that has worked with this configuration will do so again; of several, another may.
            if may_pass || self.known.is_some() || !self.mute.is_empty() {
                CaptureError::Lost { device: self.wanted.device.clone(), reason: why }
            } else {
                CaptureError::Unusable(why)
            }
        })
    }

    fn usb_id(&self) -> Option<&str> {
        self.open.as_ref()?.usb_id.as_deref()
    }

    fn counters(&self) -> SourceCounters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn wanted(device: &str) -> Wanted {
        Wanted { device: device.into(), width: 640, height: 480, fps: 30.0, format: None }
    }

    #[test]
    fn what_is_not_a_camera_is_refused_with_what_to_do() {
        match V4lCamera::new(wanted("/dev/null")).reopen() {
            Err(CaptureError::Unusable(why)) => {
                assert!(why.to_string().contains("/dev/null: not a camera"), "{why}");
            }
            other => panic!("{other:?}"),
        }
        match V4lCamera::new(wanted("/nonexistent/video0")).reopen() {
            Err(CaptureError::Lost { reason, .. }) => {
                assert!(reason.to_string().contains("no such camera; plug it in"), "{reason}");
            }
            other => panic!("what may be plugged in is waited for: {other:?}"),
        }
    }

    #[test]
    fn of_many_nodes_that_give_nothing_each_has_its_turn() {
        let nodes = || (0..4).map(|i| PathBuf::from(format!("/dev/video{i}"))).collect::<Vec<_>>();
        let (mut mute, mut opened) = (Vec::new(), Vec::new());
        for _ in 0..8 {
            let first = mute_last(nodes(), &mute).remove(0);
            opened.push(first.clone());
            put_last(&mut mute, first);
        }
        assert_eq!(opened, [nodes(), nodes()].concat());
        assert_eq!(mute, nodes());
    }

    #[test]
    fn the_systems_errors_are_explained() {
        let explain =
            |code| find::explain(Path::new("/dev/video0"), io::Error::from_raw_os_error(code)).to_string();
        assert!(explain(libc::EACCES).contains("usermod -aG video"));
        assert!(explain(libc::EPERM).contains("DeviceAllow"));
        assert!(explain(libc::EBUSY).contains("another program uses it"));
        assert!(explain(libc::ENODEV).contains("plug it in"));
        assert!(explain(libc::ENOTTY).contains("not a camera"));
        assert!(explain(libc::EPIPE).contains("media-ctl"));
        let full = Trouble::of(Path::new("/dev/video2"), io::Error::from_raw_os_error(libc::ENOSPC));
        assert!(full.is_bus_full && full.may_pass, "another camera may be unplugged");
        let why = full.why.to_string();
        assert!(why.contains("USB bus has no room") && why.contains("format = \"mjpeg\""), "{why}");
    }
}
