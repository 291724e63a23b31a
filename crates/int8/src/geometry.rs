//! Where values lie: padded buffers, and which pixels a convolution's taps reach.

use crate::op::Conv;
use crate::tensor::Shape;
use crate::window::Pads;

/// A tensor in the arena: pixels of `pixel` bytes in rows of `row` bytes, with a ring of zero-point pixels round it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Buffer {
    pub shape: Shape,
    pub ring: Pads,
    /// Bytes from one pixel to the next.
    pub pixel: usize,
    /// Bytes from one row to the next.
    pub row: usize,
    /// Bytes of one value: 1 or 4.
    pub value: usize,
    /// First byte (of the ring) in the arena.
    pub offset: usize,
}

impl Buffer {
    pub fn new(shape: Shape, value: usize, ring: Pads) -> Self {
        // u8 channels go in fours because that is one operand of the dot-product instructions.
        let pixel = if value == 1 { shape.c.next_multiple_of(4) } else { shape.c * value };
        Self { shape, ring, pixel, row: pixel * (ring.left + shape.w + ring.right), value, offset: 0 }
    }

    pub fn bytes(&self) -> usize {
        self.row * (self.ring.top + self.shape.h + self.ring.bottom)
    }

    /// Arena position of a pixel; negative coordinates reach into the ring.
    pub fn at(&self, y: isize, x: isize) -> isize {
        let inside = (y + self.ring.top as isize) * self.row as isize
            + (x + self.ring.left as isize) * self.pixel as isize;
        self.offset as isize + inside
    }

    /// The ring as runs of bytes (arena position, length), neighbours merged.
    pub fn ring_runs(&self) -> Vec<(usize, usize)> {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        let mut push = |at: usize, len: usize| match runs.last_mut() {
            _ if len == 0 => {}
            Some((start, previous)) if *start + *previous == at => *previous += len,
            _ => runs.push((at, len)),
        };
        push(self.offset, self.ring.top * self.row);
        for y in 0..self.shape.h {
            push(self.at(y as isize, -(self.ring.left as isize)) as usize, self.ring.left * self.pixel);
            push(self.at(y as isize, self.shape.w as isize) as usize, self.ring.right * self.pixel);
        }
        let below = self.offset + (self.ring.top + self.shape.h) * self.row;
        push(below, self.ring.bottom * self.row);
        runs
    }
}

/// One weight position: `index` = kernel row · kernel columns + kernel column, reading the input at (dy, dx) from the
/// pixel that belongs to the output pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tap {
    pub dy: isize,
    pub dx: isize,
    pub index: usize,
}

/// A convolution over a regular grid of output pixels. A convolution is one; a transposed convolution of stride s is s².
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// First output pixel.
    pub first: [usize; 2],
    /// Output pixels between two of the part's.
    pub out_step: [usize; 2],
    /// Rows and columns of the part.
    pub size: [usize; 2],
    /// Input pixels between two of the part's.
    pub in_step: [usize; 2],
    pub taps: Vec<Tap>,
}

pub(crate) fn parts(conv: &Conv, output: Shape) -> Vec<Part> {
    let window = &conv.window;
    let [kh, kw] = window.kernel;
    let pads = [window.pads.top as isize, window.pads.left as isize];
    let size = [output.h, output.w];
    let all_taps = || (0..kh).flat_map(|ky| (0..kw).map(move |kx| ([ky, kx], ky * kw + kx)));
    if !conv.transposed {
        let reach = |k: [usize; 2], axis: usize| (k[axis] * window.dilation[axis]) as isize - pads[axis];
        let taps = all_taps().map(|(k, index)| Tap { dy: reach(k, 0), dx: reach(k, 1), index }).collect();
        return vec![Part { first: [0, 0], out_step: [1, 1], size, in_step: window.stride, taps }];
    }
    // Output y = s·j + r sees input j + (r + pad − dilation·k) / s for the taps k where that divides.
    let stride = window.stride;
    let mut parts = Vec::new();
    for ry in 0..stride[0].min(size[0]) {
        for rx in 0..stride[1].min(size[1]) {
            let along = |k: usize, r: usize, axis: usize| {
                let distance = r as isize + pads[axis] - (k * window.dilation[axis]) as isize;
                let s = stride[axis] as isize;
                (distance.rem_euclid(s) == 0).then_some(distance.div_euclid(s))
            };
            let mut taps: Vec<Tap> = all_taps()
                .filter_map(|(k, index)| {
                    Some(Tap { dy: along(k[0], ry, 0)?, dx: along(k[1], rx, 1)?, index })
                })
                .collect();
            taps.sort_by_key(|t| (t.dy, t.dx));
            let size = [(size[0] - ry).div_ceil(stride[0]), (size[1] - rx).div_ceil(stride[1])];
            parts.push(Part { first: [ry, rx], out_step: stride, size, in_step: [1, 1], taps });
        }
    }
    parts
}

/// The ring that a convolution's input must have.
pub(crate) fn ring_needed(parts: &[Part], input: Shape) -> Pads {
    let mut need = Pads::default();
    for part in parts {
        for tap in &part.taps {
            let last = |axis: usize| ((part.size[axis] - 1) * part.in_step[axis]) as isize;
            let over = |distance: isize| usize::try_from(distance).unwrap_or(0);
            need.top = need.top.max(over(-tap.dy));
            need.left = need.left.max(over(-tap.dx));
            need.bottom = need.bottom.max(over(last(0) + tap.dy + 1 - input.h as isize));
            need.right = need.right.max(over(last(1) + tap.dx + 1 - input.w as isize));
        }
    }
    need
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{ConvStore, Weights};
    use crate::window::Window;

    #[test]
    fn ring_runs_cover_exactly_the_ring() {
        let ring = Pads { top: 1, left: 2, bottom: 0, right: 1 };
        let mut buffer = Buffer::new(Shape::new(3, 4, 3), 1, ring);
        buffer.offset = 64;
        let mut seen = vec![0u8; 64 + buffer.bytes()];
        for (at, len) in buffer.ring_runs() {
            seen[at..at + len].iter_mut().for_each(|b| *b += 1);
        }
        for y in 0..3 {
            for x in 0..4 {
                let at = buffer.at(y, x) as usize;
                seen[at..at + buffer.pixel].iter_mut().for_each(|b| *b += 1);
            }
        }
        assert!(seen[64..].iter().all(|&n| n == 1));
    }

    #[test]
    fn a_transposed_stride_of_two_is_four_small_convolutions() {
        let weights =
            Weights { out_channels: 1, groups: 1, values: vec![0; 16], scales: vec![1.0], bias: vec![0] };
        let conv = Conv { window: Window::square(4, 2, 1), weights, transposed: true, store: ConvStore::F32 };
        let parts = parts(&conv, Shape::new(10, 10, 1));
        assert_eq!(parts.len(), 4);
        assert!(parts.iter().all(|p| p.taps.len() == 4 && p.size == [5, 5]));
        let ring = ring_needed(&parts, Shape::new(5, 5, 1));
        assert_eq!(ring, Pads { top: 1, left: 1, bottom: 1, right: 1 });
    }
}
