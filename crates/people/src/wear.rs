//! What a person wears: shells of the body, smoothed, pushed out and let hang, each cut where its outline runs; and skirts,
//! long hair and brims as meshes of their own.

mod above;
mod below;
mod drape;
mod hang;
mod head;
mod outfit;
mod template;

pub use drape::Drape;
pub use outfit::{Bottom, Hair, Hat, Outfit, Shoes, Top};
pub use template::Template;

use crate::{
    asset::Asset,
    body::Body,
    math::Vec3,
    person::{Layer, normals},
    surface::Surface,
};

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
}
