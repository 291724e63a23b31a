//! What a terminal says of itself, told from what is typed: both come in on the same line.
//!
//! Nothing waits for an answer: until it comes the picture is made of characters, and where none comes it stays so.

/// Asks for kitty's graphics (one pixel, only looked at), for the size of a cell, and for what the terminal can do: nearly every
/// terminal answers the last, and all answer in order.
pub(super) const QUESTION: &[u8] = b"\x1b_Gi=4207,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[16t\x1b[c";

/// Nothing that a terminal answers is longer.
const LONGEST: usize = 256;
/// In the answer to the last question: sixels.
const SIXELS: &[u8] = b"4";

/// How pictures finer than characters are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Graphics {
    /// The protocol of kitty, which Ghostty, Konsole and WezTerm have too.
    Kitty,
    /// DEC's sixels: foot, mlterm, Windows Terminal, xterm as a VT340, tmux and others.
    Sixel,
}

/// What is typed, and what the terminal has answered.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// The beginning of what may be an answer.
    pending: Vec<u8>,
    has_kitty: bool,
    has_sixel: bool,
    is_told: bool,
    /// Of a character, pixels.
    cell_px: Option<[usize; 2]>,
}

impl Keys {
    /// Takes what has come since the last call; whether it means the end.
    pub fn take(&mut self, new: &[u8]) -> bool {
        if new.is_empty() {
            // What waited for its rest is a key.
            return means_end(&std::mem::take(&mut self.pending));
        }
        self.pending.extend_from_slice(new);
        let all = std::mem::take(&mut self.pending);
        let (mut rest, mut typed) = (&all[..], Vec::new());
        while let [first, others @ ..] = rest {
            match answer(rest) {
                Found::Whole(length) => {
                    self.note(&rest[..length]);
                    rest = &rest[length..];
                }
                Found::Part => {
                    self.pending.extend_from_slice(rest);
                    break;
                }
                Found::Nothing => {
                    typed.push(*first);
                    rest = others;
                }
            }
        }
        means_end(&typed)
    }

    /// What the terminal has, once it has said.
    pub fn graphics(&self) -> Option<Graphics> {
        match (self.is_told, self.has_kitty, self.has_sixel) {
            (true, true, _) => Some(Graphics::Kitty),
            (true, _, true) => Some(Graphics::Sixel),
            _ => None,
        }
    }

    /// Width and height of a character, pixels, where the terminal has said.
    pub fn cell_px(&self) -> Option<[usize; 2]> {
        self.cell_px
    }

    fn note(&mut self, answer: &[u8]) {
        match answer {
            [0x1b, b'_', text @ ..] => self.has_kitty |= text.windows(3).any(|w| w == b";OK"),
            [0x1b, b'[', b'?', text @ .., b'c'] => {
                self.is_told = true;
                self.has_sixel |= text.split(|b| *b == b';').any(|number| number == SIXELS);
            }
            [0x1b, b'[', b'6', b';', text @ .., b't'] => {
                let number =
                    |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<usize>().ok().filter(|n| *n > 0);
                let mut numbers = text.split(|b| *b == b';').map(number);
                if let (Some(Some(height)), Some(Some(width))) = (numbers.next(), numbers.next()) {
                    self.cell_px = Some([width, height]);
                }
            }
            _ => {}
        }
    }
}

enum Found {
    /// An answer of this length.
    Whole(usize),
    /// What may become one.
    Part,
    Nothing,
}

/// Whether `bytes` begin with an answer.
fn answer(bytes: &[u8]) -> Found {
    let bounded = if bytes.len() < LONGEST { Found::Part } else { Found::Nothing };
    match bytes {
        [0x1b] | [0x1b, b'['] => Found::Part,
        [0x1b, b'_', ..] => {
            bytes.windows(2).position(|w| w == b"\x1b\\").map_or(bounded, |at| Found::Whole(at + 2))
        }
        [0x1b, b'[', b'?' | b'6', ..] => {
            let is_parameter = |b: &u8| matches!(b, b'0'..=b'9' | b';' | b'?');
            match bytes[2..].iter().position(|b| !is_parameter(b)) {
                None => bounded,
                Some(at) if matches!(bytes[2 + at], b'c' | b't') => Found::Whole(2 + at + 1),
                Some(_) => Found::Nothing,
            }
        }
        _ => Found::Nothing,
    }
}

/// Whether these keys, pressed at once, mean the end: `q`, Esc, or Ctrl-C where the terminal makes no signal of it. Arrows and the like
/// begin as Esc does, and mean nothing.
fn means_end(keys: &[u8]) -> bool {
    match keys {
        [0x1b] => true,
        [0x1b, ..] => false,
        keys => keys.iter().any(|key| matches!(key, b'q' | b'Q' | 0x03)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_and_escape_end_and_arrows_do_not() {
        for typed in [&b"q"[..], b"Q", b"\x1b", b"\x03", b"xq"] {
            let mut keys = Keys::default();
            assert!(keys.take(typed) || keys.take(b""), "{typed:?}");
        }
        for typed in [&b""[..], b"x", b"\x1b[A", b"\x1bOq", b"\x1b[6~", b"\x1b[?"] {
            let mut keys = Keys::default();
            assert!(!keys.take(typed) && !keys.take(b""), "{typed:?}");
        }
    }

    #[test]
    fn answers_are_told_from_keys_however_they_come() {
        let said = b"\x1b_Gi=4207;OK\x1b\\\x1b[6;18;9t\x1b[?62;22c";
        for piece in [1, 2, 3, 5, 100] {
            let mut keys = Keys::default();
            let ends = said.chunks(piece).any(|part| keys.take(part));
            assert!(!ends && !keys.take(b""), "in pieces of {piece}");
            assert_eq!(keys.graphics(), Some(Graphics::Kitty));
            assert_eq!(keys.cell_px(), Some([9, 18]));
        }
        let mut keys = Keys::default();
        assert!(!keys.take(b"\x1b_Gi=4207;ENOTSUP:no\x1b\\"));
        assert_eq!(keys.graphics(), None, "it has not said all");
        assert!(keys.take(b"\x1b[?62;4;22cq"), "a key right behind an answer counts");
        assert_eq!(keys.graphics(), Some(Graphics::Sixel));
        let mut plain = Keys::default();
        assert!(!plain.take(b"\x1b[?1;42;2c\x1b[6;0;0t"));
        assert_eq!((plain.graphics(), plain.cell_px()), (None, None));
    }

    #[test]
    fn what_never_ends_is_not_kept_for_ever() {
        let mut keys = Keys::default();
        for _ in 0..1000 {
            keys.take(b"\x1b_Gxxxxxxxx");
            keys.take(b"\x1b[?1111111111");
        }
        assert!(keys.pending.len() <= 2 * LONGEST, "{}", keys.pending.len());
    }
}
