//! What the kernels' safety rests on, held for every kind of work when a program is made: a step reads and writes inside the
//! arena, no map that it reads shares a byte with the one it writes, and its arrays are as long as the kernels take them to be.

use std::ops::Range;

use crate::kernel::SLACK;
use crate::pack::BLOCK;
use crate::step::{ConvCall, DepthwiseCall, Place, PoolCall, Step, StoreCall, TableCall, Work};

/// # Panics
/// If lowering went wrong: a program that is not made does no harm.
pub(super) fn check(step: &Step, arena_bytes: usize) {
    let arena = Arena { step: &step.name, bytes: arena_bytes };
    match &step.work {
        Work::Conv { calls, table } => {
            calls.iter().for_each(|call| arena.conv(call));
            table.iter().for_each(|call| arena.table(call));
        }
        Work::Depthwise { call, table } => {
            arena.depthwise(call);
            table.iter().for_each(|call| arena.table(call));
        }
        Work::Add(c) => {
            let of = |place: &Place| extent(place, c.rows, c.columns, c.channels);
            arena.hold(&[of(&c.a), of(&c.b)], of(&c.out));
        }
        Work::Tables(calls) => calls.iter().for_each(|call| arena.table(call)),
        Work::MaxPool(call) => arena.pool(call),
        Work::AveragePool { pool, multipliers, .. } => {
            arena.pool(pool);
            let [rows, columns] = pool.window.kernel;
            arena.claim(
                multipliers.len() > rows * columns,
                "a mean has a multiplier for each number of pixels",
            );
        }
        Work::Upsample(c) => {
            arena.claim(c.bytes <= c.out.pixel, "a pixel fits its copies");
            // Rows are copied whole.
            let out = extent(&c.out, c.rows * c.factor[0], c.columns * c.factor[1], c.out.pixel);
            arena.hold(&[extent(&c.input, c.rows, c.columns, c.bytes)], out);
        }
    }
}

/// From the first byte of a map to the last; negative where a tap reaches before the arena.
fn extent(place: &Place, rows: usize, columns: usize, bytes: usize) -> Range<isize> {
    let last = rows.saturating_sub(1) * place.row + columns.saturating_sub(1) * place.pixel;
    place.at as isize..(place.at + last + bytes) as isize
}

fn moved(extent: &Range<isize>, by: isize) -> Range<isize> {
    extent.start + by..extent.end + by
}

struct Arena<'a> {
    step: &'a str,
    bytes: usize,
}

impl Arena<'_> {
    fn claim(&self, holds: bool, what: &str) {
        assert!(holds, "step {:?}: not so: {what}", self.step);
    }

    fn inside(&self, extent: &Range<isize>) {
        let readable = extent.end + SLACK as isize;
        self.claim(0 <= extent.start && readable <= self.bytes as isize, "maps lie inside the arena");
    }

    fn hold(&self, reads: &[Range<isize>], write: Range<isize>) {
        self.inside(&write);
        for read in reads {
            self.inside(read);
            let apart = read.end <= write.start || write.end <= read.start;
            self.claim(apart, "what is read and what is written share no byte");
        }
    }

    fn by_channel(&self, channels: usize, start: &[i32], multipliers: &[f32]) {
        let whole = start.len().is_multiple_of(BLOCK) && start.len() == multipliers.len();
        self.claim(
            whole && channels <= start.len(),
            "arrays by channel are whole blocks and hold every channel",
        );
    }

    fn conv(&self, call: &ConvCall) {
        let ConvCall { rows, columns, channels, .. } = *call;
        self.by_channel(channels, &call.start, &call.multipliers);
        // Of a segment's last four bytes, three may be a neighbour's or nobody's: their weights are zero, and SLACK holds them.
        let under = |steps: usize| extent(&call.input, rows, columns, 4 * steps - 3);
        let segments = call.segments.iter().map(|s| moved(&under(s.steps), s.offset));
        let (value, other) = match &call.store {
            StoreCall::U8 { .. } => (1, None),
            StoreCall::Sum { other, .. } => (1, Some(extent(other, rows, columns, channels))),
            StoreCall::F32 => (4, None),
        };
        let reads: Vec<_> = segments.chain(other).collect();
        self.hold(&reads, extent(&call.out, rows, columns, channels * value));
        let steps: usize = call.segments.iter().map(|s| s.steps).sum();
        let blocks = call.start.len() / BLOCK;
        let whole =
            call.block_bytes >= 4 * steps * BLOCK && call.weights.bytes().len() >= blocks * call.block_bytes;
        self.claim(whole, "there is a weight for every input of every block");
    }

    fn depthwise(&self, call: &DepthwiseCall) {
        let DepthwiseCall { rows, columns, channels, .. } = *call;
        self.by_channel(channels, &call.start, &call.multipliers);
        let under = extent(&call.input, rows, columns, channels);
        let reads: Vec<_> = call.taps.iter().map(|&tap| moved(&under, tap)).collect();
        let value = match &call.store {
            StoreCall::U8 { .. } => 1,
            StoreCall::F32 => 4,
            StoreCall::Sum { .. } => return self.claim(false, "a depthwise convolution takes no sum"),
        };
        self.hold(&reads, extent(&call.out, rows, columns, channels * value));
        self.claim(
            call.weights.len() == call.taps.len() * call.start.len(),
            "there is a weight a tap and channel",
        );
    }

    fn table(&self, call: &TableCall) {
        let of = |place: &Place| extent(place, call.rows, call.columns, call.channels);
        if call.input == call.out {
            self.inside(&of(&call.out)); // in place: each value is read before it is written
        } else {
            self.hold(&[of(&call.input)], of(&call.out));
        }
    }

    fn pool(&self, call: &PoolCall) {
        let [rows, columns] = call.window.size;
        let read = extent(&call.input, rows, columns, call.channels);
        self.hold(&[read], extent(&call.out, call.rows, call.columns, call.channels));
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::lower::lower;
    use crate::{Activation, Graph, Kernel, Quant, Shape, Tensor, Weights, Window};

    const QUANT: Quant = Quant { scale: 0.5, zero_point: 3 };

    /// One operator on a map of 6 x 6 pixels of eight channels: its buffers end where the arena ends.
    fn programs() -> Vec<(&'static str, Graph)> {
        let weights = |groups: usize, taps: usize| Weights {
            out_channels: 8,
            groups,
            values: vec![1; 64 / groups * taps],
            scales: vec![0.5; 8],
            bias: vec![0; 8],
        };
        type Make = fn(&mut Graph, Tensor, &dyn Fn(usize, usize) -> Weights) -> Result<Tensor, crate::Error>;
        let makes: [(&str, Make); 9] = [
            ("conv", |g, x, w| g.conv("op", x, Window::square(3, 1, 1), w(1, 9), QUANT, Activation::None)),
            ("conv f32", |g, x, w| g.conv_f32("op", x, Window::square(1, 1, 0), w(1, 1))),
            ("conv + sum", |g, x, w| {
                let branch = g.conv("op", x, Window::square(1, 1, 0), w(1, 1), QUANT, Activation::None)?;
                g.add("op", x, branch, QUANT, Activation::None)
            }),
            ("depthwise", |g, x, w| {
                g.conv(
                    "op",
                    x,
                    Window::square(3, 1, 1),
                    w(8, 9),
                    QUANT,
                    Activation::Table(Box::new([7; 256])),
                )
            }),
            ("sum", |g, x, _| g.add("op", x, x, QUANT, Activation::None)),
            ("concat", |g, x, _| g.concat("op", &[x, x], QUANT)),
            ("max pool", |g, x, _| g.max_pool("op", x, Window::square(2, 2, 0))),
            ("average pool", |g, x, _| g.average_pool("op", x, Window::square(3, 1, 1), false, QUANT)),
            ("upsample nearest", |g, x, _| g.upsample_nearest("op", x, [2, 3])),
        ];
        makes
            .into_iter()
            .map(|(kind, make)| {
                let mut graph = Graph::new();
                let input = graph.input("x", Shape::new(6, 6, 8), QUANT).unwrap();
                let output = make(&mut graph, input, &weights).unwrap();
                graph.output(output);
                (kind, graph)
            })
            .collect()
    }

    #[test]
    fn every_kind_of_work_is_held_to_the_arenas_end() {
        for kernel in Kernel::available() {
            for (kind, graph) in programs() {
                let lowered = lower(&graph, kernel.require().unwrap()).unwrap();
                let [step] = lowered.steps.as_slice() else {
                    panic!("{kind} is {} steps", lowered.steps.len())
                };
                let holds = |bytes: usize| catch_unwind(AssertUnwindSafe(|| check(step, bytes))).is_ok();
                assert!(holds(lowered.arena_bytes), "{kind}");
                assert!(!holds(lowered.arena_bytes - 4), "{kind}: a group of four bytes outside is not seen");
            }
        }
    }

    #[test]
    fn maps_that_overlap_and_arrays_that_are_short_are_seen() {
        let kernel = Kernel::Portable.require().unwrap();
        for (kind, graph) in programs() {
            let lowered = lower(&graph, kernel).unwrap();
            let arena_bytes = lowered.arena_bytes;
            let spoils: &[fn(&mut Work) -> bool] = &[
                |work| {
                    match work {
                        Work::Conv { calls, .. } => calls[0].input.at = calls[0].out.at,
                        Work::Depthwise { call, .. } => call.input.at = call.out.at,
                        Work::Add(call) => call.b.at = call.out.at + 1,
                        Work::Tables(calls) => calls[0].input.at = calls[0].out.at + 1,
                        Work::MaxPool(pool) | Work::AveragePool { pool, .. } => pool.input.at = pool.out.at,
                        Work::Upsample(call) => call.input.at = call.out.at,
                    }
                    true
                },
                |work| {
                    match work {
                        Work::Conv { calls, .. } => calls[0].block_bytes += 1,
                        Work::Depthwise { call, .. } => {
                            call.weights.pop();
                        }
                        Work::AveragePool { multipliers, .. } => {
                            multipliers.pop();
                        }
                        Work::Upsample(call) => call.bytes = call.out.pixel + 1,
                        _ => return false,
                    }
                    true
                },
                |work| {
                    match work {
                        Work::Conv { calls, .. } => {
                            calls[0].start.pop();
                        }
                        Work::Depthwise { call, .. } => {
                            call.multipliers.pop();
                        }
                        _ => return false,
                    }
                    true
                },
            ];
            for (i, spoil) in spoils.iter().enumerate() {
                let mut step = lower(&graph, kernel).unwrap().steps.remove(0);
                if spoil(&mut step.work) {
                    let outcome = catch_unwind(AssertUnwindSafe(|| check(&step, arena_bytes)));
                    assert!(outcome.is_err(), "{kind}: spoil {i} is not seen");
                }
            }
        }
    }
}
