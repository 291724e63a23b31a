//! What is behind and before people: rooms, streets and meadows made by rules, with furniture; seen by casting a ray a pixel.

mod furnish;
mod look;
mod place;
mod stuff;

pub use place::{Piece, Place};

use crate::{
    camera::Camera,
    light::Light,
    math::{Vec3, smooth, vec3},
};
use look::Hit;
use place::{Meeting, is_piece};

/// A picture of a place without people: what the key light gives, what sky and ground give, and how near everything is.
#[derive(Debug, Default)]
pub struct Backdrop {
    /// Linear colour by the key light, where nothing stands in its way.
    key: Vec<Half>,
    /// Linear colour by all other light.
    fill: Vec<Half>,
    /// The inverse of the distance along the camera's axis; 0 is the sky. Below 0 where the pixel has an edge: -1 - an index
    /// into `edges`.
    near: Vec<f32>,
    /// The four samples of a pixel.
    edges: Vec<[f32; 4]>,
}

/// Three IEEE half floats that are not below 0: finer than a byte of the picture wherever the camera's curve is steepest.
type Half = [u16; 3];

/// Half floats' exponents count from 15, floats' from 127.
const HALF_SCALE: f32 = f32::from_bits((127 - (127 - 15)) << 23);

fn pack(v: Vec3) -> Half {
    [v.x, v.y, v.z].map(|v| {
        let bits = (v.clamp(0.0, 60_000.0) * HALF_SCALE).to_bits();
        ((bits + 0x1000) >> 13) as u16
    })
}

#[inline]
fn unpack(half: Half) -> Vec3 {
    let [x, y, z] = half.map(|h| f32::from_bits(u32::from(h) << 13) * (1.0 / HALF_SCALE));
    vec3(x, y, z)
}

/// What a surface gives by the key light and by all other light.
fn lit(light: &Light, hit: &Hit) -> (Vec3, Vec3) {
    if hit.glow {
        return (Vec3::ZERO, hit.albedo);
    }
    let facing = hit.normal.dot(light.towards).max(0.0);
    let fill = hit.albedo.times(light.fill(hit.normal)) * hit.open;
    (hit.albedo.times(light.key) * (facing * smooth(0.15, 0.8, hit.open)), fill)
}

/// In the place of a surface's number.
const HIDDEN: u16 = u16::MAX;

/// Pixels of a row that are asked together what they may meet.
const SPAN: usize = 8;

impl Backdrop {
    /// Nearness of a pixel's sample 0..4 (rows of two).
    pub fn near_at(&self, pixel: usize, sample: usize) -> f32 {
        let near = self.near[pixel];
        if near < 0.0 { self.edges[(-1.0 - near) as usize][sample] } else { near }
    }

    /// Linear colour of a pixel by the key light, where nothing stands in its way.
    pub fn key(&self, pixel: usize) -> Vec3 {
        unpack(self.key[pixel])
    }

    /// Linear colour of a pixel by all other light.
    pub fn fill(&self, pixel: usize) -> Vec3 {
        unpack(self.fill[pixel])
    }

    /// Linear colour of a pixel with nobody about.
    pub fn lit(&self, pixel: usize) -> Vec3 {
        self.key(pixel) + self.fill(pixel)
    }

    /// Pixels.
    pub fn count(&self) -> usize {
        self.near.len()
    }

    /// Pictures a place.
    pub fn draw(&mut self, camera: &Camera, light: &Light, place: &Place) {
        self.draw_behind(camera, light, place, None, |_, _, _| false);
    }

    /// Pictures what is seen of a place: `hides` says of a pixel (column, row) whether something hides all of it that is no
    /// nearer than so. A `photo`, linear and as large as the picture, stands in for sky and ground; shadows fall on its ground.
    pub fn draw_behind(
        &mut self,
        camera: &Camera,
        light: &Light,
        place: &Place,
        photo: Option<&[Vec3]>,
        hides: impl Fn(usize, usize, f32) -> bool,
    ) {
        let [width, height] = camera.size;
        let count = width * height;
        let mut ids = vec![0u16; count];
        self.key.clear();
        self.fill.clear();
        self.near.clear();
        self.edges.clear();
        // Growing would leave twice as much memory behind.
        self.key.reserve_exact(count);
        self.fill.reserve_exact(count);
        self.near.reserve_exact(count);
        let (bounds, sights) = (place.bounds(camera), place.sights(camera.eye));
        let mut some = Vec::new();
        let meet = |some: &mut Vec<usize>, x: usize, y: usize, span: usize| {
            let (x, y) = (x as f32, y as f32);
            some.clear();
            some.extend((0..bounds.len()).filter(|&k| {
                let [x0, y0, x1, y1] = bounds[k];
                x1 >= x && x0 <= x + span as f32 && y1 >= y && y0 <= y + 1.0
            }));
        };
        let back = camera.turn.transpose();
        let ray = |x: f32, y: f32| back * camera.tangents(x, y);
        let seen = |ray: Vec3, met: Meeting, at: usize| match photo {
            Some(photo) if met.is_open() => {
                // Half of the light on the ground is what a shadow takes away.
                let ground = if met.near > 0.0 { 0.5 } else { 0.0 };
                (met.id(), photo[at] * ground, photo[at] * (1.0 - ground))
            }
            _ => {
                let hit = place.look(camera.eye, ray, met);
                let (key, fill) = lit(light, &hit);
                (hit.id, key, fill)
            }
        };
        for y in 0..height {
            for x in 0..width {
                if x % SPAN == 0 {
                    meet(&mut some, x, y, SPAN);
                }
                let ray = ray(x as f32 + 0.5, y as f32 + 0.5);
                let met = place.meet(camera.eye, ray, &sights, &some);
                self.near.push(met.near);
                if hides(x, y, met.near) {
                    ids[y * width + x] = HIDDEN;
                    self.key.push(Half::default());
                    self.fill.push(Half::default());
                    continue;
                }
                let (id, key, fill) = seen(ray, met, y * width + x);
                ids[y * width + x] = id;
                self.key.push(pack(key));
                self.fill.push(pack(fill));
            }
        }
        for y in 0..height {
            let rows = [y.saturating_sub(1), y, (y + 1).min(height - 1)].map(|y| &ids[y * width..][..width]);
            for x in 0..width {
                let (id, left, right) = (rows[1][x], x.saturating_sub(1), (x + 1).min(width - 1));
                let around = [rows[0][x], rows[2][x], rows[1][left], rows[1][right]];
                // Between what is hidden and something else only a piece before somebody may have an edge.
                let may = |a: u16, b: u16| a != HIDDEN || is_piece(b);
                let is_edge = |&other: &u16| other != id && may(id, other) && may(other, id);
                if !around.iter().any(is_edge) {
                    continue;
                }
                meet(&mut some, x, y, 1);
                let at = y * width + x;
                let own = (self.key(at), self.fill(at));
                let (mut key, mut fill, mut near) = (Vec3::ZERO, Vec3::ZERO, [0.0; 4]);
                for (k, n) in near.iter_mut().enumerate() {
                    let (sx, sy) = (0.25 + 0.5 * (k % 2) as f32, 0.25 + 0.5 * (k / 2) as f32);
                    let ray = ray(x as f32 + sx, y as f32 + sy);
                    let met = place.meet(camera.eye, ray, &sights, &some);
                    // What the pixel shows is known already.
                    let (a, b) = if met.is(id) {
                        own
                    } else {
                        let (_, a, b) = seen(ray, met, at);
                        (a, b)
                    };
                    (key, fill) = (key + a * 0.25, fill + b * 0.25);
                    *n = met.near;
                }
                (self.key[at], self.fill[at]) = (pack(key), pack(fill));
                self.near[at] = -1.0 - self.edges.len() as f32;
                self.edges.push(near);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_kept_to_half_a_thousandth() {
        for k in 0..4000 {
            let v = 1e-4 * 1.005f32.powi(k % 3000) + k as f32 * 1e-6;
            let kept = unpack(pack(vec3(v, 0.0, v.min(1.0))));
            assert!((kept.x - v.min(60_000.0)).abs() <= 5e-4 * v, "{v} is kept as {}", kept.x);
            assert_eq!(kept.y, 0.0);
        }
        assert_eq!(unpack(pack(vec3(1.0, 0.5, 0.25))), vec3(1.0, 0.5, 0.25));
    }
}
