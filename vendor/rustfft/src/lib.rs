//! Discrete Fourier transforms of any length, small rather than fast: the part of rustfft's interface that tract uses.
//!
//! A length is split by its prime factors, so it costs as many multiplications as it has points times the sum of those factors: a
//! prime length takes its square.

#![forbid(unsafe_code)]

use std::fmt::Debug;
use std::marker::PhantomData;

use num_complex::Complex;
pub use num_traits;
use num_traits::{FromPrimitive, Signed};

/// A real number to transform: f32 or f64.
pub trait FftNum: Copy + FromPrimitive + Signed + Sync + Send + Debug + 'static {}

impl<T> FftNum for T where T: Copy + FromPrimitive + Signed + Sync + Send + Debug + 'static {}

/// The sign of the exponent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FftDirection {
    /// `X[k] = Σ x[n] · e^(−2πi·k·n/N)`.
    Forward,
    /// `X[k] = Σ x[n] · e^(2πi·k·n/N)`, not divided by N.
    Inverse,
}

/// Makes [`Fft`]s.
#[derive(Debug)]
pub struct FftPlanner<T>(PhantomData<T>);

impl<T: FftNum> FftPlanner<T> {
    /// A planner; it holds nothing.
    #[allow(clippy::new_without_default)] // rustfft's has one only for its caches
    pub fn new() -> Self {
        Self(PhantomData)
    }

    /// A transform of `len` points.
    ///
    /// # Panics
    /// If `T` cannot hold a cosine (an integer).
    pub fn plan_fft(&mut self, len: usize, direction: FftDirection) -> Fft<T> {
        let turn = match direction {
            FftDirection::Forward => -std::f64::consts::TAU,
            FftDirection::Inverse => std::f64::consts::TAU,
        };
        let real = |v| T::from_f64(v).expect("a floating-point type");
        let root = |k| {
            let (sin, cos) = (turn * k as f64 / len as f64).sin_cos();
            Complex::new(real(cos), real(sin))
        };
        Fft { roots: (0..len).map(root).collect() }
    }

    /// A forward transform of `len` points.
    ///
    /// # Panics
    /// As [`FftPlanner::plan_fft`].
    pub fn plan_fft_forward(&mut self, len: usize) -> Fft<T> {
        self.plan_fft(len, FftDirection::Forward)
    }
}

/// A transform of one length.
#[derive(Debug)]
pub struct Fft<T> {
    /// e^(±2πi·k/N).
    roots: Vec<Complex<T>>,
}

impl<T: FftNum> Fft<T> {
    /// Transforms each run of N values of `buffer` in place.
    ///
    /// # Panics
    /// If `buffer` is no whole number of runs.
    pub fn process(&self, buffer: &mut [Complex<T>]) {
        let len = self.roots.len();
        if len == 0 {
            return;
        }
        assert_eq!(buffer.len() % len, 0, "the buffer holds a part of a transform of {len}");
        let mut input = Vec::with_capacity(len);
        for run in buffer.chunks_exact_mut(len) {
            input.clear();
            input.extend_from_slice(run);
            self.split(&input, 1, run);
        }
    }

    /// The transform of every `stride`-th of `input`'s values: `out.len()` · `stride` is N.
    fn split(&self, input: &[Complex<T>], stride: usize, out: &mut [Complex<T>]) {
        let len = out.len();
        let parts = smallest_factor(len);
        let part_len = len / parts;
        if parts == 1 {
            out[0] = input[0];
            return;
        }
        for (part, out) in out.chunks_exact_mut(part_len).enumerate() {
            self.split(&input[part * stride..], stride * parts, out);
        }
        let zero = Complex::new(T::zero(), T::zero());
        let mut terms = vec![zero; parts];
        for k in 0..part_len {
            terms.iter_mut().enumerate().for_each(|(part, term)| *term = out[part * part_len + k]);
            for k in (k..len).step_by(part_len) {
                let rotated =
                    terms.iter().enumerate().map(|(part, &term)| term * self.roots[part * k % len * stride]);
                out[k] = rotated.fold(zero, |sum, term| sum + term);
            }
        }
    }
}

fn smallest_factor(len: usize) -> usize {
    (2..).take_while(|p| p * p <= len).find(|p| len.is_multiple_of(*p)).unwrap_or(len)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_definition(input: &[Complex<f64>], sign: f64) -> Vec<Complex<f64>> {
        let turn = |k: usize, n: usize| sign * std::f64::consts::TAU * (k * n) as f64 / input.len() as f64;
        let value = |k| input.iter().enumerate().map(|(n, x)| x * Complex::from_polar(1.0, turn(k, n))).sum();
        (0..input.len()).map(value).collect()
    }

    proptest! {
        #[test]
        fn every_length_is_what_the_definition_says(
            values in prop::collection::vec((-1.0..1.0, -1.0..1.0), 1..=130),
            inverse: bool,
        ) {
            let input: Vec<Complex<f64>> = values.into_iter().map(|(re, im)| Complex::new(re, im)).collect();
            let (direction, sign) =
                if inverse { (FftDirection::Inverse, 1.0) } else { (FftDirection::Forward, -1.0) };
            let mut out = input.clone();
            FftPlanner::new().plan_fft(input.len(), direction).process(&mut out);
            for (got, expected) in out.iter().zip(by_definition(&input, sign)) {
                prop_assert!((got - expected).norm() < 1e-9 * input.len() as f64, "{got} for {expected}");
            }
        }
    }

    #[test]
    fn several_runs_are_transformed_each() {
        let one = Complex::new(1.0f32, 0.0);
        let mut buffer = [one; 8];
        FftPlanner::new().plan_fft_forward(4).process(&mut buffer);
        let zero = Complex::new(0.0, 0.0);
        let expected = [one * 4.0, zero, zero, zero].repeat(2);
        assert!(buffer.iter().zip(expected).all(|(a, b)| (a - b).norm() < 1e-6), "{buffer:?}");
    }

    #[test]
    fn nothing_is_transformed_to_nothing() {
        FftPlanner::<f32>::new().plan_fft_forward(0).process(&mut []);
    }
}
