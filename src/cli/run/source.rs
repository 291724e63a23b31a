//! From the configuration to what is watched: a camera, a file or a pipe, or the built-in clip until there is a camera.

use std::sync::Arc;

use posewire::capture::{self, FrameSource, Reopening, SourceConfig, Standby};
use posewire::capture::{Faulty, has_camera, has_csi_camera};
use posewire::config::{Config, Frames};
use posewire::pipeline::faults::Faults;
use posewire::pipeline::{BoxError, Session, SourceKind};

use crate::cli::{CLIP_FRAMES, Usage, tell_source};

/// What is watched first, and what it gives way to.
pub struct Chosen {
    pub source: SourceConfig,
    /// The camera that the built-in clip stands in for: who names no source wants one, as soon as there is one.
    pub camera: Option<SourceConfig>,
}

impl Chosen {
    pub fn kind(&self) -> SourceKind {
        match self.source {
            SourceConfig::Camera { .. } => SourceKind::Camera,
            SourceConfig::Replay { .. } => SourceKind::File,
            SourceConfig::Synthetic { .. } => SourceKind::BuiltIn,
        }
    }
}

/// What the configuration asks for. Who names nothing gets the first camera; where there is none, the built-in clip, but neither as a
/// service, which never shows made-up people, nor where no camera is to be waited for. `no_drop` is what the user calls that option.
///
/// # Errors
/// Every frame is asked for of what does not wait.
pub fn choose(config: &Config, is_service: bool, no_drop: &str) -> Result<Chosen, Usage> {
    let s = &config.source;
    let only = |source| Ok(Chosen { source, camera: None });
    if !s.replay.as_os_str().is_empty() {
        return only(SourceConfig::Replay { path: s.replay.clone(), no_drop: s.no_drop });
    }
    let is_named = !s.camera.is_empty() || s.synthetic;
    if s.no_drop && !s.camera.is_empty() {
        return Err(Usage(format!("{no_drop} is for files: a camera does not wait; leave it out")));
    }
    if s.no_drop && !is_named {
        return Err(Usage(format!(
            "{no_drop} is for files: name one with --replay FILE, or give --synthetic"
        )));
    }
    if !s.camera.is_empty() {
        return only(camera_of(config, &s.camera, s.wait));
    }
    if !is_named && (is_service || !s.wait || has_camera() || has_csi_camera()) {
        return only(camera_of(config, "auto", s.wait));
    }
    if !is_named {
        log::info!(
            "no camera: showing the built-in clip until one is there (name a source with --camera or --replay)"
        );
    }
    let source = SourceConfig::Synthetic {
        persons: 1,
        width: s.width,
        height: s.height,
        fps: s.fps as f32,
        seed: config.faults.seed,
        frames: (s.no_drop && s.frames == Frames::All).then_some(CLIP_FRAMES),
        no_drop: s.no_drop,
    };
    // Waited for, while the clip goes on: one that is opened anew each time would not know which camera was busy or mute.
    Ok(Chosen { source, camera: (!is_named).then(|| camera_of(config, "auto", true)) })
}

/// The camera `device` as the configuration wants it.
fn camera_of(config: &Config, device: &str, wait: bool) -> SourceConfig {
    let s = &config.source;
    SourceConfig::Camera {
        device: device.into(),
        width: s.width,
        height: s.height,
        fps: s.fps as f32,
        wait,
        format: s.format.0,
    }
}

/// Opens what was chosen.
pub fn open(
    chosen: Chosen,
    session: Arc<Session>,
    faults: Faults,
) -> Result<Box<dyn FrameSource>, BoxError> {
    let mut source = capture::open(&chosen.source)?;
    if !source.is_away() {
        tell_source(&source.info());
    }
    if let Some(camera) = chosen.camera {
        let look = Box::new(move || has_camera().then(|| capture::open(&camera)).transpose());
        let came = Box::new(move |first| session.source.give_way(first));
        source = Box::new(Standby::new(source, look, came));
    }
    if faults.camera.is_empty() {
        return Ok(source);
    }
    Ok(Box::new(Reopening::new(Faulty::new(source, faults.camera)?)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn chosen(text: &str, is_service: bool) -> Result<Chosen, Usage> {
        choose(&Config::parse(text, Path::new("x")).unwrap(), is_service, "no_drop")
    }

    #[test]
    fn who_waits_for_no_camera_and_every_service_gets_no_clip() {
        for (text, is_service, waits) in [
            ("[source]\nwait = false\n", false, false),
            ("", true, true),
            ("[source]\nwait = false\n", true, false),
        ] {
            let Chosen { source, camera } = chosen(text, is_service).unwrap();
            let SourceConfig::Camera { device, wait, .. } = source else { panic!("{text}: {source:?}") };
            assert!(device == "auto" && wait == waits && camera.is_none(), "{text}");
        }
        for nothing_named in ["[source]\nno_drop = true\n", "[source]\nno_drop = true\ncamera = \"auto\"\n"] {
            assert!(chosen(nothing_named, true).is_err_and(|why| why.0.contains("no_drop is for files")));
        }
    }

    #[test]
    fn the_clip_is_as_long_as_it_is_asked_for() {
        let frames = |text: &str| match chosen(&format!("[source]\nsynthetic = true\n{text}"), false)
            .unwrap()
            .source
        {
            SourceConfig::Synthetic { frames, .. } => frames,
            other => panic!("{other:?}"),
        };
        assert_eq!(frames("no_drop = true\n"), Some(CLIP_FRAMES));
        assert_eq!(frames("no_drop = true\nframes = 400\n"), None, "the run ends it");
        assert_eq!(frames(""), None);
    }

    #[test]
    fn the_first_of_replay_camera_and_built_in_clip_is_taken() {
        let all = "[source]\nreplay = \"a.avi\"\ncamera = \"csi\"\nsynthetic = true\n";
        assert!(matches!(chosen(all, false).unwrap().source, SourceConfig::Replay { .. }));
        let two = "[source]\ncamera = \"csi\"\nsynthetic = true\n";
        assert!(matches!(chosen(two, false).unwrap().source, SourceConfig::Camera { .. }));
    }
}
