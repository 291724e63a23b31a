//! Places buffers in one arena so that those alive at the same time do not overlap.

use crate::arena::LINE;

/// A buffer's size and the steps between which its bytes matter, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Life {
    pub bytes: usize,
    pub first: usize,
    pub last: usize,
}

impl Life {
    fn meets(&self, other: &Life) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// Offsets (multiples of a line) and the arena's length: the largest buffers first, each in the lowest gap that holds it.
pub(crate) fn place(lives: &[Life]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..lives.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(lives[i].bytes));
    let mut offsets = vec![0; lives.len()];
    let mut placed: Vec<usize> = Vec::with_capacity(lives.len());
    let mut total = 0;
    for &i in &order {
        let mut neighbours: Vec<usize> =
            placed.iter().copied().filter(|&j| lives[j].meets(&lives[i])).collect();
        neighbours.sort_by_key(|&j| offsets[j]);
        let mut at = 0;
        for j in neighbours {
            if at + lives[i].bytes <= offsets[j] {
                break;
            }
            at = at.max((offsets[j] + lives[j].bytes).next_multiple_of(LINE));
        }
        offsets[i] = at;
        total = total.max(at + lives[i].bytes);
        placed.push(i);
    }
    (offsets, total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn buffers_alive_together_never_overlap(raw in prop::collection::vec((1usize..5000, 0usize..20, 0usize..6), 1..40)) {
            let lives: Vec<Life> =
                raw.iter().map(|&(bytes, first, more)| Life { bytes, first, last: first + more }).collect();
            let (offsets, total) = place(&lives);
            for (i, a) in lives.iter().enumerate() {
                prop_assert!(offsets[i] + a.bytes <= total);
                for (j, b) in lives.iter().enumerate().skip(i + 1) {
                    let apart = offsets[i] + a.bytes <= offsets[j] || offsets[j] + b.bytes <= offsets[i];
                    prop_assert!(apart || !a.meets(b));
                }
            }
        }
    }

    #[test]
    fn a_chain_needs_two_buffers() {
        let lives: Vec<Life> = (0..10).map(|i| Life { bytes: 640, first: i, last: i + 1 }).collect();
        assert_eq!(place(&lives).1, 1280);
    }
}
