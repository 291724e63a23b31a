use proptest::prelude::*;

use super::*;
use crate::learned::{norm::NORM_EPSILON, weights::testing};

type Tensors = Vec<(String, Vec<usize>, Vec<f32>)>;

/// A network of random weights: what it computes is as hard to get right as with trained ones.
pub fn random_file(hyper: &Hyper, seed: u64) -> (Vec<u8>, Tensors) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut tensors = Tensors::new();
    let mut add = |name: String, shape: &[usize], size: f32, middle: f32| {
        let n = shape.iter().product();
        let values = (0..n).map(|_| middle + size * (2.0 * random.f32() - 1.0)).collect();
        tensors.push((name, shape.to_vec(), values));
    };
    let (d, f, h, dh) = (hyper.width, hyper.feed_forward, hyper.heads, hyper.head_width());
    let spread = |inputs: usize| 1.5 / (inputs as f32).sqrt();
    for (name, outputs, inputs) in [("embed", d, FEATURES), ("head", OUTPUTS, d)] {
        add(format!("{name}.weight"), &[outputs, inputs], spread(inputs), 0.0);
        add(format!("{name}.bias"), &[outputs], 0.3, 0.0);
    }
    add("norm.weight".into(), &[d], 0.3, 1.0);
    add("norm.bias".into(), &[d], 0.3, 0.0);
    for l in 0..hyper.layers {
        for norm in ["norm_attention", "norm_feed"] {
            add(format!("layers.{l}.{norm}.weight"), &[d], 0.3, 1.0);
            add(format!("layers.{l}.{norm}.bias"), &[d], 0.3, 0.0);
        }
        for (name, outputs, inputs) in [
            ("query", d, d),
            ("key", d, d),
            ("value", d, d),
            ("out", d, d),
            ("feed_in", f, d),
            ("feed_out", d, f),
        ] {
            add(format!("layers.{l}.{name}.weight"), &[outputs, inputs], spread(inputs), 0.0);
            if !["query", "key", "value"].contains(&name) {
                add(format!("layers.{l}.{name}.bias"), &[outputs], 0.3, 0.0);
            }
        }
        add(format!("layers.{l}.position"), &[h, dh, 2 * WAVES + 1], 0.5, 0.0);
        add(format!("layers.{l}.bias_content"), &[h, dh], 0.5, 0.0);
        add(format!("layers.{l}.bias_position"), &[h, dh], 0.5, 0.0);
    }
    add("lead_frames".into(), &[1], 0.5, 0.5);
    add("sigma_scale".into(), &[2], 0.5, 1.0);
    (testing::write(hyper, &tensors), tensors)
}

/// The whole sequence at once, masked, in double precision and from the definition.
struct Reference<'a> {
    hyper: &'a Hyper,
    tensors: &'a Tensors,
}

type Rows = Vec<Vec<f64>>;

impl Reference<'_> {
    fn tensor(&self, name: &str) -> Vec<f64> {
        let found = self.tensors.iter().find(|(n, ..)| n == name).unwrap();
        found.2.iter().map(|&v| f64::from(v)).collect()
    }

    fn linear(&self, name: &str, rows: &Rows) -> Rows {
        let w = self.tensor(&format!("{name}.weight"));
        let inputs = rows[0].len();
        let bias = format!("{name}.bias");
        let b = self.tensors.iter().any(|(n, ..)| *n == bias).then(|| self.tensor(&bias));
        rows.iter()
            .map(|x| {
                (0..w.len() / inputs)
                    .map(|o| {
                        let sum: f64 = (0..inputs).map(|i| w[o * inputs + i] * x[i]).sum();
                        sum + b.as_ref().map_or(0.0, |b| b[o])
                    })
                    .collect()
            })
            .collect()
    }

    fn norm(&self, name: &str, rows: &Rows) -> Rows {
        let (g, b) = (self.tensor(&format!("{name}.weight")), self.tensor(&format!("{name}.bias")));
        rows.iter()
            .map(|x| {
                let n = x.len() as f64;
                let mean = x.iter().sum::<f64>() / n;
                let sd =
                    (x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n + f64::from(NORM_EPSILON)).sqrt();
                x.iter().enumerate().map(|(i, v)| (v - mean) / sd * g[i] + b[i]).collect()
            })
            .collect()
    }

    fn run(&self, features: &Rows, times: &[f64]) -> Rows {
        let (d, dh) = (self.hyper.width, self.hyper.head_width());
        let mut x = self.linear("embed", features);
        for l in 0..self.hyper.layers {
            let name = |part: &str| format!("layers.{l}.{part}");
            let normed = self.norm(&name("norm_attention"), &x);
            let [q, k, v] = ["query", "key", "value"].map(|part| self.linear(&name(part), &normed));
            let position = self.tensor(&name("position"));
            let (u, vp) = (self.tensor(&name("bias_content")), self.tensor(&name("bias_position")));
            let mut mixed: Rows = vec![vec![0.0; d]; x.len()];
            for i in 0..x.len() {
                for c0 in (0..d).step_by(dh) {
                    let first = i.saturating_sub(self.hyper.memory);
                    let scores: Vec<f64> = (first..=i)
                        .map(|j| {
                            let r = times[i] - times[j];
                            let mut score = 0.0;
                            for c in c0..c0 + dh {
                                score += (q[i][c] + u[c]) * k[j][c];
                                let row = &position[c * (2 * WAVES + 1)..][..2 * WAVES + 1];
                                let mut p = row[2 * WAVES] * r / f64::from(LINEAR_FRAMES);
                                for w in 0..WAVES {
                                    let angle = r * std::f64::consts::TAU
                                        / (2.0 * 2f64.powf(7.0 * w as f64 / (WAVES - 1) as f64));
                                    p += row[w] * angle.sin() + row[WAVES + w] * angle.cos();
                                }
                                score += (q[i][c] + vp[c]) * p;
                            }
                            score / (dh as f64).sqrt()
                        })
                        .collect();
                    let largest = scores.iter().cloned().fold(f64::MIN, f64::max);
                    let sum: f64 = scores.iter().map(|s| (s - largest).exp()).sum();
                    for (j, s) in (first..=i).zip(&scores) {
                        for c in c0..c0 + dh {
                            mixed[i][c] += (s - largest).exp() / sum * v[j][c];
                        }
                    }
                }
            }
            plus(&mut x, &self.linear(&name("out"), &mixed));
            let mut fed = self.linear(&name("feed_in"), &self.norm(&name("norm_feed"), &x));
            fed.iter_mut().flatten().for_each(|v| *v = v.max(0.0));
            plus(&mut x, &self.linear(&name("feed_out"), &fed));
        }
        self.linear("head", &self.norm("norm", &x))
    }
}

fn plus(x: &mut Rows, y: &Rows) {
    x.iter_mut().flatten().zip(y.iter().flatten()).for_each(|(x, y)| *x += y);
}

const SMALL: Hyper = Hyper { width: 24, layers: 2, heads: 3, feed_forward: 40, memory: 5 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Several persons, each with their own irregular times, stepping together in random company or alone.
    #[test]
    fn stepping_equals_the_masked_sequence_in_any_company(seed: u64, steps in 1..30usize, persons in 1..5usize) {
        let mut random = fastrand::Rng::with_seed(seed);
        let (file, tensors) = random_file(&SMALL, seed);
        let network = Network::load(&Weights::open(&file).unwrap()).unwrap();
        let mut memories: Vec<Memory> = (0..persons).map(|_| network.memory()).collect();
        let (mut scratch, mut observed) = (network.scratch(), Observed::new());
        let mut answers = vec![[0.0; OUTPUTS]; persons];
        let mut told: Vec<(Rows, Vec<f64>, Rows)> = vec![Default::default(); persons];
        for _ in 0..steps {
            let mut company = Vec::new();
            for p in 0..persons {
                if random.u8(..) < 160 {
                    company.push((p, 0.05 + 3.0 * random.f32() * random.f32()));
                }
            }
            for (i, &(p, dt)) in company.iter().enumerate() {
                observed.features[i].iter_mut().for_each(|v| *v = 2.0 * random.f32() - 1.0);
                let last = told[p].1.last().copied().unwrap_or(0.0);
                told[p].0.push(observed.features[i].iter().map(|&v| f64::from(v)).collect());
                told[p].1.push(last + f64::from(dt));
            }
            network.step(&company, &observed, &mut memories, &mut scratch, &mut answers);
            for (i, &(p, _)) in company.iter().enumerate() {
                told[p].2.push(answers[i].iter().map(|&v| f64::from(v)).collect());
            }
        }
        for (features, times, outputs) in told.iter().filter(|t| !t.0.is_empty()) {
            let want = Reference { hyper: &SMALL, tensors: &tensors }.run(features, times);
            for (got, want) in outputs.iter().flatten().zip(want.iter().flatten()) {
                prop_assert!((got - want).abs() < 1e-3, "{got} {want}");
            }
        }
    }
}

#[test]
fn an_observation_older_than_the_memory_of_every_layer_has_no_effect() {
    let (file, _) = random_file(&SMALL, 3);
    let network = Network::load(&Weights::open(&file).unwrap()).unwrap();
    let run = |first: f32| {
        let (mut memories, mut scratch) = ([network.memory()], network.scratch());
        let (mut observed, mut answers) = (Observed::new(), [[0.0; OUTPUTS]]);
        let mut random = fastrand::Rng::with_seed(5);
        for i in 0..=SMALL.layers * SMALL.memory + 1 {
            observed.features[0].iter_mut().for_each(|v| *v = random.f32());
            if i == 0 {
                observed.features[0].fill(first);
            }
            network.step(&[(0, 1.0)], &observed, &mut memories, &mut scratch, &mut answers);
        }
        answers[0]
    };
    assert_eq!(run(0.0), run(1.0));
}
