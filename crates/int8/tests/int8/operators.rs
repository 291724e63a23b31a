//! One operator at a time, random geometry.

use int8::{Activation, Graph, Pads, Shape, Window};
use proptest::prelude::*;

use crate::support::{Random, check};

/// Channels where blocks, fours and single values end.
fn channels() -> impl Strategy<Value = usize> {
    prop_oneof![1usize..=9, 12usize..=20, Just(24), Just(32), 45usize..=50, 63usize..=68, Just(80), Just(128)]
}

fn window(most: usize) -> impl Strategy<Value = Window> {
    let axis = move || (1..=most, 1usize..=3, 1usize..=2, 0usize..=3, 0usize..=3);
    (axis(), axis()).prop_map(|(v, h)| Window {
        kernel: [v.0, h.0],
        stride: [v.1, h.1],
        dilation: [v.2, h.2],
        pads: Pads { top: v.3, left: h.3, bottom: v.4, right: h.4 },
    })
}

fn fits(window: &Window, h: usize, w: usize) -> bool {
    let reach = |axis: usize| window.dilation[axis] * (window.kernel[axis] - 1) + 1;
    h + window.pads.top + window.pads.bottom >= reach(0)
        && w + window.pads.left + window.pads.right >= reach(1)
}

fn activation(random: &mut Random) -> Activation {
    match random.0.u8(0..5) {
        0 => Activation::Relu,
        1 => Activation::Clip { lo: 0.0, hi: 6.0 },
        2 => {
            let mut table = Box::new([0u8; 256]);
            random.0.fill(&mut table[..]);
            Activation::Table(table)
        }
        _ => Activation::None,
    }
}

proptest! {
    #[test]
    fn convolution(h in 1usize..=14, w in 1usize..=29, cin in channels(), cout in channels(), window in window(5), seed: u64) {
        prop_assume!(fits(&window, h, w));
        let mut random = Random::new(seed);
        let mut graph = Graph::new();
        let input_quant = random.quant();
        let input = graph.input("x", Shape::new(h, w, cin), input_quant).unwrap();
        let weights = random.weights(cout, cin, window.kernel[0] * window.kernel[1], 1);
        let (quant, act) = (random.quant(), activation(&mut random));
        let out = graph.conv("conv", input, window, weights.clone(), quant, act).unwrap();
        let head = graph.conv_f32("head", input, window, weights).unwrap();
        graph.output(out);
        graph.output(head);
        check(&graph, &[random.bytes(h * w * cin)]);
    }

    #[test]
    fn pointwise_convolution(h in 1usize..=9, w in 1usize..=9, cin in channels(), cout in channels(), seed: u64) {
        let mut random = Random::new(seed);
        let mut graph = Graph::new();
        let input_quant = random.quant();
        let input = graph.input("x", Shape::new(h, w, cin), input_quant).unwrap();
        let (weights, quant) = (random.weights(cout, cin, 1, 1), random.quant());
        let out = graph.conv("conv", input, Window::square(1, 1, 0), weights, quant, Activation::None).unwrap();
        graph.output(out);
        check(&graph, &[random.bytes(h * w * cin)]);
    }

    #[test]
    fn grouped_and_depthwise_convolution(h in 1usize..=10, w in 1usize..=12, per_group in 1usize..=5, groups in 2usize..=70,
                                         multiplier in 1usize..=3, window in window(5), seed: u64) {
        prop_assume!(fits(&window, h, w));
        let mut random = Random::new(seed);
        let mut graph = Graph::new();
        let cin = groups * if multiplier == 1 { 1 } else { per_group };
        let input_quant = random.quant();
        let input = graph.input("x", Shape::new(h, w, cin), input_quant).unwrap();
        let weights = random.weights(groups * multiplier, cin, window.kernel[0] * window.kernel[1], groups);
        let (quant, act) = (random.quant(), activation(&mut random));
        let out = graph.conv("conv", input, window, weights.clone(), quant, act).unwrap();
        let head = graph.conv_f32("head", input, window, weights).unwrap();
        graph.output(out);
        graph.output(head);
        check(&graph, &[random.bytes(h * w * cin)]);
    }

    #[test]
    fn transposed_convolution(h in 1usize..=7, w in 1usize..=9, cin in channels(), cout in channels(), window in window(4),
                              extra in [0usize..=1, 0usize..=1], seed: u64) {
        let along = |size: usize, axis: usize| (size - 1) * window.stride[axis] + window.dilation[axis] * (window.kernel[axis] - 1) + 1 + extra[axis];
        prop_assume!(along(h, 0) > window.pads.top + window.pads.bottom && along(w, 1) > window.pads.left + window.pads.right);
        let mut random = Random::new(seed);
        let mut graph = Graph::new();
        let input_quant = random.quant();
        let input = graph.input("x", Shape::new(h, w, cin), input_quant).unwrap();
        let weights = random.weights(cout, cin, window.kernel[0] * window.kernel[1], 1);
        let (quant, act) = (random.quant(), activation(&mut random));
        let out = graph.conv_transpose("deconv", input, window, extra, weights, quant, act).unwrap();
        graph.output(out);
        check(&graph, &[random.bytes(h * w * cin)]);
    }

    #[test]
    fn residual_sum(h in 1usize..=9, w in 1usize..=14, c in channels(), swap: bool, transposed: bool, seed: u64) {
        let mut random = Random::new(seed);
        let mut graph = Graph::new();
        let quants: Vec<_> = (0..3).map(|_| random.quant()).collect();
        let input = graph.input("x", Shape::new(h, w, c), quants[0]).unwrap();
        let weights = random.weights(c, c, 9, 1);
        let branch_act = if random.0.bool() { Activation::Relu } else { Activation::None };
        let window = Window::square(3, 1, 1);
        let branch = if transposed {
            graph.conv_transpose("branch", input, window, [0, 0], weights, quants[1], branch_act).unwrap()
        } else {
            graph.conv("branch", input, window, weights, quants[1], branch_act).unwrap()
        };
        let (a, b) = if swap { (branch, input) } else { (input, branch) };
        let act = if random.0.bool() { Activation::Relu } else { Activation::None };
        let sum = graph.add("sum", a, b, quants[2], act).unwrap();
        // A second reader pads the sum, so that the fused store meets a ring.
        let weights = random.weights(5, c, 9, 1);
        let last = graph.conv("last", sum, window, weights, quants[0], Activation::None).unwrap();
        graph.output(last);
        graph.output(sum);
        check(&graph, &[random.bytes(h * w * c)]);
    }

    #[test]
    fn element_wise(h in 1usize..=9, w in 1usize..=9, c in channels(), other in channels(), factor in [1usize..=3, 1usize..=3], seed: u64) {
        let mut random = Random::new(seed);
        let mut graph = Graph::new();
        let quants: Vec<_> = (0..6).map(|_| random.quant()).collect();
        let x = graph.input("x", Shape::new(h, w, c), quants[0]).unwrap();
        let y = graph.input("y", Shape::new(h, w, c), quants[1]).unwrap();
        let z = graph.input("z", Shape::new(h, w, other), quants[2]).unwrap();
        let sum = graph.add("sum", x, y, quants[3], Activation::Relu).unwrap();
        let cat = graph.concat("cat", &[sum, z, x, sum], quants[3]).unwrap();
        let mut table = Box::new([0u8; 256]);
        random.0.fill(&mut table[..]);
        let table = graph.table("table", cat, table, quants[4]).unwrap();
        let up = graph.upsample_nearest("up", cat, factor).unwrap();
        for t in [sum, cat, table, up] {
            graph.output(t);
        }
        let inputs = [c, c, other].map(|c| random.bytes(h * w * c));
        check(&graph, &inputs);
    }

    #[test]
    fn pooling(h in 1usize..=12, w in 1usize..=12, c in channels(), kernel in [1usize..=4, 1usize..=4], stride in [1usize..=3, 1usize..=3],
               pads in [0usize..=3, 0usize..=3, 0usize..=3, 0usize..=3], count_pads: bool, seed: u64) {
        // Windows must see the map, not padding alone.
        let [top, left, bottom, right] = [0, 1, 2, 3].map(|side| pads[side] % kernel[side % 2]);
        let window = Window { kernel, stride, dilation: [1, 1], pads: Pads { top, left, bottom, right } };
        prop_assume!(fits(&window, h, w));
        let mut random = Random::new(seed);
        let mut graph = Graph::new();
        let (from, to) = (random.quant(), random.quant());
        let x = graph.input("x", Shape::new(h, w, c), from).unwrap();
        let max = graph.max_pool("max", x, window).unwrap();
        let mean = graph.average_pool("mean", x, window, count_pads, to).unwrap();
        graph.output(max);
        graph.output(mean);
        check(&graph, &[random.bytes(h * w * c)]);
    }
}
