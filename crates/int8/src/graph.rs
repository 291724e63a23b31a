//! The description of a network: tensors and the operators between them, checked as they are added.

use crate::arith::{self, AddParams};
use crate::error::Error;

/// Height, width and channels of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Rows.
    pub h: usize,
    /// Columns.
    pub w: usize,
    /// Channels.
    pub c: usize,
}

impl Shape {
    /// A shape of `h` rows, `w` columns and `c` channels.
    pub const fn new(h: usize, w: usize, c: usize) -> Self {
        Self { h, w, c }
    }

    /// Number of values.
    pub const fn len(&self) -> usize {
        self.h * self.w * self.c
    }

    /// Whether there is no value at all.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// real = (q − zero_point) · scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quant {
    /// Real units a step.
    pub scale: f32,
    /// The value that stands for zero.
    pub zero_point: u8,
}

impl Quant {
    /// The value nearest to `real`.
    pub fn quantise(&self, real: f32) -> u8 {
        arith::quantise(real / self.scale, self.zero_point, 0, 255)
    }

    /// What `q` stands for.
    pub fn dequantise(&self, q: u8) -> f32 {
        (i32::from(q) - i32::from(self.zero_point)) as f32 * self.scale
    }
}

/// Pixels of padding on each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pads {
    /// Rows above.
    pub top: usize,
    /// Columns to the left.
    pub left: usize,
    /// Rows below.
    pub bottom: usize,
    /// Columns to the right.
    pub right: usize,
}

/// The geometry of a convolution or pooling; pairs are (vertical, horizontal).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Taps.
    pub kernel: [usize; 2],
    /// Input pixels between outputs (a transposed convolution: output pixels between inputs).
    pub stride: [usize; 2],
    /// Input pixels between taps.
    pub dilation: [usize; 2],
    /// Padding.
    pub pads: Pads,
}

impl Window {
    /// A square window: `k`×`k` taps, equal strides and pads, no dilation.
    pub const fn square(k: usize, stride: usize, pad: usize) -> Self {
        Self {
            kernel: [k, k],
            stride: [stride, stride],
            dilation: [1, 1],
            pads: Pads { top: pad, left: pad, bottom: pad, right: pad },
        }
    }

    fn reach(&self, axis: usize) -> usize {
        self.dilation[axis] * (self.kernel[axis] - 1) + 1
    }

    /// Rows and columns that come out of `h` × `w`; `None` where the window does not fit once.
    fn out(&self, h: usize, w: usize) -> Option<(usize, usize)> {
        let along = |size: usize, before: usize, after: usize, axis: usize| {
            (size + before + after).checked_sub(self.reach(axis)).map(|free| free / self.stride[axis] + 1)
        };
        Some((along(h, self.pads.top, self.pads.bottom, 0)?, along(w, self.pads.left, self.pads.right, 1)?))
    }

    fn check(&self, operator: &str) -> Result<(), Error> {
        let bounded = |pair: &[usize; 2]| pair.iter().all(|&v| (1..=MAX_SIDE).contains(&v));
        let Pads { top, left, bottom, right } = self.pads;
        if bounded(&self.kernel)
            && bounded(&self.stride)
            && bounded(&self.dilation)
            && [top, left, bottom, right].iter().all(|&p| p <= MAX_SIDE)
        {
            return Ok(());
        }
        Err(shape_error(operator, format!("window {self:?} has a zero or a value above {MAX_SIDE}")))
    }
}

/// Keeps every product of sizes far from overflow; no camera network comes near it.
const MAX_SIDE: usize = 1 << 14;
/// Values a tensor may hold: 256 Mi.
const MAX_LEN: usize = 1 << 28;

/// i8 weights of a convolution, one scale an output channel, no zero point.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// Output channels.
    pub out_channels: usize,
    /// Groups; each reads its own share of the input channels.
    pub groups: usize,
    /// `[out_channels][kernel rows][kernel columns][input channels / groups]`, dense.
    pub values: Vec<i8>,
    /// Real units a step, by output channel (repeat one value for per-tensor weights).
    pub scales: Vec<f32>,
    /// By output channel, in units of input scale · weight scale.
    pub bias: Vec<i32>,
}

/// What is applied to a convolution's or sum's real result before it is stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Activation {
    /// Nothing.
    None,
    /// max(x, 0).
    Relu,
    /// x limited to `lo..=hi`, real units.
    Clip {
        /// Smallest value.
        lo: f32,
        /// Largest value.
        hi: f32,
    },
    /// Any function: the stored value for each quantised result.
    Table(Box<[u8; 256]>),
}

impl Activation {
    /// As limits on the quantised value: exact, because quantising is monotone.
    pub(crate) fn limits(&self, out: Quant) -> (u8, u8) {
        match self {
            Activation::None | Activation::Table(_) => (0, 255),
            Activation::Relu => (out.zero_point, 255),
            Activation::Clip { lo, hi } => (out.quantise(*lo), out.quantise(*hi)),
        }
    }

    pub(crate) fn table(&self) -> Option<&[u8; 256]> {
        match self {
            Activation::Table(table) => Some(table),
            _ => None,
        }
    }
}

/// A tensor of one [`Graph`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tensor(pub(crate) usize);

#[derive(Debug, Clone)]
pub(crate) struct TensorInfo {
    pub name: String,
    pub shape: Shape,
    /// `None`: f32 values (only a head's output).
    pub quant: Option<Quant>,
}

#[derive(Debug, Clone)]
pub(crate) enum Op {
    Conv(Box<Conv>),
    Add {
        params: AddParams,
    },
    Concat,
    MaxPool(Window),
    AveragePool {
        window: Window,
        count_pads: bool,
    },
    UpsampleNearest {
        factor: [usize; 2],
    },
    Table(Box<[u8; 256]>),
    /// (h, w, c) → (1, c, h·w): each channel's map becomes one pixel.
    MapsToPixels,
}

#[derive(Debug, Clone)]
pub(crate) struct Conv {
    pub window: Window,
    pub weights: Weights,
    pub transposed: bool,
    pub store: ConvStore,
}

#[derive(Debug, Clone)]
pub(crate) enum ConvStore {
    U8 {
        out: Quant,
        activation: Activation,
    },
    /// Requantised to `inner` (an intermediate tensor that is never stored), then added to the node's second input.
    Sum {
        inner: Quant,
        inner_activation: Activation,
        add: AddParams,
        /// Whether the convolution is the sum's first operand: the order decides the last bit.
        inner_is_first: bool,
    },
    F32,
}

#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub op: Op,
    pub inputs: Vec<Tensor>,
    pub output: Tensor,
}

/// A network under description; see the crate's example.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    pub(crate) tensors: Vec<TensorInfo>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) inputs: Vec<Tensor>,
    pub(crate) outputs: Vec<Tensor>,
}

fn shape_error(operator: &str, what: impl Into<String>) -> Error {
    Error::BadShape { operator: operator.to_owned(), what: what.into() }
}

fn check_scale(operator: &str, scale: f32) -> Result<(), Error> {
    if scale.is_finite() && scale > 0.0 {
        return Ok(());
    }
    Err(Error::BadScale { operator: operator.to_owned(), scale })
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Self {
        Self::default()
    }

    /// A u8 tensor that the caller fills before each run.
    ///
    /// # Errors
    /// Bad scale or shape.
    pub fn input(&mut self, name: &str, shape: Shape, quant: Quant) -> Result<Tensor, Error> {
        let tensor = self.tensor(name, shape, Some(quant))?;
        self.inputs.push(tensor);
        Ok(tensor)
    }

    /// Marks a tensor as a result; results keep their order. Marking one twice gives it twice.
    pub fn output(&mut self, tensor: Tensor) {
        self.outputs.push(tensor);
    }

    /// The shape of a tensor.
    pub fn shape(&self, tensor: Tensor) -> Shape {
        self.tensors[tensor.0].shape
    }

    /// The quantisation of a tensor; `None` for f32 heads.
    pub fn quant(&self, tensor: Tensor) -> Option<Quant> {
        self.tensors[tensor.0].quant
    }

    /// Convolution, requantised to `out`, then `activation`.
    ///
    /// # Errors
    /// Sizes that do not fit, bad scales, accumulators that could overflow.
    pub fn conv(
        &mut self,
        name: &str,
        input: Tensor,
        window: Window,
        weights: Weights,
        out: Quant,
        activation: Activation,
    ) -> Result<Tensor, Error> {
        self.conv_any(name, input, window, weights, false, [0, 0], ConvStore::U8 { out, activation })
    }

    /// Convolution whose result stays real: f32, not quantised. For heads.
    ///
    /// # Errors
    /// As [`Graph::conv`].
    pub fn conv_f32(
        &mut self,
        name: &str,
        input: Tensor,
        window: Window,
        weights: Weights,
    ) -> Result<Tensor, Error> {
        self.conv_any(name, input, window, weights, false, [0, 0], ConvStore::F32)
    }

    /// Transposed convolution. `weights.values` are ordered as for [`Graph::conv`] (output channel first); `groups` must be 1;
    /// `extra` rows and columns are added at the bottom and right (ONNX `output_padding`).
    ///
    /// # Errors
    /// As [`Graph::conv`].
    #[allow(clippy::too_many_arguments)] // one call describes one operator, as every other method here does
    pub fn conv_transpose(
        &mut self,
        name: &str,
        input: Tensor,
        window: Window,
        extra: [usize; 2],
        weights: Weights,
        out: Quant,
        activation: Activation,
    ) -> Result<Tensor, Error> {
        self.conv_any(name, input, window, weights, true, extra, ConvStore::U8 { out, activation })
    }

    #[allow(clippy::too_many_arguments)] // private; the three public faces above name what they pass
    fn conv_any(
        &mut self,
        name: &str,
        input: Tensor,
        window: Window,
        weights: Weights,
        transposed: bool,
        extra: [usize; 2],
        store: ConvStore,
    ) -> Result<Tensor, Error> {
        window.check(name)?;
        let (shape, in_quant) = self.quantised(name, input)?;
        let Weights { out_channels, groups, values, scales, bias } = &weights;
        if *groups == 0 || shape.c % groups != 0 || out_channels % groups != 0 || *out_channels == 0 {
            let what = format!("{groups} groups do not divide {} inputs and {out_channels} outputs", shape.c);
            return Err(shape_error(name, what));
        }
        if transposed && *groups != 1 {
            return Err(shape_error(name, "a transposed convolution must have one group"));
        }
        let taps = window.kernel[0] * window.kernel[1] * (shape.c / groups);
        if values.len() != out_channels.saturating_mul(taps)
            || scales.len() != *out_channels
            || bias.len() != *out_channels
        {
            let what = format!(
                "{} weights, {} scales and {} biases for {out_channels} outputs of {taps} taps",
                values.len(),
                scales.len(),
                bias.len()
            );
            return Err(shape_error(name, what));
        }
        let out_scale = match &store {
            ConvStore::U8 { out, .. } => Some(out.scale),
            ConvStore::F32 | ConvStore::Sum { .. } => None,
        };
        if let ConvStore::U8 { activation: Activation::Clip { lo, hi }, .. } = &store
            && (lo > hi || lo.is_nan() || hi.is_nan())
        {
            return Err(shape_error(name, format!("clip range {lo}..{hi} is empty")));
        }
        for (channel, (&scale, row)) in scales.iter().zip(values.chunks_exact(taps)).enumerate() {
            check_scale(name, scale)?;
            let magnitude: i64 = row.iter().map(|&w| i64::from(w.unsigned_abs())).sum();
            // The kernels start from bias − zero point · Σ weights and some work on inputs shifted by 128.
            let bound = 2 * 255 * magnitude + i64::from(bias[channel]).abs();
            let multiplier = in_quant.scale * scale / out_scale.unwrap_or(1.0);
            let scaled = bound as f64 * f64::from(multiplier);
            let fits = scaled < f64::from(i32::MAX) || (out_scale.is_none() && scaled.is_finite());
            if bound > i64::from(i32::MAX) || !multiplier.is_finite() || !fits {
                return Err(Error::Overflow { operator: name.to_owned(), channel, bound, multiplier });
            }
        }
        let (h, w) = if transposed {
            let along = |size: usize, axis: usize, pads: usize| {
                ((size - 1) * window.stride[axis] + window.reach(axis) + extra[axis]).checked_sub(pads)
            };
            let Pads { top, left, bottom, right } = window.pads;
            along(shape.h, 0, top + bottom).zip(along(shape.w, 1, left + right))
        } else {
            window.out(shape.h, shape.w)
        }
        .ok_or_else(|| shape_error(name, format!("{window:?} does not fit {}x{}", shape.h, shape.w)))?;
        let quant = match &store {
            ConvStore::U8 { out, .. } => Some(*out),
            ConvStore::F32 | ConvStore::Sum { .. } => None,
        };
        let output = self.tensor(name, Shape::new(h, w, *out_channels), quant)?;
        let conv = Conv { window, weights, transposed, store };
        self.nodes.push(Node { op: Op::Conv(Box::new(conv)), inputs: vec![input], output });
        Ok(output)
    }

    /// Element-wise sum of two tensors of one shape.
    ///
    /// # Errors
    /// Shapes that differ, bad scales, a table activation (use [`Graph::table`] after it).
    pub fn add(
        &mut self,
        name: &str,
        a: Tensor,
        b: Tensor,
        out: Quant,
        activation: Activation,
    ) -> Result<Tensor, Error> {
        let (shape, qa) = self.quantised(name, a)?;
        let (other, qb) = self.quantised(name, b)?;
        if shape != other {
            return Err(shape_error(name, format!("cannot add {shape:?} and {other:?}")));
        }
        if activation.table().is_some() {
            return Err(shape_error(name, "a sum takes no table; add a table operator"));
        }
        let output = self.tensor(name, shape, Some(out))?;
        let (lo, hi) = activation.limits(out);
        let (a_ratio, b_ratio) = (self.ratio(name, qa, out)?, self.ratio(name, qb, out)?);
        let of_operands = a_ratio * f32::from(qa.zero_point) + b_ratio * f32::from(qb.zero_point);
        let fixed = f32::from(out.zero_point) - of_operands;
        let params = AddParams { a_ratio, b_ratio, fixed, lo, hi };
        self.nodes.push(Node { op: Op::Add { params }, inputs: vec![a, b], output });
        Ok(output)
    }

    /// Channels one after the other, each input requantised to `out`.
    ///
    /// # Errors
    /// Fewer than one input, maps of different sizes, bad scales.
    pub fn concat(&mut self, name: &str, inputs: &[Tensor], out: Quant) -> Result<Tensor, Error> {
        let Some(&first) = inputs.first() else {
            return Err(shape_error(name, "nothing to concatenate"));
        };
        let mut shape = Shape { c: 0, ..self.quantised(name, first)?.0 };
        for &input in inputs {
            let (part, quant) = self.quantised(name, input)?;
            self.ratio(name, quant, out)?;
            if (part.h, part.w) != (shape.h, shape.w) {
                return Err(shape_error(name, format!("cannot concatenate {part:?} to {shape:?}")));
            }
            shape.c += part.c;
        }
        let output = self.tensor(name, shape, Some(out))?;
        self.nodes.push(Node { op: Op::Concat, inputs: inputs.to_vec(), output });
        Ok(output)
    }

    /// Largest value of each window; padding never wins. Quantisation stays the input's.
    ///
    /// # Errors
    /// A window that does not fit, or one that could see padding alone.
    pub fn max_pool(&mut self, name: &str, input: Tensor, window: Window) -> Result<Tensor, Error> {
        let (shape, quant) = self.pool_shape(name, input, &window)?;
        let output = self.tensor(name, shape, Some(quant))?;
        self.nodes.push(Node { op: Op::MaxPool(window), inputs: vec![input], output });
        Ok(output)
    }

    /// Mean of each window, requantised to `out`; padding counts as zeros only if `count_pads`.
    ///
    /// # Errors
    /// As [`Graph::max_pool`]; bad scales.
    pub fn average_pool(
        &mut self,
        name: &str,
        input: Tensor,
        window: Window,
        count_pads: bool,
        out: Quant,
    ) -> Result<Tensor, Error> {
        let (shape, quant) = self.pool_shape(name, input, &window)?;
        self.ratio(name, quant, out)?;
        let output = self.tensor(name, shape, Some(out))?;
        self.nodes.push(Node { op: Op::AveragePool { window, count_pads }, inputs: vec![input], output });
        Ok(output)
    }

    /// Each pixel repeated `factor` times down and across.
    ///
    /// # Errors
    /// A factor of zero, or a map that grows too large.
    pub fn upsample_nearest(
        &mut self,
        name: &str,
        input: Tensor,
        factor: [usize; 2],
    ) -> Result<Tensor, Error> {
        let (shape, quant) = self.quantised(name, input)?;
        if factor.iter().any(|f| !(1..=MAX_SIDE).contains(f)) {
            return Err(shape_error(name, format!("factor {factor:?}")));
        }
        let shape = Shape::new(shape.h * factor[0], shape.w * factor[1], shape.c);
        let output = self.tensor(name, shape, Some(quant))?;
        self.nodes.push(Node { op: Op::UpsampleNearest { factor }, inputs: vec![input], output });
        Ok(output)
    }

    /// `table[q]` for every value; the result is quantised as `out` says.
    ///
    /// # Errors
    /// Bad scale.
    pub fn table(
        &mut self,
        name: &str,
        input: Tensor,
        table: Box<[u8; 256]>,
        out: Quant,
    ) -> Result<Tensor, Error> {
        let (shape, _) = self.quantised(name, input)?;
        let output = self.tensor(name, shape, Some(out))?;
        self.nodes.push(Node { op: Op::Table(table), inputs: vec![input], output });
        Ok(output)
    }

    /// (h, w, c) → (1, c, h·w): each channel's map becomes one pixel, so that a following 1×1 convolution is a fully
    /// connected layer shared by the channels (the SimCC head).
    ///
    /// # Errors
    /// An f32 input.
    pub fn maps_to_pixels(&mut self, name: &str, input: Tensor) -> Result<Tensor, Error> {
        let (shape, quant) = self.quantised(name, input)?;
        let output = self.tensor(name, Shape::new(1, shape.c, shape.h * shape.w), Some(quant))?;
        self.nodes.push(Node { op: Op::MapsToPixels, inputs: vec![input], output });
        Ok(output)
    }

    fn pool_shape(&self, name: &str, input: Tensor, window: &Window) -> Result<(Shape, Quant), Error> {
        window.check(name)?;
        let (shape, quant) = self.quantised(name, input)?;
        let Pads { top, left, bottom, right } = window.pads;
        if window.dilation != [1, 1] {
            return Err(shape_error(name, "pooling windows have no dilation here"));
        }
        if top.max(bottom) >= window.kernel[0] || left.max(right) >= window.kernel[1] {
            return Err(shape_error(name, format!("{window:?} has windows of padding alone")));
        }
        let (h, w) = window
            .out(shape.h, shape.w)
            .ok_or_else(|| shape_error(name, format!("{window:?} does not fit {}x{}", shape.h, shape.w)))?;
        Ok((Shape::new(h, w, shape.c), quant))
    }

    fn quantised(&self, name: &str, tensor: Tensor) -> Result<(Shape, Quant), Error> {
        let info =
            self.tensors.get(tensor.0).ok_or(Error::BadGraph("was given a tensor of another graph"))?;
        let quant = info.quant.ok_or_else(|| shape_error(name, format!("{} is f32, not u8", info.name)))?;
        Ok((info.shape, quant))
    }

    /// Scale of `from` over scale of `to`, refused where sums of two would leave f32's exact range.
    fn ratio(&self, name: &str, from: Quant, to: Quant) -> Result<f32, Error> {
        check_scale(name, to.scale)?;
        let ratio = from.scale / to.scale;
        if ratio.is_finite() && ratio < 1.0e6 {
            return Ok(ratio);
        }
        Err(Error::BadScale { operator: name.to_owned(), scale: to.scale })
    }

    fn tensor(&mut self, name: &str, shape: Shape, quant: Option<Quant>) -> Result<Tensor, Error> {
        if let Some(quant) = quant {
            check_scale(name, quant.scale)?;
        }
        let side = |v: usize| (1..=MAX_SIDE).contains(&v);
        let len = shape.h.saturating_mul(shape.w).saturating_mul(shape.c);
        // Channels may exceed a side: a map turned into a pixel has h·w of them.
        if !side(shape.h) || !side(shape.w) || shape.c == 0 || len > MAX_LEN {
            return Err(shape_error(name, format!("a result of {shape:?} is empty or too large")));
        }
        self.tensors.push(TensorInfo { name: name.to_owned(), shape, quant });
        Ok(Tensor(self.tensors.len() - 1))
    }
}
