//! Which outputs a configuration asks for, decided once.

use std::path::{Path, PathBuf};

use posewire::config::Config;
use posewire::files;
use posewire::output::Existing;
use posewire::output::display::DisplayTarget;
use posewire::output::mqtt::Broker;

/// Where each output goes; `None` where it is not asked for.
pub struct Outputs<'a> {
    pub serial: Option<&'a str>,
    pub video: Option<&'a Path>,
    pub events: Option<&'a Path>,
    pub mqtt: Option<&'a Broker>,
    pub mcap: Option<&'a Path>,
    pub foxglove: Option<&'a str>,
    pub jsonl: Option<&'a Path>,
    pub osc: Option<&'a str>,
    pub udp: Option<&'a str>,
    pub web: Option<&'a str>,
    pub display: Option<&'a DisplayTarget>,
}

impl<'a> Outputs<'a> {
    pub fn of(config: &'a Config) -> Self {
        Self {
            serial: Some(&*config.serial.port).filter(|port| !port.is_empty()),
            video: named(&config.video.path),
            events: named(&config.events.path),
            mqtt: config.mqtt.broker.get(),
            mcap: named(&config.mcap.path),
            foxglove: config.foxglove.address.get(),
            jsonl: named(&config.jsonl.path),
            osc: config.osc.address.get(),
            udp: config.udp.address.get(),
            web: config.web.address.get(),
            display: config.display.kind.0.as_ref(),
        }
    }

    /// Whether nothing is asked for: there are JSON lines on the standard output then.
    pub fn is_empty(&self) -> bool {
        let Self { serial, video, events, mqtt, mcap, foxglove, jsonl, osc, udp, web, display } = self;
        let paths = [video, events, mcap, jsonl];
        let addresses = [serial, foxglove, osc, udp, web];
        paths.iter().all(|path| path.is_none())
            && addresses.iter().all(|address| address.is_none())
            && mqtt.is_none()
            && display.is_none()
    }

    /// Whether `--rate` holds for one of them: the others hear of every frame once.
    pub fn have_rate(&self) -> bool {
        let Self { serial, jsonl, osc, udp, web, display, .. } = self;
        let is_there = [serial, osc, udp, web].iter().any(|address| address.is_some());
        is_there || jsonl.is_some() || display.is_some() || self.is_empty()
    }

    /// Whether `--predict` holds for one of them: events are of the frame as it was.
    pub fn have_moment(&self) -> bool {
        let Self { video, mcap, foxglove, .. } = self;
        self.have_rate() || video.is_some() || mcap.is_some() || foxglove.is_some()
    }

    /// Whether poses are drawn here, on a screen or into files.
    pub fn is_drawn(&self) -> bool {
        self.display.is_some() || self.video.is_some()
    }

    /// The files that a run writes, and what the user calls them.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &'a Path)> {
        let png = match self.display {
            Some(DisplayTarget::Png(path)) => named(path),
            _ => None,
        };
        let files = [
            ("--jsonl", self.jsonl),
            ("--events", self.events),
            ("--video", self.video),
            ("--mcap", self.mcap),
            ("--display", png),
        ];
        files.into_iter().filter_map(|(flag, path)| Some((flag, path?)))
    }

    /// The names that these files move to, to leave their place to new ones, and why.
    pub fn moved_files(&self, config: &Config, existing: Existing) -> Vec<(&'static str, PathBuf)> {
        let lines = self.jsonl.filter(|path| config.jsonl.rotate_mb > 0 && !files::is_stdout(path));
        let mut moved: Vec<_> = lines
            .map(|path| ("--jsonl ([jsonl] rotate_mb)", files::rotated_name(&files::followed(path))))
            .into_iter()
            .collect();
        if existing == Existing::Append {
            for (flag, path) in [("--video", self.video), ("--mcap", self.mcap)] {
                let Some(path) = path.map(files::followed) else { continue };
                moved.extend(files::earlier_names(&path).map(|name| (flag, name)));
            }
        }
        moved
    }

    /// Whether everybody may read the broker's password in the configuration `file`.
    pub fn shows_password(&self, file: &Path) -> bool {
        self.mqtt.is_some_and(|broker| broker.login.is_some()) && is_open_to_all(file)
    }

    /// Whether one of them shows the source's pictures.
    pub fn show_pictures(&self, config: &Config) -> bool {
        (self.is_drawn() && config.display.pictures)
            || (self.web.is_some() && config.web.pictures)
            || (self.mcap.is_some() && config.mcap.pictures)
            || (self.foxglove.is_some() && config.foxglove.pictures)
    }
}

/// Whether every user of this machine may read `file`.
#[cfg(unix)]
fn is_open_to_all(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file).is_ok_and(|file| file.permissions().mode() & 0o004 != 0)
}

#[cfg(not(unix))]
fn is_open_to_all(_: &Path) -> bool {
    false
}

/// A path, where there is one.
fn named(path: &Path) -> Option<&Path> {
    Some(path).filter(|path| !path.as_os_str().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_empty_is_not_asked_for_and_each_output_alone_is_one() {
        assert!(Outputs::of(&Config::default()).is_empty());
        for section in [
            "[serial]\nport = \"/dev/ttyUSB0\"",
            "[video]\npath = \"a.mp4\"",
            "[events]\npath = \"-\"",
            "[mqtt]\nbroker = \"mqtt://host\"",
            "[mcap]\npath = \"a.mcap\"",
            "[foxglove]\naddress = \"127.0.0.1:8765\"",
            "[jsonl]\npath = \"-\"",
            "[osc]\naddress = \"host:9000\"",
            "[udp]\naddress = \"host:9100\"",
            "[web]\naddress = \"127.0.0.1:8080\"",
            "[display]\nkind = \"terminal\"",
        ] {
            let config = Config::parse(section, Path::new("x")).unwrap();
            assert!(!Outputs::of(&config).is_empty(), "{section}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_password_that_everybody_may_read_is_seen() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        let shows = |broker: &str, mode| {
            std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            let config = Config::parse(&format!("[mqtt]\nbroker = \"{broker}\"\n"), Path::new("x")).unwrap();
            Outputs::of(&config).shows_password(file.path())
        };
        assert!(shows("mqtt://hall:secret@host", 0o644));
        assert!(!shows("mqtt://hall:secret@host", 0o640) && !shows("mqtt://host", 0o644));
    }

    #[test]
    fn what_hears_of_every_frame_has_no_rate_and_events_have_no_moment() {
        let has = |text: &str| {
            let config = Config::parse(text, Path::new("x")).unwrap();
            let outputs = Outputs::of(&config);
            [outputs.have_rate(), outputs.have_moment()]
        };
        assert_eq!(has("[mcap]\npath = \"a.mcap\"\n"), [false, true]);
        assert_eq!(has("[events]\npath = \"-\"\n[mqtt]\nbroker = \"mqtt://host\"\n"), [false; 2]);
        assert_eq!(has("[events]\npath = \"-\"\n[udp]\naddress = \"host:9100\"\n"), [true; 2]);
        assert_eq!(has(""), [true; 2], "lines on the standard output");
    }

    #[test]
    fn pictures_are_shown_by_what_is_asked_for_and_allowed_to() {
        let shown = |text: &str| {
            let config = Config::parse(text, Path::new("x")).unwrap();
            Outputs::of(&config).show_pictures(&config)
        };
        assert!(shown("[video]\npath = \"a.mp4\"\n"));
        assert!(!shown("[video]\npath = \"a.mp4\"\n[display]\npictures = false\n"));
        assert!(!shown("[web]\npictures = true\n"));
        assert!(shown("[web]\naddress = \"127.0.0.1:8080\"\npictures = true\n"));
    }
}
