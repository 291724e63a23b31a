//! Reading an ONNX graph's constants and attributes.

use std::collections::HashMap;

use tract_onnx::pb::{self, tensor_proto::DataType};

/// A constant's values, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Values {
    F32(Vec<f32>),
    I8(Vec<i8>),
    U8(Vec<u8>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    /// Of a type that no operator here reads.
    Other,
}

/// A constant tensor.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Constant {
    pub dims: Vec<usize>,
    pub values: Values,
}

impl Constant {
    /// Decodes a tensor; the error says what is wrong with it.
    pub fn read(proto: &pb::TensorProto) -> Result<Self, String> {
        let name = &proto.name;
        if proto.data_location.is_some_and(|l| l != 0) {
            return Err(format!(
                "tensor {name:?} lies in another file; export the network with its weights inside"
            ));
        }
        let dims = proto
            .dims
            .iter()
            .map(|&d| usize::try_from(d).map_err(|_| format!("tensor {name:?} has a negative size {d}")))
            .collect::<Result<Vec<_>, _>>()?;
        let len = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
        let Some(len) = len else { return Err(format!("tensor {name:?} is too large")) };
        let raw = &proto.raw_data;
        let is_raw = !raw.is_empty();
        fn chunks<const N: usize>(raw: &[u8]) -> impl Iterator<Item = [u8; N]> + '_ {
            raw.as_chunks::<N>().0.iter().copied()
        }
        let values = match DataType::try_from(proto.data_type) {
            Ok(DataType::Float) if is_raw => Values::F32(chunks(raw).map(f32::from_le_bytes).collect()),
            Ok(DataType::Float) => Values::F32(proto.float_data.clone()),
            Ok(DataType::Int8) if is_raw => Values::I8(raw.iter().map(|&b| b as i8).collect()),
            Ok(DataType::Int8) => Values::I8(proto.int32_data.iter().map(|&v| v as i8).collect()),
            Ok(DataType::Uint8) if is_raw => Values::U8(raw.clone()),
            Ok(DataType::Uint8) => Values::U8(proto.int32_data.iter().map(|&v| v as u8).collect()),
            Ok(DataType::Int32) if is_raw => Values::I32(chunks(raw).map(i32::from_le_bytes).collect()),
            Ok(DataType::Int32) => Values::I32(proto.int32_data.clone()),
            Ok(DataType::Int64) if is_raw => Values::I64(chunks(raw).map(i64::from_le_bytes).collect()),
            Ok(DataType::Int64) => Values::I64(proto.int64_data.clone()),
            Ok(DataType::Undefined) | Err(_) => {
                return Err(format!("tensor {name:?} has elements of an unknown type; the file is damaged"));
            }
            Ok(_) => return Ok(Self { dims, values: Values::Other }),
        };
        let constant = Self { dims, values };
        if constant.len() != len {
            let (found, dims) = (constant.len(), &constant.dims);
            return Err(format!(
                "tensor {name:?} holds {found} values for shape {dims:?}; the file is damaged"
            ));
        }
        Ok(constant)
    }

    pub fn len(&self) -> usize {
        match &self.values {
            Values::F32(v) => v.len(),
            Values::I8(v) => v.len(),
            Values::U8(v) => v.len(),
            Values::I32(v) => v.len(),
            Values::I64(v) => v.len(),
            Values::Other => self.dims.iter().product(),
        }
    }

    pub fn f32s(&self) -> Option<&[f32]> {
        match &self.values {
            Values::F32(v) => Some(v),
            _ => None,
        }
    }

    /// The one value of a scalar (or of a tensor of one element).
    pub fn scalar(&self) -> Option<f32> {
        match self.f32s() {
            Some([value]) => Some(*value),
            _ => None,
        }
    }
}

/// The constants of a graph by name: initialisers and `Constant` nodes.
pub(super) fn constants(graph: &pb::GraphProto) -> Result<HashMap<&str, Constant>, String> {
    let mut constants = HashMap::with_capacity(graph.initializer.len());
    for tensor in &graph.initializer {
        constants.insert(tensor.name.as_str(), Constant::read(tensor)?);
    }
    for node in graph.node.iter().filter(|n| n.op_type == "Constant") {
        if let Some(name) = node.output.first() {
            constants.insert(name.as_str(), of_node(node)?);
        }
    }
    Ok(constants)
}

/// What a `Constant` node gives, whichever of its attributes says it.
fn of_node(node: &pb::NodeProto) -> Result<Constant, String> {
    let one = |values| Constant { dims: vec![], values };
    let list = |len, values| Constant { dims: vec![len], values };
    let value = node.attribute.iter().find_map(|a| match (a.name.as_str(), &a.t) {
        ("value", Some(tensor)) => Some(Constant::read(tensor)),
        ("value_float", _) => Some(Ok(one(Values::F32(vec![a.f])))),
        ("value_floats", _) => Some(Ok(list(a.floats.len(), Values::F32(a.floats.clone())))),
        ("value_int", _) => Some(Ok(one(Values::I64(vec![a.i])))),
        ("value_ints", _) => Some(Ok(list(a.ints.len(), Values::I64(a.ints.clone())))),
        _ => None,
    });
    // Texts and sparse tensors.
    value.unwrap_or_else(|| Ok(one(Values::Other)))
}

/// A node's attributes, typed.
pub(super) struct Attributes<'a>(pub &'a pb::NodeProto);

impl Attributes<'_> {
    fn find(&self, name: &str) -> Option<&pb::AttributeProto> {
        self.0.attribute.iter().find(|a| a.name == name)
    }

    pub fn int(&self, name: &str, default: i64) -> i64 {
        self.find(name).map_or(default, |a| a.i)
    }

    pub fn float(&self, name: &str, default: f32) -> f32 {
        self.find(name).map_or(default, |a| a.f)
    }

    pub fn text(&self, name: &str, default: &str) -> String {
        self.find(name).map_or_else(|| default.to_owned(), |a| String::from_utf8_lossy(&a.s).into_owned())
    }

    /// A list of non-negative integers; `None` if it is absent.
    pub fn sizes(&self, name: &str) -> Result<Option<Vec<usize>>, String> {
        let Some(attribute) = self.find(name) else { return Ok(None) };
        let sizes = attribute.ints.iter().map(|&v| usize::try_from(v)).collect::<Result<_, _>>();
        sizes.map(Some).map_err(|_| format!("attribute {name} = {:?} has a negative value", attribute.ints))
    }
}
