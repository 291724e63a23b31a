//! Speed of each kernel by layer, as a share of what the core can do at best.
//!
//! `cargo run --release -p int8 --example layers [KERNEL…]`: GMAC/s, best of many short runs (a neighbour's load only ever
//! slows one down), beside the peak of the same instructions without loads, measured in between.

use std::sync::Arc;
use std::time::{Duration, Instant};

use int8::{Activation, Graph, Kernel, Quant, Shape, State, Weights, Window};

struct Layer {
    name: &'static str,
    shape: Shape,
    out: usize,
    window: Window,
    groups: usize,
    residual: bool,
}

const fn dense(name: &'static str, side: usize, c: usize, out: usize, k: usize, stride: usize) -> Layer {
    let window = Window::square(k, stride, k / 2);
    Layer { name, shape: Shape::new(side, side, c), out, window, groups: 1, residual: false }
}

fn layers() -> Vec<Layer> {
    vec![
        dense("3x3/2  192x192   3>16", 192, 3, 16, 3, 2),
        dense("3x3     48x48   32>32", 48, 32, 32, 3, 1),
        Layer { residual: true, ..dense("3x3+sum 24x24   64>64", 24, 64, 64, 3, 1) },
        dense("3x3     24x24   64>64", 24, 64, 64, 3, 1),
        dense("3x3/2   48x48   32>64", 48, 32, 64, 3, 2),
        dense("3x3     12x12 128>128", 12, 128, 128, 3, 1),
        dense("3x3      6x6  192>192", 6, 192, 192, 3, 1),
        dense("1x1     24x24  192>64", 24, 192, 64, 1, 1),
        dense("1x1     48x48   64>17", 48, 64, 17, 1, 1),
        Layer { groups: 192, ..dense("dw 3x3  24x24     192", 24, 192, 192, 3, 1) },
        Layer { groups: 128, ..dense("dw 5x5  12x12     128", 12, 128, 128, 5, 1) },
    ]
}

fn state(layer: &Layer, kernel: Kernel) -> Result<(State, u64), int8::Error> {
    let mut graph = Graph::new();
    let quant = Quant { scale: 0.02, zero_point: 7 };
    let input = graph.input("x", layer.shape, quant)?;
    let taps = layer.window.kernel[0] * layer.window.kernel[1] * layer.shape.c / layer.groups;
    let mut random = fastrand::Rng::with_seed(7);
    let weights = Weights {
        out_channels: layer.out,
        groups: layer.groups,
        values: (0..layer.out * taps).map(|_| random.i8(-127..=127)).collect(),
        scales: vec![0.001; layer.out],
        bias: vec![100; layer.out],
    };
    let mut out = graph.conv(layer.name, input, layer.window, weights, quant, Activation::Relu)?;
    if layer.residual {
        out = graph.add("sum", input, out, quant, Activation::Relu)?;
    }
    graph.output(out);
    let program = Arc::new(graph.build(kernel)?);
    let macs = program.steps().map(|s| s.macs).sum();
    let mut state = program.state();
    state.input_mut(0).fill_pixels(|_, _, c| random.fill(c));
    Ok((state, macs))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let asked: Vec<Kernel> = std::env::args().skip(1).map(|a| a.parse()).collect::<Result<_, _>>()?;
    let kernels = if asked.is_empty() { Kernel::available().collect() } else { asked };
    let budget = Duration::from_millis(150);
    println!("{:<24} {:>12} {:>9} {:>9} {:>7}", "layer", "kernel", "GMAC/s", "peak", "share");
    for kernel in kernels {
        for layer in layers() {
            let (mut state, macs) = state(&layer, kernel)?;
            let (mut best, mut peak) = (f64::INFINITY, 0f64);
            let begin = Instant::now();
            while begin.elapsed() < budget {
                for _ in 0..8 {
                    let start = Instant::now();
                    state.run();
                    best = best.min(start.elapsed().as_secs_f64());
                }
                let start = Instant::now();
                let done = kernel.spin(2_000).unwrap_or(0);
                peak = peak.max(done as f64 / start.elapsed().as_secs_f64());
            }
            let speed = macs as f64 / best;
            let share = if peak > 0.0 { format!("{:.0} %", 100.0 * speed / peak) } else { "-".into() };
            println!(
                "{:<24} {:>12} {:>9.1} {:>9.1} {:>7}",
                layer.name,
                kernel.name(),
                speed / 1e9,
                peak / 1e9,
                share
            );
        }
    }
    Ok(())
}
