//! One step of a gated recurrent network (Cho et al., 2014): a state a layer and person, nothing looked back on.
//!
//! The observation x is the features and, beside them, the observation and its running means. With e = E x and, layer by layer,
//!
//! r = σ(W_r x + U_r h), z = σ(W_z x + U_z h), n = tanh(W_n x + r ∘ U_n h), h ← (1 - z) ∘ n + z ∘ h,
//!
//! every product with its bias, the answer is `O norm(e + h)`, h the last layer's state. `models/train/posetrain/study/recurrent.py` trains it
//! and names the tensors.

use pose::MAX_PERSONS;

use super::{
    BANK, Core, OUTPUTS, Observed,
    cpu::Cpu,
    frame::FEATURES,
    linear::Linear,
    norm::{Norm, add},
    weights::Weights,
};
use math::logistic;

use crate::TemporalError;

const INPUTS: usize = FEATURES + BANK;
/// Of the stacked matrices: reset, update, new.
const GATES: usize = 3;

/// `[layer][width]`; zeros before the first observation.
pub struct Memory(Vec<f32>);

/// Buffers of one step, `[person]` first.
pub struct Scratch {
    inputs: Vec<[f32; INPUTS]>,
    embedded: Vec<f32>,
    x: Vec<f32>,
    states: Vec<f32>,
    of_input: Vec<f32>,
    of_state: Vec<f32>,
}

struct Layer {
    /// `[3 width, width]` each.
    of_input: Linear,
    of_state: Linear,
}

/// The network's weights; memories and buffers stand outside.
pub struct Network {
    width: usize,
    embed: Linear,
    layers: Vec<Layer>,
    norm: Norm,
    head: Linear,
    cpu: Cpu,
}

impl Core for Network {
    const NAME: &'static str = "gru";
    type Memory = Memory;
    type Scratch = Scratch;

    fn load(w: &Weights) -> Result<Self, TemporalError> {
        let d = w.hyper.width;
        let linear = |weight: &str, bias: &str, inputs, outputs| -> Result<Linear, TemporalError> {
            let (weight, bias) = (w.take(weight, &[outputs, inputs])?, w.take(bias, &[outputs])?);
            Ok(Linear::new(&weight, &bias, inputs, outputs))
        };
        let stacked = |of: &str, layer: usize| {
            let name = |what: &str| format!("cells.{what}_{of}_l{layer}");
            linear(&name("weight"), &name("bias"), d, GATES * d)
        };
        let layer = |l| Ok(Layer { of_input: stacked("ih", l)?, of_state: stacked("hh", l)? });
        Ok(Self {
            width: d,
            embed: linear("embed.weight", "embed.bias", INPUTS, d)?,
            layers: (0..w.hyper.layers).map(layer).collect::<Result<_, TemporalError>>()?,
            norm: Norm::load(w, "head.norm", d)?,
            head: linear("head.out.weight", "head.out.bias", d, OUTPUTS)?,
            cpu: Cpu::detect(),
        })
    }

    fn memory(&self) -> Memory {
        Memory(vec![0.0; self.layers.len() * self.width])
    }

    fn forget(memory: &mut Memory) {
        memory.0.fill(0.0);
    }

    fn scratch(&self) -> Scratch {
        let rows = |width: usize| vec![0.0; MAX_PERSONS * width];
        let d = self.width;
        Scratch {
            inputs: vec![[0.0; INPUTS]; MAX_PERSONS],
            embedded: rows(d),
            x: rows(d),
            states: rows(d),
            of_input: rows(GATES * d),
            of_state: rows(GATES * d),
        }
    }

    fn step(
        &self,
        slots: &[(usize, f32)],
        observed: &Observed,
        memories: &mut [Memory],
        s: &mut Scratch,
        outputs: &mut [[f32; OUTPUTS]],
    ) {
        let (n, d, cpu) = (slots.len(), self.width, self.cpu);
        for (i, input) in s.inputs[..n].iter_mut().enumerate() {
            let (features, bank) = input.split_at_mut(FEATURES);
            features.copy_from_slice(&observed.features[i]);
            bank.copy_from_slice(&observed.banks[i]);
        }
        self.embed.apply(cpu, n, s.inputs.as_flattened(), INPUTS, &mut s.embedded, d);
        s.x[..n * d].copy_from_slice(&s.embedded[..n * d]);
        for (l, layer) in self.layers.iter().enumerate() {
            for (state, &(slot, _)) in s.states.chunks_exact_mut(d).zip(slots) {
                state.copy_from_slice(&memories[slot].0[l * d..][..d]);
            }
            layer.of_input.apply(cpu, n, &s.x, d, &mut s.of_input, GATES * d);
            layer.of_state.apply(cpu, n, &s.states, d, &mut s.of_state, GATES * d);
            for (i, &(slot, _)) in slots.iter().enumerate() {
                let state = &mut memories[slot].0[l * d..][..d];
                let stacked = i * GATES * d..(i + 1) * GATES * d;
                gate(&s.of_input[stacked.clone()], &s.of_state[stacked], state);
                s.x[i * d..][..d].copy_from_slice(state);
            }
        }
        add(&mut s.x[..n * d], &s.embedded);
        self.norm.apply(&s.x[..n * d], &mut s.embedded);
        self.head.apply(cpu, n, &s.embedded, d, outputs.as_flattened_mut(), OUTPUTS);
    }
}

/// Takes one layer's `state` a step on. `of_input` and `of_state` are `[3 width]`: reset, update, new.
fn gate(of_input: &[f32], of_state: &[f32], state: &mut [f32]) {
    let d = state.len();
    for (i, h) in state.iter_mut().enumerate() {
        let reset = logistic(of_input[i] + of_state[i]);
        let update = logistic(of_input[d + i] + of_state[d + i]);
        let new = (of_input[2 * d + i] + reset * of_state[2 * d + i]).tanh();
        *h = (1.0 - update) * new + update * *h;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::learned::{norm::NORM_EPSILON, weights::Hyper, weights::testing};

    const SMALL: Hyper = Hyper { width: 10, layers: 2, heads: 1, feed_forward: 1, memory: 1 };

    type Tensors = Vec<(String, Vec<usize>, Vec<f32>)>;
    type Rows = Vec<Vec<f64>>;

    fn random_file(seed: u64) -> (Vec<u8>, Tensors) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut tensors = Tensors::new();
        let mut add = |name: &str, shape: &[usize], size: f32, middle: f32| {
            let values = (0..shape.iter().product()).map(|_| middle + size * (2.0 * random.f32() - 1.0));
            tensors.push((name.to_owned(), shape.to_vec(), values.collect()));
        };
        let d = SMALL.width;
        for (name, outputs, inputs, size) in [("embed", d, INPUTS, 0.1), ("head.out", OUTPUTS, d, 0.5)] {
            add(&format!("{name}.weight"), &[outputs, inputs], size, 0.0);
            add(&format!("{name}.bias"), &[outputs], 0.3, 0.0);
        }
        add("head.norm.weight", &[d], 0.3, 1.0);
        add("head.norm.bias", &[d], 0.3, 0.0);
        for l in 0..SMALL.layers {
            for of in ["ih", "hh"] {
                add(&format!("cells.weight_{of}_l{l}"), &[GATES * d, d], 0.8, 0.0);
                add(&format!("cells.bias_{of}_l{l}"), &[GATES * d], 0.3, 0.0);
            }
        }
        (testing::write(&SMALL, &tensors), tensors)
    }

    /// One person's whole sequence in double precision and from the definition.
    struct Reference(Tensors);

    impl Reference {
        fn tensor(&self, name: &str) -> Vec<f64> {
            let found = self.0.iter().find(|(n, ..)| n == name).unwrap();
            found.2.iter().map(|&v| f64::from(v)).collect()
        }

        fn linear(&self, weight: &str, bias: &str, x: &[f64]) -> Vec<f64> {
            let w = self.tensor(weight);
            let product = |row: &[f64]| row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
            w.chunks_exact(x.len()).zip(self.tensor(bias)).map(|(row, b)| product(row) + b).collect()
        }

        fn run(&self, inputs: &[Vec<f64>]) -> Rows {
            let d = SMALL.width;
            let sigma = |v: f64| 1.0 / (1.0 + (-v).exp());
            let mut states = vec![vec![0.0; d]; SMALL.layers];
            let mut out = Vec::new();
            for input in inputs {
                let e = self.linear("embed.weight", "embed.bias", input);
                let mut x = e.clone();
                for (l, h) in states.iter_mut().enumerate() {
                    let [i, s] = [("ih", &x), ("hh", &*h)].map(|(of, v)| {
                        self.linear(&format!("cells.weight_{of}_l{l}"), &format!("cells.bias_{of}_l{l}"), v)
                    });
                    for k in 0..d {
                        let (r, z) = (sigma(i[k] + s[k]), sigma(i[d + k] + s[d + k]));
                        h[k] = (1.0 - z) * (i[2 * d + k] + r * s[2 * d + k]).tanh() + z * h[k];
                    }
                    x = h.clone();
                }
                x.iter_mut().zip(&e).for_each(|(x, e)| *x += e);
                let mean = x.iter().sum::<f64>() / d as f64;
                let variance = x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / d as f64;
                let sd = (variance + f64::from(NORM_EPSILON)).sqrt();
                let (gain, bias) = (self.tensor("head.norm.weight"), self.tensor("head.norm.bias"));
                let normed: Vec<f64> = (0..d).map(|k| (x[k] - mean) / sd * gain[k] + bias[k]).collect();
                out.push(self.linear("head.out.weight", "head.out.bias", &normed));
            }
            out
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn stepping_in_any_company_equals_the_sequence_from_the_definition(seed: u64, steps in 1..20usize, persons in 1..5usize) {
            let mut random = fastrand::Rng::with_seed(seed);
            let (file, tensors) = random_file(seed);
            let network = Network::load(&Weights::open(&file).unwrap()).unwrap();
            let mut memories: Vec<Memory> = (0..persons).map(|_| network.memory()).collect();
            let (mut scratch, mut observed) = (network.scratch(), Observed::new());
            let mut answers = vec![[0.0; OUTPUTS]; persons];
            let mut told: Vec<(Rows, Rows)> = vec![Default::default(); persons];
            for _ in 0..steps {
                let company: Vec<_> = (0..persons).filter(|_| random.u8(..) < 160).map(|p| (p, 1.0)).collect();
                for (i, &(p, _)) in company.iter().enumerate() {
                    let (features, bank) = (&mut observed.features[i], &mut observed.banks[i]);
                    features.iter_mut().chain(&mut *bank).for_each(|v| *v = 2.0 * random.f32() - 1.0);
                    told[p].0.push(features.iter().chain(&*bank).map(|&v| f64::from(v)).collect());
                }
                network.step(&company, &observed, &mut memories, &mut scratch, &mut answers);
                for (answer, &(p, _)) in answers.iter().zip(&company) {
                    told[p].1.push(answer.iter().map(|&v| f64::from(v)).collect());
                }
            }
            let reference = Reference(tensors);
            for (inputs, outputs) in &told {
                for (got, want) in outputs.iter().flatten().zip(reference.run(inputs).iter().flatten()) {
                    prop_assert!((got - want).abs() < 1e-4, "{got} {want}");
                }
            }
        }
    }

    #[test]
    fn a_memory_that_was_forgotten_is_an_empty_one() {
        let network = Network::load(&Weights::open(&random_file(2).0).unwrap()).unwrap();
        let mut scratch = network.scratch();
        let mut step = |memories: &mut [Memory; 1]| {
            let mut answers = [[0.0; OUTPUTS]];
            network.step(&[(0, 1.0)], &Observed::new(), memories, &mut scratch, &mut answers);
            answers[0]
        };
        let mut memories = [network.memory()];
        let first = step(&mut memories);
        assert_ne!(step(&mut memories), first, "it remembers");
        Network::forget(&mut memories[0]);
        assert_eq!(step(&mut memories), first);
    }
}
