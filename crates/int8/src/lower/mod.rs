//! From a graph to steps: fuse, choose buffers and their rings, plan the arena, pack weights, resolve addresses.

use crate::arith;
use crate::error::Error;
use crate::fuse;
use crate::geometry::{self, Buffer};
use crate::graph::Graph;
use crate::kernel::{Functions, PoolWindow, SLACK};
use crate::op::{Node, Op};
use crate::plan::{self, Life};
use crate::step::{AddCall, Place, PoolCall, Step, TableCall, UpsampleCall, Work};
use crate::tensor::{Quant, Tensor};
use crate::window::{Pads, Window};

mod check;
mod conv;

/// What a program is made of.
#[derive(Debug)]
pub(crate) struct Lowered {
    pub steps: Vec<Step>,
    /// By tensor of the graph; `None` for tensors that fusing removed.
    pub buffers: Vec<Option<Buffer>>,
    pub arena_bytes: usize,
}

pub(crate) fn lower(graph: &Graph, functions: &Functions) -> Result<Lowered, Error> {
    if graph.inputs.is_empty() || graph.outputs.is_empty() {
        return Err(Error::BadGraph("needs at least one input and one output"));
    }
    if graph.outputs.iter().any(|t| t.0 >= graph.tensors.len()) {
        return Err(Error::BadGraph("was given an output of another graph"));
    }
    let nodes = fuse::fuse_sums(graph);
    let (buffers, arena_bytes) = buffers(graph, &nodes);
    let lowering = Lowering { graph, functions, buffers };
    let steps: Vec<Step> = nodes.iter().map(|node| lowering.step(node)).collect();
    steps.iter().for_each(|step| check::check(step, arena_bytes));
    Ok(Lowered { steps, buffers: lowering.buffers, arena_bytes })
}

/// Rings from the readers, then places from the lives.
fn buffers(graph: &Graph, nodes: &[Node]) -> (Vec<Option<Buffer>>, usize) {
    let mut rings = vec![Pads::default(); graph.tensors.len()];
    // Birth and last use in steps; inputs and outputs keep their bytes between runs.
    let mut lives: Vec<Option<(usize, usize)>> = vec![None; graph.tensors.len()];
    for input in &graph.inputs {
        lives[input.0] = Some((0, nodes.len()));
    }
    for (at, node) in nodes.iter().enumerate() {
        if let Op::Conv(conv) = &node.op {
            let input = node.inputs[0];
            let need =
                geometry::ring_needed(&geometry::parts(conv, graph.shape(node.output)), graph.shape(input));
            let ring = &mut rings[input.0];
            ring.top = ring.top.max(need.top);
            ring.left = ring.left.max(need.left);
            ring.bottom = ring.bottom.max(need.bottom);
            ring.right = ring.right.max(need.right);
        }
        for input in &node.inputs {
            if let Some((_, last)) = &mut lives[input.0] {
                *last = (*last).max(at);
            }
        }
        lives[node.output.0] = Some((at, at));
    }
    for output in &graph.outputs {
        lives[output.0] = Some((0, nodes.len()));
    }
    let mut buffers: Vec<Option<Buffer>> = Vec::with_capacity(lives.len());
    for (t, info) in graph.tensors.iter().enumerate() {
        let value = if info.quant.is_some() { 1 } else { 4 };
        buffers.push(lives[t].map(|_| Buffer::new(info.shape, value, rings[t])));
    }
    let present: Vec<usize> = (0..lives.len()).filter(|&t| lives[t].is_some()).collect();
    let wanted: Vec<Life> = present
        .iter()
        .filter_map(|&t| {
            let ((first, last), buffer) = lives[t].zip(buffers[t])?;
            Some(Life { bytes: buffer.bytes(), first, last })
        })
        .collect();
    let (offsets, total) = plan::place(&wanted);
    for (&t, offset) in present.iter().zip(offsets) {
        if let Some(buffer) = &mut buffers[t] {
            buffer.offset = offset;
        }
    }
    (buffers, total + SLACK)
}

struct Lowering<'a> {
    graph: &'a Graph,
    functions: &'a Functions,
    buffers: Vec<Option<Buffer>>,
}

fn place_of(buffer: &Buffer) -> Place {
    Place { at: buffer.at(0, 0) as usize, row: buffer.row, pixel: buffer.pixel }
}

impl Lowering<'_> {
    fn buffer(&self, tensor: Tensor) -> Buffer {
        self.buffers[tensor.0].expect("tensors that fusing removed have no reader")
    }

    fn quant(&self, tensor: Tensor) -> Quant {
        self.graph.quant(tensor).expect("operators read u8 tensors")
    }

    fn step(&self, node: &Node) -> Step {
        let out = self.buffer(node.output);
        let input = self.buffer(node.inputs[0]);
        let info = &self.graph.tensors[node.output.0];
        let (rows, columns, channels) = (out.shape.h, out.shape.w, out.shape.c);
        let mut macs = 0;
        let (kind, work) = match &node.op {
            Op::Conv(conv) => {
                let taps = conv.window.kernel[0] * conv.window.kernel[1];
                let places = if conv.transposed { input.shape } else { out.shape };
                // On 32 bits a large layer has more of them than a usize holds.
                macs = [taps, input.shape.c / conv.weights.groups, channels, places.h, places.w]
                    .into_iter()
                    .map(|n| n as u64)
                    .product();
                self.conv(node, conv, &input, &out)
            }
            Op::Add { params } => {
                let b = place_of(&self.buffer(node.inputs[1]));
                let call = AddCall {
                    a: place_of(&input),
                    b,
                    out: place_of(&out),
                    rows,
                    columns,
                    channels,
                    params: *params,
                };
                ("sum", Work::Add(call))
            }
            Op::Concat => ("concat", Work::Tables(self.concat(node, &out))),
            Op::MaxPool(window) => ("max pool", Work::MaxPool(pool(window, &input, &out))),
            Op::AveragePool { window, count_pads } => {
                let (from, to) = (self.quant(node.inputs[0]), self.quant(node.output));
                let all = window.kernel[0] * window.kernel[1];
                let count = |seen: usize| if *count_pads { all } else { seen.max(1) };
                let multipliers = (0..=all).map(|seen| from.scale / to.scale / count(seen) as f32).collect();
                let (in_zero, out_zero) = (from.zero_point, to.zero_point);
                let pool = pool(window, &input, &out);
                ("average pool", Work::AveragePool { pool, in_zero, out_zero, multipliers })
            }
            Op::UpsampleNearest { factor } => {
                let call = UpsampleCall {
                    input: place_of(&input),
                    out: place_of(&out),
                    rows: input.shape.h,
                    columns: input.shape.w,
                    factor: *factor,
                    bytes: input.pixel,
                };
                ("upsample nearest", Work::Upsample(call))
            }
            Op::Table(table) => {
                let table = Some(table.clone());
                let call = TableCall {
                    input: place_of(&input),
                    out: place_of(&out),
                    rows,
                    columns,
                    channels,
                    table,
                };
                ("table", Work::Tables(vec![call]))
            }
        };
        let (ring, ring_value) = match info.quant {
            Some(quant) => (out.ring_runs(), quant.zero_point),
            None => (Vec::new(), 0),
        };
        Step { name: info.name.clone(), kind, macs, ring, ring_value, work }
    }

    fn concat(&self, node: &Node, out: &Buffer) -> Vec<TableCall> {
        let to = self.quant(node.output);
        let mut first = 0;
        let mut calls = Vec::with_capacity(node.inputs.len());
        for &tensor in &node.inputs {
            let input = self.buffer(tensor);
            let from = self.quant(tensor);
            let table = (from != to)
                .then(|| Box::new(std::array::from_fn(|q| arith::requantise_code(q as u8, from, to))));
            let place = place_of(out);
            calls.push(TableCall {
                input: place_of(&input),
                out: Place { at: place.at + first, ..place },
                rows: out.shape.h,
                columns: out.shape.w,
                channels: input.shape.c,
                table,
            });
            first += input.shape.c;
        }
        calls
    }
}

fn pool(window: &Window, input: &Buffer, out: &Buffer) -> PoolCall {
    PoolCall {
        input: place_of(input),
        window: PoolWindow {
            kernel: window.kernel,
            stride: window.stride,
            pad: [window.pads.top, window.pads.left],
            size: [input.shape.h, input.shape.w],
        },
        out: place_of(out),
        rows: out.shape.h,
        columns: out.shape.w,
        channels: out.shape.c,
    }
}
