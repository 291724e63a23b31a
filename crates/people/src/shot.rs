//! One picture for training: somebody in a pose in a place, others about, things before them, a camera anywhere.

use std::rc::Rc;

use crate::{
    asset::Asset,
    backdrop::{Backdrop, Place},
    body::Body,
    camera::Camera,
    damage::Damage,
    light::Tone,
    math::{TAU, Vec3, mix, vec3, yaw},
    motion::{
        self, Motion, PoseChoice,
        joint::{L_ANKLE, NECK, PELVIS, R_ANKLE},
    },
    person::{Figure, Person},
    posing::{Ground, Habit, follow},
    render::{Renderer, Truth},
    rng::Rng,
    wear::{Outfit, Template},
};

/// What is asked of pictures.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// Side of the square picture, pixels.
    pub size: usize,
    /// Share of pictures with more than one person.
    pub company: f32,
    /// Share of pictures with something before the person.
    pub occluders: f32,
    /// Marks of cheap cameras.
    pub damage: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { size: 192, company: 0.25, occluders: 0.25, damage: true }
    }
}

/// A picture and what is true of it.
#[derive(Debug)]
pub struct Shot {
    /// Red, green, blue.
    pub rgb: Vec<u8>,
    /// Of everybody who is in it.
    pub truth: Vec<Truth>,
    /// What took it.
    pub camera: Camera,
    /// Quality that its JPEG should have.
    pub quality: u8,
}

/// Makes pictures; keeps what is costly to make anew.
#[derive(Debug)]
pub struct Studio<'a> {
    asset: &'a Asset,
    template: &'a Template,
    more: Option<&'a Motion>,
    renderer: Renderer,
    backdrop: Backdrop,
    figures: Vec<Figure>,
    tones: [Tone; 3],
    /// Who was dressed for the group of pictures of the last one.
    wardrobe: Vec<Rc<Person>>,
    of_group: Option<(u64, u64)>,
}

/// Changes whenever the same seed gives other pictures: a set is not gone on with by what would make it otherwise.
pub const LOOK: u32 = 2;

/// Joints of the first person that are seen in every picture that can have them.
const LEAST_SEEN: usize = 6;
const LAST_ATTEMPT: u64 = 5;

/// Most people in a picture.
const MOST: usize = 3;

/// Sets the streams of random numbers that people are drawn from apart from the pictures'.
const CAST: u64 = 0x7065_6f70_6c65;

/// Pictures that the same dressed people are in, each time in other poses, places and light: dressing takes as long as drawing.
const GROUP: u64 = 4;

impl<'a> Studio<'a> {
    /// With the embedded people; `more` motion beside the embedded clips.
    pub fn new(more: Option<&'a Motion>) -> Self {
        Self {
            asset: Asset::embedded(),
            template: Template::embedded(),
            more,
            renderer: Renderer::default(),
            backdrop: Backdrop::default(),
            figures: Vec::new(),
            tones: [0.0, 0.5, 1.0].map(Tone::new),
            wardrobe: Vec::new(),
            of_group: None,
        }
    }

    /// The picture `index` of `seed`. At least six joints of the first person are seen.
    pub fn shot(&mut self, wanted: &Wanted, seed: u64, index: u64) -> Shot {
        let group = Some((seed, index / GROUP));
        if self.of_group != group {
            self.wardrobe.clear();
            self.of_group = group;
        }
        for attempt in 0.. {
            let mut rng = Rng::new(seed ^ (attempt << 48), index);
            if let Some(shot) = self.try_shot(wanted, attempt == LAST_ATTEMPT, &mut rng) {
                return shot;
            }
        }
        unreachable!("the last attempt is taken")
    }

    /// The person `k` of the group, dressed when first asked for.
    fn dressed(&mut self, k: usize) -> Rc<Person> {
        while self.wardrobe.len() <= k {
            let (seed, group) = self.of_group.unwrap_or_default();
            let mut rng = Rng::new(seed ^ CAST, group * MOST as u64 + self.wardrobe.len() as u64);
            let body = Body::sampled(self.asset, rng.below(self.asset.bodies()));
            let outfit = Outfit::draw(&body.traits, &mut rng);
            self.wardrobe.push(Rc::new(Person::new(self.asset, self.template, body, &outfit)));
        }
        self.wardrobe[k].clone()
    }

    fn somebody(&mut self, k: usize, rng: &mut Rng) -> (Rc<Person>, f32) {
        let person = self.dressed(k);
        let more = match self.more {
            Some(m) if rng.chance(0.7) => m,
            _ => &self.asset.clips,
        };
        let choice = PoseChoice { seated: if k == 0 { 0.13 } else { 0.05 }, ..PoseChoice::default() };
        let p = motion::draw(&self.asset.stills, more, choice, rng);
        let low = p[L_ANKLE].y.min(p[R_ANKLE].y);
        let upright = (p[NECK] - p[PELVIS]).unit().y > 0.5 && p[PELVIS].y - low > 0.35;
        let ground = if upright { Ground::Recorded(low) } else { Ground::Free };
        let mut posed =
            follow(self.asset, &self.template.bones, &person.body, &p, ground, &Habit::draw(rng, 1.0));
        // Backs are wanted as much as faces.
        let turn = yaw(TAU * rng.unit());
        for b in &mut posed {
            b.turn = turn * b.turn;
            b.shift = turn * b.shift;
        }
        if self.figures.len() <= k {
            self.figures.push(Figure::default());
        }
        let figure = &mut self.figures[k];
        figure.pose(self.asset, self.template, &person, &posed);
        let middle = (figure.low + figure.high) * 0.5;
        figure.shift(vec3(-middle.x, -figure.low.y, -middle.z));
        let hips = (figure.joints[11] + figure.joints[12]) * 0.5;
        let knees = (figure.joints[13].y + figure.joints[14].y) * 0.5;
        // Sits in the air: wants a seat of that height.
        let seat = if hips.y > 0.3 && hips.y - knees < 0.12 { hips.y - 0.11 } else { 0.0 };
        (person, seat)
    }

    /// A picture, or none where too little of the first person would be seen of it and it is not `any` that will do.
    fn try_shot(&mut self, wanted: &Wanted, any: bool, rng: &mut Rng) -> Option<Shot> {
        let size = wanted.size;
        let count = if rng.chance(wanted.company) { 2 + rng.below(MOST - 1) } else { 1 };
        let mut people = Vec::new();
        let mut seats = Vec::new();
        for k in 0..count {
            let (person, seat) = self.somebody(k, rng);
            seats.push((k, seat));
            people.push(person);
        }
        let kind = rng.unit();
        let (low, high) = (self.figures[0].low, self.figures[0].high);
        let extent = (high.y - low.y).max(high.x - low.x).max(0.8);
        // Field of view over the picture's side; a long lens is far away.
        let view = mix(0.28, 1.15, rng.unit() * rng.unit());
        let fills = rng.between(0.5, 1.05);
        let distance = (extent / fills / view).max(1.1);
        let focal_px = size as f32 / view;
        let wide = distance.max(2.0) + rng.between(0.3, 2.0);
        let mut place = if kind < 0.5 {
            let deep = rng.between(0.8, 3.0);
            Place::room(rng, wide, deep)
        } else if kind < 0.88 {
            Place::outdoors(rng)
        } else {
            Place::strange(rng)
        };
        let side = rng.normal() * 0.25;
        let mut eye_y = match rng.below(4) {
            0 => rng.between(0.2, 1.0),
            1 => rng.between(1.8, 3.4),
            _ => rng.between(1.0, 1.8),
        };
        if let Some(reach) = place.reach() {
            eye_y = eye_y.min(reach[4] - 0.2);
        }
        let eye = vec3(distance * side.clamp(-0.6, 0.6), eye_y, distance);
        let target = vec3(
            extent * 0.12 * rng.normal().clamp(-2.0, 2.0),
            (low.y + high.y) * 0.5 + extent * 0.12 * rng.normal().clamp(-2.0, 2.0),
            0.0,
        );
        let roll = if rng.chance(0.7) { 0.05 * rng.normal() } else { 0.2 * rng.normal() };
        let mut camera = Camera::looking(eye, target, roll, focal_px, [size, size]);
        camera.k1 = if rng.chance(0.3) { rng.between(-0.12, 0.03) } else { 0.0 };
        for k in 1..count {
            // Beside, behind or before.
            let apart = rng.between(0.35, 1.1) * if rng.chance(0.5) { 1.0 } else { -1.0 };
            let depth = rng.between(-1.2, 0.5).min(distance - 1.2);
            self.figures[k].shift(vec3(apart, 0.0, depth));
        }
        for (k, seat) in seats {
            if seat > 0.15 {
                let f = &self.figures[k];
                let hips = (f.joints[11] + f.joints[12]) * 0.5;
                let knees = (f.joints[13] + f.joints[14]) * 0.5;
                let behind = (hips - knees).flat().unit();
                let at = hips.flat() + behind * 0.06;
                let half = vec3(rng.between(0.2, 0.5), seat.min(f.blobs[2].0.y), rng.between(0.18, 0.26));
                let turn = crate::math::atan2(behind.x, behind.z);
                place.add(Place::furniture(at, half, turn, rng));
            }
        }
        if rng.chance(wanted.occluders) {
            let toward = eye.flat() * rng.between(0.2, 0.45) + vec3(rng.between(-0.5, 0.5), 0.0, 0.0);
            let post = rng.chance(0.3);
            let half = if post {
                vec3(rng.between(0.03, 0.1), rng.between(1.2, 2.6), rng.between(0.03, 0.1))
            } else {
                vec3(
                    rng.between(0.2, 0.8),
                    rng.between(0.3, 0.9) * (extent / 1.6).min(1.0),
                    rng.between(0.15, 0.35),
                )
            };
            place.add(Place::furniture(toward, half, rng.between(-0.6, 0.6), rng));
        }
        let inside = |p: &&Vec3| {
            let c = camera.see(**p);
            let [x, y] = camera.project(c);
            let side = 0.0..size as f32;
            c.z > 0.05 && side.contains(&x) && side.contains(&y)
        };
        if !any && self.figures[0].joints.iter().filter(inside).count() < LEAST_SEEN {
            return None;
        }
        let light = place.light(rng);
        let cast: Vec<(&Person, &Figure)> = people.iter().map(AsRef::as_ref).zip(&self.figures).collect();
        self.renderer.set(&camera, &light, &cast);
        let hides = |x: usize, y: usize, near: f32| self.renderer.hides(x, y, near);
        self.backdrop.draw_behind(&camera, &light, &place, hides);
        self.renderer.finish(&camera, &light, &self.backdrop, &cast);
        let seen = self.renderer.truth[0].joints.iter().filter(|j| j.is_seen).count();
        if !any && seen < LEAST_SEEN {
            return None;
        }
        let damage = if wanted.damage { Damage::draw(rng) } else { Damage::none() };
        // The next picture has a backdrop of its own: what optics change here is not seen again.
        damage.optics(&mut self.renderer.picture, size, size);
        let gain = damage.auto_exposure(&self.renderer.picture);
        let mut rgb = Vec::new();
        let tone = &self.tones[(damage.contrast * 2.99) as usize];
        self.renderer.bytes(tone, gain, &mut rgb);
        damage.electronics(&mut rgb, size, size, rng);
        let truth = self.renderer.truth.clone();
        Some(Shot { rgb, truth, camera, quality: damage.quality })
    }
}
