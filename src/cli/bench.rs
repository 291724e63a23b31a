//! `posewire bench`: how fast this board is, from the capture time to the byte on the wire.
//!
//! The real pipeline runs in real time: a clip at 30 frames per second, the real networks, and a pseudo-terminal in the
//! place of the serial port, read by a decoder that notes when each pose is whole.

mod cable;
mod report;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use posewire::capture::noticed::{Notice, Noticed};
use posewire::capture::{self, SourceConfig};
use posewire::clock::{Clock, Monotonic};
use posewire::config::{BUILTIN, Config};
use posewire::infer::Engine;
use posewire::output::serial::{PortSpec, Serial, SerialOptions};
use posewire::output::{PoseSink, Predict};
use posewire::pipeline::supervisor::{NoNotify, supervise};
use posewire::pipeline::{Options, Parts, Pipeline, Session};
use posewire::progress::{Progress, say};
use posewire::telemetry::alloc::Allocations;
use posewire::telemetry::{Histogram, Stage, Summary, board};
use posewire::{config, files, infer, models};

use super::Usage;
use cable::Cable;
use report::{Network, Report};

/// What the usual USB bridge carries; the time its bits take is added to what the pseudo-terminal shows.
const BAUD: u32 = 921_600;

/// Buffers grow, persons are found and caches fill before this; it is left out.
const WARM_UP: Duration = Duration::from_secs(2);

/// The share of the clip's frames of which nobody needs more.
const KEPT_UP: f32 = 0.8;

/// Measures every stage, the latency from capture to wire, memory and allocations on this board
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Allocations are counted in a build with --features alloc-count.

Examples:
  posewire bench
  posewire bench --seconds 60 --json latency.json
  posewire bench --replay clip.avi
  posewire bench --network --model nano")]
pub struct Args {
    /// How long to measure, after 2 s of warming up
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// A folder of pictures or a video instead of the built-in clip; where it ends sooner, less is measured
    #[arg(long, value_name = "PATH")]
    replay: Option<PathBuf>,
    /// Keypoint network: a name that `posewire models` lists, or a manifest
    #[arg(long, default_value = BUILTIN, value_name = "MODEL")]
    model: String,
    /// Persons in the built-in clip
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8), conflicts_with = "replay")]
    persons: u8,
    /// Keep the figures as JSON
    #[arg(long, value_name = "PATH")]
    json: Option<PathBuf>,
    /// Only the networks, one core, each engine in turn
    #[arg(long, conflicts_with_all = ["seconds", "replay", "persons"])]
    network: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    // What cannot be used is said before anything is measured.
    let named = config::Models { keypoints: args.model.clone(), ..config::Models::default() };
    models::check_names(&named).map_err(|e| Usage(format!("{e:#}")))?;
    if let Some(path) = &args.replay {
        capture::replay::open_clip(path)?;
    }
    let is_shown = args.json.as_deref().is_some_and(files::is_stdout);
    let kept = args.json.as_deref().filter(|_| !is_shown);
    let mut json = kept.map(|path| super::output_file(path, args.replay.as_deref())).transpose()?;
    plan(&args);
    let mut report = Report::of_this_machine();
    let progress = Progress::start("loading the networks");
    report.networks = networks(&args, &progress)?;
    if !args.network {
        pipeline(&args, &mut report, &progress)?;
    }
    drop(progress);
    let figures =
        || serde_json::to_string_pretty(&report.json()).context("cannot write the figures as JSON");
    if is_shown {
        // In the table's place, for a program.
        writeln!(io::stdout(), "{}", figures()?).context("cannot write the figures")?;
    } else {
        report.print()?;
    }
    if let Some(file) = &mut json {
        let figures = figures()?;
        writeln!(file, "{figures}").and_then(|()| file.commit()).context("cannot write the figures")?;
    }
    say(format_args!("{}", next(&args, &report)));
    Ok(ExitCode::SUCCESS)
}

/// Says what will be done, and how long that takes.
fn plan(args: &Args) {
    if args.network {
        return say(format_args!(
            "bench: the networks alone, {RUNS} runs on each engine: a minute or two on a small board"
        ));
    }
    let pipeline_s = WARM_UP.as_secs() + args.seconds;
    let film = args.replay.as_ref().map_or("the built-in clip".to_owned(), |path| path.display().to_string());
    say(format_args!(
        "bench: the networks alone on each engine (at most {} s), then {film} through everything, to a serial port that goes nowhere \
         (2 s of warming up, {} s measured): about {} s in all",
        NETWORKS_WITHIN.as_secs(),
        args.seconds,
        NETWORKS_WITHIN.as_secs() + pipeline_s + 2
    ));
}

/// What the figures say is to be done.
fn next(args: &Args, report: &Report) -> String {
    let keep = match &args.json {
        Some(path) => format!("the figures are in {}", path.display()),
        None => "--json FILE keeps the figures".to_owned(),
    };
    // The clip runs at its own rate: no board makes more of it.
    let wanted_fps = KEPT_UP * report.source_fps.unwrap_or(30.0);
    let slow = report.health.is_some_and(|health| health.fps < wanted_fps);
    let faster =
        if slow && args.model == BUILTIN { "; for more frames a second try --model nano" } else { "" };
    format!("{keep}; docs/speed.md and docs/latency.md say what to expect{faster}")
}

/// The whole of it, in real time; fills in what the networks alone do not say.
fn pipeline(args: &Args, report: &mut Report, progress: &Progress) -> anyhow::Result<()> {
    let session = Arc::new(Session::default());
    let cable = Cable::open(BAUD).context("cannot open a pseudo-terminal")?;
    let parts = parts(args, &cable, &session)?;
    let started = Instant::now();
    let pipeline = Pipeline::start(parts, Options::default()).context("cannot start a thread")?;

    let stop = Arc::new(AtomicBool::new(false));
    let ended = AtomicBool::new(false);
    let (outcome, measured) = std::thread::scope(|scope| {
        let timer = scope.spawn(|| {
            let measured = measure(args.seconds, started, &cable, &session, &ended, progress);
            stop.store(true, Ordering::Release);
            measured
        });
        let outcome = supervise(pipeline, &stop, None, &mut NoNotify);
        ended.store(true, Ordering::Release);
        (outcome, timer.join())
    });
    let Ok(measured) = measured else { bail!("the timer failed") };
    if let Some(error) = outcome.errors.into_iter().next() {
        return Err(error.into());
    }
    if measured.latency.count == 0 {
        bail!(
            "no pose came through in {:.1} s: is there a person in the clip, and does it last longer than the {} s of warming up?",
            measured.lasted.as_secs_f64(),
            WARM_UP.as_secs()
        );
    }
    report.measured = Some(measured.lasted);
    report.first_pose = measured.first_pose;
    report.stages = Stage::ALL.map(|stage| (stage.name(), session.telemetry.times(stage)));
    report.frames = session.telemetry.times(Stage::Temporal).count;
    report.health = Some(session.health());
    report.source_fps = session.source.rate_hz();
    report.allocations = measured.allocations;
    report.to_wire = measured.latency;
    report.wire_us = (measured.bytes_per_moment * 10.0 * 1e6 / f64::from(BAUD)) as u64;
    report.bytes_per_moment = measured.bytes_per_moment;
    report.resident_bytes = measured.resident_bytes;
    Ok(())
}

/// The clip, the networks as configured but for `--model`, and a serial port at the other end of `cable`.
fn parts(args: &Args, cable: &Cable, session: &Arc<Session>) -> anyhow::Result<Parts> {
    let source = match &args.replay {
        Some(path) => SourceConfig::Replay { path: path.clone(), no_drop: false },
        None => SourceConfig::Synthetic {
            persons: args.persons.into(),
            width: 640,
            height: 480,
            fps: 30.0,
            seed: 1,
            frames: None,
            no_drop: false,
        },
    };
    let clock: Arc<dyn Clock> = Arc::new(Monotonic);
    let mut config = Config::default();
    config.models.keypoints.clone_from(&args.model);
    let options = SerialOptions {
        port: cable.port().parse::<PortSpec>()?,
        predict: Predict::Now,
        rate_hz: None,
        nominal_fps: 30.0,
        max_persons: config.persons.max.get() as u8,
        with_3d: false,
        with_place: false,
        events: None,
    };
    let serial: Box<dyn PoseSink> = Box::new(Serial::open(options, session.clone())?);
    let rate_told = session.clone();
    let notice: Notice = Box::new(move |seen| {
        rate_told.source.set_rate_hz(seen.fps);
        Ok(())
    });
    Ok(Parts {
        source: Box::new(move || Ok(Box::new(Noticed::new(capture::open(&source)?, notice)))),
        tracker: super::run::tracker(
            &config,
            Default::default(),
            clock.clone(),
            session.clone(),
            None,
            None,
        ),
        sinks: vec![serial],
        clock,
        session: session.clone(),
    })
}

/// What is taken down while the pipeline still runs.
struct Measured {
    /// From the start of the pipeline; `None` where no pose came in time.
    first_pose: Option<Duration>,
    lasted: Duration,
    allocations: Option<Allocations>,
    latency: Summary,
    bytes_per_moment: f64,
    resident_bytes: Option<u64>,
}

/// Waits for the first pose, warms up, and measures for `seconds`, or until the pipeline has ended.
fn measure(
    seconds: u64,
    started: Instant,
    cable: &Cable,
    session: &Session,
    ended: &AtomicBool,
    progress: &Progress,
) -> Measured {
    progress.at(format_args!("waiting for the first pose"));
    let first_pose = cable.wait_for_pose(Duration::from_secs(20), ended).map(|at| at - started);
    sleep_until(WARM_UP, ended, |_| progress.at(format_args!("warming up")));
    session.telemetry.reset_times();
    cable.reset();
    let lasted = sleep_until(Duration::from_secs(seconds), ended, |passed| {
        let fps = session.health().fps;
        progress.at(format_args!("measuring: {} of {seconds} s, {fps:.1} fps", passed.as_secs()));
    });
    Measured {
        first_pose,
        lasted,
        resident_bytes: board::resident_bytes(),
        latency: cable.latency(),
        bytes_per_moment: cable.bytes_per_moment(),
        allocations: session.telemetry.allocations(),
    }
}

/// Sleeps for `duration`, or less where the pipeline has ended; tells how much of it has passed, and gives how long it was.
fn sleep_until(duration: Duration, ended: &AtomicBool, passed: impl Fn(Duration)) -> Duration {
    let began = Instant::now();
    while began.elapsed() < duration && !ended.load(Ordering::Acquire) {
        passed(began.elapsed());
        std::thread::sleep(Duration::from_millis(20));
    }
    began.elapsed()
}

/// Runs of each network: enough for a p99.
const RUNS: usize = 300;
/// Beside the pipeline fewer will do: a p50 is wanted, and soon.
const NETWORKS_WITHIN: Duration = Duration::from_secs(8);
const FEWEST_RUNS: usize = 30;

/// Times the keypoint network (for one person) and the finder on each engine, on this thread; interleaved, so that a busy neighbour hits
/// all alike.
fn networks(args: &Args, progress: &Progress) -> anyhow::Result<Vec<Network>> {
    let mut models = vec![models::keypoints(&args.model)?];
    models.extend(models::finder(BUILTIN)?);
    let mut running = Vec::new();
    for model in &models {
        for engine in [Engine::Auto, Engine::F32] {
            let plan = infer::load_with(&model.manifest, &model.onnx, engine)?;
            let inputs = model.manifest.inputs_per_crop();
            let mut state = plan.state(inputs)?;
            // Noise: zeros would let some kernels off lightly.
            let mut dice = fastrand::Rng::with_seed(1);
            for input in 0..inputs {
                state.input_mut(input).bytes.iter_mut().for_each(|byte| *byte = dice.u8(..));
            }
            running.push((&model.manifest, plan, state, Histogram::default()));
        }
    }
    let began = Instant::now();
    for run in 0..RUNS + 10 {
        progress.at(format_args!("networks alone: {run} of {} runs on each engine", RUNS + 10));
        if !args.network && run >= FEWEST_RUNS && began.elapsed() > NETWORKS_WITHIN {
            break;
        }
        for (manifest, _, state, times) in &mut running {
            let began = Instant::now();
            state.run(manifest.inputs_per_crop())?;
            if run >= 10 {
                times.record(began.elapsed().as_nanos() as u64);
            }
        }
    }
    Ok(running
        .into_iter()
        .map(|(manifest, plan, _, times)| Network {
            name: manifest.name.clone(),
            engine: plan.engine().to_owned(),
            times: times.summary(),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use posewire::pipeline::Health;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn what_would_have_no_effect_is_refused() {
        let parse = |words: &[&str]| Line::try_parse_from([&["bench"], words].concat());
        for words in [
            &["--network", "--seconds", "30"][..],
            &["--network", "--persons", "4"],
            &["--network", "--replay", "clip"],
            &["--persons", "4", "--replay", "clip"],
        ] {
            let refused = parse(words).expect_err("two that exclude each other");
            assert_eq!(refused.kind(), clap::error::ErrorKind::ArgumentConflict, "{words:?}");
        }
        for words in [&["--network", "--model", "nano"][..], &["--seconds", "30", "--replay", "clip"]] {
            assert!(parse(words).is_ok(), "{words:?}");
        }
    }

    #[test]
    fn a_smaller_network_is_advised_where_the_clip_has_more_frames_than_were_looked_at() {
        let Line { args } = Line::try_parse_from(["bench"]).unwrap();
        for (fps, source_fps, is_slow) in [
            (15.0, Some(15.0), false),
            (15.0, Some(30.0), true),
            (29.0, Some(60.0), true),
            (29.0, None, false),
            (15.0, None, true),
        ] {
            let health = Some(Health { fps, ..Health::default() });
            let told = next(&args, &Report { health, source_fps, ..Report::default() });
            assert_eq!(told.contains("--model nano"), is_slow, "{fps} of {source_fps:?}: {told}");
        }
    }

    #[test]
    fn a_clip_that_ends_is_measured_as_long_as_it_lasted() {
        let minute = Duration::from_secs(60);
        assert!(sleep_until(minute, &AtomicBool::new(true), |_| ()) < minute / 60);
        let while_it_runs = Duration::from_millis(30);
        assert!(sleep_until(while_it_runs, &AtomicBool::new(false), |_| ()) >= while_it_runs);
        let report = Report { measured: Some(Duration::from_millis(2_140)), ..Report::default() };
        assert_eq!(report.json()["seconds"], 2.14);
    }
}
