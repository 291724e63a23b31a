//! Matrix times vector for a few vectors at once, weights read once for all of them.
//!
//! The outputs of a tile stay in registers while the inputs are walked, so every product is `weight[tile] * input[i]`: there
//! is no sum across lanes, the compiler vectorises it for any register width, and the order of additions is fixed.

/// Outputs a tile: four AVX or eight SSE/NEON registers, enough independent sums to hide an addition's latency.
const TILE: usize = 32;

/// Vectors that share one reading of the weights; more would not fit the registers.
const TOGETHER: usize = 2;

/// `y = W x + b`, the weights packed `[tile][input][TILE]` and the last tile filled up with zeros.
pub(super) struct Linear {
    inputs: usize,
    outputs: usize,
    packed: Vec<[f32; TILE]>,
    bias: Vec<[f32; TILE]>,
}

impl Linear {
    /// From `weight` `[outputs, inputs]` row-major and `bias` `[outputs]` (empty for none).
    ///
    /// # Panics
    /// Where the lengths do not fit.
    pub fn new(weight: &[f32], bias: &[f32], inputs: usize, outputs: usize) -> Self {
        assert_eq!(weight.len(), inputs * outputs);
        assert!(bias.is_empty() || bias.len() == outputs);
        let tiles = outputs.div_ceil(TILE);
        let mut packed = vec![[0.0; TILE]; tiles * inputs];
        let mut padded = vec![[0.0; TILE]; tiles];
        for o in 0..outputs {
            let (tile, lane) = (o / TILE, o % TILE);
            for i in 0..inputs {
                packed[tile * inputs + i][lane] = weight[o * inputs + i];
            }
            if let Some(&b) = bias.get(o) {
                padded[tile][lane] = b;
            }
        }
        Self { inputs, outputs, packed, bias: padded }
    }

    /// `y[p] = W x[p] + b` for `persons` vectors; `x` has rows of `x_stride`, `y` rows of `y_stride` floats.
    ///
    /// # Panics
    /// Where a row is shorter than the matrix asks for.
    pub fn apply(&self, persons: usize, x: &[f32], x_stride: usize, y: &mut [f32], y_stride: usize) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the two features that the function is compiled for; it is safe otherwise.
            // Reason: 2-3 times the baseline's speed, see `posewire bench`.
            unsafe { self.apply_avx2(persons, x, x_stride, y, y_stride) };
            return;
        }
        self.apply_any::<{ cfg!(target_arch = "aarch64") }>(persons, x, x_stride, y, y_stride);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn apply_avx2(&self, persons: usize, x: &[f32], x_stride: usize, y: &mut [f32], y_stride: usize) {
        self.apply_any::<true>(persons, x, x_stride, y, y_stride);
    }

    /// `FUSED`: multiply and add as one instruction; where the processor has none it would be a slow library call.
    #[inline(always)]
    fn apply_any<const FUSED: bool>(
        &self,
        persons: usize,
        x: &[f32],
        x_stride: usize,
        y: &mut [f32],
        y_stride: usize,
    ) {
        let mut p = 0;
        while p + TOGETHER <= persons {
            let rows = [&x[p * x_stride..][..self.inputs], &x[(p + 1) * x_stride..][..self.inputs]];
            self.rows::<FUSED, TOGETHER>(rows, &mut y[p * y_stride..], y_stride);
            p += TOGETHER;
        }
        if p < persons {
            self.rows::<FUSED, 1>([&x[p * x_stride..][..self.inputs]], &mut y[p * y_stride..], y_stride);
        }
    }

    #[inline(always)]
    fn rows<const FUSED: bool, const N: usize>(&self, x: [&[f32]; N], y: &mut [f32], y_stride: usize) {
        for (tile, bias) in self.bias.iter().enumerate() {
            let weights = &self.packed[tile * self.inputs..][..self.inputs];
            let mut sums = [*bias; N];
            for (i, w) in weights.iter().enumerate() {
                for (sum, x) in sums.iter_mut().zip(&x) {
                    let x = x[i];
                    for (s, w) in sum.iter_mut().zip(w) {
                        *s = if FUSED { w.mul_add(x, *s) } else { *s + w * x };
                    }
                }
            }
            let (start, stop) = (tile * TILE, ((tile + 1) * TILE).min(self.outputs));
            for (p, sum) in sums.iter().enumerate() {
                y[p * y_stride + start..p * y_stride + stop].copy_from_slice(&sum[..stop - start]);
            }
        }
    }
}

/// Sum of products; eight running sums so that it vectorises.
#[inline]
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = a8.remainder().iter().zip(b8.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a8.zip(b8) {
        for ((s, a), b) in sums.iter_mut().zip(a).zip(b) {
            *s += a * b;
        }
    }
    ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7])) + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_packed_product_is_the_plain_one(inputs in 1..70usize, outputs in 1..100usize, persons in 1..6usize, seed: u64) {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut draw = |n: usize| -> Vec<f32> { (0..n).map(|_| random.f32() - 0.5).collect() };
            let (w, b, x) = (draw(inputs * outputs), draw(outputs), draw(persons * inputs));
            let mut y = vec![f32::NAN; persons * outputs];
            Linear::new(&w, &b, inputs, outputs).apply(persons, &x, inputs, &mut y, outputs);
            for p in 0..persons {
                for o in 0..outputs {
                    let want: f32 = b[o] + (0..inputs).map(|i| w[o * inputs + i] * x[p * inputs + i]).sum::<f32>();
                    prop_assert!((y[p * outputs + o] - want).abs() < 1e-4);
                }
            }
        }

        #[test]
        fn dot_is_the_sum_of_products(n in 0..60usize, seed: u64) {
            let mut random = fastrand::Rng::with_seed(seed);
            let a: Vec<f32> = (0..n).map(|_| random.f32() - 0.5).collect();
            let want: f32 = a.iter().map(|v| v * v).sum();
            prop_assert!((dot(&a, &a) - want).abs() < 1e-5);
        }
    }
}
