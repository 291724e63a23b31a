//! From a QDQ graph, as `onnxruntime.quantization` writes it, to an int8 [`Graph`].
//!
//! A convolution of such a graph is `DequantizeLinear → Conv → QuantizeLinear`: real arithmetic between quantised
//! tensors. Walking the nodes in order, a [`Value`] says what each name stands for; an operator whose result is not yet
//! quantised is *pending* until its `QuantizeLinear` gives it a scale, and then becomes one fused operator.

use std::collections::HashMap;

use int8::{Activation, Graph, Quant, Shape, Tensor, Window};
use tract_onnx::pb;

use super::onnx::{self, Attributes, Constant, Values};
use super::split::Foreign;
use super::value::{Pending, Refusal, Unary, Value, Waiting, broken, limits, unknown};
use super::window;

/// The translated network.
#[derive(Debug)]
pub(in crate::infer) struct Matched {
    pub graph: Graph,
    /// How the picture input is quantised.
    pub input: Quant,
    /// Name and shape (channels, rows, columns) of each output of the int8 graph: those of the file, in its order, then
    /// what the rest of the file reads.
    pub outputs: Vec<(String, [usize; 3])>,
    /// What is left to another engine, if anything.
    pub rest: Option<Rest>,
}

/// The operators that the int8 graph leaves out.
#[derive(Debug)]
pub(in crate::infer) struct Rest {
    /// Reads some of the int8 graph's outputs (f32, `[1, channels, rows, columns]`) by name, gives those outputs of the
    /// file that the int8 graph lacks.
    pub graph: pb::GraphProto,
    /// Why, with the first operator's name.
    pub reason: String,
}

/// Translates the whole graph whose picture input is `input_name`, `height` × `width` × 3.
///
/// # Errors
/// [`Refusal`], naming the operator.
pub(in crate::infer) fn translate(
    graph: &pb::GraphProto,
    input_name: &str,
    height: usize,
    width: usize,
) -> Result<Matched, Refusal> {
    let constants = onnx::constants(graph).map_err(Refusal::Broken)?;
    let mut walk = Walk {
        constants,
        values: HashMap::new(),
        graph: Graph::new(),
        input: None,
        picture: Shape::new(height, width, 3),
    };
    walk.values.insert(input_name.to_owned(), Value::Picture);
    let mut foreign = Foreign::default();
    for (at, node) in graph.node.iter().enumerate() {
        let is_foreign = |name: &String| matches!(walk.values.get(name), Some(Value::Foreign));
        let outcome =
            if node.input.iter().any(is_foreign) { Ok(false) } else { walk.node(node).map(|()| true) };
        match outcome.map_err(|refusal| named(refusal, node)) {
            Ok(true) => continue,
            Ok(false) => {}
            Err(Refusal::NotUnderstood(reason)) => {
                foreign.reason.get_or_insert(reason);
            }
            Err(broken) => return Err(broken),
        }
        foreign.nodes.push(at);
        walk.values.extend(node.output.iter().map(|name| (name.clone(), Value::Foreign)));
    }
    let mut outputs = Vec::with_capacity(graph.output.len());
    for output in &graph.output {
        if !matches!(walk.values.get(&output.name), Some(Value::Foreign)) {
            let tensor = walk.output(&output.name)?;
            outputs.push(walk.give(&output.name, tensor));
        }
    }
    let rest = foreign.split_off(graph, &mut walk, &mut outputs)?;
    let (_, input) = walk.input.ok_or_else(|| {
        Refusal::NotUnderstood(format!("input {input_name:?} is not quantised by a QuantizeLinear"))
    })?;
    Ok(Matched { graph: walk.graph, input, outputs, rest })
}

fn named(refusal: Refusal, node: &pb::NodeProto) -> Refusal {
    let with = |reason: String| {
        let name = if node.name.is_empty() { node.output.first() } else { Some(&node.name) };
        format!("operator {:?} ({}): {reason}", name.map_or("", String::as_str), node.op_type)
    };
    match refusal {
        Refusal::NotUnderstood(reason) => Refusal::NotUnderstood(with(reason)),
        Refusal::Broken(reason) => Refusal::Broken(with(reason)),
    }
}

/// The graph so far.
pub(super) struct Walk<'a> {
    pub constants: HashMap<&'a str, Constant>,
    pub values: HashMap<String, Value>,
    graph: Graph,
    input: Option<(Tensor, Quant)>,
    picture: Shape,
}

impl Walk<'_> {
    /// Makes a tensor an output of the int8 graph.
    pub fn give(&mut self, name: &str, tensor: Tensor) -> (String, [usize; 3]) {
        let Shape { h, w, c } = self.graph.shape(tensor);
        self.graph.output(tensor);
        (name.to_owned(), [c, h, w])
    }

    fn node(&mut self, node: &pb::NodeProto) -> Result<(), Refusal> {
        let Some(out) = node.output.first() else { return Err(broken("it has no output")) };
        if node.output.iter().skip(1).any(|o| !o.is_empty()) {
            return unknown("it has several outputs");
        }
        let value = match node.op_type.as_str() {
            "Constant" => return Ok(()),
            "QuantizeLinear" => self.quantise(node)?,
            "DequantizeLinear" => self.dequantise(node)?,
            "Conv" => self.conv(node)?,
            "ConvTranspose" => self.conv_transpose(node)?,
            "Relu" => self.activate(node, Activation::Relu)?,
            "Clip" => {
                let activation = self.clip(node)?;
                self.activate(node, activation)?
            }
            "Add" => {
                let (a, b) = (self.real(node, 0)?, self.real(node, 1)?);
                if self.graph.shape(a) != self.graph.shape(b) {
                    return unknown("sums are of one shape here");
                }
                self.pending(node, Waiting::Add(a, b))
            }
            "Concat" => self.concat(node)?,
            "MaxPool" => {
                let input = self.real(node, 0)?;
                let window = self.pool_window(node, input)?;
                Value::Real(self.graph.max_pool(&name(node), input, window)?)
            }
            "AveragePool" => {
                let input = self.real(node, 0)?;
                let window = self.pool_window(node, input)?;
                let count_pads = Attributes(node).int("count_include_pad", 0) != 0;
                self.pending(node, Waiting::AveragePool { input, window, count_pads })
            }
            "GlobalAveragePool" => {
                let input = self.real(node, 0)?;
                let Shape { h, w, .. } = self.graph.shape(input);
                let window = Window { kernel: [h, w], ..Window::square(1, 1, 0) };
                self.pending(node, Waiting::AveragePool { input, window, count_pads: false })
            }
            "Resize" | "Upsample" => self.resize(node)?,
            "Sigmoid" => self.unary(node, Unary::Sigmoid)?,
            "HardSigmoid" => {
                let a = Attributes(node);
                let function =
                    Unary::HardSigmoid { alpha: a.float("alpha", 0.2), beta: a.float("beta", 0.5) };
                self.unary(node, function)?
            }
            "HardSwish" => self.unary(node, Unary::HardSwish)?,
            "Tanh" => self.unary(node, Unary::Tanh)?,
            "LeakyRelu" => {
                let alpha = Attributes(node).float("alpha", 0.01);
                self.unary(node, Unary::LeakyRelu { alpha })?
            }
            _ => return unknown("no int8 operator does this"),
        };
        self.values.insert(out.clone(), value);
        Ok(())
    }

    fn pending(&self, node: &pb::NodeProto, op: Waiting) -> Value {
        Value::Pending(Pending { name: name(node), op, activation: Activation::None })
    }

    pub(super) fn input<'n>(&self, node: &'n pb::NodeProto, index: usize) -> Option<&'n str> {
        node.input.get(index).map(String::as_str).filter(|n| !n.is_empty())
    }

    fn real(&self, node: &pb::NodeProto, index: usize) -> Result<Tensor, Refusal> {
        let Some(name) = self.input(node, index) else {
            return Err(broken(format!("input {index} is missing")));
        };
        match self.values.get(name) {
            Some(Value::Real(tensor)) => Ok(*tensor),
            Some(_) => unknown(format!("its input {name:?} is not quantised")),
            None if self.constants.contains_key(name) => unknown(format!("its input {name:?} is a constant")),
            None => Err(broken(format!("its input {name:?} comes from nowhere"))),
        }
    }

    pub(super) fn constant(&self, node: &pb::NodeProto, index: usize) -> Option<&Constant> {
        self.constants.get(self.input(node, index)?)
    }

    /// Scale and zero point of an activation; i8 codes are u8 codes less 128, so their zero point moves along.
    fn activation_quant(&self, node: &pb::NodeProto) -> Result<Quant, Refusal> {
        let Some(scale) = self.constant(node, 1) else { return unknown("its scale is not a constant") };
        let Some(scale) = scale.scalar() else { return unknown("its scale is not one f32 value") };
        if !scale.is_finite() || scale <= 0.0 {
            return Err(broken(format!(
                "scale {scale} is not a positive finite number; quantise the network again"
            )));
        }
        let zero_point = match (self.input(node, 2), self.constant(node, 2).map(|c| &c.values)) {
            (None, _) => 0,
            (_, Some(Values::U8(v))) if v.len() == 1 => v[0],
            (_, Some(Values::I8(v))) if v.len() == 1 => (i16::from(v[0]) + 128) as u8,
            _ => return unknown("its zero point is not one 8-bit constant"),
        };
        Ok(Quant { scale, zero_point })
    }

    fn quantise(&mut self, node: &pb::NodeProto) -> Result<Value, Refusal> {
        let Some(from) = self.input(node, 0) else { return Err(broken("input 0 is missing")) };
        let quant = self.activation_quant(node)?;
        let value = self.values.get(from).cloned();
        let tensor = match value {
            Some(Value::Picture) => {
                if let Some((tensor, known)) = self.input {
                    if known != quant {
                        return unknown("the picture is quantised in two ways");
                    }
                    tensor
                } else {
                    let tensor = self.graph.input(from, self.picture, quant)?;
                    self.input = Some((tensor, quant));
                    tensor
                }
            }
            Some(Value::Real(tensor)) if self.graph.quant(tensor) == Some(quant) => tensor,
            Some(Value::Real(input)) => {
                let op = Waiting::Unary { input, function: Unary::Identity };
                let pending = Pending { name: name(node), op, activation: Activation::None };
                self.finish(pending, quant)?
            }
            Some(Value::Pending(pending)) => self.finish(pending, quant)?,
            Some(_) => return unknown(format!("its input {from:?} is not a real tensor")),
            None if self.constants.contains_key(from) => {
                return unknown(format!("its input {from:?} is a constant"));
            }
            None => return Err(broken(format!("its input {from:?} comes from nowhere"))),
        };
        Ok(Value::Codes(tensor))
    }

    fn finish(&mut self, pending: Pending, out: Quant) -> Result<Tensor, Refusal> {
        let Pending { name, op, activation } = pending;
        let graph = &mut self.graph;
        Ok(match op {
            Waiting::Conv { input, window, weights } => {
                graph.conv(&name, input, window, weights, out, activation)?
            }
            Waiting::ConvTranspose { input, window, extra, weights } => {
                graph.conv_transpose(&name, input, window, extra, weights, out, activation)?
            }
            Waiting::Add(a, b) => graph.add(&name, a, b, out, activation)?,
            Waiting::Concat(inputs) => {
                let tensor = graph.concat(&name, &inputs, out)?;
                self.limit(tensor, &name, activation)?
            }
            Waiting::AveragePool { input, window, count_pads } => {
                let tensor = graph.average_pool(&name, input, window, count_pads, out)?;
                self.limit(tensor, &name, activation)?
            }
            Waiting::Unary { input, function } => {
                let Some(from) = graph.quant(input) else { return unknown("its input is not quantised") };
                let (lo, hi) = limits(&activation);
                let of = |q: usize| out.quantise(function.of(from.dequantise(q as u8)).clamp(lo, hi));
                graph.table(&name, input, Box::new(std::array::from_fn(of)), out)?
            }
        })
    }

    /// An activation after an operator that has none of its own.
    fn limit(&mut self, tensor: Tensor, name: &str, activation: Activation) -> Result<Tensor, Refusal> {
        let (lo, hi) = limits(&activation);
        let Some(quant) = self.graph.quant(tensor) else { return Ok(tensor) };
        if (lo, hi) == limits(&Activation::None) {
            return Ok(tensor);
        }
        let (lo, hi) = (quant.quantise(lo), quant.quantise(hi));
        let table = Box::new(std::array::from_fn(|q| (q as u8).clamp(lo, hi)));
        Ok(self.graph.table(&format!("{name} limits"), tensor, table, quant)?)
    }

    fn dequantise(&mut self, node: &pb::NodeProto) -> Result<Value, Refusal> {
        let Some(from) = self.input(node, 0) else { return Err(broken("input 0 is missing")) };
        if let Some(constant) = self.constants.get(from) {
            return self.constant_value(node, constant);
        }
        let quant = self.activation_quant(node)?;
        match self.values.get(from) {
            Some(Value::Codes(tensor)) if self.graph.quant(*tensor) == Some(quant) => {
                Ok(Value::Real(*tensor))
            }
            Some(Value::Codes(_)) => {
                unknown("it reads codes with another scale or zero point than they were written")
            }
            Some(_) => unknown(format!("its input {from:?} is not quantised")),
            None => Err(broken(format!("its input {from:?} comes from nowhere"))),
        }
    }

    fn conv(&mut self, node: &pb::NodeProto) -> Result<Value, Refusal> {
        let input = self.real(node, 0)?;
        let (shape, quant) = self.facts(input)?;
        let groups = usize::try_from(Attributes(node).int("group", 1)).unwrap_or(0);
        let (weights, kernel) = self.weights(node, quant, groups, false)?;
        let window = window::of_conv(node, kernel, shape)?;
        Ok(self.pending(node, Waiting::Conv { input, window, weights }))
    }

    fn conv_transpose(&mut self, node: &pb::NodeProto) -> Result<Value, Refusal> {
        let input = self.real(node, 0)?;
        let (_, quant) = self.facts(input)?;
        if Attributes(node).int("group", 1) != 1 {
            return unknown("transposed convolutions have one group here");
        }
        let (weights, kernel) = self.weights(node, quant, 1, true)?;
        let (window, extra) = window::of_conv_transpose(node, kernel)?;
        Ok(self.pending(node, Waiting::ConvTranspose { input, window, extra, weights }))
    }

    fn facts(&self, tensor: Tensor) -> Result<(Shape, Quant), Refusal> {
        match self.graph.quant(tensor) {
            Some(quant) => Ok((self.graph.shape(tensor), quant)),
            None => unknown("its input is not quantised"),
        }
    }

    fn pool_window(&self, node: &pb::NodeProto, input: Tensor) -> Result<Window, Refusal> {
        window::of_pool(node, self.graph.shape(input))
    }

    fn concat(&mut self, node: &pb::NodeProto) -> Result<Value, Refusal> {
        if !matches!(Attributes(node).int("axis", 1), 1 | -3) {
            return unknown("concatenation is along channels only");
        }
        let inputs = (0..node.input.len()).map(|i| self.real(node, i)).collect::<Result<Vec<_>, _>>()?;
        Ok(self.pending(node, Waiting::Concat(inputs)))
    }

    fn clip(&self, node: &pb::NodeProto) -> Result<Activation, Refusal> {
        let attributes = Attributes(node);
        let limit = |index: usize, name: &str, default: f32| match self.input(node, index) {
            None => Ok(attributes.float(name, default)),
            Some(_) => match self.constant(node, index).and_then(Constant::scalar) {
                Some(value) => Ok(value),
                None => unknown(format!("its {name} is not a constant")),
            },
        };
        let (lo, hi) = (limit(1, "min", f32::MIN)?, limit(2, "max", f32::MAX)?);
        if lo.is_nan() || hi.is_nan() {
            return Err(broken(format!("its limits {lo} and {hi} are not numbers")));
        }
        // As ONNX has it: where the least is above the largest, everything is the largest.
        Ok(Activation::Clip { lo: lo.min(hi), hi })
    }

    /// Relu or clip: limits of what is pending, or a function of what is quantised.
    fn activate(&mut self, node: &pb::NodeProto, activation: Activation) -> Result<Value, Refusal> {
        let from = self.input(node, 0).unwrap_or_default();
        match self.values.get(from) {
            Some(Value::Pending(pending)) => {
                // The first one's limits, limited by the second.
                let (first, (lo, hi)) = (limits(&pending.activation), limits(&activation));
                let activation = Activation::Clip { lo: first.0.clamp(lo, hi), hi: first.1.clamp(lo, hi) };
                Ok(Value::Pending(Pending { activation, ..pending.clone() }))
            }
            _ => {
                let input = self.real(node, 0)?;
                let op = Waiting::Unary { input, function: Unary::Identity };
                Ok(Value::Pending(Pending { name: name(node), op, activation }))
            }
        }
    }

    fn unary(&mut self, node: &pb::NodeProto, function: Unary) -> Result<Value, Refusal> {
        let input = self.real(node, 0)?;
        Ok(self.pending(node, Waiting::Unary { input, function }))
    }

    fn resize(&mut self, node: &pb::NodeProto) -> Result<Value, Refusal> {
        let input = self.real(node, 0)?;
        let Shape { h, w, .. } = self.graph.shape(input);
        let scales_at = if node.op_type == "Upsample" { 1 } else { 2 };
        let factor = match (self.constant(node, scales_at), self.constant(node, 3)) {
            (Some(scales), _) if scales.len() == 4 => match scales.f32s() {
                Some(&[1.0, 1.0, v, h]) => window::whole_factor(v).zip(window::whole_factor(h)),
                _ => None,
            },
            (_, Some(Constant { values: Values::I64(sizes), .. })) => match sizes.as_slice() {
                &[_, _, rows, columns] => {
                    let times = |to: i64, from: usize| {
                        usize::try_from(to).ok().filter(|t| t % from == 0 && *t > 0).map(|t| t / from)
                    };
                    times(rows, h).zip(times(columns, w))
                }
                _ => None,
            },
            _ => None,
        };
        let Some((v, across)) = factor else {
            return unknown("only whole factors of rows and columns are done");
        };
        window::check_nearest(node)?;
        Ok(Value::Real(self.graph.upsample_nearest(&name(node), input, [v, across])?))
    }

    /// The tensor of a graph output: quantised values, or a convolution's real ones.
    pub fn output(&mut self, name: &str) -> Result<Tensor, Refusal> {
        match self.values.get(name).cloned() {
            Some(Value::Real(tensor) | Value::Float(tensor)) => Ok(tensor),
            Some(Value::Pending(Pending {
                name: operator,
                op: Waiting::Conv { input, window, weights },
                activation: Activation::None,
            })) => {
                let tensor = self.graph.conv_f32(&operator, input, window, weights)?;
                self.values.insert(name.to_owned(), Value::Float(tensor));
                Ok(tensor)
            }
            Some(_) => unknown(format!("output {name:?} is not quantised")),
            None => Err(broken(format!("output {name:?} comes from nowhere"))),
        }
    }
}

fn name(node: &pb::NodeProto) -> String {
    if node.name.is_empty() { node.output.first().cloned().unwrap_or_default() } else { node.name.clone() }
}
