//! The operators between tensors.

use crate::arith::AddParams;
use crate::tensor::{Quant, Tensor};
use crate::window::Window;

/// i8 weights of a convolution, one scale an output channel, no zero point.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// Output channels.
    pub out_channels: usize,
    /// Groups; each reads its own share of the input channels.
    pub groups: usize,
    /// `[out_channels][kernel rows][kernel columns][input channels / groups]`, dense.
    pub values: Vec<i8>,
    /// Real units a step, by output channel (repeat one value for per-tensor weights).
    pub scales: Vec<f32>,
    /// By output channel, in units of input scale · weight scale.
    pub bias: Vec<i32>,
}

/// What is applied to a convolution's or sum's real result before it is stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Activation {
    /// Nothing.
    None,
    /// max(x, 0).
    Relu,
    /// x limited to `lo..=hi`, real units.
    Clip {
        /// Smallest value.
        lo: f32,
        /// Largest value.
        hi: f32,
    },
    /// Any function: the stored value for each quantised result.
    Table(Box<[u8; 256]>),
}

impl Activation {
    /// As limits on the quantised value: exact, because quantising is monotone.
    pub(crate) fn limits(&self, out: Quant) -> (u8, u8) {
        match self {
            Activation::None | Activation::Table(_) => (0, 255),
            Activation::Relu => (out.zero_point, 255),
            Activation::Clip { lo, hi } => (out.quantise(*lo), out.quantise(*hi)),
        }
    }

    pub(crate) fn table(&self) -> Option<&[u8; 256]> {
        match self {
            Activation::Table(table) => Some(table),
            _ => None,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Op {
    Conv(Box<Conv>),
    Add { params: AddParams },
    Concat,
    MaxPool(Window),
    AveragePool { window: Window, count_pads: bool },
    UpsampleNearest { factor: [usize; 2] },
    Table(Box<[u8; 256]>),
}

#[derive(Debug, Clone)]
pub(crate) struct Conv {
    pub window: Window,
    pub weights: Weights,
    pub transposed: bool,
    pub store: ConvStore,
}

#[derive(Debug, Clone)]
pub(crate) enum ConvStore {
    U8 {
        out: Quant,
        activation: Activation,
    },
    /// Requantised to `inner` (an intermediate tensor that is never stored), then added to the node's second input.
    Sum {
        inner: Quant,
        inner_activation: Activation,
        add: AddParams,
        /// Whether the convolution is the sum's first operand: the order decides the last bit.
        inner_is_first: bool,
    },
    F32,
}

#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub op: Op,
    pub inputs: Vec<Tensor>,
    pub output: Tensor,
}
