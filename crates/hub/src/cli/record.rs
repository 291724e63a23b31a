//! `posewire-hub record`: what comes in, as it comes.

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, Result};
use files::{Existing, LinesFile};
use posewire_hub::config::cameras;
use posewire_hub::line;
use timing::clock::now_us;

use super::cameras::Wrong;
use super::pipes::wait_for_reader;
use super::signals::stop_signal;
use super::sources::{EVERY, Incoming, Next, Source, Taken, seconds};
use super::text::{self, Ended};
use super::zenoh;

/// Keeps what the cameras send as a take, for `calibrate --replay` and `run --replay`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  posewire-hub record cameras.toml --out take.jsonl --seconds 60")]
pub struct Args {
    /// The file of cameras
    cameras: PathBuf,
    /// The take; what is there stays until the first line comes
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// For how long; until Ctrl-C where not given
    #[arg(long, value_parser = seconds)]
    seconds: Option<f64>,
    #[command(flatten)]
    net: zenoh::Args,
}

pub fn run(args: &Args) -> Result<()> {
    let cameras = cameras(&args.cameras)?;
    let lenses = cameras.iter().map(|camera| &*camera.calibration);
    text::keep(std::iter::once(&*args.cameras).chain(lenses), &args.out)?;
    let stop = stop_signal()?;
    let Ok(_held) = wait_for_reader("record: --out", &args.out, &stop) else { return Ok(()) };
    let mut source = Source::open(&cameras, None, &args.net, None, EVERY, &stop)?;
    // The take of a walk is not lost to boards that are off: what is there stays until the first lines are written.
    let out = LinesFile::open(&args.out, Existing::Replace);
    let out = out.with_context(|| format!("--out {}: it cannot be written", args.out.display()))?;
    let (mut out, mut written) = (BufWriter::new(out), Ok(()));
    let mut wrong = Wrong::new("record", &cameras);
    let (began, mut count) = (now_us(), vec![0usize; cameras.len()]);
    say!("posewire-hub record: {} cameras; Ctrl-C ends it", cameras.len());
    while !stop.load(Ordering::Relaxed) {
        if args.seconds.is_some_and(|s| (now_us() - began) as f64 > s * 1e6) {
            break;
        }
        // Exchanges are not kept: a take's clocks are found by arrivals.
        let Next::Incoming(Incoming::Line(packet)) = source.next(Duration::from_millis(100))? else {
            continue;
        };
        let camera = &cameras[packet.camera];
        // It is kept all the same, but a take of such lines is of no use.
        if let Err(e) = line::read(&packet.text, &camera.lens) {
            wrong.add(packet.camera, &e);
        }
        let Ok(line) = serde_json::from_str(&packet.text) else { continue };
        let camera = camera.name.clone();
        let taken = Taken { camera, arrived_us: packet.arrived_us, line };
        let mut line = serde_json::to_vec(&taken)?;
        line.push(b'\n');
        // A whole one at a time: a take that is cut off ends with one.
        written = out.write_all(&line);
        if written.is_err() {
            break;
        }
        count[packet.camera] += 1;
    }
    if written.is_ok() && count.iter().all(|count| *count == 0) {
        return Err(wrong.nothing(&cameras));
    }
    if let Err(error) = written.and_then(|()| out.flush()) {
        match Ended::by(&format!("--out {}", args.out.display()), error) {
            Ended::Left(why) => say!("posewire-hub record: {why}"),
            Ended::Failed(error) => return Err(error),
        }
    }
    for (camera, count) in cameras.iter().zip(count) {
        say!("{}: {count} lines", camera.name);
    }
    Ok(())
}
