//! Running a graph on every kernel and comparing bits.

use std::sync::Arc;

use int8::reference::{self, Values};
use int8::{Graph, Kernel, Output, Quant, Shape, State, Weights};

/// Output values, dense, as the reference gives them.
pub fn dense(output: &Output<'_>) -> Values {
    let Shape { h, w, .. } = output.shape;
    if output.quant.is_none() {
        return Values::F32(output.dequantised());
    }
    let pixels = (0..h).flat_map(|y| (0..w).map(move |x| (y, x)));
    Values::U8(pixels.flat_map(|(y, x)| output.quantised(y, x).iter().copied()).collect())
}

pub fn run(state: &mut State, inputs: &[Vec<u8>]) -> Vec<Values> {
    for (i, bytes) in inputs.iter().enumerate() {
        let mut input = state.input_mut(i);
        // What lies between the rows is not the caller's, but a careless caller writes it.
        input.bytes.fill(77);
        input.copy_from(bytes);
    }
    state.run();
    (0..state.program().outputs()).map(|i| dense(&state.output(i))).collect()
}

/// Panics unless every kernel gives the reference's bits, twice in a row from a dirty arena.
pub fn check(graph: &Graph, inputs: &[Vec<u8>]) {
    let slices: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let expected = reference::evaluate(graph, &slices);
    for kernel in Kernel::available() {
        let program = Arc::new(graph.build(kernel).expect("the reference ran it"));
        let mut state = program.state();
        let inverted: Vec<Vec<u8>> = inputs.iter().map(|i| i.iter().map(|b| !b).collect()).collect();
        run(&mut state, &inverted);
        for round in 0..2 {
            let got = run(&mut state, inputs);
            for (i, (got, expected)) in got.iter().zip(&expected).enumerate() {
                assert!(
                    same(got, expected),
                    "{kernel}, output {i}, round {round}: {}",
                    difference(got, expected)
                );
            }
        }
    }
}

fn same(a: &Values, b: &Values) -> bool {
    match (a, b) {
        (Values::U8(a), Values::U8(b)) => a == b,
        (Values::F32(a), Values::F32(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
        }
        _ => false,
    }
}

fn difference(a: &Values, b: &Values) -> String {
    let real = |v: &Values| -> Vec<f32> {
        match v {
            Values::U8(v) => v.iter().map(|&q| f32::from(q)).collect(),
            Values::F32(v) => v.clone(),
        }
    };
    let (a, b) = (real(a), real(b));
    let wrong: Vec<usize> = (0..a.len().min(b.len())).filter(|&i| a[i].to_bits() != b[i].to_bits()).collect();
    match wrong.first() {
        Some(&i) => format!("{} of {} differ, first [{i}]: {} for {}", wrong.len(), a.len(), a[i], b[i]),
        None => format!("{} values for {}", a.len(), b.len()),
    }
}

/// Seeded values for tests: extremes are common, because that is where kernels break.
pub struct Random(pub fastrand::Rng);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let kind = self.0.u8(0..4);
        (0..len)
            .map(|_| match kind {
                0 => 255,
                1 => [0, 255][self.0.usize(0..2)],
                _ => self.0.u8(..),
            })
            .collect()
    }

    fn weight(&mut self, kind: u8) -> i8 {
        match kind {
            0 => 127,
            1 => -128,
            2 => [127, -128][self.0.usize(0..2)],
            _ => self.0.i8(-127..=127),
        }
    }

    pub fn zero_point(&mut self) -> u8 {
        match self.0.u8(0..4) {
            0 => 0,
            1 => 255,
            _ => self.0.u8(..),
        }
    }

    pub fn quant(&mut self) -> Quant {
        Quant { scale: 0.01 + self.0.f32() * 0.1, zero_point: self.zero_point() }
    }

    /// Weights whose results spread over u8 when stored with a scale near 0.05; some channels saturate.
    pub fn weights(
        &mut self,
        out_channels: usize,
        in_channels: usize,
        taps: usize,
        groups: usize,
    ) -> Weights {
        let each = taps * in_channels / groups;
        let kind = self.0.u8(0..12);
        let values = (0..out_channels * each).map(|_| self.weight(kind)).collect();
        let spread = 0.02 / (each as f32).sqrt();
        let scales = (0..out_channels)
            .map(|_| spread * (0.2 + self.0.f32()) * if self.0.u8(0..16) == 0 { 50.0 } else { 1.0 })
            .collect();
        let bias = (0..out_channels).map(|_| self.0.i32(-20_000..20_000)).collect();
        Weights { out_channels, groups, values, scales, bias }
    }
}
