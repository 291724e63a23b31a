//! One head of one person's attention over the cached entries.

use super::cpu::Cpu;

pub(super) const WAVES: usize = 16;

/// Sines and cosines of an entry's age at every wavelength.
pub(super) type Wave = [f32; 2 * WAVES];

/// As many running sums as an AVX register holds.
const LANES: usize = 8;

/// What one head reads beside the query; an entry is one cached observation.
pub(super) struct Head<'a> {
    /// Floats from one entry's key or value to the next one's.
    pub width: usize,
    /// `[head width]`: weights of the sines and cosines, and of the age itself.
    pub position: &'a [Wave],
    pub position_linear: &'a [f32],
    /// `[head width]`: the two learned biases.
    pub bias_content: &'a [f32],
    pub bias_position: &'a [f32],
    /// Beginning at this head's part of the first entry.
    pub keys: &'a [f32],
    pub values: &'a [f32],
    /// `[entry]`.
    pub waves: &'a [Wave],
    /// `[entry]`, nominal frames before now.
    pub ages: &'a [f32],
}

/// Puts what the head attends to over the query `[head width]`; `scores` is room for one number an entry.
pub(super) fn look_back(cpu: Cpu, head: &Head, query: &mut [f32], scores: &mut [f32]) {
    match cpu {
        Cpu::Any => plain::<{ Cpu::ANY_FUSES }>(head, query, scores),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a `Proof` is made only where the processor was found to have AVX2 and FMA; else the function is safe.
        // Reason: half of a step's time for one person, see `cargo run --release --example temporal_step`.
        Cpu::Avx2(_) => unsafe { avx2(head, query, scores) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[inline(never)]
fn avx2(head: &Head, query: &mut [f32], scores: &mut [f32]) {
    plain::<true>(head, query, scores);
}

#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "indices let the compiler see that loops are of equal length")]
fn plain<const FUSED: bool>(head: &Head, query: &mut [f32], scores: &mut [f32]) {
    let n = query.len();
    let scale = 1.0 / (n as f32).sqrt();
    let (position, linear) = (&head.position[..n], &head.position_linear[..n]);
    let (bias_content, bias_position) = (&head.bias_content[..n], &head.bias_position[..n]);
    let (mut by_wave, mut by_age): (Wave, f32) = ([0.0; 2 * WAVES], 0.0);
    for c in 0..n {
        let with_bias = query[c] + bias_position[c];
        let wave = &position[c];
        for w in 0..2 * WAVES {
            by_wave[w] = add_product::<FUSED>(by_wave[w], with_bias, wave[w]);
        }
        by_age += with_bias * linear[c];
        query[c] += bias_content[c];
    }
    let mut largest = f32::NEG_INFINITY;
    for j in 0..scores.len() {
        let key = &head.keys[j * head.width..][..n];
        let products = add_products::<FUSED>([0.0; LANES], query, key);
        let products = add_products::<FUSED>(products, &by_wave, &head.waves[j]);
        scores[j] = (total(products) + by_age * head.ages[j]) * scale;
        largest = if scores[j] > largest { scores[j] } else { largest };
    }
    for j in 0..scores.len() {
        scores[j] = exp_of_negative(scores[j] - largest);
    }
    let mut sum = 0.0;
    for j in 0..scores.len() {
        sum += scores[j];
    }
    query.fill(0.0);
    for j in 0..scores.len() {
        let weight = scores[j] / sum;
        let value = &head.values[j * head.width..][..n];
        for c in 0..n {
            query[c] = add_product::<FUSED>(query[c], weight, value[c]);
        }
    }
}

#[inline(always)]
fn add_product<const FUSED: bool>(sum: f32, a: f32, b: f32) -> f32 {
    if FUSED { a.mul_add(b, sum) } else { sum + a * b }
}

/// `sums[l] += a[l] * b[l]` over all whole groups of [`LANES`], the rest into the first lanes.
#[inline(always)]
fn add_products<const FUSED: bool>(mut sums: [f32; LANES], a: &[f32], b: &[f32]) -> [f32; LANES] {
    let n = a.len();
    let b = &b[..n];
    for i in 0..n / LANES {
        let (a, b) = (&a[LANES * i..LANES * i + LANES], &b[LANES * i..LANES * i + LANES]);
        for l in 0..LANES {
            sums[l] = add_product::<FUSED>(sums[l], a[l], b[l]);
        }
    }
    for i in n / LANES * LANES..n {
        sums[i % LANES] += a[i] * b[i];
    }
    sums
}

/// Sum across the lanes.
#[inline(always)]
fn total(s: [f32; LANES]) -> f32 {
    ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
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
    fn products_are_summed_to_the_last() {
        let a: Vec<f32> = (0..59).map(|i| 0.1 * i as f32 - 2.0).collect();
        for n in 0..a.len() {
            let want: f32 = a[..n].iter().map(|v| v * v).sum();
            for sums in [
                add_products::<false>([0.0; LANES], &a[..n], &a),
                add_products::<true>([0.0; LANES], &a[..n], &a),
            ] {
                assert!((total(sums) - want).abs() <= 1e-5 * want, "{n}");
            }
        }
    }

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
