//! Networks through tract: what goes in, what comes out, what is refused.

use posewire::infer::{self, Manifest};
use posewire::keypoints::{KeypointNet, PersonFinder};
use tract_onnx::pb::tensor_proto::DataType;

use crate::tiny::{self, Net};

const HEATMAP: &str = "[codec]\nkind = \"heatmap\"\noutput = \"out\"\nstride = 1\nactivation = \"none\"";
const SIDE_8: &str = "width = 8\nheight = 8";

/// An 8 x 8 network whose output is its input.
fn mirror(shape: &[i64]) -> Vec<u8> {
    Net::new("image", shape).node("Identity", &["image"], "out", &[]).output("out").bytes()
}

/// Runs one picture whose pixel (x, y) is (x, y, 200).
fn run(onnx: &[u8], input: &str) -> (Vec<f32>, Vec<usize>) {
    let (_, plan) = tiny::load("keypoints", onnx, input, HEATMAP).unwrap();
    let mut state = plan.state(1).unwrap();
    paint(&mut *state, 0, 200);
    state.run(1).unwrap();
    let (values, shape) = state.output(0, "out").unwrap();
    (values.to_vec(), shape.to_vec())
}

fn paint(state: &mut dyn infer::State, i: usize, blue: u8) {
    let input = state.input_mut(i);
    for y in 0..input.height {
        for x in 0..input.width {
            let at = y * input.row_bytes + x * input.pixel_bytes;
            input.bytes[at..at + 3].copy_from_slice(&[x as u8, y as u8, blue]);
        }
    }
}

fn near(a: f32, b: f32) -> bool {
    (a - b).abs() < 1e-5
}

#[test]
fn pixels_become_planes_in_the_range_that_the_manifest_states() {
    let (values, shape) = run(&mirror(&[1, 3, 8, 8]), SIDE_8);
    assert_eq!(shape, [3, 8, 8]);
    let at = |c: usize, y: usize, x: usize| values[(c * 8 + y) * 8 + x];
    assert!(
        near(at(0, 2, 5), 5.0 / 255.0) && near(at(1, 2, 5), 2.0 / 255.0) && near(at(2, 2, 5), 200.0 / 255.0)
    );
}

#[test]
fn colours_axes_and_normalisation_follow_the_manifest() {
    let input = "width = 8\nheight = 8\nlayout = \"nhwc\"\ncolor = \"bgr\"\nrange = [-1.0, 1.0]\nmean = [0.5, 0.0, 0.0]\nstd = [2.0, 1.0, 1.0]";
    let (values, shape) = run(&mirror(&[1, 8, 8, 3]), input);
    assert_eq!(shape, [8, 8, 3]);
    let at = |c: usize, y: usize, x: usize| values[(y * 8 + x) * 3 + c];
    let level = |pixel: f32| 2.0 * pixel / 255.0 - 1.0;
    assert!(near(at(0, 2, 5), (level(200.0) - 0.5) / 2.0));
    assert!(near(at(1, 2, 5), level(2.0)) && near(at(2, 2, 5), level(5.0)));
}

#[test]
fn integer_inputs_take_the_pixels_as_they_are() {
    for elements in [DataType::Uint8, DataType::Int32] {
        let onnx = Net::typed("image", &[1, 3, 8, 8], elements)
            .node("Cast", &["image"], "out", &[("to", &[DataType::Float as i64])])
            .output("out")
            .bytes();
        let (values, _) = run(&onnx, SIDE_8);
        assert_eq!(&values[2 * 64..2 * 64 + 3], [200.0; 3], "{elements:?}");
    }
}

#[test]
fn a_quantised_graph_rounds_as_its_scales_say() {
    let onnx = Net::new("image", &[1, 3, 8, 8])
        .tensor("scale", &[], &[4.0 / 255.0])
        .byte("zero", 0)
        .node("QuantizeLinear", &["image", "scale", "zero"], "q", &[])
        .node("DequantizeLinear", &["q", "scale", "zero"], "out", &[])
        .output("out")
        .bytes();
    let (values, _) = run(&onnx, SIDE_8);
    assert!(
        near(values[5], 4.0 / 255.0) && near(values[7], 8.0 / 255.0) && near(values[1], 0.0),
        "{:?}",
        &values[..8]
    );
}

#[test]
fn elements_of_a_batch_are_apart_and_runs_repeat() {
    let (_, plan) = tiny::load("keypoints", &mirror(&[1, 3, 8, 8]), SIDE_8, HEATMAP).unwrap();
    let mut state = plan.state(3).unwrap();
    for round in 0..2 {
        for i in 0..3 {
            paint(&mut *state, i, 50 * i as u8 + round);
        }
        state.run(3).unwrap();
        for i in 0..3 {
            let blue = state.output(i, "out").unwrap().0[2 * 64];
            assert!(near(blue, f32::from(50 * i as u8 + round) / 255.0));
        }
    }
    let error = format!("{:#}", state.run(4).unwrap_err());
    assert!(error.contains("4 pictures for a state of 3"), "{error}");
    assert!(state.output(3, "out").is_err());
    let error = format!("{:#}", state.output(0, "uot").unwrap_err());
    assert!(error.contains("uot") && error.contains("the network has: out"), "{error}");
    let unrun = plan.state(1).unwrap();
    assert!(unrun.output(0, "out").unwrap_err().to_string().contains("before a run"));
}

#[test]
fn what_does_not_fit_its_manifest_is_refused_by_name() {
    let good = mirror(&[1, 3, 8, 8]);
    let refused = |onnx: &[u8], input: &str| {
        format!("{:#}", tiny::load("keypoints", onnx, input, HEATMAP).err().unwrap())
    };
    for (onnx, input, says) in [
        (good.clone(), "width = 16\nheight = 8", "input \"image\" has shape [1, 3, 8, 8]"),
        (good.clone(), "width = 8\nheight = 8\nlayout = \"nhwc\"", "make [1, 8, 8, 3]"),
        (good[..good.len() / 2].to_vec(), SIDE_8, "tiny.onnx"),
        (b"no network at all".to_vec(), SIDE_8, "not an ONNX file"),
        (vec![], SIDE_8, "no graph"),
        (
            Net::new("picture", &[1, 3, 8, 8])
                .node("Identity", &["picture"], "out", &[])
                .output("out")
                .bytes(),
            SIDE_8,
            "no input \"image\"; the network has: picture",
        ),
        (
            Net::new("image", &[1, 3, 8, 8]).node("Frobnicate", &["image"], "out", &[]).output("out").bytes(),
            SIDE_8,
            "Frobnicate",
        ),
        (
            Net::typed("image", &[1, 3, 8, 8], DataType::Double)
                .node("Identity", &["image"], "out", &[])
                .output("out")
                .bytes(),
            SIDE_8,
            "elements of type",
        ),
    ] {
        let error = refused(&onnx, input);
        assert!(error.contains(says) && error.contains("tiny"), "wanted {says:?}: {error}");
    }
    let manifest = tiny::manifest("keypoints", b"another file", SIDE_8, HEATMAP).unwrap();
    let error = format!("{:#}", infer::load(&manifest, &good).err().unwrap());
    assert!(error.contains("sha256") && error.contains("tiny.onnx"), "{error}");
}

fn batch_norm(stats: &[i64]) -> Vec<u8> {
    let n = stats.iter().product::<i64>() as usize;
    Net::new("image", &[1, 3, 8, 8])
        .tensor("scale", stats, &vec![2.0; n])
        .tensor("bias", stats, &vec![1.0; n])
        .tensor("mean", stats, &vec![0.0; n])
        .tensor("var", stats, &vec![1.0; n])
        .node("BatchNormalization", &["image", "scale", "bias", "mean", "var"], "out", &[("spatial", &[0])])
        .output("out")
        .bytes()
}

#[test]
fn a_wrong_spatial_attribute_is_ignored_and_stated_and_a_true_one_refused() {
    let (_, plan) = tiny::load("keypoints", &batch_norm(&[3]), SIDE_8, HEATMAP).unwrap();
    assert!(plan.notes()[0].contains("spatial = 0 ignored in 1 operators"), "{:?}", plan.notes());
    let (values, _) = run(&batch_norm(&[3]), SIDE_8);
    assert!((values[5] - (2.0 * 5.0 / 255.0 + 1.0)).abs() < 1e-4);
    let error =
        format!("{:#}", tiny::load("keypoints", &batch_norm(&[3, 8, 8]), SIDE_8, HEATMAP).err().unwrap());
    assert!(error.contains("spatial = 0") && error.contains("\"scale\""), "{error}");
}

#[test]
fn the_example_manifests_are_valid_and_other_peoples_files_load_by_them() {
    let mut seen = 0;
    for entry in std::fs::read_dir("models/examples").unwrap() {
        let path = entry.unwrap().path();
        let Some("toml") = path.extension().and_then(|e| e.to_str()) else { continue };
        Manifest::parse(&std::fs::read_to_string(&path).unwrap(), &path.display().to_string()).unwrap();
        seen += 1;
    }
    assert!(seen >= 6);
    for (example, file, shape) in [
        ("ultralight-simplepose", "peers/ultralight_simplepose.onnx", vec![17, 64, 48]),
        ("fastestdet", "peers/fastestdet.onnx", vec![85, 22, 22]),
    ] {
        let Some(path) = tiny::shared(file) else { continue };
        let onnx = std::fs::read(&path).unwrap();
        let text = std::fs::read_to_string(format!("models/examples/{example}.toml")).unwrap();
        let manifest = Manifest::parse(&text, example).unwrap();
        let plan = infer::load(&manifest, &onnx).unwrap();
        assert_eq!(plan.outputs()[0].shape, shape, "{file}");
        assert_eq!(plan.notes().is_empty(), example != "ultralight-simplepose", "{:?}", plan.notes());
        match manifest.task {
            infer::Task::Keypoints => drop(KeypointNet::new(&manifest, &plan).unwrap()),
            infer::Task::Person => drop(PersonFinder::new(&manifest, &plan).unwrap()),
        }
        let mut state = plan.state(1).unwrap();
        state.run(1).unwrap();
        assert!(state.output(0, &plan.outputs()[0].name).unwrap().0.iter().all(|v| v.is_finite()));
    }
}

#[test]
fn the_committed_networks_are_what_their_manifests_say() {
    let mut seen = 0;
    for entry in std::fs::read_dir("models").unwrap() {
        let path = entry.unwrap().path();
        let Some("toml") = path.extension().and_then(|e| e.to_str()) else { continue };
        let text = std::fs::read_to_string(&path).unwrap();
        let table: toml::Table = text.parse().unwrap();
        if !matches!(table["task"].as_str(), Some("keypoints" | "person")) {
            continue;
        }
        let manifest = Manifest::parse(&text, &path.display().to_string()).unwrap();
        let onnx = std::fs::read(path.with_file_name(&manifest.file)).unwrap();
        let plan = infer::load(&manifest, &onnx).unwrap();
        match manifest.task {
            infer::Task::Keypoints => drop(KeypointNet::new(&manifest, &plan).unwrap()),
            infer::Task::Person => drop(PersonFinder::new(&manifest, &plan).unwrap()),
        }
        seen += 1;
    }
    assert!(seen >= 2, "the keypoint network and the person finder");
}

/// A graph whose output nothing makes (fuzzing found it), and an operator without its inputs.
#[test]
fn a_graph_that_would_make_the_engine_panic_is_refused_like_any_other() {
    let image = [1, 3, 8, 8];
    let unmade = Net::new("image", &image).node("Identity", &["image"], "made", &[]).output("out");
    let bare =
        Net::new("image", &image).node("BatchNormalization", &[], "out", &[("spatial", &[0])]).output("out");
    for net in [unmade, bare] {
        let error = format!("{:#}", tiny::load("keypoints", &net.bytes(), SIDE_8, HEATMAP).err().unwrap());
        assert!(error.starts_with("model tiny.onnx: "), "{error}");
    }
}
