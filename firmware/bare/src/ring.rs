//! Bytes between the UART's interrupt and the main loop.

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering};

/// A ring that one interrupt fills and the main loop empties.
///
/// It is never overrun: what does not fit stays in the UART (and in its sender, where the line has flow control), and the interrupt is
/// masked until there is room. Where the UART itself was overrun the interrupt stops too, until the main loop has used what came
/// before the gap and has given up the frame that the gap is in.
pub struct Ring {
    bytes: [AtomicU8; Ring::LEN],
    /// Count of bytes ever put in, and taken out; both wrap.
    pushed: AtomicUsize,
    popped: AtomicUsize,
    gaps: AtomicU32,
}

impl Ring {
    /// Bytes that wait for the main loop: 22 ms at 921600 baud, more than a redraw takes. A power of two.
    pub const LEN: usize = 2048;

    /// Empty.
    #[allow(clippy::new_without_default, reason = "for statics, which `Default` does not make")]
    pub const fn new() -> Self {
        Self {
            bytes: [const { AtomicU8::new(0) }; Ring::LEN],
            pushed: AtomicUsize::new(0),
            popped: AtomicUsize::new(0),
            gaps: AtomicU32::new(0),
        }
    }

    /// Bytes that wait.
    pub fn len(&self) -> usize {
        self.pushed.load(Ordering::Acquire).wrapping_sub(self.popped.load(Ordering::Acquire))
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether no more fits.
    pub fn is_full(&self) -> bool {
        self.len() >= Ring::LEN
    }

    /// Puts a byte in; the interrupt's side, which has asked [`Ring::is_full`]. A byte too many is a gap.
    pub fn push(&self, byte: u8) {
        if self.is_full() {
            return self.gap();
        }
        let at = self.pushed.load(Ordering::Relaxed);
        self.bytes[at % Ring::LEN].store(byte, Ordering::Relaxed);
        self.pushed.store(at.wrapping_add(1), Ordering::Release);
    }

    /// Notes that bytes were lost after those that are in; the interrupt's side.
    pub fn gap(&self) {
        self.gaps.fetch_add(1, Ordering::Release);
    }

    /// Takes the oldest byte out; the main loop's side.
    pub fn pop(&self) -> Option<u8> {
        if self.is_empty() {
            return None;
        }
        let at = self.popped.load(Ordering::Relaxed);
        let byte = self.bytes[at % Ring::LEN].load(Ordering::Relaxed);
        self.popped.store(at.wrapping_add(1), Ordering::Release);
        Some(byte)
    }

    /// Whether the main loop has nothing to do here.
    pub fn is_idle(&self) -> bool {
        self.is_empty() && !self.has_gap()
    }

    /// Whether a gap has not been taken yet; the interrupt has to stay stopped until then.
    pub fn has_gap(&self) -> bool {
        self.gaps.load(Ordering::Acquire) > 0
    }

    /// Gaps since the last call, once everything before them has been taken; the main loop's side.
    pub fn take_gaps(&self) -> u32 {
        // Asked first: a gap stops the interrupt, so after it no byte can come between.
        if self.has_gap() && self.is_empty() { self.gaps.swap(0, Ordering::Relaxed) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_as_they_went_in_round_after_round() {
        let ring = Ring::new();
        for round in 0..5u32 {
            for i in 0..Ring::LEN as u32 {
                ring.push((i ^ round) as u8);
            }
            assert!(ring.is_full());
            for i in 0..Ring::LEN as u32 {
                assert_eq!(ring.pop(), Some((i ^ round) as u8));
            }
            assert_eq!((ring.pop(), ring.take_gaps()), (None, 0));
        }
    }

    #[test]
    fn a_byte_too_many_is_a_gap_that_is_told_after_what_came_before_it() {
        let ring = Ring::new();
        (0..=Ring::LEN).for_each(|i| ring.push(i as u8));
        assert_eq!((ring.len(), ring.take_gaps()), (Ring::LEN, 0));
        while ring.pop().is_some() {}
        assert_eq!((ring.take_gaps(), ring.take_gaps()), (1, 0));
    }
}
