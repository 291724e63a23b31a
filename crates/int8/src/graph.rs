//! The description of a network: tensors and the operators between them, checked as they are added.

use crate::arith::AddParams;
use crate::error::{Error, check_scale, shape_error, unsupported};
use crate::op::{Activation, Conv, ConvStore, Node, Op, Weights};
use crate::tensor::{Quant, Shape, Tensor, TensorInfo};
use crate::window::{MAX_SIDE, Pads, Window};

/// Values a tensor may hold: 256 Mi.
const MAX_LEN: usize = 1 << 28;

/// A network under description; see the crate's example.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    pub(crate) tensors: Vec<TensorInfo>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) inputs: Vec<Tensor>,
    pub(crate) outputs: Vec<Tensor>,
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

    /// Marks a tensor of this graph as a result; results keep their order. Marking one twice gives it twice.
    ///
    /// [`Graph::build`] panics if it is a larger graph's.
    pub fn output(&mut self, tensor: Tensor) {
        self.outputs.push(tensor);
    }

    /// The shape of a tensor of this graph.
    ///
    /// # Panics
    /// If it is a larger graph's.
    pub fn shape(&self, tensor: Tensor) -> Shape {
        self.tensors[tensor.0].shape
    }

    /// The quantisation of a tensor of this graph; `None` for f32 heads.
    ///
    /// # Panics
    /// If it is a larger graph's.
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
    #[allow(
        clippy::too_many_arguments,
        reason = "one call describes one operator, as every other method here does"
    )]
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

    #[allow(clippy::too_many_arguments, reason = "private; the three public faces above name what they pass")]
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
            return Err(unsupported(name, "transposed convolutions have one group here"));
        }
        let taps = window.kernel[0].saturating_mul(window.kernel[1]).saturating_mul(shape.c / groups);
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
        let quant = match &store {
            ConvStore::U8 { out, .. } => Some(*out),
            ConvStore::F32 | ConvStore::Sum { .. } => None,
        };
        let out_scale = quant.map(|quant| quant.scale);
        if let ConvStore::U8 { activation, .. } = &store {
            check_limits(name, activation)?;
        }
        for (channel, (&scale, row)) in scales.iter().zip(values.chunks_exact(taps)).enumerate() {
            check_scale(name, scale)?;
            let magnitude: i64 = row.iter().map(|&w| i64::from(w.unsigned_abs())).sum();
            // The kernels start from bias − zero point · Σ weights and some work on inputs shifted by 128.
            let bound = 2 * 255 * magnitude + i64::from(bias[channel]).abs();
            if bound > i64::from(i32::MAX) {
                let what = format!("output channel {channel} can sum up to {bound}, beyond 32 bits");
                return Err(unsupported(name, what));
            }
            let multiplier = in_quant.scale * scale / out_scale.unwrap_or(1.0);
            let scaled = bound as f64 * f64::from(multiplier);
            // Kernels round the sum and the product to f32, and a product of 2^31 is no 32-bit integer.
            let fits = scaled <= f64::from(i32::MAX - 255) || (out_scale.is_none() && scaled.is_finite());
            if !multiplier.is_finite() || !fits {
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
        let output = self.tensor(name, Shape::new(h, w, *out_channels), quant)?;
        let conv = Conv { window, weights, transposed, store };
        self.nodes.push(Node { op: Op::Conv(Box::new(conv)), inputs: vec![input], output });
        Ok(output)
    }

    /// Element-wise sum of two tensors of one shape.
    ///
    /// # Errors
    /// Shapes that differ, bad scales, an empty clip range, a table activation (use [`Graph::table`] after it).
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
            return Err(unsupported(
                name,
                format!("adds {shape:?} and {other:?}: sums are of one shape here"),
            ));
        }
        if activation.table().is_some() {
            return Err(unsupported(name, "a sum takes no table; add a table operator"));
        }
        check_limits(name, &activation)?;
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
            return Err(unsupported(name, format!("factor {factor:?} is not within 1 and {MAX_SIDE}")));
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

    fn pool_shape(&self, name: &str, input: Tensor, window: &Window) -> Result<(Shape, Quant), Error> {
        window.check(name)?;
        let (shape, quant) = self.quantised(name, input)?;
        let Pads { top, left, bottom, right } = window.pads;
        if window.dilation != [1, 1] {
            return Err(unsupported(name, "pooling windows have no dilation here"));
        }
        if top.max(bottom) >= window.kernel[0] || left.max(right) >= window.kernel[1] {
            return Err(unsupported(name, format!("{window:?} has windows of padding alone")));
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
        Err(unsupported(name, format!("scales {} and {} are too far apart", from.scale, to.scale)))
    }

    fn tensor(&mut self, name: &str, shape: Shape, quant: Option<Quant>) -> Result<Tensor, Error> {
        if let Some(quant) = quant {
            check_scale(name, quant.scale)?;
        }
        let side = |v: usize| v <= MAX_SIDE;
        let len = shape.h.saturating_mul(shape.w).saturating_mul(shape.c);
        if len == 0 {
            return Err(shape_error(name, format!("a result of {shape:?} is empty")));
        }
        if !side(shape.h) || !side(shape.w) || len > MAX_LEN {
            return Err(unsupported(name, format!("a result of {shape:?} is too large")));
        }
        self.tensors.push(TensorInfo { name: name.to_owned(), shape, quant });
        Ok(Tensor(self.tensors.len() - 1))
    }
}

/// Refuses a clip whose range is empty.
fn check_limits(name: &str, activation: &Activation) -> Result<(), Error> {
    match activation {
        Activation::Clip { lo, hi } if lo > hi || lo.is_nan() || hi.is_nan() => {
            Err(shape_error(name, format!("clip range {lo}..{hi} is empty")))
        }
        _ => Ok(()),
    }
}
