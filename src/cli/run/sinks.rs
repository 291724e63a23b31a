//! From the configuration to sinks.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use pose::PoseFrame;
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
use posewire::output::{Existing, Host, PoseSink, Predict, Sending, SinkError};
use posewire::pipeline::faults::{Faults, FaultySink};
use posewire::telemetry::Telemetry;

use crate::cli::Usage;

/// Opens every sink that is configured; JSON lines on the standard output where none is.
pub fn open(
    config: &Config,
    faults: Faults,
    telemetry: &Arc<Telemetry>,
    tap: Option<PictureTap>,
    source_rate: SourceRate,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Vec<Box<dyn PoseSink>>> {
    let predict = config.output.predict;
    let smoother = config.temporal.smoother;
    if config.display.style == DisplayStyle::Volumetric && smoother.network().is_none() {
        return Err(Usage(format!(
            "--display-style volumetric needs poses in 3D, which the smoother {smoother} does not give: leave --smoother out"
        ))
        .into());
    }
    let mut sinks: Vec<Box<dyn PoseSink>> = Vec::new();
    let zones = match config.events.zones.as_os_str().is_empty() {
        true => Zones::default(),
        false => read_zones(&config.events.zones).map_err(|e| Usage(e.to_string()))?,
    };
    if !config.serial.port.is_empty() {
        let options = serial_options(config, predict, &zones)?;
        // A board starts before its adapter, and nobody is there to start the service again.
        let may_wait = config.source.wait && super::notify::is_service();
        let open = if may_wait { Serial::open_or_wait } else { Serial::open };
        let serial = Box::new(open(options, telemetry.clone())?);
        sinks.push(if faults.has_serial() { Box::new(FaultySink::new(serial, faults)) } else { serial });
    }
    if !config.video.path.as_os_str().is_empty() {
        // A film shows each frame as it was, and at its own rate.
        let predict = if predict == Predict::Now { Predict::Capture } else { predict };
        let options = VideoOptions {
            rate_hz: match config.video.rate {
                Rate::Camera => None,
                Rate::Hz(hz) => Some(hz as f32),
            },
            source_rate,
            takes_every_frame: config.source.no_drop,
        };
        let shown = Shown {
            predict,
            tap: tap.clone().filter(|_| config.display.pictures),
            dim_percent: config.display.dim.get(),
            style: config.display.style,
            telemetry: telemetry.clone(),
            stop: stop.clone(),
            source: source_name(config),
        };
        sinks.push(shown.surface(Video::create(&config.video.path, options)?));
    }
    if !config.events.path.as_os_str().is_empty() {
        sinks.push(Box::new(EventLines::open(&config.events.path, existing(config), zones.clone())?));
    } else if !zones.zones.is_empty()
        && config.web.address.get().is_none()
        && config.mqtt.broker.get().is_none()
        && !config.serial.with_events
    {
        let said = "--zones says what --events, --mqtt and --web are to watch: add --events PATH, --events -, --mqtt URL or --web ADDR";
        return Err(Usage(said.into()).into());
    }
    if let Some(broker) = config.mqtt.broker.get() {
        sinks.push(mqtt(broker, config, &zones, telemetry)?);
    }
    if !config.mcap.path.as_os_str().is_empty() {
        let options = told_options(config, tap.clone().filter(|_| config.mcap.pictures), telemetry);
        sinks.push(Box::new(Mcap::create(&config.mcap.path, options)?));
    }
    if let Some(address) = config.foxglove.address.get() {
        let options = told_options(config, tap.clone().filter(|_| config.foxglove.pictures), telemetry);
        sinks.push(foxglove(address, options)?);
    }
    let mut paced: Vec<Box<dyn PoseSink>> = Vec::new();
    if !config.jsonl.path.as_os_str().is_empty() {
        paced.push(Box::new(json_lines(config, predict)?.told_by(telemetry.clone())));
    }
    if let Some(peer) = config.osc.address.get() {
        paced.push(Box::new(Osc::to(peer, osc_options(config, predict)?)));
    }
    if let Some(peer) = config.udp.address.get() {
        let lines = UdpLines::to(peer, config.udp.format, predict).map_err(|e| Usage(e.to_string()))?;
        paced.push(Box::new(lines.told_by(telemetry.clone())));
    }
    if let Some(address) = config.web.address.get() {
        let pictures = tap.clone().filter(|_| config.web.pictures);
        let host: Arc<dyn Host> = telemetry.clone();
        paced.push(Box::new(Web::open(
            address,
            WebOptions { predict, host: Some(host), pictures, zones, style: config.display.style },
        )?));
    }
    if let Some(target) = &config.display.kind.0 {
        let tap = tap.filter(|_| config.display.pictures);
        let (dim_percent, style) = (config.display.dim.get(), config.display.style);
        let (telemetry, stop, source) = (telemetry.clone(), stop.clone(), source_name(config));
        paced.push(display(target, Shown { predict, tap, dim_percent, style, telemetry, stop, source })?);
    }
    if sinks.is_empty() && paced.is_empty() {
        if super::notify::is_service() {
            // A service's standard output is the journal, which thirty lines a second would fill.
            return Err(Usage(
                "nowhere to send poses: a service needs an output; set [serial] port, [jsonl] path, [mcap] path, [events] path, [mqtt] broker, or [web], [osc] or [udp] address in its \
                 configuration (/etc/posewire.toml), or give --jsonl - for lines on the standard output"
                    .into(),
            )
            .into());
        }
        let lines = JsonLines::open(Path::new("-"), Existing::Replace, config.jsonl.format, predict)?;
        paced.push(Box::new(lines.told_by(telemetry.clone())));
    }
    sinks.extend(paced.into_iter().map(|sink| match config.output.rate {
        Rate::Camera => sink,
        Rate::Hz(hz) => Box::new(Paced { sink, period: Duration::from_secs_f64(1.0 / hz) }),
    }));
    for sink in &sinks {
        log::info!("output: {}", sink.name());
    }
    Ok(sinks)
}

/// The sink of `--jsonl PATH`.
fn json_lines(config: &Config, predict: Predict) -> Result<JsonLines, SinkError> {
    let Jsonl { path, format, rotate_mb, .. } = &config.jsonl;
    let lines = JsonLines::open(path, existing(config), *format, predict)?;
    Ok(if *rotate_mb > 0 { lines.rotated_at(u64::from(*rotate_mb) * 1_000_000) } else { lines })
}

/// What becomes of lines that are there already.
fn existing(config: &Config) -> Existing {
    match config.jsonl.existing {
        ExistingLines::Auto if super::notify::is_service() => Existing::Append,
        ExistingLines::Append => Existing::Append,
        ExistingLines::Auto | ExistingLines::Replace => Existing::Replace,
    }
}

/// The sink of `--display KIND`.
fn display(target: &DisplayTarget, on: Shown) -> anyhow::Result<Box<dyn PoseSink>> {
    Ok(match target {
        DisplayTarget::Framebuffer => on.surface(Framebuffer::open()?),
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
    telemetry: Arc<Telemetry>,
    /// Set when the user asks for the end.
    stop: Arc<AtomicBool>,
    /// What the user calls it.
    source: String,
}

/// What the user calls the source: the file's name, the camera's; empty where neither was named.
fn source_name(config: &Config) -> String {
    let source = &config.source;
    let replay = source.replay.file_name().map(|name| name.to_string_lossy().into_owned());
    replay.unwrap_or_else(|| if source.camera == "auto" { String::new() } else { source.camera.clone() })
}

impl Shown {
    fn surface(self, surface: impl Surface + 'static) -> Box<dyn PoseSink> {
        let display =
            Display::new(surface, self.predict, self.tap).dimmed(self.dim_percent).styled(self.style);
        Box::new(display.named(&self.source).told_by(self.telemetry))
    }
}

/// The sink of `--mqtt URL`.
#[cfg(feature = "mqtt")]
fn mqtt(
    broker: &Broker,
    config: &Config,
    zones: &Zones,
    telemetry: &Arc<Telemetry>,
) -> anyhow::Result<Box<dyn PoseSink>> {
    use posewire::output::mqtt::{Mqtt, MqttOptions};
    let host: Arc<dyn Host> = telemetry.clone();
    Ok(Box::new(Mqtt::open(MqttOptions {
        broker: broker.clone(),
        name: config.mqtt.name.clone(),
        discovery: config.mqtt.discovery,
        zones: zones.clone(),
        host: Some(host),
    })?))
}

#[cfg(not(feature = "mqtt"))]
fn mqtt(_: &Broker, _: &Config, _: &Zones, _: &Arc<Telemetry>) -> anyhow::Result<Box<dyn PoseSink>> {
    Err(Usage("this binary has no MQTT: build it with --features mqtt".into()).into())
}

/// What `--mcap` and `--foxglove` tell: each frame as it was, which its picture fits.
fn told_options(config: &Config, pictures: Option<PictureTap>, telemetry: &Arc<Telemetry>) -> McapOptions {
    let host: Arc<dyn Host> = telemetry.clone();
    let predict = config.output.predict;
    McapOptions {
        predict: if predict == Predict::Now { Predict::Capture } else { predict },
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
    let text = match config.serial.port.contains('@') {
        true => config.serial.port.clone(),
        false => format!("{}@{}", config.serial.port, config.serial.baud),
    };
    let port = text.parse::<PortSpec>().map_err(|e| Usage(format!("serial port '{text}': {e}")))?;
    Ok(SerialOptions {
        port,
        predict,
        rate_hz: match config.output.rate {
            Rate::Camera => None,
            Rate::Hz(hz) => Some(hz as f32),
        },
        nominal_fps: config.source.fps as f32,
        max_persons: config.persons.max.get() as u8,
        with_3d: config.serial.with_3d,
        with_place: config.serial.with_place,
        events: config.serial.with_events.then(|| zones.clone()),
    })
}

/// A sink at a rate of its own (`--rate HZ`).
struct Paced {
    sink: Box<dyn PoseSink>,
    period: Duration,
}

impl PoseSink for Paced {
    fn name(&self) -> &str {
        self.sink.name()
    }

    fn send(&mut self, poses: &PoseFrame, now_us: i64) -> Result<Sending, SinkError> {
        self.sink.send(poses, now_us)
    }

    fn watch(&mut self, poses: &PoseFrame) {
        self.sink.watch(poses);
    }

    fn is_away(&self) -> bool {
        self.sink.is_away()
    }

    fn period(&self) -> Option<Duration> {
        Some(self.period)
    }

    fn idle(&mut self, now_us: i64) -> Result<(), SinkError> {
        self.sink.idle(now_us)
    }

    fn finish(&mut self, within: Duration) -> Result<(), SinkError> {
        self.sink.finish(within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A port that is unplugged.
    struct Away;

    impl PoseSink for Away {
        fn name(&self) -> &str {
            "away"
        }
        fn send(&mut self, _: &PoseFrame, _: i64) -> Result<Sending, SinkError> {
            Ok(Sending::LeftOut)
        }
        fn is_away(&self) -> bool {
            true
        }
        fn finish(&mut self, _: Duration) -> Result<(), SinkError> {
            Ok(())
        }
    }

    #[test]
    fn a_sink_at_a_rate_of_its_own_is_away_when_what_it_sends_to_is() {
        assert!(Paced { sink: Box::new(Away), period: Duration::from_millis(20) }.is_away());
    }
}
