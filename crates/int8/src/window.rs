//! The geometry of convolutions and poolings.

use crate::error::{Error, shape_error, unsupported};

/// Keeps every product of sizes far from overflow; no camera network comes near it.
pub(crate) const MAX_SIDE: usize = 1 << 14;

/// Pixels of padding on each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pads {
    /// Rows above.
    pub top: usize,
    /// Columns to the left.
    pub left: usize,
    /// Rows below.
    pub bottom: usize,
    /// Columns to the right.
    pub right: usize,
}

/// The geometry of a convolution or pooling; pairs are (vertical, horizontal).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Taps.
    pub kernel: [usize; 2],
    /// Input pixels between outputs (a transposed convolution: output pixels between inputs).
    pub stride: [usize; 2],
    /// Input pixels between taps.
    pub dilation: [usize; 2],
    /// Padding.
    pub pads: Pads,
}

impl Window {
    /// A square window: `k`×`k` taps, equal strides and pads, no dilation.
    pub const fn square(k: usize, stride: usize, pad: usize) -> Self {
        Self {
            kernel: [k, k],
            stride: [stride, stride],
            dilation: [1, 1],
            pads: Pads { top: pad, left: pad, bottom: pad, right: pad },
        }
    }

    pub(crate) fn reach(&self, axis: usize) -> usize {
        self.dilation[axis] * (self.kernel[axis] - 1) + 1
    }

    /// Rows and columns that come out of `h` × `w`; `None` where the window does not fit once.
    pub(crate) fn out(&self, h: usize, w: usize) -> Option<(usize, usize)> {
        let along = |size: usize, before: usize, after: usize, axis: usize| {
            (size + before + after).checked_sub(self.reach(axis)).map(|free| free / self.stride[axis] + 1)
        };
        Some((along(h, self.pads.top, self.pads.bottom, 0)?, along(w, self.pads.left, self.pads.right, 1)?))
    }

    pub(crate) fn check(&self, operator: &str) -> Result<(), Error> {
        let Pads { top, left, bottom, right } = self.pads;
        let sides = || [self.kernel, self.stride, self.dilation].into_iter().flatten();
        if sides().any(|v| v == 0) {
            return Err(shape_error(operator, format!("window {self:?} has a zero")));
        }
        if sides().chain([top, left, bottom, right]).any(|v| v > MAX_SIDE) {
            return Err(unsupported(operator, format!("window {self:?} has a value above {MAX_SIDE}")));
        }
        Ok(())
    }
}
