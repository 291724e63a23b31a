//! Persons who walk about a room, turn round, stop and do something, and hide one another: the same frame for the same
//! seed and time.

mod actor;

use std::sync::Arc;

use crate::{
    asset::Asset,
    backdrop::{Backdrop, Place},
    body::Body,
    camera::Camera,
    light::{Light, Tone},
    math::{TAU, Vec3, cos, sin, vec3},
    motion::Motion,
    person::{Figure, Person},
    posing::{Ground, Habit, follow},
    render::{Renderer, Truth},
    rng::Rng,
    wear::{Outfit, Template},
};
use actor::{Actor, STANDING_ANKLE_M, Stage};

/// A cast in a place before a camera that stands still.
#[derive(Debug)]
pub struct Film {
    asset: &'static Asset,
    template: &'static Template,
    cast: Vec<Cast>,
    figures: Vec<Figure>,
    camera: Camera,
    light: Light,
    backdrop: Backdrop,
    renderer: Renderer,
    tone: Tone,
    gain: f32,
    /// The room without people, as bytes.
    empty: Vec<u8>,
}

#[derive(Debug)]
struct Cast {
    person: Person,
    actor: Actor,
    habit: Habit,
}

impl Film {
    /// `persons` in a room, on pictures of `width` times `height` pixels.
    pub fn new(persons: usize, width: usize, height: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed, 0);
        // What webcams see: 60 degrees across, from the height of a desk or a shelf.
        let focal_px = 0.86 * (width as f32).max(1.25 * height as f32);
        let eye = vec3(0.0, rng.between(1.2, 1.5), 3.1);
        let camera = Camera::looking(eye, vec3(0.0, 0.93, 0.0), 0.0, focal_px, [width, height]);
        Self::across(camera, persons, None, seed, rng)
    }

    /// The same, of people who do whatever is recorded in `motion`, seen from nearer or farther, higher or lower: what the built-in clip
    /// lacks, for training.
    pub fn lively(persons: usize, width: usize, height: usize, seed: u64, motion: &Arc<Motion>) -> Self {
        let mut rng = Rng::new(seed, 0);
        let focal_px = rng.between(0.86, 1.4) * (width as f32).max(1.25 * height as f32);
        let eye = vec3(rng.between(-0.5, 0.5), rng.between(0.6, 2.2), rng.between(1.9, 4.4));
        let target = vec3(rng.between(-0.2, 0.2), rng.between(0.75, 1.2), 0.0);
        let camera = Camera::looking(eye, target, rng.between(-0.06, 0.06), focal_px, [width, height]);
        Self::across(camera, persons, Some(motion), seed, rng)
    }

    /// A lane for everybody, one behind the other.
    fn across(camera: Camera, persons: usize, lively: Option<&Arc<Motion>>, seed: u64, mut rng: Rng) -> Self {
        let lanes = persons.max(3) as f32;
        let deep = 2.4f32.max(0.45 * lanes);
        let mut place = Place::room(&mut rng, 2.9, deep + 0.7);
        // Something to walk behind, before everybody.
        let side = if rng.chance(0.5) { 1.0 } else { -1.0 };
        let near = vec3(side * rng.between(0.75, 0.95), 0.0, 0.85);
        let piece = Place::furniture(near, vec3(0.36, rng.between(0.55, 0.75), 0.2), 0.0, &mut rng);
        // Before a camera that stands near it would be all there is to see.
        if camera.eye.z > 2.8 {
            place.add(piece);
        }
        let mut light = place.light(&mut rng);
        light.key = light.key * (0.75 / light.key.y).clamp(0.6, 2.0);
        if light.towards.z < 0.0 {
            light.towards.z = -light.towards.z; // not against the light
        }
        let stage = |k: usize, rng: &mut Rng| {
            let lane_m = 0.35 - deep * k as f32 / lanes - 0.15 * rng.unit();
            // What the camera sees of the lane, a little less than all.
            let reach = (camera.eye.z - lane_m) * 0.5 * camera.size[0] as f32 / camera.focal_px - 0.45;
            Stage::Lane { lane_m, reach_m: reach.clamp(0.3, 2.4) }
        };
        let cast = cast(persons, seed, lively, stage);
        Self::before(camera, light, &place, cast)
    }

    /// The same persons doing the same in the same room, each film from another of `cameras` places round it: what several boards of one
    /// room see. Somebody alone walks all over the middle; several have a part of it each, and hide one another from every side.
    pub fn round(persons: usize, cameras: usize, width: usize, height: usize, seed: u64) -> Vec<Self> {
        let mut rng = Rng::new(seed, 0);
        let focal_px = 0.86 * (width as f32).max(1.25 * height as f32);
        let first = rng.between(0.0, TAU);
        let eyes: Vec<Camera> = (0..cameras)
            .map(|k| {
                // Two stand a right angle apart, not opposite.
                let whole = if cameras == 2 { 0.25 } else { 1.0 / cameras as f32 };
                let angle = first + TAU * whole * (k as f32 + rng.between(-0.1, 0.1));
                let far_m = rng.between(3.9, 4.3);
                let eye = vec3(far_m * cos(angle), rng.between(1.5, 2.4), far_m * sin(angle));
                let target = vec3(rng.between(-0.3, 0.3), 0.9, rng.between(-0.3, 0.3));
                Camera::looking(eye, target, rng.between(-0.03, 0.03), focal_px, [width, height])
            })
            .collect();
        let mut place = Place::room(&mut rng, 5.2, 5.2);
        place.retain(|piece| eyes.iter().all(|c| (piece.at - c.eye).flat().length() > 1.5));
        let light = place.light(&mut rng);
        let stage = |k: usize, _: &mut Rng| {
            let (angle, company) = (TAU * k as f32 / persons as f32, persons > 1);
            // So far from each other that nobody walks through anybody.
            let far_m = if company { 0.87 / sin(0.5 * TAU / persons.max(2) as f32) } else { 0.0 };
            let middle = vec3(far_m * cos(angle), 0.0, far_m * sin(angle));
            Stage::Spot { middle, reach_m: if company { 0.65 } else { 1.6 } }
        };
        eyes.into_iter()
            .map(|camera| Self::before(camera, light, &place, cast(persons, seed, None, stage)))
            .collect()
    }

    fn before(camera: Camera, light: Light, place: &Place, cast: Vec<Cast>) -> Self {
        let mut film = Self {
            asset: Asset::embedded(),
            template: Template::embedded(),
            figures: cast.iter().map(|_| Figure::default()).collect(),
            cast,
            camera,
            light,
            backdrop: Backdrop::default(),
            renderer: Renderer::default(),
            tone: Tone::new(0.5),
            gain: 1.0,
            empty: Vec::new(),
        };
        film.backdrop.draw(&film.camera, &film.light, place);
        let pixels = film.backdrop.count();
        let bright = (0..pixels).step_by(7).map(|at| film.backdrop.lit(at).y.min(1.5).sqrt());
        let mean = bright.sum::<f32>() / (pixels as f32 / 7.0);
        film.gain = (0.27 / (mean * mean)).clamp(0.5, 3.0);
        film.renderer.draw(&film.camera, &film.light, &film.backdrop, &[]);
        film.renderer.bytes(&film.tone, film.gain, &mut film.empty);
        film
    }

    /// The camera.
    pub fn camera(&self) -> &Camera {
        &self.camera
    }

    /// How tall everybody is, sole to crown, metres.
    pub fn heights_m(&self) -> impl Iterator<Item = f32> {
        self.cast.iter().map(|cast| cast.person.body.height_m)
    }

    /// Draws the moment `t_s` into `rgb`. Times may be asked for in any order, increasing ones are cheapest.
    pub fn draw(&mut self, t_s: f32, rgb: &mut Vec<u8>) {
        for (cast, figure) in self.cast.iter_mut().zip(&mut self.figures) {
            let p = cast.actor.at(t_s, &self.template.bones, &cast.person.body);
            let ground = Ground::Recorded(STANDING_ANKLE_M);
            let posed = follow(self.asset, &self.template.bones, &cast.person.body, &p, ground, &cast.habit);
            figure.pose(self.asset, self.template, &cast.person, &posed);
            if figure.low.y < 0.0 {
                figure.shift(vec3(0.0, -figure.low.y, 0.0));
            }
        }
        let people: Vec<(&Person, &Figure)> =
            self.cast.iter().map(|c| &c.person).zip(&self.figures).collect();
        self.renderer.draw_people(&self.camera, &self.light, &self.backdrop, &people);
        rgb.clear();
        rgb.extend_from_slice(&self.empty);
        self.renderer.bytes_into(self.camera.size[0], &self.tone, self.gain, rgb);
    }

    /// Of the moment drawn last, in the persons' order.
    pub fn truth(&self) -> &[Truth] {
        &self.renderer.truth
    }

    /// Height of the lowest point of each person in the moment drawn last, metres.
    pub fn lowest_m(&self) -> impl Iterator<Item = f32> {
        self.figures.iter().map(|f| f.low.y)
    }

    /// Joints in the world of the moment drawn last.
    pub fn world_m(&self) -> impl Iterator<Item = &[Vec3; pose::JOINTS]> {
        self.figures.iter().map(|f| &f.joints)
    }
}

/// Bodies, clothes and doings by chance; `stage`: where each may walk, `lively`: what each may do beside.
fn cast(
    persons: usize,
    seed: u64,
    lively: Option<&Arc<Motion>>,
    stage: impl Fn(usize, &mut Rng) -> Stage,
) -> Vec<Cast> {
    let (asset, template) = (Asset::embedded(), Template::embedded());
    (0..persons)
        .map(|k| {
            let mut own = Rng::new(seed, 100 + k as u64);
            let body = loop {
                let body = Body::sampled(asset, own.below(asset.bodies()));
                if body.traits.years >= 15 && body.height_m > 1.5 {
                    break body;
                }
            };
            let outfit = Outfit::draw(&body.traits, &mut own);
            let stage = stage(k, &mut own);
            Cast {
                person: Person::new(asset, template, body, &outfit),
                actor: Actor::new(asset, lively.cloned(), stage, k, own.clone()),
                habit: Habit { head: Vec3::ZERO, chest: Vec3::ZERO, ..Habit::draw(&mut own, 0.5) },
            }
        })
        .collect()
}
