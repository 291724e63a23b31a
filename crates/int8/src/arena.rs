//! Memory aligned to a cache line.

/// One cache line; also the widest vector.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

pub(crate) const LINE: usize = 64;

/// Bytes on a 64-byte boundary, zeroed at birth, never moved and never resized.
#[derive(Debug, Clone)]
pub(crate) struct Aligned {
    lines: Box<[Line]>,
}

impl Aligned {
    pub fn zeroed(bytes: usize) -> Self {
        Self { lines: vec![Line([0; LINE]); bytes.div_ceil(LINE)].into_boxed_slice() }
    }

    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut aligned = Self::zeroed(bytes.len());
        aligned.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        aligned
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `Line` is 64 initialised bytes without padding, so n lines are 64·n bytes.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * LINE) }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as `bytes`; the borrow is unique.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * LINE) }
    }
}
