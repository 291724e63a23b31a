//! A few characters of text without allocation.

use core::fmt;

/// A short text, built with `write!`; what does not fit is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    bytes: [u8; Self::CAPACITY],
    len: usize,
}

impl Label {
    /// Characters that fit: a line on the smallest panel.
    pub const CAPACITY: usize = 24;

    /// An empty label.
    pub const fn new() -> Self {
        Self { bytes: [0; Self::CAPACITY], len: 0 }
    }

    /// `format_args!(…)` as a label.
    pub fn from_args(args: fmt::Arguments<'_>) -> Self {
        let mut label = Self::new();
        // It only fails where a Display implementation does, and then what was written so far stays.
        let _ = fmt::Write::write_fmt(&mut label, args);
        label
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.len]).unwrap_or("")
    }
}

impl Default for Label {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Write for Label {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            let end = self.len + c.len_utf8();
            let Some(place) = self.bytes.get_mut(self.len..end) else { break };
            c.encode_utf8(place);
            self.len = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_too_long_is_cut() {
        let label = Label::from_args(format_args!("{}-{}", 12, "abcdefghijklmnopqrstuvwxyz"));
        assert_eq!(label.as_str(), "12-abcdefghijklmnopqrstu");
        assert_eq!(Label::from_args(format_args!("#{}", 3)).as_str(), "#3");
    }
}
