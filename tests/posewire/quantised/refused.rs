//! What the operators refuse, and how they say so.

use super::*;

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
