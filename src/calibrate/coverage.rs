//! Where in the picture the board has been: intrinsics hold where they were measured.

/// Cells a side.
pub const SIDE: usize = 6;
/// Of a cell's share of all corners counted, one is enough: a board has dozens.
const CELLS: f64 = (SIDE * SIDE) as f64;

/// Which parts of the picture have had a corner in them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coverage {
    size_px: [usize; 2],
    cells: [[bool; SIDE]; SIDE],
}

impl Coverage {
    /// Of pictures of `size_px`: nothing yet.
    pub fn new(size_px: [usize; 2]) -> Self {
        Self { size_px, cells: [[false; SIDE]; SIDE] }
    }

    /// Takes the corners of one view, pixels.
    pub fn add(&mut self, corners: impl IntoIterator<Item = [f64; 2]>) {
        let cell = |v: f64, size: usize| ((v / size.max(1) as f64 * SIDE as f64) as usize).min(SIDE - 1);
        for [x, y] in corners {
            self.cells[cell(y, self.size_px[1])][cell(x, self.size_px[0])] = true;
        }
    }

    /// Row by row, from the top left: whether a corner has been there.
    pub fn cells(&self) -> &[[bool; SIDE]; SIDE] {
        &self.cells
    }

    /// The share of the picture that was covered, 0..=1.
    pub fn share(&self) -> f64 {
        self.cells.iter().flatten().filter(|is_covered| **is_covered).count() as f64 / CELLS
    }

    /// The emptiest side or corner, for a person who holds a board; `None` once every one has been covered.
    pub fn missing(&self) -> Option<&'static str> {
        // Columns and rows of thirds, of which a picture has nine parts.
        const PARTS: [[&str; 3]; 3] = [
            ["top left corner", "upper edge", "top right corner"],
            ["left edge", "middle", "right edge"],
            ["bottom left corner", "lower edge", "bottom right corner"],
        ];
        let third = SIDE / 3;
        let covered = |row: usize, column: usize| {
            let rows = self.cells[row * third..(row + 1) * third].iter();
            rows.flat_map(|cells| &cells[column * third..(column + 1) * third]).filter(|c| **c).count()
        };
        let parts = (0..9).map(|i| (covered(i / 3, i % 3), PARTS[i / 3][i % 3]));
        parts.filter(|(count, _)| *count < third).min_by_key(|(count, _)| *count).map(|(_, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_emptiest_part_is_named_until_all_are_covered() {
        let mut coverage = Coverage::new([600, 600]);
        assert_eq!(coverage.share(), 0.0);
        let all: Vec<[f64; 2]> =
            (0..36).map(|i| [f64::from(i % 6) * 100.0 + 50.0, f64::from(i / 6) * 100.0 + 50.0]).collect();
        let without_left: Vec<_> = all.iter().copied().filter(|[x, y]| *x > 200.0 || *y < 200.0).collect();
        coverage.add(without_left);
        assert_eq!(coverage.missing(), Some("left edge"));
        coverage.add([[-3.0, 9999.0]]);
        assert_eq!(coverage.missing(), Some("left edge"), "what lies outside counts at the edge");
        coverage.add(all);
        assert_eq!((coverage.missing(), coverage.share()), (None, 1.0));
    }
}
