//! Where a heat map's joint most likely counts as found.
//!
//! PCK counts a joint as hit that lies within a part of the person's extent. Squares of cells, about as large as those
//! circles, lie round every cell; the cell whose squares hold the most probability is where the most hits are expected
//! (the Bayes estimate for that count). Where two cells near each other are about as likely, as a wrist's are that moves or
//! is half hidden, the place lies in between, instead of jumping from one to the other with every frame's noise.

use super::exp::exp_nonpositive;

/// Sums that differ by less, relative to the largest, may differ by rounding alone: the first of them counts.
const TIE: f32 = 1e-5;
/// Where the hits fall by less on both sides together, relative to the top, there is no top between cells.
const FLAT: f32 = 1e-3;
/// Columns that are summed together, in vector registers.
const LANES: usize = 8;

/// Adds up a map's probabilities; with room for one map, so that none is taken later.
#[derive(Debug)]
pub(super) struct Hits {
    rows: usize,
    columns: usize,
    /// Of each square, ascending: how many cells it reaches beyond its middle one.
    halves: Vec<usize>,
    /// Cells of nothing round the map.
    border: usize,
    /// `stride` cells a row, `rows + 2 * border` rows: not normalised, the likeliest cell has 1.
    weights: Vec<f32>,
    stride: usize,
    /// One row for each square: sums down its columns.
    down: Vec<f32>,
    /// Of every cell, `width` a row.
    hits: Vec<f32>,
    width: usize,
    total: f32,
}

/// A cell, and the place near it in cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub row: usize,
    pub column: usize,
    pub x: f32,
    pub y: f32,
}

impl Hits {
    /// For maps of `rows` x `columns`; `windows` are the squares' sides, odd.
    pub fn new(rows: usize, columns: usize, windows: &[usize]) -> Self {
        let mut halves: Vec<usize> = windows.iter().map(|side| side / 2).collect();
        halves.sort_unstable();
        let border = halves.last().copied().unwrap_or(0);
        let width = columns.next_multiple_of(LANES);
        let stride = (width + 2 * border).next_multiple_of(LANES);
        Self {
            rows,
            columns,
            border,
            weights: vec![0.0; stride * (rows + 2 * border)],
            stride,
            down: vec![0.0; stride * halves.len()],
            halves,
            hits: vec![0.0; width * rows],
            width,
            total: 0.0,
        }
    }

    /// The place on `map` (logits, row by row), whose largest value is `top`.
    pub fn find(&mut self, map: &[f32], top: f32) -> Place {
        self.weigh(map, top);
        for row in 0..self.rows {
            self.sum_down(row);
            self.sum_along(row);
        }
        self.best()
    }

    /// The part of the last map's probability that lies in the square of `window` cells round a cell.
    pub fn mass(&self, row: usize, column: usize, window: usize) -> f32 {
        let half = window / 2;
        let columns = column.saturating_sub(half)..(column + half + 1).min(self.columns);
        let inside: f32 = (row.saturating_sub(half)..(row + half + 1).min(self.rows))
            .flat_map(|row| &self.weights[self.border + (self.border + row) * self.stride..][columns.clone()])
            .sum();
        inside / self.total
    }

    fn weigh(&mut self, map: &[f32], top: f32) {
        // Eight sums: vectorised, and closer to exact than one long chain.
        let mut sums = [0.0f32; LANES];
        let inner = self.weights[self.border * self.stride..].chunks_exact_mut(self.stride);
        for (row, logits) in inner.zip(map.chunks_exact(self.columns)) {
            let row = &mut row[self.border..][..self.columns];
            row.iter_mut().zip(logits).for_each(|(w, v)| *w = exp_nonpositive(v - top));
            let (chunks, rest) = row.as_chunks::<LANES>();
            for chunk in chunks {
                sums.iter_mut().zip(chunk).for_each(|(sum, w)| *sum += w);
            }
            sums.iter_mut().zip(rest).for_each(|(sum, w)| *sum += w);
        }
        self.total = sums.iter().sum();
    }

    /// Each square's sums down the columns, for the squares round the cells of `row`.
    fn sum_down(&mut self, row: usize) {
        let middle = (row + self.border) * self.stride;
        for from in (0..self.stride).step_by(LANES) {
            let at = |start: usize| -> &[f32; LANES] {
                self.weights[start + from..].first_chunk().expect("rows are whole chunks")
            };
            let mut sum = *at(middle);
            let mut done = 0;
            for (k, &half) in self.halves.iter().enumerate() {
                for offset in done + 1..=half {
                    let (above, below) =
                        (at(middle - offset * self.stride), at(middle + offset * self.stride));
                    for i in 0..LANES {
                        sum[i] += above[i] + below[i];
                    }
                }
                done = half;
                self.down[k * self.stride + from..][..LANES].copy_from_slice(&sum);
            }
        }
    }

    /// The hits of a row's cells.
    fn sum_along(&mut self, row: usize) {
        let out = &mut self.hits[row * self.width..][..self.width];
        for (chunk, from) in out.as_chunks_mut::<LANES>().0.iter_mut().zip((0..).step_by(LANES)) {
            let mut sum = [0.0f32; LANES];
            for (down, &half) in self.down.chunks_exact(self.stride).zip(&self.halves) {
                let start = from + self.border - half;
                for window in down[start..start + LANES + 2 * half].windows(LANES) {
                    for i in 0..LANES {
                        sum[i] += window[i];
                    }
                }
            }
            *chunk = sum;
        }
    }

    fn best(&self) -> Place {
        let rows = || self.hits.chunks_exact(self.width).map(|row| &row[..self.columns]);
        let most = rows().flatten().fold(0.0f32, |a, &b| a.max(b));
        let enough = most * (1.0 - TIE);
        let found = rows().enumerate().find_map(|(y, row)| Some((y, row.iter().position(|&h| h >= enough)?)));
        let (row, column) = found.unwrap_or((0, 0));
        let at = |row: usize, column: usize| self.hits[row * self.width + column];
        let here = at(row, column);
        let (mut x, mut y) = (column as f32, row as f32);
        if column > 0 && column + 1 < self.columns {
            x += top_between(at(row, column - 1), here, at(row, column + 1));
        }
        if row > 0 && row + 1 < self.rows {
            y += top_between(at(row - 1, column), here, at(row + 1, column));
        }
        Place { row, column, x, y }
    }
}

/// How far from the middle one of three neighbours the top of the parabola through them lies.
fn top_between(before: f32, here: f32, after: f32) -> f32 {
    let curve = 2.0 * here - before - after;
    if curve > FLAT * here { ((after - before) / (2.0 * curve)).clamp(-0.5, 0.5) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, cell by cell, in double precision: the hits, row by row, and the total.
    fn plainly(rows: usize, columns: usize, windows: &[usize], map: &[f32]) -> (Vec<f64>, f64) {
        let top = map.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let weight = |row: usize, column: usize| f64::from(map[row * columns + column] - top).exp();
        let inside = |at: usize, middle: usize, side: usize| at.abs_diff(middle) <= side / 2;
        let cells = || (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        let hits = cells()
            .map(|(row, column)| {
                let of_square = |&side: &usize| -> f64 {
                    cells()
                        .filter(|&(r, c)| inside(r, row, side) && inside(c, column, side))
                        .map(|(r, c)| weight(r, c))
                        .sum()
                };
                windows.iter().map(of_square).sum()
            })
            .collect();
        (hits, cells().map(|(r, c)| weight(r, c)).sum())
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_definition(
            rows in 1usize..20, columns in 1usize..20, sharp in 0.0f32..12.0, seed: u64,
            windows in prop::collection::vec(prop::sample::select(vec![1usize, 3, 5, 7, 13]), 1..4),
        ) {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut hits = Hits::new(rows, columns, &windows);
            // The second map must not see the first.
            for _ in 0..2 {
                let map: Vec<f32> = (0..rows * columns).map(|_| sharp * random.f32()).collect();
                let top = map.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let place = hits.find(&map, top);
                let (exact, total) = plainly(rows, columns, &windows, &map);
                let most = exact.iter().copied().fold(0.0, f64::max);
                let chosen = exact[place.row * columns + place.column];
                prop_assert!(chosen >= most * (1.0 - 2e-5), "{chosen} of {most}");
                prop_assert!((place.x - place.column as f32).abs() <= 0.5);
                prop_assert!((place.y - place.row as f32).abs() <= 0.5);
                let (alone, _) = plainly(rows, columns, &[7], &map);
                let mass = f64::from(hits.mass(place.row, place.column, 7));
                prop_assert!((mass - alone[place.row * columns + place.column] / total).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn of_two_likely_places_near_each_other_it_is_neither_and_of_far_ones_the_likelier() {
        // Two bumps in the middle row, the second a little higher.
        let at = |columns: [f32; 2]| {
            let map: Vec<f32> = (0..9 * 30)
                .map(|i| {
                    let (x, y) = ((i % 30) as f32, (i / 30) as f32 - 4.0);
                    let bump = |column: f32, height: f32| height - (x - column).powi(2) - y.powi(2);
                    bump(columns[0], 2.0).max(bump(columns[1], 2.1))
                })
                .collect();
            Hits::new(9, 30, &[3, 7, 13]).find(&map, 2.1)
        };
        let near = at([8.0, 12.0]);
        assert!((near.y - 4.0).abs() < 0.01 && (9.0..11.5).contains(&near.x), "{near:?}");
        let far = at([4.0, 25.0]);
        assert!((far.x - 25.0).abs() < 0.1, "{far:?}");
    }

    #[test]
    fn a_flat_map_gives_the_first_of_its_cells_with_whole_squares() {
        let place = Hits::new(20, 20, &[3, 7, 13]).find(&[0.0; 400], 0.0);
        // To the right and below it is as flat: the parabola's top is half way there.
        assert_eq!(place, Place { row: 6, column: 6, x: 6.5, y: 6.5 });
    }
}
