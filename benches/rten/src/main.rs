//! Runs one ONNX network on rten, on one thread, as often as standard input asks: what `benches/peers.py` drives.
//!
//! `cargo run --release --manifest-path benches/rten/Cargo.toml -- network.onnx`: prints the engine and its load time in
//! microseconds, then answers each line `N` with the nanoseconds of N runs, as `examples/network.rs` does. The input is one
//! f32 tensor of fixed shape, filled with values from 0 to 1.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use rten::{Dimension, Model, RunOptions, ThreadPool};
use rten_tensor::Tensor;
use rten_tensor::prelude::*;

fn main() -> anyhow::Result<()> {
    let path = std::env::args().nth(1).context("give an ONNX file")?;
    let start = Instant::now();
    let model = Model::load_file(&path).with_context(|| format!("rten cannot read {path}"))?;
    let loaded_us = start.elapsed().as_micros();
    let (inputs, outputs) = (model.input_ids(), model.output_ids());
    ensure!(inputs.len() == 1, "{path} has {} inputs; one is expected", inputs.len());
    let shape = model.input_shape(0).context("the input has no shape")?;
    let shape = shape.into_iter().map(|side| match side {
        Dimension::Fixed(side) => Ok(side),
        Dimension::Symbolic(name) => {
            anyhow::bail!("the input's side {name:?} is open; export it with a fixed shape")
        }
    });
    let shape = shape.collect::<anyhow::Result<Vec<usize>>>()?;
    // Never twice the same value in a row; what the values are changes no time.
    let values: Vec<f32> =
        (0..shape.iter().product()).map(|i: usize| (i * 7919 % 256) as f32 / 255.0).collect();
    let picture = Tensor::from_data(&shape[..], values);
    let options = RunOptions::default().with_thread_pool(Some(Arc::new(ThreadPool::with_num_threads(1))));

    let run = || model.run(vec![(inputs[0], picture.view().into())], outputs, Some(options.clone()));
    run().with_context(|| format!("rten cannot run {path}"))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "rten 0.27; loaded in {loaded_us} us")?;
    for line in std::io::stdin().lock().lines() {
        let runs: usize = line?.trim().parse().context("a line is a number of runs")?;
        for _ in 0..runs {
            let start = Instant::now();
            run()?;
            write!(out, "{} ", start.elapsed().as_nanos())?;
        }
        writeln!(out)?;
        out.flush()?;
    }
    Ok(())
}
