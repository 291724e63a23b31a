//! One head of one person's attention over the cached entries.
//!
//! Entries lie side by side in blocks, so a score is a running sum in its own lane: nothing is added across lanes.

use super::cpu::Cpu;

pub(super) const WAVES: usize = 16;

/// Weights of the sines and of the cosines of an entry's age at every wavelength.
pub(super) type Wave = [[f32; WAVES]; 2];

/// Entries a block: two AVX registers.
pub(super) const LANES: usize = 16;

/// One number for each entry of a block.
pub(super) type Lanes = [f32; LANES];

/// Numbers that an AVX register holds.
const REGISTER: usize = 8;

/// What one head reads beside the query; an entry is one cached observation. Blocks hold finite numbers where no entry is yet.
pub(super) struct Head<'a> {
    /// `[head width]`: weights of the sines and cosines, and of the age itself.
    pub position: &'a [Wave],
    pub position_linear: &'a [f32],
    /// `[head width]`: the two learned biases.
    pub bias_content: &'a [f32],
    pub bias_position: &'a [f32],
    /// `[block][head width]`.
    pub keys: &'a [Lanes],
    /// Beginning at this head's part of the first entry.
    pub values: &'a [f32],
    /// Floats from one entry's value to the next one's.
    pub width: usize,
    /// `[block]`: sines and cosines of the entries' ages.
    pub waves: &'a [[[Lanes; WAVES]; 2]],
    /// `[block]`, nominal frames before now.
    pub ages: &'a [Lanes],
    /// Entries there are, one or more.
    pub entries: usize,
}

/// Puts what the head attends to over the query `[head width]`; `scores` is room for one block for each of the head's.
pub(super) fn look_back(cpu: Cpu, head: &Head, query: &mut [f32], scores: &mut [Lanes]) {
    match cpu {
        Cpu::Any => plain::<{ Cpu::ANY_FUSES }>(head, query, scores),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a `Proof` is made only where the processor was found to have AVX2 and FMA; else the function is safe.
        // Reason: a third of a step's time for one person, see `cargo run --release --example temporal_step`. Wider
        // registers gain nothing here: a head's width and a memory are a few of these.
        Cpu::Avx2(_) | Cpu::Avx512(_) => unsafe { avx2(head, query, scores) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[inline(never)]
fn avx2(head: &Head, query: &mut [f32], scores: &mut [Lanes]) {
    plain::<true>(head, query, scores);
}

#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "indices let the compiler see that loops are of equal length")]
fn plain<const FUSED: bool>(head: &Head, query: &mut [f32], scores: &mut [Lanes]) {
    let n = query.len();
    let scale = 1.0 / (n as f32).sqrt();
    let (position, linear) = (&head.position[..n], &head.position_linear[..n]);
    let (bias_content, bias_position) = (&head.bias_content[..n], &head.bias_position[..n]);
    let (mut by_sine, mut by_cosine) = ([0.0; WAVES], [0.0; WAVES]);
    for c in 0..n {
        let with_bias = query[c] + bias_position[c];
        let [sines, cosines] = &position[c];
        for w in 0..WAVES {
            by_sine[w] = add_product::<FUSED>(by_sine[w], with_bias, sines[w]);
        }
        for w in 0..WAVES {
            by_cosine[w] = add_product::<FUSED>(by_cosine[w], with_bias, cosines[w]);
        }
    }
    let by_age = sum_of_products(query, linear) + sum_of_products(bias_position, linear);
    for c in 0..n {
        query[c] += bias_content[c];
    }
    let scores = &mut scores[..head.entries.div_ceil(LANES)];
    for (b, score) in scores.iter_mut().enumerate() {
        let keys = &head.keys[b * n..][..n];
        let (ages, [sines, cosines]) = (&head.ages[b], &head.waves[b]);
        let (mut content, mut sine, mut cosine) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for c in 0..n {
            for l in 0..LANES {
                content[l] = add_product::<FUSED>(content[l], query[c], keys[c][l]);
            }
        }
        for w in 0..WAVES {
            for l in 0..LANES {
                sine[l] = add_product::<FUSED>(sine[l], by_sine[w], sines[w][l]);
            }
        }
        for w in 0..WAVES {
            for l in 0..LANES {
                cosine[l] = add_product::<FUSED>(cosine[l], by_cosine[w], cosines[w][l]);
            }
        }
        for l in 0..LANES {
            score[l] = (content[l] + (sine[l] + cosine[l]) + by_age * ages[l]) * scale;
        }
    }
    let unused = scores.len() * LANES - head.entries;
    scores[scores.len() - 1][LANES - unused..].fill(f32::NEG_INFINITY);
    let sum = exponentials(scores);
    let weights = &scores.as_flattened()[..head.entries];
    let mut c = 0;
    while c < n {
        c += match n - c {
            LANES.. => mix::<FUSED, LANES>(head, weights, sum, c, query),
            REGISTER.. => mix::<FUSED, REGISTER>(head, weights, sum, c, query),
            _ => {
                let mixed =
                    weights.iter().enumerate().map(|(j, weight)| weight * head.values[j * head.width + c]);
                query[c] = mixed.sum::<f32>() / sum;
                1
            }
        };
    }
}

/// Puts the entries' values, mixed by `weights / sum`, over `N` of the query from `c` on; returns `N`.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "indices let the compiler see that loops are of equal length")]
fn mix<const FUSED: bool, const N: usize>(
    head: &Head,
    weights: &[f32],
    sum: f32,
    c: usize,
    query: &mut [f32],
) -> usize {
    let mut mixed = [0.0; N];
    for (j, weight) in weights.iter().enumerate() {
        let value = &head.values[j * head.width + c..][..N];
        for l in 0..N {
            mixed[l] = add_product::<FUSED>(mixed[l], *weight, value[l]);
        }
    }
    for l in 0..N {
        query[c + l] = mixed[l] / sum;
    }
    N
}

/// Eight sums side by side: one alone would wait for each addition.
#[inline(always)]
fn sum_of_products(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; REGISTER];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<REGISTER>(), b.as_chunks::<REGISTER>());
    for (a, b) in a.iter().zip(b) {
        for l in 0..REGISTER {
            sums[l] += a[l] * b[l];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.into_iter().sum::<f32>() + rest
}

/// Turns scores into e^(score - largest) and returns their sum.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "indices let the compiler see that loops are of equal length")]
fn exponentials(scores: &mut [Lanes]) -> f32 {
    let mut most = [f32::NEG_INFINITY; LANES];
    for score in scores.iter() {
        for l in 0..LANES {
            most[l] = if score[l] > most[l] { score[l] } else { most[l] };
        }
    }
    let largest = most.into_iter().fold(f32::NEG_INFINITY, |a, b| if b > a { b } else { a });
    let mut sums = [0.0; LANES];
    for score in scores {
        for l in 0..LANES {
            score[l] = exp_of_negative(score[l] - largest);
            sums[l] += score[l];
        }
    }
    sums.into_iter().sum()
}

#[inline(always)]
fn add_product<const FUSED: bool>(sum: f32, a: f32, b: f32) -> f32 {
    if FUSED { a.mul_add(b, sum) } else { sum + a * b }
}

/// e^x for x of 0 or less, to 3 parts in 10⁷: straight-line arithmetic, so a row of scores is done eight at a time.
///
/// 2^n times a polynomial in the rest, n the nearest whole power; below e^-87 it stays there.
#[inline(always)]
fn exp_of_negative(x: f32) -> f32 {
    let x = if x > -87.0 { x } else { -87.0 };
    let power = x * std::f32::consts::LOG2_E;
    // Adding and taking away 1.5 * 2^23 rounds to the nearest whole number.
    let n = (power + 12_582_912.0) - 12_582_912.0;
    let r = (power - n) * std::f32::consts::LN_2;
    let series = 1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0));
    let value = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * series))));
    value * f32::from_bits(((n as i32 + 127) as u32) << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_right_to_a_few_units_in_the_last_place() {
        for i in 0..87_000 {
            let x = -0.001 * i as f32;
            let want = f64::from(x).exp();
            // The argument's own rounding grows with its size.
            let tolerance = 3e-7 + 1.2e-7 * f64::from(-x);
            assert!((f64::from(exp_of_negative(x)) / want - 1.0).abs() < tolerance, "{x}");
        }
        assert!(exp_of_negative(-1e9) < 1e-37 && exp_of_negative(f32::NAN) < 1e-37);
    }
}
