//! Runs a network of given shapes, all its weights alike: what `benches/instructions.py` counts.
//!
//! `topology RUNS [KERNEL [PERSONS]] < FILE`; with PERSONS it times that many inputs in one call against as many calls,
//! interleaved, and prints the least and the median of both in microseconds. One operator a line; a line's number, from 0,
//! names its result:
//!
//! ```text
//! input HEIGHT WIDTH CHANNELS
//! conv INPUT OUT_CHANNELS KERNEL STRIDE PAD GROUPS [relu]
//! real INPUT OUT_CHANNELS KERNEL STRIDE PAD GROUPS      a convolution whose result stays f32
//! add A B [relu]
//! upsample INPUT FACTOR
//! output RESULT
//! ```

use std::io::BufRead;
use std::sync::Arc;
use std::time::Instant;

use int8::{Activation, Graph, Kernel, Program, Quant, Shape, State, Tensor, Weights, Window};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let runs: usize = args.next().ok_or("give the number of runs")?.parse()?;
    let kernel = args.next().map_or(Ok(Kernel::best()), |name| name.parse())?;
    let mut graph = Graph::new();
    let mut results: Vec<Tensor> = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let result = operator(&line, &mut graph, &results)
            .map_err(|e| format!("line {} ({line:?}): {e}", results.len()))?;
        results.push(result);
    }
    let program = Arc::new(graph.build(kernel)?);
    if let Some(persons) = args.next() {
        return crowd(&program, persons.parse()?, runs.max(1));
    }
    let mut state = program.state();
    state.input_mut(0).fill_pixels(|y, x, c| c.fill((x + 3 * y) as u8));
    for _ in 0..runs {
        state.run();
    }
    let macs: u64 = program.steps().map(|s| s.macs).sum();
    println!("{kernel} {macs}");
    Ok(())
}

fn crowd(program: &Arc<Program>, persons: usize, rounds: usize) -> Result<(), Box<dyn std::error::Error>> {
    let mut states: Vec<State> = (0..persons).map(|_| program.state()).collect();
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        let start = Instant::now();
        State::run_all(&mut states);
        times[0].push(start.elapsed());
        let start = Instant::now();
        states.iter_mut().for_each(State::run);
        times[1].push(start.elapsed());
    }
    for (name, times) in ["one call", "a call each"].iter().zip(&mut times) {
        times.sort_unstable();
        let [least, median] = [times[0], times[times.len() / 2]].map(|t| t.as_secs_f64() * 1e6);
        println!("{}, {persons} inputs, {name}: {least:.0} {median:.0}", program.kernel());
    }
    Ok(())
}

fn operator(line: &str, graph: &mut Graph, results: &[Tensor]) -> Result<Tensor, Box<dyn std::error::Error>> {
    let mut words = line.split_whitespace();
    let kind = words.next().ok_or("no operator")?;
    let (mut numbers, mut activation) = (Vec::new(), Activation::None);
    for word in words {
        match word {
            "relu" => activation = Activation::Relu,
            number => numbers.push(number.parse::<usize>()?),
        }
    }
    let quant = Quant { scale: 0.02, zero_point: 7 };
    let tensor = |i: usize| results.get(i).copied().ok_or("names a later result");
    Ok(match (kind, numbers[..].as_ref()) {
        ("input", &[h, w, c]) => graph.input("image", Shape::new(h, w, c), quant)?,
        (_, &[input, out_channels, kernel, stride, pad, groups]) if kind == "conv" || kind == "real" => {
            let input = tensor(input)?;
            let taps = kernel * kernel * graph.shape(input).c / groups;
            let weights = Weights {
                out_channels,
                groups,
                values: vec![3; out_channels * taps],
                scales: vec![0.001; out_channels],
                bias: vec![100; out_channels],
            };
            let window = Window::square(kernel, stride, pad);
            if kind == "real" {
                graph.conv_f32(line, input, window, weights)?
            } else {
                graph.conv(line, input, window, weights, quant, activation)?
            }
        }
        ("add", &[a, b]) => graph.add(line, tensor(a)?, tensor(b)?, quant, activation)?,
        ("upsample", &[input, factor]) => graph.upsample_nearest(line, tensor(input)?, [factor; 2])?,
        ("output", &[result]) => {
            let result = tensor(result)?;
            graph.output(result);
            result
        }
        _ => return Err("no such operator, or not its numbers".into()),
    })
}
