//! Whole networks: arena reuse, several inputs at once, no allocation.

use std::sync::Arc;

use int8::{Activation, Graph, Kernel, Quant, Shape, State, Tensor, Window};

use crate::support::{Random, check, run};

/// A small residual network with a pyramid neck and two heads.
fn network(random: &mut Random) -> Graph {
    let mut graph = Graph::new();
    let image =
        graph.input("image", Shape::new(24, 18, 3), Quant { scale: 1.0 / 255.0, zero_point: 0 }).unwrap();
    let mut conv =
        |graph: &mut Graph, name: &str, x: Tensor, c: usize, k: usize, stride: usize, act: Activation| {
            let weights = random.weights(c, graph.shape(x).c, k * k, 1);
            let quant = Quant { scale: 0.04, zero_point: if act == Activation::Relu { 0 } else { 131 } };
            graph.conv(name, x, Window::square(k, stride, k / 2), weights, quant, act).unwrap()
        };
    let stem = conv(&mut graph, "stem", image, 16, 3, 2, Activation::Relu);
    let a = conv(&mut graph, "a1", stem, 16, 3, 1, Activation::Relu);
    let a = conv(&mut graph, "a2", a, 16, 3, 1, Activation::None);
    let fine = graph.add("a", stem, a, Quant { scale: 0.05, zero_point: 0 }, Activation::Relu).unwrap();
    let down = conv(&mut graph, "down", fine, 40, 3, 2, Activation::Relu);
    let b = conv(&mut graph, "b1", down, 40, 3, 1, Activation::Relu);
    let b = conv(&mut graph, "b2", b, 40, 3, 1, Activation::None);
    let coarse = graph.add("b", b, down, Quant { scale: 0.05, zero_point: 0 }, Activation::Relu).unwrap();
    let up = graph.upsample_nearest("up", coarse, [2, 2]).unwrap();
    let up = crop_to(&mut graph, up, fine);
    let neck = graph.concat("neck", &[up, fine], Quant { scale: 0.06, zero_point: 3 }).unwrap();
    let neck = conv(&mut graph, "mix", neck, 24, 1, 1, Activation::Relu);
    let heat = conv(&mut graph, "heat", neck, 17, 1, 1, Activation::None);
    let scores = graph
        .average_pool("mean", coarse, Window::square(3, 1, 0), false, Quant { scale: 0.05, zero_point: 0 })
        .unwrap();
    graph.output(heat);
    graph.output(scores);
    graph
}

/// Max pooling of one pixel row less: keeps odd sizes honest without a crop operator.
fn crop_to(graph: &mut Graph, x: Tensor, like: Tensor) -> Tensor {
    let (from, to) = (graph.shape(x), graph.shape(like));
    let mut window = Window::square(1, 1, 0);
    window.kernel = [from.h - to.h + 1, from.w - to.w + 1];
    graph.max_pool("crop", x, window).unwrap()
}

#[test]
fn a_network_gives_the_reference_bits_on_every_kernel() {
    for seed in 0..8 {
        let mut random = Random::new(seed);
        let graph = network(&mut random);
        check(&graph, &[random.bytes(24 * 18 * 3)]);
    }
}

#[test]
fn sums_are_fused_and_buffers_reused() {
    let mut random = Random::new(1);
    let graph = network(&mut random);
    let program = graph.build(Kernel::best()).unwrap();
    let kinds: Vec<&str> = program.steps().map(|s| s.kind).collect();
    assert_eq!(kinds.iter().filter(|k| **k == "conv + sum").count(), 2);
    assert!(!kinds.contains(&"sum"));
    let stem = program.steps().next().unwrap();
    assert_eq!((stem.name, stem.macs), ("stem", 12 * 9 * 16 * 27));
    // All feature maps side by side would take more than twice this.
    assert!(program.arena_bytes() < 30_000, "{}", program.arena_bytes());
}

#[test]
fn several_inputs_at_once_equal_one_at_a_time() {
    let mut random = Random::new(5);
    let graph = network(&mut random);
    let program = Arc::new(graph.build(Kernel::best()).unwrap());
    let inputs: Vec<Vec<u8>> = (0..3).map(|_| random.bytes(24 * 18 * 3)).collect();
    let alone: Vec<_> = inputs.iter().map(|i| run(&mut program.state(), std::slice::from_ref(i))).collect();
    let mut states: Vec<State> = inputs
        .iter()
        .map(|i| {
            let mut state = program.state();
            state.input_mut(0).copy_from(i);
            state
        })
        .collect();
    State::run_all(&mut states);
    for (state, alone) in states.iter().zip(&alone) {
        assert_eq!(&crate::support::dense(&state.output(0)), &alone[0]);
        assert_eq!(&crate::support::dense(&state.output(1)), &alone[1]);
    }
}

#[test]
fn inputs_keep_their_values_between_runs() {
    let mut random = Random::new(7);
    let graph = network(&mut random);
    let mut state = Arc::new(graph.build(Kernel::best()).unwrap()).state();
    let first = run(&mut state, &[random.bytes(24 * 18 * 3)]);
    state.run();
    for (i, first) in first.iter().enumerate() {
        assert_eq!(&crate::support::dense(&state.output(i)), first);
    }
}

#[test]
fn programs_are_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    let mut random = Random::new(9);
    let graph = network(&mut random);
    let program = Arc::new(graph.build(Kernel::best()).unwrap());
    shared(&*program);
    let input = random.bytes(24 * 18 * 3);
    let expected = run(&mut program.state(), std::slice::from_ref(&input));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(run(&mut program.state(), std::slice::from_ref(&input)), expected));
        }
    });
}
