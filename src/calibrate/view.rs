//! One view of a board: which corners were seen, and where.

/// One of the inner corners, where four squares meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corner {
    /// On the board, squares from the view's own first corner.
    pub square: [f64; 2],
    /// In the picture, pixels from its top left corner.
    pub seen_px: [f64; 2],
}

/// What one picture shows of a board. Which of the board's corners is the view's first does not matter: every view has a pose of its own,
/// and intrinsics do not depend on it.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// In rows from the left to the right, as the board is seen.
    pub corners: Vec<Corner>,
    /// Whether it is the whole board.
    pub is_whole: bool,
}

impl View {
    /// How far the board has moved in the picture from one view to another, on average, pixels: its corners where both show all of it, else
    /// a rectangle of squares round the middle of what is seen. Half a turn is no move: which end of a board that stands on its short side
    /// comes first is chance, and its picture is the same.
    pub fn moved_px(&self, other: &Self) -> f64 {
        let distance = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
        if self.is_whole && other.is_whole {
            let of = |pair: (&Corner, &Corner)| distance(pair.0.seen_px, pair.1.seen_px);
            let straight: f64 = self.corners.iter().zip(&other.corners).map(of).sum();
            let turned: f64 = self.corners.iter().zip(other.corners.iter().rev()).map(of).sum();
            return straight.min(turned) / self.corners.len().max(1) as f64;
        }
        let (here, there) = (self.frame(), other.frame());
        here.iter().zip(&there).map(|(a, b)| distance(*a, *b)).sum::<f64>() / here.len() as f64
    }

    /// The corners of a rectangle round the middle of what is seen, as the picture has it on average.
    fn frame(&self) -> [[f64; 2]; 4] {
        const SQUARES: [f64; 2] = [3.0, 2.0];
        let n = self.corners.len().max(1) as f64;
        let mean = |of: &dyn Fn(&Corner) -> f64| self.corners.iter().map(of).sum::<f64>() / n;
        let square = [0, 1].map(|k| mean(&|c| c.square[k]));
        let middle = [0, 1].map(|k| mean(&|c| c.seen_px[k]));
        // Of a rectangle of corners, rows and columns are independent.
        let step = |k: usize, axis: usize| {
            let with = mean(&|c| (c.square[k] - square[k]) * (c.seen_px[axis] - middle[axis]));
            with / mean(&|c| (c.square[k] - square[k]).powi(2)).max(1e-9)
        };
        let along = [step(0, 0), step(0, 1)];
        let down = [step(1, 0), step(1, 1)];
        [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)].map(|(right, below)| {
            [0, 1].map(|k| middle[k] + right * SQUARES[0] * along[k] + below * SQUARES[1] * down[k])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(columns: usize, rows: usize, is_whole: bool, place: impl Fn(f64, f64) -> [f64; 2]) -> View {
        let squares = (0..rows * columns).map(|i| [(i % columns) as f64, (i / columns) as f64]);
        let corners = squares.map(|square| Corner { square, seen_px: place(square[0], square[1]) });
        View { corners: corners.collect(), is_whole }
    }

    #[test]
    fn a_board_that_is_pushed_or_tilted_has_moved() {
        for is_whole in [true, false] {
            let straight = view(9, 6, is_whole, |x, y| [100.0 + 30.0 * x, 80.0 + 30.0 * y]);
            assert_eq!(straight.moved_px(&straight), 0.0);
            let pushed = view(9, 6, is_whole, |x, y| [110.0 + 30.0 * x, 80.0 + 30.0 * y]);
            assert!((straight.moved_px(&pushed) - 10.0).abs() < 1e-9);
            // Round its own middle.
            let narrow = view(9, 6, is_whole, |x, y| [100.0 + 120.0 + 20.0 * (x - 4.0), 80.0 + 30.0 * y]);
            assert!(straight.moved_px(&narrow) > 15.0);
        }
    }

    #[test]
    fn a_board_that_stands_still_on_its_short_side_has_not_moved_whichever_end_comes_first() {
        let standing = |x: f64, y: f64| [300.0 - 30.0 * y, 80.0 + 30.0 * x];
        let first = view(9, 6, true, standing);
        let other = view(9, 6, true, |x, y| standing(8.0 - x, 5.0 - y));
        assert_eq!(first.moved_px(&other), 0.0);
        let pushed = view(9, 6, true, |x, y| standing(8.0 - x, 5.0 - y).map(|v| v + 20.0));
        assert!(first.moved_px(&pushed) > 15.0);
    }
}
