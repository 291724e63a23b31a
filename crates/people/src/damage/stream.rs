//! What a film's compression does from frame to frame: blocks that are foretold from the frame before, moved; changes too small to
//! be told, which lag; more change than a frame's share allows, which lags too; detail that comes back in a pulse with every whole
//! frame; strips that a lost packet leaves smeared until then. Not H.264 itself, but its marks; no byte is written.

use super::film::{Block, Planes, SIDE, smooth, survives};
use crate::{math::exp, rng::Rng};

/// Pixels along a block that moves as one.
const MACRO: usize = 2 * SIDE;

/// Sets a stream's random numbers apart from the film's.
const MARKS: u64 = 0x7374_7265_616d;

/// How a film is compressed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compression {
    /// The quantiser's step, levels: 8 is good, 40 poor.
    pub step: f32,
    /// Frames from one that is kept whole to the next.
    pub whole_every: u64,
    /// Share of a frame's blocks whose change may be told.
    pub told: f32,
    /// Chance that a frame loses a strip.
    pub lost: f32,
}

impl Compression {
    /// Some encoder's.
    pub fn draw(rng: &mut Rng) -> Self {
        Self {
            step: 7.0 * exp(rng.between(0.0, 1.4)),
            whole_every: 12 + rng.below(60) as u64,
            told: if rng.chance(0.5) { 1.0 } else { rng.between(0.04, 0.3) },
            lost: if rng.chance(0.25) { rng.between(0.005, 0.03) } else { 0.0 },
        }
    }
}

/// A film on its way through an encoder and a decoder; the same frames and seed give the same bytes.
#[derive(Debug, Clone)]
pub struct Stream {
    how: Compression,
    seed: u64,
    frame: u64,
    /// The frame before as it was decoded.
    before: Option<Planes>,
    /// Rows of blocks that got lost since the last whole frame.
    smeared: Vec<bool>,
}

impl Stream {
    /// From its first frame on.
    pub fn new(how: Compression, seed: u64) -> Self {
        Self { how, seed, frame: 0, before: None, smeared: Vec::new() }
    }

    /// Some encoder's, by the film's seed.
    pub fn drawn(seed: u64) -> Self {
        Self::new(Compression::draw(&mut Rng::new(seed ^ MARKS, 0)), seed)
    }

    /// Takes the next frame of red, green and blue through; all frames are of one size.
    pub fn pass(&mut self, rgb: &mut [u8], width: usize, height: usize) {
        let Some(mut now) = Planes::of(rgb, width, height) else { return };
        let before = self.before.take().filter(|b| (b.wide, b.high) == (now.wide, now.high));
        let rows = now.high / MACRO;
        match before {
            Some(before) if !self.frame.is_multiple_of(self.how.whole_every.max(1)) => {
                let mut rng = Rng::new(self.seed ^ MARKS, 1 + self.frame);
                if rng.chance(self.how.lost) {
                    let (from, count) = (rng.below(rows), 1 + rng.below(rows.div_ceil(3)));
                    self.smeared.iter_mut().skip(from).take(count).for_each(|s| *s = true);
                }
                now = self.follow(&now, before, &mut rng);
            }
            _ => {
                self.smeared = vec![false; rows];
                // Whole frames get more of the rate.
                now.keep(0.8 * self.how.step);
            }
        }
        now.paint(rgb, width);
        self.before = Some(now);
        self.frame += 1;
    }

    /// A frame from the one before.
    fn follow(&self, now: &Planes, before: Planes, rng: &mut Rng) -> Planes {
        let (columns, rows) = (now.wide / MACRO, now.high / MACRO);
        let mut left = (self.how.told * (columns * rows) as f32).ceil() as usize;
        let mut out = before.clone();
        let mut moves = vec![[0i32; 2]; columns * rows];
        let mut changed = Vec::new();
        // What a share is left for is not always the upper part.
        let first = rng.below(rows);
        for k in 0..rows * columns {
            let (row, column) = ((k / columns + first) % rows, k % columns);
            let at = [column * MACRO, row * MACRO];
            let beside = if column > 0 { moves[row * columns + column - 1] } else { [0; 2] };
            let above = if row > 0 { moves[(row - 1) * columns + column] } else { [0; 2] };
            let still = apart(now, &before, at, [0; 2]);
            // So little change is not worth telling.
            if still < 0.22 * self.how.step {
                continue;
            }
            let moved = best_move(now, &before, at, [beside, above], still);
            moves[row * columns + column] = moved;
            let is_told = left > 0 && !self.smeared[row];
            left = left.saturating_sub(usize::from(is_told));
            // A strip that got lost stays where it was.
            let moved = if self.smeared[row] { [0; 2] } else { moved };
            let step = is_told.then_some(1.2 * self.how.step);
            for [dx, dy] in [[0, 0], [SIDE, 0], [0, SIDE], [SIDE, SIDE]] {
                let block = Moved { at: [at[0] + dx, at[1] + dy], by: moved, size: [now.wide, now.high] };
                block.follow(&now.luma, &before.luma, &mut out.luma, step);
            }
            for c in 0..2 {
                let half = Moved {
                    at: at.map(|v| v / 2),
                    by: moved.map(|v| v / 2),
                    size: [now.wide / 2, now.high / 2],
                };
                half.follow(&now.chroma[c], &before.chroma[c], &mut out.chroma[c], step);
            }
            changed.push(at);
        }
        for [x, y] in changed {
            for d in 0..MACRO {
                if x > 0 {
                    smooth(&mut out.luma, (y + d) * now.wide + x, 1, self.how.step);
                }
                if y > 0 {
                    smooth(&mut out.luma, y * now.wide + x + d, now.wide, self.how.step);
                }
            }
        }
        out
    }
}

/// A block of a plane, and whence it is taken of the plane before.
struct Moved {
    at: [usize; 2],
    by: [i32; 2],
    size: [usize; 2],
}

impl Moved {
    fn follow(&self, now: &[f32], before: &[f32], out: &mut [f32], step: Option<f32>) {
        let [left, top] = self.at;
        let from = |k: usize, d: usize| (self.at[k] as i32 + self.by[k]).max(0) as usize + d;
        let guess: Block = std::array::from_fn(|y| {
            std::array::from_fn(|x| {
                let (x, y) = (from(0, x).min(self.size[0] - 1), from(1, y).min(self.size[1] - 1));
                before[y * self.size[0] + x]
            })
        });
        let place = |x: usize, y: usize| (top + y) * self.size[0] + left + x;
        let rest = match step {
            None => [[0.0; SIDE]; SIDE],
            Some(step) => {
                let rest = std::array::from_fn(|y| std::array::from_fn(|x| now[place(x, y)] - guess[y][x]));
                survives(&rest, step)
            }
        };
        for y in 0..SIDE {
            for x in 0..SIDE {
                out[place(x, y)] = guess[y][x] + rest[y][x];
            }
        }
    }
}

/// Mean difference of a block from the one that lies `by` away in the frame before; every second pixel is looked at.
fn apart(now: &Planes, before: &Planes, [left, top]: [usize; 2], by: [i32; 2]) -> f32 {
    let (x, y) = (left as i32 + by[0], top as i32 + by[1]);
    if x < 0 || y < 0 || x as usize + MACRO > now.wide || y as usize + MACRO > now.high {
        return f32::MAX;
    }
    let mut sum = 0.0;
    for row in (0..MACRO).step_by(2) {
        let a = &now.luma[(top + row) * now.wide + left..][..MACRO];
        let b = &before.luma[(y as usize + row) * now.wide + x as usize..][..MACRO];
        sum += a.iter().zip(b).step_by(2).map(|(a, b)| (a - b).abs()).sum::<f32>();
    }
    sum / (MACRO * MACRO / 4) as f32
}

/// The move that a block is foretold best by: its neighbours', or what lies near the best so far. Even numbers of pixels.
fn best_move(now: &Planes, before: &Planes, at: [usize; 2], near: [[i32; 2]; 2], still: f32) -> [i32; 2] {
    // Standing still costs nothing to tell.
    let (mut best, mut least) = ([0; 2], still - 0.5);
    let mut attempt = |by: [i32; 2], best: &mut [i32; 2]| {
        let off = apart(now, before, at, by);
        if off < least {
            (*best, least) = (by, off);
        }
    };
    near.into_iter().for_each(|by| attempt(by, &mut best));
    for far in [8, 4, 2] {
        let [x, y] = best;
        for by in [[x - far, y], [x + far, y], [x, y - far], [x, y + far]] {
            attempt(by, &mut best);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: [usize; 2] = [96, 64];

    /// A rough square on a rough ground, `t` frames on its way; noise of its own in every frame.
    fn frame(t: usize, noise: f32) -> Vec<u8> {
        let mut rng = Rng::new(t as u64, 9);
        let rough = |x: usize, y: usize| Rng::new((x * 131 + y) as u64, 5).unit();
        let mut rgb = Vec::new();
        for y in 0..SIZE[1] {
            for x in 0..SIZE[0] {
                let is_inside = (10 + 4 * t..34 + 4 * t).contains(&x) && (20..44).contains(&y);
                let v = if is_inside {
                    120.0 + 110.0 * rough((x - 4 * t) / 3, y / 3)
                } else {
                    40.0 + 50.0 * rough(x / 4 + 99, y / 4)
                };
                rgb.extend([(v + noise * 255.0 * rng.normal()) as u8; 3]);
            }
        }
        rgb
    }

    fn off(a: &[u8], b: &[u8]) -> f32 {
        let sum: u32 = a.iter().zip(b).map(|(a, b)| u32::from(a.abs_diff(*b)).pow(2)).sum();
        (sum as f32 / a.len() as f32).sqrt()
    }

    fn how(told: f32, lost: f32) -> Compression {
        Compression { step: 14.0, whole_every: 12, told, lost }
    }

    fn passed(stream: &mut Stream, frame: &[u8]) -> Vec<u8> {
        let mut rgb = frame.to_vec();
        stream.pass(&mut rgb, SIZE[0], SIZE[1]);
        rgb
    }

    #[test]
    fn the_same_film_and_seed_give_the_same_bytes() {
        let run = |seed: u64| {
            let mut stream = Stream::new(how(0.2, 0.3), seed);
            (0..10).map(|t| passed(&mut stream, &frame(t, 0.01))).collect::<Vec<_>>()
        };
        assert!(run(3) == run(3));
        assert!(run(3) != run(4), "strips get lost elsewhere");
    }

    #[test]
    fn what_moves_goes_along_and_lags_where_little_may_be_told() {
        let errors = |told: f32| {
            let mut stream = Stream::new(how(told, 0.0), 1);
            let frames: Vec<_> = (0..10).map(|t| passed(&mut stream, &frame(t, 0.0))).collect();
            [off(&frames[9], &frame(9, 0.0)), off(&frames[9], &frame(8, 0.0))]
        };
        let ([full, before], [starved, _]) = (errors(1.0), errors(0.0));
        assert!(
            full > 0.5 && full < 8.0 && full < 0.5 * before,
            "{full} from its frame, {before} from the last"
        );
        assert!(starved > 1.3 * full, "{starved} with nothing told, {full} with everything");
    }

    #[test]
    fn what_stands_still_keeps_its_marks_until_a_whole_frame_pulses() {
        let mut stream = Stream::new(how(1.0, 0.0), 1);
        let frames: Vec<_> = (0..13)
            .map(|t| {
                let mut still = frame(0, 0.0);
                crate::damage::add_noise(&mut still, 2.0, &mut Rng::new(t, 7));
                passed(&mut stream, &still)
            })
            .collect();
        assert!(off(&frames[1], &frames[0]) < 0.2 && off(&frames[11], &frames[10]) < 0.2);
        assert!(off(&frames[12], &frames[11]) > 1.0, "a pulse of {}", off(&frames[12], &frames[11]));
    }

    #[test]
    fn a_lost_strip_is_smeared_until_a_whole_frame() {
        let run = |lost: f32| {
            let mut stream = Stream::new(how(1.0, lost), 2);
            (0..13).map(|t| off(&passed(&mut stream, &frame(t, 0.0)), &frame(t, 0.0))).collect::<Vec<_>>()
        };
        let (clean, lossy) = (run(0.0), run(1.0));
        assert!(lossy[11] > 2.0 * clean[11], "{} and {}", lossy[11], clean[11]);
        assert!((lossy[12] - clean[12]).abs() < 0.01);
    }

    #[test]
    fn what_is_smaller_than_a_block_stays() {
        let mut stream = Stream::drawn(1);
        let mut small = vec![7; 15 * 9 * 3];
        stream.pass(&mut small, 15, 9);
        assert!(small.iter().all(|&v| v == 7));
    }
}
