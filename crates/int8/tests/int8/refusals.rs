//! Graphs that must be refused, by the operator's name.

use int8::{Activation, Error, Graph, Kernel, Quant, Shape, Tensor, Weights, Window};

const UNIT: Quant = Quant { scale: 0.1, zero_point: 0 };

fn start() -> (Graph, Tensor) {
    let mut graph = Graph::new();
    let input = graph.input("x", Shape::new(4, 4, 2), UNIT).unwrap();
    (graph, input)
}

fn weights() -> Weights {
    Weights { out_channels: 3, groups: 1, values: vec![100; 6], scales: vec![0.01; 3], bias: vec![0; 3] }
}

fn conv(weights: Weights, window: Window, out: Quant) -> Result<Tensor, Error> {
    let (mut graph, input) = start();
    graph.conv("layer7", input, window, weights, out, Activation::None)
}

#[test]
fn scales_that_are_no_scales() {
    for bad in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let mut w = weights();
        w.scales[1] = bad;
        let error = conv(w, Window::square(1, 1, 0), UNIT).unwrap_err();
        assert!(error.to_string().starts_with("layer7: scale"), "{error}");
        let out = Quant { scale: bad, zero_point: 0 };
        assert!(conv(weights(), Window::square(1, 1, 0), out).is_err());
        assert!(Graph::new().input("x", Shape::new(1, 1, 1), out).is_err());
    }
}

#[test]
fn sizes_that_do_not_fit() {
    let mut short = weights();
    short.values.pop();
    let mut groups = weights();
    groups.groups = 2;
    let cases = [
        conv(short, Window::square(1, 1, 0), UNIT),
        conv(groups, Window::square(1, 1, 0), UNIT),
        conv(weights(), Window::square(5, 1, 0), UNIT),
        conv(weights(), Window::square(1, 0, 0), UNIT),
    ];
    for case in cases {
        assert!(
            matches!(case, Err(Error::BadShape { ref operator, .. }) if operator == "layer7"),
            "{case:?}"
        );
    }
    assert!(Graph::new().input("x", Shape::new(0, 1, 1), UNIT).is_err());
}

#[test]
fn clips_that_let_nothing_through() {
    for (lo, hi) in [(2.0, 1.0), (f32::NAN, 1.0), (0.0, f32::NAN)] {
        let (mut graph, input) = start();
        let clip = Activation::Clip { lo, hi };
        let window = Window::square(1, 1, 0);
        let cases = [
            graph.conv("layer7", input, window, weights(), UNIT, clip.clone()),
            graph.add("layer7", input, input, UNIT, clip),
        ];
        for case in cases {
            assert!(case.unwrap_err().to_string().contains("is empty"));
        }
    }
}

/// Another engine may run these.
#[test]
fn what_is_sound_and_only_not_done_here_is_told_apart() {
    let mut far = weights();
    far.bias[2] = i32::MAX;
    let (mut graph, input) = start();
    let mean = graph.average_pool("mean", input, Window::square(4, 1, 0), false, UNIT).unwrap();
    let dilated = Window { dilation: [2, 2], ..Window::square(2, 1, 0) };
    let tiny = Quant { scale: 1.0e-9, zero_point: 0 };
    let cases = [
        conv(far, Window::square(1, 1, 0), UNIT),
        conv(weights(), Window::square(1, 1, usize::MAX), UNIT),
        graph.add("layer7", input, mean, UNIT, Activation::None),
        graph.add("layer7", input, input, tiny, Activation::None),
        graph.max_pool("layer7", input, dilated),
        graph.max_pool("layer7", input, Window::square(2, 1, 2)),
        graph.upsample_nearest("layer7", input, [1 << 15, 1]),
        graph.input("layer7", Shape::new(1 << 13, 1 << 13, 1 << 13), UNIT),
    ];
    for case in cases {
        assert!(
            matches!(case, Err(Error::Unsupported { ref operator, .. }) if operator == "layer7"),
            "{case:?}"
        );
    }
}

#[test]
fn sums_that_overflow() {
    let tiny = Quant { scale: 1.0e-30, zero_point: 0 };
    assert!(matches!(conv(weights(), Window::square(1, 1, 0), tiny), Err(Error::Overflow { .. })));
    // Below 2^31 as an integer, 2^31 as f32.
    for (bias, is_refused) in [(2_147_483_600, true), (2_147_483_392, false)] {
        let unit = Quant { scale: 1.0, zero_point: 0 };
        let mut graph = Graph::new();
        let input = graph.input("x", Shape::new(4, 4, 2), unit).unwrap();
        let weights = Weights { values: vec![0; 6], scales: vec![1.0; 3], bias: vec![bias; 3], ..weights() };
        let made = graph.conv("layer7", input, Window::square(1, 1, 0), weights, unit, Activation::None);
        assert_eq!(matches!(made, Err(Error::Overflow { .. })), is_refused, "{bias}: {made:?}");
    }
}

#[test]
fn graphs_without_ends_and_kernels_without_a_cpu() {
    assert_eq!(
        Graph::new().build(Kernel::Portable).unwrap_err(),
        Error::BadGraph("needs at least one input and one output")
    );
    let error = "sse9".parse::<Kernel>().unwrap_err().to_string();
    assert!(error.starts_with("there is no kernel `sse9`") && error.contains("portable"), "{error}");
    for kernel in Kernel::ALL {
        assert_eq!(kernel.name().parse::<Kernel>().unwrap(), kernel);
        let (mut graph, input) = start();
        let out = graph.max_pool("pool", input, Window::square(2, 2, 0)).unwrap();
        graph.output(out);
        assert_eq!(graph.build(kernel).is_ok(), kernel.is_available());
    }
}
