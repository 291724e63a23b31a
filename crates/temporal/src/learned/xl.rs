//! One step of a causal Transformer-XL (Dai et al., 2019) over cached, projected keys and values.
//!
//! A layer attends to the present observation and to the M before it. The score of a query `q` and a key `k` that is `r`
//! nominal frames older is `((q + u) · k + (q + v) · P f(r)) / √d`, where `f(r)` holds sines and cosines of `r` at wavelengths
//! of 2 to 256 frames, and `r` itself: content and position by content, and the two learned biases `u` and `v`. The layer
//! norm stands before each block.

use super::{
    Core, OUTPUTS, Observed,
    attention::{self, Attention, LANES, Lanes, Part, REGISTER, Room, WAVES, Wave},
    cpu::Cpu,
    frame::FEATURES,
    head,
    linear::Linear,
    norm::{Norm, add},
    weights::{Hyper, Weights},
};
use crate::TemporalError;
use pose::MAX_PERSONS;

/// Where the linear feature of a time difference is 1, nominal frames.
const LINEAR_FRAMES: f32 = 32.0;

/// One person's cached keys and values: a ring of the last `M + 1` observations, in blocks that are attended to at once.
pub struct Memory {
    /// `[layer][head][block][head width]`.
    keys: Vec<Lanes>,
    /// `[layer][head][entry][part]`, a head's width filled up to whole parts.
    values: Vec<Part>,
    /// `[block]`: sines and cosines of the entries' ages at every wavelength.
    waves: Vec<[[Lanes; WAVES]; 2]>,
    /// `[block]`: nominal frames before now.
    ages: Vec<Lanes>,
    entries: usize,
    len: usize,
    newest: usize,
}

impl Memory {
    fn new(hyper: &Hyper) -> Self {
        let entries = hyper.memory + 1;
        let blocks = entries.div_ceil(LANES);
        Self {
            keys: vec![Lanes([0.0; LANES]); hyper.layers * blocks * hyper.width],
            values: vec![Part([0.0; REGISTER]); hyper.layers * hyper.heads * entries * parts(hyper)],
            waves: vec![[[Lanes([0.0; LANES]); WAVES]; 2]; blocks],
            ages: vec![Lanes([0.0; LANES]); blocks],
            entries,
            len: 0,
            newest: 0,
        }
    }

    fn clear(&mut self) {
        self.len = 0;
        // What no entry stands for is turned on with the rest and must stay finite.
        self.ages.fill(Lanes([0.0; LANES]));
    }

    /// Makes room for the present observation, `dt` nominal frames after the last, over the oldest where the ring is full.
    fn advance(&mut self, cpu: Cpu, dt: f32, wave_numbers: &[f32; WAVES]) {
        let turn = wave_numbers.map(|w| (w * dt).sin_cos());
        attention::turn_on(cpu, &mut self.waves, &turn);
        self.ages.iter_mut().flat_map(|ages| &mut ages.0).for_each(|age| *age += dt);
        self.newest = if self.len == 0 { 0 } else { (self.newest + 1) % self.entries };
        self.len = (self.len + 1).min(self.entries);
        let (block, lane) = (self.newest / LANES, self.newest % LANES);
        self.ages[block].0[lane] = 0.0;
        for (waves, at_no_age) in self.waves[block].iter_mut().zip([0.0, 1.0]) {
            waves.iter_mut().for_each(|wave| wave.0[lane] = at_no_age);
        }
    }
}

/// Parts of one head's value.
fn parts(hyper: &Hyper) -> usize {
    hyper.head_width().div_ceil(REGISTER)
}

struct Layer {
    norm_attention: Norm,
    /// Query, key and value in one: `[3 width, width]`.
    project: Linear,
    out: Linear,
    /// `[head][head width]` of sines and cosines, and of the linear feature.
    position: Vec<Wave>,
    position_linear: Vec<f32>,
    bias_content: Vec<f32>,
    bias_position: Vec<f32>,
    norm_feed: Norm,
    feed_in: Linear,
    feed_out: Linear,
}

impl Layer {
    fn load(w: &Weights, index: usize) -> Result<Self, TemporalError> {
        let h = &w.hyper;
        let (d, f) = (h.width, h.feed_forward);
        let name = |part: &str| format!("layers.{index}.{part}");
        let linear = |part: &str, inputs, outputs| {
            let [weight, bias] = ["weight", "bias"].map(|what| name(&format!("{part}.{what}")));
            Linear::load(w, [&weight, &bias], inputs, outputs)
        };
        let mut project = Vec::with_capacity(3 * d * d);
        for part in ["query", "key", "value"] {
            project.extend(w.take(&name(&format!("{part}.weight")), &[d, d])?);
        }
        let position = w.take(&name("position"), &[h.heads, h.head_width(), 2 * WAVES + 1])?;
        let rows = position.chunks_exact(2 * WAVES + 1);
        Ok(Self {
            norm_attention: Norm::load(w, &name("norm_attention"), d)?,
            project: Linear::new(&project, &[], d, 3 * d),
            out: linear("out", d, d)?,
            position: rows.clone().map(|r| [0, WAVES].map(|at| std::array::from_fn(|w| r[at + w]))).collect(),
            position_linear: rows.map(|r| r[2 * WAVES] / LINEAR_FRAMES).collect(),
            bias_content: w.take(&name("bias_content"), &[h.heads, h.head_width()])?,
            bias_position: w.take(&name("bias_position"), &[h.heads, h.head_width()])?,
            norm_feed: Norm::load(w, &name("norm_feed"), d)?,
            feed_in: linear("feed_in", d, f)?,
            feed_out: linear("feed_out", f, d)?,
        })
    }

    /// One person's attention: `projected` is query, key, value; the answer goes over the query.
    #[allow(clippy::needless_range_loop, reason = "see `Norm::apply`")]
    fn attend(
        &self,
        cpu: Cpu,
        hyper: &Hyper,
        layer: usize,
        memory: &mut Memory,
        projected: &mut [f32],
        room: &mut Room,
    ) {
        let (d, dh) = (hyper.width, hyper.head_width());
        let (query, key_value) = projected.split_at_mut(d);
        let (key, value) = key_value.split_at(d);
        let blocks = memory.ages.len();
        let (block, lane) = (memory.newest / LANES, memory.newest % LANES);
        let (parts, entries) = (parts(hyper), memory.entries);
        let keys = &mut memory.keys[layer * blocks * d..][..blocks * d];
        let values = hyper.heads * entries * parts;
        let values = &mut memory.values[layer * values..][..values];
        for head in 0..hyper.heads {
            let kept = &mut keys[(head * blocks + block) * dh..][..dh];
            let key = &key[head * dh..][..dh];
            for c in 0..dh {
                kept[c].0[lane] = key[c];
            }
            let kept = &mut values[(head * entries + memory.newest) * parts..][..parts];
            let (whole, rest) = value[head * dh..][..dh].as_chunks::<REGISTER>();
            for p in 0..whole.len() {
                kept[p].0 = whole[p];
            }
            if !rest.is_empty() {
                kept[whole.len()].0[..rest.len()].copy_from_slice(rest);
            }
        }
        let attention = Attention {
            position: &self.position,
            position_linear: &self.position_linear,
            bias_content: &self.bias_content,
            bias_position: &self.bias_position,
            keys,
            values,
            waves: &memory.waves,
            ages: &memory.ages,
            entries: memory.len,
        };
        attention::look_back(cpu, &attention, query, room);
    }
}

/// Buffers of one step.
pub struct Scratch {
    x: Vec<f32>,
    normed: Vec<f32>,
    projected: Vec<f32>,
    added: Vec<f32>,
    feed: Vec<f32>,
    room: Room,
}

impl Scratch {
    fn new(h: &Hyper) -> Self {
        Self {
            x: vec![0.0; MAX_PERSONS * h.width],
            normed: vec![0.0; MAX_PERSONS * h.width],
            projected: vec![0.0; MAX_PERSONS * 3 * h.width],
            added: vec![0.0; MAX_PERSONS * h.width],
            feed: vec![0.0; MAX_PERSONS * h.feed_forward],
            room: Room::new(h.heads, (h.memory + 1).div_ceil(LANES)),
        }
    }
}

/// The network's weights; memories and buffers stand outside.
pub struct Network {
    hyper: Hyper,
    embed: Linear,
    layers: Vec<Layer>,
    norm: Norm,
    head: Linear,
    wave_numbers: [f32; WAVES],
    cpu: Cpu,
}

impl Core for Network {
    const NAME: &'static str = "xl";
    type Memory = Memory;
    type Scratch = Scratch;

    fn load(w: &Weights) -> Result<Self, TemporalError> {
        let d = w.hyper.width;
        let linear = |name: &str, inputs, outputs| {
            Linear::load(w, [&format!("{name}.weight"), &format!("{name}.bias")], inputs, outputs)
        };
        Ok(Self {
            hyper: w.hyper,
            embed: linear("embed", FEATURES, d)?,
            layers: (0..w.hyper.layers).map(|i| Layer::load(w, i)).collect::<Result<_, _>>()?,
            norm: Norm::load(w, "norm", d)?,
            head: head(w, "head", d)?,
            wave_numbers: std::array::from_fn(|k| {
                let wavelength = 2.0 * 2f64.powf(7.0 * k as f64 / (WAVES - 1) as f64);
                (std::f64::consts::TAU / wavelength) as f32
            }),
            cpu: Cpu::detect(),
        })
    }

    fn memory(&self) -> Memory {
        Memory::new(&self.hyper)
    }

    fn forget(memory: &mut Memory) {
        memory.clear();
    }

    fn scratch(&self) -> Scratch {
        Scratch::new(&self.hyper)
    }

    fn step(
        &self,
        slots: &[(usize, f32)],
        observed: &Observed,
        memories: &mut [Memory],
        s: &mut Scratch,
        outputs: &mut [[f32; OUTPUTS]],
    ) {
        let (n, d, f, cpu) = (slots.len(), self.hyper.width, self.hyper.feed_forward, self.cpu);
        for &(slot, dt) in slots {
            memories[slot].advance(cpu, dt, &self.wave_numbers);
        }
        self.embed.apply(cpu, n, observed.features.as_flattened(), FEATURES, &mut s.x, d);
        for (l, layer) in self.layers.iter().enumerate() {
            layer.norm_attention.apply(&s.x[..n * d], &mut s.normed);
            layer.project.apply(cpu, n, &s.normed, d, &mut s.projected, 3 * d);
            for (&(slot, _), projected) in slots.iter().zip(s.projected.chunks_exact_mut(3 * d)) {
                layer.attend(cpu, &self.hyper, l, &mut memories[slot], projected, &mut s.room);
            }
            layer.out.apply(cpu, n, &s.projected, 3 * d, &mut s.added, d);
            add(&mut s.x[..n * d], &s.added);
            layer.norm_feed.apply(&s.x[..n * d], &mut s.normed);
            layer.feed_in.apply(cpu, n, &s.normed, d, &mut s.feed, f);
            s.feed[..n * f].iter_mut().for_each(|v| *v = v.max(0.0));
            layer.feed_out.apply(cpu, n, &s.feed, f, &mut s.added, d);
            add(&mut s.x[..n * d], &s.added);
        }
        self.norm.apply(&s.x[..n * d], &mut s.normed);
        self.head.apply(cpu, n, &s.normed, d, outputs.as_flattened_mut(), OUTPUTS);
    }
}

#[cfg(test)]
pub(super) mod tests;
