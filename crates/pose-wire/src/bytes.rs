//! Little-endian cursors over a packet's body.

/// Reads fields one after the other; past the end it gives zeros and remembers that it did.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    short: bool,
}

impl<'a> Reader<'a> {
    pub fn new(body: &'a [u8]) -> Self {
        Self { rest: body, short: false }
    }

    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        match self.rest.split_first_chunk::<N>() {
            Some((head, rest)) => {
                self.rest = rest;
                *head
            }
            None => {
                self.short = true;
                [0; N]
            }
        }
    }

    pub fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }
    pub fn i16(&mut self) -> i16 {
        i16::from_le_bytes(self.array())
    }
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }
    pub fn i32(&mut self) -> i32 {
        i32::from_le_bytes(self.array())
    }
    pub fn i64(&mut self) -> i64 {
        i64::from_le_bytes(self.array())
    }

    /// `value`, unless a field read so far lay past the end.
    pub fn finish<T>(self, value: T) -> Option<T> {
        (!self.short).then_some(value)
    }
}

/// Writes fields one after the other into a buffer that the caller made large enough.
pub(crate) struct Writer<'a> {
    to: &'a mut [u8],
    len: usize,
}

impl<'a> Writer<'a> {
    pub fn new(to: &'a mut [u8]) -> Self {
        Self { to, len: 0 }
    }

    pub fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.to[self.len..self.len + N].copy_from_slice(&bytes);
        self.len += N;
    }

    pub fn len(&self) -> usize {
        self.len
    }
}
