//! The constants of a QDQ graph: weights and biases, as the int8 operators take them.

use int8::{Quant, Weights};
use tract_onnx::pb;

use super::onnx::{Attributes, Constant, Values};
use super::qdq::Walk;
use super::value::{Refusal, Value, broken, unknown};

impl Walk<'_> {
    /// What a constant stands for once `node`, its `DequantizeLinear`, has given it a scale.
    pub(super) fn constant_value(&self, node: &pb::NodeProto, constant: &Constant) -> Result<Value, Refusal> {
        let Some(scales) = self.constant(node, 1).and_then(Constant::f32s) else {
            return unknown("its scale is not an f32 constant");
        };
        if let Some(bad) = scales.iter().find(|s| !s.is_finite() || **s <= 0.0) {
            return Err(broken(format!(
                "scale {bad} is not a positive finite number; quantise the network again"
            )));
        }
        let zero_is = |values: &Values, zero: i32| match values {
            Values::I8(v) => v.iter().all(|&z| i32::from(z) == zero),
            Values::U8(v) => v.iter().all(|&z| i32::from(z) == zero),
            Values::I32(v) => v.iter().all(|&z| z == zero),
            _ => false,
        };
        let zero = self.constant(node, 2).map(|c| &c.values);
        let scales = scales.to_vec();
        match &constant.values {
            Values::I32(values) => {
                if zero.is_some_and(|z| !zero_is(z, 0)) {
                    return unknown("its bias has a zero point");
                }
                Ok(Value::Bias { values: values.clone(), scales })
            }
            Values::I8(_) | Values::U8(_) => {
                let values = match &constant.values {
                    Values::I8(v) if zero.is_none_or(|z| zero_is(z, 0)) => v.clone(),
                    // u8 weights round 128 are i8 weights.
                    Values::U8(v) if zero.is_some_and(|z| zero_is(z, 128)) => {
                        v.iter().map(|&q| (i16::from(q) - 128) as i8).collect()
                    }
                    _ => return unknown("its weights are not symmetric"),
                };
                let rank = constant.dims.len() as i64;
                // One scale is for all of them; then the axis says nothing, and its default may be none of a scalar's.
                let axis = if scales.len() > 1 { Attributes(node).int("axis", 1) } else { 0 };
                let axis = if axis < 0 { axis + rank } else { axis };
                let Some(axis) = usize::try_from(axis).ok().filter(|&a| a < constant.dims.len().max(1))
                else {
                    return Err(broken(format!("axis {axis} of a tensor with {rank} axes")));
                };
                Ok(Value::Weights { values, dims: constant.dims.clone(), scales, axis })
            }
            _ => unknown("its constant is not of 8 or 32 bits"),
        }
    }

    /// Weights `[out][in / groups][rows][columns]` (`transposed`: `[in][out][rows][columns]`) as the operators take them.
    pub(super) fn weights(
        &self,
        node: &pb::NodeProto,
        input: Quant,
        groups: usize,
        transposed: bool,
    ) -> Result<(Weights, [usize; 2]), Refusal> {
        let Some(Value::Weights { values, dims, scales, axis }) =
            self.input(node, 1).and_then(|n| self.values.get(n))
        else {
            return unknown("its weights are not an 8-bit constant");
        };
        let &[a, b, kh, kw] = dims.as_slice() else {
            return unknown(format!(
                "its weights have shape {dims:?}: only two-dimensional convolutions are done"
            ));
        };
        // Without values any number of channels could be stated.
        if dims.contains(&0) {
            return Err(broken(format!("its weights have shape {dims:?}, without a value")));
        }
        let (out_channels, in_group) = if transposed { (b, a) } else { (a, b) };
        let out_axis = usize::from(transposed);
        let scales = match scales.len() {
            1 => vec![scales[0]; out_channels],
            n if n == out_channels && *axis == out_axis => scales.clone(),
            n => {
                return unknown(format!(
                    "{n} weight scales on axis {axis} for {out_channels} output channels"
                ));
            }
        };
        let mut reordered = Vec::with_capacity(values.len());
        for o in 0..out_channels {
            for tap in 0..kh * kw {
                for c in 0..in_group {
                    let (first, second) = if transposed { (c, o) } else { (o, c) };
                    reordered.push(values[(first * b + second) * kh * kw + tap]);
                }
            }
        }
        let bias = self.bias(node, input, &scales)?;
        Ok((Weights { out_channels, groups, values: reordered, scales, bias }, [kh, kw]))
    }

    fn bias(&self, node: &pb::NodeProto, input: Quant, scales: &[f32]) -> Result<Vec<i32>, Refusal> {
        let Some(name) = self.input(node, 2) else { return Ok(vec![0; scales.len()]) };
        let real: Vec<f64> = match (self.values.get(name), self.constants.get(name).and_then(Constant::f32s))
        {
            (Some(Value::Bias { values, scales: steps }), _)
                if steps.len() == 1 || steps.len() == values.len() =>
            {
                let exact = steps.iter().cycle().zip(scales).all(|(&step, &s)| step == input.scale * s);
                if exact && values.len() == scales.len() {
                    return Ok(values.clone());
                }
                values.iter().zip(steps.iter().cycle()).map(|(&v, &s)| f64::from(v) * f64::from(s)).collect()
            }
            (_, Some(values)) => values.iter().map(|&v| f64::from(v)).collect(),
            _ => return unknown(format!("its bias {name:?} is not a constant")),
        };
        if real.len() != scales.len() {
            return Err(broken(format!("{} biases for {} output channels", real.len(), scales.len())));
        }
        let steps = real.iter().zip(scales).map(|(v, &s)| (v / f64::from(input.scale * s)).round_ties_even());
        steps
            .map(|v| {
                if !v.is_finite() {
                    return Err(broken(format!("bias {v} is not a finite number")));
                }
                // Beyond 32 bits the int8 graph would wrap; another engine has room for it.
                if v.abs() < 2_147_483_647.0 {
                    Ok(v as i32)
                } else {
                    unknown(format!("bias {v} does not fit 32 bits"))
                }
            })
            .collect()
    }
}
