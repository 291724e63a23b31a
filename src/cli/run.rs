//! `posewire run`: the tracker.

mod notify;
mod sinks;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context;
use posewire::capture::{self, Faulty, FrameSource, Reopening, SourceConfig};
use posewire::clock::{Clock, Monotonic};
use posewire::config::{self, CameraFormat, Config, Frames, Predict, Rate};
use posewire::output::display::{DisplayTarget, PictureTap};
use posewire::pipeline::faults::{Faults, FaultyTracker};
use posewire::pipeline::supervisor::supervise;
use posewire::pipeline::{Maker, Options, Parts, Pipeline, PoseTracker, Timed};
use posewire::infer::Engine;
use posewire::telemetry::Telemetry;
use posewire::tracker::Tracker;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::Usage;

/// Tracks persons: from a camera, a file or the built-in clip to a serial wire, JSON lines or a display
#[derive(Debug, Default, clap::Args)]
#[command(after_help = "\
Without a source: the first camera, or the built-in clip where there is none. Without an output: JSON lines on the
standard output.

Examples:
  posewire run
  posewire run --camera auto --serial /dev/ttyUSB0 --rate 50
  posewire run --replay clip.avi --frames all --no-drop --jsonl poses.jsonl
  posewire run --synthetic --inject camera.drop=0.1,camera.unplug=0.005 --display terminal")]
pub struct Args {
    /// Configuration file; posewire.example.toml shows every key
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Camera: a device, a name from /dev/v4l/by-id, or "auto"
    #[arg(long, value_name = "DEVICE", num_args = 0..=1, default_missing_value = "auto", group = "source")]
    camera: Option<String>,
    /// End with an error where the camera is missing or busy, instead of waiting for it
    #[arg(long)]
    no_wait: bool,
    /// A folder of pictures, a video or a recording
    #[arg(long, value_name = "PATH", group = "source")]
    replay: Option<PathBuf>,
    /// The built-in clip
    #[arg(long, group = "source")]
    synthetic: bool,
    /// Send poses over this serial port
    #[arg(long, value_name = "PORT[@BAUD]")]
    serial: Option<String>,
    /// Write JSON lines to a file, or "-" for the standard output
    #[arg(long, value_name = "PATH")]
    jsonl: Option<PathBuf>,
    /// Draw: window, fb, terminal or png:FOLDER
    #[arg(long, value_name = "KIND")]
    display: Option<String>,
    /// Draw the skeletons alone, without the camera's pictures
    #[arg(long)]
    no_pictures: bool,
    /// Show poses in a browser at this address: 127.0.0.1:8080
    #[arg(long, value_name = "ADDR")]
    web: Option<String>,
    /// Keypoint network: a name that `posewire models` lists, or a manifest
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Temporal model: xl, one-euro, exponential, kalman or none
    #[arg(long, value_name = "NAME")]
    smoother: Option<config::Smoother>,
    /// "camera", or poses per second whatever the camera does
    #[arg(long, value_name = "HZ")]
    rate: Option<Rate>,
    /// The moment poses speak of: now, capture, or milliseconds after capture
    #[arg(long, value_name = "WHEN")]
    predict: Option<Predict>,
    /// What runs the networks: auto (the faster one, timed at the first start), int8, int8:KERNEL or f32
    #[arg(long, value_name = "ENGINE", value_parser = engine)]
    engine: Option<String>,
    /// Persons followed at once
    #[arg(long, value_name = "N", value_parser = max_persons)]
    max_persons: Option<usize>,
    /// Stop after so many processed frames, or "all"
    #[arg(long, value_name = "N")]
    frames: Option<Frames>,
    /// Process every frame of a file, in order; the same file gives the same output
    #[arg(long)]
    no_drop: bool,
    /// Faults for testing: camera.drop=0.1,infer.slow=0.02,serial.stall=0.01
    #[arg(long, value_name = "FAULTS")]
    inject: Option<String>,
    /// Seed of the faults and of the built-in clip
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

fn engine(text: &str) -> Result<String, String> {
    text.parse::<Engine>().map(|_| text.to_owned())
}

fn max_persons(text: &str) -> Result<usize, String> {
    config::check_max_persons(text.parse().map_err(|_| format!("'{text}' is not a number"))?)
}

impl Args {
    /// The file's configuration, overridden by the command line.
    fn config(self) -> anyhow::Result<Config> {
        let mut config = match &self.config {
            Some(path) => Config::read(path)?,
            None => Config::default(),
        };
        if self.camera.is_some() || self.replay.is_some() || self.synthetic {
            config.source.camera = self.camera.unwrap_or_default();
            config.source.replay = self.replay.unwrap_or_default();
            config.source.synthetic = self.synthetic;
        }
        set(&mut config.serial.port, self.serial);
        set(&mut config.jsonl.path, self.jsonl);
        set(&mut config.display.kind, self.display);
        set(&mut config.web.address, self.web);
        set(&mut config.temporal.smoother, self.smoother);
        set(&mut config.output.rate, self.rate);
        set(&mut config.output.predict, self.predict);
        set(&mut config.models.keypoints, self.model);
        set(&mut config.models.engine, self.engine);
        set(&mut config.persons.max, self.max_persons);
        set(&mut config.source.frames, self.frames);
        set(&mut config.faults.inject, self.inject);
        set(&mut config.faults.seed, self.seed);
        config.source.no_drop |= self.no_drop;
        config.source.wait &= !self.no_wait;
        config.display.pictures &= !self.no_pictures;
        Ok(config)
    }
}

fn set<T>(place: &mut T, given: Option<T>) {
    if let Some(value) = given {
        *place = value;
    }
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let config_file = args.config.clone();
    let config = args.config()?;
    keep_inputs(&config, config_file.as_deref())?;
    let faults = Faults::parse(&config.faults.inject, config.faults.seed).map_err(Usage)?;
    if faults.has_serial() && config.serial.port.is_empty() {
        return Err(Usage("serial faults need a serial port: add --serial PORT".into()).into());
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The second one ends the process at once: the user has waited enough.
        signal_hook::flag::register_conditional_shutdown(signal, 1, stop.clone())
            .and_then(|_| signal_hook::flag::register(signal, stop.clone()))
            .context("cannot listen for signals")?;
    }
    let telemetry = Arc::new(Telemetry::default());
    let clock: Arc<dyn Clock> = Arc::new(Monotonic);
    let source = source_config(&config);
    if config.source.no_drop && matches!(source, SourceConfig::Camera { .. }) {
        return Err(Usage("--no-drop is for files: a camera does not wait; leave it out".into()).into());
    }
    telemetry.set_source_is_live(matches!(source, SourceConfig::Camera { .. }));
    let options = Options {
        frames: match config.source.frames {
            Frames::All => None,
            Frames::Count(n) => Some(n),
        },
        lossless: config.source.no_drop,
    };
    let tap = (!config.display.kind.is_empty() && config.display.pictures).then(PictureTap::default);
    let parts = Parts {
        source: Box::new(move || open(&source, faults)),
        tracker: tracker(&config, faults, clock.clone(), telemetry.clone(), tap.clone()),
        sinks: sinks::open(&config, faults, &telemetry, tap)?,
        clock,
        telemetry,
    };
    if !config.faults.inject.is_empty() {
        log::warn!("injecting faults: {} (seed {})", config.faults.inject, faults.seed);
    }
    let health_every =
        (config.service.health_every_s > 0).then(|| Duration::from_secs(config.service.health_every_s.into()));
    let pipeline = Pipeline::start(parts, options).context("cannot start a thread")?;
    let outcome = supervise(pipeline, &stop, health_every, &mut *notify::service_manager());
    match outcome.errors.into_iter().next() {
        Some(error) => Err(error.into()),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Refuses outputs that would overwrite what is read.
fn keep_inputs(config: &Config, config_file: Option<&Path>) -> Result<(), Usage> {
    let png = match config.display.kind.parse() {
        Ok(DisplayTarget::Png(path)) => path,
        _ => PathBuf::new(),
    };
    for input in [Some(&*config.source.replay), config_file].into_iter().flatten() {
        for output in [&config.jsonl.path, &png] {
            super::keep_input(input, output)?;
        }
    }
    Ok(())
}

/// Frames of the built-in clip where every one is processed: 10 seconds.
const CLIP_FRAMES: u64 = 300;

fn source_config(config: &Config) -> SourceConfig {
    let s = &config.source;
    let fps = s.fps as f32;
    let camera = |device: &str| SourceConfig::Camera {
        device: device.into(),
        width: s.width,
        height: s.height,
        fps,
        wait: s.wait,
        format: match s.format {
            CameraFormat::Auto => None,
            CameraFormat::Mjpeg => Some(posewire::picture::PixelFormat::Mjpeg),
            CameraFormat::Yuyv => Some(posewire::picture::PixelFormat::Yuyv),
            CameraFormat::Nv12 => Some(posewire::picture::PixelFormat::Nv12),
            CameraFormat::Grey => Some(posewire::picture::PixelFormat::Grey),
            CameraFormat::Rgb24 => Some(posewire::picture::PixelFormat::Rgb24),
        },
    };
    if !s.replay.as_os_str().is_empty() {
        return SourceConfig::Replay { path: s.replay.clone(), no_drop: s.no_drop, fps_override: None };
    }
    if !s.camera.is_empty() {
        return camera(&s.camera);
    }
    if !s.synthetic && !s.no_drop && has_camera() {
        return camera("auto");
    }
    if !s.synthetic {
        log::info!("nothing attached: showing the built-in clip (name a source with --camera or --replay)");
    }
    SourceConfig::Synthetic {
        persons: 1,
        width: s.width,
        height: s.height,
        fps,
        seed: config.faults.seed,
        frames: s.no_drop.then_some(CLIP_FRAMES),
        no_drop: s.no_drop,
    }
}

/// Whether the system shows any camera at all.
#[cfg(all(feature = "nokhwa", not(target_os = "linux")))]
fn has_camera() -> bool {
    capture::nokhwa::list_cameras().is_ok_and(|cameras| !cameras.is_empty())
}

/// Whether the system shows any camera at all.
#[cfg(not(all(feature = "nokhwa", not(target_os = "linux"))))]
fn has_camera() -> bool {
    let is_video = |entry: std::fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b"video");
    std::fs::read_dir("/dev").is_ok_and(|entries| entries.flatten().any(is_video))
}

type Thrown = Box<dyn std::error::Error + Send + Sync>;

fn open(config: &SourceConfig, faults: Faults) -> Result<Box<dyn FrameSource>, Thrown> {
    let source = capture::open(config)?;
    if !source.is_away() {
        let info = source.info();
        log::info!("source: {}, {}x{} at {} fps", info.name, info.width, info.height, info.fps);
    }
    if faults.camera.is_empty() {
        return Ok(source);
    }
    Ok(Box::new(Reopening::new(Faulty::new(source, faults.camera)?)))
}

/// Where what was found out about this board is kept: systemd's folder for a service, else the user's.
fn cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    folder("CACHE_DIRECTORY")
        .or_else(|| folder("XDG_CACHE_HOME").map(|p| p.join("posewire")))
        .or_else(|| folder("HOME").map(|p| p.join(".cache/posewire")))
}

/// Loads the models on the thread that runs them.
pub(super) fn tracker(
    config: &Config,
    faults: Faults,
    clock: Arc<dyn Clock>,
    telemetry: Arc<Telemetry>,
    tap: Option<PictureTap>,
) -> Maker<Box<dyn PoseTracker>> {
    let config = config.clone();
    Box::new(move || {
        let tracker = Tracker::new(&config, cache_folder().as_deref())?;
        telemetry.set_engine(tracker.card().clone());
        let timed = Timed::new(tracker, clock, tap);
        Ok(if faults.has_infer() { Box::new(FaultyTracker::new(timed, faults)) } else { Box::new(timed) })
    })
}
