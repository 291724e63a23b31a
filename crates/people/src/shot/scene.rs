//! What a picture is of: how the camera looks at the first person, in which place and light.

use super::{Photo, USUAL, Wanted, photo};
use crate::{
    backdrop::Place,
    camera::Camera,
    light::Light,
    math::{Vec3, mix, vec3},
    person::Figure,
    rng::Rng,
};

/// How the first person is framed.
pub(super) struct Framing {
    /// The box round the first person, who is at the origin.
    low: Vec3,
    high: Vec3,
    /// Its longer side, metres.
    pub extent_m: f32,
    /// Part of the picture's side that it takes.
    pub fills: f32,
    /// From the camera, metres.
    pub distance_m: f32,
    /// Field of view over the picture's side, tangents.
    view: f32,
    /// There are more people than a picture about one of them has.
    pub is_crowd: bool,
}

impl Framing {
    pub fn draw(first: &Figure, wanted: &Wanted, rng: &mut Rng) -> Self {
        let (low, high) = (first.low, first.high);
        let extent_m = (high.y - low.y).max(high.x - low.x).max(0.8);
        // A long lens is far away.
        let view = mix(0.28, 1.15, rng.unit() * rng.unit());
        let is_crowd = wanted.crowd > USUAL;
        let fills = rng.between(0.5, 1.05) * if is_crowd { rng.between(0.3, 0.8) } else { 1.0 };
        let distance_m = (extent_m / fills / view).max(1.1);
        Self { low, high, extent_m, fills, distance_m, view, is_crowd }
    }

    /// A camera of a place: below its ceiling, and not quite level.
    pub fn camera(&self, place: &Place, size: usize, rng: &mut Rng) -> Camera {
        let side = rng.normal() * 0.25;
        let mut eye_y = match rng.below(4) {
            0 => rng.between(0.2, 1.0),
            1 => rng.between(1.8, 3.4),
            _ => rng.between(1.0, 1.8),
        };
        if let Some(reach) = place.reach() {
            eye_y = eye_y.min(reach[4] - 0.2);
        }
        let eye = vec3(self.distance_m * side.clamp(-0.6, 0.6), eye_y, self.distance_m);
        let target = vec3(
            self.extent_m * 0.12 * rng.normal().clamp(-2.0, 2.0),
            (self.low.y + self.high.y) * 0.5 + self.extent_m * 0.12 * rng.normal().clamp(-2.0, 2.0),
            0.0,
        );
        let roll = if rng.chance(0.7) { 0.05 * rng.normal() } else { 0.2 * rng.normal() };
        let mut camera = Camera::looking(eye, target, roll, size as f32 / self.view, [size, size]);
        camera.k1 = if rng.chance(0.3) { rng.between(-0.12, 0.03) } else { 0.0 };
        camera
    }

    /// A lamp beside the lens, and hardly anything else.
    pub fn lamp(&self, eye: Vec3) -> Light {
        let middle = vec3(0.0, 0.5 * (self.low.y + self.high.y), 0.0);
        let beside = vec3(0.05, 0.05, 0.0);
        Light {
            towards: (eye + beside - middle).unit(),
            key: vec3(1.6, 1.6, 1.6),
            sky: vec3(0.06, 0.06, 0.06),
            ground: vec3(0.04, 0.04, 0.04),
            softness: 0.01,
        }
    }
}

/// Where people are.
pub(super) struct Scene {
    pub place: Place,
    /// What is seen behind everything, in the place of a drawn one.
    pub photo: Option<Vec<Vec3>>,
    /// From the first person to the wall behind, metres.
    pub deep_m: f32,
}

impl Scene {
    /// `kind`, 0 to 1, chooses among rooms, outdoors and what is neither, where nothing is photographed `behind`.
    pub fn draw(
        kind: f32,
        framing: &Framing,
        first: &Figure,
        behind: Option<&Photo>,
        size: usize,
        rng: &mut Rng,
    ) -> Self {
        let wide_m = framing.distance_m.max(2.0) + rng.between(0.3, 2.0);
        let mut deep_m = 3.0;
        let photo = behind.map(|p| p.part(size, rng));
        let place = if photo.is_some() {
            Place::bare(rng)
        } else if kind < 0.5 {
            deep_m = rng.between(0.8, 3.0).max(0.15 - first.low.z);
            Place::room(rng, wide_m, deep_m)
        } else if kind < 0.88 {
            Place::outdoors(rng)
        } else {
            Place::strange(rng)
        };
        Self { place, photo, deep_m }
    }

    /// The place's light: before a photograph as bright as where people seem to stand.
    pub fn light(&self, rng: &mut Rng) -> Light {
        let light = self.place.light(rng);
        let Some(photo) = &self.photo else { return light };
        let gain = (photo::brightness(photo) / 0.22).clamp(0.15, 2.5);
        Light { key: light.key * gain, sky: light.sky * gain, ground: light.ground * gain, ..light }
    }
}
