//! Smooth noise over space, from one table.

use std::sync::OnceLock;

use crate::{
    math::{Vec3, vec3},
    rng::Rng,
};

const BITS: usize = 5;
const SIDE: usize = 1 << BITS;
const COUNT: usize = SIDE * SIDE * SIDE;

/// Three values and nothing: four lanes are as quick as one.
type Cell = [f32; 4];

fn table() -> &'static [Cell; COUNT] {
    static TABLE: OnceLock<Box<[Cell; COUNT]>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut rng = Rng::new(1, 1);
        let mut value = || rng.between(-1.0, 1.0);
        let cells: Vec<Cell> = (0..COUNT).map(|_| [value(), value(), value(), 0.0]).collect();
        cells.into_boxed_slice().try_into().expect("as many as were made")
    })
}

/// The whole number below and what is above it, for |x| below 2²²: an addition rounds, which is quicker than a cast.
#[inline]
fn split(x: f32) -> (usize, f32) {
    const ROUNDS: f32 = 12_582_912.0; // 1.5 · 2²³: from here on, floats are whole numbers
    let rounded = x + ROUNDS;
    let above = x - (rounded - ROUNDS);
    let whole = rounded.to_bits();
    if above < 0.0 { (whole.wrapping_sub(1) as usize, above + 1.0) } else { (whole as usize, above) }
}

/// Three smooth values about -1 to 1 that repeat every 32 units.
#[inline]
pub fn at(p: Vec3) -> Vec3 {
    let t = table();
    let ((x, fx), (y, fy), (z, fz)) = (split(p.x), split(p.y), split(p.z));
    let ease = |u: f32| u * u * (3.0 - 2.0 * u);
    let (u, v, w) = (ease(fx), ease(fy), ease(fz));
    let m = SIDE - 1;
    let (x, x1) = (x & m, (x + 1) & m);
    let (y, y1) = ((y & m) << BITS, ((y + 1) & m) << BITS);
    let (z, z1) = ((z & m) << (2 * BITS), ((z + 1) & m) << (2 * BITS));
    let plane = |at: usize| {
        let [a, b, c, d] = [at | y | x, at | y | x1, at | y1 | x, at | y1 | x1].map(|k| t[k & (COUNT - 1)]);
        mix(mix(a, b, u), mix(c, d, u), v)
    };
    let n = mix(plane(z), plane(z1), w);
    vec3(n[0], n[1], n[2])
}

/// The same over a plane, one for each whole number of `layer`.
#[inline]
pub fn flat(x: f32, y: f32, layer: f32) -> Vec3 {
    let t = table();
    let ((x, fx), (y, fy)) = (split(x), split(y));
    let ease = |u: f32| u * u * (3.0 - 2.0 * u);
    let m = SIDE - 1;
    let (x, x1) = (x & m, (x + 1) & m);
    let z = (split(layer).0 & m) << (2 * BITS);
    let (y, y1) = (z | (y & m) << BITS, z | ((y + 1) & m) << BITS);
    let [a, b, c, d] = [y | x, y | x1, y1 | x, y1 | x1].map(|k| t[k & (COUNT - 1)]);
    let (u, v) = (ease(fx), ease(fy));
    let n = mix(mix(a, b, u), mix(c, d, u), v);
    vec3(n[0], n[1], n[2])
}

#[inline(always)]
fn mix(a: Cell, b: Cell, t: f32) -> Cell {
    [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t, a[3] + (b[3] - a[3]) * t]
}

/// Three rough values of the cell that a point lies in: for what is finer than a pixel.
#[inline]
pub fn rough(p: Vec3) -> Vec3 {
    let [x, y, z] = [p.x, p.y, p.z].map(|v| split(v).0 & (SIDE - 1));
    let n = table()[(z << (2 * BITS) | y << BITS | x) & (COUNT - 1)];
    vec3(n[0], n[1], n[2])
}

/// One rough value of a cell: no smoothing.
#[inline]
pub fn cell(x: i32, y: i32, z: i32) -> f32 {
    let m = SIDE as i32 - 1;
    let k = ((z & m) as usize * SIDE + (y & m) as usize) * SIDE + (x & m) as usize;
    table()[k][0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_split_as_floor_splits_them() {
        for k in -4000..4000 {
            let x = k as f32 * 0.37 + 0.001;
            let (whole, above) = split(x);
            assert_eq!((whole & 31) as i32, (x.floor() as i32).rem_euclid(32), "{x}");
            assert!((above - (x - x.floor())).abs() < 1e-6, "{x}");
        }
    }

    #[test]
    fn noise_is_smooth_repeats_and_is_the_cells_at_whole_numbers() {
        for k in 0..500 {
            let p = vec3(k as f32 * 0.137 - 20.0, k as f32 * -0.071, k as f32 * 0.019);
            let (a, b) = (at(p), at(p + vec3(32.0, -32.0, 64.0)));
            assert!((a - b).length() < 1e-4, "{p:?}");
            assert!((a - at(p + vec3(0.001, 0.001, 0.001))).length() < 0.02, "{p:?}");
        }
        assert!((at(vec3(3.0, -5.0, 40.0)).x - cell(3, -5, 40)).abs() < 1e-6);
        assert!((flat(3.4, -5.7, 7.9) - at(vec3(3.4, -5.7, 7.0))).length() < 1e-6);
        assert_eq!(rough(vec3(3.4, -5.7, 7.9)).x, cell(3, -6, 7));
    }
}
