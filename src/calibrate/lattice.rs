//! A lattice of saddles: grown from one of them, and read as a board or a part of one.

use super::{Board, Corner, View};

/// A candidate for a corner: its place in pixels and the strength of its saddle.
#[derive(Clone, Copy, Debug)]
pub struct Saddle {
    pub x: f64,
    pub y: f64,
    pub strength: f32,
}

/// Fewer corners tell no pose.
const MIN_CORNERS: usize = 12;
/// Nor do corners along a line.
const MIN_SIDE: usize = 3;
/// Of the board's corners.
const MIN_SHARE: f64 = 0.2;
/// Where a square is looked at, from its corner, in steps: well inside of it.
const INSIDE: f64 = 0.4;
/// Light and dark squares differ by so many levels, and by so much of what is usual on the same board.
const CONTRAST: (f32, f32) = (12.0, 0.3);
/// A corner lies between its neighbours but for the perspective, parts of a step.
const BENT: f64 = 0.15;

/// Which saddle is at which place of a square field.
pub struct Lattice<'a> {
    saddles: &'a [Saddle],
    at: Vec<Option<usize>>,
    side: usize,
}

impl<'a> Lattice<'a> {
    /// Grown from saddle `seed`, each step guided by the last.
    pub fn grown(saddles: &'a [Saddle], seed: usize, board: Board) -> Option<Self> {
        let (along, across) = first_steps(saddles, seed)?;
        let side = 2 * (board.columns + board.rows) + 1;
        let centre = side / 2;
        // Lattice place to saddle, and the step that led there in each direction.
        let mut at: Vec<Option<usize>> = vec![None; side * side];
        let mut used = vec![false; saddles.len()];
        let mut queue = vec![(centre, centre, along, across)];
        at[centre * side + centre] = Some(seed);
        used[seed] = true;
        let mut next = 0;
        while next < queue.len() {
            let (column, row, along, across) = queue[next];
            next += 1;
            let Some(here) = at[row * side + column] else { continue };
            for (dc, dr) in [(1i32, 0i32), (-1, 0), (0, 1), (0, -1)] {
                let (c, r) = ((column as i32 + dc) as usize, (row as i32 + dr) as usize);
                if c >= side || r >= side || at[r * side + c].is_some() {
                    continue;
                }
                let (step, sign) = if dc != 0 { (along, f64::from(dc)) } else { (across, f64::from(dr)) };
                let expected = [saddles[here].x + sign * step[0], saddles[here].y + sign * step[1]];
                let length = step[0].hypot(step[1]);
                let Some(found) = nearest(saddles, &used, expected, 0.3 * length) else { continue };
                used[found] = true;
                at[r * side + c] = Some(found);
                let new = [
                    sign * (saddles[found].x - saddles[here].x),
                    sign * (saddles[found].y - saddles[here].y),
                ];
                let steps = if dc != 0 { (new, across) } else { (along, new) };
                queue.push((c, r, steps.0, steps.1));
            }
        }
        Some(Self { saddles, at, side })
    }

    /// The saddle at a place, which may lie outside.
    fn place(&self, column: i32, row: i32) -> Option<[f64; 2]> {
        let (column, row) = (usize::try_from(column).ok()?, usize::try_from(row).ok()?);
        let at = (column < self.side && row < self.side).then(|| self.at[row * self.side + column])??;
        Some([self.saddles[at].x, self.saddles[at].y])
    }

    /// The board, where a full rectangle of its size is there (the strongest of several: the edge of the paper can have saddles in line
    /// with the board's). The first corner lies at the top and the rows go down, as seen.
    pub fn whole(&self, board: Board) -> Option<View> {
        let Board { columns, rows } = board;
        let mut best: Option<(f32, Vec<[f64; 2]>)> = None;
        for is_turned in [false, true] {
            let (w, h) = if is_turned { (rows, columns) } else { (columns, rows) };
            for top in 0..=self.side.saturating_sub(h) {
                for left in 0..=self.side.saturating_sub(w) {
                    let cell = |row: usize, column: usize| {
                        let (c, r) =
                            if is_turned { (left + row, top + column) } else { (left + column, top + row) };
                        self.at[r * self.side + c].map(|i| self.saddles[i])
                    };
                    let corners: Option<Vec<Saddle>> =
                        (0..rows * columns).map(|i| cell(i / columns, i % columns)).collect();
                    let Some(corners) = corners else { continue };
                    let strength = corners.iter().map(|s| s.strength).sum();
                    if best.as_ref().is_none_or(|(s, _)| strength > *s) {
                        best = Some((strength, corners.iter().map(|s| [s.x, s.y]).collect()));
                    }
                }
            }
        }
        let (_, mut corners) = best?;
        // Rows go down the picture, and columns so that the board is seen from its front.
        let (first, last_in_row, last_row) =
            (corners[0], corners[board.columns - 1], corners[board.columns * (board.rows - 1)]);
        let along = [last_in_row[0] - first[0], last_in_row[1] - first[1]];
        let down = [last_row[0] - first[0], last_row[1] - first[1]];
        if along[0] * down[1] - along[1] * down[0] < 0.0 {
            corners.chunks_exact_mut(board.columns).for_each(<[_]>::reverse);
        }
        let down = corners[board.columns * (board.rows - 1)][1] - corners[0][1];
        if down < 0.0 {
            corners.reverse();
        }
        let corners = (0..)
            .zip(corners)
            .map(|(i, seen_px)| Corner { square: [(i % columns) as f64, (i / columns) as f64], seen_px });
        Some(View { corners: corners.collect(), is_whole: true })
    }

    /// The largest part of a board: corners that lie between their neighbours, each with two light squares and two dark ones round it, which
    /// change places from corner to corner. `light` is the picture's at a place, `None` outside.
    pub fn part(&self, board: Board, light: impl Fn([f64; 2]) -> Option<f32>) -> Option<View> {
        let side = self.side as i32;
        let places = (0..side).flat_map(|row| (0..side).map(move |column| (column, row)));
        let mut found: Vec<Candidate> =
            places.filter_map(|(column, row)| self.candidate(column, row, &light)).collect();
        let mut contrasts: Vec<f32> = found.iter().map(|c| c.contrast.abs()).collect();
        contrasts.sort_by(f32::total_cmp);
        let least = CONTRAST.0.max(CONTRAST.1 * *contrasts.get(contrasts.len() / 2)?);
        let odd = found.iter().filter(|c| c.contrast > 0.0).count();
        let is_mostly_odd = 2 * odd > found.len();
        found.retain(|c| c.contrast.abs() >= least && (c.contrast > 0.0) == is_mostly_odd);
        let part = connected(found);
        // As the picture has it: along to the right, down so that the board is seen from its front.
        let mean = |of: fn(&Candidate) -> [f64; 2]| {
            part.iter().map(of).fold([0.0; 2], |sum, step| [sum[0] + step[0], sum[1] + step[1]])
        };
        let (along, across) = (mean(|c| c.along), mean(|c| c.across));
        let is_turned = across[0].abs() > along[0].abs();
        let (along, across) = if is_turned { (across, along) } else { (along, across) };
        let sign = if along[0] < 0.0 { -1 } else { 1 };
        let is_mirrored = f64::from(sign) * (along[0] * across[1] - along[1] * across[0]) < 0.0;
        let down = if is_mirrored { -1 } else { 1 };
        let squares = part.iter().map(|c| {
            let (column, row) = if is_turned { (c.row, c.column) } else { (c.column, c.row) };
            (down * row, sign * column, c.at)
        });
        let mut squares: Vec<(i32, i32, [f64; 2])> = squares.collect();
        squares.sort_by_key(|&(row, column, _)| (row, column));
        let top = squares.iter().map(|s| s.0).min()?;
        let left = squares.iter().map(|s| s.1).min()?;
        let height = (squares.iter().map(|s| s.0).max()? - top + 1) as usize;
        let width = (squares.iter().map(|s| s.1).max()? - left + 1) as usize;
        let is_enough = squares.len() >= MIN_CORNERS
            && squares.len() as f64 >= MIN_SHARE * board.corners() as f64
            && width.min(height) >= MIN_SIDE;
        let corners = squares.into_iter().map(|(row, column, seen_px)| Corner {
            square: [f64::from(column - left), f64::from(row - top)],
            seen_px,
        });
        (is_enough && board.has_room_for(width, height))
            .then(|| View { corners: corners.collect(), is_whole: false })
    }

    /// What is at a place, if it looks like a corner.
    fn candidate(
        &self,
        column: i32,
        row: i32,
        light: &impl Fn([f64; 2]) -> Option<f32>,
    ) -> Option<Candidate> {
        let at = self.place(column, row)?;
        let step = |before: Option<[f64; 2]>, after: Option<[f64; 2]>| match (before, after) {
            (Some(a), Some(b)) => {
                let step = [0, 1].map(|k| 0.5 * (b[k] - a[k]));
                let off = [0, 1].map(|k| at[k] - 0.5 * (a[k] + b[k]));
                (off[0].hypot(off[1]) <= BENT * step[0].hypot(step[1])).then_some(step)
            }
            (Some(a), None) => Some([0, 1].map(|k| at[k] - a[k])),
            (None, Some(b)) => Some([0, 1].map(|k| b[k] - at[k])),
            (None, None) => None,
        };
        let along = step(self.place(column - 1, row), self.place(column + 1, row))?;
        let across = step(self.place(column, row - 1), self.place(column, row + 1))?;
        let square = |u: f64, v: f64| light([0, 1].map(|k| at[k] + INSIDE * (u * along[k] + v * across[k])));
        let [a, b] = [square(1.0, 1.0)?, square(-1.0, -1.0)?];
        let [c, d] = [square(1.0, -1.0)?, square(-1.0, 1.0)?];
        // At the board's edge one pair has a light and a dark square.
        let contrast = if a.min(b) > c.max(d) { a.min(b) - c.max(d) } else { (a.max(b) - c.min(d)).min(0.0) };
        let is_odd = (column + row) % 2 != 0;
        (contrast != 0.0).then_some(Candidate {
            column,
            row,
            at,
            along,
            across,
            contrast: if is_odd { -contrast } else { contrast },
        })
    }
}

/// A corner of a lattice that may be a board's.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    column: i32,
    row: i32,
    at: [f64; 2],
    along: [f64; 2],
    across: [f64; 2],
    /// Between its light and its dark squares; of one sign all over a board.
    contrast: f32,
}

/// The largest set of those that are neighbours of one another.
fn connected(mut left: Vec<Candidate>) -> Vec<Candidate> {
    let mut best = Vec::new();
    while let Some(first) = left.pop() {
        let mut part = vec![first];
        let mut next = 0;
        while let Some(&Candidate { column, row, .. }) = part.get(next) {
            next += 1;
            let is_near = |c: &mut Candidate| (c.column - column).abs() + (c.row - row).abs() == 1;
            part.extend(left.extract_if(.., is_near));
        }
        if part.len() > best.len() {
            best = part;
        }
    }
    best
}

/// From a corner to its neighbours along the board's two axes: the nearest saddle, and the nearest in a direction that is
/// not the first one's.
fn first_steps(saddles: &[Saddle], seed: usize) -> Option<([f64; 2], [f64; 2])> {
    let from = saddles[seed];
    let mut others: Vec<(f64, [f64; 2])> = saddles
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != seed)
        .map(|(_, s)| ([s.x - from.x, s.y - from.y], s))
        .map(|(d, _)| (d[0].hypot(d[1]), d))
        .collect();
    others.sort_by(|a, b| a.0.total_cmp(&b.0));
    let &(first_length, first) = others.first()?;
    others.into_iter().skip(1).take(8).find_map(|(length, d)| {
        let sine = (first[0] * d[1] - first[1] * d[0]) / (first_length * length);
        // A diagonal of two squares is longer than either side unless the board is nearly edge on.
        (sine.abs() > 0.5).then_some((first, d))
    })
}

fn nearest(saddles: &[Saddle], used: &[bool], to: [f64; 2], within: f64) -> Option<usize> {
    let distance = |s: &Saddle| (s.x - to[0]).hypot(s.y - to[1]);
    saddles
        .iter()
        .enumerate()
        .filter(|(i, s)| !used[*i] && distance(s) < within)
        .min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)))
        .map(|(i, _)| i)
}
