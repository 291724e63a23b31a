//! A plain evaluation of a graph: slow, obvious, and what every kernel is compared with.
//!
//! It states the arithmetic of [`arith`](crate::arith) again, in the standard library's words, and shares no formula with what
//! it is to test: neither with the kernels nor with the lowering that feeds them.

use crate::arith::AddParams;
use crate::graph::Graph;
use crate::op::{Activation, Conv, ConvStore, Op};
use crate::tensor::{Quant, Shape, Tensor};
use crate::window::Window;

/// Values of a tensor, dense, channels fastest.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Quantised.
    U8(Vec<u8>),
    /// A head's.
    F32(Vec<f32>),
}

impl Values {
    fn bytes(&self) -> &[u8] {
        match self {
            Values::U8(bytes) => bytes,
            Values::F32(_) => unreachable!("the graph refuses f32 inputs to operators"),
        }
    }
}

/// Evaluates `graph` on dense inputs (one slice an input, h·w·c bytes) and gives its outputs in order.
///
/// # Panics
/// If an input is missing or has the wrong length.
pub fn evaluate(graph: &Graph, inputs: &[&[u8]]) -> Vec<Values> {
    let mut values: Vec<Option<Values>> = vec![None; graph.tensors.len()];
    assert_eq!(inputs.len(), graph.inputs.len(), "number of inputs");
    for (tensor, bytes) in graph.inputs.iter().zip(inputs) {
        assert_eq!(bytes.len(), graph.shape(*tensor).len(), "length of an input");
        values[tensor.0] = Some(Values::U8(bytes.to_vec()));
    }
    for node in &graph.nodes {
        let of = |i: usize| values[node.inputs[i].0].as_ref().expect("nodes are in order");
        let shape = graph.shape(node.output);
        let source = graph.shape(node.inputs[0]);
        let result = match &node.op {
            Op::Conv(spec) => {
                conv(graph, spec, node.inputs[0], of(0).bytes(), node.inputs.get(1).map(|_| of(1)), shape)
            }
            Op::Add { params } => Values::U8(
                of(0).bytes().iter().zip(of(1).bytes()).map(|(&a, &b)| add(a, b, params)).collect(),
            ),
            Op::Concat => {
                let mut out = Vec::with_capacity(shape.len());
                for pixel in 0..shape.h * shape.w {
                    for (i, &input) in node.inputs.iter().enumerate() {
                        let c = graph.shape(input).c;
                        let from = graph.quant(input).expect("u8");
                        let to = graph.quant(node.output).expect("u8");
                        out.extend(of(i).bytes()[pixel * c..][..c].iter().map(|&q| requantise(q, from, to)));
                    }
                }
                Values::U8(out)
            }
            Op::MaxPool(window) => {
                pool(of(0).bytes(), source, shape, window, |seen, _| seen.iter().copied().max().unwrap_or(0))
            }
            Op::AveragePool { window, count_pads } => {
                let (from, to) =
                    (graph.quant(node.inputs[0]).expect("u8"), graph.quant(node.output).expect("u8"));
                pool(of(0).bytes(), source, shape, window, |seen, all| {
                    let count = if *count_pads { all } else { seen.len() };
                    let sum: i32 = seen.iter().map(|&q| i32::from(q) - i32::from(from.zero_point)).sum();
                    quantise(sum as f32 * (from.scale / to.scale / count as f32), to.zero_point)
                })
            }
            Op::UpsampleNearest { factor } => Values::U8(
                pixels(shape)
                    .flat_map(|(y, x)| {
                        let at = (y / factor[0] * source.w + x / factor[1]) * source.c;
                        of(0).bytes()[at..][..source.c].iter().copied()
                    })
                    .collect(),
            ),
            Op::Table(table) => Values::U8(of(0).bytes().iter().map(|&q| table[usize::from(q)]).collect()),
        };
        values[node.output.0] = Some(result);
    }
    graph.outputs.iter().map(|t| values[t.0].clone().expect("outputs are computed")).collect()
}

/// `value` in steps, rounded to nearest even, offset and saturated.
fn quantise(value: f32, zero_point: u8) -> u8 {
    // Wide enough for any f32 that a cast saturates.
    (value.round_ties_even() as i64 + i64::from(zero_point)).clamp(0, 255) as u8
}

/// A sum on the codes, rounded once: the second operand's product first.
fn add(a: u8, b: u8, p: &AddParams) -> u8 {
    let sum = f32::from(a).mul_add(p.a_ratio, f32::from(b).mul_add(p.b_ratio, p.fixed));
    quantise(sum, 0).clamp(p.lo, p.hi)
}

/// One value in another tensor's quantisation.
fn requantise(q: u8, from: Quant, to: Quant) -> u8 {
    if from == to {
        return q;
    }
    let centred = i32::from(q) - i32::from(from.zero_point);
    quantise(centred as f32 * (from.scale / to.scale), to.zero_point)
}

/// `value` in steps of `out`, after the activation: limits act on the real value, tables on the code.
fn activate(value: f32, out: Quant, activation: &Activation) -> u8 {
    match activation {
        Activation::None => quantise(value, out.zero_point),
        Activation::Relu => quantise(value.max(0.0), out.zero_point),
        Activation::Clip { lo, hi } => quantise(value.clamp(lo / out.scale, hi / out.scale), out.zero_point),
        Activation::Table(table) => table[usize::from(quantise(value, out.zero_point))],
    }
}

fn pixels(shape: Shape) -> impl Iterator<Item = (usize, usize)> {
    (0..shape.h).flat_map(move |y| (0..shape.w).map(move |x| (y, x)))
}

/// Input coordinates under each tap of one window, `None` in the padding.
fn taps(window: &Window, input: Shape, y: usize, x: usize) -> impl Iterator<Item = Option<(usize, usize)>> {
    let Window { kernel, stride, dilation, pads } = *window;
    (0..kernel[0]).flat_map(move |ky| {
        (0..kernel[1]).map(move |kx| {
            let row = (y * stride[0] + ky * dilation[0]).checked_sub(pads.top)?;
            let column = (x * stride[1] + kx * dilation[1]).checked_sub(pads.left)?;
            (row < input.h && column < input.w).then_some((row, column))
        })
    })
}

fn pool(input: &[u8], from: Shape, to: Shape, window: &Window, of: impl Fn(&[u8], usize) -> u8) -> Values {
    let mut out = Vec::with_capacity(to.len());
    for (y, x) in pixels(to) {
        for c in 0..to.c {
            let seen: Vec<u8> = taps(window, from, y, x)
                .flatten()
                .map(|(r, k)| input[(r * from.w + k) * from.c + c])
                .collect();
            out.push(of(&seen, window.kernel[0] * window.kernel[1]));
        }
    }
    Values::U8(out)
}

fn conv(
    graph: &Graph,
    spec: &Conv,
    input: Tensor,
    bytes: &[u8],
    other: Option<&Values>,
    to: Shape,
) -> Values {
    let from = graph.shape(input);
    let quant = graph.quant(input).expect("u8");
    let Conv { window, weights, transposed, store } = spec;
    let (in_group, out_group) = (from.c / weights.groups, weights.out_channels / weights.groups);
    let [kh, kw] = window.kernel;
    let centred = |row: usize, column: usize, c: usize| {
        i64::from(bytes[(row * from.w + column) * from.c + c]) - i64::from(quant.zero_point)
    };
    let mut sums = Vec::with_capacity(to.len());
    for (y, x) in pixels(to) {
        let seen: Vec<Option<(usize, usize)>> = if *transposed {
            transposed_taps(window, from, y, x)
        } else {
            taps(window, from, y, x).collect()
        };
        for o in 0..weights.out_channels {
            let mut sum = i64::from(weights.bias[o]);
            for (tap, place) in seen.iter().enumerate() {
                let Some((row, column)) = *place else { continue };
                for c in 0..in_group {
                    let w = weights.values[(o * kh * kw + tap) * in_group + c];
                    sum += centred(row, column, o / out_group * in_group + c) * i64::from(w);
                }
            }
            sums.push(i32::try_from(sum).expect("the graph bounds accumulators"));
        }
    }
    let with_channel = || sums.iter().enumerate().map(|(i, &sum)| (sum, i % weights.out_channels));
    let quantised = |out: Quant, activation: &Activation| -> Vec<u8> {
        let steps = |(sum, c): (i32, usize)| sum as f32 * (quant.scale * weights.scales[c] / out.scale);
        with_channel().map(|of| activate(steps(of), out, activation)).collect()
    };
    match store {
        ConvStore::U8 { out, activation } => Values::U8(quantised(*out, activation)),
        ConvStore::F32 => Values::F32(
            with_channel().map(|(sum, c)| sum as f32 * (quant.scale * weights.scales[c])).collect(),
        ),
        ConvStore::Sum { inner, inner_activation, add, inner_is_first } => {
            let other = other.expect("a fused sum has a second input").bytes();
            let inner = quantised(*inner, inner_activation);
            let sum = |(&inner, &other): (&u8, &u8)| {
                let (a, b) = if *inner_is_first { (inner, other) } else { (other, inner) };
                self::add(a, b, add)
            };
            Values::U8(inner.iter().zip(other).map(sum).collect())
        }
    }
}

/// Input pixels that a transposed convolution's taps bring to one output pixel.
fn transposed_taps(window: &Window, input: Shape, y: usize, x: usize) -> Vec<Option<(usize, usize)>> {
    let Window { kernel, stride, dilation, pads } = *window;
    let along = |at: usize, pad: usize, tap: usize, axis: usize, size: usize| {
        let free = (at + pad).checked_sub(tap * dilation[axis])?;
        (free % stride[axis] == 0 && free / stride[axis] < size).then_some(free / stride[axis])
    };
    let mut out = Vec::with_capacity(kernel[0] * kernel[1]);
    for ky in 0..kernel[0] {
        for kx in 0..kernel[1] {
            let row = along(y, pads.top, ky, 0, input.h);
            out.push(row.zip(along(x, pads.left, kx, 1, input.w)));
        }
    }
    out
}
