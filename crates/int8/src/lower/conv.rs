//! Convolutions: their weights packed for the kernel, one call for each part and group.

use super::{Lowering, place_of};
use crate::arena::Aligned;
use crate::fuse;
use crate::geometry::{self, Buffer, Part};
use crate::kernel::InnerSum;
use crate::op::{Activation, Conv, ConvStore, Node};
use crate::pack::{self, BLOCK};
use crate::step::{ConvCall, DepthwiseCall, Place, StoreCall, TableCall, Work};
use crate::tensor::Quant;

impl Lowering<'_> {
    pub(super) fn conv(
        &self,
        node: &Node,
        conv: &Conv,
        input: &Buffer,
        out: &Buffer,
    ) -> (&'static str, Work) {
        let table = |activation: &Activation| {
            let table = Some(Box::new(*activation.table()?));
            let (rows, columns, channels) = (out.shape.h, out.shape.w, out.shape.c);
            // In place: each value is read before it is written.
            Some(TableCall { input: place_of(out), out: place_of(out), rows, columns, channels, table })
        };
        let in_quant = self.quant(node.inputs[0]);
        let (store, scale, table) = match &conv.store {
            ConvStore::U8 { out: quant, activation } => {
                let (lo, hi) = activation.limits(*quant);
                let store = StoreCall::U8 { zero_point: quant.zero_point, lo, hi };
                (store, quant.scale, table(activation))
            }
            ConvStore::Sum { inner, inner_activation, add, inner_is_first } => {
                let (lo, hi) = inner_activation.limits(*inner);
                let zero = i32::from(inner.zero_point);
                let centred = |q: u8| (i32::from(q) - zero) as f32;
                let sum = InnerSum {
                    lo: centred(lo),
                    hi: centred(hi),
                    zero: zero as f32,
                    is_first: *inner_is_first,
                    add: *add,
                };
                let store = StoreCall::Sum { sum, other: place_of(&self.buffer(node.inputs[1])) };
                (store, inner.scale, None)
            }
            ConvStore::F32 => (StoreCall::F32, 1.0, None),
        };
        let multipliers: Vec<f32> = conv.weights.scales.iter().map(|s| in_quant.scale * s / scale).collect();
        let parts = geometry::parts(conv, out.shape);
        let is_sum = matches!(conv.store, ConvStore::Sum { .. });
        if fuse::is_depthwise(self.graph, Some(node)) {
            let call = self.depthwise(conv, &parts[0], input, out, in_quant, multipliers, store);
            return ("depthwise", Work::Depthwise { call: Box::new(call), table });
        }
        let groups = conv.weights.groups;
        let mut calls = Vec::with_capacity(parts.len() * groups);
        for part in &parts {
            for group in 0..groups {
                calls.push(self.conv_call(conv, part, group, input, out, in_quant, &multipliers, store));
            }
        }
        let kind = match (conv.transposed, is_sum) {
            (true, false) => "transposed conv",
            (true, true) => "transposed conv + sum",
            (false, false) => "conv",
            (false, true) => "conv + sum",
        };
        (kind, Work::Conv { calls, table })
    }

    #[allow(clippy::too_many_arguments, reason = "one private caller; a struct would only rename its locals")]
    fn conv_call(
        &self,
        conv: &Conv,
        part: &Part,
        group: usize,
        input: &Buffer,
        out: &Buffer,
        in_quant: Quant,
        multipliers: &[f32],
        store: StoreCall,
    ) -> ConvCall {
        let weights = &conv.weights;
        let (in_group, out_group) = (input.shape.c / weights.groups, weights.out_channels / weights.groups);
        let channels = group * out_group..(group + 1) * out_group;
        let kernel_taps = conv.window.kernel[0] * conv.window.kernel[1];
        let (segments, matrix) = pack::matrix(
            weights,
            channels.clone(),
            &part.taps,
            kernel_taps,
            in_group,
            input.pixel,
            input.row,
        );
        let shift = if self.functions.signed_inputs { 128 } else { 0 };
        let mut start = vec![0i32; matrix.rows];
        let mut padded = vec![0f32; matrix.rows];
        for (row, channel) in channels.clone().enumerate() {
            let values = &matrix.values[row * matrix.columns..][..matrix.columns];
            start[row] = pack::start(weights.bias[channel], values.iter().copied(), in_quant, shift);
            padded[row] = multipliers[channel];
        }
        let packed = (self.functions.pack)(&matrix);
        let [first_y, first_x] = part.first.map(|v| v as isize);
        let shifted = |place: Place, step: [usize; 2], value: usize| Place {
            at: place.at + channels.start * value,
            row: place.row * step[0],
            pixel: place.pixel * step[1],
        };
        let at_first = |buffer: &Buffer| Place {
            at: buffer.at(first_y, first_x) as usize,
            row: buffer.row,
            pixel: buffer.pixel,
        };
        let base = place_of(input);
        let mut call = ConvCall {
            input: Place {
                at: base.at + group * in_group,
                row: base.row * part.in_step[0],
                pixel: base.pixel * part.in_step[1],
            },
            segments,
            block_bytes: packed.len() / (matrix.rows / BLOCK),
            has_lowest: matrix.values.contains(&i8::MIN),
            weights: Aligned::from_bytes(&packed),
            start,
            multipliers: padded,
            channels: out_group,
            out: shifted(at_first(out), part.out_step, out.value),
            rows: part.size[0],
            columns: part.size[1],
            store: match store {
                StoreCall::Sum { sum, other } => {
                    // The other operand has the output's shape, though not always its ring.
                    let at = other.at + part.first[0] * other.row + part.first[1] * other.pixel;
                    StoreCall::Sum { sum, other: shifted(Place { at, ..other }, part.out_step, 1) }
                }
                StoreCall::U8 { .. } | StoreCall::F32 => store,
            },
        };
        flatten(&mut call);
        call
    }

    #[allow(clippy::too_many_arguments, reason = "as conv_call")]
    fn depthwise(
        &self,
        conv: &Conv,
        part: &Part,
        input: &Buffer,
        out: &Buffer,
        in_quant: Quant,
        mut multipliers: Vec<f32>,
        store: StoreCall,
    ) -> DepthwiseCall {
        let channels = out.shape.c;
        let padded = channels.next_multiple_of(BLOCK);
        multipliers.resize(padded, 0.0);
        let kernel_taps = part.taps.len();
        let mut weights = vec![0i8; kernel_taps * padded];
        let mut start = vec![0i32; padded];
        for c in 0..channels {
            let own = &conv.weights.values[c * kernel_taps..][..kernel_taps];
            for (place, tap) in part.taps.iter().enumerate() {
                weights[place * padded + c] = own[tap.index];
            }
            start[c] = pack::start(conv.weights.bias[c], own.iter().copied(), in_quant, 0);
        }
        let base = place_of(input);
        DepthwiseCall {
            input: Place {
                at: base.at,
                row: base.row * part.in_step[0],
                pixel: base.pixel * part.in_step[1],
            },
            taps: part.taps.iter().map(|t| t.dy * input.row as isize + t.dx * input.pixel as isize).collect(),
            weights,
            start,
            multipliers,
            channels,
            out: place_of(out),
            rows: part.size[0],
            columns: part.size[1],
            store,
        }
    }
}

/// A map without borders between its rows is one long row: fewer, fuller tiles.
fn flatten(call: &mut ConvCall) {
    let joins = |p: &Place| p.row == p.pixel * call.columns;
    let other_joins = match &call.store {
        StoreCall::Sum { other, .. } => joins(other),
        _ => true,
    };
    if joins(&call.input) && joins(&call.out) && other_joins {
        (call.rows, call.columns) = (1, call.rows * call.columns);
    }
}
