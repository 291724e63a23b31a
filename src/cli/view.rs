//! `posewire view`: a recording in a browser, frame by frame, with the poses of two smoothers side by side.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use pose::PoseFrame;
use posewire::capture::{self, CaptureError, FrameSource, SourceConfig, Turned};
use posewire::config::{Address, Config, MaxPersons, Rotation, SMOOTHER};
use posewire::output::Predict;
use posewire::output::jsonl::{Format, Head};
use posewire::output::web::{Reel, Viewer};
use posewire::picture::{Frame, JpegEncoder, Turn};
use posewire::progress::{Progress, say};
use posewire::temporal::Smoother;
use posewire::{Tracker, models};

use super::{Usage, signals};

/// How long a wait may keep Ctrl-C waiting.
const TICK: Duration = Duration::from_millis(100);
/// Of raw frames, which browsers are shown as JPEG.
const QUALITY: i32 = 90;
/// More would hide one another.
const MAX_TRACKS: usize = 2;
/// A line of eight persons with 3D has some 16 KB.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Show a recording in a browser: frame by frame, two smoothers side by side, a joint over time
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The recording is tracked once with every smoother, every frame of it, and can be looked at meanwhile. Without a recording the page
opens files that are dropped onto it: what `posewire record` wrote, and JSON lines of `posewire run FILE --no-drop --jsonl LINES`;
they do not leave the browser.

Examples:
  posewire view clip.avi
  posewire view clip.mp4 --smoother xl --smoother one-euro
  posewire view clip.avi --jsonl before.jsonl --jsonl after.jsonl
  posewire view")]
pub struct Args {
    /// What to show: a recording, any video, a folder of pictures
    #[arg(value_name = "RECORDING")]
    input: Option<PathBuf>,
    /// Track with this smoother; given twice, both are shown [default: xl and none]
    #[arg(long, value_name = "NAME", requires = "input")]
    smoother: Vec<Smoother>,
    /// Show these JSON lines instead, as a run over the same recording wrote them
    #[arg(long, value_name = "FILE", requires = "input")]
    jsonl: Vec<PathBuf>,
    /// Turn pictures by so many degrees clockwise, as the run that wrote the lines did: 0, 90, 180 or 270
    #[arg(long, value_name = "DEGREES", requires = "input", allow_negative_numbers = true)]
    rotate: Option<Rotation>,
    /// Show pictures as a mirror does, as the run that wrote the lines did
    #[arg(long, requires = "input")]
    mirror: bool,
    /// Where the page is served
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8081")]
    web: Address,
    /// Keypoint network: a name that `posewire models` lists, or a manifest
    #[arg(long, value_name = "MODEL", requires = "input")]
    model: Option<String>,
    /// Weights of the learned smoother: the manifest of some (*.toml beside its *.pwt)
    #[arg(long, value_name = "FILE", requires = "input")]
    temporal: Option<String>,
    /// Persons followed at once, 1 to 8
    #[arg(long, value_name = "N", requires = "input")]
    max_persons: Option<MaxPersons>,
    /// Configuration file, for the networks, the rules for persons and how pictures are turned
    #[arg(long, value_name = "FILE", requires = "input")]
    config: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let is_over = Arc::new(AtomicBool::new(false));
    signals::listen(&is_over).context("cannot listen for signals")?;
    let address =
        args.web.get().ok_or_else(|| Usage("--web names no address: give 127.0.0.1:8081".into()))?;
    let Some(input) = &args.input else {
        let viewer = open(address, None)?;
        return Ok(wait(&viewer, &is_over));
    };
    let smoothers = smoothers(&args)?;
    let config = config(&args)?;
    let replay = SourceConfig::Replay { path: input.clone(), no_drop: true };
    let turn = Turn { quarters: config.source.rotate.quarters(), mirror: config.source.mirror };
    let source = capture::open(&replay)?;
    let source = if turn.is_none() { source } else { Box::new(Turned::new(source, turn)) };
    let names: Vec<String> = match &args.jsonl[..] {
        [] => smoothers.iter().map(Smoother::to_string).collect(),
        files => files.iter().map(|file| name_of(file)).collect(),
    };
    let reel = Reel::new(&name_of(input), &names)?;
    let trackers: Vec<Tracker> = smoothers
        .iter()
        .map(|&smoother| {
            let mut config = config.clone();
            config.temporal.smoother = smoother;
            Ok(Tracker::new(&config)?)
        })
        .collect::<anyhow::Result<_>>()?;
    let mut runs = Vec::new();
    for (run, file) in args.jsonl.iter().enumerate() {
        runs.push(take_lines(&reel, run, file)?);
    }
    let viewer = open(address, Some(reel.clone()))?;
    let frames = take_frames(&reel, source, trackers, &runs, &is_over)?;
    if frames == 0 && !is_over.load(Ordering::Relaxed) {
        bail!("{}: no usable frame in it", input.display());
    }
    Ok(wait(&viewer, &is_over))
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn smoothers(args: &Args) -> Result<Vec<Smoother>, Usage> {
    let (smoothers, lines) = (args.smoother.len(), args.jsonl.len());
    if smoothers > 0 && lines > 0 {
        return Err(Usage("--smoother tracks anew, --jsonl shows what is there: give one of them".into()));
    }
    if smoothers.max(lines) > MAX_TRACKS {
        let option = if lines > 0 { "--jsonl" } else { "--smoother" };
        return Err(Usage(format!("{option}: {MAX_TRACKS} at most fit side by side")));
    }
    Ok(match (smoothers, lines) {
        (0, 0) => vec![SMOOTHER, Smoother::None],
        _ => args.smoother.clone(),
    })
}

fn config(args: &Args) -> anyhow::Result<Config> {
    let mut config = match &args.config {
        Some(path) => Config::read(path)?,
        None => Config::default(),
    };
    if let Some(model) = &args.model {
        config.models.keypoints.clone_from(model);
    }
    if let Some(temporal) = &args.temporal {
        config.models.temporal.clone_from(temporal);
    }
    if let Some(max) = args.max_persons {
        config.persons.max = max;
    }
    if let Some(rotation) = args.rotate {
        config.source.rotate = rotation;
    }
    config.source.mirror |= args.mirror;
    models::check_names(&config.models).map_err(|e| Usage(format!("{e:#}")))?;
    Ok(config)
}

fn open(address: &str, reel: Option<Reel>) -> anyhow::Result<Viewer> {
    let viewer = Viewer::open(address, reel)?;
    say(format_args!("open {} in a browser; Ctrl-C ends it", viewer.link()));
    if let Some(warning) = viewer.warning() {
        log::warn!("{warning}");
    }
    Ok(viewer)
}

/// Serves until the user has seen enough.
fn wait(_: &Viewer, is_over: &AtomicBool) -> ExitCode {
    while !is_over.load(Ordering::Relaxed) {
        std::thread::sleep(TICK);
    }
    ExitCode::SUCCESS
}

/// A file of lines.
struct Run<'a> {
    file: &'a Path,
    /// When the last frame was captured that it tells of.
    last_us: i64,
    /// Of the pictures that it tells of; lines of earlier versions do not say.
    size_px: Option<[u32; 2]>,
}

/// What has been taken from the source.
#[derive(Default)]
struct Taken {
    frames: u64,
    /// Of those, frames without a picture that can be read.
    damaged: u64,
    /// When the last one was captured.
    last_us: Option<i64>,
    size_px: Option<[u32; 2]>,
}

/// Every frame of the source, and what each tracker makes of it; how many there were. `runs` are what is shown in the trackers' place.
fn take_frames(
    reel: &Reel,
    mut source: Box<dyn FrameSource>,
    mut trackers: Vec<Tracker>,
    runs: &[Run<'_>],
    is_over: &AtomicBool,
) -> anyhow::Result<u64> {
    let name = source.info().name;
    let progress = Progress::start(format!("{name}: waiting for the first frame"));
    let mut jpeg = JpegEncoder::new(QUALITY)?;
    let mut text = Vec::new();
    let mut taken = Taken::default();
    let error = loop {
        if is_over.load(Ordering::Relaxed) {
            return Ok(taken.frames);
        }
        let frame = match source.next_frame(TICK) {
            Ok(Some(frame)) => frame,
            Ok(None) | Err(CaptureError::Lost { .. }) => continue,
            Err(CaptureError::Ended) => break None,
            // What is there can be looked at nevertheless.
            Err(error) if taken.frames > 0 => break Some(format!("{error:#}")),
            Err(error) => return Err(error.into()),
        };
        for (run, tracker) in trackers.iter_mut().enumerate() {
            match tracker.track(&frame) {
                Ok(poses) => reel.push_line(run, line(&poses, &mut text))?,
                Err(error) if error.is_of_this_frame_alone() => taken.damaged += u64::from(run == 0),
                Err(error) => return Err(error.into()),
            }
        }
        let Frame { seq, captured_at_us, width, height, .. } = frame;
        taken.size_px.get_or_insert([width, height]);
        match jpeg.jpeg_of(&frame) {
            Ok(bytes) => reel.push(&bytes, seq, captured_at_us)?,
            Err(_) if trackers.is_empty() => taken.damaged += 1,
            Err(_) => {}
        }
        (taken.frames, taken.last_us) = (taken.frames + 1, Some(captured_at_us));
        progress.at(format_args!("{name}: {} frames; they can be looked at already", taken.frames));
    };
    drop(progress);
    let mut wrong = taken.faults(source.counters().damaged > 0, error.is_none(), runs);
    wrong.extend(error);
    let note = wrong.join("; ");
    reel.finish(&note);
    let told = if note.is_empty() { String::new() } else { format!("; {note}") };
    say(format_args!("{name}: {} frames are there{told}", taken.frames));
    Ok(taken.frames)
}

/// The poses as they were at the moment of capture, as a JSON line in `text`.
fn line<'a>(poses: &PoseFrame, text: &'a mut Vec<u8>) -> &'a [u8] {
    let head = Head {
        seq: poses.seq,
        frame: Some(poses.frame),
        captured_at_us: poses.captured_at_us,
        emitted_at_us: poses.captured_at_us,
        size_px: Some([poses.width, poses.height]),
        source: None,
        floor: None,
    };
    text.clear();
    Format::Full.write(text, &head, Predict::Capture.poses(poses, 0));
    text
}

impl Taken {
    /// What is wrong with the source, some of which may be damaged, and with the files that are shown with it.
    fn faults(&self, is_damaged: bool, has_ended: bool, runs: &[Run<'_>]) -> Vec<String> {
        let Self { frames, damaged, .. } = self;
        let mut wrong = Vec::new();
        if is_damaged {
            wrong.push(format!("cut off or damaged: {frames} frames are whole"));
        }
        if *damaged > 0 {
            wrong.push(format!("{damaged} of them have no picture that can be read"));
        }
        let is_whole = has_ended && !is_damaged;
        for Run { file, last_us: ends_us, size_px: theirs } in runs {
            let file = name_of(file);
            if is_whole && self.last_us.is_none_or(|last_us| *ends_us > last_us) {
                wrong.push(format!(
                    "{file} goes on after the end: it is of another recording, or of a run without --no-drop"
                ));
            }
            if let Some(([width, height], [w, h])) = self.size_px.zip(*theirs)
                && (width, height) != (w, h)
            {
                wrong.push(format!(
                    "{file} is of pictures of {w} x {h}, these are {width} x {height}: it is of another recording, or was turned by --rotate"
                ));
            }
        }
        wrong
    }
}

/// Whether it is a line as the page reads it: the head's keys in their order, joints as rows.
fn is_full(line: &[u8], value: &serde_json::Value) -> bool {
    let [seq, frame, captured_us] = ["seq", "frame", "captured_us"].map(|key| &value[key]);
    let head = format!("{{\"seq\":{seq},\"frame\":{frame},\"captured_us\":{captured_us}");
    let is_numbered = seq.is_u64() && (frame.is_u64() || frame.is_null()) && captured_us.is_i64();
    let has_rows = |person: &serde_json::Value| person["keypoints"].is_array();
    let has_persons = value["persons"].as_array().is_some_and(|persons| persons.iter().all(has_rows));
    is_numbered && has_persons && line.starts_with(head.as_bytes())
}

/// The lines of a run, whole ones alone; events among them are passed over.
fn take_lines<'a>(reel: &Reel, run: usize, path: &'a Path) -> anyhow::Result<Run<'a>> {
    let (shown, mut last_us, mut size_px) = (path.display(), None, None);
    let file = File::open(path).map_err(|e| Usage(format!("{shown}: {e}")))?;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        let got = std::io::Read::take(&mut reader, MAX_LINE_BYTES)
            .read_until(b'\n', &mut line)
            .with_context(|| format!("{shown}: cannot be read"))?;
        if got == 0 {
            break;
        }
        // With `--jsonl - --events -` one stream has both.
        if line.iter().all(u8::is_ascii_whitespace) || line.starts_with(b"{\"event\":") {
            continue;
        }
        let is_cut = line.last() != Some(&b'\n');
        let parsed = serde_json::from_slice::<serde_json::Value>(&line);
        if let Some(value) = parsed.ok().filter(|value| is_full(&line, value)) {
            let side = |name: &str| u32::try_from(value[name].as_u64()?).ok();
            size_px = size_px.or_else(|| Some([side("width")?, side("height")?]));
            last_us = value["captured_us"].as_i64();
        } else {
            // A plug that was pulled.
            if is_cut && number > 1 {
                log::warn!("{shown}: line {number} is cut off; left out");
                break;
            }
            let cure = "`posewire run FILE --no-drop --jsonl LINES` writes them";
            return Err(
                Usage(format!("{shown}:{number}: no line of poses in the format full: {cure}")).into()
            );
        }
        if is_cut {
            line.push(b'\n');
        }
        reel.push_line(run, &line)?;
    }
    let last_us = last_us.ok_or_else(|| Usage(format!("{shown}: no line of poses in it")))?;
    Ok(Run { file: path, last_us, size_px })
}
