//! `posewire record`: frames into a file, to be tracked again exactly.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use posewire::avi::Recording;
use posewire::capture::{self, CaptureError, SourceConfig};
use posewire::config::Size;
use posewire::picture::JpegEncoder;
use posewire::progress::Progress;

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
    #[arg(long, value_name = "WxH", default_value = "640x480")]
    size: Size,
    /// Wanted frames per second
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=1000))]
    fps: u32,
    /// Stop after so many frames
    #[arg(long, value_name = "N")]
    frames: Option<u64>,
    /// Stop after so many seconds
    #[arg(long, value_name = "S", value_parser = super::seconds)]
    seconds: Option<f64>,
    /// Seed of the built-in clip
    #[arg(long, value_name = "N", default_value_t = 0)]
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
    let mut recording = Recording::create(&args.out, info.fps)?;
    let mut jpeg = JpegEncoder::new(QUALITY)?;

    let until = match (args.frames, args.seconds) {
        (Some(frames), _) => format!(" of {frames} frames"),
        (None, Some(seconds)) => format!(" frames, of {seconds} s"),
        (None, None) if info.live => " frames; Ctrl-C ends it".to_owned(),
        (None, None) => " frames".to_owned(),
    };
    let progress = Progress::start(format!("{}: waiting for the first frame", info.name));
    let mut started = Instant::now();
    let mut heard_at = started;
    let mut is_told = false;
    let mut first_us = None;
    let mut last_us = 0;
    let mut left_out = 0;
    while !is_over.load(Ordering::Relaxed) && args.frames.is_none_or(|n| recording.frames() < n) {
        // A file has its own time; a camera that gives nothing must not run for ever either.
        let recorded_s = first_us.map_or(0.0, |first: i64| (last_us - first) as f64 * 1e-6);
        let passed_s = if info.live { started.elapsed().as_secs_f64() } else { recorded_s };
        let is_starting = first_us.is_none() && source.is_away() && started.elapsed() < START;
        if !is_starting && args.seconds.is_some_and(|s| passed_s >= s) {
            break;
        }
        match source.next_frame(TICK) {
            Ok(Some(frame)) => {
                (heard_at, is_told) = (Instant::now(), false);
                let (number, captured_at_us) = (frame.seq, frame.captured_at_us);
                match jpeg.mjpeg_of(frame) {
                    Ok(frame) => {
                        if first_us.is_none() {
                            // A stream says its rate only now.
                            recording.set_nominal_fps(source.info().fps);
                            started = heard_at;
                        }
                        recording.write(&frame)?;
                    }
                    Err(error) => {
                        left_out += 1;
                        log::warn!("frame {number}: {:#}; left out", anyhow::Error::from(error));
                        continue;
                    }
                }
                last_us = captured_at_us;
                let mb = recording.bytes() as f64 * 1e-6;
                progress.at(format_args!("recording: {}{until}, {mb:.1} MB", recording.frames()));
                first_us.get_or_insert(last_us);
            }
            // Of one that is known to be away it is said where it is opened again.
            Ok(None) if !is_told && heard_at.elapsed() > SILENCE && !source.is_away() => {
                is_told = true;
                log::warn!("{}: no frame for {} s; waiting for it", info.name, SILENCE.as_secs());
            }
            Ok(None) | Err(CaptureError::Lost { .. }) => {}
            Err(CaptureError::Ended) => break,
            Err(error) => {
                let frames = recording.frames();
                recording.finish()?;
                if frames == 0 {
                    return Err(error.into());
                }
                return Err(error).context(format!("{}: ended after {frames} frames", args.out.display()));
            }
        }
    }
    drop((progress, held));
    let (frames, bytes) = (recording.frames(), recording.bytes());
    recording.finish()?;
    let left_out = if left_out > 0 { format!(", {left_out} left out") } else { String::new() };
    if frames == 0 {
        bail!("{out}: no usable frame came from {}{left_out}; nothing is recorded", info.name);
    }
    let seconds = (last_us - first_us.unwrap_or(last_us)) as f64 * 1e-6;
    eprintln!("{out}: {frames} frames, {seconds:.1} s, {:.1} MB{left_out}", bytes as f64 * 1e-6);
    eprintln!("track it, always with the same poses: posewire run {out} --no-drop --jsonl poses.jsonl");
    Ok(ExitCode::SUCCESS)
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
