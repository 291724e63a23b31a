//! Where a heat map's joint most likely counts as found.
//!
//! PCK counts a joint as hit that lies within a part of the person's extent. Squares of cells, about as large as those
//! circles, lie round every cell; the cell whose squares hold the most probability is where the most hits are expected
//! (the Bayes estimate for that count). Where two cells near each other are about as likely, as a wrist's are that moves or
//! is half hidden, the place lies in between, instead of jumping from one to the other with every frame's noise.

use std::ops::Range;

use math::exp_nonpositive;

/// Sums that differ by less, relative to the largest, may differ by rounding alone: the first of them counts.
const TIE: f32 = 1e-5;
/// Where the hits fall by less on both sides together, relative to the top, there is no top between cells.
const FLAT: f32 = 1e-3;
/// Well more than rounding takes off a bound.
const SLACK: f32 = 1e-3;
/// Columns that are summed together, in vector registers.
const LANES: usize = 8;

/// Adds up a map's probabilities; with room for one map, so that none is taken later.
#[derive(Debug)]
pub struct Hits {
    rows: usize,
    columns: usize,
    /// Of each square, ascending: how many cells it reaches beyond its middle one.
    halves: Vec<usize>,
    /// The largest of them: as many cells of nothing lie round the map.
    border: usize,
    /// `stride` cells a row, `rows + 2 * border` rows: not normalised, the likeliest cell has 1.
    weights: Vec<f32>,
    stride: usize,
    row_weights: Vec<f32>,
    column_weights: Vec<f32>,
    total: f32,
    /// One row for each square: what a cell as far along the row as it reaches counts for.
    down: Vec<f32>,
    /// Of the cells that were looked at, `stride` a row.
    hits: Vec<f32>,
}

/// A cell, and the place near it in cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Of the cell.
    pub row: usize,
    /// Of the cell.
    pub column: usize,
    /// Within half a cell of the cell's column.
    pub x: f32,
    /// Within half a cell of the cell's row.
    pub y: f32,
}

impl Hits {
    /// For maps of `rows` x `columns`; `windows` are the squares' sides, odd.
    pub fn new(rows: usize, columns: usize, windows: &[usize]) -> Self {
        let mut halves: Vec<usize> = windows.iter().map(|side| side / 2).collect();
        halves.sort_unstable();
        let border = halves.last().copied().unwrap_or(0);
        // Room for a chunk that begins at the last cell.
        let stride = columns + 2 * border + LANES;
        Self {
            rows,
            columns,
            border,
            weights: vec![0.0; stride * (rows + 2 * border)],
            stride,
            row_weights: vec![0.0; rows],
            column_weights: vec![0.0; columns],
            total: 0.0,
            down: vec![0.0; stride * halves.len()],
            halves,
            hits: vec![0.0; stride * rows],
        }
    }

    /// The place on `map` (logits, row by row), whose largest value is `top` in cell `peak`.
    #[inline(never)]
    pub fn find(&mut self, map: &[f32], peak: usize, top: f32) -> Place {
        self.weigh(map, top);
        // A square holds no more than the rows, or the columns, that it spans. Those where that cannot come to as much as the
        // likeliest cell has are left out: of a sure joint's map, most.
        let (row, column) = (peak / self.columns, peak % self.columns);
        let least: f32 = self.halves.iter().map(|half| self.inside(row, column, *half)).sum();
        let enough = least * (1.0 - SLACK);
        let rows = worth_a_look(&self.row_weights, &self.halves, enough);
        let columns = worth_a_look(&self.column_weights, &self.halves, enough);
        for row in rows.clone() {
            self.sum_down(row, &columns);
            self.sum_along(row, &columns);
        }
        self.best(rows, columns)
    }

    /// The part of the last map's probability that lies in the square of `window` cells round a cell.
    #[inline(never)]
    pub fn mass(&self, row: usize, column: usize, window: usize) -> f32 {
        self.inside(row, column, window / 2) / self.total
    }

    fn inside(&self, row: usize, column: usize, half: usize) -> f32 {
        let columns = column.saturating_sub(half)..(column + half + 1).min(self.columns);
        (row.saturating_sub(half)..(row + half + 1).min(self.rows))
            .flat_map(|row| &self.weights[self.border + (self.border + row) * self.stride..][columns.clone()])
            .sum()
    }

    fn weigh(&mut self, map: &[f32], top: f32) {
        self.column_weights.fill(0.0);
        let inner = self.weights[self.border * self.stride..].chunks_exact_mut(self.stride);
        for ((row, logits), row_weight) in
            inner.zip(map.chunks_exact(self.columns)).zip(&mut self.row_weights)
        {
            let row = &mut row[self.border..][..self.columns];
            for (w, v) in row.iter_mut().zip(logits) {
                *w = exp_nonpositive(v - top);
            }
            // Eight sums: vectorised, and closer to exact than one long chain.
            let mut sums = [0.0f32; LANES];
            let (chunks, rest) = row.as_chunks::<LANES>();
            for chunk in chunks {
                sums = add(sums, *chunk);
            }
            *row_weight = sums.iter().chain(rest).sum();
            for (sum, w) in self.column_weights.iter_mut().zip(row) {
                *sum += *w;
            }
        }
        self.total = self.row_weights.iter().sum();
    }

    /// Sums down the columns, over the squares round the cells of `row`; to each square's those of the larger ones are added.
    fn sum_down(&mut self, row: usize, columns: &Range<usize>) {
        let middle = (row + self.border) * self.stride;
        for from in (columns.start..columns.end + 2 * self.border).step_by(LANES) {
            let at = |start: usize| chunk(&self.weights, start + from);
            let mut sum = at(middle);
            let mut done = 0;
            for (k, &half) in self.halves.iter().enumerate() {
                for offset in done + 1..=half {
                    let (above, below) =
                        (at(middle - offset * self.stride), at(middle + offset * self.stride));
                    sum = add(sum, add(above, below));
                }
                done = half;
                for smaller in 0..=k {
                    let start = smaller * self.stride + from;
                    let before = if smaller == k { [0.0; LANES] } else { chunk(&self.down, start) };
                    put(&mut self.down, start, add(before, sum));
                }
            }
        }
    }

    /// The hits of a row's cells.
    fn sum_along(&mut self, row: usize, columns: &Range<usize>) {
        for column in columns.clone().step_by(LANES) {
            let middle = column + self.border;
            let mut sum = chunk(&self.down, middle);
            let mut reached = 0;
            for (k, &half) in self.halves.iter().enumerate() {
                let middle = k * self.stride + middle;
                while reached < half {
                    reached += 1;
                    sum = add(
                        sum,
                        add(chunk(&self.down, middle - reached), chunk(&self.down, middle + reached)),
                    );
                }
            }
            put(&mut self.hits, row * self.stride + column, sum);
        }
    }

    fn best(&self, rows: Range<usize>, columns: Range<usize>) -> Place {
        let seen = || rows.clone().map(|row| (row, &self.hits[row * self.stride..][columns.clone()]));
        let most = seen().flat_map(|(_, hits)| hits).fold(0.0f32, |a, &b| a.max(b));
        let enough = most * (1.0 - TIE);
        let found = seen().find_map(|(row, hits)| Some((row, hits.iter().position(|&h| h >= enough)?)));
        let (row, column) = found.map_or((0, 0), |(row, at)| (row, columns.start + at));
        let at = |row: usize, column: usize| self.hits[row * self.stride + column];
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

/// From the first to the last row or column whose squares can hold `enough`, and their neighbours.
fn worth_a_look(weights: &[f32], halves: &[usize], enough: f32) -> Range<usize> {
    let is_worth = |at: &usize| -> bool {
        let near = |half: &usize| &weights[at.saturating_sub(*half)..(at + half + 1).min(weights.len())];
        halves.iter().flat_map(near).sum::<f32>() >= enough
    };
    let first = (0..weights.len()).find(is_worth).unwrap_or(0);
    let last = (0..weights.len()).rfind(is_worth).unwrap_or(weights.len() - 1);
    first.saturating_sub(1)..(last + 2).min(weights.len())
}

// Plain loops: builds that optimise each unit of code alone leave calls where the library's iterators and copies are.

#[inline(always)]
#[expect(clippy::manual_memcpy, reason = "as above")]
fn chunk(values: &[f32], from: usize) -> [f32; LANES] {
    let values = &values[from..from + LANES];
    let mut out = [0.0; LANES];
    for i in 0..LANES {
        out[i] = values[i];
    }
    out
}

#[inline(always)]
#[expect(clippy::manual_memcpy, reason = "as above")]
fn put(values: &mut [f32], from: usize, chunk: [f32; LANES]) {
    let values = &mut values[from..from + LANES];
    for i in 0..LANES {
        values[i] = chunk[i];
    }
}

#[inline(always)]
fn add(a: [f32; LANES], b: [f32; LANES]) -> [f32; LANES] {
    let mut out = [0.0; LANES];
    for i in 0..LANES {
        out[i] = a[i] + b[i];
    }
    out
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
                let peak = map.iter().position(|&v| v == top).unwrap();
                let place = hits.find(&map, peak, top);
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
            Hits::new(9, 30, &[3, 7, 13]).find(&map, 4 * 30 + columns[1] as usize, 2.1)
        };
        let near = at([8.0, 12.0]);
        assert!((near.y - 4.0).abs() < 0.01 && (9.0..11.5).contains(&near.x), "{near:?}");
        let far = at([4.0, 25.0]);
        assert!((far.x - 25.0).abs() < 0.1, "{far:?}");
    }

    #[test]
    fn at_the_map_s_edge_a_place_is_its_cell_s_and_elsewhere_between_its_neighbours() {
        let (rows, columns) = (6, 9);
        for (row, column) in [(0, 4), (5, 4), (3, 0), (3, 8), (0, 0), (0, 8), (5, 0), (5, 8), (2, 3)] {
            // Falls off to all sides, and more slowly to the right and down.
            let fall = |d: f32| if d > 0.0 { 1.5 * d } else { -3.0 * d };
            let map: Vec<f32> = (0..rows * columns)
                .map(|i| {
                    -fall((i % columns) as f32 - column as f32) - fall((i / columns) as f32 - row as f32)
                })
                .collect();
            let place = Hits::new(rows, columns, &[1]).find(&map, row * columns + column, 0.0);
            assert_eq!((place.row, place.column), (row, column));
            for (at, cell, last) in [(place.x, column, columns - 1), (place.y, row, rows - 1)] {
                let beyond = at - cell as f32;
                let is_right =
                    if cell == 0 || cell == last { beyond == 0.0 } else { beyond > 0.02 && beyond < 0.3 };
                assert!(is_right, "{row}, {column}: {place:?}");
            }
        }
    }

    #[test]
    fn between_neighbours_that_differ_by_rounding_there_is_no_top() {
        assert_eq!(top_between(1.0, 1.000_5, 1.000_2), 0.0);
        assert_eq!(top_between(1.0, 1.0, 1.0), 0.0);
        assert!((top_between(0.8, 1.0, 0.9) - 0.5 * 0.1 / 0.3).abs() < 1e-6);
        assert_eq!(top_between(0.2, 1.0, 1.0), 0.5);
        assert_eq!(top_between(1.0, 0.5, 1.0), 0.0, "a valley");
    }

    #[test]
    fn a_flat_map_gives_the_first_of_its_cells_with_whole_squares() {
        let place = Hits::new(20, 20, &[3, 7, 13]).find(&[0.0; 400], 0, 0.0);
        // To the right and below it is as flat: the parabola's top is half way there.
        assert_eq!(place, Place { row: 6, column: 6, x: 6.5, y: 6.5 });
    }
}
