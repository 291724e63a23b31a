//! `posewire record`: frames into a file, to be tracked again exactly.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use posewire::avi::Recording;
use posewire::capture::{self, CaptureError, FrameSource, SourceConfig, SourceInfo};
use posewire::config::Size;
use posewire::picture::{Frame, JpegEncoder};
use posewire::progress::{Progress, say};

use super::{CLIP_FRAMES, signals, tell_source};

/// How long a wait for a frame may keep Ctrl-C waiting.
const TICK: Duration = Duration::from_millis(100);
/// A camera that gives no frame for this long is said to be silent, once; it is waited for nevertheless.
const SILENCE: Duration = Duration::from_secs(2);
/// How long a camera behind a program may take to start; what is asked for in seconds counts from its first frame.
const START: Duration = Duration::from_secs(20);
/// From Ctrl-C to the end of a recording that hangs: a card that is written to may hold up a write for seconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// Of raw frames, which are recorded as JPEG: what is lost lies below a camera's own noise.
const QUALITY: i32 = 95;

/// Record a camera's frames with their capture times, for posewire run --replay FILE --no-drop
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file is an AVI with MJPEG that players show. A camera's JPEGs are kept as they came; raw frames are compressed at
quality 95. Every replay of a recording gives the same poses. It is written beside, as FILE.….part, and takes its place
when it ends; a disk that fills up ends it too, and what is in the file can be read, as can a .part that was left behind.

Examples:
  posewire record clip.avi --seconds 20
  posewire record clip.avi --camera /dev/video2 --size 1280x720
  posewire run --replay clip.avi --no-drop --jsonl poses.jsonl")]
pub struct Args {
    /// The file to write; one that is there is replaced when the recording ends
    #[arg(value_name = "FILE.avi")]
    out: PathBuf,
    /// Camera: a device, a name from /dev/v4l/by-id, or "auto"
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    camera: String,
    /// A folder of pictures or a video instead of a camera
    #[arg(long, value_name = "PATH", conflicts_with_all = ["camera", "synthetic"])]
    replay: Option<PathBuf>,
    /// The built-in clip instead of a camera
    #[arg(long, conflicts_with = "camera")]
    synthetic: bool,
    /// Wanted size of the camera's or the built-in clip's pictures
    #[arg(long, value_name = "WxH", default_value = "640x480", conflicts_with = "replay")]
    size: Size,
    /// Wanted frames per second
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "replay")]
    fps: u32,
    /// Stop after so many frames
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    frames: Option<u64>,
    /// Stop after so many seconds
    #[arg(long, value_name = "S", value_parser = super::seconds)]
    seconds: Option<f64>,
    /// Seed of the built-in clip
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "replay")]
    seed: u64,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    super::check_ending(&args.out, "avi")?;
    let is_over = Arc::default();
    let out = args.out.display();
    let hangs = format!(
        "{out}: ended without its source, which hangs; what there is of it is beside its place, as .part"
    );
    let held = signals::listen_while(&is_over, PATIENCE, hangs).context("cannot listen for signals")?;
    if let Some(path) = &args.replay {
        super::keep_input(path, &args.out)?;
    }
    let mut source = capture::open(&source_config(&args))?;
    let info = source.info();
    tell_source(&info);
    let mut take = Take::create(&args.out, &info)?;

    let until = match (args.frames, args.seconds) {
        (Some(frames), _) => format!(" of {frames} frames"),
        (None, Some(seconds)) => format!(" frames, of {seconds} s"),
        (None, None) if info.live => " frames; Ctrl-C ends it".to_owned(),
        (None, None) => " frames".to_owned(),
    };
    let progress = Progress::start(format!("{}: waiting for the first frame", info.name));
    let mut silence = Silence::default();
    while !is_over.load(Ordering::Relaxed) && args.frames.is_none_or(|n| take.recording.frames() < n) {
        let is_starting = take.first_us.is_none() && source.is_away() && take.started.elapsed() < START;
        if !is_starting && args.seconds.is_some_and(|s| take.passed_s() >= s) {
            break;
        }
        match source.next_frame(TICK) {
            Ok(Some(frame)) => {
                silence = Silence::default();
                if take.write(frame, &*source)? {
                    let (frames, mb) = (take.recording.frames(), take.recording.bytes() as f64 * 1e-6);
                    progress.at(format_args!("recording: {frames}{until}, {mb:.1} MB"));
                }
            }
            // Of one that is known to be away it is said where it is opened again.
            Ok(None) if !source.is_away() => silence.tell(&info.name),
            Ok(None) | Err(CaptureError::Lost { .. }) => {}
            Err(CaptureError::Ended) => break,
            Err(error) => {
                let frames = take.recording.frames();
                take.recording.finish()?;
                if frames == 0 {
                    return Err(error.into());
                }
                return Err(error).context(format!("{}: ended after {frames} frames", args.out.display()));
            }
        }
    }
    drop((progress, held));
    take.finish(&args.out, &info.name)?;
    let out = super::quoted(&args.out);
    say(format_args!("track it, always with the same poses: posewire run {out} --no-drop --jsonl poses.jsonl"));
    Ok(ExitCode::SUCCESS)
}

/// What is recorded, and when it was.
struct Take {
    recording: Recording,
    jpeg: JpegEncoder,
    is_live: bool,
    /// When the first frame came; until then, when the wait for it began.
    started: Instant,
    first_us: Option<i64>,
    last_us: i64,
    /// Frames that are no pictures.
    left_out: u64,
}

impl Take {
    fn create(out: &Path, info: &SourceInfo) -> anyhow::Result<Self> {
        Ok(Self {
            recording: Recording::create(out, info.fps)?,
            jpeg: JpegEncoder::new(QUALITY)?,
            is_live: info.live,
            started: Instant::now(),
            first_us: None,
            last_us: 0,
            left_out: 0,
        })
    }

    /// Seconds from the first frame to the last one.
    fn recorded_s(&self) -> f64 {
        self.first_us.map_or(0.0, |first| (self.last_us - first) as f64 * 1e-6)
    }

    /// Seconds of those that `--seconds` counts.
    fn passed_s(&self) -> f64 {
        // A file has its own time; a camera that gives nothing must not run for ever either.
        if self.is_live { self.started.elapsed().as_secs_f64() } else { self.recorded_s() }
    }

    /// Whether `frame` is in the file: what is no picture is left out.
    fn write(&mut self, frame: Frame, source: &dyn FrameSource) -> anyhow::Result<bool> {
        let came = Instant::now();
        let (number, captured_at_us) = (frame.seq, frame.captured_at_us);
        let frame = match self.jpeg.mjpeg_of(frame) {
            Ok(frame) => frame,
            Err(error) => {
                self.left_out += 1;
                log::warn!("frame {number}: {:#}; left out", anyhow::Error::from(error));
                return Ok(false);
            }
        };
        if self.first_us.is_none() {
            // A stream says its rate only now.
            self.recording.set_nominal_fps(source.info().fps);
            self.started = came;
        }
        self.recording.write(&frame)?;
        self.last_us = captured_at_us;
        self.first_us.get_or_insert(captured_at_us);
        Ok(true)
    }

    fn finish(self, out: &Path, source: &str) -> anyhow::Result<()> {
        let (frames, bytes, seconds) = (self.recording.frames(), self.recording.bytes(), self.recorded_s());
        self.recording.finish()?;
        let (out, left_out) = (out.display(), self.left_out);
        let left_out = if left_out > 0 { format!(", {left_out} left out") } else { String::new() };
        if frames == 0 {
            bail!("{out}: no usable frame came from {source}{left_out}; nothing is recorded");
        }
        say(format_args!("{out}: {frames} frames, {seconds:.1} s, {:.1} MB{left_out}", bytes as f64 * 1e-6));
        Ok(())
    }
}

/// Since when no frame has come.
struct Silence {
    since: Instant,
    is_told: bool,
}

impl Default for Silence {
    fn default() -> Self {
        Self { since: Instant::now(), is_told: false }
    }
}

impl Silence {
    /// Says once that the source named `name` is silent.
    fn tell(&mut self, name: &str) {
        if !self.is_told && self.since.elapsed() > SILENCE {
            self.is_told = true;
            log::warn!("{name}: no frame for {} s; waiting for it", SILENCE.as_secs());
        }
    }
}

fn source_config(args: &Args) -> SourceConfig {
    let (Size { width, height }, fps) = (args.size, args.fps as f32);
    if let Some(path) = &args.replay {
        SourceConfig::Replay { path: path.clone(), no_drop: true }
    } else if args.synthetic {
        SourceConfig::Synthetic {
            persons: 1,
            width,
            height,
            fps,
            seed: args.seed,
            frames: (args.frames.is_none() && args.seconds.is_none()).then_some(CLIP_FRAMES),
            no_drop: true,
        }
    } else {
        SourceConfig::Camera { device: args.camera.clone(), width, height, fps, format: None, wait: false }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn what_would_have_no_effect_is_refused() {
        let parse = |words: &[&str]| Line::try_parse_from([&["record", "out.avi"], words].concat());
        for words in [["--size", "320x240"], ["--fps", "10"], ["--seed", "1"]] {
            assert!(parse(&words).is_ok(), "{words:?}");
            let refused = parse(&[&["--replay", "clip.avi"], &words[..]].concat()).expect_err("no effect");
            assert_eq!(refused.kind(), clap::error::ErrorKind::ArgumentConflict, "{words:?}");
        }
        assert!(parse(&["--replay", "clip.avi"]).is_ok() && parse(&["--frames", "0"]).is_err());
    }
}
