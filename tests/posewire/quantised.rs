//! Quantised networks: the same results as ONNX Runtime, the same bits on every kernel, and what is refused.
//!
//! The networks and their expected outputs are written by `tests/golden/make_qdq.py`.

use std::path::PathBuf;
use std::sync::Arc;

use int8::Kernel;
use posewire::infer::{self, Engine, InferError, Manifest, Plan};
use prost::Message;
use tract_onnx::pb::{
    AttributeProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, attribute_proto::AttributeType,
    tensor_proto::DataType,
};

use crate::tiny;

mod engines;
mod refused;

const HEIGHT: usize = 18;
const WIDTH: usize = 22;
const OUTPUTS: [(&str, [usize; 3]); 2] = [("heat", [5, 20, 24]), ("side", [4, 9, 4])];

struct Golden {
    onnx: Vec<u8>,
    picture: Vec<u8>,
    /// By output, and the size of one quantisation step.
    outputs: Vec<(Vec<f32>, f32)>,
}

fn golden(name: &str) -> Golden {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let onnx = std::fs::read(folder.join(format!("{name}.onnx"))).unwrap();
    let data = std::fs::read(folder.join(format!("{name}.bin"))).unwrap();
    let (picture, mut rest) = data.split_at(HEIGHT * WIDTH * 3);
    let model = ModelProto::decode(&*onnx).unwrap();
    let outputs = OUTPUTS.map(|(output, shape)| {
        let (values, after) = rest.split_at(4 * shape.iter().product::<usize>());
        rest = after;
        let step = scalar(&model, &format!("{output}_scale"));
        (values.as_chunks().0.iter().map(|v| f32::from_le_bytes(*v)).collect(), step)
    });
    assert!(rest.is_empty());
    Golden { onnx, picture: picture.to_vec(), outputs: outputs.into() }
}

fn scalar(model: &ModelProto, name: &str) -> f32 {
    let tensor = model.graph.as_ref().unwrap().initializer.iter().find(|t| t.name == name).unwrap();
    // The quantiser writes scales as numbers, the generator the picture's as bytes.
    tensor
        .float_data
        .first()
        .copied()
        .unwrap_or_else(|| f32::from_le_bytes(tensor.raw_data[..].try_into().unwrap()))
}

fn manifest(onnx: &[u8], more: &str) -> Manifest {
    let input = format!("width = {WIDTH}\nheight = {HEIGHT}\n{more}");
    let codec = "[codec]\nkind = \"heatmap\"\noutput = \"heat\"\nstride = 1\nactivation = \"none\"";
    tiny::manifest("keypoints", onnx, &input, codec).unwrap()
}

fn load(onnx: &[u8], engine: Engine) -> Result<Arc<dyn Plan>, InferError> {
    infer::load_with(&manifest(onnx, ""), onnx, engine)
}

/// Outputs for one picture of interleaved RGB.
fn run(plan: &dyn Plan, picture: &[u8]) -> Vec<Vec<f32>> {
    let mut state = plan.state(1).unwrap();
    write(&mut *state, 0, picture);
    state.run(1).unwrap();
    read(&*state, 0)
}

fn write(state: &mut dyn infer::State, i: usize, picture: &[u8]) {
    let input = state.input_mut(i);
    assert_eq!((input.height, input.width), (HEIGHT, WIDTH));
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            let at = y * input.row_bytes + x * input.pixel_bytes;
            input.bytes[at..at + 3].copy_from_slice(&picture[(y * WIDTH + x) * 3..][..3]);
        }
    }
}

fn read(state: &dyn infer::State, i: usize) -> Vec<Vec<f32>> {
    let output = |(name, shape): (&str, [usize; 3])| {
        let (values, found) = state.output(i, name).unwrap();
        assert_eq!(found, shape);
        values.to_vec()
    };
    OUTPUTS.map(output).into()
}

/// Largest difference in steps of each output.
fn steps_apart(got: &[Vec<f32>], golden: &Golden) -> f32 {
    let pairs = got.iter().zip(&golden.outputs);
    pairs
        .flat_map(|(got, (expected, step))| got.iter().zip(expected).map(move |(a, b)| (a - b).abs() / step))
        .fold(0.0, f32::max)
}

#[test]
fn every_kernel_is_within_one_step_of_onnx_runtime_and_they_agree() {
    for name in ["qdq_u8", "qdq_s8"] {
        let golden = golden(name);
        let mut first: Option<Vec<Vec<f32>>> = None;
        for kernel in Kernel::available() {
            let plan = load(&golden.onnx, Engine::Int8(Some(kernel))).unwrap();
            assert_eq!(plan.engine(), format!("int8 {kernel}"));
            let got = run(&*plan, &golden.picture);
            let apart = steps_apart(&got, &golden);
            assert!(apart < 1.01, "{name} on {kernel}: {apart} steps from ONNX Runtime");
            assert_eq!(
                *first.get_or_insert_with(|| got.clone()),
                got,
                "{kernel} differs from the first kernel"
            );
        }
    }
}

#[test]
fn the_real_network_behind_the_codes_is_near() {
    let golden = golden("qdq_u8");
    let plan = load(&golden.onnx, Engine::F32).unwrap();
    assert_eq!(plan.engine(), "tract f32");
    let apart = steps_apart(&run(&*plan, &golden.picture), &golden);
    // Rounding every activation to 8 bits moves the outputs by a few steps; a missing Relu would by a hundred.
    assert!(apart > 0.0 && apart < 16.0, "{apart} steps");
}

#[test]
fn quantised_networks_take_the_int8_operators_unasked_and_tell_their_layers() {
    let golden = golden("qdq_u8");
    let plan = load(&golden.onnx, Engine::Auto).unwrap();
    assert_eq!(plan.engine(), format!("int8 {}", Kernel::best()));
    assert!(plan.reason().is_none() && plan.notes().is_empty());
    let layers = plan.explain();
    let find = |name: &str| layers.iter().find(|l| l.name == name).unwrap();
    assert_eq!((find("stem").operator, find("stem").macs), ("conv", 9 * 11 * 8 * 27));
    assert_eq!(find("sum").operator, "conv + sum");
    assert_eq!(find("heat").operator, "transposed conv");
    assert!(layers.iter().all(|l| l.kernel == Kernel::best().name() && l.nanos < 1_000_000_000));
}

#[test]
fn several_pictures_at_once_equal_one_at_a_time() {
    let golden = golden("qdq_u8");
    let plan = load(&golden.onnx, Engine::Auto).unwrap();
    let pictures: Vec<Vec<u8>> =
        (0..3).map(|i| golden.picture.iter().map(|p| p.wrapping_mul(2 * i + 1)).collect()).collect();
    let mut state = plan.state(3).unwrap();
    for (i, picture) in pictures.iter().enumerate() {
        write(&mut *state, i, picture);
    }
    state.run(3).unwrap();
    for (i, picture) in pictures.iter().enumerate() {
        assert_eq!(read(&*state, i), run(&*plan, picture));
    }
    assert!(state.run(4).is_err());
    assert!(state.output(3, "heat").is_err());
}

#[test]
fn normalised_and_swapped_pixels_go_through_a_table() {
    let golden = golden("qdq_u8");
    // Blue first, and a range that takes off nothing: swapping the picture's colours must undo it.
    let manifest = manifest(&golden.onnx, "color = \"bgr\"");
    let plan = infer::load_with(&manifest, &golden.onnx, Engine::Int8(None)).unwrap();
    let swapped: Vec<u8> = golden.picture.chunks_exact(3).flat_map(|p| [p[2], p[1], p[0]]).collect();
    assert!(steps_apart(&run(&*plan, &swapped), &golden) < 1.01);
}

fn changed(change: impl FnOnce(&mut ModelProto)) -> Vec<u8> {
    let mut model = ModelProto::decode(&*golden("qdq_u8").onnx).unwrap();
    change(&mut model);
    model.encode_to_vec()
}

fn set(model: &mut ModelProto, name: &str, raw: &[u8]) {
    let graph = model.graph.as_mut().unwrap();
    let tensor = graph.initializer.iter_mut().find(|t| t.name == name).unwrap();
    tensor.float_data.clear();
    tensor.raw_data = raw.to_vec();
}

/// A network whose end the operators lack.
fn softened() -> Vec<u8> {
    changed(|m| {
        let graph = m.graph.as_mut().unwrap();
        graph.node.iter_mut().find(|n| n.op_type == "Sigmoid").unwrap().op_type = "Softsign".into();
    })
}

fn refusal(onnx: &[u8], engine: Engine) -> String {
    load(onnx, engine).err().map(|e| format!("{e:#}")).unwrap_or_default()
}

#[test]
fn what_the_operators_lack_runs_through_tract_and_says_so() {
    let onnx = softened();
    let plan = load(&onnx, Engine::Auto).unwrap();
    assert_eq!(plan.engine(), format!("int8 {} + tract f32", Kernel::best()));
    assert!(plan.reason().is_some_and(|n| n.contains("\"soft\" (Softsign)")), "{:?}", plan.reason());
    assert!(plan.explain().iter().any(|layer| layer.name == "stem"));
    assert!(refusal(&onnx, Engine::Int8(None)).contains("\"soft\" (Softsign)"));
    // Both parts together give what tract alone gives, in the file's order, but for roundings on the way.
    let whole = load(&onnx, Engine::Tract).unwrap();
    assert_eq!(plan.outputs(), whole.outputs());
    let picture = golden("qdq_u8").picture;
    let (joined, whole) = (run(&*plan, &picture), run(&*whole, &picture));
    for ((got, want), (_, step)) in joined.iter().zip(&whole).zip(golden("qdq_u8").outputs) {
        let worst = got.iter().zip(want).map(|(a, b)| (a - b).abs() / step).fold(0.0, f32::max);
        assert!(worst < 2.01, "{worst} steps");
        assert!(got.iter().any(|v| (v - got[0]).abs() > step), "a flat output proves nothing");
    }
}

/// Of what the int8 operators give, the rest reads an output of the file and something else.
#[test]
fn what_tract_reads_may_be_an_output_of_the_file_too() {
    let onnx = changed(|m| {
        let graph = m.graph.as_mut().unwrap();
        for (from, to) in [("odd_DequantizeLinear_Output", "bent odd"), ("side", "bent side")] {
            let mut node = graph.node.iter().find(|n| n.op_type == "Sigmoid").unwrap().clone();
            (node.op_type, node.name) = ("Softsign".into(), to.into());
            (node.input, node.output) = (vec![from.into()], vec![to.into()]);
            graph.node.push(node);
            graph.output.push(ValueInfoProto { name: to.into(), r#type: None, ..graph.output[0].clone() });
        }
    });
    let (plan, whole) = (load(&onnx, Engine::Auto).unwrap(), load(&onnx, Engine::Tract).unwrap());
    assert!(plan.engine().starts_with("int8") && plan.engine().ends_with("tract f32"), "{}", plan.engine());
    assert_eq!(plan.outputs(), whole.outputs());
    let picture = golden("qdq_u8").picture;
    let [joined, whole] = [&plan, &whole].map(|plan| {
        let mut state = plan.state(1).unwrap();
        write(&mut *state, 0, &picture);
        state.run(1).unwrap();
        ["heat", "side", "bent odd", "bent side"].map(|name| state.output(0, name).unwrap().0.to_vec())
    });
    for (got, want) in joined.iter().zip(&whole) {
        let worst = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        let range = want.iter().fold(0.0f32, |most, v| most.max(v.abs()));
        assert!(worst < 0.05 * range, "{worst} of {range}");
        assert!(got.iter().any(|v| (v - got[0]).abs() > 0.05 * range), "a flat output proves nothing");
    }
}

#[test]
fn what_tract_gives_is_read_of_whatever_type_it_is() {
    let mut model = ModelProto::decode(&*softened()).unwrap();
    let graph = model.graph.as_mut().unwrap();
    let output = graph.output[0].name.clone();
    let last = graph.node.iter_mut().find(|n| n.output[0] == output).unwrap();
    last.output[0] = "wide".into();
    let to = AttributeProto {
        name: "to".into(),
        i: DataType::Float16 as i64,
        r#type: AttributeType::Int as i32,
        ..AttributeProto::default()
    };
    graph.node.push(NodeProto {
        name: "narrow".into(),
        op_type: "Cast".into(),
        input: vec!["wide".into()],
        output: vec![output.clone()],
        attribute: vec![to],
        ..NodeProto::default()
    });
    graph.output[0].r#type = None;
    let plan = load(&model.encode_to_vec(), Engine::Auto).unwrap();
    assert!(plan.engine().ends_with("+ tract f32"), "{}", plan.engine());
    let mut state = plan.state(1).unwrap();
    write(&mut *state, 0, &golden("qdq_u8").picture);
    state.run(1).unwrap();
    let (values, _) = state.output(0, &output).unwrap();
    assert!(values.iter().any(|v| *v != values[0]), "a flat output proves nothing");
}

/// A `Constant` node that gives `attribute`.
fn spelt(attribute: AttributeProto, output: &str) -> NodeProto {
    NodeProto {
        name: output.into(),
        op_type: "Constant".into(),
        output: vec![output.into()],
        attribute: vec![attribute],
        ..NodeProto::default()
    }
}

/// As exporters write them since operator set 12.
#[test]
fn a_constant_is_read_however_it_is_spelt() {
    let mut model = ModelProto::decode(&*softened()).unwrap();
    let graph = model.graph.as_mut().unwrap();
    let ints = AttributeProto {
        name: "value_ints".into(),
        ints: vec![1, 4, 36],
        r#type: AttributeType::Ints as i32,
        ..AttributeProto::default()
    };
    graph.node.insert(0, spelt(ints, "three sizes"));
    graph.node.push(NodeProto {
        name: "flat".into(),
        op_type: "Reshape".into(),
        input: vec!["side".into(), "three sizes".into()],
        output: vec!["flat".into()],
        ..NodeProto::default()
    });
    graph.output.push(ValueInfoProto { name: "flat".into(), r#type: None, ..graph.output[0].clone() });
    let plan = load(&model.encode_to_vec(), Engine::Auto).unwrap();
    assert_eq!(plan.engine(), format!("int8 {} + tract f32", Kernel::best()));
    assert!(plan.reason().is_some_and(|n| n.contains("(Softsign)")), "{:?}", plan.reason());
    let mut state = plan.state(1).unwrap();
    write(&mut *state, 0, &golden("qdq_u8").picture);
    state.run(1).unwrap();
    assert_eq!(state.output(0, "flat").unwrap().0, state.output(0, "side").unwrap().0);

    // The clip that the file has as bounds of a quantiser, by a limit of its own.
    let onnx = changed(|m| {
        let graph = m.graph.as_mut().unwrap();
        let float = AttributeProto {
            name: "value_float".into(),
            f: 6.0,
            r#type: AttributeType::Float as i32,
            ..AttributeProto::default()
        };
        let mix = graph.node.iter().position(|n| n.name == "mix").unwrap();
        let clipped = std::mem::replace(&mut graph.node[mix].output[0], "unclipped".into());
        graph.node.insert(
            mix + 1,
            NodeProto {
                name: "clip".into(),
                op_type: "Clip".into(),
                input: vec!["unclipped".into(), String::new(), "six".into()],
                output: vec![clipped],
                ..NodeProto::default()
            },
        );
        graph.node.insert(0, spelt(float, "six"));
    });
    assert_eq!(refusal(&onnx, Engine::Int8(None)), "");
}

/// As quantisers write them that are asked for symmetric codes.
#[test]
fn a_quantised_constant_of_no_axis_or_one_needs_none() {
    for dims in [vec![], vec![1]] {
        let onnx = changed(|m| {
            let graph = m.graph.as_mut().unwrap();
            let constant = |name: &str, dims: &[i64], data_type, raw_data| TensorProto {
                name: name.into(),
                dims: dims.to_vec(),
                data_type: data_type as i32,
                raw_data,
                ..TensorProto::default()
            };
            graph.initializer.push(constant("three", &dims, DataType::Int8, vec![100]));
            graph.initializer.push(constant("step", &[], DataType::Float, 0.03f32.to_le_bytes().to_vec()));
            for (op_type, input, output) in [
                ("DequantizeLinear", ["three", "step"], "three real"),
                ("Mul", ["odd_DequantizeLinear_Output", "three real"], "tripled"),
            ] {
                graph.node.push(NodeProto {
                    name: output.into(),
                    op_type: op_type.into(),
                    input: input.map(String::from).to_vec(),
                    output: vec![output.into()],
                    ..NodeProto::default()
                });
            }
            let last = ValueInfoProto { name: "tripled".into(), r#type: None, ..graph.output[0].clone() };
            graph.output.push(last);
        });
        let plan = load(&onnx, Engine::Auto).unwrap_or_else(|e| panic!("{dims:?}: {e}"));
        assert!(plan.outputs().iter().any(|output| output.name == "tripled"), "{:?}", plan.outputs());
    }
}

/// Such as the condition of a `Where`.
#[test]
fn a_constant_of_a_type_that_the_operators_lack_keeps_the_rest_from_nothing() {
    let onnx = changed(|m| {
        let flags = TensorProto {
            name: "flags".into(),
            dims: vec![2],
            data_type: DataType::Bool as i32,
            raw_data: vec![0, 1],
            ..TensorProto::default()
        };
        m.graph.as_mut().unwrap().initializer.push(flags);
    });
    let golden = golden("qdq_u8");
    for engine in [Engine::Auto, Engine::F32] {
        let plan = load(&onnx, engine).unwrap();
        assert!(steps_apart(&run(&*plan, &golden.picture), &golden) < 16.0, "{engine}");
    }
}

#[test]
fn without_a_convolution_for_the_operators_all_of_it_runs_through_tract() {
    let onnx = changed(|m| {
        let graph = m.graph.as_mut().unwrap();
        let stem = graph.node.iter().position(|n| n.name == "stem").unwrap();
        let mut first = graph.node[stem].clone();
        (first.op_type, first.name) = ("Softsign".into(), "odd first".into());
        (first.output, first.attribute) = (vec!["bent".into()], vec![]);
        first.input.truncate(1);
        graph.node[stem].input[0] = "bent".into();
        graph.node.insert(stem, first);
    });
    let plan = load(&onnx, Engine::Auto).unwrap();
    assert_eq!(plan.engine(), "tract f32");
    assert!(plan.reason().is_some_and(|n| n.contains("\"odd first\" (Softsign)")), "{:?}", plan.reason());
}

/// `QuantizeLinear` and `DequantizeLinear` of `from`, as `to`.
fn coded(net: tiny::Net, from: &str, to: &str) -> tiny::Net {
    let codes = format!("{to} codes");
    net.node("QuantizeLinear", &[from, "scale", "zero"], &codes, &[]).node(
        "DequantizeLinear",
        &[&codes, "scale", "zero"],
        to,
        &[],
    )
}

#[test]
fn sound_operators_that_int8_refuses_run_through_tract() {
    let net = || {
        let (height, width) = (HEIGHT as i64, WIDTH as i64);
        let net = tiny::Net::new("image", &[1, 3, height, width]);
        coded(net.tensor("scale", &[], &[1.0 / 255.0]).byte("zero", 0), "image", "real")
    };
    let window: &[(&str, &[i64])] = &[("kernel_shape", &[2, 2]), ("dilations", &[2, 2])];
    let dilated = net().node("MaxPool", &["real"], "odd", window);
    let mean = coded(net().node("GlobalAveragePool", &["real"], "mean", &[]), "mean", "real mean");
    let broadcast = mean.node("Add", &["real", "real mean"], "odd", &[]);
    for (name, net) in [("MaxPool", dilated), ("Add", broadcast)] {
        let onnx = coded(net, "odd", "heat").output("heat").bytes();
        let plan = load(&onnx, Engine::Auto).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(plan.engine(), "tract f32");
        assert!(
            plan.reason().is_some_and(|n| n.contains(&format!("\"odd\" ({name})"))),
            "{:?}",
            plan.reason()
        );
        assert!(refusal(&onnx, Engine::Int8(None)).contains("\"odd\""));
        let mut state = plan.state(1).unwrap();
        write(&mut *state, 0, &golden("qdq_u8").picture);
        state.run(1).unwrap();
        assert!(state.output(0, "heat").unwrap().0.iter().any(|&v| v > 0.0));
    }
}

proptest::proptest! {
    /// The matcher alone: what tract does with a damaged file is tract's.
    #[test]
    fn no_damage_to_a_file_makes_the_matcher_panic(seed: u64, flips in 1usize..12) {
        let mut onnx = golden("qdq_u8").onnx;
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..flips {
            let at = random.usize(..onnx.len());
            onnx[at] = if random.bool() { random.u8(..) } else { onnx[at] ^ (1 << random.u8(..8)) };
        }
        if let Ok(plan) = load(&onnx, Engine::Int8(None)) {
            plan.state(1).unwrap().run(1).unwrap();
        }
    }
}
