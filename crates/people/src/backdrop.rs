//! What is behind and before people: rooms, streets and meadows made by rules, with furniture; seen by casting a ray a pixel.

mod place;
mod stuff;

pub use place::{Piece, Place};

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{
    camera::Camera,
    light::Light,
    math::{Vec3, smooth, vec3},
};
use place::Hit;

/// A picture of a place without people: what the key light gives, what sky and ground give, and how near everything is.
#[derive(Debug, Default)]
pub struct Backdrop {
    /// Linear colour by the key light, where nothing stands in its way.
    pub key: Vec<Vec3>,
    /// Linear colour by all other light.
    pub fill: Vec<Vec3>,
    /// The inverse of the distance along the camera's axis; 0 is the sky.
    near: Vec<f32>,
    /// Of pixels with an edge, the four samples: index + 1 into `edges`, 0 for none.
    edge: Vec<u32>,
    edges: Vec<[f32; 4]>,
    stamp: u64,
}

/// Numbers backdrops, so that it is known whether one is still the same.
static STAMP: AtomicU64 = AtomicU64::new(1);

/// Pixels of a row that are asked together what they may meet.
const SPAN: usize = 16;

impl Backdrop {
    /// Nearness of a pixel's sample 0..4 (rows of two).
    pub fn near_at(&self, pixel: usize, sample: usize) -> f32 {
        match self.edge[pixel] {
            0 => self.near[pixel],
            k => self.edges[k as usize - 1][sample],
        }
    }

    /// A number that no other backdrop has had.
    pub fn stamp(&self) -> u64 {
        self.stamp
    }

    /// Pictures a place.
    pub fn draw(&mut self, camera: &Camera, light: &Light, place: &Place) {
        let [width, height] = camera.size;
        let count = width * height;
        self.stamp = STAMP.fetch_add(1, Ordering::Relaxed);
        let mut ids = vec![0u16; count];
        self.key.clear();
        self.fill.clear();
        self.near.clear();
        self.edge.clear();
        self.edge.resize(count, 0);
        self.edges.clear();
        let bounds = place.bounds(camera);
        let mut some = Vec::new();
        let meet = |some: &mut Vec<usize>, x: usize, y: usize, span: usize| {
            let (x, y) = (x as f32, y as f32);
            some.clear();
            some.extend((0..bounds.len()).filter(|&k| {
                let [x0, y0, x1, y1] = bounds[k];
                x1 >= x && x0 <= x + span as f32 && y1 >= y && y0 <= y + 1.0
            }));
        };
        for y in 0..height {
            for x in 0..width {
                if x % SPAN == 0 {
                    meet(&mut some, x, y, SPAN);
                }
                let (hit, key, fill) =
                    Self::look(camera, light, place, &some, x as f32 + 0.5, y as f32 + 0.5);
                ids[y * width + x] = hit.id;
                self.key.push(key);
                self.fill.push(fill);
                self.near.push(hit.near);
            }
        }
        for y in 0..height {
            for x in 0..width {
                let at = y * width + x;
                let other = |dx: usize, dy: usize| {
                    let (nx, ny) = ((x + dx).min(width - 1), (y + dy).min(height - 1));
                    ids[ny * width + nx] != ids[at]
                };
                let before =
                    |dx: usize, dy: usize| x >= dx && y >= dy && ids[(y - dy) * width + x - dx] != ids[at];
                if !(other(1, 0) || other(0, 1) || before(1, 0) || before(0, 1)) {
                    continue;
                }
                meet(&mut some, x, y, 1);
                let (mut key, mut fill, mut near) = (Vec3::ZERO, Vec3::ZERO, [0.0; 4]);
                for (k, n) in near.iter_mut().enumerate() {
                    let (sx, sy) = (0.25 + 0.5 * (k % 2) as f32, 0.25 + 0.5 * (k / 2) as f32);
                    let (hit, a, b) = Self::look(camera, light, place, &some, x as f32 + sx, y as f32 + sy);
                    (key, fill) = (key + a * 0.25, fill + b * 0.25);
                    *n = hit.near;
                }
                (self.key[at], self.fill[at]) = (key, fill);
                self.edges.push(near);
                self.edge[at] = self.edges.len() as u32;
            }
        }
    }

    fn look(
        camera: &Camera,
        light: &Light,
        place: &Place,
        some: &[usize],
        x: f32,
        y: f32,
    ) -> (Hit, Vec3, Vec3) {
        let ray = camera.ray(x, y);
        let hit = place.hit(camera.eye, ray, some);
        if hit.glow {
            return (hit, Vec3::ZERO, hit.albedo);
        }
        let facing = hit.normal.dot(light.towards).max(0.0);
        let fill = hit.albedo.times(light.fill(hit.normal)) * hit.open;
        let key = hit.albedo.times(light.key) * (facing * smooth(0.15, 0.8, hit.open));
        (hit, key, fill)
    }

    /// A plain picture far away: `rgb` linear.
    pub fn picture(&mut self, rgb: Vec<Vec3>) {
        let count = rgb.len();
        self.stamp = STAMP.fetch_add(1, Ordering::Relaxed);
        self.key.clear();
        self.key.resize(count, vec3(0.0, 0.0, 0.0));
        self.fill = rgb;
        self.near.clear();
        self.near.resize(count, 0.0);
        self.edge.clear();
        self.edge.resize(count, 0);
        self.edges.clear();
    }
}
