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
    /// a field of squares round the middle of what is seen. Half a turn is no move, nor a quarter where the board has as many rows as
    /// columns or is seen in part: which corner comes first is chance then, and the picture is the same.
    pub fn moved_px(&self, other: &Self) -> f64 {
        let distance = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
        let count = self.corners.len();
        if self.is_whole && other.is_whole && other.corners.len() == count {
            let sum = |turned: &dyn Fn(usize) -> usize| {
                let there = |i: usize| other.corners[turned(i)].seen_px;
                self.corners.iter().enumerate().map(|(i, c)| distance(c.seen_px, there(i))).sum::<f64>()
            };
            let half = |i: usize| count - 1 - i;
            let mut least = sum(&|i| i).min(sum(&half));
            if self.is_square() {
                let side = count.isqrt();
                let quarter = |i: usize| (i % side) * side + (side - 1 - i / side);
                least = least.min(sum(&quarter)).min(sum(&|i| half(quarter(i))));
            }
            return least / count.max(1) as f64;
        }
        let (here, there) = (self.frame(), other.frame());
        let turned = |by: usize| (0..4).map(|i| distance(here[i], there[(i + by) % 4])).sum::<f64>();
        (0..4).map(turned).fold(f64::INFINITY, f64::min) / 4.0
    }

    /// Whether a view of the whole board has as many rows as columns.
    fn is_square(&self) -> bool {
        let last = self.corners.last().map_or([0.0; 2], |corner| corner.square);
        last[0] == last[1]
    }

    /// The corners of a square round the middle of what is seen, one after the other, as the picture has it on average.
    fn frame(&self) -> [[f64; 2]; 4] {
        /// Half of its side.
        const SQUARES: f64 = 2.5;
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
        [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)]
            .map(|(right, below)| [0, 1].map(|k| middle[k] + SQUARES * (right * along[k] + below * down[k])))
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

    #[test]
    fn a_square_board_that_stands_still_has_not_moved_whichever_corner_comes_first() {
        let places: [&dyn Fn(f64, f64) -> [f64; 2]; 4] =
            [&|x, y| [x, y], &|x, y| [6.0 - y, x], &|x, y| [6.0 - x, 6.0 - y], &|x, y| [y, 6.0 - x]];
        let seen = |place: &dyn Fn(f64, f64) -> [f64; 2], by: f64| {
            view(7, 7, true, |x, y| place(x, y).map(|squares| 100.0 + by + 30.0 * squares))
        };
        let first = seen(places[0], 0.0);
        for place in places {
            assert_eq!(first.moved_px(&seen(place, 0.0)), 0.0);
            assert!(first.moved_px(&seen(place, 14.0)) > 15.0);
        }
    }

    #[test]
    fn a_board_on_its_short_side_that_is_seen_whole_and_then_in_part_has_not_moved() {
        let whole = view(9, 6, true, |x, y| [300.0 - 30.0 * y, 80.0 + 30.0 * x]);
        // A part has its columns across the picture.
        let part = |by: f64| view(6, 9, false, move |x, y| [150.0 + by + 30.0 * x, 80.0 + 30.0 * y]);
        assert!(whole.moved_px(&part(0.0)) < 1e-9);
        assert!(whole.moved_px(&part(20.0)) > 15.0);
    }
}
