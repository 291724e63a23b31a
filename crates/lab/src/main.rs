//! `posewire eval`, as a program of its own: what measures is not on the device.
#![deny(clippy::print_stderr)] // it panics where the log is on a full disk: `progress::say`

mod cli {
    pub mod clips;
    pub mod films;
    pub mod images;
    pub mod metres;
    mod shown;
}

use std::process::ExitCode;

use clap::Parser;
use posewire::progress::say;

/// Measure accuracy: keypoint networks on pictures, temporal models on clips, the whole program on films, places in metres
#[derive(Debug, Parser)]
#[command(
    name = "posewire eval",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  posewire predict --images val2017 --coco labels.json --out results.json
  posewire eval images --coco labels.json --results results.json --plot pck.png
  posewire eval clips --train train.json --val val.json --weights models/temporal-xl.pwt --out curves
  posewire eval films --rendered 20 --smoother none,one-euro,xl
  posewire eval metres"
)]
enum Command {
    Images(cli::images::Args),
    Clips(cli::clips::Args),
    Films(Box<cli::films::Args>),
    Metres(cli::metres::Args),
}

fn main() -> ExitCode {
    let done = match Command::parse() {
        Command::Images(args) => cli::images::run(args),
        Command::Clips(args) => cli::clips::run(args),
        Command::Films(args) => cli::films::run(*args),
        Command::Metres(args) => cli::metres::run(args),
    };
    done.unwrap_or_else(|error| {
        say(format_args!("posewire eval: {error:#}"));
        ExitCode::FAILURE
    })
}
