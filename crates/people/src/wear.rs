//! What a person wears: shells of the body, smoothed, pushed out and let hang, each cut where its outline runs; and skirts,
//! long hair and brims as meshes of their own.

mod drape;
mod hang;
mod outfit;

pub use drape::Drape;
pub use outfit::{Bottom, Hair, Hat, Outfit, Shoes, Top};

use crate::{
    asset::{Asset, INFLUENCES, SHAPE},
    body::{Body, Bones},
    math::{Vec3, smooth, vec3},
    person::{Layer, normals},
    surface::{Cloth, Surface},
};
use hang::{Hang, limb};

/// What is known of every vertex of the mean body: where on limbs, trunk and head it lies.
#[derive(Debug)]
pub struct Template {
    /// The rig's bones by name.
    pub bones: Bones,
    /// Share of the arms' bones.
    pub arm: Vec<f32>,
    /// Share of the legs' bones.
    pub leg: Vec<f32>,
    /// Share of head and upper neck.
    pub head: Vec<f32>,
    /// 0 shoulder, 1 elbow, 2 wrist.
    pub along_arm: Vec<f32>,
    /// 0 hip, 1 knee, 2 ankle.
    pub along_leg: Vec<f32>,
    neighbours: Vec<[u16; 8]>,
    /// Vertices of feet, of the head, and all but the hands.
    feet: Vec<u16>,
    skull: Vec<u16>,
    clothed: Vec<u16>,
    /// Triangles of skin and of eyes.
    skin: Vec<[u16; 3]>,
    eyes: Vec<[u16; 3]>,
}

impl Template {
    /// Looks at the mean body.
    pub fn new(asset: &Asset) -> Self {
        let bones = Bones::of(asset);
        let heads = asset.heads(&[0.0; SHAPE]);
        let share = |of: &[usize]| -> Vec<f32> {
            let sum = |ties: &[(u8, f32); INFLUENCES]| {
                ties.iter().filter(|t| of.contains(&usize::from(t.0))).map(|t| t.1).sum()
            };
            asset.influences.iter().map(sum).collect()
        };
        let pairs = |list: &[[usize; 2]]| list.concat();
        let arm = share(&pairs(&[
            bones.arm,
            bones.forearm,
            bones.hand,
            bones.thumb,
            bones.fingers[0],
            bones.fingers[1],
        ]));
        let leg = share(&pairs(&[bones.thigh, bones.shin, bones.foot, bones.toe]));
        let head = share(&[bones.neck[1], bones.neck[2]]);
        let along = |a: [usize; 2], b: [usize; 2], c: [usize; 2]| -> Vec<f32> {
            let one = |p: &Vec3| {
                let s = usize::from(p.x < 0.0);
                limb(heads[a[s]], heads[b[s]], heads[c[s]], *p).0
            };
            asset.mean.iter().map(one).collect()
        };
        let along_arm = along(bones.arm, bones.forearm, bones.hand);
        let along_leg = along(bones.thigh, bones.shin, bones.foot);
        let mut neighbours: Vec<Vec<u16>> = vec![Vec::new(); asset.mean.len()];
        for t in &asset.triangles {
            for k in 0..3 {
                let (a, b) = (usize::from(t[k]), t[(k + 1) % 3]);
                if !neighbours[a].contains(&b) {
                    neighbours[a].push(b);
                }
                let (a, b) = (usize::from(b), t[k]);
                if !neighbours[a].contains(&b) {
                    neighbours[a].push(b);
                }
            }
        }
        let neighbours = neighbours
            .iter()
            .enumerate()
            .map(|(v, n)| std::array::from_fn(|k| if n.is_empty() { v as u16 } else { n[k % n.len()] }))
            .collect();
        let these =
            |is: &dyn Fn(usize) -> bool| (0..asset.mean.len()).filter(|&v| is(v)).map(|v| v as u16).collect();
        let feet = these(&|v| along_leg[v] > 1.85 && leg[v] > 0.3);
        let skull = these(&|v| head[v] > 0.4 && asset.mean[v].y > 0.66);
        let clothed = these(&|v| along_arm[v] < 2.05 || arm[v] < 0.5);
        let (eyes, skin) = asset.triangles.iter().partition(|t| usize::from(t[0]) >= asset.eyes);
        Self { bones, arm, leg, head, along_arm, along_leg, neighbours, feet, skull, clothed, skin, eyes }
    }

    /// What belongs to the embedded asset.
    pub fn embedded() -> &'static Self {
        static TEMPLATE: std::sync::OnceLock<Template> = std::sync::OnceLock::new();
        TEMPLATE.get_or_init(|| Self::new(Asset::embedded()))
    }

    /// Points of the vertices `some`, moved towards their neighbours' mean.
    fn smoothed(&self, points: &[Vec3], some: &[u16], times: usize) -> Vec<Vec3> {
        let mut now = points.to_vec();
        let mut next = now.clone();
        for _ in 0..times {
            for &v in some {
                let v = usize::from(v);
                let sum = self.neighbours[v].iter().fold(Vec3::ZERO, |s, &k| s + now[usize::from(k)]);
                next[v] = now[v] * 0.4 + sum * (0.6 / 8.0);
            }
            std::mem::swap(&mut now, &mut next);
        }
        now
    }
}

/// A body about to be dressed.
struct Fitting<'a> {
    asset: &'a Asset,
    template: &'a Template,
    body: &'a Body,
    /// Of the body at rest.
    normals: Vec<Vec3>,
    /// The body without its details.
    smooth: Vec<Vec3>,
    /// Metres of this body for one of the mean body.
    scale: f32,
    layers: Vec<Layer>,
    /// How deep under cloth each vertex of the body lies; not above 0 where it is bare.
    covered: Vec<f32>,
}

/// Cloth at least this far inside an outline hides what is below it, metres.
const HIDES_M: f32 = 0.02;

/// Dresses a body: skin first, then from the inside outwards.
pub fn dress(asset: &Asset, template: &Template, body: &Body, outfit: &Outfit) -> Vec<Layer> {
    let mut base = Vec::new();
    normals(&body.rest, &asset.triangles, &mut base);
    let mut fit = Fitting {
        asset,
        template,
        body,
        normals: base,
        smooth: template.smoothed(&body.rest, &template.clothed, 4),
        scale: body.height_m / 1.62,
        layers: Vec::new(),
        covered: vec![-1.0; body.rest.len()],
    };
    fit.shoes(outfit);
    fit.bottom(outfit);
    if !outfit.is_bare {
        fit.top(outfit);
    }
    fit.jacket(outfit);
    fit.small_things(outfit);
    fit.head(outfit);
    let skin = fit.skin(outfit);
    let mut layers = skin;
    layers.append(&mut fit.layers);
    layers
}

impl Fitting<'_> {
    /// The body itself where it is not well under cloth.
    fn skin(&self, outfit: &Outfit) -> Vec<Layer> {
        let bare = |t: &&[u16; 3]| t.iter().any(|&v| self.covered[usize::from(v)] < HIDES_M);
        let whole =
            |triangles: Vec<[u16; 3]>, surface| self.compact(&self.body.rest, &[], triangles, surface, false);
        let light = 1.0 - outfit.skin.glasses.map_or(0.0, |g| g.dark);
        vec![
            whole(self.template.skin.iter().filter(bare).copied().collect(), Surface::Skin(outfit.skin)),
            whole(self.template.eyes.clone(), Surface::Eye(outfit.iris, light)),
        ]
    }

    /// A layer of the body's topology with only the vertices that its triangles use.
    fn compact(
        &self,
        points: &[Vec3],
        cut: &[f32],
        triangles: Vec<[u16; 3]>,
        surface: Surface,
        two_sided: bool,
    ) -> Layer {
        let mut rename = vec![u16::MAX; points.len()];
        let mut used: Vec<usize> = Vec::new();
        let triangles = triangles
            .into_iter()
            .map(|t| {
                t.map(|v| {
                    let v = usize::from(v);
                    if rename[v] == u16::MAX {
                        rename[v] = used.len() as u16;
                        used.push(v);
                    }
                    rename[v]
                })
            })
            .collect();
        let of = |v: &[Vec3]| -> Vec<Vec3> { used.iter().map(|&k| v[k]).collect() };
        Layer {
            rest: of(points),
            influences: used.iter().map(|&k| self.asset.influences[k]).collect(),
            paint: of(&self.asset.mean),
            light: used.iter().map(|&k| self.asset.light[k]).collect(),
            cut: if cut.is_empty() { Vec::new() } else { used.iter().map(|&k| cut[k]).collect() },
            triangles,
            surface,
            two_sided,
            drape: None,
        }
    }

    /// A shell where `field` (metres inside the outline) is positive, `ease_m` off the `base`, then moved by `shape`.
    fn shell(
        &self,
        base: &[Vec3],
        field: &[f32],
        ease_m: f32,
        surface: Surface,
        shape: impl Fn(usize, Vec3) -> Vec3,
    ) -> Layer {
        let mut points = vec![Vec3::ZERO; field.len()];
        for v in 0..field.len() {
            if field[v] > -0.08 {
                let n = self.normals[v];
                let lack = (self.body.rest[v] - base[v]).dot(n).max(0.0);
                points[v] = shape(v, base[v] + n * (ease_m * self.scale + lack));
            }
        }
        let shown = |t: &&[u16; 3]| t.iter().any(|&v| field[usize::from(v)] > 0.0);
        let triangles: Vec<[u16; 3]> = self.template.skin.iter().filter(shown).copied().collect();
        let mut layer = self.compact(&points, field, triangles, surface, true);
        // Cloth lies off the skin: creases of the body are shallower in it.
        layer.light.iter_mut().for_each(|l| *l = 0.35 + 0.65 * *l);
        layer
    }

    /// Puts a shell on: what is well below it need not be drawn of the body.
    fn put_on(&mut self, layer: Layer, field: &[f32]) {
        for (c, f) in self.covered.iter_mut().zip(field) {
            *c = c.max(*f);
        }
        self.layers.push(layer);
    }

    /// Height of the neck's base, the waist, and the crotch on the mean body.
    fn top_field(&self, top: &Top) -> Vec<f32> {
        let t = self.template;
        let neck = vec3(0.0, 0.575, 0.02);
        self.asset
            .mean
            .iter()
            .enumerate()
            .map(|(v, p)| {
                let mut field = if t.arm[v] > 0.02 || p.x.abs() > 0.15 && p.y > 0.2 {
                    (top.sleeve - t.along_arm[v]) * 0.24
                } else {
                    9.0
                };
                if t.arm[v] < 0.5 {
                    field = field.min(p.y - top.hem_y);
                }
                let d = *p - neck;
                let hole = vec3(d.x * 0.92, d.y * 0.9, d.z).length() - top.neck_m;
                field = field.min(hole).min(0.60 + top.collar_m - p.y);
                if p.z > 0.02 && top.vee_m > 0.0 {
                    field = field.min((neck.y - top.vee_m + 1.7 * p.x.abs() - p.y) * 0.5);
                }
                if t.head[v] > 0.6 && top.collar_m < 0.02 || p.z > 0.095 && p.y > 0.565 {
                    field = field.min(-0.02);
                }
                if top.sleeve < 0.1 {
                    // Straps: the shoulder's end stays bare.
                    field = field
                        .min(0.125 - p.x.abs() + 0.3 * (0.42 - p.y).max(0.0))
                        .min((0.3 - t.arm[v]) * 0.2);
                }
                field
            })
            .collect()
    }

    fn top(&mut self, outfit: &Outfit) {
        let field = self.top_field(&outfit.top);
        self.drop_hidden(&field);
        let layer = self.sleeved(&field, &outfit.top);
        self.put_on(layer, &field);
    }

    fn jacket(&mut self, outfit: &Outfit) {
        let Some(jacket) = &outfit.jacket else { return };
        let mut field = self.top_field(&Top { vee_m: 0.0, ..*jacket });
        for (f, p) in field.iter_mut().zip(&self.asset.mean) {
            if p.z > 0.0 {
                // Open at the front, wider towards the hem.
                *f = f.min(p.x.abs() - jacket.vee_m - 0.04 * (0.5 - p.y).max(0.0));
            }
        }
        let layer = self.sleeved(&field, jacket);
        self.put_on(layer, &field);
    }

    /// Gloves, scarf, what is carried on the back.
    fn small_things(&mut self, outfit: &Outfit) {
        let (t, mean) = (self.template, &self.asset.mean);
        if let Some(cloth) = outfit.gloves {
            let of = |v: usize| if t.arm[v] > 0.5 { (t.along_arm[v] - 1.9) * 0.24 } else { -1.0 };
            let field: Vec<f32> = (0..mean.len()).map(of).collect();
            let layer = self.shell(&self.body.rest, &field, 0.003, Surface::Cloth(cloth), |_, p| p);
            self.put_on(layer, &field);
        }
        if let Some(cloth) = outfit.scarf {
            let of = |v: usize| {
                let p = mean[v];
                let off = vec3(p.x, 0.0, p.z - 0.01).length();
                if t.arm[v] > 0.3 { -1.0 } else { (0.615 - p.y).min(p.y - 0.53).min(0.11 - off) }
            };
            let field: Vec<f32> = (0..mean.len()).map(of).collect();
            // Two rolls.
            let shape = |v: usize, p: Vec3| {
                let out = vec3(p.x, 0.0, p.z - 0.01).unit();
                p + out * (0.012 * self.scale * crate::math::sin((mean[v].y - 0.53) * 74.0).abs())
            };
            let layer = self.shell(&self.smooth, &field, 0.03, Surface::Cloth(cloth), shape);
            self.layers.push(layer);
        }
        if let Some((cloth, half)) = outfit.pack {
            let pack = hang::pack(self, half, cloth);
            self.layers.push(pack);
        }
    }

    fn sleeved(&self, field: &[f32], top: &Top) -> Layer {
        let hang = self.hang(field, top);
        let (t, heads) = (self.template, &self.body.heads);
        let b = t.bones;
        let shape = |v: usize, p: Vec3| {
            if t.arm[v] > 0.3 {
                let s = usize::from(self.asset.mean[v].x < 0.0);
                let (along, axis) = limb(heads[b.arm[s]], heads[b.forearm[s]], heads[b.hand[s]], p);
                let wide = top.sleeve_m * self.scale * smooth(0.15, 0.5, along) * smooth(0.3, 0.8, t.arm[v]);
                return widened(p, axis, wide);
            }
            hang.apply(p, top.loose * (1.0 - smooth(0.0, 0.4, t.arm[v])))
        };
        self.shell(&self.smooth, field, top.ease_m, Surface::Cloth(top.cloth), shape)
    }

    fn hang(&self, field: &[f32], top: &Top) -> Hang {
        let t = self.template;
        let inside = |v: usize| field[v] > -0.03 && t.arm[v] < 0.25;
        let points = (0..field.len())
            .filter(|&v| inside(v))
            .map(|v| self.smooth[v] + self.normals[v] * (top.ease_m * self.scale));
        let armpit = self.body.heads[t.bones.arm[0]].y - 0.07 * self.scale;
        let from = self.body.heads[t.bones.hips].y - 0.3 * self.scale;
        Hang::new(points, from, armpit, top.slope)
    }

    /// Drops triangles of the shells so far that lie well below a new one.
    fn drop_hidden(&mut self, field: &[f32]) {
        // Shells keep no vertex numbers of the body: places on the mean body tell.
        let deep: Vec<(Vec3, f32)> =
            self.asset.mean.iter().copied().zip(field.iter().copied()).filter(|d| d.1 > 0.06).collect();
        if deep.is_empty() {
            return;
        }
        let low = deep.iter().map(|d| d.0.y).fold(f32::MAX, f32::min);
        for layer in &mut self.layers {
            let paint = &layer.paint;
            layer.triangles.retain(|t| t.iter().any(|&v| paint[usize::from(v)].y < low));
        }
    }

    fn bottom(&mut self, outfit: &Outfit) {
        let t = self.template;
        match &outfit.bottom {
            Bottom::Trousers { leg, waist_y, knee_m, hem_m, ease_m, cloth } => {
                let field: Vec<f32> = self
                    .asset
                    .mean
                    .iter()
                    .enumerate()
                    .map(|(v, p)| {
                        let mut f =
                            (waist_y - p.y).min(if p.y < 0.0 { (leg - t.along_leg[v]) * 0.38 } else { 9.0 });
                        if t.arm[v] > 0.05 {
                            f = -1.0;
                        }
                        f
                    })
                    .collect();
                let heads = &self.body.heads;
                let (bones, scale) = (t.bones, self.scale);
                let mean = &self.asset.mean;
                let leg_weight = &t.leg;
                let shape = |v: usize, p: Vec3| {
                    if mean[v].y > 0.0 || leg_weight[v] < 0.3 {
                        return p;
                    }
                    let s = usize::from(mean[v].x < 0.0);
                    let (along, axis) =
                        limb(heads[bones.thigh[s]], heads[bones.shin[s]], heads[bones.foot[s]], p);
                    let target = if along < 1.0 {
                        *knee_m
                    } else {
                        knee_m + (hem_m - knee_m) * (along - 1.0).min(1.0)
                    };
                    let out = widened(p, axis, target * scale * smooth(0.1, 0.6, along));
                    // Legs do not grow into each other.
                    let side = if s == 0 { 1.0 } else { -1.0 };
                    if side * out.x < 0.004 && side * p.x >= 0.0 {
                        vec3(side * (side * p.x).min(0.004), out.y, out.z)
                    } else {
                        out
                    }
                };
                let layer = self.shell(&self.smooth, &field, *ease_m, Surface::Cloth(*cloth), shape);
                self.put_on(layer, &field);
            }
            Bottom::Skirt { length, waist_y, flare, cloth } => {
                // Something under it.
                let short: Vec<f32> = (0..t.leg.len())
                    .map(|v| {
                        let p = self.asset.mean[v];
                        if t.arm[v] > 0.05 {
                            -1.0
                        } else {
                            (waist_y - p.y).min(if p.y < 0.0 { (0.3 - t.along_leg[v]) * 0.38 } else { 9.0 })
                        }
                    })
                    .collect();
                let plain = Cloth { pattern: crate::surface::Pattern::Plain, ..*cloth };
                let layer = self.shell(&self.smooth, &short, 0.003, Surface::Cloth(plain), |_, p| p);
                self.put_on(layer, &short);
                let skirt = hang::skirt(self, *length, *waist_y, *flare, *cloth);
                self.layers.push(skirt);
            }
        }
    }

    fn shoes(&mut self, outfit: &Outfit) {
        let t = self.template;
        let Shoes { top, colour, sole } = outfit.shoes;
        if top > 3.0 {
            return;
        }
        let field: Vec<f32> = (0..t.leg.len())
            .map(|v| {
                if t.leg[v] > 0.3 && self.asset.mean[v].y < -0.3 {
                    (t.along_leg[v] - top) * 0.38
                } else {
                    -1.0
                }
            })
            .collect();
        let ground = self.body.rest.iter().map(|p| p.y).fold(f32::MAX, f32::min);
        let mean_ground = -0.819;
        let very_smooth = t.smoothed(&self.smooth, &t.feet, 24);
        let shape = |v: usize, p: Vec3| {
            // Toes become one cap; the sole lies below the foot.
            let mean = self.asset.mean[v];
            let toe = smooth(0.08, 0.13, mean.z) * smooth(-0.70, -0.74, mean.y);
            let cap = very_smooth[v] + self.normals[v] * (0.010 * self.scale);
            let mut p = p.mix(cap, toe);
            p.y -= 0.014 * self.scale * smooth(0.035, 0.0, p.y - ground);
            p
        };
        let layer =
            self.shell(&self.smooth, &field, 0.007, Surface::Shoe(colour, sole, mean_ground + 0.018), shape);
        self.put_on(layer, &field);
    }

    fn head(&mut self, outfit: &Outfit) {
        let t = self.template;
        let mean = &self.asset.mean;
        let Hair { style, colour, thick_m, length_m, streaks } = outfit.hair;
        // Hairline: high over the face, down past the temples, low behind.
        let line = |p: Vec3| {
            let z = p.z - 0.05;
            let knots = [
                (-0.15, 0.60),
                (-0.06, 0.605),
                (-0.035, 0.63),
                (-0.008, 0.70),
                (0.02, 0.705),
                (0.055, 0.735),
                (0.075, 0.752),
                (0.11, 0.757),
            ];
            let mut y = knots[0].1;
            for w in knots.windows(2) {
                if z >= w[0].0 {
                    y = w[0].1 + (w[1].1 - w[0].1) * ((z - w[0].0) / (w[1].0 - w[0].0)).min(1.0);
                }
            }
            y
        };
        let recede = outfit.recede;
        let hat_y = match outfit.hat {
            Hat::None => 9.0,
            Hat::Beanie(_) => 0.722,
            Hat::Cap(_) => 0.735,
        };
        let field: Vec<f32> = (0..mean.len())
            .map(|v| {
                let p = mean[v];
                if t.head[v] < 0.5 || v >= self.asset.eyes {
                    return -1.0;
                }
                // Ears stay free.
                let ear = vec3(p.x.abs() - 0.078, p.y - 0.672, p.z - 0.045).length();
                let bald = recede * (smooth(0.0, 0.10, p.z + 0.01) * 0.07 + 0.03 * smooth(0.74, 0.79, p.y));
                let crown = if recede > 0.9 { 0.755 - p.y } else { 9.0 };
                (p.y - line(p) - bald)
                    .min(ear - if style == 0 { 0.026 } else { 0.02 })
                    .min(crown)
                    .min(hat_y + 0.012 - hat_slope(p) - p.y)
            })
            .collect();
        if style < 9 {
            let shape = |v: usize, p: Vec3| {
                let lump =
                    crate::noise::at(mean[v] * 38.0).x * 0.25 + crate::noise::at(mean[v] * 14.0).y * 0.2;
                let up = 0.6 + 0.5 * smooth(0.68, 0.80, mean[v].y);
                p + self.normals[v] * (thick_m * self.scale * up * smooth(0.0, 0.03, field[v]) * (1.0 + lump))
            };
            let layer = self.shell(&self.smooth, &field, 0.002, Surface::Hair(colour, streaks), shape);
            self.layers.push(layer);
            if style >= 2 {
                let long = hang::long_hair(self, style, length_m, thick_m, colour, streaks);
                self.layers.extend(long);
            }
        }
        match outfit.hat {
            Hat::None => {}
            Hat::Beanie(cloth) => self.hat(cloth, 0.722, 0.013 + thick_m.min(0.02), false),
            Hat::Cap(cloth) => self.hat(cloth, 0.735, 0.011 + thick_m.min(0.02), true),
        }
    }

    fn hat(&mut self, cloth: Cloth, line_y: f32, off_m: f32, has_brim: bool) {
        let t = self.template;
        let mean = &self.asset.mean;
        let field: Vec<f32> = (0..mean.len())
            .map(|v| {
                let p = mean[v];
                if t.head[v] < 0.5 || v >= self.asset.eyes { -1.0 } else { p.y - line_y + hat_slope(p) }
            })
            .collect();
        let rounder = t.smoothed(&self.smooth, &t.skull, 6);
        let layer = self.shell(&rounder, &field, off_m, Surface::Cloth(cloth), |_, p| p);
        self.layers.push(layer);
        if has_brim {
            let brim = hang::brim(self, line_y, off_m, cloth);
            self.layers.push(brim);
        }
    }
}

/// How much lower a hat sits behind than over the brow.
fn hat_slope(p: Vec3) -> f32 {
    0.25 * (0.06 - p.z).clamp(0.0, 0.08)
}

/// A point moved away from an axis until it is at least `radius` off it.
fn widened(p: Vec3, axis: Vec3, radius: f32) -> Vec3 {
    let out = p - axis;
    let r = out.length().max(1e-4);
    if r < radius { axis + out * (radius / r) } else { p }
}
