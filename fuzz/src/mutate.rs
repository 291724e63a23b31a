//! Changes bytes the way that damage, malice and chance do.

use fastrand::Rng;

/// Numbers at which arithmetic goes wrong.
const EDGES: [u64; 14] =
    [0, 1, 2, 7, 16, 127, 128, 255, 256, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, u64::MAX];

/// Applies one to eight changes to `bytes`; `other` is material to splice, `words` are worth inserting. Never longer
/// than `max_len`.
pub fn mutate(bytes: &mut Vec<u8>, other: &[u8], words: &[&[u8]], max_len: usize, dice: &mut Rng) {
    for _ in 0..1 << dice.u32(0..4) {
        once(bytes, other, words, dice);
    }
    bytes.truncate(max_len);
}

fn once(bytes: &mut Vec<u8>, other: &[u8], words: &[&[u8]], dice: &mut Rng) {
    if bytes.is_empty() {
        bytes.extend_from_slice(if other.is_empty() { &[0] } else { other });
        return;
    }
    let at = dice.usize(0..bytes.len());
    let longest = 1 << dice.u32(0..7);
    let len = dice.usize(1..=longest).min(bytes.len() - at);
    match dice.u32(0..12) {
        0 => bytes[at] ^= 1 << dice.u32(0..8),
        1 => bytes[at] = dice.u8(..),
        2 => bytes[at] = bytes[at].wrapping_add(dice.u8(0..35)).wrapping_sub(17),
        3 => overwrite_number(bytes, at, dice),
        4 => drop(bytes.drain(at..at + len)),
        5 => {
            let copy = bytes[at..at + len].to_vec();
            insert(bytes, dice.usize(0..bytes.len()), &copy);
        }
        6 => {
            let to = dice.usize(0..bytes.len());
            let len = len.min(bytes.len() - to);
            bytes.copy_within(at..at + len, to);
        }
        7 => insert(bytes, at, &vec![dice.u8(..); len]),
        8 if !words.is_empty() => insert(bytes, at, words[dice.usize(0..words.len())]),
        9 if !words.is_empty() => {
            let word = words[dice.usize(0..words.len())];
            let end = (at + word.len()).min(bytes.len());
            bytes.splice(at..end, word.iter().copied());
        }
        10 if !other.is_empty() => {
            let from = dice.usize(0..other.len());
            bytes.truncate(at);
            bytes.extend_from_slice(&other[from..]);
        }
        11 => overwrite_digits(bytes, at, dice),
        _ => bytes.truncate(at),
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, what: &[u8]) {
    bytes.splice(at..at, what.iter().copied());
}

/// A number of one, two, four or eight bytes, in either order.
fn overwrite_number(bytes: &mut [u8], at: usize, dice: &mut Rng) {
    let width = 1 << dice.usize(0..4);
    let value = EDGES[dice.usize(0..EDGES.len())].wrapping_add(dice.u64(0..3)).wrapping_sub(1);
    let big = dice.bool();
    for (i, byte) in bytes.iter_mut().skip(at).take(width).enumerate() {
        let shift = if big { width - 1 - i } else { i };
        *byte = (value >> (8 * shift)) as u8;
    }
}

/// The decimal number nearest after `at` becomes another.
fn overwrite_digits(bytes: &mut Vec<u8>, at: usize, dice: &mut Rng) {
    let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|i| at + i) else { return };
    let end = bytes[start..].iter().position(|b| !b.is_ascii_digit()).map_or(bytes.len(), |i| start + i);
    let value = EDGES[dice.usize(0..EDGES.len())];
    let text = if dice.bool() { value.to_string() } else { format!("-{value}") };
    bytes.splice(start..end, text.into_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutations_are_bounded_varied_and_repeatable() {
        let run = |seed| {
            let mut dice = Rng::with_seed(seed);
            let mut seen = std::collections::HashSet::new();
            for _ in 0..2_000 {
                let mut bytes = b"W640 H480 and more".to_vec();
                mutate(&mut bytes, b"other", &[b"word"], 64, &mut dice);
                assert!(bytes.len() <= 64);
                seen.insert(bytes);
            }
            seen
        };
        assert_eq!(run(1), run(1));
        assert!(run(1).len() > 1_500);
    }
}
