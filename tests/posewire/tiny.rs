//! Tiny ONNX networks and their manifests, built where they are used.

use std::sync::Arc;

use posewire::infer::{self, InferError, Manifest, Plan};
use prost::Message;
use sha2::{Digest, Sha256};
use tract_onnx::pb::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TensorShapeProto,
    TypeProto, ValueInfoProto, attribute_proto::AttributeType, tensor_proto::DataType, tensor_shape_proto,
    type_proto,
};

/// A graph under construction: one input, named tensors.
#[derive(Default)]
pub struct Net {
    graph: GraphProto,
}

impl Net {
    /// A float input.
    pub fn new(input: &str, shape: &[i64]) -> Self {
        Self::typed(input, shape, DataType::Float)
    }

    pub fn typed(input: &str, shape: &[i64], elements: DataType) -> Self {
        let mut net = Self::default();
        net.graph.input.push(value_info(input, shape, elements));
        net
    }

    /// A constant.
    pub fn tensor(mut self, name: &str, dims: &[i64], values: &[f32]) -> Self {
        assert_eq!(dims.iter().product::<i64>() as usize, values.len());
        self.graph.initializer.push(TensorProto {
            name: name.into(),
            dims: dims.to_vec(),
            data_type: DataType::Float as i32,
            float_data: values.to_vec(),
            ..Default::default()
        });
        self
    }

    /// A constant of one u8.
    pub fn byte(mut self, name: &str, value: u8) -> Self {
        self.graph.initializer.push(TensorProto {
            name: name.into(),
            data_type: DataType::Uint8 as i32,
            raw_data: vec![value],
            ..Default::default()
        });
        self
    }

    /// An operator named like its output; integer attributes, one value as a number, several as a list.
    pub fn node(mut self, op: &str, inputs: &[&str], output: &str, attributes: &[(&str, &[i64])]) -> Self {
        self.graph.node.push(NodeProto {
            name: output.into(),
            op_type: op.into(),
            input: inputs.iter().map(|s| s.to_string()).collect(),
            output: vec![output.into()],
            attribute: attributes
                .iter()
                .map(|&(name, values)| match *values {
                    [i] => AttributeProto {
                        name: name.into(),
                        i,
                        r#type: AttributeType::Int as i32,
                        ..Default::default()
                    },
                    _ => AttributeProto {
                        name: name.into(),
                        ints: values.to_vec(),
                        r#type: AttributeType::Ints as i32,
                        ..Default::default()
                    },
                })
                .collect(),
            ..Default::default()
        });
        self
    }

    /// An output that is this constant whatever the picture shows.
    pub fn constant_output(self, input: &str, name: &str, dims: &[i64], values: &[f32]) -> Self {
        let (value, mean, none, zero) =
            (format!("{name}.value"), format!("{name}.mean"), format!("{name}.none"), format!("{name}.zero"));
        self.tensor(&value, dims, values)
            .tensor(&zero, &[1], &[0.0])
            .node("ReduceMean", &[input], &mean, &[("keepdims", &[0])])
            .node("Mul", &[&mean, &zero], &none, &[])
            .node("Add", &[&value, &none], name, &[])
            .output(name)
    }

    pub fn output(mut self, name: &str) -> Self {
        self.graph.output.push(value_info(name, &[], DataType::Float));
        self
    }

    /// The file's bytes.
    pub fn bytes(self) -> Vec<u8> {
        let opset = OperatorSetIdProto { version: 17, ..Default::default() };
        ModelProto { ir_version: 8, opset_import: vec![opset], graph: Some(self.graph), ..Default::default() }
            .encode_to_vec()
    }
}

fn value_info(name: &str, shape: &[i64], elements: DataType) -> ValueInfoProto {
    let dim = shape
        .iter()
        .map(|&n| tensor_shape_proto::Dimension {
            value: Some(tensor_shape_proto::dimension::Value::DimValue(n)),
            ..Default::default()
        })
        .collect();
    let shape = (!shape.is_empty()).then_some(TensorShapeProto { dim });
    let tensor = type_proto::Tensor { elem_type: elements as i32, shape };
    ValueInfoProto {
        name: name.into(),
        r#type: Some(TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..Default::default() }),
        ..Default::default()
    }
}

/// As manifests state it.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// The manifest of `onnx`: `input` and what follows it (`[codec]`, …) are TOML.
pub fn manifest(task: &str, onnx: &[u8], input: &str, rest: &str) -> Result<Manifest, InferError> {
    let sha256 = sha256(onnx);
    let text = format!(
        "name = \"tiny\"\ntask = \"{task}\"\nfile = \"tiny.onnx\"\nsha256 = \"{sha256}\"\n[input]\nname = \"image\"\n{input}\n{rest}"
    );
    Manifest::parse(&text, "tiny.toml")
}

/// A network with its manifest, loaded.
pub fn load(
    task: &str,
    onnx: &[u8],
    input: &str,
    rest: &str,
) -> Result<(Manifest, Arc<dyn Plan>), InferError> {
    let manifest = manifest(task, onnx, input, rest)?;
    let plan = infer::load(&manifest, onnx)?;
    Ok((manifest, plan))
}

/// A keypoint network whose 17 maps (stride 4) glow where the picture is red, on a `side` x `side` input.
pub fn red_heatmaps(side: i64) -> Vec<u8> {
    // The sum of a 4 x 4 block's red, as logits: 16 for pure red.
    let mut weights = vec![0.0; 17 * 3 * 16];
    for joint in 0..17 {
        weights[joint * 48..joint * 48 + 16].fill(1.0);
    }
    Net::new("image", &[1, 3, side, side])
        .tensor("weights", &[17, 3, 4, 4], &weights)
        .node("Conv", &["image", "weights"], "heatmaps", &[("strides", &[4, 4]), ("kernel_shape", &[4, 4])])
        .output("heatmaps")
        .bytes()
}

/// The codec of [`red_heatmaps`].
pub const RED_CODEC: &str =
    "[codec]\nkind = \"heatmap\"\noutput = \"heatmaps\"\nstride = 4\nactivation = \"softmax\"\nwindow = 5";

/// A folder of the shared data, where it is at hand; says so loudly where it is not.
pub fn shared(path: &str) -> Option<std::path::PathBuf> {
    let root = std::env::var_os("POSEWIRE_SHARED").unwrap_or_else(|| "../shared".into());
    let path = std::path::Path::new(&root).join(path);
    if path.exists() {
        return Some(path);
    }
    eprintln!("SKIPPED: {} is not there (POSEWIRE_SHARED names the folder)", path.display());
    None
}
