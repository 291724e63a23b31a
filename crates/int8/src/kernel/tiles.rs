//! How an output row and its channels are cut into tiles.

/// Blocks in groups of at most `most`, as even as they go: (first block, blocks).
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "the others have registers for one block only")
)]
pub(crate) fn groups(blocks: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let count = blocks.div_ceil(most);
    (0..count).map(move |i| {
        let first = i * blocks / count;
        (first, (i + 1) * blocks / count - first)
    })
}

/// The width from `widths` (ascending, from 1) that covers `columns` in the least time.
///
/// A tile of p pixels × b blocks issues p·b products and p + b loads a step on two ports each; fewer than ten
/// independent sums wait for each other.
pub(crate) fn width(widths: &[usize], columns: usize, blocks: usize) -> usize {
    let cost = |p: usize| columns.div_ceil(p) * (p * blocks).max(p + blocks).max(10);
    let fitting = widths.iter().copied().filter(|&p| p <= columns);
    fitting.rev().min_by_key(|&p| cost(p)).unwrap_or(1)
}

/// First pixels of tiles of `width` that cover `columns`; the last one overlaps its neighbour rather than overrun.
pub(crate) fn starts(columns: usize, width: usize) -> impl Iterator<Item = usize> {
    (0..columns.div_ceil(width)).map(move |i| (i * width).min(columns - width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_even_and_complete() {
        assert_eq!(groups(5, 4).collect::<Vec<_>>(), [(0, 2), (2, 3)]);
        assert_eq!(groups(8, 4).collect::<Vec<_>>(), [(0, 4), (4, 4)]);
        assert_eq!(groups(1, 4).collect::<Vec<_>>(), [(0, 1)]);
    }

    #[test]
    fn tiles_cover_a_row_without_overrun() {
        for columns in 1..40 {
            let width = width(&[1, 2, 3, 4, 5, 6], columns, 4);
            let mut seen = vec![false; columns];
            for start in starts(columns, width) {
                seen[start..start + width].fill(true);
            }
            assert!(seen.iter().all(|&s| s));
        }
        assert_eq!(width(&[1, 2, 3, 4, 5, 6], 24, 4), 6);
        assert_eq!(width(&[1, 2, 3, 4, 5, 6], 10, 4), 5);
    }
}
