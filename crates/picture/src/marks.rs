//! The marks of a JPEG, one after the other, as far as nothing is compressed yet.

/// The kind of each mark behind the first, and where what follows its length begins. A mark of no length ends them, as it does with bytes
/// that are no mark; whoever walks decides which kinds may stand there.
pub(super) fn marks(bytes: &[u8]) -> impl Iterator<Item = (u8, usize)> + '_ {
    let mut at = 2;
    std::iter::from_fn(move || {
        loop {
            match *bytes.get(at..)?.first_chunk::<4>()? {
                // Filled up.
                [0xff, 0xff, ..] => at += 1,
                [0xff, kind, high, low] => {
                    let behind = at + 4;
                    at += 2 + usize::from(u16::from_be_bytes([high, low]));
                    return Some((kind, behind));
                }
                _ => return None,
            }
        }
    })
}
