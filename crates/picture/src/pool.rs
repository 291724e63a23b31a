//! Buffers that come back: a source allocates only until as many are out as its reader ever holds at once.

use std::sync::Arc;

/// Hands out `Arc<Vec<u8>>` and takes a buffer again once nobody else holds it.
#[derive(Debug, Default)]
pub struct BufferPool {
    buffers: Vec<Arc<Vec<u8>>>,
}

impl BufferPool {
    /// More buffers than this at once means that a reader hoards frames; the pool then stops remembering new ones.
    /// (One in the driver's hand, one in the slot, one in the decoder, one with a recorder, doubled for slack.)
    const KEEP: usize = 8;

    /// A pool with nothing in it.
    pub fn new() -> Self {
        Self { buffers: Vec::with_capacity(Self::KEEP) }
    }

    /// Lends a free buffer to `fill`, which must say all of its contents (it may hold an old picture), and returns
    /// it shared. Allocates only while every known buffer is in use, or when a picture is larger than any before.
    ///
    /// # Errors
    /// What `fill` says; the buffer stays in the pool.
    pub fn fill<E>(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<Arc<Vec<u8>>, E> {
        let free = self.buffers.iter_mut().position(|b| Arc::get_mut(b).is_some());
        let at = match free {
            Some(at) => at,
            None if self.buffers.len() < Self::KEEP => {
                self.buffers.push(Arc::default());
                self.buffers.len() - 1
            }
            None => {
                let mut bytes = Vec::new();
                fill(&mut bytes)?;
                return Ok(Arc::new(bytes));
            }
        };
        let shared = &mut self.buffers[at];
        if let Some(bytes) = Arc::get_mut(shared) {
            fill(bytes)?;
        }
        Ok(Arc::clone(shared))
    }

    /// [`fill`](Self::fill) with a copy of `bytes`.
    pub fn copy(&mut self, bytes: &[u8]) -> Arc<Vec<u8>> {
        let filled = self.fill(|buffer| {
            buffer.clear();
            buffer.extend_from_slice(bytes);
            Ok::<(), std::convert::Infallible>(())
        });
        match filled {
            Ok(shared) => shared,
            Err(never) => match never {},
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_was_let_go_is_lent_again() {
        let mut pool = BufferPool::new();
        let first = pool.copy(&[1, 2, 3]);
        let place = first.as_ptr();
        let second = pool.copy(&[4]);
        assert_ne!(second.as_ptr(), place, "a buffer still read must not be written");
        assert_eq!(*first, [1, 2, 3]);
        drop(first);
        assert_eq!(pool.copy(&[5, 6]).as_ptr(), place);
    }

    #[test]
    fn a_reader_that_keeps_everything_gets_correct_frames_and_the_pool_stays_bounded() {
        let mut pool = BufferPool::new();
        let kept: Vec<_> = (0..50u8).map(|i| pool.copy(&[i])).collect();
        assert!(kept.iter().enumerate().all(|(i, b)| **b == [i as u8]));
        assert_eq!(pool.buffers.len(), BufferPool::KEEP);
    }
}
