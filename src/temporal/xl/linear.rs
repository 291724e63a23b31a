//! Matrix times vector for a few vectors at once, weights read once for all of them.
//!
//! The outputs of a tile stay in registers while the inputs are walked, so every product is `weight[tile] * input[i]`: there
//! is no sum across lanes, the compiler vectorises it for any register width, and the order of additions is the same for one
//! vector as for many.

use super::cpu::Cpu;

/// Outputs a tile: four AVX or eight SSE/NEON registers.
const TILE: usize = 32;

/// One tile's weights for one input, or its running sums.
type Tile = [f32; TILE];

/// `y = W x + b`, the weights packed `[tile][input][TILE]` and the last tile filled up with zeros.
pub(super) struct Linear {
    inputs: usize,
    outputs: usize,
    packed: Vec<Tile>,
    bias: Vec<Tile>,
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
    pub fn apply(
        &self,
        cpu: Cpu,
        persons: usize,
        x: &[f32],
        x_stride: usize,
        y: &mut [f32],
        y_stride: usize,
    ) {
        let row = |p: usize| &x[p * x_stride..][..self.inputs];
        // Two tiles' sums at a time, of two persons or of one: eight registers hide an addition's latency.
        for tile in 0..self.bias.len() {
            for p in (1..persons).step_by(2) {
                let sums = two_rows(cpu, &self.bias[tile], self.weights(tile), [row(p - 1), row(p)]);
                self.store(&sums[0], tile, &mut y[(p - 1) * y_stride..]);
                self.store(&sums[1], tile, &mut y[p * y_stride..]);
            }
        }
        if persons % 2 == 1 {
            let (x, y) = (row(persons - 1), &mut y[(persons - 1) * y_stride..]);
            for tile in (0..self.bias.len()).step_by(2) {
                let next = (tile + 1).min(self.bias.len() - 1);
                let bias = [&self.bias[tile], &self.bias[next]];
                let sums = two_tiles(cpu, bias, [self.weights(tile), self.weights(next)], x);
                self.store(&sums[0], tile, y);
                self.store(&sums[1], next, y);
            }
        }
    }

    fn weights(&self, tile: usize) -> &[Tile] {
        &self.packed[tile * self.inputs..][..self.inputs]
    }

    fn store(&self, sums: &Tile, tile: usize, y: &mut [f32]) {
        let (start, stop) = (tile * TILE, ((tile + 1) * TILE).min(self.outputs));
        y[start..stop].copy_from_slice(&sums[..stop - start]);
    }
}

fn two_rows(cpu: Cpu, bias: &Tile, weights: &[Tile], x: [&[f32]; 2]) -> [Tile; 2] {
    match cpu {
        Cpu::Any => plain::two_rows::<{ Cpu::ANY_FUSES }>(bias, weights, x),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a `Proof` is made only where the processor was found to have AVX2 and FMA; else the function is safe.
        // Reason: a step takes a fifth of the time, see `cargo run --release --example temporal_step`.
        Cpu::Avx2(_) => unsafe { avx2::two_rows(bias, weights, x) },
    }
}

fn two_tiles(cpu: Cpu, bias: [&Tile; 2], weights: [&[Tile]; 2], x: &[f32]) -> [Tile; 2] {
    match cpu {
        Cpu::Any => plain::two_tiles::<{ Cpu::ANY_FUSES }>(bias, weights, x),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as in `two_rows`. Reason: likewise.
        Cpu::Avx2(_) => unsafe { avx2::two_tiles(bias, weights, x) },
    }
}

/// The arithmetic. Arrays by value, indices, loops of fixed length, and functions that are not inlined into larger ones: so
/// the compiler keeps the sums in registers.
///
/// `FUSED`: multiply and add as one instruction; where the processor has none it would be a slow library call.
#[allow(clippy::needless_range_loop, reason = "iterators over arrays leave the sums in memory")]
mod plain {
    use super::{TILE, Tile};

    #[inline(always)]
    fn add_product<const FUSED: bool>(sum: f32, a: f32, b: f32) -> f32 {
        if FUSED { a.mul_add(b, sum) } else { sum + a * b }
    }

    #[inline(always)]
    pub fn two_rows<const FUSED: bool>(bias: &Tile, weights: &[Tile], x: [&[f32]; 2]) -> [Tile; 2] {
        let mut sums = [*bias; 2];
        let x = [&x[0][..weights.len()], &x[1][..weights.len()]];
        for (i, weights) in weights.iter().enumerate() {
            for row in 0..2 {
                let v = x[row][i];
                for l in 0..TILE {
                    sums[row][l] = add_product::<FUSED>(sums[row][l], weights[l], v);
                }
            }
        }
        sums
    }

    #[inline(always)]
    pub fn two_tiles<const FUSED: bool>(bias: [&Tile; 2], weights: [&[Tile]; 2], x: &[f32]) -> [Tile; 2] {
        let mut sums = [*bias[0], *bias[1]];
        let weights = [&weights[0][..x.len()], &weights[1][..x.len()]];
        for (i, &v) in x.iter().enumerate() {
            for t in 0..2 {
                let weights = &weights[t][i];
                for l in 0..TILE {
                    sums[t][l] = add_product::<FUSED>(sums[t][l], weights[l], v);
                }
            }
        }
        sums
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{Tile, plain};

    #[target_feature(enable = "avx2,fma")]
    #[inline(never)]
    pub fn two_rows(bias: &Tile, weights: &[Tile], x: [&[f32]; 2]) -> [Tile; 2] {
        plain::two_rows::<true>(bias, weights, x)
    }

    #[target_feature(enable = "avx2,fma")]
    #[inline(never)]
    pub fn two_tiles(bias: [&Tile; 2], weights: [&[Tile]; 2], x: &[f32]) -> [Tile; 2] {
        plain::two_tiles::<true>(bias, weights, x)
    }
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
            let linear = Linear::new(&w, &b, inputs, outputs);
            let mut y = [vec![f32::NAN; persons * outputs], vec![f32::NAN; persons * outputs]];
            linear.apply(Cpu::Any, persons, &x, inputs, &mut y[0], outputs);
            linear.apply(Cpu::detect(), persons, &x, inputs, &mut y[1], outputs);
            for p in 0..persons {
                for o in 0..outputs {
                    let want: f32 = b[o] + (0..inputs).map(|i| w[o * inputs + i] * x[p * inputs + i]).sum::<f32>();
                    prop_assert!(y.iter().all(|y| (y[p * outputs + o] - want).abs() < 1e-4));
                }
                let mut alone = vec![0.0; outputs];
                linear.apply(Cpu::detect(), 1, &x[p * inputs..], inputs, &mut alone, outputs);
                prop_assert_eq!(&y[1][p * outputs..][..outputs], &alone[..], "a person's bits do not depend on the company");
            }
        }
    }
}
