//! Quantised networks: the same results as ONNX Runtime, the same bits on every kernel, and what is refused.
//!
//! The networks and their expected outputs are written by `tests/golden/make_qdq.py`.

use std::path::PathBuf;
use std::sync::Arc;

use int8::Kernel;
use posewire::infer::{self, Engine, InferError, Manifest, Plan};
use prost::Message;
use tract_onnx::pb::{ModelProto, TensorProto, ValueInfoProto, tensor_proto::DataType};

use crate::tiny;

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

fn refusal(onnx: &[u8], engine: Engine) -> String {
    load(onnx, engine).err().map(|e| e.to_string()).unwrap_or_default()
}

#[test]
fn scales_that_are_no_numbers_are_refused_by_the_operators_name() {
    for bad in [f32::NAN, 0.0, -1.0, f32::INFINITY] {
        let onnx = changed(|m| set(m, "first_scale", &bad.to_le_bytes()));
        let error = refusal(&onnx, Engine::Auto);
        assert!(error.contains("first") && error.contains("scale"), "{error}");
    }
}

#[test]
fn damaged_files_are_refused() {
    let onnx = golden("qdq_u8").onnx;
    for len in (0..onnx.len()).step_by(997) {
        assert!(load(&onnx[..len], Engine::Auto).is_err(), "the first {len} bytes were taken");
    }
    let onnx = changed(|m| set(m, "stem.w_quantized", &[1, 2, 3]));
    assert!(refusal(&onnx, Engine::Auto).contains("stem.w_quantized"));
    let onnx = changed(|m| m.graph.as_mut().unwrap().node.retain(|n| n.name != "stem"));
    assert!(refusal(&onnx, Engine::Auto).contains("comes from nowhere"));
}

/// A network whose end the operators lack.
fn softened() -> Vec<u8> {
    changed(|m| {
        let graph = m.graph.as_mut().unwrap();
        graph.node.iter_mut().find(|n| n.op_type == "Sigmoid").unwrap().op_type = "Softsign".into();
    })
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

/// A clip of a picture, `from` "real", or of its mean.
fn clipped(from: &str, lo: f32, hi: f32) -> Vec<u8> {
    let net = tiny::Net::new("image", &[1, 3, HEIGHT as i64, WIDTH as i64]);
    let net = net.tensor("scale", &[], &[1.0 / 255.0]).byte("zero", 0);
    let net = coded(net.tensor("lo", &[], &[lo]).tensor("hi", &[], &[hi]), "image", "real");
    let net =
        net.node("GlobalAveragePool", &["real"], "mean", &[]).node("Clip", &[from, "lo", "hi"], "odd", &[]);
    coded(net, "odd", "heat").output("heat").bytes()
}

#[test]
fn a_clip_with_exchanged_limits_gives_its_max_and_limits_that_are_no_numbers_are_refused() {
    for from in ["real", "mean"] {
        let plan = load(&clipped(from, 0.8, 0.2), Engine::Int8(None)).unwrap();
        let mut state = plan.state(1).unwrap();
        write(&mut *state, 0, &golden("qdq_u8").picture);
        state.run(1).unwrap();
        let (values, _) = state.output(0, "heat").unwrap();
        // As ONNX has it: min(max(x, 0.8), 0.2).
        assert!(values.iter().all(|v| (v - 0.2).abs() < 1e-6), "{from}: {values:?}");
        for (lo, hi) in [(f32::NAN, 1.0), (0.0, f32::NAN)] {
            let error = refusal(&clipped(from, lo, hi), Engine::Auto);
            assert!(error.contains("\"odd\" (Clip)") && error.contains("are not numbers"), "{error}");
        }
    }
}

#[test]
fn weights_without_a_value_are_refused_whatever_they_say_of_channels() {
    let onnx = changed(|m| {
        let tensors = &mut m.graph.as_mut().unwrap().initializer;
        let find = |name: &str| tensors.iter().position(|t| t.name == name).unwrap();
        let (weights, scale) = (find("stem.w_quantized"), find("stem.w_scale"));
        tensors[weights].dims = vec![1 << 40, 0, 1, 1];
        tensors[weights].raw_data.clear();
        tensors[weights].int32_data.clear();
        (tensors[scale].dims, tensors[scale].float_data) = (vec![], vec![0.1]);
        tensors[scale].raw_data.clear();
    });
    let error = refusal(&onnx, Engine::Auto);
    assert!(error.contains("without a value"), "{error}");
}

#[test]
fn asymmetric_weights_and_free_sizes_are_named() {
    let onnx = changed(|m| {
        let graph = m.graph.as_mut().unwrap();
        let zero = graph.initializer.iter_mut().find(|t| t.name == "mix.w_zero_point").unwrap();
        assert_eq!(zero.data_type, DataType::Int8 as i32);
        zero.int32_data = vec![3; 12];
        zero.raw_data.clear();
    });
    assert!(refusal(&onnx, Engine::Int8(None)).contains("weights are not symmetric"));
    let onnx = changed(|m| {
        let node = m.graph.as_mut().unwrap().node.iter_mut().find(|n| n.op_type == "Resize").unwrap();
        node.input[2] = "image".into();
    });
    assert!(refusal(&onnx, Engine::Int8(None)).contains("\"up\" (Resize)"));
}

#[test]
fn engines_are_chosen_without_timing_and_the_choice_is_explained() {
    let golden = golden("qdq_u8");
    let reason = |engine| infer::reason(engine, &*load(&golden.onnx, engine).unwrap());
    assert_eq!(reason(Engine::Auto), "this processor has int8 kernels");
    assert_eq!(reason(Engine::F32), "--engine f32");
    let softened = softened();
    let partly = infer::reason(Engine::Auto, &*load(&softened, Engine::Auto).unwrap());
    assert!(partly.contains("(Softsign)"), "{partly}");
    let real = tiny::Net::new("image", &[1, 3, HEIGHT as i64, WIDTH as i64]);
    let real = real.node("Relu", &["image"], "heat", &[]).output("heat").bytes();
    assert_eq!(
        infer::reason(Engine::Auto, &*load(&real, Engine::Auto).unwrap()),
        "the network is not quantised"
    );
}

#[test]
fn engines_are_timed_only_when_asked() {
    let golden = golden("qdq_u8");
    let told = infer::fastest(&manifest(&golden.onnx, ""), &golden.onnx).unwrap();
    for word in ["tiny: ", " us in int8, ", " us in f32): --engine "] {
        assert!(told.contains(word), "{told}");
    }
    // What int8 alone refuses is not recommended.
    let onnx = softened();
    let told = infer::fastest(&manifest(&onnx, ""), &onnx).unwrap();
    let takes = |engine: &str| told.ends_with(&format!(": --engine {engine} takes it"));
    assert!(told.contains(" us in int8 and tract, ") && (takes("auto") || takes("f32")), "{told}");
}

/// What a user sees before the first pose: which engine, and nothing timed, nothing remembered.
#[test]
fn the_first_start_times_nothing_and_leaves_nothing_behind() {
    let home = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_posewire"));
    command.args([
        "run",
        "-v",
        "--synthetic",
        "--no-drop",
        "--frames",
        "2",
        "--smoother",
        "none",
        "--jsonl",
        "/dev/null",
    ]);
    let out = command
        .env("HOME", home.path())
        .env_remove("XDG_CACHE_HOME")
        .env_remove("RUST_LOG")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    assert!(said.contains(&format!("engine: int8 {} (", Kernel::best())), "{said}");
    assert!(said.contains("first poses ") && said.contains(" ms after the start"), "{said}");
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "{said}");
}

#[test]
fn the_command_line_explains_a_network_layer_by_layer() {
    let golden = golden("qdq_u8");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.toml");
    let text = format!(
        "name = \"tiny\"\ntask = \"keypoints\"\nfile = \"tiny.onnx\"\nsha256 = \"{}\"\n[input]\nname = \"image\"\n\
         width = {WIDTH}\nheight = {HEIGHT}\n[codec]\nkind = \"heatmap\"\noutput = \"heat\"\nstride = 1\nactivation = \"none\"",
        tiny::sha256(&golden.onnx)
    );
    std::fs::write(&path, text).unwrap();
    std::fs::write(folder.path().join("tiny.onnx"), &golden.onnx).unwrap();
    let out =
        crate::cli::posewire(&["models", "--explain", "--engine", "int8:portable", path.to_str().unwrap()]);
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    for word in ["int8 portable", "output heat [5, 20, 24]", "conv + sum", "transposed conv", "GMAC/s"] {
        assert!(text.contains(word), "{word} is missing from\n{text}");
    }
}

#[test]
fn engines_are_named_on_the_command_line() {
    assert_eq!("auto".parse(), Ok(Engine::Auto));
    assert_eq!("int8:portable".parse(), Ok(Engine::Int8(Some(Kernel::Portable))));
    assert!("int8:mmx".parse::<Engine>().unwrap_err().contains("portable"));
    assert!("gpu".parse::<Engine>().is_err());
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
