//! One picture for training: somebody in a pose in a place, others about, things before them, a camera anywhere.

mod photo;

use std::{collections::BTreeSet, rc::Rc};

pub use photo::Photo;

use crate::{
    asset::Asset,
    backdrop::{Backdrop, Piece, Place},
    body::{Body, Posed},
    camera::Camera,
    damage::Damage,
    light::{Light, Tone},
    math::{TAU, Vec3, mix, vec3, yaw},
    motion::{
        self, Motion, PoseChoice,
        joint::{L_ANKLE, NECK, PELVIS, R_ANKLE},
    },
    person::{Figure, Person},
    posing::{Ground, Habit, follow},
    render::{Renderer, Truth},
    rng::Rng,
    stance::{self, clash_m, crash_m},
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
pub const LOOK: u32 = 4;

/// Joints of the first person that are seen in every picture that can have them.
const LEAST_SEEN: usize = 6;
const LAST_ATTEMPT: u64 = 5;

/// Most people in a picture that is about one of them.
const USUAL: usize = 3;

/// Most people in any picture.
pub const MOST: usize = 8;

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

/// Places that are tried for somebody else, or something, to stand free of people.
const PLACES: usize = 8;

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
    if k < usual { group * usual + k } else { OF_CROWDS + group * (MOST as u64 - usual) + (k - usual) }
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
            let hips_m = (joints[11].y + joints[12].y) * 0.5;
            let sits = hips_m - low > 0.3 && hips_m - (joints[13].y + joints[14].y) * 0.5 < SEATED_M;
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
        let hips = (figure.joints[11] + figure.joints[12]) * 0.5;
        let knees = (figure.joints[13].y + figure.joints[14].y) * 0.5;
        // Sits in the air: wants a seat of that height.
        let seat =
            if jump_m == 0.0 && hips.y > 0.3 && hips.y - knees < SEATED_M { hips.y - 0.11 } else { 0.0 };
        (person, seat)
    }

    /// A picture, or none where too little of the first person would be seen of it and it is not `any` that will do.
    fn try_shot(&mut self, wanted: &Wanted, material: &Material, any: bool, rng: &mut Rng) -> Option<Shot> {
        let size = wanted.size;
        let count =
            if rng.chance(wanted.company) { 2 + rng.below(wanted.crowd.clamp(2, MOST) - 1) } else { 1 };
        let is_crowd = wanted.crowd > USUAL;
        let mut people = Vec::new();
        let mut seats = Vec::new();
        for k in 0..count {
            let (person, seat) = self.somebody(k, material, rng);
            seats.push((k, seat));
            people.push(person);
        }
        let kind = rng.unit();
        let (low, high) = (self.figures[0].low, self.figures[0].high);
        let extent = (high.y - low.y).max(high.x - low.x).max(0.8);
        // Field of view over the picture's side; a long lens is far away.
        let view = mix(0.28, 1.15, rng.unit() * rng.unit());
        let fills = rng.between(0.5, 1.05) * if is_crowd { rng.between(0.3, 0.8) } else { 1.0 };
        let distance = (extent / fills / view).max(1.1);
        let focal_px = size as f32 / view;
        let wide = distance.max(2.0) + rng.between(0.3, 2.0);
        let mut deep = 3.0;
        let photo = material.behind.map(|p| p.part(size, rng));
        let mut place = if photo.is_some() {
            Place::bare(rng)
        } else if kind < 0.5 {
            deep = rng.between(0.8, 3.0).max(0.15 - low.z);
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
            // Beside, behind or before; never in the wall behind, nor in anybody.
            let (beside, behind) = if is_crowd { (0.35 / fills, -0.6 * count as f32) } else { (0.0, -1.2) };
            let far = behind.max(0.1 - deep - self.figures[k].low.z).min(0.0);
            let spot = (0..PLACES).find_map(|_| {
                let apart = rng.between(0.35, 1.1 + beside) * if rng.chance(0.5) { 1.0 } else { -1.0 };
                let spot = vec3(apart, 0.0, rng.between(far, 0.5).min(distance - 1.2));
                let moved = self.figures[k].joints.map(|j| j + spot);
                let free = |i: usize| {
                    let (one, other) = (people[i].body.height_m, people[k].body.height_m);
                    crash_m((&self.figures[i].joints, one), (&moved, other)) < DEEP_M
                };
                (0..k).all(free).then_some(spot)
            });
            match spot {
                Some(spot) => self.figures[k].shift(spot),
                // No place is free: whoever is left has come alone.
                None => {
                    people.truncate(k);
                    seats.truncate(k);
                    break;
                }
            }
        }
        let heights: Vec<f32> = people.iter().map(|p| p.body.height_m).collect();
        let stands_free = |figures: &[Figure], piece: &Piece| {
            figures.iter().zip(&heights).all(|(f, &height_m)| {
                let half = [piece.size.x, piece.size.z];
                stance::reaches_into_m(&f.joints, height_m, piece.at, half, piece.turn, piece.size.y) < DEEP_M
            })
        };
        place.retain(|piece| stands_free(&self.figures, piece));
        for (k, seat) in seats {
            if seat > 0.15 {
                let f = &self.figures[k];
                let hips = (f.joints[11] + f.joints[12]) * 0.5;
                let knees = (f.joints[13] + f.joints[14]) * 0.5;
                let behind = (hips - knees).flat().unit();
                let at = hips.flat() + behind * 0.06;
                let half = vec3(rng.between(0.2, 0.5), seat.min(f.blobs[2].0.y), rng.between(0.18, 0.26));
                let turn = crate::math::atan2(behind.x, behind.z);
                let mut piece = Place::furniture(at, half, turn, rng);
                // Smaller and farther back where legs are in its way.
                for _ in 0..3 {
                    if stands_free(&self.figures, &piece) {
                        break;
                    }
                    (piece.size.x, piece.size.z) = (piece.size.x * 0.75, piece.size.z * 0.9);
                    piece.at += behind * 0.03;
                }
                place.add(piece);
            }
        }
        if rng.chance(wanted.occluders) {
            for _ in 0..PLACES {
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
                let piece = Place::furniture(toward, half, rng.between(-0.6, 0.6), rng);
                if stands_free(&self.figures, &piece) {
                    place.add(piece);
                    break;
                }
            }
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
        let damage = if wanted.damage { Damage::draw(rng) } else { Damage::none() };
        let mut light = place.light(rng);
        if let Some(photo) = &photo {
            // As bright as where they seem to stand.
            let gain = (photo::brightness(photo) / 0.22).clamp(0.15, 2.5);
            (light.key, light.sky, light.ground) = (light.key * gain, light.sky * gain, light.ground * gain);
        }
        if damage.infrared {
            // A lamp beside the lens, and hardly anything else.
            let middle = vec3(0.0, 0.5 * (low.y + high.y), 0.0);
            let beside = vec3(0.05, 0.05, 0.0);
            light = Light {
                towards: (eye + beside - middle).unit(),
                key: vec3(1.6, 1.6, 1.6),
                sky: vec3(0.06, 0.06, 0.06),
                ground: vec3(0.04, 0.04, 0.04),
                softness: 0.01,
            };
        }
        let cast: Vec<(&Person, &Figure)> = people.iter().map(AsRef::as_ref).zip(&self.figures).collect();
        self.renderer.set(&camera, &light, &cast);
        let hides = |x: usize, y: usize, near: f32| self.renderer.hides(x, y, near);
        self.backdrop.draw_behind(&camera, &light, &place, photo.as_deref(), hides);
        self.renderer.finish(&camera, &light, &self.backdrop, &cast);
        let seen = self.renderer.truth[0].joints.iter().filter(|j| j.is_seen).count();
        if !any && seen < LEAST_SEEN {
            return None;
        }
        if damage.infrared {
            self.renderer.dim(&camera, &self.backdrop, distance);
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
        let truth = self.renderer.truth.clone();
        let worn = people.iter().flat_map(|p| p.photos_worn()).collect::<BTreeSet<_>>();
        Some(Shot { rgb, truth, camera, quality: damage.quality, cloth: worn.into_iter().collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_in_two_groups_of_pictures() {
        let numbers: Vec<u64> =
            (0..50).flat_map(|group| (0..MOST).map(move |k| own_number(group, k))).collect();
        assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len());
        // Published figures rest on who these are.
        assert_eq!([own_number(0, 0), own_number(0, 2), own_number(7, 1)], [0, 2, 22]);
    }
}
