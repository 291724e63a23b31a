//! Feeds damaged bytes to Posewire's parsers. Stand-alone: stable Rust, no sanitizer, no service.
//!
//!     cargo run --release -p posewire-fuzz -- all --runs 100000
//!
//! Built through `fuzz/instrument.sh` it sees which code an input reaches and keeps the inputs that reach new code.
//! A finding is written to `fuzz/findings/` and ends the run with 1; mended, it moves to the target's corpus, which the
//! tests play again.

mod coverage;
mod engine;
mod mutate;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use clap::Parser;

use engine::{Limits, Report, fuzz};
use fuzz_targets::targets::{TARGETS, Target};

/// Feeds damaged bytes to Posewire's parsers
#[derive(Parser)]
struct Args {
    /// A target, or "all"
    target: String,
    /// Inputs a target
    #[arg(long, default_value_t = 1_000_000)]
    runs: u64,
    /// At most so many seconds a target
    #[arg(long, default_value_t = f64::INFINITY)]
    seconds: f64,
    /// The same seed gives the same inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Do not look at which code is reached: many times faster for small parsers
    #[arg(long)]
    blind: bool,
    /// Add the inputs that reached new code to the corpus
    #[arg(long)]
    keep: bool,
    /// Only these inputs, to see a finding again
    files: Vec<PathBuf>,
}

fn main() -> anyhow::Result<ExitCode> {
    let args = Args::parse();
    let chosen: Vec<&Target> =
        TARGETS.iter().filter(|t| args.target == "all" || args.target == t.name).collect();
    let names = TARGETS.iter().map(|t| t.name).collect::<Vec<_>>().join(", ");
    ensure!(!chosen.is_empty(), "there is no target '{}', only {names} and all", args.target);
    if !args.files.is_empty() {
        for path in &args.files {
            (chosen[0].run)(&std::fs::read(path)?);
        }
        return Ok(ExitCode::SUCCESS);
    }
    // A panic is a finding, told once below.
    std::panic::set_hook(Box::new(|_| {}));
    let mut code = ExitCode::SUCCESS;
    for target in chosen {
        let limits = Limits { runs: args.runs, seconds: args.seconds, seed: args.seed, blind: args.blind };
        let report = fuzz(target, &corpus(target)?, &limits, |r| println!("{}", line(target, r)));
        println!("{}{}", line(target, &report), if report.broke.is_some() { "" } else { ", no finding" });
        if args.keep {
            for input in &report.found {
                save(&corpus_of(target), input)?;
            }
        }
        if let Some((input, how)) = &report.broke {
            let path =
                save(&Path::new(env!("CARGO_MANIFEST_DIR")).join("findings").join(target.name), input)?;
            println!("{}: FOUND {how}\n  {}", target.name, path.display());
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

fn line(target: &Target, r: &Report) -> String {
    let edges = if r.edges > 0 { format!(", {} edges", r.edges) } else { String::new() };
    format!(
        "{:9} {:>9} runs{edges}, {} inputs kept, slowest {:.1} ms",
        target.name,
        r.runs,
        r.found.len(),
        r.slowest_s * 1e3
    )
}

fn corpus_of(target: &Target) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name)
}

/// A target's corpus by name; inputs are small files.
fn corpus(target: &Target) -> anyhow::Result<Vec<Vec<u8>>> {
    let folder = corpus_of(target);
    let mut paths = std::fs::read_dir(&folder)
        .with_context(|| folder.display().to_string())?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    paths.iter().map(|p| std::fs::read(p).with_context(|| p.display().to_string())).collect()
}

fn save(folder: &Path, input: &[u8]) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let name: String = posewire::models::sha256(input)[..8].iter().map(|b| format!("{b:02x}")).collect();
    let path = folder.join(name);
    std::fs::write(&path, input)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also plays every finding of the past again: they are in the corpus.
    #[test]
    fn every_parser_stands_its_corpus_and_some_damage() {
        for target in TARGETS {
            let seeds = corpus(target).unwrap();
            assert!(!seeds.is_empty(), "{}: no corpus", target.name);
            let runs = seeds.len() as u64 + if target.name == "onnx" { 20 } else { 2_000 };
            let limits = Limits { runs, seconds: f64::INFINITY, seed: 7, blind: false };
            let report = fuzz(target, &seeds, &limits, |_| {});
            assert_eq!(report.broke.as_ref().map(|(_, how)| how), None, "{}", target.name);
            assert_eq!(report.runs, runs);
        }
    }
}
