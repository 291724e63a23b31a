//! Steps: operators with every address resolved but the arena's own.

use crate::arena::Aligned;
use crate::arith::AddParams;
use crate::kernel::{InnerSum, PoolWindow};
use crate::pack::Segment;

/// A map as an arena position and strides, before there is an arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub at: usize,
    pub row: usize,
    pub pixel: usize,
}

/// One operator with everything resolved but the arena's address.
#[derive(Debug)]
pub(crate) struct Step {
    pub name: String,
    pub kind: &'static str,
    pub macs: u64,
    /// Ring of the output, filled before the operator runs.
    pub ring: Vec<(usize, usize)>,
    pub ring_value: u8,
    pub work: Work,
}

#[derive(Debug)]
pub(crate) enum Work {
    Conv {
        calls: Vec<ConvCall>,
        table: Option<TableCall>,
    },
    Depthwise {
        call: Box<DepthwiseCall>,
        table: Option<TableCall>,
    },
    Add(AddCall),
    /// A concatenation is one look-up or copy an input; so is a table.
    Tables(Vec<TableCall>),
    MaxPool(PoolCall),
    AveragePool {
        pool: PoolCall,
        in_zero: u8,
        out_zero: u8,
        multipliers: Vec<f32>,
    },
    Upsample(UpsampleCall),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum StoreCall {
    U8 { zero_point: u8, lo: u8, hi: u8 },
    Sum { sum: InnerSum, other: Place },
    F32,
}

#[derive(Debug)]
pub(crate) struct ConvCall {
    pub input: Place,
    pub segments: Vec<Segment>,
    pub weights: Aligned,
    pub block_bytes: usize,
    pub has_lowest: bool,
    pub start: Vec<i32>,
    pub multipliers: Vec<f32>,
    pub channels: usize,
    pub out: Place,
    pub rows: usize,
    pub columns: usize,
    pub store: StoreCall,
}

#[derive(Debug)]
pub(crate) struct DepthwiseCall {
    pub input: Place,
    pub taps: Vec<isize>,
    pub weights: Vec<i8>,
    pub start: Vec<i32>,
    pub multipliers: Vec<f32>,
    pub channels: usize,
    pub out: Place,
    pub rows: usize,
    pub columns: usize,
    pub store: StoreCall,
}

#[derive(Debug)]
pub(crate) struct AddCall {
    pub a: Place,
    pub b: Place,
    pub out: Place,
    pub rows: usize,
    pub columns: usize,
    pub channels: usize,
    pub params: AddParams,
}

#[derive(Debug)]
pub(crate) struct TableCall {
    pub input: Place,
    pub out: Place,
    pub rows: usize,
    pub columns: usize,
    pub channels: usize,
    pub table: Option<Box<[u8; 256]>>,
}

#[derive(Debug)]
pub(crate) struct PoolCall {
    pub input: Place,
    pub window: PoolWindow,
    pub out: Place,
    pub rows: usize,
    pub columns: usize,
    pub channels: usize,
}

#[derive(Debug)]
pub(crate) struct UpsampleCall {
    pub input: Place,
    pub out: Place,
    pub rows: usize,
    pub columns: usize,
    pub factor: [usize; 2],
    pub bytes: usize,
}
