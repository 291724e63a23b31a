//! Light: one far source with a shadow map, a sky and what the ground gives back.

use crate::{
    math::{Vec3, vec3},
    raster::{Samples, Spot},
};

/// Linear red, green, blue.
pub type Colour = Vec3;

/// How a scene is lit.
#[derive(Debug, Clone, Copy)]
pub struct Light {
    /// Towards the source, of length 1.
    pub towards: Vec3,
    /// Of the source.
    pub key: Colour,
    /// From above.
    pub sky: Colour,
    /// From below.
    pub ground: Colour,
    /// Half the width of the shadow's soft edge, metres at 1 m behind what throws it.
    pub softness: f32,
}

impl Light {
    /// What a surface facing `normal` gets of sky and ground.
    #[inline]
    pub fn fill(&self, normal: Vec3) -> Colour {
        self.ground.mix(self.sky, 0.5 + 0.5 * normal.y)
    }
}

/// Texels along a side of a person's shadow map.
const TEXELS: usize = 160;

/// Texels along a side of a block of it.
const BLOCK: usize = 8;

/// Blocks along a side.
const BLOCKS: usize = TEXELS / BLOCK;

/// The widest soft edge, texels.
const SOFTEST: f32 = 9.0;

/// What of a person the light sees first.
#[derive(Debug, Default)]
pub struct Shadow {
    samples: Samples,
    spots: Vec<Spot>,
    axes: [Vec3; 3],
    origin: [f32; 2],
    texels_per_m: f32,
    /// Blocks of texels that nothing within [`SOFTEST`] covers: all light passes.
    clear: Vec<bool>,
    /// Nearness is counted from here, so that it is positive.
    base: f32,
    /// Corners of a box that holds the person and its shadow on the ground.
    pub bounds: [Vec3; 2],
}

impl Shadow {
    /// Makes ready for a person whose points lie between two corners.
    #[inline]
    pub fn start(&mut self, light: &Light, low: Vec3, high: Vec3) {
        let towards = light.towards;
        let right = towards.cross(vec3(0.31, 0.05, 0.95)).unit();
        self.axes = [right, right.cross(towards), towards]; // y down, as on pictures
        let corners: [Vec3; 8] = std::array::from_fn(|k| {
            let pick = |bit: usize, a: f32, b: f32| if k >> bit & 1 == 0 { a } else { b };
            vec3(pick(0, low.x, high.x), pick(1, low.y, high.y), pick(2, low.z, high.z))
        });
        let (mut from, mut to) = ([f32::MAX; 3], [f32::MIN; 3]);
        for c in corners {
            for a in 0..3 {
                let d = c.dot(self.axes[a]);
                from[a] = from[a].min(d);
                to[a] = to[a].max(d);
            }
        }
        let span = (to[0] - from[0]).max(to[1] - from[1]).max(0.1);
        self.texels_per_m = (TEXELS - 4) as f32 / span;
        self.origin = [from[0] - 2.0 / self.texels_per_m, from[1] - 2.0 / self.texels_per_m];
        self.base = from[2] - 1.0;
        self.samples.clear([0, 0, TEXELS, TEXELS]);
        let (mut a, mut b) = (low, high);
        for c in corners {
            let slope = (c.y / towards.y.max(0.15)).min(4.0);
            let fallen = c - towards * slope;
            a = vec3(a.x.min(fallen.x), a.y.min(fallen.y), a.z.min(fallen.z));
            b = vec3(b.x.max(fallen.x), b.y.max(fallen.y), b.z.max(fallen.z));
        }
        self.bounds = [a, b];
    }

    /// Adds a mesh.
    #[inline]
    pub fn draw(&mut self, points: &[Vec3], triangles: &[[u16; 3]], cut: &[f32]) {
        let mut spots = std::mem::take(&mut self.spots);
        spots.clear();
        spots.extend(points.iter().map(|&p| {
            let [x, y, w] = self.place(p);
            Spot::new(x, y, w)
        }));
        // What faces the light is enough: everything a person wears has an outside.
        self.samples.draw(0, &spots, triangles, cut, false);
        self.spots = spots;
    }

    /// To be called when everything has been drawn.
    pub fn finish(&mut self) {
        let mut covered = [false; BLOCKS * BLOCKS];
        for (y, row) in self.samples.near.chunks_exact(TEXELS).enumerate() {
            for (block, texels) in row.chunks_exact(BLOCK).enumerate() {
                covered[y / BLOCK * BLOCKS + block] |= texels.iter().any(|&near| near > 0.0);
            }
        }
        // A soft edge reaches two blocks at most.
        let reach = (SOFTEST as usize).div_ceil(BLOCK);
        self.clear.clear();
        self.clear.extend((0..BLOCKS * BLOCKS).map(|k| {
            let around = |v: usize| v.saturating_sub(reach)..(v + reach + 1).min(BLOCKS);
            !around(k / BLOCKS).any(|y| around(k % BLOCKS).any(|x| covered[y * BLOCKS + x]))
        }));
    }

    fn place(&self, p: Vec3) -> [f32; 3] {
        [
            (p.dot(self.axes[0]) - self.origin[0]) * self.texels_per_m,
            (p.dot(self.axes[1]) - self.origin[1]) * self.texels_per_m,
            p.dot(self.axes[2]) - self.base,
        ]
    }

    /// How much of the light reaches a point, 0 to 1. `bias_m` lies between a surface and what shades it.
    #[inline]
    pub fn reaches(&self, p: Vec3, bias_m: f32, softness: f32) -> f32 {
        let [x, y, w] = self.place(p);
        let limit = TEXELS as f32 - 1.0;
        if !(1.0..limit).contains(&x) || !(1.0..limit).contains(&y) {
            return 1.0;
        }
        if self.clear[y as usize / BLOCK * BLOCKS + x as usize / BLOCK] {
            return 1.0;
        }
        // Farther behind what throws it, the edge is softer.
        let behind = (self.samples.near[y as usize * TEXELS + x as usize] - w).max(0.1);
        let r = (softness * behind * self.texels_per_m).clamp(0.7, SOFTEST);
        const AROUND: [[f32; 2]; 8] = [
            [0.35, 0.1],
            [-0.2, 0.4],
            [-0.45, -0.2],
            [0.1, -0.4],
            [0.75, -0.6],
            [0.5, 0.8],
            [-0.8, 0.55],
            [-0.55, -0.8],
        ];
        let mut free = 0;
        for [dx, dy] in AROUND {
            let (sx, sy) = ((x + r * dx).clamp(0.0, limit) as usize, (y + r * dy).clamp(0.0, limit) as usize);
            let near = self.samples.near[sy * TEXELS + sx];
            free += u32::from(near <= 0.0 || near <= w + bias_m);
        }
        free as f32 / 8.0
    }
}

/// Camera values to bytes: exposure, a soft shoulder, sRGB's curve; by a table.
#[derive(Debug)]
pub struct Tone {
    table: Vec<u8>,
}

const TONE_STEPS: usize = 4096;

/// Linear values above this are white.
const WHITE: f32 = 2.0;

impl Tone {
    /// `contrast` 0 is sRGB as it is; 1 bends it as cameras do.
    pub fn new(contrast: f32) -> Self {
        let table = (0..=TONE_STEPS)
            .map(|k| {
                let v = WHITE * k as f32 / TONE_STEPS as f32;
                // A shoulder from .7 on: highlights roll off.
                let v = if v > 0.7 { 0.7 + 0.3 * (1.0 - crate::math::exp(-(v - 0.7) / 0.3)) } else { v };
                let s =
                    if v <= 0.003_130_8 { 12.92 * v } else { 1.055 * crate::math::pow(v, 1.0 / 2.4) - 0.055 };
                let bent = s * s * (3.0 - 2.0 * s);
                ((s + 0.35 * contrast * (bent - s)) * 255.0 + 0.5).clamp(0.0, 255.0) as u8
            })
            .collect();
        Self { table }
    }

    /// One value.
    #[inline]
    pub fn byte(&self, linear: f32) -> u8 {
        // The cast holds below 0.
        let k = (linear * (TONE_STEPS as f32 / WHITE) + 0.5) as u16;
        self.table[usize::from(k).min(TONE_STEPS)]
    }
}

/// sRGB bytes to linear.
pub fn linear(r: u8, g: u8, b: u8) -> Colour {
    let one = |c: u8| {
        let s = f32::from(c) / 255.0;
        if s <= 0.040_45 { s / 12.92 } else { crate::math::pow((s + 0.055) / 1.055, 2.4) }
    };
    vec3(one(r), one(g), one(b))
}
