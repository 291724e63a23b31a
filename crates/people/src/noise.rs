//! Smooth noise over space, from one table.

use std::sync::OnceLock;

use crate::{
    math::{Vec3, floor, vec3},
    rng::Rng,
};

const SIDE: usize = 32;

fn table() -> &'static [Vec3] {
    static TABLE: OnceLock<Vec<Vec3>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut rng = Rng::new(1, 1);
        (0..SIDE * SIDE * SIDE)
            .map(|_| vec3(rng.between(-1.0, 1.0), rng.between(-1.0, 1.0), rng.between(-1.0, 1.0)))
            .collect()
    })
}

/// Three smooth values about -1 to 1 that repeat every 32 units.
#[inline]
pub fn at(p: Vec3) -> Vec3 {
    let t = table();
    let (fx, fy, fz) = (floor(p.x), floor(p.y), floor(p.z));
    let ease = |u: f32| u * u * (3.0 - 2.0 * u);
    let (u, v, w) = (ease(p.x - fx), ease(p.y - fy), ease(p.z - fz));
    let m = SIDE - 1;
    let (x, y, z) = (fx as i32 as usize & m, fy as i32 as usize & m, fz as i32 as usize & m);
    let (x1, y1, z1) = ((x + 1) & m, (y + 1) & m, (z + 1) & m);
    let cell = |x: usize, y: usize, z: usize| t[(z * SIDE + y) * SIDE + x];
    let row = |y: usize, z: usize| cell(x, y, z).mix(cell(x1, y, z), u);
    let plane = |z: usize| row(y, z).mix(row(y1, z), v);
    plane(z).mix(plane(z1), w)
}

/// One rough value of a cell: no smoothing.
#[inline]
pub fn cell(x: i32, y: i32, z: i32) -> f32 {
    let m = SIDE as i32 - 1;
    let k = ((z & m) as usize * SIDE + (y & m) as usize) * SIDE + (x & m) as usize;
    table()[k].x
}
