//! A person: a body and what it wears, as layers of mesh; and the same posed.

use pose::JOINTS;

use crate::{
    asset::{Asset, INFLUENCES},
    body::{Body, Posed, head_of, skin},
    math::{Vec3, vec3},
    surface::{Cloth, Pattern, Surface},
    swatch::Swatch,
    wear::{self, Drape, Outfit, Template},
};

/// One mesh of a person.
#[derive(Debug)]
pub struct Layer {
    /// Vertices with the body at rest, metres.
    pub rest: Vec<Vec3>,
    /// Bones that carry them.
    pub influences: Vec<[(u8, f32); INFLUENCES]>,
    /// Where each vertex lies on the mean body: what patterns and faces are painted by.
    pub paint: Vec<Vec3>,
    /// Share of the sky that reaches each vertex.
    pub light: Vec<f32>,
    /// How far inside the outline each vertex lies; empty where the mesh is shown whole.
    pub cut: Vec<f32>,
    /// Counter-clockwise from outside.
    pub triangles: Vec<[u16; 3]>,
    /// What it is made of.
    pub surface: Surface,
    /// Whether its inside may be seen.
    pub two_sided: bool,
    /// How it falls where bones carry it badly.
    pub drape: Option<Drape>,
}

/// Somebody dressed.
#[derive(Debug)]
pub struct Person {
    /// The body.
    pub body: Body,
    /// Its layers, skin first.
    pub layers: Vec<Layer>,
    /// What [`Pattern::Photo`] shows, by number.
    pub swatches: Vec<Swatch>,
}

impl Person {
    /// Dresses a body.
    pub fn new(asset: &Asset, template: &Template, body: Body, outfit: &Outfit) -> Self {
        let layers = wear::dress(asset, template, &body, outfit);
        Self { body, layers, swatches: Vec::new() }
    }

    /// Photographs that its garments show.
    pub fn photos_worn(&self) -> impl Iterator<Item = usize> {
        let number = |layer: &Layer| match &layer.surface {
            Surface::Cloth(Cloth { pattern: Pattern::Photo(k), .. }) => Some(usize::from(*k)),
            _ => None,
        };
        self.layers.iter().filter_map(number).filter_map(|k| Some(self.swatches.get(k)?.photo))
    }

    /// Whether cloth hangs free round its legs.
    pub fn wears_skirt(&self) -> bool {
        self.layers.iter().any(|layer| layer.drape.is_some())
    }
}

/// A person posed: places in the world.
#[derive(Debug, Default)]
pub struct Figure {
    /// Vertices of each layer.
    pub points: Vec<Vec<Vec3>>,
    /// Their normals.
    pub normals: Vec<Vec<Vec3>>,
    /// COCO's joints.
    pub joints: [Vec3; JOINTS],
    /// A box round everything.
    pub low: Vec3,
    /// A box round everything.
    pub high: Vec3,
    /// What takes light from the ground: centres and radii of feet, knees' and hips' surroundings.
    pub blobs: [(Vec3, f32); 3],
}

impl Figure {
    /// Poses the layers.
    pub fn pose(&mut self, asset: &Asset, template: &Template, person: &Person, posed: &[Posed]) {
        let count = person.layers.len();
        self.points.resize_with(count, Vec::new);
        self.normals.resize_with(count, Vec::new);
        for (k, layer) in person.layers.iter().enumerate() {
            skin(&layer.rest, &layer.influences, posed, &mut self.points[k]);
        }
        let draped = |k: &usize| person.layers[*k].drape.is_some();
        if (0..count).any(|k| draped(&k)) {
            let stiff = (0..count).filter(|k| !draped(k)).flat_map(|k| &self.points[k]);
            let floor_y = stiff.map(|p| p.y).fold(f32::MAX, f32::min);
            for (layer, points) in person.layers.iter().zip(&mut self.points) {
                if let Some(drape) = &layer.drape {
                    drape.fall(points, &template.bones, &person.body, posed, floor_y);
                }
            }
        }
        self.joints = person.body.posed_joints(asset, posed);
        let bones = &template.bones;
        let at = |b: usize| head_of(&posed[b], person.body.heads[b]);
        let foot = |s: usize| {
            let (ankle, toe) = (at(bones.foot[s]), at(bones.toe[s]));
            (ankle.mix(toe, 0.45) - vec3(0.0, 0.03, 0.0), 0.13)
        };
        self.blobs = [foot(0), foot(1), (at(bones.hips), 0.3)];
        self.finish(person);
    }

    /// Shifts everything, as when the body is set on the ground.
    pub fn shift(&mut self, by: Vec3) {
        self.points.iter_mut().flatten().for_each(|p| *p += by);
        self.joints.iter_mut().for_each(|p| *p += by);
        self.blobs.iter_mut().for_each(|b| b.0 += by);
        self.low += by;
        self.high += by;
    }

    fn finish(&mut self, person: &Person) {
        let (mut low, mut high) = (vec3(f32::MAX, f32::MAX, f32::MAX), vec3(f32::MIN, f32::MIN, f32::MIN));
        for p in self.points.iter().flatten() {
            low = vec3(low.x.min(p.x), low.y.min(p.y), low.z.min(p.z));
            high = vec3(high.x.max(p.x), high.y.max(p.y), high.z.max(p.z));
        }
        (self.low, self.high) = (low, high);
        for (k, layer) in person.layers.iter().enumerate() {
            normals(&self.points[k], &layer.triangles, &mut self.normals[k]);
        }
    }
}

/// Normals of the vertices, faces weighted by their area; not of length 1.
pub fn normals(points: &[Vec3], triangles: &[[u16; 3]], out: &mut Vec<Vec3>) {
    out.clear();
    out.resize(points.len(), Vec3::ZERO);
    for t in triangles {
        let [a, b, c] = t.map(|v| points[usize::from(v)]);
        let n = (b - a).cross(c - a);
        t.iter().for_each(|&v| out[usize::from(v)] += n);
    }
    // Scaled so that a mean of three corners is not ruled by the largest triangles.
    out.iter_mut().for_each(|n| *n = n.unit());
}
