//! How cloth and hair hang: from what stands out above, straight down; and the meshes that are tubes of their own.

use super::{Drape, Fitting};
use crate::{
    asset::INFLUENCES,
    light::Colour,
    math::{PI, TAU, Vec3, atan2, cos, mix, sin, smooth, vec3},
    person::Layer,
    surface::{Cloth, Surface},
};

const ROWS: usize = 40;
const SECTORS: usize = 40;

/// How far along a limb a point lies (0, 1 and 2 at its three joints) and the nearest place of the limb's axis.
pub fn limb(a: Vec3, b: Vec3, c: Vec3, p: Vec3) -> (f32, Vec3) {
    let (u, v) = (b - a, c - b);
    let first = (p - a).dot(u) / u.dot(u);
    let second = (p - b).dot(v) / v.dot(v);
    if second > 0.0 && first > 0.7 { (1.0 + second, b + v * second) } else { (first, a + u * first) }
}

/// A trunk's outline by height and direction.
pub struct Hang {
    low: f32,
    high: f32,
    radius: Vec<f32>,
}

impl Hang {
    /// Of cloth that touches `points` and below `high` falls inwards by `slope` metres a metre at most.
    pub fn new(points: impl Iterator<Item = Vec3>, low: f32, high: f32, slope: f32) -> Self {
        let mut radius = vec![0.0f32; ROWS * SECTORS];
        for p in points {
            let row = ((high - p.y) / (high - low) * (ROWS - 1) as f32).round();
            if row < -2.0 || row >= ROWS as f32 {
                continue;
            }
            let cell = row.max(0.0) as usize * SECTORS + sector(p) as usize % SECTORS;
            radius[cell] = radius[cell].max(p.x.hypot_flat(p.z));
        }
        // Empty cells take after their neighbours, then hollows are bridged.
        for pass in 0..6 {
            for row in 0..ROWS {
                let line = &mut radius[row * SECTORS..][..SECTORS];
                let old: Vec<f32> = line.to_vec();
                for s in 0..SECTORS {
                    let (a, b) = (old[(s + SECTORS - 1) % SECTORS], old[(s + 1) % SECTORS]);
                    if old[s] == 0.0 {
                        line[s] = if a * b > 0.0 { 0.5 * (a + b) } else { a.max(b) };
                    } else if pass > 2 {
                        line[s] = old[s].max(0.5 * (a + b));
                    }
                }
            }
        }
        let step = (high - low) / (ROWS - 1) as f32;
        for row in 1..ROWS {
            for s in 0..SECTORS {
                let above = radius[(row - 1) * SECTORS + s];
                let here = &mut radius[row * SECTORS + s];
                *here = here.max(above - slope * step);
            }
        }
        Self { low, high, radius }
    }

    fn at(&self, row: f32, sector: f32) -> f32 {
        let r0 = (row.clamp(0.0, (ROWS - 2) as f32)) as usize;
        let (u, s0) = ((row - r0 as f32).clamp(0.0, 1.0), sector.floor());
        let v = sector - s0;
        let s0 = (s0 as i32).rem_euclid(SECTORS as i32) as usize;
        let s1 = (s0 + 1) % SECTORS;
        let line = |r: usize| mix(self.radius[r * SECTORS + s0], self.radius[r * SECTORS + s1], v);
        mix(line(r0), line(r0 + 1), u)
    }

    /// A point of the trunk moved out to where cloth hangs, a share `loose` of the way.
    pub fn apply(&self, p: Vec3, loose: f32) -> Vec3 {
        if loose <= 0.0 || p.y > self.high {
            return p;
        }
        let row = (self.high - p.y) / (self.high - self.low) * (ROWS - 1) as f32;
        let r = p.x.hypot_flat(p.z).max(1e-3);
        let target = self.at(row, sector(p) - 0.5);
        let k = 1.0 + (target / r - 1.0).max(0.0) * loose * smooth(0.0, 3.0, row);
        vec3(p.x * k, p.y, p.z * k)
    }
}

/// Direction of a point from the trunk's axis, in sectors; 0 is ahead.
fn sector(p: Vec3) -> f32 {
    let turn = atan2(p.x, p.z) / TAU;
    (turn - turn.floor()) * SECTORS as f32
}

trait HypotFlat {
    fn hypot_flat(self, other: f32) -> f32;
}

impl HypotFlat for f32 {
    /// `f32::hypot` is the platform's; this is the same everywhere.
    fn hypot_flat(self, other: f32) -> f32 {
        (self * self + other * other).sqrt()
    }
}

/// A grid of rings as a mesh; `closed` joins the last column to the first.
fn tube(
    rows: usize,
    columns: usize,
    closed: bool,
    surface: Surface,
    at: impl Fn(usize, usize) -> (Vec3, Vec3, [(u8, f32); INFLUENCES]),
    light: impl Fn(usize) -> f32,
) -> Layer {
    let mut layer = Layer {
        rest: Vec::new(),
        influences: Vec::new(),
        paint: Vec::new(),
        light: Vec::new(),
        cut: Vec::new(),
        triangles: Vec::new(),
        surface,
        two_sided: true,
        drape: None,
    };
    for r in 0..rows {
        for c in 0..columns {
            let (p, paint, ties) = at(r, c);
            layer.rest.push(p);
            layer.paint.push(paint);
            layer.influences.push(ties);
            layer.light.push(light(r));
        }
    }
    let spans = if closed { columns } else { columns - 1 };
    for r in 0..rows - 1 {
        for c in 0..spans {
            let i = |r: usize, c: usize| (r * columns + c % columns) as u16;
            let (a, b, d, e) = (i(r, c), i(r, c + 1), i(r + 1, c), i(r + 1, c + 1));
            layer.triangles.push([a, d, b]);
            layer.triangles.push([b, d, e]);
        }
    }
    layer
}

/// A skirt: `length` is where it ends along the leg (1 is the knee).
pub fn skirt(fit: &Fitting, length: f32, waist_y: f32, flare: f32, cloth: Cloth) -> Layer {
    const RINGS: usize = 18;
    const COLUMNS: usize = 36;
    let t = fit.template;
    let heads = &fit.body.heads;
    let b = t.bones;
    let s = fit.scale;
    let hip_y = heads[b.thigh[0]].y;
    let knee_y = heads[b.shin[0]].y;
    let waist = hip_y + (waist_y - 0.026) * s;
    let hem =
        if length < 1.0 { mix(hip_y, knee_y, length) } else { mix(knee_y, heads[b.foot[0]].y, length - 1.0) };
    let inside = (0..t.leg.len()).filter(|&v| t.arm[v] < 0.05 && fit.asset.mean[v].y < waist_y + 0.04);
    let points = inside.map(|v| fit.smooth[v] + fit.normals[v] * (0.008 * s));
    let hang = Hang::new(points.filter(|p| p.y > knee_y), hem, waist, -flare);
    let salt = cloth.salt;
    let mut layer = tube(
        RINGS,
        COLUMNS,
        true,
        Surface::Cloth(cloth),
        |r, c| {
            let (u, turn) = (r as f32 / (RINGS - 1) as f32, c as f32 / COLUMNS as f32);
            let y = mix(waist, hem, u);
            let around = TAU * turn;
            let pleat = 1.0 + 0.05 * flare.min(0.5) * u * sin(around * 9.0 + salt);
            let radius = hang.at(u * (ROWS - 1) as f32, turn * SECTORS as f32 - 0.5) * pleat;
            let p = vec3(radius * sin(around), y, radius * cos(around));
            let paint =
                vec3(0.17 * sin(around), mix(waist_y, waist_y - (waist - hem) / s, u), 0.13 * cos(around));
            // The hips carry it, lower down the thighs, each on its side.
            let down = smooth(0.02, 0.22 * s, hip_y - y) * 0.9;
            let left = smooth(-0.8, 0.8, sin(around));
            let ties = [
                (b.hips as u8, 1.0 - down),
                (b.thigh[0] as u8, down * left),
                (b.thigh[1] as u8, down * (1.0 - left)),
                (0, 0.0),
            ];
            (p, paint, ties)
        },
        |_| 0.9,
    );
    // Above the hips' joints it is held.
    let held = layer.rest.iter().map(|p| smooth(-0.03 * s, 0.03 * s, p.y - hip_y)).collect();
    layer.drape = Some(Drape::new(fit, &layer.rest, COLUMNS, held));
    layer
}

/// Hair below the ears: 2 bob, 3 long, 4 ponytail, 5 bun.
pub fn long_hair(
    fit: &Fitting,
    style: u8,
    length_m: f32,
    thick_m: f32,
    colour: Colour,
    streaks: f32,
) -> Vec<Layer> {
    let b = fit.template.bones;
    let (head, joints, s) = (fit.body.heads[b.neck[2]], &fit.body.joints, fit.scale);
    let ears = (joints[3] + joints[4]) * 0.5;
    let half = (joints[3].x - joints[4].x) * 0.5;
    let surface = Surface::Hair(colour, streaks);
    let (neck, chest) = (b.neck[0] as u8, b.spine[2] as u8);
    let skull = b.neck[2] as u8;
    if style >= 4 {
        // A tail or knot at the back of the head.
        const RINGS: usize = 10;
        const COLUMNS: usize = 12;
        let root = ears + vec3(0.0, 0.045 * s, -0.115 * s);
        let (length, wide) = if style == 4 { (length_m * s, 0.030 * s) } else { (0.06 * s, 0.038 * s) };
        let tail = tube(
            RINGS,
            COLUMNS,
            true,
            surface,
            |r, c| {
                let u = r as f32 / (RINGS - 1) as f32;
                let around = TAU * c as f32 / COLUMNS as f32;
                let girth = wide
                    * (if style == 4 {
                        0.35 + 0.9 * sin(PI * (0.12 + 0.8 * u))
                    } else {
                        sin(PI * u).max(0.05).sqrt()
                    });
                let (drop, back) = if style == 4 {
                    (u * length, 0.05 * s * sin(PI * (0.3 * u + 0.1)))
                } else {
                    (0.0, u * length)
                };
                let centre = root + vec3(0.0, -drop + 0.01 * s, -back);
                let ring = if style == 4 {
                    vec3(sin(around), 0.25 * cos(around), cos(around))
                } else {
                    vec3(sin(around), cos(around), 0.0)
                };
                let low = smooth(0.35, 1.0, u) * f32::from(style == 4) * 0.5;
                let p = centre + ring * girth;
                (p, vec3(p.x / s, p.y / s, p.z / s), [(skull, 1.0 - low), (chest, low), (0, 0.0), (0, 0.0)])
            },
            |r| 0.75 - 0.02 * r as f32,
        );
        return vec![tail];
    }
    // A curtain round the back and sides of the head.
    const RINGS: usize = 16;
    const COLUMNS: usize = 29;
    let top = ears.y + 0.055 * s;
    let hem = ears.y - length_m * s;
    let shoulder_y = fit.body.heads[b.collar[0]].y;
    let curtain = tube(
        RINGS,
        COLUMNS,
        false,
        surface,
        |r, c| {
            let u = r as f32 / (RINGS - 1) as f32;
            let v = c as f32 / (COLUMNS - 1) as f32 * 2.0 - 1.0;
            let lump = crate::noise::at(vec3(v * 5.0, u * 3.0, streaks * 9.0)).x;
            // From behind one cheek round the back to the other.
            let around = PI + v * 2.0 * (1.0 - 0.12 * u);
            let y = mix(top, hem, u) - 0.025 * s * lump * u;
            let below = ears.y - y;
            let widen = 1.0 + 0.12 * smooth(0.0, 0.1, below) - 0.08 * smooth(0.15, 0.4, below);
            let wide = (half + 0.004 * s + thick_m * s) * widen;
            let deep = (0.105 * s + thick_m * s) * (1.0 + 0.08 * smooth(0.02, 0.12, below))
                + 0.035 * s * smooth(0.1, 0.3, below);
            let wave = 1.0 + 0.05 * lump;
            let front = smooth(0.3, 0.9, cos(around));
            let p = vec3(
                wide * sin(around) * wave,
                y,
                ears.z - 0.012 * s + deep * cos(around) * wave + 0.015 * s * front,
            );
            let low = smooth(head.y - 0.02 * s, shoulder_y - 0.08 * s, y);
            let ties =
                [(skull, (1.0 - low).max(0.0)), (neck, low * (1.0 - low)), (chest, low * low), (0, 0.0)];
            let sum: f32 = ties.iter().map(|t| t.1).sum();
            (p, vec3(p.x / s, p.y / s, p.z / s), ties.map(|(bone, w)| (bone, w / sum)))
        },
        |_| 0.7,
    );
    vec![curtain]
}

/// A bag on the back: a box with round edges. Half width, height and depth in metres of a person 1.62 m high.
pub fn pack(fit: &Fitting, [half_w, high, deep]: [f32; 3], cloth: Cloth) -> Layer {
    const RINGS: usize = 12;
    const COLUMNS: usize = 20;
    let (b, s) = (fit.template.bones, fit.scale);
    let top = fit.body.heads[b.collar[0]].y + 0.01 * s;
    // What stands out most of the back, with something worn over it.
    let behind = |v: &Vec3| v.y < top && v.y > top - high * s && v.x.abs() < 0.1 * s;
    let back = fit.smooth.iter().filter(|v| behind(v)).map(|v| v.z).fold(0.0, f32::min) - 0.015 * s;
    let chest = b.spine[2] as u8;
    tube(
        RINGS,
        COLUMNS,
        true,
        Surface::Cloth(cloth),
        |r, c| {
            let u = r as f32 / (RINGS - 1) as f32;
            let around = TAU * c as f32 / COLUMNS as f32;
            // Round above and below, nearly square in between.
            let end = (2.0 * u - 1.0).abs();
            let girth = (1.0 - end * end * end).max(0.0).sqrt();
            let square = |v: f32| v.signum() * v.abs().sqrt();
            let p = vec3(
                half_w * s * square(sin(around)) * girth,
                top - u * high * s,
                back - 0.5 * deep * s * (1.0 - square(cos(around)) * girth),
            );
            (p, vec3(p.x / s, p.y / s, p.z / s), [(chest, 1.0), (0, 0.0), (0, 0.0), (0, 0.0)])
        },
        |_| 0.85,
    )
}

/// A cap's brim.
pub fn brim(fit: &Fitting, line_y: f32, off_m: f32, cloth: Cloth) -> Layer {
    const RINGS: usize = 4;
    const COLUMNS: usize = 15;
    let b = fit.template.bones;
    let joints = &fit.body.joints;
    let s = fit.scale;
    let eyes = (joints[1] + joints[2]) * 0.5;
    let skull = b.neck[2] as u8;
    tube(
        RINGS,
        COLUMNS,
        false,
        Surface::Cloth(Cloth { pattern: crate::surface::Pattern::Plain, folds: 0.05, ..cloth }),
        |r, c| {
            let u = r as f32 / (RINGS - 1) as f32;
            let v = c as f32 / (COLUMNS - 1) as f32 * 2.0 - 1.0;
            let reach = 0.075 * (1.0 - 0.55 * v * v) * u;
            let x = 0.068 * s * v * (1.0 - 0.1 * u);
            let front = eyes.z + (0.008 + off_m) * s - 0.050 * s * v * v;
            let p =
                vec3(x, eyes.y + (line_y - 0.694) * s - 0.012 * s * u - 0.012 * s * v * v, front + reach * s);
            (p, vec3(p.x / s, line_y, 0.2), [(skull, 1.0), (0, 0.0), (0, 0.0), (0, 0.0)])
        },
        |_| 0.85,
    )
}

/// A point moved away from an axis until it is at least `radius` off it.
pub fn widened(p: Vec3, axis: Vec3, radius: f32) -> Vec3 {
    let out = p - axis;
    let r = out.length().max(1e-4);
    if r < radius { axis + out * (radius / r) } else { p }
}
