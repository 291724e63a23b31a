//! Matrix times vector for a few vectors at once, weights read once for all of them.
//!
//! The outputs of a tile stay in registers while the inputs are walked, so every product is `weight[tile] * input[i]`: there
//! is no sum across lanes, the compiler vectorises it for any register width, and the order of additions is the same for one
//! vector as for many.

use super::{cpu::Cpu, weights::Weights};
use crate::TemporalError;

/// Half the outputs of a tile, an AVX-512 register: the largest array of which the compiler makes registers without fail.
const HALF: usize = 16;
const TILE: usize = 2 * HALF;

/// One tile's weights for one input, or its running sums; a load across two cache lines would take twice as long.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Tile([[f32; HALF]; 2]);

/// `y = W x + b`, the weights packed `[tile][input][TILE]` and the last tile filled up with zeros.
pub(super) struct Linear {
    inputs: usize,
    outputs: usize,
    packed: Vec<Tile>,
    bias: Vec<Tile>,
}

impl Linear {
    /// The tensors `weight` `[outputs, inputs]` and `bias` `[outputs]` of a file.
    pub fn load(
        w: &Weights,
        [weight, bias]: [&str; 2],
        inputs: usize,
        outputs: usize,
    ) -> Result<Self, TemporalError> {
        let (weight, bias) = (w.take(weight, &[outputs, inputs])?, w.take(bias, &[outputs])?);
        Ok(Self::new(&weight, &bias, inputs, outputs))
    }

    /// From `weight` `[outputs, inputs]` row-major and `bias` `[outputs]` (empty for none).
    ///
    /// # Panics
    /// Where the lengths do not fit.
    pub fn new(weight: &[f32], bias: &[f32], inputs: usize, outputs: usize) -> Self {
        assert_eq!(weight.len(), inputs * outputs);
        assert!(bias.is_empty() || bias.len() == outputs);
        let tiles = outputs.div_ceil(TILE);
        let mut packed = vec![Tile([[0.0; HALF]; 2]); tiles * inputs];
        let mut padded = vec![Tile([[0.0; HALF]; 2]); tiles];
        for o in 0..outputs {
            let (tile, lane) = (o / TILE, o % TILE);
            for i in 0..inputs {
                packed[tile * inputs + i].0.as_flattened_mut()[lane] = weight[o * inputs + i];
            }
            if let Some(&b) = bias.get(o) {
                padded[tile].0.as_flattened_mut()[lane] = b;
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
        // A tile stays in the nearest cache for all groups of persons, and in registers for one.
        let row = |p: usize| &x[p * x_stride..][..self.inputs];
        for tile in 0..self.bias.len() {
            let (bias, weights) = (&self.bias[tile], self.weights(tile));
            let mut p = 0;
            while cpu.sums_four_rows() && p + 4 <= persons {
                let sums = rows(cpu, bias, weights, [row(p), row(p + 1), row(p + 2), row(p + 3)]);
                self.store(&sums, tile, &mut y[p * y_stride..], y_stride);
                p += 4;
            }
            while p + 2 <= persons {
                let sums = rows(cpu, bias, weights, [row(p), row(p + 1)]);
                self.store(&sums, tile, &mut y[p * y_stride..], y_stride);
                p += 2;
            }
        }
        if persons % 2 == 1 {
            self.one(cpu, row(persons - 1), &mut y[(persons - 1) * y_stride..]);
        }
    }

    /// Two tiles' sums at a time: one tile's registers do not hide an addition's latency.
    fn one(&self, cpu: Cpu, x: &[f32], y: &mut [f32]) {
        for tile in (0..self.bias.len()).step_by(2) {
            let next = (tile + 1).min(self.bias.len() - 1);
            let bias = [&self.bias[tile], &self.bias[next]];
            let [sums, next_sums] = two_tiles(cpu, bias, [self.weights(tile), self.weights(next)], x);
            self.store(&[sums], tile, y, 0);
            self.store(&[next_sums], next, y, 0);
        }
    }

    fn weights(&self, tile: usize) -> &[Tile] {
        &self.packed[tile * self.inputs..][..self.inputs]
    }

    /// One row's sums each to `y`, its rows `y_stride` apart.
    #[inline(always)]
    fn store(&self, sums: &[Tile], tile: usize, y: &mut [f32], y_stride: usize) {
        let (start, stop) = (tile * TILE, ((tile + 1) * TILE).min(self.outputs));
        for (p, sums) in sums.iter().enumerate() {
            let to = &mut y[p * y_stride + start..p * y_stride + stop];
            let (halves, rest) = to.as_chunks_mut::<HALF>();
            // Halves are registers: a copy of unknown length would be a call for each.
            for (h, half) in halves.iter_mut().enumerate() {
                *half = sums.0[h];
            }
            if !rest.is_empty() {
                rest.copy_from_slice(&sums.0[halves.len()][..rest.len()]);
            }
        }
    }
}

/// One tile for `ROWS` vectors.
fn rows<const ROWS: usize>(cpu: Cpu, bias: &Tile, weights: &[Tile], x: [&[f32]; ROWS]) -> [Tile; ROWS] {
    match cpu {
        Cpu::Any => plain::rows::<{ Cpu::ANY_FUSES }, ROWS>(bias, weights, x),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a `Proof` is made only where the processor was found to have AVX2 and FMA; else the function is safe.
        // Reason: a step takes a fifth of the time, see `cargo run --release -p temporal --example step`.
        Cpu::Avx2(_) => unsafe { avx2::rows(bias, weights, x) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above, and `Avx512` only where it was found to have AVX-512.
        // Reason: four persons' products in half the time of AVX2's.
        Cpu::Avx512(_) => unsafe { avx512::rows(bias, weights, x) },
    }
}

fn two_tiles(cpu: Cpu, bias: [&Tile; 2], weights: [&[Tile]; 2], x: &[f32]) -> [Tile; 2] {
    match cpu {
        Cpu::Any => plain::two_tiles::<{ Cpu::ANY_FUSES }>(bias, weights, x),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as in `rows`. Reason: likewise.
        Cpu::Avx2(_) => unsafe { avx2::two_tiles(bias, weights, x) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as in `rows`. Reason: likewise.
        Cpu::Avx512(_) => unsafe { avx512::two_tiles(bias, weights, x) },
    }
}

/// The arithmetic. Arrays by value, indices, loops of fixed length, and functions that are not inlined into larger ones: so
/// the compiler keeps the sums in registers.
///
/// `FUSED`: multiply and add as one instruction; where the processor has none it would be a slow library call.
#[allow(clippy::needless_range_loop, reason = "iterators over arrays leave the sums in memory")]
mod plain {
    use super::{HALF, Tile};

    #[inline(always)]
    fn add_product<const FUSED: bool>(sum: f32, a: f32, b: f32) -> f32 {
        if FUSED { a.mul_add(b, sum) } else { sum + a * b }
    }

    #[inline(always)]
    pub fn rows<const FUSED: bool, const ROWS: usize>(
        bias: &Tile,
        weights: &[Tile],
        x: [&[f32]; ROWS],
    ) -> [Tile; ROWS] {
        let mut sums = [*bias; ROWS];
        let mut rows = x;
        for row in 0..ROWS {
            rows[row] = &x[row][..weights.len()];
        }
        for (i, weights) in weights.iter().enumerate() {
            for row in 0..ROWS {
                let v = rows[row][i];
                for h in 0..2 {
                    for l in 0..HALF {
                        sums[row].0[h][l] = add_product::<FUSED>(sums[row].0[h][l], weights.0[h][l], v);
                    }
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
                for h in 0..2 {
                    for l in 0..HALF {
                        sums[t].0[h][l] = add_product::<FUSED>(sums[t].0[h][l], weights.0[h][l], v);
                    }
                }
            }
        }
        sums
    }
}

/// The same arithmetic compiled for processors that have more than every x86-64.
#[cfg(target_arch = "x86_64")]
macro_rules! compiled_for {
    ($name:ident, $features:literal) => {
        mod $name {
            use super::{Tile, plain};

            #[target_feature(enable = $features)]
            #[inline(never)]
            pub fn rows<const ROWS: usize>(bias: &Tile, weights: &[Tile], x: [&[f32]; ROWS]) -> [Tile; ROWS] {
                plain::rows::<true, ROWS>(bias, weights, x)
            }

            #[target_feature(enable = $features)]
            #[inline(never)]
            pub fn two_tiles(bias: [&Tile; 2], weights: [&[Tile]; 2], x: &[f32]) -> [Tile; 2] {
                plain::two_tiles::<true>(bias, weights, x)
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
compiled_for!(avx2, "avx2,fma");
#[cfg(target_arch = "x86_64")]
compiled_for!(avx512, "avx512f,avx2,fma");

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_packed_product_is_the_plain_one(inputs in 1..70usize, outputs in 1..100usize, persons in 1..9usize, seed: u64) {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut draw = |n: usize| -> Vec<f32> { (0..n).map(|_| random.f32() - 0.5).collect() };
            let (w, b, x) = (draw(inputs * outputs), draw(outputs), draw(persons * inputs));
            let linear = Linear::new(&w, &b, inputs, outputs);
            for cpu in Cpu::all() {
                let mut y = vec![f32::NAN; persons * outputs];
                linear.apply(cpu, persons, &x, inputs, &mut y, outputs);
                for p in 0..persons {
                    for o in 0..outputs {
                        let want: f32 = b[o] + (0..inputs).map(|i| w[o * inputs + i] * x[p * inputs + i]).sum::<f32>();
                        prop_assert!((y[p * outputs + o] - want).abs() < 1e-4);
                    }
                    let mut alone = vec![0.0; outputs];
                    linear.apply(cpu, 1, &x[p * inputs..], inputs, &mut alone, outputs);
                    prop_assert_eq!(&y[p * outputs..][..outputs], &alone[..], "a person's bits do not depend on the company");
                }
            }
        }
    }
}
