//! A layer norm over rows.

use super::weights::Weights;
use crate::TemporalError;

pub(super) const NORM_EPSILON: f32 = 1e-5;

pub(super) struct Norm {
    gain: Vec<f32>,
    bias: Vec<f32>,
}

impl Norm {
    /// `name.weight` and `name.bias` of `[width]`.
    pub fn load(w: &Weights, name: &str, width: usize) -> Result<Self, TemporalError> {
        Ok(Self {
            gain: w.take(&format!("{name}.weight"), &[width])?,
            bias: w.take(&format!("{name}.bias"), &[width])?,
        })
    }

    /// Rows of `x` to rows of `y`. Indices, here and below: without link-time optimisation `zip` is a call.
    #[allow(clippy::needless_range_loop, reason = "see above")]
    pub fn apply(&self, x: &[f32], y: &mut [f32]) {
        let width = self.gain.len();
        let (gain, bias) = (&self.gain[..width], &self.bias[..width]);
        for row in 0..x.len() / width {
            let (x, y) = (&x[row * width..][..width], &mut y[row * width..][..width]);
            let mean = sum(x, |v| v) / width as f32;
            let variance = sum(x, |v| (v - mean) * (v - mean)) / width as f32;
            let scale = 1.0 / (variance + NORM_EPSILON).sqrt();
            for i in 0..width {
                y[i] = (x[i] - mean) * scale * gain[i] + bias[i];
            }
        }
    }
}

/// Sum of `of(value)`, eight sums side by side: one alone would wait for each addition.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "see `Norm::apply`")]
fn sum(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0; 8];
    let (whole, rest) = values.as_chunks::<8>();
    for values in whole {
        for l in 0..8 {
            sums[l] += of(values[l]);
        }
    }
    for l in 0..rest.len() {
        sums[l] += of(rest[l]);
    }
    sums.into_iter().sum()
}

/// `x += y`, of `x`'s length.
#[allow(clippy::needless_range_loop, reason = "see `Norm::apply`")]
pub(super) fn add(x: &mut [f32], y: &[f32]) {
    let y = &y[..x.len()];
    for i in 0..x.len() {
        x[i] += y[i];
    }
}
