//! Any ONNX network through tract, in f32: what runs where there is no faster engine.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tract_onnx::pb::{self, tensor_proto::DataType};
use tract_onnx::prelude::*;

use super::{Color, InferError, InputSpec, Layout, Manifest, OutputInfo, Plan, State};
use crate::picture::PixelsMut;
use crate::reason::Reason;
use crate::telemetry::alloc;

pub(super) type Runnable = Arc<TypedSimplePlan>;
type Running = TypedSimpleState;

/// A network optimised by tract.
pub(super) struct TractPlan {
    model: String,
    runnable: Runnable,
    input: InputSpec,
    outputs: Arc<[OutputInfo]>,
    input_type: DatumType,
    /// `[channel][pixel value]`: the input's normalisation, looked up.
    levels: Arc<[[f32; 256]; 3]>,
    reason: Option<String>,
    notes: Vec<String>,
}

/// Parses an ONNX file.
///
/// # Errors
/// [`InferError::Model`] naming `file`.
pub(super) fn read(file: &str, onnx: &[u8]) -> Result<pb::ModelProto, InferError> {
    tract_onnx::onnx()
        .proto_model_for_read(&mut &*onnx)
        .map_err(|e| InferError::model(file, Reason::new("not an ONNX file, or a truncated one", e)))
}

/// Calls tract for the model in `file`. It panics on some damaged graphs (an output that nothing makes) where it might say so.
fn guarded<T>(file: &str, call: impl FnOnce() -> Result<T, Reason>) -> Result<T, InferError> {
    let refuse = |reason: Reason| InferError::model(file, reason);
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(made) => made.map_err(refuse),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
            let reason =
                format!("tract gave up on it ({text}): the graph is damaged; export the network again");
            Err(refuse(reason.into()))
        }
    }
}

impl TractPlan {
    /// Holds the graph against the manifest and optimises it; `reason` says why the int8 operators do not run it.
    ///
    /// # Errors
    /// [`InferError::Model`] naming the file and the tensor or operator at fault.
    pub(super) fn new(
        manifest: &Manifest,
        mut proto: pb::ModelProto,
        reason: Option<String>,
    ) -> Result<Self, InferError> {
        let refuse = |reason: String| InferError::model(&manifest.file, reason);
        let framework = tract_onnx::onnx();
        let graph = proto.graph.as_mut().ok_or_else(|| refuse("the ONNX file holds no graph".into()))?;
        let notes = patch_batch_norm(graph).map_err(refuse)?;
        let input_type = check_input(graph, &manifest.input).map_err(refuse)?;
        let names: Vec<String> = graph.output.iter().map(|o| o.name.clone()).collect();

        let fact = InferenceFact::dt_shape(input_type, shape(&manifest.input));
        let (runnable, outputs) = guarded(&manifest.file, || {
            framework
                .model_for_proto_model(&proto)
                .and_then(|m| m.with_input_fact(0, fact))
                .map_err(|e| Reason::new("tract cannot read it", e))
                .and_then(|model| optimised(model, names))
        })?;
        Ok(Self {
            model: manifest.name.clone(),
            runnable,
            levels: Arc::new(levels(&manifest.input)),
            input: manifest.input.clone(),
            outputs: outputs.into(),
            input_type,
            reason,
            notes,
        })
    }
}

/// Optimises a graph whose inputs are known; with its outputs, each of which has a batch axis of 1.
fn optimised(model: InferenceModel, names: Vec<String>) -> Result<(Runnable, Vec<OutputInfo>), Reason> {
    let at = |what: &'static str| move |e: TractError| Reason::new(format!("tract cannot {what} it"), e);
    let model = model.into_optimized().map_err(at("optimise"))?;
    let outputs = names
        .into_iter()
        .zip(model.output_outlets().map_err(at("read"))?)
        .map(|(name, outlet)| {
            let shape = model.outlet_fact(*outlet).map_err(at("read"))?.shape.clone();
            match shape.as_concrete() {
                Some([1, rest @ ..]) => Ok(OutputInfo { name, shape: rest.to_vec() }),
                Some(_) => {
                    Err(format!("output {name:?} has shape {shape:?}: its first axis must be a batch of 1")
                        .into())
                }
                None => {
                    Err(format!("output {name:?} has shape {shape:?}: export the network with fixed shapes")
                        .into())
                }
            }
        })
        .collect::<Result<Vec<_>, Reason>>()?;
    Ok((model.into_runnable().map_err(at("plan"))?, outputs))
}

/// The last part of a network: f32 tensors with a batch axis of 1 in, tensors with such an axis out.
pub(super) struct Tail {
    pub runnable: Runnable,
    /// In the order in which they are given, without the batch axis.
    pub inputs: Vec<OutputInfo>,
    pub outputs: Vec<OutputInfo>,
}

impl Tail {
    /// Optimises a graph all of whose inputs have stated shapes.
    ///
    /// # Errors
    /// [`InferError::Model`] naming `file` and the operator at fault.
    pub(super) fn new(file: &str, proto: pb::ModelProto) -> Result<Self, InferError> {
        guarded(file, || Self::read(&proto))
    }

    fn read(proto: &pb::ModelProto) -> Result<Self, Reason> {
        let names = |values: &[pb::ValueInfoProto]| values.iter().map(|v| v.name.clone()).collect::<Vec<_>>();
        let graph = proto.graph.as_ref().ok_or("the ONNX file holds no graph")?;
        let (given, wanted) = (names(&graph.input), names(&graph.output));
        let cannot = |e: TractError| Reason::new("tract cannot read it", e);
        let model = tract_onnx::onnx().model_for_proto_model(proto).map_err(cannot)?;
        let mut inputs = Vec::with_capacity(given.len());
        for (name, outlet) in given.into_iter().zip(model.input_outlets().map_err(cannot)?) {
            let fact = model.outlet_fact(*outlet).map_err(cannot)?;
            let shape = fact.shape.as_concrete_finite().map_err(cannot)?;
            let Some([1, shape @ ..]) = shape.as_deref() else {
                return Err(format!("tensor {name:?} has no fixed shape").into());
            };
            inputs.push(OutputInfo { name, shape: shape.to_vec() });
        }
        let (runnable, outputs) = optimised(model, wanted)?;
        Ok(Self { runnable, inputs, outputs })
    }

    /// Tensors for the inputs, to be filled before each run.
    pub(super) fn empty_inputs(&self) -> TractResult<Vec<Arc<Tensor>>> {
        let empty = |info: &OutputInfo| {
            let shape: Vec<usize> = std::iter::once(1).chain(info.shape.iter().copied()).collect();
            Ok(Arc::new(Tensor::zero::<f32>(&shape)?))
        };
        self.inputs.iter().map(empty).collect()
    }
}

impl Plan for TractPlan {
    fn engine(&self) -> &str {
        "tract f32"
    }

    fn outputs(&self) -> &[OutputInfo] {
        &self.outputs
    }

    fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn state(&self, batch: usize) -> Result<Box<dyn State>, InferError> {
        let failed = |e: TractError| InferError::run(&self.model, Reason::of(e));
        let InputSpec { width, height, .. } = self.input;
        let tensor = Tensor::zero_dt(self.input_type, &shape(&self.input)).map_err(failed)?;
        Ok(Box::new(TractState {
            model: self.model.clone(),
            running: self.runnable.spawn().map_err(failed)?,
            input: self.input.clone(),
            levels: self.levels.clone(),
            outputs: self.outputs.clone(),
            pixels: vec![vec![0; width * height * 3]; batch.max(1)],
            tensor: Arc::new(tensor),
            results: vec![TVec::new(); batch.max(1)],
        }))
    }
}

struct TractState {
    model: String,
    running: Running,
    input: InputSpec,
    levels: Arc<[[f32; 256]; 3]>,
    outputs: Arc<[OutputInfo]>,
    /// One picture a batch element, interleaved RGB.
    pixels: Vec<Vec<u8>>,
    /// The one input tensor: elements of a batch run one after the other, because tract is slower on real batches.
    tensor: Arc<Tensor>,
    results: Vec<TVec<TValue>>,
}

impl TractState {
    fn run_one(&mut self, i: usize) -> TractResult<()> {
        self.results[i].clear();
        // Exclusive unless an earlier run failed half-way; then this makes a fresh copy.
        fill(Arc::make_mut(&mut self.tensor), &self.pixels[i], &self.input, &self.levels)?;
        let results = self.running.run(tvec!(TValue::from_const(self.tensor.clone())))?;
        self.results[i] = as_f32(results)?;
        Ok(())
    }
}

/// What a codec reads, of whatever type the graph's outputs are.
pub(super) fn as_f32(mut results: TVec<TValue>) -> TractResult<TVec<TValue>> {
    for value in &mut results {
        if value.datum_type() != DatumType::F32 {
            *value = value.cast_to::<f32>()?.into_owned().into();
        }
    }
    Ok(results)
}

impl State for TractState {
    fn input_mut(&mut self, i: usize) -> PixelsMut<'_> {
        let InputSpec { width, height, .. } = self.input;
        PixelsMut { bytes: &mut self.pixels[i], width, height, row_bytes: width * 3, pixel_bytes: 3 }
    }

    fn run(&mut self, n: usize) -> Result<(), InferError> {
        super::check_batch(&self.model, n, self.pixels.len())?;
        let _engine = alloc::engine_scope();
        (0..n).try_for_each(|i| self.run_one(i)).map_err(|e| InferError::run(&self.model, Reason::of(e)))
    }

    fn output(&self, i: usize, name: &str) -> Result<(&[f32], &[usize]), InferError> {
        let Some(at) = self.outputs.iter().position(|o| o.name == name) else {
            return Err(InferError::run(
                &self.model,
                no_such("output", name, self.outputs.iter().map(|o| &*o.name)),
            ));
        };
        let value =
            self.results.get(i).and_then(|values| values.get(at)).ok_or_else(|| {
                InferError::run(&self.model, format!("output {name:?} was read before a run"))
            })?;
        let values = value
            .try_as_plain_ram()
            .and_then(|v| v.as_slice::<f32>())
            .map_err(|e| InferError::run(&self.model, Reason::new(format!("output {name:?}"), e)))?;
        Ok((values, &self.outputs[at].shape))
    }
}

fn shape(input: &InputSpec) -> [usize; 4] {
    match input.layout {
        Layout::Nchw => [1, 3, input.height, input.width],
        Layout::Nhwc => [1, input.height, input.width, 3],
    }
}

fn levels(input: &InputSpec) -> [[f32; 256]; 3] {
    let [low, high] = input.range;
    std::array::from_fn(|channel| {
        std::array::from_fn(|pixel| {
            let value = low + (high - low) * pixel as f32 / 255.0;
            (value - input.mean[channel]) / input.std[channel]
        })
    })
}

/// Interleaved RGB bytes into the input tensor; integer inputs take the pixels as they are.
fn fill(tensor: &mut Tensor, rgb: &[u8], input: &InputSpec, levels: &[[f32; 256]; 3]) -> TractResult<()> {
    match tensor.datum_type() {
        DatumType::U8 => {
            scatter(tensor.try_as_plain_ram_mut()?.as_slice_mut::<u8>()?, rgb, input, |_, pixel| pixel)
        }
        DatumType::I32 => {
            scatter(tensor.try_as_plain_ram_mut()?.as_slice_mut::<i32>()?, rgb, input, |_, pixel| {
                i32::from(pixel)
            })
        }
        _ => scatter(tensor.try_as_plain_ram_mut()?.as_slice_mut::<f32>()?, rgb, input, |channel, pixel| {
            levels[channel][pixel as usize]
        }),
    }
    Ok(())
}

fn scatter<T>(out: &mut [T], rgb: &[u8], input: &InputSpec, value: impl Fn(usize, u8) -> T) {
    let source = |channel: usize| if input.color == Color::Bgr { 2 - channel } else { channel };
    match input.layout {
        Layout::Nchw => {
            for (channel, plane) in out.chunks_exact_mut(input.width * input.height).enumerate() {
                let from = source(channel);
                for (out, pixel) in plane.iter_mut().zip(rgb.chunks_exact(3)) {
                    *out = value(channel, pixel[from]);
                }
            }
        }
        Layout::Nhwc => {
            for (out, pixel) in out.chunks_exact_mut(3).zip(rgb.chunks_exact(3)) {
                for (channel, out) in out.iter_mut().enumerate() {
                    *out = value(channel, pixel[source(channel)]);
                }
            }
        }
    }
}

/// Old exporters write `spatial = 0` beside statistics of one value a channel, which only make sense with the
/// default; tract refuses the attribute, so it is taken away where the statistics prove it wrong.
fn patch_batch_norm(graph: &mut pb::GraphProto) -> Result<Vec<String>, String> {
    let mut patched = 0;
    for node in graph.node.iter_mut().filter(|n| n.op_type == "BatchNormalization") {
        let Some(at) = node.attribute.iter().position(|a| a.name == "spatial" && a.i == 0) else { continue };
        for name in node.input.iter().skip(1) {
            let per_channel =
                graph.initializer.iter().find(|t| t.name == *name).is_some_and(|t| t.dims.len() == 1);
            if !per_channel {
                return Err(format!(
                    "operator {:?}: BatchNormalization with spatial = 0 and tensor {name:?} not of one axis is not \
                     supported; export the network again with operator set 9 or newer",
                    node.name
                ));
            }
        }
        node.attribute.remove(at);
        patched += 1;
    }
    Ok(match patched {
        0 => vec![],
        n => vec![format!("BatchNormalization: wrong attribute spatial = 0 ignored in {n} operators")],
    })
}

/// The input's element type, if the graph's input is what the manifest says.
pub(super) fn check_input(graph: &pb::GraphProto, input: &InputSpec) -> Result<DatumType, String> {
    let inputs: Vec<_> =
        graph.input.iter().filter(|i| !graph.initializer.iter().any(|t| t.name == i.name)).collect();
    let Some(found) = inputs.iter().find(|i| i.name == input.name) else {
        return Err(no_such("input", &input.name, inputs.iter().map(|i| &*i.name)));
    };
    if inputs.len() != 1 {
        let names: Vec<_> = inputs.iter().map(|i| &*i.name).collect();
        return Err(format!(
            "the network has {} inputs ({}): one picture is all it gets",
            names.len(),
            names.join(", ")
        ));
    }
    let Some(pb::type_proto::Value::TensorType(tensor)) =
        found.r#type.as_ref().and_then(|t| t.value.as_ref())
    else {
        return Err(format!("input {:?} is not a tensor", input.name));
    };
    let expected = shape(input);
    let dims = tensor.shape.as_ref().map_or(&[][..], |s| &s.dim);
    // A dimension with a name instead of a size (a free batch) fits whatever the manifest says.
    let sizes: Vec<Option<i64>> = dims
        .iter()
        .map(|d| match d.value {
            Some(pb::tensor_shape_proto::dimension::Value::DimValue(n)) if n > 0 => Some(n),
            _ => None,
        })
        .collect();
    let fits = sizes.is_empty()
        || sizes.len() == 4 && sizes.iter().zip(expected).all(|(d, e)| d.is_none_or(|d| d == e as i64));
    if !fits {
        let sizes: Vec<String> = sizes.iter().map(|d| d.map_or("?".into(), |d| d.to_string())).collect();
        return Err(format!(
            "input {:?} has shape [{}], the manifest's width, height and layout make {expected:?}",
            input.name,
            sizes.join(", ")
        ));
    }
    match DataType::try_from(tensor.elem_type) {
        Ok(DataType::Float) => Ok(DatumType::F32),
        Ok(DataType::Uint8) => Ok(DatumType::U8),
        Ok(DataType::Int32) => Ok(DatumType::I32),
        other => Err(format!(
            "input {:?} has elements of type {other:?}: float, uint8 or int32 are taken",
            input.name
        )),
    }
}

fn no_such<'a>(what: &str, name: &str, there: impl Iterator<Item = &'a str>) -> String {
    format!("no {what} {name:?}; the network has: {}", there.collect::<Vec<_>>().join(", "))
}
