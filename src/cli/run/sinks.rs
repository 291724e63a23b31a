//! From the configuration to sinks.

mod paced;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use posewire::capture::told_name;
use posewire::config::{Config, ExistingLines, Jsonl, Rate};
use posewire::output::display::{
    Display, DisplayStyle, DisplayTarget, Framebuffer, PictureTap, PngFiles, Surface, Terminal,
};
use posewire::output::events::{EventLines, Zones, read_zones};
use posewire::output::jsonl::JsonLines;
use posewire::output::mcap::{Mcap, McapOptions};
use posewire::output::mqtt::Broker;
use posewire::output::osc::{Osc, OscOptions};
use posewire::output::serial::{PortSpec, Serial, SerialOptions};
use posewire::output::udp::UdpLines;
use posewire::output::video::{SourceRate, Video, VideoOptions};
use posewire::output::web::{Web, WebOptions};
use posewire::output::{Existing, Host, PoseSink, Predict, SinkError};
use posewire::pipeline::Session;
use posewire::pipeline::faults::{Faults, FaultySink};

use self::paced::Paced;
use super::notify;
use super::outputs::Outputs;
use crate::cli::Usage;

/// What sinks are opened from.
pub struct Opener<'a> {
    pub config: &'a Config,
    pub outputs: Outputs<'a>,
    pub faults: Faults,
    pub session: Arc<Session>,
    /// The source's pictures, where somebody shows them.
    pub tap: Option<PictureTap>,
    pub source_rate: SourceRate,
    pub stop: Arc<AtomicBool>,
}

impl Opener<'_> {
    /// Opens every sink that is configured; JSON lines on the standard output where none is.
    pub fn open(self) -> anyhow::Result<Vec<Box<dyn PoseSink>>> {
        let (config, smoother) = (self.config, self.config.temporal.smoother);
        if config.display.style == DisplayStyle::Volumetric && smoother.network().is_none() {
            return Err(Usage(format!(
                "--display-style volumetric needs poses in 3D, which the smoother {smoother} does not give: leave --smoother out"
            ))
            .into());
        }
        let zones = match config.events.zones.as_os_str().is_empty() {
            true => Zones::default(),
            false => read_zones(&config.events.zones).map_err(|e| Usage(e.to_string()))?,
        };
        let mut sinks = self.at_the_frames_rate(&zones)?;
        let mut paced = self.at_the_rate_asked_for(zones)?;
        if self.outputs.is_empty() {
            paced.push(self.standard_output()?);
        }
        sinks.extend(paced.into_iter().map(|sink| match config.output.rate {
            Rate::Camera => sink,
            Rate::Hz(hz) => Box::new(Paced::new(sink, hz)),
        }));
        for sink in &sinks {
            log::info!("output: {}", sink.name());
        }
        Ok(sinks)
    }

    /// Those that hear of every frame, whatever `--rate` says.
    fn at_the_frames_rate(&self, zones: &Zones) -> anyhow::Result<Vec<Box<dyn PoseSink>>> {
        let Self { config, outputs, session, .. } = self;
        let mut sinks: Vec<Box<dyn PoseSink>> = Vec::new();
        if outputs.serial.is_some() {
            sinks.push(self.serial(zones)?);
        }
        if let Some(path) = outputs.video {
            sinks.push(self.video(path)?);
        }
        if let Some(path) = outputs.events {
            let lines = EventLines::open(path, existing(config), zones.clone())?;
            sinks.push(Box::new(lines.told_by(session.clone())));
        } else if !zones.zones.is_empty()
            && outputs.web.is_none()
            && outputs.mqtt.is_none()
            && !config.serial.with_events
        {
            let said = "--zones says what --events, --mqtt and --web are to watch: add --events PATH, --events -, --mqtt URL or --web ADDR";
            return Err(Usage(said.into()).into());
        }
        if let Some(broker) = outputs.mqtt {
            sinks.push(mqtt(broker, config, zones, session)?);
        }
        if let Some(path) = outputs.mcap {
            let options = told_options(config, self.pictures_if(config.mcap.pictures), session);
            sinks.push(Box::new(Mcap::create(path, existing(config), options)?));
        }
        if let Some(address) = outputs.foxglove {
            let options = told_options(config, self.pictures_if(config.foxglove.pictures), session);
            sinks.push(foxglove(address, options)?);
        }
        Ok(sinks)
    }

    /// Those that `--rate` holds for.
    fn at_the_rate_asked_for(&self, zones: Zones) -> anyhow::Result<Vec<Box<dyn PoseSink>>> {
        let Self { config, outputs, session, .. } = self;
        let predict = config.output.predict;
        for (flag, peer) in [("--osc", outputs.osc), ("--udp", outputs.udp)] {
            if let Some(peer) = peer.filter(|peer| peer.ends_with(":0")) {
                return Err(Usage(format!("{flag} {peer}: nobody can receive at port 0: name another")).into());
            }
        }
        let mut sinks: Vec<Box<dyn PoseSink>> = Vec::new();
        if let Some(path) = outputs.jsonl {
            sinks.push(Box::new(json_lines(path, config)?.told_by(session.clone())));
        }
        if let Some(peer) = outputs.osc {
            sinks.push(Box::new(Osc::to(peer, osc_options(config, predict)?)));
        }
        if let Some(peer) = outputs.udp {
            let lines = UdpLines::to(peer, config.udp.format, predict).map_err(|e| Usage(e.to_string()))?;
            sinks.push(Box::new(lines.told_by(session.clone())));
        }
        if let Some(address) = outputs.web {
            let pictures = self.pictures_if(config.web.pictures);
            let (host, style): (Arc<dyn Host>, _) = (session.clone(), config.display.style);
            let options = WebOptions { predict, host: Some(host), pictures, zones, style };
            sinks.push(Box::new(Web::open(address, options)?));
        }
        if let Some(target) = outputs.display {
            sinks.push(display(target, self.shown(predict))?);
        }
        Ok(sinks)
    }

    /// The sink where no other is configured.
    fn standard_output(&self) -> anyhow::Result<Box<dyn PoseSink>> {
        if notify::is_service() {
            // A service's standard output is the journal, which thirty lines a second would fill.
            return Err(Usage(
                "nowhere to send poses: a service needs an output; set [serial] port, [jsonl] path, [mcap] path, [events] path, [mqtt] broker, or [web], [osc] or [udp] address in its \
                 configuration (/etc/posewire.toml), or give --jsonl - for lines on the standard output"
                    .into(),
            )
            .into());
        }
        let Config { jsonl, output, .. } = self.config;
        let lines = JsonLines::open(Path::new("-"), Existing::Replace, jsonl.format, output.predict)?;
        Ok(Box::new(lines.told_by(self.session.clone())))
    }

    /// The sink of `--serial PORT`.
    fn serial(&self, zones: &Zones) -> anyhow::Result<Box<dyn PoseSink>> {
        let options = serial_options(self.config, self.config.output.predict, zones)?;
        // A board starts before its adapter, and nobody is there to start the service again.
        let may_wait = self.config.source.wait && notify::is_service();
        let open = if may_wait { Serial::open_or_wait } else { Serial::open };
        let serial = Box::new(open(options, self.session.clone())?);
        let faults = self.faults;
        Ok(if faults.has_serial() { Box::new(FaultySink::new(serial, faults)) } else { serial })
    }

    /// The sink of `--video FILE`.
    fn video(&self, path: &Path) -> anyhow::Result<Box<dyn PoseSink>> {
        // A film shows each frame as it was, and at its own rate.
        let predict = of_the_frame(self.config.output.predict);
        let options = VideoOptions {
            rate_hz: match self.config.video.rate {
                Rate::Camera => None,
                Rate::Hz(hz) => Some(hz as f32),
            },
            source_rate: self.source_rate.clone(),
            takes_every_frame: self.config.source.no_drop,
        };
        Ok(self.shown(predict).surface(Video::create(path, existing(self.config), options)?))
    }

    fn shown(&self, predict: Predict) -> Shown {
        let display = &self.config.display;
        Shown {
            predict,
            tap: self.pictures_if(display.pictures),
            dim_percent: display.dim.get(),
            style: display.style,
            session: self.session.clone(),
            stop: self.stop.clone(),
            source: source_name(self.config),
        }
    }

    fn pictures_if(&self, are_wanted: bool) -> Option<PictureTap> {
        self.tap.clone().filter(|_| are_wanted)
    }
}

/// Poses of the frame itself, where those of the moment of sending are asked for.
fn of_the_frame(predict: Predict) -> Predict {
    if predict == Predict::Now { Predict::Capture } else { predict }
}

/// The sink of `--jsonl PATH`.
fn json_lines(path: &Path, config: &Config) -> Result<JsonLines, SinkError> {
    let Jsonl { format, rotate_mb, .. } = config.jsonl;
    let lines = JsonLines::open(path, existing(config), format, config.output.predict)?;
    Ok(if rotate_mb > 0 { lines.rotated_at(u64::from(rotate_mb) * 1_000_000) } else { lines })
}

/// What becomes of lines, a film or an MCAP file that are there already.
pub fn existing(config: &Config) -> Existing {
    match config.jsonl.existing {
        ExistingLines::Auto if notify::is_service() => Existing::Append,
        ExistingLines::Append => Existing::Append,
        ExistingLines::Auto | ExistingLines::Replace => Existing::Replace,
    }
}

/// The sink of `--display KIND`.
fn display(target: &DisplayTarget, on: Shown) -> anyhow::Result<Box<dyn PoseSink>> {
    Ok(match target {
        DisplayTarget::Framebuffer(device) => on.surface(Framebuffer::open(device)?),
        DisplayTarget::Terminal => {
            let terminal = Terminal::open()?.stopping(on.stop.clone());
            on.surface(terminal)
        }
        DisplayTarget::Png(path) => on.surface(PngFiles::open(path)?),
        #[cfg(feature = "window")]
        DisplayTarget::Window => on.surface(posewire::output::display::Window::open()?),
        #[cfg(not(feature = "window"))]
        DisplayTarget::Window => {
            return Err(Usage("this binary has no window: build it with --features window".into()).into());
        }
    })
}

/// What every display gets.
struct Shown {
    predict: Predict,
    tap: Option<PictureTap>,
    dim_percent: u8,
    style: DisplayStyle,
    session: Arc<Session>,
    /// Set when the user asks for the end.
    stop: Arc<AtomicBool>,
    /// What the user calls it.
    source: String,
}

/// What the user calls the source: the file's name, the camera's; empty where neither was named.
fn source_name(config: &Config) -> String {
    let source = &config.source;
    let replay = source.replay.file_name().map(|name| name.to_string_lossy().into_owned());
    replay.unwrap_or_else(|| if source.camera == "auto" { String::new() } else { told_name(&source.camera) })
}

impl Shown {
    fn surface(self, surface: impl Surface + 'static) -> Box<dyn PoseSink> {
        let display =
            Display::new(surface, self.predict, self.tap).dimmed(self.dim_percent).styled(self.style);
        Box::new(display.named(&self.source).told_by(self.session))
    }
}

/// The sink of `--mqtt URL`.
#[cfg(feature = "mqtt")]
fn mqtt(
    broker: &Broker,
    config: &Config,
    zones: &Zones,
    session: &Arc<Session>,
) -> anyhow::Result<Box<dyn PoseSink>> {
    use posewire::output::mqtt::{Mqtt, MqttOptions};
    let host: Arc<dyn Host> = session.clone();
    Ok(Box::new(Mqtt::open(MqttOptions {
        broker: broker.clone(),
        name: config.mqtt.name.clone(),
        discovery: config.mqtt.discovery,
        zones: zones.clone(),
        host: Some(host),
    })?))
}

#[cfg(not(feature = "mqtt"))]
fn mqtt(_: &Broker, _: &Config, _: &Zones, _: &Arc<Session>) -> anyhow::Result<Box<dyn PoseSink>> {
    Err(Usage("this binary has no MQTT: build it with --features mqtt".into()).into())
}

/// What `--mcap` and `--foxglove` tell: each frame as it was, which its picture fits.
fn told_options(config: &Config, pictures: Option<PictureTap>, session: &Arc<Session>) -> McapOptions {
    let host: Arc<dyn Host> = session.clone();
    McapOptions {
        predict: of_the_frame(config.output.predict),
        pictures,
        is_replayed: config.source.no_drop,
        host: Some(host),
    }
}

/// The sink of `--foxglove ADDRESS`.
#[cfg(feature = "foxglove")]
fn foxglove(address: &str, options: McapOptions) -> anyhow::Result<Box<dyn PoseSink>> {
    Ok(Box::new(posewire::output::foxglove::Foxglove::bind(address, options)?))
}

#[cfg(not(feature = "foxglove"))]
fn foxglove(_: &str, _: McapOptions) -> anyhow::Result<Box<dyn PoseSink>> {
    let said = "this binary has no live connection to Foxglove: build it with --features foxglove; --mcap FILE writes what Foxglove opens";
    Err(Usage(said.into()).into())
}

fn osc_options(config: &Config, predict: Predict) -> Result<OscOptions, Usage> {
    let (format, smoother) = (config.osc.format, config.temporal.smoother);
    if format.needs_3d() && smoother.network().is_none() {
        return Err(Usage(format!(
            "--osc-format {format} needs metres, which the smoother {smoother} does not give: leave --smoother out"
        )));
    }
    Ok(OscOptions { format, predict, with_3d: config.osc.with_3d })
}

fn serial_options(config: &Config, predict: Predict, zones: &Zones) -> anyhow::Result<SerialOptions> {
    let (text, baud) = (&config.serial.port, config.serial.baud);
    let port = PortSpec::named(text, baud).map_err(|e| Usage(format!("serial port '{text}': {e}")))?;
    Ok(SerialOptions {
        port,
        predict,
        rate_hz: match config.output.rate {
            Rate::Hz(hz) if !config.source.no_drop => Some(hz as f32),
            // Where every frame is sent once, a rate would leave some out.
            Rate::Hz(_) | Rate::Camera => None,
        },
        nominal_fps: config.source.fps as f32,
        max_persons: config.persons.max.get() as u8,
        with_3d: config.serial.with_3d,
        with_place: config.serial.with_place,
        events: config.serial.with_events.then(|| zones.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        Config::parse(text, Path::new("x")).unwrap()
    }

    #[test]
    fn a_rate_leaves_nothing_out_of_what_is_read_frame_by_frame() {
        let rate_hz = |no_drop: bool| {
            let text = format!(
                "[source]\nreplay = \"a.avi\"\nno_drop = {no_drop}\n[output]\nrate = 10\n[serial]\nport = \"/dev/ttyUSB0\"\n"
            );
            serial_options(&config(&text), Predict::Now, &Zones::default()).unwrap().rate_hz
        };
        assert_eq!((rate_hz(true), rate_hz(false)), (None, Some(10.0)));
    }

    #[test]
    fn a_display_names_the_source_without_its_password() {
        for (source, named) in [
            ("camera = \"rtsp://user:secret@10.0.0.9/stream?token=secret\"", "rtsp://10.0.0.9/stream"),
            ("camera = \"/dev/video2\"", "/dev/video2"),
            ("camera = \"auto\"", ""),
            ("replay = \"films/a.avi\"", "a.avi"),
        ] {
            assert_eq!(source_name(&config(&format!("[source]\n{source}\n"))), named);
        }
    }
}
