//! One picture for training: somebody in a pose in a place, others about, things before them, a camera anywhere.

use crate::{
    asset::Asset,
    backdrop::{Backdrop, Place},
    body::Body,
    camera::Camera,
    damage::Damage,
    light::Tone,
    math::{TAU, mix, vec3, yaw},
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
}

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
        }
    }

    /// The picture `index` of `seed`. At least six joints of the first person are seen.
    pub fn shot(&mut self, wanted: &Wanted, seed: u64, index: u64) -> Shot {
        for attempt in 0.. {
            let mut rng = Rng::new(seed ^ (attempt << 48), index);
            let shot = self.try_shot(wanted, &mut rng);
            let seen = shot.truth[0].joints.iter().filter(|j| j.is_seen).count();
            if seen >= 6 || attempt == 5 {
                return shot;
            }
        }
        unreachable!("the sixth attempt is taken")
    }

    fn somebody(&mut self, k: usize, rng: &mut Rng) -> (Person, f32) {
        let body = Body::sampled(self.asset, rng.below(self.asset.bodies()));
        let outfit = Outfit::draw(&body.traits, rng);
        let person = Person::new(self.asset, self.template, body, &outfit);
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

    fn try_shot(&mut self, wanted: &Wanted, rng: &mut Rng) -> Shot {
        let size = wanted.size;
        let count = if rng.chance(wanted.company) { 2 + rng.below(2) } else { 1 };
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
        let light = place.light(rng);
        self.backdrop.draw(&camera, &light, &place);
        let cast: Vec<(&Person, &Figure)> = people.iter().zip(&self.figures).collect();
        self.renderer.draw(&camera, &light, &self.backdrop, &cast);
        let damage = if wanted.damage { Damage::draw(rng) } else { Damage::none() };
        // The next picture has a backdrop of its own: what optics change here is not seen again.
        damage.optics(&mut self.renderer.picture, size, size);
        let gain = damage.auto_exposure(&self.renderer.picture);
        let mut rgb = Vec::new();
        let tone = &self.tones[(damage.contrast * 2.99) as usize];
        self.renderer.bytes(tone, gain, &mut rgb);
        damage.electronics(&mut rgb, size, size, rng);
        let truth = self.renderer.truth.clone();
        Shot { rgb, truth, camera, quality: damage.quality }
    }
}
