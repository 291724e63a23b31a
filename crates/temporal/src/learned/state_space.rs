//! One step of a diagonal state space (S4D; Gu et al., 2022): linear systems at the true times between frames, nothing looked back on.
//!
//! A channel of a layer has N complex states. With A = -exp(a) + i b, the channel's rate D, the time dt since the last frame and
//! z = exp(D dt A),
//!
//! s ← z (s + u) - u, y = 2 Re Σ (c / A) s + E u:
//!
//! the zero-order hold of s' = A s + u, its states times A so that no frame needs a division. With h = E x, layer by layer
//! h ← h + v ∘ σ(g), (v, g) = G gelu(y(norm(h))), the answer is `O norm(h)`. `models/train/posetrain/study/state_space.py` trains it and
//! names the tensors; the file's `memory` is N.

use math::{exp_nonpositive, gelu, logistic, sin_cos};
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
use crate::TemporalError;

const INPUTS: usize = FEATURES + BANK;

/// `[layer][real, imaginary][state][width]`; zeros before the first observation.
pub struct Memory(Vec<f32>);

/// Buffers of one step, `[person]` first.
pub struct Scratch {
    inputs: Vec<[f32; INPUTS]>,
    h: Vec<f32>,
    u: Vec<f32>,
    y: Vec<f32>,
    gates: Vec<f32>,
}

/// The systems of one layer, width innermost: channels go through vector registers side by side.
struct Systems {
    width: usize,
    /// `[width]`.
    rate: Vec<f32>,
    skip: Vec<f32>,
    /// `[state][width]`: A, and c / A.
    a: [Vec<f32>; 2],
    read: [Vec<f32>; 2],
}

struct Layer {
    norm: Norm,
    systems: Systems,
    /// `[2 width, width]`: values, then gates.
    gate: Linear,
}

/// The network's weights; memories and buffers stand outside.
pub struct Network {
    width: usize,
    states: usize,
    embed: Linear,
    layers: Vec<Layer>,
    norm: Norm,
    head: Linear,
    cpu: Cpu,
}

impl Systems {
    fn load(w: &Weights, name: &str, width: usize, states: usize) -> Result<Self, TemporalError> {
        let take = |what: &str, shape: &[usize]| w.take(&format!("{name}.{what}"), shape);
        let (log_decay, angle) = (take("log_decay", &[width, states])?, take("angle", &[width, states])?);
        let c = take("c", &[width, states, 2])?;
        let rate = take("log_rate", &[width])?.into_iter().map(f32::exp).collect();
        let new = || [vec![0.0; states * width], vec![0.0; states * width]];
        let (mut a, mut read) = (new(), new());
        for channel in 0..width {
            for state in 0..states {
                let (from, to) = (channel * states + state, state * width + channel);
                let (real, imag) = (-log_decay[from].exp(), angle[from]);
                (a[0][to], a[1][to]) = (real, imag);
                // c / A, as c times A's conjugate over A's square.
                let (c_real, c_imag) = (c[2 * from], c[2 * from + 1]);
                let square = real * real + imag * imag;
                read[0][to] = (c_real * real + c_imag * imag) / square;
                read[1][to] = (c_imag * real - c_real * imag) / square;
            }
        }
        Ok(Self { width, rate, skip: take("skip", &[width])?, a, read })
    }

    /// Takes the states `[real, imaginary][state][width]` `dt` nominal frames on under `u` `[width]`, and writes y `[width]`.
    #[allow(
        clippy::needless_range_loop,
        reason = "one index through seven slices of one length, in vector registers"
    )]
    fn step(&self, u: &[f32], dt: f32, memory: &mut [f32], y: &mut [f32]) {
        let d = self.width;
        let (u, y, rate) = (&u[..d], &mut y[..d], &self.rate[..d]);
        y.fill(0.0);
        let (real, imag) = memory.split_at_mut(memory.len() / 2);
        for (n, (real, imag)) in real.chunks_exact_mut(d).zip(imag.chunks_exact_mut(d)).enumerate() {
            let (a_real, a_imag) = (&self.a[0][n * d..][..d], &self.a[1][n * d..][..d]);
            let (read_real, read_imag) = (&self.read[0][n * d..][..d], &self.read[1][n * d..][..d]);
            let (real, imag) = (&mut real[..d], &mut imag[..d]);
            for i in 0..d {
                let time = rate[i] * dt;
                let size = exp_nonpositive(time * a_real[i]);
                let (sin, cos) = sin_cos(time * a_imag[i]);
                let (z_real, z_imag) = (size * cos, size * sin);
                let driven = real[i] + u[i];
                let next = z_real * driven - z_imag * imag[i] - u[i];
                imag[i] = z_real * imag[i] + z_imag * driven;
                real[i] = next;
                y[i] += read_real[i] * next - read_imag[i] * imag[i];
            }
        }
        for i in 0..d {
            y[i] = 2.0 * y[i] + self.skip[i] * u[i];
        }
    }
}

impl Core for Network {
    const NAME: &'static str = "s4d";
    type Memory = Memory;
    type Scratch = Scratch;

    fn load(w: &Weights) -> Result<Self, TemporalError> {
        let (d, states) = (w.hyper.width, w.hyper.memory);
        let linear = |name: &str, inputs, outputs| {
            Linear::load(w, [&format!("{name}.weight"), &format!("{name}.bias")], inputs, outputs)
        };
        let layer = |l: usize| {
            Ok(Layer {
                norm: Norm::load(w, &format!("norms.{l}"), d)?,
                systems: Systems::load(w, &format!("systems.{l}"), d, states)?,
                gate: linear(&format!("gates.{l}"), d, 2 * d)?,
            })
        };
        Ok(Self {
            width: d,
            states,
            embed: linear("embed", INPUTS, d)?,
            layers: (0..w.hyper.layers).map(layer).collect::<Result<_, TemporalError>>()?,
            norm: Norm::load(w, "head.norm", d)?,
            head: head(w, "head.out", d)?,
            cpu: Cpu::detect(),
        })
    }

    fn memory(&self) -> Memory {
        Memory(vec![0.0; self.layers.len() * 2 * self.states * self.width])
    }

    fn forget(memory: &mut Memory) {
        memory.0.fill(0.0);
    }

    fn scratch(&self) -> Scratch {
        let rows = |width: usize| vec![0.0; MAX_PERSONS * width];
        let d = self.width;
        Scratch {
            inputs: vec![[0.0; INPUTS]; MAX_PERSONS],
            h: rows(d),
            u: rows(d),
            y: rows(d),
            gates: rows(2 * d),
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
        self.embed.apply(cpu, n, s.inputs.as_flattened(), INPUTS, &mut s.h, d);
        let of_layer = 2 * self.states * d;
        for (l, layer) in self.layers.iter().enumerate() {
            layer.norm.apply(&s.h[..n * d], &mut s.u);
            for (i, &(slot, dt)) in slots.iter().enumerate() {
                let memory = &mut memories[slot].0[l * of_layer..][..of_layer];
                layer.systems.step(&s.u[i * d..][..d], dt, memory, &mut s.y[i * d..][..d]);
            }
            s.y[..n * d].iter_mut().for_each(|y| *y = gelu(*y));
            layer.gate.apply(cpu, n, &s.y, d, &mut s.gates, 2 * d);
            for (y, gates) in s.y.chunks_exact_mut(d).zip(s.gates.chunks_exact(2 * d)).take(n) {
                let (values, gates) = gates.split_at(d);
                for (i, y) in y.iter_mut().enumerate() {
                    *y = values[i] * logistic(gates[i]);
                }
            }
            add(&mut s.h[..n * d], &s.y);
        }
        self.norm.apply(&s.h[..n * d], &mut s.u);
        self.head.apply(cpu, n, &s.u, d, outputs.as_flattened_mut(), OUTPUTS);
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::SQRT_2;

    use super::*;
    use crate::learned::{
        company::{self, Drawn},
        weights::Hyper,
    };

    const STATES: usize = 3;
    const SMALL: Hyper = Hyper { width: 10, layers: 2, heads: 1, feed_forward: 1, memory: STATES };

    fn drawn(seed: u64) -> Drawn {
        let d = SMALL.width;
        let mut drawn = Drawn::new(SMALL, seed);
        for (name, outputs, inputs, size) in [("embed", d, INPUTS, 0.1), ("head.out", OUTPUTS, d, 0.5)] {
            drawn.linear(name, outputs, inputs, size);
        }
        drawn.norm("head.norm", d);
        for l in 0..SMALL.layers {
            drawn.norm(&format!("norms.{l}"), d);
            drawn.linear(&format!("gates.{l}"), 2 * d, d, 0.8);
            let system = |what: &str| format!("systems.{l}.{what}");
            drawn.add(&system("log_decay"), &[d, STATES], 0.5, -0.7);
            drawn.add(&system("angle"), &[d, STATES], 3.0, 3.5);
            drawn.add(&system("log_rate"), &[d], 1.5, -2.5);
            drawn.add(&system("c"), &[d, STATES, 2], 1.0, 0.0);
            drawn.add(&system("skip"), &[d], 0.5, 1.0);
        }
        drawn
    }

    /// One person's whole sequence in double precision, the systems as the zero-order hold of s' = A s + u itself.
    fn reference(drawn: &Drawn, told: &[(f64, Vec<f64>)]) -> Vec<Vec<f64>> {
        let d = SMALL.width;
        let times = |a: [f64; 2], b: [f64; 2]| [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
        let mut states = vec![[0.0; 2]; SMALL.layers * d * STATES];
        let mut out = Vec::new();
        for (dt, input) in told {
            let mut h = drawn.product("embed", input);
            for l in 0..SMALL.layers {
                let tensor = |what: &str| drawn.tensor(&format!("systems.{l}.{what}"));
                let (decay, angle, rate) = (tensor("log_decay"), tensor("angle"), tensor("log_rate"));
                let (c, skip) = (tensor("c"), tensor("skip"));
                let u = drawn.normed(&format!("norms.{l}"), &h);
                let mut y = vec![0.0; d];
                for k in 0..d {
                    for n in 0..STATES {
                        let at = k * STATES + n;
                        let a = [-decay[at].exp(), angle[at]];
                        let time = rate[k].exp() * dt;
                        let size = (time * a[0]).exp();
                        let z = [size * (time * a[1]).cos(), size * (time * a[1]).sin()];
                        let square = a[0] * a[0] + a[1] * a[1];
                        // (z - 1) / A
                        let drive = times([z[0] - 1.0, z[1]], [a[0] / square, -a[1] / square]);
                        let s = &mut states[l * d * STATES + at];
                        let kept = times(z, *s);
                        *s = [kept[0] + drive[0] * u[k], kept[1] + drive[1] * u[k]];
                        y[k] += 2.0 * times([c[2 * at], c[2 * at + 1]], *s)[0];
                    }
                    y[k] += skip[k] * u[k];
                }
                let bent: Vec<f64> = y.iter().map(|&y| 0.5 * y * (1.0 + erf(y / SQRT_2))).collect();
                let gates = drawn.product(&format!("gates.{l}"), &bent);
                for k in 0..d {
                    h[k] += gates[k] / (1.0 + (-gates[d + k]).exp());
                }
            }
            out.push(drawn.product("head.out", &drawn.normed("head.norm", &h)));
        }
        out
    }

    /// By its series (Abramowitz and Stegun, 7.1.6).
    fn erf(x: f64) -> f64 {
        let (mut term, mut sum) = (x, x);
        for k in 1..200 {
            term *= 2.0 * x * x / (2 * k + 1) as f64;
            sum += term;
        }
        if x.abs() > 6.0 { x.signum() } else { sum * (-x * x).exp() * std::f64::consts::FRAC_2_SQRT_PI }
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
