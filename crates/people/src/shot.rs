//! One picture for training: somebody in a pose in a place, others about, things before them, a camera anywhere.

mod photo;
mod scene;
mod staging;

use std::{collections::BTreeSet, rc::Rc};

pub use photo::Photo;
use pose::Joint;
use scene::{Framing, Scene};

use crate::{
    asset::Asset,
    backdrop::Backdrop,
    body::{Body, Posed},
    camera::Camera,
    damage::Damage,
    light::{Light, Tone},
    math::{TAU, Vec3, vec3, yaw},
    motion::{
        self, Motion, PoseChoice,
        joint::{L_ANKLE, NECK, PELVIS, R_ANKLE},
    },
    person::{Figure, Person},
    posing::{Ground, Habit, follow},
    render::{Renderer, Truth},
    rng::Rng,
    stance::{self, clash_m},
    wear::{Outfit, Template},
};

/// What is asked of pictures.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// Side of the square picture, pixels.
    pub size: usize,
    /// Share of pictures with more than one person.
    pub company: f32,
    /// Most people in one, 2 to 8; above 3 they stand about in a wider picture, as a finder of persons meets them.
    pub crowd: usize,
    /// Share of pictures with something before the person.
    pub occluders: f32,
    /// Marks of cheap cameras.
    pub damage: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { size: 192, company: 0.25, crowd: USUAL, occluders: 0.25, damage: true }
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
    /// Photographs whose cloth is worn by somebody in it: their places in [`Material::cloth`], in order.
    pub cloth: Vec<usize>,
}

/// Photographs that a picture may be made with.
#[derive(Debug, Clone, Copy, Default)]
pub struct Material<'a> {
    /// Seen behind everybody.
    pub behind: Option<&'a Photo>,
    /// What cloth is cut from; the same for all pictures of a [group](GROUP).
    pub cloth: &'a [Photo],
    /// Share of garments that are.
    pub cloth_share: f32,
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

/// Changes whenever the same seed gives other pictures or labels: a set is not gone on with by what would make it otherwise.
pub const LOOK: u32 = 5;

/// Joints of the first person that are seen in every picture that can have them.
const MIN_SEEN: usize = 6;
const LAST_ATTEMPT: u64 = 5;

/// Most people in a picture that is about one of them.
const USUAL: usize = 3;

/// Most people in any picture.
pub const MAX_CROWD: usize = 8;

/// Poses that are tried for one in which nobody lies in itself or would fall.
const POSES: usize = 6;

/// Capsules are not bodies: so deep they may lie in each other, metres.
const DEEP_M: f32 = 0.02;

/// So far from what carries it the weight may lie, metres: feet are long, and who walks falls a little.
const REACH_M: f32 = 0.3;

/// Hips less than this above the knees sit.
const SEATED_M: f32 = 0.2;

/// Knees of who sits in a skirt are no farther out than so, metres a metre ahead.
const SKIRT_SPREAD: f32 = 0.22;

/// Sets the streams of random numbers that people are drawn from apart from the pictures'.
const CAST: u64 = 0x7065_6f70_6c65;

/// The same for their cloth.
const CLOTH: u64 = 0x0063_6c6f_7468;

/// Pictures that the same dressed people are in, each time in other poses, places and light: dressing takes as long as drawing.
pub const GROUP: u64 = 4;

/// The number of the person `k` of a group of pictures: nobody else has it. Those that only crowds have are numbered apart, so that the others are
/// who they are whatever crowds are asked for.
fn own_number(group: u64, k: usize) -> u64 {
    const OF_CROWDS: u64 = 1 << 63;
    let (usual, k) = (USUAL as u64, k as u64);
    if k < usual { group * usual + k } else { OF_CROWDS + group * (MAX_CROWD as u64 - usual) + (k - usual) }
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
            wardrobe: Vec::new(),
            of_group: None,
        }
    }

    /// The picture `index` of `seed`. At least six joints of the first person are seen.
    pub fn shot(&mut self, wanted: &Wanted, seed: u64, index: u64) -> Shot {
        self.shot_with(wanted, &Material::default(), seed, index)
    }

    /// The same with photographs.
    pub fn shot_with(&mut self, wanted: &Wanted, material: &Material, seed: u64, index: u64) -> Shot {
        let group = Some((seed, index / GROUP));
        if self.of_group != group {
            self.wardrobe.clear();
            self.of_group = group;
        }
        for attempt in 0.. {
            let mut rng = Rng::new(seed ^ (attempt << 48), index);
            if let Some(shot) = self.try_shot(wanted, material, attempt == LAST_ATTEMPT, &mut rng) {
                return shot;
            }
        }
        unreachable!("the last attempt is taken")
    }

    /// The person `k` of the group, dressed when first asked for.
    fn dressed(&mut self, k: usize, material: &Material) -> Rc<Person> {
        while self.wardrobe.len() <= k {
            let (seed, group) = self.of_group.unwrap_or_default();
            let own = own_number(group, self.wardrobe.len());
            let mut rng = Rng::new(seed ^ CAST, own);
            let body = Body::sampled(self.asset, rng.below(self.asset.bodies()));
            let mut outfit = Outfit::draw(&body.traits, &mut rng);
            let mut swatches = Vec::new();
            if !material.cloth.is_empty() {
                let mut rng = Rng::new(seed ^ CLOTH, own);
                let are = outfit.printed(material.cloth_share, &mut rng);
                // Numbers are garments': who wears none of the first still has one.
                let most = are.iter().rposition(|&is| is).map_or(0, |last| last + 1);
                swatches.extend((0..most).map(|_| {
                    let photo = rng.below(material.cloth.len());
                    material.cloth[photo].swatch(photo, &mut rng)
                }));
            }
            let person = Person::new(self.asset, self.template, body, &outfit);
            self.wardrobe.push(Rc::new(Person { swatches, ..person }));
        }
        self.wardrobe[k].clone()
    }

    fn somebody(&mut self, k: usize, material: &Material, rng: &mut Rng) -> (Rc<Person>, f32) {
        let person = self.dressed(k, material);
        let more = match self.more {
            Some(m) if rng.chance(0.7) => m,
            _ => &self.asset.clips,
        };
        let choice = PoseChoice { seated: if k == 0 { 0.13 } else { 0.05 }, ..PoseChoice::default() };
        let spread = if person.wears_skirt() { SKIRT_SPREAD } else { f32::MAX };
        let choice = PoseChoice { spread, ..choice };
        let mut best: Option<(f32, f32, Vec<Posed>)> = None;
        for _ in 0..POSES {
            let p = motion::draw(&self.asset.stills, more, choice, rng);
            let low = p[L_ANKLE].y.min(p[R_ANKLE].y);
            let upright = (p[NECK] - p[PELVIS]).unit().y > 0.5 && p[PELVIS].y - low > 0.35;
            let ground = if upright { Ground::Recorded(low) } else { Ground::Free };
            let habit = Habit::draw(rng, 1.0);
            let posed = follow(self.asset, &self.template.bones, &person.body, &p, ground, &habit);
            let (joints, height_m) = (person.body.posed_joints(self.asset, &posed), person.body.height_m);
            let low = joints.iter().map(|j| j.y).fold(f32::MAX, f32::min);
            let hips_m = stance::middle(&joints, Joint::HIPS).y;
            let sits = hips_m - low > 0.3 && hips_m - stance::middle(&joints, Joint::KNEES).y < SEATED_M;
            let (deep_m, beside_m) =
                (clash_m(&joints, height_m), stance::beside_m(&joints, height_m, sits) - REACH_M);
            let wrong = deep_m.max(0.0) + 0.3 * beside_m.max(0.0);
            if best.as_ref().is_none_or(|b| wrong < b.0) {
                best = Some((wrong, beside_m, posed));
            }
            if deep_m < DEEP_M && beside_m < 0.0 {
                break;
            }
        }
        let (_, beside_m, mut posed) = best.expect("one pose at least");
        // What nothing carries is in the air.
        let jump_m = if beside_m > 0.0 { rng.between(0.1, 0.5) } else { 0.0 };
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
        figure.shift(vec3(-middle.x, jump_m - figure.low.y, -middle.z));
        let hips = stance::middle(&figure.joints, Joint::HIPS);
        let knees = stance::middle(&figure.joints, Joint::KNEES).y;
        // Sits in the air: wants a seat of that height.
        let seat =
            if jump_m == 0.0 && hips.y > 0.3 && hips.y - knees < SEATED_M { hips.y - 0.11 } else { 0.0 };
        (person, seat)
    }

    /// A picture, or none where too little of the first person would be seen of it and it is not `any` that will do.
    fn try_shot(&mut self, wanted: &Wanted, material: &Material, any: bool, rng: &mut Rng) -> Option<Shot> {
        let size = wanted.size;
        let (mut people, seats) = self.cast(wanted, material, rng);
        let kind = rng.unit();
        let framing = Framing::draw(&self.figures[0], wanted, rng);
        let mut scene = Scene::draw(kind, &framing, &self.figures[0], material.behind, size, rng);
        let camera = framing.camera(&scene.place, size, rng);
        self.stand_apart(&mut people, &framing, scene.deep_m, rng);
        self.furnish(&mut scene.place, &people, &seats, rng);
        if rng.chance(wanted.occluders) {
            self.occlude(&mut scene.place, &people, &framing, camera.eye, rng);
        }
        if !any && self.inside(&camera) < MIN_SEEN {
            return None;
        }
        let damage = if wanted.damage { Damage::draw(rng) } else { Damage::none() };
        let mut light = scene.light(rng);
        if damage.infrared {
            light = framing.lamp(camera.eye);
        }
        self.render(&camera, &light, &scene, &people);
        let seen = self.renderer.truth[0].joints.iter().filter(|j| j.is_seen).count();
        if !any && seen < MIN_SEEN {
            return None;
        }
        let rgb = self.develop(&camera, &damage, framing.distance_m, rng);
        let truth = self.renderer.truth.clone();
        let worn = people.iter().flat_map(|p| p.photos_worn()).collect::<BTreeSet<_>>();
        Some(Shot { rgb, truth, camera, quality: damage.quality, cloth: worn.into_iter().collect() })
    }

    /// Who is in it, each in a pose at the origin, and how high the seat is that each wants.
    fn cast(&mut self, wanted: &Wanted, material: &Material, rng: &mut Rng) -> (Vec<Rc<Person>>, Vec<f32>) {
        let count =
            if rng.chance(wanted.company) { 2 + rng.below(wanted.crowd.clamp(2, MAX_CROWD) - 1) } else { 1 };
        (0..count).map(|k| self.somebody(k, material, rng)).unzip()
    }

    /// Joints of the first person that lie in the picture, before the lens.
    fn inside(&self, camera: &Camera) -> usize {
        let inside = |p: &&Vec3| {
            let c = camera.see(**p);
            let [x, y] = camera.project(c);
            let side = 0.0..camera.size[0] as f32;
            c.z > 0.05 && side.contains(&x) && side.contains(&y)
        };
        self.figures[0].joints.iter().filter(inside).count()
    }

    fn render(&mut self, camera: &Camera, light: &Light, scene: &Scene, people: &[Rc<Person>]) {
        let cast: Vec<(&Person, &Figure)> = people.iter().map(AsRef::as_ref).zip(&self.figures).collect();
        self.renderer.set(camera, light, &cast);
        let hides = |x: usize, y: usize, near: f32| self.renderer.hides(x, y, near);
        self.backdrop.draw_behind(camera, light, &scene.place, scene.photo.as_deref(), hides);
        self.renderer.finish(camera, light, &self.backdrop, &cast);
    }

    /// What the camera makes of the light: bytes, with its marks.
    fn develop(&mut self, camera: &Camera, damage: &Damage, distance_m: f32, rng: &mut Rng) -> Vec<u8> {
        let [size, _] = camera.size;
        if damage.infrared {
            self.renderer.dim(camera, &self.backdrop, distance_m);
        }
        if damage.roll != 0.0 {
            self.renderer.shift_rows(size, |y_px| damage.shifted_px(y_px, size));
        }
        // The next picture has a backdrop of its own: what optics change here is not seen again.
        damage.optics(&mut self.renderer.picture, size, size);
        let gain = damage.auto_exposure(&self.renderer.picture);
        let mut rgb = Vec::new();
        let tone = &self.tones[(damage.contrast * 2.99) as usize];
        self.renderer.bytes(tone, gain, &mut rgb);
        damage.electronics(&mut rgb, size, size, rng);
        rgb
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_in_two_groups_of_pictures() {
        let numbers: Vec<u64> =
            (0..50).flat_map(|group| (0..MAX_CROWD).map(move |k| own_number(group, k))).collect();
        assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len());
        // Published figures rest on who these are.
        assert_eq!([own_number(0, 0), own_number(0, 2), own_number(7, 1)], [0, 2, 22]);
    }
}
