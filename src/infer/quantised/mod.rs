//! Quantised networks on the fused operators of the `int8` crate: nothing is float between the picture and the outputs.

mod onnx;
mod qdq;
mod real;
mod split;
mod value;
mod weights;
mod window;

use std::sync::Arc;
use std::time::Instant;

use int8::{Kernel, Program, Quant};
use tract_onnx::pb;

pub(super) use qdq::Rest;
pub(super) use real::without_quantised_activations;
pub(super) use value::Refusal;

use super::{Color, InferError, InputSpec, LayerReport, OutputInfo, Plan, State};
use crate::picture::PixelsMut;

/// Runs of which [`Plan::explain`] keeps each layer's fastest: enough to dodge a neighbour's interruption.
const EXPLAIN_RUNS: usize = 20;

/// A network translated as a whole.
pub(super) struct Int8Plan {
    model: String,
    engine: String,
    program: Arc<Program>,
    outputs: Arc<[OutputInfo]>,
    input: Arc<Input>,
}

/// How pixels become codes.
struct Input {
    spec: InputSpec,
    /// `[channel][pixel value]`, in the network's order of colours.
    codes: [[u8; 256]; 3],
    /// Whether a pixel is its own code, so that it can be written straight into the network's memory.
    direct: bool,
}

impl Input {
    fn new(spec: &InputSpec, quant: Quant) -> Self {
        let [low, high] = spec.range;
        let code = |channel: usize, pixel: usize| {
            let value = low + (high - low) * pixel as f32 / 255.0;
            quant.quantise((value - spec.mean[channel]) / spec.std[channel])
        };
        let codes = std::array::from_fn(|channel| std::array::from_fn(|pixel| code(channel, pixel)));
        let same =
            |table: &[u8; 256]| table.iter().enumerate().all(|(pixel, &code)| usize::from(code) == pixel);
        let direct = spec.color == Color::Rgb && codes.iter().all(same);
        Self { spec: spec.clone(), codes, direct }
    }
}

/// Whether the graph has anything quantised, so that translating it makes sense.
pub(super) fn is_quantised(graph: &pb::GraphProto) -> bool {
    graph.node.iter().any(|n| n.op_type == "QuantizeLinear" || n.op_type == "DequantizeLinear")
}

impl Int8Plan {
    /// Translates `graph` for `kernel`; with what is left of it, whose inputs are then among the plan's outputs.
    pub(super) fn new(
        model: &str,
        spec: &InputSpec,
        graph: &pb::GraphProto,
        kernel: Kernel,
    ) -> Result<(Self, Option<Rest>), Refusal> {
        let matched = qdq::translate(graph, &spec.name, spec.height, spec.width)?;
        let program = matched.graph.build(kernel)?;
        let outputs =
            matched.outputs.into_iter().map(|(name, shape)| OutputInfo { name, shape: shape.to_vec() });
        let plan = Self {
            model: model.to_owned(),
            engine: format!("int8 {kernel}"),
            program: Arc::new(program),
            outputs: outputs.collect(),
            input: Arc::new(Input::new(spec, matched.input)),
        };
        Ok((plan, matched.rest))
    }
}

impl Plan for Int8Plan {
    fn engine(&self) -> &str {
        &self.engine
    }

    fn outputs(&self) -> &[OutputInfo] {
        &self.outputs
    }

    fn state(&self, batch: usize) -> Result<Box<dyn State>, InferError> {
        let batch = batch.max(1);
        let InputSpec { width, height, .. } = self.input.spec;
        let staged = if self.input.direct { 0 } else { batch };
        Ok(Box::new(Int8State {
            model: self.model.clone(),
            states: (0..batch).map(|_| self.program.state()).collect(),
            staging: vec![vec![0; width * height * 3]; staged],
            input: self.input.clone(),
            results: vec![self.outputs.iter().map(|o| vec![0.0; o.shape.iter().product()]).collect(); batch],
            outputs: self.outputs.clone(),
        }))
    }

    fn explain(&self) -> Vec<LayerReport> {
        let mut state = self.program.state();
        let mut best = vec![u64::MAX; self.program.steps().len()];
        for _ in 0..EXPLAIN_RUNS {
            let mut before = Instant::now();
            state.run_with_clock(Instant::now, |step, now| {
                best[step] = best[step].min((now - before).as_nanos() as u64);
                before = now;
            });
        }
        let steps = self.program.steps().zip(best);
        steps
            .map(|(step, nanos)| LayerReport {
                name: step.name.to_owned(),
                operator: step.kind,
                kernel: self.program.kernel().name(),
                macs: step.macs,
                nanos,
            })
            .collect()
    }
}

struct Int8State {
    model: String,
    /// One a batch element.
    states: Vec<int8::State>,
    /// Interleaved RGB, one a batch element; empty where pixels go straight into the network's memory.
    staging: Vec<Vec<u8>>,
    input: Arc<Input>,
    outputs: Arc<[OutputInfo]>,
    /// Dequantised outputs, `[batch element][output]`, channels outermost.
    results: Vec<Vec<Vec<f32>>>,
}

impl State for Int8State {
    fn input_mut(&mut self, i: usize) -> PixelsMut<'_> {
        let InputSpec { width, height, .. } = self.input.spec;
        if let Some(pixels) = self.staging.get_mut(i) {
            return PixelsMut { bytes: pixels, width, height, row_bytes: width * 3, pixel_bytes: 3 };
        }
        let input = self.states[i].input_mut(0);
        PixelsMut { bytes: input.bytes, width, height, row_bytes: input.row, pixel_bytes: input.pixel }
    }

    fn run(&mut self, n: usize) -> Result<(), InferError> {
        super::check_batch(&self.model, n, self.states.len())?;
        for (pixels, state) in self.staging.iter().zip(&mut self.states).take(n) {
            encode(pixels, &self.input, &mut state.input_mut(0));
        }
        int8::State::run_all(&mut self.states[..n]);
        for (state, results) in self.states.iter().zip(&mut self.results).take(n) {
            for (index, values) in results.iter_mut().enumerate() {
                state.output(index).planes_into(values);
            }
        }
        Ok(())
    }

    fn output(&self, i: usize, name: &str) -> Result<(&[f32], &[usize]), InferError> {
        let Some(at) = self.outputs.iter().position(|o| o.name == name) else {
            let names: Vec<&str> = self.outputs.iter().map(|o| o.name.as_str()).collect();
            let reason = format!("no output {name:?}; the network has: {}", names.join(", "));
            return Err(InferError::run(&self.model, reason));
        };
        let none =
            || InferError::run(&self.model, format!("no picture {i} in a state of {}", self.results.len()));
        let values = self.results.get(i).ok_or_else(none)?;
        Ok((&values[at], &self.outputs[at].shape))
    }
}

/// Staged pixels into the network's memory.
fn encode(rgb: &[u8], input: &Input, to: &mut int8::InputMut<'_>) {
    let width = input.spec.width;
    let source = |channel: usize| if input.spec.color == Color::Bgr { 2 - channel } else { channel };
    to.fill_pixels(|y, x, codes| {
        let pixel = &rgb[(y * width + x) * 3..][..3];
        for (channel, code) in codes.iter_mut().enumerate() {
            *code = input.codes[channel][usize::from(pixel[source(channel)])];
        }
    });
}
