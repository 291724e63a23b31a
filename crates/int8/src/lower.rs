//! From a graph to steps: fuse, choose buffers and their rings, plan the arena, pack weights, resolve addresses.

use crate::arena::Aligned;
use crate::arith::AddParams;
use crate::error::Error;
use crate::fuse;
use crate::geometry::{self, Buffer, Part};
use crate::graph::{Conv, ConvStore, Graph, Node, Op, Pads, Quant, Window};
use crate::kernel::{Functions, InnerSum, PoolWindow, SLACK};
use crate::pack::{self, BLOCK, Segment};
use crate::plan::{self, Life};
use crate::reference;

/// A map as an arena position and strides, before there is an arena.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub at: usize,
    pub row: usize,
    pub pixel: usize,
}

/// One operator with everything resolved but the arena's address.
#[derive(Debug)]
pub(crate) struct Step {
    pub name: String,
    pub kind: &'static str,
    pub macs: u64,
    /// Ring of the output, filled before the operator runs.
    pub ring: Vec<(usize, usize)>,
    pub ring_value: u8,
    pub work: Work,
}

#[derive(Debug)]
pub(crate) enum Work {
    Conv {
        calls: Vec<ConvCall>,
        table: Option<TableCall>,
    },
    Depthwise {
        call: Box<DepthwiseCall>,
        table: Option<TableCall>,
    },
    Add(AddCall),
    /// A concatenation is one look-up or copy an input; so is a table.
    Tables(Vec<TableCall>),
    MaxPool(PoolCall),
    AveragePool {
        pool: PoolCall,
        in_zero: u8,
        out_zero: u8,
        multipliers: Vec<f32>,
    },
    Upsample {
        input: Place,
        out: Place,
        rows: usize,
        columns: usize,
        factor: [usize; 2],
        bytes: usize,
    },
    MapsToPixels {
        input: Place,
        out: Place,
        rows: usize,
        columns: usize,
        channels: usize,
    },
}

#[derive(Debug)]
pub(crate) enum StoreCall {
    U8 { zero_point: u8, lo: u8, hi: u8 },
    Sum { sum: InnerSum, other: Place },
    F32,
}

#[derive(Debug)]
pub(crate) struct ConvCall {
    pub input: Place,
    pub segments: Vec<Segment>,
    pub weights: Aligned,
    pub block_bytes: usize,
    pub has_lowest: bool,
    pub start: Vec<i32>,
    pub multipliers: Vec<f32>,
    pub channels: usize,
    pub out: Place,
    pub rows: usize,
    pub columns: usize,
    pub store: StoreCall,
}

#[derive(Debug)]
pub(crate) struct DepthwiseCall {
    pub input: Place,
    pub taps: Vec<isize>,
    pub weights: Vec<i8>,
    pub start: Vec<i32>,
    pub multipliers: Vec<f32>,
    pub channels: usize,
    pub out: Place,
    pub rows: usize,
    pub columns: usize,
    pub store: StoreCall,
}

#[derive(Debug)]
pub(crate) struct AddCall {
    pub a: Place,
    pub b: Place,
    pub out: Place,
    pub rows: usize,
    pub columns: usize,
    pub channels: usize,
    pub params: AddParams,
}

#[derive(Debug)]
pub(crate) struct TableCall {
    pub input: Place,
    pub out: Place,
    pub rows: usize,
    pub columns: usize,
    pub channels: usize,
    pub table: Option<Box<[u8; 256]>>,
}

#[derive(Debug)]
pub(crate) struct PoolCall {
    pub input: Place,
    pub window: PoolWindow,
    pub out: Place,
    pub rows: usize,
    pub columns: usize,
    pub channels: usize,
}

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
    let lowering = Lowering { graph, functions, buffers, arena_bytes };
    let steps = nodes.iter().map(|node| lowering.step(node)).collect();
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
    arena_bytes: usize,
}

fn place_of(buffer: &Buffer) -> Place {
    Place { at: buffer.at(0, 0) as usize, row: buffer.row, pixel: buffer.pixel }
}

impl Lowering<'_> {
    fn buffer(&self, tensor: crate::Tensor) -> Buffer {
        self.buffers[tensor.0].expect("tensors that fusing removed have no reader")
    }

    fn quant(&self, tensor: crate::Tensor) -> Quant {
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
                let each = taps * (input.shape.c / conv.weights.groups) * channels;
                let places = if conv.transposed { input.shape } else { out.shape };
                macs = (each * places.h * places.w) as u64;
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
                let multipliers =
                    (0..=all).map(|seen| reference::average_multiplier(from, to, count(seen))).collect();
                let (in_zero, out_zero) = (from.zero_point, to.zero_point);
                let pool = pool(window, &input, &out);
                ("average pool", Work::AveragePool { pool, in_zero, out_zero, multipliers })
            }
            Op::UpsampleNearest { factor } => {
                let (rows, columns) = (input.shape.h, input.shape.w);
                let (input, bytes) = (place_of(&input), input.pixel);
                let work =
                    Work::Upsample { input, out: place_of(&out), rows, columns, factor: *factor, bytes };
                ("upsample nearest", work)
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
            Op::MapsToPixels => {
                let (rows, columns, channels) = (input.shape.h, input.shape.w, input.shape.c);
                let (input, out) = (place_of(&input), place_of(&out));
                ("maps to pixels", Work::MapsToPixels { input, out, rows, columns, channels })
            }
        };
        let (ring, ring_value) = match info.quant {
            Some(quant) => (out.ring_runs(), quant.zero_point),
            None => (Vec::new(), 0),
        };
        Step { name: info.name.clone(), kind, macs, ring, ring_value, work }
    }

    fn conv(&self, node: &Node, conv: &Conv, input: &Buffer, out: &Buffer) -> (&'static str, Work) {
        let table = |activation: &crate::Activation| {
            let table = Some(Box::new(*activation.table()?));
            let (rows, columns, channels) = (out.shape.h, out.shape.w, out.shape.c);
            // In place: each value is read before it is written.
            Some(TableCall { input: place_of(out), out: place_of(out), rows, columns, channels, table })
        };
        let in_quant = self.quant(node.inputs[0]);
        let (store, scale, table) = match &conv.store {
            ConvStore::U8 { out: quant, activation } => {
                let (lo, hi) = activation.limits(*quant);
                let store = StoreCall::U8 { zero_point: quant.zero_point, lo, hi };
                (store, quant.scale, table(activation))
            }
            ConvStore::Sum { inner, inner_activation, add, inner_is_first } => {
                let (lo, hi) = inner_activation.limits(*inner);
                let zero = i32::from(inner.zero_point);
                let centred = |q: u8| (i32::from(q) - zero) as f32;
                let sum = InnerSum {
                    lo: centred(lo),
                    hi: centred(hi),
                    zero: zero as f32,
                    is_first: *inner_is_first,
                    add: *add,
                };
                let store = StoreCall::Sum { sum, other: place_of(&self.buffer(node.inputs[1])) };
                (store, inner.scale, None)
            }
            ConvStore::F32 => (StoreCall::F32, 1.0, None),
        };
        let multipliers: Vec<f32> = conv.weights.scales.iter().map(|s| in_quant.scale * s / scale).collect();
        let parts = geometry::parts(conv, out.shape);
        let is_sum = matches!(conv.store, ConvStore::Sum { .. });
        if fuse::is_depthwise(self.graph, Some(node)) {
            let call = self.depthwise(conv, &parts[0], input, out, in_quant, multipliers, store);
            return ("depthwise", Work::Depthwise { call: Box::new(call), table });
        }
        let groups = conv.weights.groups;
        let mut calls = Vec::with_capacity(parts.len() * groups);
        for part in &parts {
            for group in 0..groups {
                calls.push(self.conv_call(conv, part, group, input, out, in_quant, &multipliers, &store));
            }
        }
        let kind = match (conv.transposed, is_sum) {
            (true, false) => "transposed conv",
            (true, true) => "transposed conv + sum",
            (false, false) => "conv",
            (false, true) => "conv + sum",
        };
        (kind, Work::Conv { calls, table })
    }

    #[allow(clippy::too_many_arguments)] // one private caller; a struct would only rename its locals
    fn conv_call(
        &self,
        conv: &Conv,
        part: &Part,
        group: usize,
        input: &Buffer,
        out: &Buffer,
        in_quant: Quant,
        multipliers: &[f32],
        store: &StoreCall,
    ) -> ConvCall {
        let weights = &conv.weights;
        let (in_group, out_group) = (input.shape.c / weights.groups, weights.out_channels / weights.groups);
        let channels = group * out_group..(group + 1) * out_group;
        let kernel_taps = conv.window.kernel[0] * conv.window.kernel[1];
        let (segments, matrix) = pack::matrix(
            weights,
            channels.clone(),
            &part.taps,
            kernel_taps,
            in_group,
            input.pixel,
            input.row,
        );
        let shift = if self.functions.signed_inputs { 128 } else { 0 };
        let mut start = vec![0i32; matrix.rows];
        let mut padded = vec![0f32; matrix.rows];
        for (row, channel) in channels.clone().enumerate() {
            let values = &matrix.values[row * matrix.columns..][..matrix.columns];
            start[row] = pack::start(weights.bias[channel], values.iter().copied(), in_quant, shift);
            padded[row] = multipliers[channel];
        }
        let packed = (self.functions.pack)(&matrix);
        let [first_y, first_x] = part.first.map(|v| v as isize);
        let shifted = |place: Place, step: [usize; 2], value: usize| Place {
            at: place.at + channels.start * value,
            row: place.row * step[0],
            pixel: place.pixel * step[1],
        };
        let at_first = |buffer: &Buffer| Place {
            at: buffer.at(first_y, first_x) as usize,
            row: buffer.row,
            pixel: buffer.pixel,
        };
        let base = place_of(input);
        let mut call = ConvCall {
            input: Place {
                at: base.at + group * in_group,
                row: base.row * part.in_step[0],
                pixel: base.pixel * part.in_step[1],
            },
            segments,
            block_bytes: packed.len() / (matrix.rows / BLOCK),
            has_lowest: matrix.values.contains(&i8::MIN),
            weights: Aligned::from_bytes(&packed),
            start,
            multipliers: padded,
            channels: out_group,
            out: shifted(at_first(out), part.out_step, out.value),
            rows: part.size[0],
            columns: part.size[1],
            store: match store {
                StoreCall::Sum { sum, other } => {
                    // The other operand has the output's shape, though not always its ring.
                    let at = other.at + part.first[0] * other.row + part.first[1] * other.pixel;
                    let other = shifted(Place { at, ..*other }, part.out_step, 1);
                    StoreCall::Sum { sum: *sum, other }
                }
                StoreCall::U8 { zero_point, lo, hi } => {
                    StoreCall::U8 { zero_point: *zero_point, lo: *lo, hi: *hi }
                }
                StoreCall::F32 => StoreCall::F32,
            },
        };
        self.check_reads(&call, input);
        flatten(&mut call);
        call
    }

    /// Every read and write of a call stays inside the arena: what the kernels' safety rests on.
    fn check_reads(&self, call: &ConvCall, input: &Buffer) {
        let last = (call.rows - 1) * call.input.row + (call.columns - 1) * call.input.pixel;
        for segment in &call.segments {
            let first = call.input.at as isize + segment.offset;
            let end = first + (last + segment.steps * 4) as isize;
            assert!(
                first >= input.offset as isize && end <= (self.arena_bytes) as isize,
                "a read leaves the arena"
            );
        }
        let value = if matches!(call.store, StoreCall::F32) { 4 } else { 1 };
        let last = (call.rows - 1) * call.out.row + (call.columns - 1) * call.out.pixel;
        assert!(call.out.at + last + call.channels * value <= self.arena_bytes, "a write leaves the arena");
        assert!(call.weights.bytes().len() >= call.block_bytes * call.start.len() / BLOCK, "weights");
    }

    #[allow(clippy::too_many_arguments)] // as conv_call
    fn depthwise(
        &self,
        conv: &Conv,
        part: &Part,
        input: &Buffer,
        out: &Buffer,
        in_quant: Quant,
        mut multipliers: Vec<f32>,
        store: StoreCall,
    ) -> DepthwiseCall {
        let channels = out.shape.c;
        let padded = channels.next_multiple_of(BLOCK);
        multipliers.resize(padded, 0.0);
        let kernel_taps = part.taps.len();
        let mut weights = vec![0i8; kernel_taps * padded];
        let mut start = vec![0i32; padded];
        for c in 0..channels {
            let own = &conv.weights.values[c * kernel_taps..][..kernel_taps];
            for (place, tap) in part.taps.iter().enumerate() {
                weights[place * padded + c] = own[tap.index];
            }
            start[c] = pack::start(conv.weights.bias[c], own.iter().copied(), in_quant, 0);
        }
        let base = place_of(input);
        DepthwiseCall {
            input: Place {
                at: base.at,
                row: base.row * part.in_step[0],
                pixel: base.pixel * part.in_step[1],
            },
            taps: part.taps.iter().map(|t| t.dy * input.row as isize + t.dx * input.pixel as isize).collect(),
            weights,
            start,
            multipliers,
            channels,
            out: place_of(out),
            rows: part.size[0],
            columns: part.size[1],
            store,
        }
    }

    fn concat(&self, node: &Node, out: &Buffer) -> Vec<TableCall> {
        let to = self.quant(node.output);
        let mut first = 0;
        let mut calls = Vec::with_capacity(node.inputs.len());
        for &tensor in &node.inputs {
            let input = self.buffer(tensor);
            let from = self.quant(tensor);
            let table = (from != to)
                .then(|| Box::new(std::array::from_fn(|q| reference::requantise(q as u8, from, to))));
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

/// A map without borders between its rows is one long row: fewer, fuller tiles.
fn flatten(call: &mut ConvCall) {
    let joins = |p: &Place| p.row == p.pixel * call.columns;
    let other_joins = match &call.store {
        StoreCall::Sum { other, .. } => joins(other),
        _ => true,
    };
    if joins(&call.input) && joins(&call.out) && other_joins {
        (call.rows, call.columns) = (1, call.rows * call.columns);
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
