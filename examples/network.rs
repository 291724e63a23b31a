//! Runs one network as often as standard input asks, and prints how long each run took: what `benches/peers.py` drives.
//!
//! `cargo run --release --example network -- models/keypoints-small.toml int8`: prints the engine and its load time in
//! microseconds, then answers each line read with one line. `N`: N times in nanoseconds, each for one person (two inputs where
//! the manifest asks for them). `picture FILE`: the picture becomes the file's interleaved RGB bytes (at first it is seeded
//! noise). `outputs FILE`: all outputs, as f32, into the file.

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use posewire::infer::{self, Engine, Manifest, State};

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    let path = PathBuf::from(
        args.next().context("give a manifest, then an engine: auto, f32, tract, int8 or int8:KERNEL")?,
    );
    let engine: Engine = args.next().as_deref().unwrap_or("auto").parse().map_err(anyhow::Error::msg)?;
    let manifest = Manifest::parse(&std::fs::read_to_string(&path)?, &path.display().to_string())?;
    let onnx = std::fs::read(path.with_file_name(&manifest.file))?;
    let start = Instant::now();
    let plan = infer::load_with(&manifest, &onnx, engine)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}; loaded in {} us", plan.engine(), start.elapsed().as_micros())?;
    let inputs = manifest.inputs_per_crop();
    let mut state = plan.state(inputs)?;
    let mut random = fastrand::Rng::with_seed(1);
    for look in 0..inputs {
        state.input_mut(look).bytes.iter_mut().for_each(|byte| *byte = random.u8(..));
    }
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        match line.split_once(' ') {
            Some(("picture", file)) => {
                show(&mut *state, &std::fs::read(file)?);
                writeln!(out, "done")?;
            }
            Some(("outputs", file)) => {
                let mut bytes = Vec::new();
                for output in plan.outputs() {
                    bytes.extend(state.output(0, &output.name)?.0.iter().flat_map(|v| v.to_le_bytes()));
                }
                std::fs::write(file, bytes)?;
                writeln!(out, "done")?;
            }
            _ => {
                let runs = line.parse().context("a line is a number of runs")?;
                writeln!(out, "{}", time(&mut *state, inputs, runs)?)?;
            }
        }
        out.flush()?;
    }
    Ok(())
}

fn time(state: &mut dyn State, inputs: usize, runs: usize) -> anyhow::Result<String> {
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        let start = Instant::now();
        state.run(inputs)?;
        times.push(start.elapsed().as_nanos().to_string());
    }
    Ok(times.join(" "))
}

fn show(state: &mut dyn State, rgb: &[u8]) {
    let input = state.input_mut(0);
    for (y, row) in rgb.chunks_exact(input.width * 3).enumerate() {
        for (x, pixel) in row.chunks_exact(3).enumerate() {
            input.bytes[y * input.row_bytes + x * input.pixel_bytes..][..3].copy_from_slice(pixel);
        }
    }
}
