//! The same network in real numbers: what the quantised one is timed against.

use std::collections::HashMap;

use tract_onnx::pb::{self, tensor_proto::DataType};

use super::onnx::{self, Constant, Values};

/// Replaces each activation's `QuantizeLinear → DequantizeLinear` by a clip to the range that its codes can hold, because
/// the quantiser leaves out a Relu whose work those limits do. Weights keep their rounding: they are constants.
pub(in crate::infer) fn without_quantised_activations(model: &mut pb::ModelProto) -> Result<(), String> {
    let Some(graph) = model.graph.as_mut() else { return Ok(()) };
    let constants = onnx::constants(graph)?;
    let producers: HashMap<&str, &pb::NodeProto> = graph
        .node
        .iter()
        .filter(|n| n.op_type == "QuantizeLinear")
        .filter_map(|n| Some((n.output.first()?.as_str(), n)))
        .collect();
    let mut clips = Vec::new();
    let mut limits = Vec::new();
    for (at, node) in graph.node.iter().enumerate().filter(|(_, n)| n.op_type == "DequantizeLinear") {
        let Some(quantise) = node.input.first().and_then(|i| producers.get(i.as_str())) else { continue };
        let Some((lo, hi)) = range(node, &constants) else { continue };
        let (Some(from), Some(out)) = (quantise.input.first(), node.output.first()) else { continue };
        let names = [format!("{out} lowest"), format!("{out} highest")];
        for (name, value) in names.iter().zip([lo, hi]) {
            limits.push(pb::TensorProto {
                name: name.clone(),
                data_type: DataType::Float as i32,
                float_data: vec![value],
                ..Default::default()
            });
        }
        let [lowest, highest] = names;
        let clip = pb::NodeProto {
            name: node.name.clone(),
            op_type: "Clip".into(),
            input: vec![from.clone(), lowest, highest],
            output: node.output.clone(),
            ..Default::default()
        };
        clips.push((at, clip));
    }
    for (at, clip) in clips {
        graph.node[at] = clip;
    }
    graph.initializer.extend(limits);
    let read: std::collections::HashSet<String> = graph
        .node
        .iter()
        .flat_map(|n| n.input.iter().cloned())
        .chain(graph.output.iter().map(|o| o.name.clone()))
        .collect();
    graph.node.retain(|n| n.op_type != "QuantizeLinear" || n.output.iter().any(|o| read.contains(o)));
    Ok(())
}

/// Smallest and largest real value of a dequantised tensor.
fn range(node: &pb::NodeProto, constants: &HashMap<&str, Constant>) -> Option<(f32, f32)> {
    let scale = constants.get(node.input.get(1)?.as_str())?.scalar()?;
    let (codes, zero) = match node.input.get(2).and_then(|z| constants.get(z.as_str())).map(|c| &c.values) {
        None => (0.0..=255.0, 0.0),
        Some(Values::U8(zero)) => (0.0..=255.0, f32::from(*zero.first()?)),
        Some(Values::I8(zero)) => (-128.0..=127.0, f32::from(*zero.first()?)),
        Some(_) => return None,
    };
    Some(((codes.start() - zero) * scale, (codes.end() - zero) * scale))
}
