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
    head,
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
        let stacked = |of: &str, layer: usize| {
            let name = |what: &str| format!("cells.{what}_{of}_l{layer}");
            Linear::load(w, [&name("weight"), &name("bias")], d, GATES * d)
        };
        let layer = |l| Ok(Layer { of_input: stacked("ih", l)?, of_state: stacked("hh", l)? });
        Ok(Self {
            width: d,
            embed: Linear::load(w, ["embed.weight", "embed.bias"], INPUTS, d)?,
            layers: (0..w.hyper.layers).map(layer).collect::<Result<_, TemporalError>>()?,
            norm: Norm::load(w, "head.norm", d)?,
            head: head(w, "head.out", d)?,
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
            observed.join(i, input);
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
    use super::*;
    use crate::learned::{
        company::{self, Drawn},
        weights::Hyper,
    };

    const SMALL: Hyper = Hyper { width: 10, layers: 2, heads: 1, feed_forward: 1, memory: 1 };

    fn drawn(seed: u64) -> Drawn {
        let d = SMALL.width;
        let mut drawn = Drawn::new(SMALL, seed);
        for (name, outputs, inputs, size) in [("embed", d, INPUTS, 0.1), ("head.out", OUTPUTS, d, 0.5)] {
            drawn.linear(name, outputs, inputs, size);
        }
        drawn.norm("head.norm", d);
        for l in 0..SMALL.layers {
            for of in ["ih", "hh"] {
                drawn.add(&format!("cells.weight_{of}_l{l}"), &[GATES * d, d], 0.8, 0.0);
                drawn.add(&format!("cells.bias_{of}_l{l}"), &[GATES * d], 0.3, 0.0);
            }
        }
        drawn
    }

    /// One person's whole sequence in double precision and from the definition; the time between frames is not asked.
    fn reference(drawn: &Drawn, told: &[(f64, Vec<f64>)]) -> Vec<Vec<f64>> {
        let d = SMALL.width;
        let sigma = |v: f64| 1.0 / (1.0 + (-v).exp());
        let mut states = vec![vec![0.0; d]; SMALL.layers];
        let mut out = Vec::new();
        for (_, input) in told {
            let e = drawn.product("embed", input);
            let mut x = e.clone();
            for (l, h) in states.iter_mut().enumerate() {
                let [i, s] = [("ih", &x), ("hh", &*h)].map(|(of, v)| {
                    drawn.product_of(&format!("cells.weight_{of}_l{l}"), &format!("cells.bias_{of}_l{l}"), v)
                });
                for k in 0..d {
                    let (r, z) = (sigma(i[k] + s[k]), sigma(i[d + k] + s[d + k]));
                    h[k] = (1.0 - z) * (i[2 * d + k] + r * s[2 * d + k]).tanh() + z * h[k];
                }
                x = h.clone();
            }
            x.iter_mut().zip(&e).for_each(|(x, e)| *x += e);
            out.push(drawn.product("head.out", &drawn.normed("head.norm", &x)));
        }
        out
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]

        #[test]
        fn stepping_in_any_company_equals_the_sequence_from_the_definition(seed: u64, steps in 1..20usize, persons in 1..5usize) {
            let drawn = drawn(seed);
            for (told, answers) in company::step::<Network>(&drawn, steps, persons) {
                company::near(&answers, &reference(&drawn, &told));
            }
        }
    }

    #[test]
    fn a_memory_that_was_forgotten_is_an_empty_one() {
        company::forgets::<Network>(&drawn(2));
    }
}
