//! A step's calls of its kernel: places become addresses once there is an arena.

use crate::kernel::{
    AddArgs, AverageArgs, ConvArgs, DepthwiseArgs, Functions, Map, MapMut, MaxArgs, Store, TableArgs,
    UpsampleArgs,
};
use crate::step::{
    AddCall, ConvCall, DepthwiseCall, Place, PoolCall, Step, StoreCall, TableCall, UpsampleCall, Work,
};

impl Step {
    /// Runs the operator by `f`, the functions of the kernel that the program was built for, in the program's `arena`.
    pub fn run(&self, f: &Functions, arena: &mut [u8]) {
        for &(at, len) in &self.ring {
            arena[at..at + len].fill(self.ring_value);
        }
        let arena = Arena { start: arena.as_mut_ptr() };
        let look_up = |call: &TableCall| {
            // SAFETY: `lower` checked the call for an arena of this length; the program was built for this CPU.
            unsafe { (f.table)(&arena.table(call)) }
        };
        match &self.work {
            Work::Conv { calls, table } => {
                for call in calls {
                    // SAFETY: as `look_up`.
                    unsafe { (f.conv)(&arena.conv(call)) }
                }
                table.iter().for_each(look_up);
            }
            Work::Depthwise { call, table } => {
                // SAFETY: as `look_up`.
                unsafe { (f.depthwise)(&arena.depthwise(call)) }
                table.iter().for_each(look_up);
            }
            Work::Add(call) => {
                // SAFETY: as `look_up`.
                unsafe { (f.add)(&arena.add(call)) }
            }
            Work::Tables(calls) => calls.iter().for_each(look_up),
            Work::MaxPool(call) => {
                // SAFETY: as `look_up`.
                unsafe { (f.max_pool)(&arena.pool(call)) }
            }
            Work::AveragePool { pool, in_zero, out_zero, multipliers } => {
                let pool = arena.pool(pool);
                let args = AverageArgs { pool, in_zero: *in_zero, out_zero: *out_zero, multipliers };
                // SAFETY: as `look_up`.
                unsafe { (f.average_pool)(&args) }
            }
            Work::Upsample(call) => {
                // SAFETY: as `look_up`.
                unsafe { (f.upsample)(&arena.upsample(call)) }
            }
        }
    }
}

/// The arena of one run.
#[derive(Clone, Copy)]
struct Arena {
    start: *mut u8,
}

impl Arena {
    fn map_mut(self, place: Place) -> MapMut {
        let Place { at, row, pixel } = place;
        // SAFETY: `lower` checked that every place is inside the arena, whose length the program fixes.
        let at = unsafe { self.start.add(at) };
        MapMut { at, row, pixel }
    }

    fn map(self, place: Place) -> Map {
        let MapMut { at, row, pixel } = self.map_mut(place);
        Map { at, row, pixel }
    }

    fn store(self, store: StoreCall) -> Store {
        match store {
            StoreCall::U8 { zero_point, lo, hi } => Store::U8 { zero_point, lo, hi },
            StoreCall::Sum { sum, other } => Store::Sum { sum, other: self.map(other) },
            StoreCall::F32 => Store::F32,
        }
    }

    fn conv(self, call: &ConvCall) -> ConvArgs<'_> {
        ConvArgs {
            input: self.map(call.input),
            segments: &call.segments,
            weights: call.weights.bytes().as_ptr(),
            block_bytes: call.block_bytes,
            has_lowest: call.has_lowest,
            start: &call.start,
            multipliers: &call.multipliers,
            channels: call.channels,
            out: self.map_mut(call.out),
            rows: call.rows,
            columns: call.columns,
            store: self.store(call.store),
        }
    }

    fn depthwise(self, call: &DepthwiseCall) -> DepthwiseArgs<'_> {
        DepthwiseArgs {
            input: self.map(call.input),
            taps: &call.taps,
            weights: &call.weights,
            start: &call.start,
            multipliers: &call.multipliers,
            channels: call.channels,
            out: self.map_mut(call.out),
            rows: call.rows,
            columns: call.columns,
            store: self.store(call.store),
        }
    }

    fn add(self, call: &AddCall) -> AddArgs {
        AddArgs {
            a: self.map(call.a),
            b: self.map(call.b),
            out: self.map_mut(call.out),
            rows: call.rows,
            columns: call.columns,
            channels: call.channels,
            params: call.params,
        }
    }

    fn table(self, call: &TableCall) -> TableArgs<'_> {
        TableArgs {
            input: self.map(call.input),
            out: self.map_mut(call.out),
            rows: call.rows,
            columns: call.columns,
            channels: call.channels,
            table: call.table.as_deref(),
        }
    }

    fn pool(self, call: &PoolCall) -> MaxArgs {
        MaxArgs {
            input: self.map(call.input),
            window: call.window,
            out: self.map_mut(call.out),
            rows: call.rows,
            columns: call.columns,
            channels: call.channels,
        }
    }

    fn upsample(self, call: &UpsampleCall) -> UpsampleArgs {
        UpsampleArgs {
            input: self.map(call.input),
            out: self.map_mut(call.out),
            rows: call.rows,
            columns: call.columns,
            factor: call.factor,
            bytes: call.bytes,
        }
    }
}
