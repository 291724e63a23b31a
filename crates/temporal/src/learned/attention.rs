//! One person's attention over the cached entries, every head of a layer.
//!
//! Entries lie side by side in blocks, so a score is a running sum in its own lane: nothing is added across lanes. All heads go
//! through a stage before the next begins: alone, a head would wait at the end of each for its last additions.

use super::cpu::Cpu;
use math::exp_nonpositive;

pub(super) const WAVES: usize = 16;

/// Weights of the sines and of the cosines of an entry's age at every wavelength.
pub(super) type Wave = [[f32; WAVES]; 2];

/// Entries a block: one AVX-512 register, two of AVX.
pub(super) const LANES: usize = 16;

/// One number for each entry of a block; a load across two cache lines would take twice as long.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Lanes(pub [f32; LANES]);

/// Numbers that an AVX register holds.
pub(super) const REGISTER: usize = 8;

/// A part of one head's value of one entry.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(super) struct Part(pub [f32; REGISTER]);

/// What a layer's heads read beside the query; an entry is one cached observation. Blocks hold finite numbers where no entry is yet.
pub(super) struct Attention<'a> {
    /// `[width]`, head after head: weights of the sines and cosines, and of the age itself.
    pub position: &'a [Wave],
    pub position_linear: &'a [f32],
    /// `[width]`: the two learned biases.
    pub bias_content: &'a [f32],
    pub bias_position: &'a [f32],
    /// `[head][block][head width]`.
    pub keys: &'a [Lanes],
    /// `[head][entry][part]`, room for entries that are not yet there included; the last part filled up with anything finite.
    pub values: &'a [Part],
    /// `[block]`: sines and cosines of the entries' ages.
    pub waves: &'a [[[Lanes; WAVES]; 2]],
    /// `[block]`, nominal frames before now.
    pub ages: &'a [Lanes],
    /// Entries there are, one or more.
    pub entries: usize,
}

/// What stands between the stages, made once.
pub(super) struct Room {
    /// `[head]`.
    positions: Vec<Position>,
    /// `[head][block]`: scores, then weights before they are divided by their sum.
    scores: Vec<Lanes>,
    /// `[head]`.
    sums: Vec<f32>,
}

impl Room {
    pub fn new(heads: usize, blocks: usize) -> Self {
        Self {
            positions: vec![Position::default(); heads],
            scores: vec![Lanes([0.0; LANES]); heads * blocks],
            sums: vec![0.0; heads],
        }
    }
}

/// What one head makes of an entry's age, for the present query.
#[derive(Clone, Copy, Default)]
struct Position {
    by_wave: Wave,
    by_age: f32,
}

/// Puts what each head attends to over its part of the query `[width]`; `room` was made for as many heads and blocks.
pub(super) fn look_back(cpu: Cpu, attention: &Attention, query: &mut [f32], room: &mut Room) {
    match cpu {
        Cpu::Any => plain::<{ Cpu::ANY_FUSES }>(attention, query, room),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a `Proof` is made only where the processor was found to have AVX2 and FMA; else the function is safe.
        // Reason: a third of a step's time for one person, see `cargo run --release -p temporal --example step`.
        Cpu::Avx2(_) => unsafe { avx2(attention, query, room) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above, and `Avx512` only where it was found to have AVX-512.
        // Reason: half as many products to wait for as with AVX2.
        Cpu::Avx512(_) => unsafe { avx512(attention, query, room) },
    }
}

/// Turns the entries' sines and cosines on by `turn`, the sine and the cosine of the time gone by at each wavelength.
pub(super) fn turn_on(cpu: Cpu, waves: &mut [[[Lanes; WAVES]; 2]], turn: &[(f32, f32); WAVES]) {
    match cpu {
        Cpu::Any => turn_plain(waves, turn),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as in `look_back`. Reason: this stands for each person alone, and a quarter of the instructions do.
        Cpu::Avx2(_) | Cpu::Avx512(_) => unsafe { turn_avx2(waves, turn) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[inline(never)]
fn turn_avx2(waves: &mut [[[Lanes; WAVES]; 2]], turn: &[(f32, f32); WAVES]) {
    turn_plain(waves, turn);
}

#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "indices let the compiler see that loops are of equal length")]
fn turn_plain(waves: &mut [[[Lanes; WAVES]; 2]], turn: &[(f32, f32); WAVES]) {
    for [sines, cosines] in waves {
        for w in 0..WAVES {
            let (sin, cos) = turn[w];
            let (sines, cosines) = (&mut sines[w].0, &mut cosines[w].0);
            for l in 0..LANES {
                let (s, c) = (sines[l], cosines[l]);
                (sines[l], cosines[l]) = (s * cos + c * sin, c * cos - s * sin);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[inline(never)]
fn avx2(attention: &Attention, query: &mut [f32], room: &mut Room) {
    plain::<true>(attention, query, room);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
#[inline(never)]
fn avx512(attention: &Attention, query: &mut [f32], room: &mut Room) {
    plain::<true>(attention, query, room);
}

// Indices, here and below: without link-time optimisation `zip` is a call.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "see above")]
fn plain<const FUSED: bool>(attention: &Attention, query: &mut [f32], room: &mut Room) {
    let heads = room.positions.len();
    let n = query.len() / heads;
    for h in 0..heads {
        room.positions[h] = weigh_ages::<FUSED>(attention, h * n, &mut query[h * n..][..n]);
    }
    let (blocks, used) = (attention.ages.len(), attention.entries.div_ceil(LANES));
    for h in 0..heads {
        let (position, query) = (&room.positions[h], &query[h * n..][..n]);
        for b in 0..used {
            let keys = &attention.keys[(h * blocks + b) * n..][..n];
            room.scores[h * blocks + b] = score::<FUSED>(attention, b, position, keys, query);
        }
    }
    let unused = used * LANES - attention.entries;
    for h in 0..heads {
        let scores = &mut room.scores[h * blocks..][..used];
        scores[used - 1].0[LANES - unused..].fill(f32::NEG_INFINITY);
        room.sums[h] = exponentials(scores);
    }
    for h in 0..heads {
        let (weights, sum) = (&room.scores[h * blocks..][..used], room.sums[h]);
        let values = &attention.values[h * attention.values.len() / heads..];
        mix_all::<FUSED>(values, weights, attention.entries, sum, &mut query[h * n..][..n]);
    }
}

/// For the head whose part of the width begins at `start`; leaves `query` with the bias that its scores of content have.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "indices let the compiler see that loops are of equal length")]
fn weigh_ages<const FUSED: bool>(attention: &Attention, start: usize, query: &mut [f32]) -> Position {
    let n = query.len();
    let (position, linear) = (&attention.position[start..][..n], &attention.position_linear[start..][..n]);
    let bias_content = &attention.bias_content[start..][..n];
    let bias_position = &attention.bias_position[start..][..n];
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
    Position { by_wave: [by_sine, by_cosine], by_age }
}

/// One head's scores of the entries in block `b`.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "indices let the compiler see that loops are of equal length")]
fn score<const FUSED: bool>(
    attention: &Attention,
    b: usize,
    position: &Position,
    keys: &[Lanes],
    query: &[f32],
) -> Lanes {
    let scale = 1.0 / (keys.len() as f32).sqrt();
    let (ages, [sines, cosines]) = (&attention.ages[b].0, &attention.waves[b]);
    let [by_sine, by_cosine] = &position.by_wave;
    // Two sums: one alone would take longer than the sines and cosines beside it.
    let (mut even, mut odd) = ([0.0; LANES], [0.0; LANES]);
    let ((keys, last_key), (query, last_query)) = (keys.as_chunks::<2>(), query.as_chunks::<2>());
    let query = &query[..keys.len()];
    for c in 0..keys.len() {
        for l in 0..LANES {
            even[l] = add_product::<FUSED>(even[l], query[c][0], keys[c][0].0[l]);
        }
        for l in 0..LANES {
            odd[l] = add_product::<FUSED>(odd[l], query[c][1], keys[c][1].0[l]);
        }
    }
    if let ([key], [query]) = (last_key, last_query) {
        for l in 0..LANES {
            even[l] = add_product::<FUSED>(even[l], *query, key.0[l]);
        }
    }
    let (mut sine, mut cosine) = ([0.0; LANES], [0.0; LANES]);
    for w in 0..WAVES {
        for l in 0..LANES {
            sine[l] = add_product::<FUSED>(sine[l], by_sine[w], sines[w].0[l]);
        }
    }
    for w in 0..WAVES {
        for l in 0..LANES {
            cosine[l] = add_product::<FUSED>(cosine[l], by_cosine[w], cosines[w].0[l]);
        }
    }
    let mut score = [0.0; LANES];
    for l in 0..LANES {
        score[l] = ((even[l] + odd[l]) + (sine[l] + cosine[l]) + position.by_age * ages[l]) * scale;
    }
    Lanes(score)
}

/// Puts one head's values, mixed by `weights / sum`, over its query.
#[inline(always)]
fn mix_all<const FUSED: bool>(
    values: &[Part],
    weights: &[Lanes],
    entries: usize,
    sum: f32,
    query: &mut [f32],
) {
    let parts = query.len().div_ceil(REGISTER);
    let mut part = 0;
    while part < parts {
        let query = &mut query[part * REGISTER..];
        part += match parts - part {
            3.. => mix::<FUSED, 3>(&values[part..], parts, weights, entries, sum, query),
            _ => mix::<FUSED, 1>(&values[part..], parts, weights, entries, sum, query),
        };
    }
}

/// As [`mix_all`] for `N` of the `parts` of each entry, their sums side by side; returns `N`.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "indices let the compiler see that loops are of equal length")]
fn mix<const FUSED: bool, const N: usize>(
    values: &[Part],
    parts: usize,
    weights: &[Lanes],
    entries: usize,
    sum: f32,
    query: &mut [f32],
) -> usize {
    let mut mixed = [[0.0; REGISTER]; N];
    for b in 0..weights.len() {
        let (weights, first) = (&weights[b].0, b * LANES);
        for l in 0..LANES.min(entries - first) {
            let value = &values[(first + l) * parts..][..N];
            for p in 0..N {
                for r in 0..REGISTER {
                    mixed[p][r] = add_product::<FUSED>(mixed[p][r], weights[l], value[p].0[r]);
                }
            }
        }
    }
    let mixed = mixed.as_flattened_mut();
    for v in mixed.iter_mut() {
        *v /= sum;
    }
    let n = query.len().min(N * REGISTER);
    query[..n].copy_from_slice(&mixed[..n]);
    N
}

/// Eight sums side by side: one alone would wait for each addition.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "indices let the compiler see that loops are of equal length")]
fn sum_of_products(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; REGISTER];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<REGISTER>(), b.as_chunks::<REGISTER>());
    let b = &b[..a.len()];
    for i in 0..a.len() {
        for l in 0..REGISTER {
            sums[l] += a[i][l] * b[i][l];
        }
    }
    let b_rest = &b_rest[..a_rest.len()];
    for i in 0..a_rest.len() {
        sums[i] += a_rest[i] * b_rest[i];
    }
    sums.into_iter().sum()
}

/// Turns scores into e^(score - largest) and returns their sum.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "indices let the compiler see that loops are of equal length")]
fn exponentials(scores: &mut [Lanes]) -> f32 {
    let mut most = [f32::NEG_INFINITY; LANES];
    for Lanes(score) in scores.iter() {
        for l in 0..LANES {
            most[l] = if score[l] > most[l] { score[l] } else { most[l] };
        }
    }
    let largest = halved(most, |a, b| if b > a { b } else { a });
    let mut sums = [0.0; LANES];
    for Lanes(score) in scores {
        for l in 0..LANES {
            score[l] = exp_nonpositive(score[l] - largest);
            sums[l] += score[l];
        }
    }
    halved(sums, |a, b| a + b)
}

/// All lanes in one, by halves: one after another each would wait for the one before.
#[inline(always)]
fn halved(mut lanes: [f32; LANES], of: impl Fn(f32, f32) -> f32) -> f32 {
    let mut n = LANES;
    while n > 1 {
        n /= 2;
        for l in 0..n {
            lanes[l] = of(lanes[l], lanes[l + n]);
        }
    }
    lanes[0]
}

#[inline(always)]
fn add_product<const FUSED: bool>(sum: f32, a: f32, b: f32) -> f32 {
    if FUSED { a.mul_add(b, sum) } else { sum + a * b }
}
