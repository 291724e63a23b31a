//! Tensors: their sizes and what their values stand for.

use crate::arith;

/// Height, width and channels of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Rows.
    pub h: usize,
    /// Columns.
    pub w: usize,
    /// Channels.
    pub c: usize,
}

impl Shape {
    /// A shape of `h` rows, `w` columns and `c` channels.
    pub const fn new(h: usize, w: usize, c: usize) -> Self {
        Self { h, w, c }
    }

    /// Number of values.
    pub const fn len(&self) -> usize {
        self.h * self.w * self.c
    }

    /// Whether there is no value at all.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// real = (q − zero_point) · scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quant {
    /// Real units a step.
    pub scale: f32,
    /// The value that stands for zero.
    pub zero_point: u8,
}

impl Quant {
    /// The value nearest to `real`.
    pub fn quantise(&self, real: f32) -> u8 {
        arith::quantise(real / self.scale, self.zero_point, 0, 255)
    }

    /// What `q` stands for.
    pub fn dequantise(&self, q: u8) -> f32 {
        (i32::from(q) - i32::from(self.zero_point)) as f32 * self.scale
    }
}

/// A tensor of one [`Graph`](crate::Graph).
///
/// Another graph takes a tensor of its own for it, or panics where it has fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tensor(pub(crate) usize);

#[derive(Debug, Clone)]
pub(crate) struct TensorInfo {
    pub name: String,
    pub shape: Shape,
    /// `None`: f32 values (only a head's output).
    pub quant: Option<Quant>,
}
