//! Where the int8 operators end before the network does: what is left of the file, as a graph of its own.

use std::collections::HashSet;

use tract_onnx::pb::{self, tensor_proto::DataType};

use super::qdq::{Rest, Walk};
use super::value::{Refusal, Value};

/// The operators that were not understood, and everything that reads their results.
#[derive(Default)]
pub(super) struct Foreign {
    /// Indices of nodes, in the file's order.
    pub nodes: Vec<usize>,
    /// Why the first of them is there.
    pub reason: Option<String>,
}

impl Foreign {
    /// The rest of `graph`; what it reads of the int8 graph is appended to `outputs`. `None` where nothing is left.
    ///
    /// # Errors
    /// [`Refusal::NotUnderstood`] where the rest reads something that the int8 graph cannot give as f32 values.
    pub fn split_off(
        self,
        graph: &pb::GraphProto,
        walk: &mut Walk<'_>,
        outputs: &mut Vec<(String, [usize; 3])>,
    ) -> Result<Option<Rest>, Refusal> {
        let Some(reason) = self.reason else { return Ok(None) };
        let mut kept: HashSet<usize> = self.nodes.iter().copied().collect();
        let is_done = |(at, node): (usize, &pb::NodeProto)| node.op_type == "Conv" && !kept.contains(&at);
        if !graph.node.iter().enumerate().any(is_done) {
            return Err(Refusal::NotUnderstood(reason)); // nothing worth a second engine
        }
        let mut inputs = Vec::new();
        let mut wanted: Vec<&String> = self.nodes.iter().flat_map(|&at| &graph.node[at].input).collect();
        let mut seen = HashSet::new();
        while let Some(name) = wanted.pop() {
            if name.is_empty() || !seen.insert(name) || walk.constants.contains_key(name.as_str()) {
                continue;
            }
            match walk.values.get(name) {
                Some(Value::Foreign) => {}
                // Constants that are stored quantised: their DequantizeLinear goes along.
                Some(Value::Weights { .. } | Value::Bias { .. }) => {
                    if let Some(at) = graph.node.iter().position(|n| n.output.contains(name)) {
                        kept.insert(at);
                        wanted.extend(&graph.node[at].input);
                    }
                }
                Some(Value::Real(_) | Value::Float(_) | Value::Pending(_)) => {
                    let tensor = walk.output(name).map_err(|_| Refusal::NotUnderstood(reason.clone()))?;
                    // Results are read by their number: what the file has among its own is not given twice.
                    let known = outputs.iter().position(|(known, _)| known == name);
                    let at = known.unwrap_or_else(|| {
                        outputs.push(walk.give(name, tensor));
                        outputs.len() - 1
                    });
                    inputs.push(value_info(name, &outputs[at].1));
                }
                Some(Value::Picture | Value::Codes(_)) | None => return Err(Refusal::NotUnderstood(reason)),
            }
        }
        if inputs.is_empty() {
            return Err(Refusal::NotUnderstood(reason));
        }
        let is_foreign = |o: &&pb::ValueInfoProto| matches!(walk.values.get(&o.name), Some(Value::Foreign));
        let nodes = graph.node.iter().enumerate();
        let rest = pb::GraphProto {
            name: graph.name.clone(),
            node: nodes
                .filter(|(at, n)| kept.contains(at) || n.op_type == "Constant")
                .map(|(_, n)| n.clone())
                .collect(),
            initializer: graph.initializer.iter().filter(|t| seen.contains(&t.name)).cloned().collect(),
            input: inputs,
            output: graph.output.iter().filter(is_foreign).cloned().collect(),
            ..pb::GraphProto::default()
        };
        Ok(Some(Rest { graph: rest, reason }))
    }
}

/// An f32 tensor `[1, channels, rows, columns]`.
fn value_info(name: &str, shape: &[usize; 3]) -> pb::ValueInfoProto {
    use pb::tensor_shape_proto::{Dimension, dimension};
    let size =
        |n: usize| Dimension { value: Some(dimension::Value::DimValue(n as i64)), ..Dimension::default() };
    let tensor = pb::type_proto::Tensor {
        elem_type: DataType::Float as i32,
        shape: Some(pb::TensorShapeProto {
            dim: std::iter::once(1).chain(shape.iter().copied()).map(size).collect(),
        }),
    };
    pb::ValueInfoProto {
        name: name.to_owned(),
        r#type: Some(pb::TypeProto {
            value: Some(pb::type_proto::Value::TensorType(tensor)),
            ..pb::TypeProto::default()
        }),
        ..pb::ValueInfoProto::default()
    }
}
