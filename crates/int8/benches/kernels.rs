//! Speed of the operators, one by one, on every kernel that this CPU can run.
//!
//! `cargo bench -p int8` (0.3 s for each operator on each kernel; `cargo bench -p int8 -- conv_3x3` for some of them). An item
//! is a multiply-accumulate: `200 Gitem/s` are 200 GMAC/s. Operators that multiply nothing count the bytes that they write.
//! How near a kernel comes to its core's peak: `cargo run --release -p int8 --example layers`.

use std::sync::Arc;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use int8::{Activation, Graph, Kernel, Quant, Shape, Tensor, Weights, Window};

fn main() {
    divan::main();
}

const QUANT: Quant = Quant { scale: 0.02, zero_point: 7 };

fn conv(graph: &mut Graph, input: Tensor, out_channels: usize, window: Window, groups: usize) -> Tensor {
    let taps = window.kernel[0] * window.kernel[1] * graph.shape(input).c / groups;
    let mut random = fastrand::Rng::with_seed(7);
    let weights = Weights {
        out_channels,
        groups,
        values: (0..out_channels * taps).map(|_| random.i8(-127..=127)).collect(),
        scales: vec![0.001; out_channels],
        bias: vec![100; out_channels],
    };
    graph.conv("conv", input, window, weights, QUANT, Activation::Relu).expect("a convolution that fits")
}

/// Times a network of one input, `shape`, and what `build` makes of it.
fn run(
    bencher: Bencher<'_, '_>,
    kernel: Kernel,
    shape: Shape,
    build: impl FnOnce(&mut Graph, Tensor) -> Tensor,
) {
    let mut graph = Graph::new();
    let input = graph.input("x", shape, QUANT).expect("an input");
    let out = build(&mut graph, input);
    graph.output(out);
    let program = Arc::new(graph.build(kernel).expect("a program"));
    let macs: u64 = program.steps().map(|s| s.macs).sum();
    let mut state = program.state();
    let mut random = fastrand::Rng::with_seed(7);
    state.input_mut(0).fill_pixels(|_, _, channels| random.fill(channels));
    if macs > 0 {
        bencher.counter(ItemsCount::new(macs)).bench_local(|| state.run());
    } else {
        bencher.counter(BytesCount::new(graph.shape(out).len())).bench_local(|| state.run());
    }
}

/// A picture's first layer: three channels fill no vector.
#[divan::bench(args = Kernel::available(), max_time = 0.3)]
fn conv_3x3_stride_2_of_rgb(bencher: Bencher<'_, '_>, kernel: Kernel) {
    run(bencher, kernel, Shape::new(192, 192, 3), |g, x| conv(g, x, 16, Window::square(3, 2, 1), 1));
}

#[divan::bench(args = Kernel::available(), max_time = 0.3)]
fn conv_3x3_64_to_64(bencher: Bencher<'_, '_>, kernel: Kernel) {
    run(bencher, kernel, Shape::new(24, 24, 64), |g, x| conv(g, x, 64, Window::square(3, 1, 1), 1));
}

/// The sum is taken in the convolution's own store.
#[divan::bench(args = Kernel::available(), max_time = 0.3)]
fn conv_3x3_64_to_64_and_residual(bencher: Bencher<'_, '_>, kernel: Kernel) {
    run(bencher, kernel, Shape::new(24, 24, 64), |g, x| {
        let y = conv(g, x, 64, Window::square(3, 1, 1), 1);
        g.add("sum", x, y, QUANT, Activation::Relu).expect("equal shapes")
    });
}

#[divan::bench(args = Kernel::available(), max_time = 0.3)]
fn conv_1x1_192_to_64(bencher: Bencher<'_, '_>, kernel: Kernel) {
    run(bencher, kernel, Shape::new(24, 24, 192), |g, x| conv(g, x, 64, Window::square(1, 1, 0), 1));
}

#[divan::bench(args = Kernel::available(), max_time = 0.3)]
fn depthwise_3x3_192(bencher: Bencher<'_, '_>, kernel: Kernel) {
    run(bencher, kernel, Shape::new(24, 24, 192), |g, x| conv(g, x, 192, Window::square(3, 1, 1), 192));
}

/// A sum that no convolution takes in.
#[divan::bench(args = Kernel::available(), max_time = 0.3)]
fn residual_add(bencher: Bencher<'_, '_>, kernel: Kernel) {
    run(bencher, kernel, Shape::new(48, 48, 64), |g, x| {
        g.add("sum", x, x, QUANT, Activation::Relu).expect("equal shapes")
    });
}

#[divan::bench(args = Kernel::available(), max_time = 0.3)]
fn resize_nearest_by_2(bencher: Bencher<'_, '_>, kernel: Kernel) {
    run(bencher, kernel, Shape::new(24, 24, 64), |g, x| {
        g.upsample_nearest("up", x, [2, 2]).expect("a small factor")
    });
}

#[divan::bench(args = Kernel::available(), max_time = 0.3)]
fn max_pool_3x3_stride_2(bencher: Bencher<'_, '_>, kernel: Kernel) {
    run(bencher, kernel, Shape::new(48, 48, 64), |g, x| {
        g.max_pool("pool", x, Window::square(3, 2, 1)).expect("a window that fits")
    });
}

/// Dense RGB into a network's input, whose pixels have four bytes. Cropping and scaling: `--example pixels` of posewire.
#[divan::bench(max_time = 0.3)]
fn preprocess_rgb_192x192(bencher: Bencher<'_, '_>) {
    let mut graph = Graph::new();
    let input = graph.input("x", Shape::new(192, 192, 3), QUANT).expect("an input");
    let out = conv(&mut graph, input, 4, Window::square(3, 2, 1), 1);
    graph.output(out);
    let mut state = Arc::new(graph.build(Kernel::Portable).expect("a program")).state();
    let picture = vec![100; 192 * 192 * 3];
    bencher.counter(BytesCount::of_slice(&picture)).bench_local(|| state.input_mut(0).copy_from(&picture));
}
