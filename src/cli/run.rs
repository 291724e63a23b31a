//! `posewire run`: the tracker.

mod checks;
mod lens;
mod notify;
mod outputs;
mod pipes;
mod sinks;
mod source;

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use posewire::capture::{Noticed, Seen, Turned, is_camera_name};
use posewire::child_process::end_groups;
use posewire::clock::{Clock, Monotonic};
use posewire::config::{Config, Flags, Frames, Size};
use posewire::metres::{Lens, Metres, Stature};
use posewire::models;
use posewire::output::display::{self, DisplayTarget, PictureTap};
use posewire::output::video::SourceRate;
use posewire::picture::Turn;
use posewire::pipeline::faults::{Faults, FaultyTracker};
use posewire::pipeline::supervisor::{Outcome, supervise};
use posewire::pipeline::{Factory, Options, Parts, Pipeline, PoseTracker, Session, Timed};
use posewire::tracker::Tracker;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use self::outputs::Outputs;
use self::sinks::Opener;
use super::{Usage, signals};

/// Tracks persons: from a camera, a file or the built-in clip to a serial wire, JSON lines or a display
#[derive(Debug, Default, clap::Args)]
#[command(after_help = "\
Without a source: the first camera, or the built-in clip where there is none. Without an output: JSON lines on the
standard output.

Examples:
  posewire run
  posewire run clip.mp4 --display terminal
  posewire run clip.mp4 --video poses.mp4
  posewire run --camera auto --size 1280x720 --fps 60 --rotate 180 --serial /dev/ttyUSB0 --rate 50
  posewire run --replay clip.avi --frames all --no-drop --jsonl poses.jsonl
  posewire run clip.avi --no-drop --mcap poses.mcap --mcap-pixels
  posewire run --zones zones.toml --events - | while read event; do echo $event; done
  ffmpeg -i clip.mp4 -f yuv4mpegpipe -pix_fmt yuv420p - | posewire run --replay - --no-drop
  posewire run --synthetic --inject camera.drop=0.1,camera.unplug=0.005 --display terminal")]
pub struct Args {
    /// What to watch: a video, a folder of pictures, "-" for a pipe, a camera's device or address
    #[arg(value_name = "SOURCE", conflicts_with = "source")]
    input: Option<PathBuf>,
    /// Pixels asked of the camera: --size 1280x720
    #[arg(long, value_name = "WxH")]
    size: Option<Size>,
    /// Configuration file; posewire.example.toml shows every key
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    flags: Flags,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let (config, flags) = configured(&args)?;
    models::check_names(&config.models).map_err(|e| Usage(format!("{e:#}")))?;
    let faults = Faults::parse(&config.faults.inject, config.faults.seed).map_err(Usage)?;
    checks::check(&config, args.config.as_deref(), &flags, args.size.is_some(), &faults)?;
    let stop = Arc::new(AtomicBool::new(false));
    let draws_on_terminal = config.display.kind.0 == Some(DisplayTarget::Terminal);
    listen(&stop, draws_on_terminal).context("cannot listen for signals")?;
    let no_drop = if flags.no_drop { "--no-drop" } else { "[source] no_drop = true" };
    let Some(parts) = parts(&config, faults, no_drop, &stop)? else { return Ok(ExitCode::SUCCESS) };
    if !config.faults.inject.is_empty() {
        log::warn!("injecting faults: {} (seed {})", config.faults.inject, faults.seed);
    }
    let options = Options {
        frames: match config.source.frames {
            Frames::All => None,
            Frames::Count(n) => Some(n),
        },
        lossless: config.source.no_drop,
    };
    // A screen says it all the time.
    let is_on_screen = draws_on_terminal && std::io::stderr().is_terminal();
    let health_every = (config.service.health_every_s > 0 && !is_on_screen)
        .then(|| Duration::from_secs(config.service.health_every_s.into()));
    let pipeline = Pipeline::start(parts, options).context("cannot start a thread")?;
    let outcome = supervise(pipeline, &stop, health_every, &mut *notify::service_manager());
    conclude(&config, outcome)
}

/// The configuration that the file and the command line make together, and the flags, with SOURCE among them.
fn configured(args: &Args) -> anyhow::Result<(Config, Flags)> {
    let mut config = match &args.config {
        Some(path) => Config::read(path)?,
        None => Config::default(),
    };
    let mut flags = args.flags.clone();
    match &args.input {
        Some(camera) if camera.to_str().is_some_and(is_camera_name) => {
            flags.camera = camera.to_str().map(Into::into);
        }
        Some(path) => flags.replay = Some(path.clone()),
        None => {}
    }
    flags.clone().apply(&mut config);
    if is_file_to_film(&config) && !config.source.no_drop {
        match seen_live(&Outputs::of(&config)) {
            None => config.source.no_drop = true,
            Some(flag) => log::warn!(
                "with {flag} the file is played as it happens, and frames that come too quickly are not in the video: --no-drop puts every one into it"
            ),
        }
    }
    if let Some(Size { width, height }) = args.size {
        (config.source.width, config.source.height) = (width, height);
    }
    Ok((config, flags))
}

/// Opens the outputs, once each has a reader; the source and the networks are opened on their threads. `None` where the run was
/// stopped before. `no_drop` is how the user asked for it.
fn parts(
    config: &Config,
    faults: Faults,
    no_drop: &str,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Option<Parts>> {
    let session = Arc::new(Session::default());
    let clock: Arc<dyn Clock> = Arc::new(Monotonic);
    let source = source::choose(config, notify::is_service(), no_drop)?;
    session.source.set_kind(source.kind());
    let outputs = Outputs::of(config);
    let tap = outputs.show_pictures(config).then(PictureTap::default);
    let source_rate = SourceRate::default();
    let rate = source_rate.clone();
    let told = session.clone();
    let turn = Turn { quarters: config.source.rotate.quarters(), mirror: config.source.mirror };
    let (lenses, lens) = (lens::Lenses::open(config)?, Lens::turned(turn));
    let (watched, seen_by, rate_told) = (session.clone(), lens.clone(), session.clone());
    let Some(readers) = pipes::wait_for_readers(&outputs, stop) else { return Ok(None) };
    let sinks = Opener {
        config,
        outputs,
        faults,
        session: session.clone(),
        tap: tap.clone(),
        source_rate,
        stop: stop.clone(),
    };
    let parts = Parts {
        source: Box::new(move || {
            let source = source::open(source, told, faults)?;
            // Not before the first frame: until then a stream does not say its rate.
            let notice = move |seen: &Seen| {
                let _ = rate.set(seen.fps);
                rate_told.source.set_rate_hz(seen.fps);
                Ok(())
            };
            let source = Box::new(Noticed::new(source, Box::new(notice)));
            let source = lenses.watch(source, seen_by, watched);
            Ok(if turn.is_none() { source } else { Box::new(Turned::new(source, turn)) })
        }),
        tracker: tracker(config, faults, clock.clone(), session.clone(), tap, Some(lens)),
        sinks: sinks.open()?,
        clock,
        session,
    };
    drop(readers);
    Ok(Some(parts))
}

/// What the run ends with; an error that the log has already is not printed again.
fn conclude(config: &Config, outcome: Outcome) -> anyhow::Result<ExitCode> {
    let unfinished = unfinished(config, &outcome.stuck);
    if let Some(file) = unfinished {
        log::error!("{} is not complete: what there is of it is beside its place, as .part", file.display());
    }
    let failed = !outcome.errors.is_empty() || unfinished.is_some();
    match outcome.errors.into_iter().find(|error| !error.is_told()) {
        Some(error) => Err(error.into()),
        None if failed => Ok(ExitCode::FAILURE),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// A file that needs an end and did not get one, as its thread is among the `stuck`.
fn unfinished<'a>(config: &'a Config, stuck: &[String]) -> Option<&'a Path> {
    let Outputs { video, mcap, .. } = Outputs::of(config);
    let is_stuck = |kind: &str, file: &Path| {
        let sink = format!(" {kind} {}", file.display());
        stuck.iter().any(|thread| thread.ends_with(&sink))
    };
    video.filter(|file| is_stuck("video", file)).or_else(|| mcap.filter(|file| is_stuck("mcap", file)))
}

/// A signal sets `stop`; a later one ends the process at once: the user has waited enough.
fn listen(stop: &Arc<AtomicBool>, draws_on_terminal: bool) -> std::io::Result<()> {
    if !draws_on_terminal {
        return signals::listen(stop);
    }
    let is_late = signals::arm(stop)?;
    // A terminal that is closed while it shows poses ends the run, whoever had that ignored. Whatever ends it gives the terminal back.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT])?;
    let stop = stop.clone();
    let listening = move || {
        for signal in signals.forever() {
            if signal == SIGQUIT {
                // Ctrl-\ is for a program that hangs: it ends at once, as any other does.
                end_groups();
                display::give_back_for_good();
                let _ = signal_hook::low_level::emulate_default_handler(SIGQUIT);
            }
            stop.store(true, Ordering::Release);
            if is_late.load(Ordering::Acquire) {
                end_groups();
                display::give_back_for_good();
                std::process::exit(1);
            }
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(listening).map(drop)
}

/// How videos are called that can be watched.
const VIDEOS: [&str; 15] = [
    "3gp", "avi", "flv", "m4v", "mjpeg", "mjpg", "mkv", "mov", "mp4", "mpeg", "mpg", "ogv", "webm", "wmv",
    "y4m",
];

/// Whether a first argument names a video rather than a sub-command: by its ending, whether or not it is there.
pub fn names_video(argument: &OsStr) -> bool {
    let ending = Path::new(argument).extension().unwrap_or_default().to_string_lossy().to_lowercase();
    VIDEOS.contains(&&*ending)
}

/// Whether a file is made into a film: while nobody looks on, every frame is wanted, however long that takes.
fn is_file_to_film(config: &Config) -> bool {
    let replay = &config.source.replay;
    Outputs::of(config).video.is_some() && (replay.is_file() || replay.is_dir())
}

/// By which output somebody looks on.
fn seen_live(outputs: &Outputs) -> Option<&'static str> {
    let Outputs { display, serial, mqtt, web, osc, udp, .. } = outputs;
    let live = [
        ("--display", display.is_some()),
        ("--serial", serial.is_some()),
        ("--mqtt", mqtt.is_some()),
        ("--web", web.is_some()),
        ("--osc", osc.is_some()),
        ("--udp", udp.is_some()),
    ];
    live.into_iter().find(|(_, is_wanted)| *is_wanted).map(|(flag, _)| flag)
}

/// Loads the models on the thread that runs them.
pub(super) fn tracker(
    config: &Config,
    faults: Faults,
    clock: Arc<dyn Clock>,
    session: Arc<Session>,
    tap: Option<PictureTap>,
    lens: Option<Lens>,
) -> Factory<Box<dyn PoseTracker>> {
    let config = config.clone();
    Box::new(move || {
        let tracker = Tracker::new(&config)?;
        let stature = config.metres.person_height.metres().map_or(Stature::ADULT, Stature::measured);
        let tracker = match lens {
            Some(lens) => {
                let metres = Metres::new(lens, stature);
                let camera_height_m = config.metres.camera_height.metres();
                let wants_floor = config.metres.floor || camera_height_m.is_some();
                tracker.with_metres(if wants_floor { metres.with_floor(camera_height_m) } else { metres })
            }
            None => tracker,
        };
        session.set_engine(tracker.card().clone());
        let timed = Timed::new(tracker, clock, tap);
        Ok(if faults.has_infer() { Box::new(FaultyTracker::new(timed, faults)) } else { Box::new(timed) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_film_whose_thread_is_left_behind_is_unfinished_and_a_terminal_is_not() {
        let text = "[video]\npath = \"a b.mp4\"\n[mcap]\npath = \"a.mcap\"\n";
        let config = Config::parse(text, Path::new("x")).unwrap();
        let told = |thread: &str| unfinished(&config, &["infer".into(), thread.into()]);
        assert_eq!(told("sink-0 video a b.mp4"), Some(Path::new("a b.mp4")));
        assert_eq!(told("sink-1 mcap a.mcap"), Some(Path::new("a.mcap")));
        assert_eq!(told("sink-2 terminal"), None);
    }

    #[test]
    fn a_file_is_filmed_frame_by_frame_unless_somebody_looks_on() {
        let seen = |text: &str| seen_live(&Outputs::of(&Config::parse(text, Path::new("x")).unwrap()));
        assert_eq!(seen("[video]\npath = \"a.mp4\"\n[mcap]\npath = \"a.mcap\"\n"), None);
        assert_eq!(seen("[udp]\naddress = \"host:9100\"\n"), Some("--udp"));
        assert_eq!(seen("[mqtt]\nbroker = \"mqtt://host\"\n"), Some("--mqtt"));
    }
}
