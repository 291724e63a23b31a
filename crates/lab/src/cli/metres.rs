//! `posewire eval metres`: how well it is known where people stand.

use std::fs::File;
use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, bail};
use posewire::progress::Progress;
use posewire::{Config, Tracker};
use posewire_lab::metres::{self, KNOWN, Measured, Row, Sample};

use super::shown::show;

/// Distances and places of rendered people: with their heights given, without, with the floor, and with the camera's height above it
///
/// Frames go through the tracker as on the board. Everybody's place and height is exact; the films' bodies are those of adults above
/// 1.5 m, the camera sees some 60 degrees.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Rendered films; the seeds count from --seed, and a film of seed n has 1 + n mod 4 persons
    #[arg(long, value_name = "N", default_value_t = 40)]
    rendered: u64,
    /// Seed of the first film
    #[arg(long, default_value_t = 1000)]
    seed: u64,
    /// Length of a film, frames of 30 Hz; the floor takes five seconds to be found
    #[arg(long, default_value_t = 90)]
    frames: u64,
    /// File for every sample (JSON lines): a line for each of what may be known
    #[arg(long, value_name = "FILE")]
    samples: Option<std::path::PathBuf>,
}

/// Farther than the first, not farther than the second, metres.
const RANGES_M: [[f32; 2]; 4] = [[0.0, 100.0], [0.0, 3.0], [3.0, 4.0], [4.0, 100.0]];

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.rendered == 0 || args.frames == 0 {
        bail!("nothing to measure: --rendered and --frames are above 0");
    }
    let cannot_write = || {
        let path = args.samples.iter().map(|path| path.display().to_string()).collect::<String>();
        format!("--samples: cannot write {path}")
    };
    // A wrong path ends it before the measurement.
    let samples_file = args.samples.as_ref().map(File::create).transpose().with_context(cannot_write)?;
    let mut tracker = Tracker::new(&Config::default())?;
    let progress = Progress::start("metres");
    let mut all = Measured::default();
    for seed in args.seed..args.seed + args.rendered {
        progress.at(format_args!("{} of {} films", seed - args.seed, args.rendered));
        let Measured { samples, persons } =
            metres::film(&mut tracker, seed, args.frames, [640, 480]).map_err(anyhow::Error::from_boxed)?;
        all.persons += persons;
        all.samples.iter_mut().zip(samples).for_each(|(all, samples)| all.extend(samples));
    }
    drop(progress);
    if let Some(mut file) = samples_file {
        let lines = all.samples.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
        file.write_all(lines.join("\n").as_bytes()).with_context(cannot_write)?;
    }
    show(table(&all))?;
    Ok(ExitCode::SUCCESS)
}

/// A row for everything that may be known of the camera and every range of distances.
fn table(all: &Measured) -> String {
    let mut text = format!(
        "Of {} persons in frames those who are answered, with joints within a quarter of their extent in the mean, and placed:\n\n\
         | known | distance, m | persons in frames | median error % | 90 % within % | bias % | covers % | right, down, ahead |\n\
         |---|---|---|---|---|---|---|---|",
        all.persons
    );
    for (known, samples) in KNOWN.into_iter().zip(&all.samples) {
        for [from, to] in RANGES_M {
            let part: Vec<Sample> =
                samples.iter().filter(|s| s.distance_m > from && s.distance_m <= to).copied().collect();
            let Some(row) = Row::of(&part) else { continue };
            let Row { samples, median_percent, p90_percent, bias_percent, covers_percent } = row;
            let [distance, x, y, z] = covers_percent;
            let range = match [from, to] {
                [0.0, 100.0] => "all".to_owned(),
                [0.0, to] => format!("to {to}"),
                [from, 100.0] => format!("from {from}"),
                [from, to] => format!("{from} to {to}"),
            };
            text += &format!(
                "\n| {known} | {range} | {samples} | {median_percent:.1} | {p90_percent:.1} | {bias_percent:+.1} | {distance:.0} | {x:.0}, {y:.0}, {z:.0} |"
            );
        }
    }
    text
}
