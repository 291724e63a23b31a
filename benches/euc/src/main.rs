//! The same people, posed and dressed, as a grid of which triangle each sample shows: by the rasteriser of `crates/people` and by
//! euc, a kept one. Prints the time of each and on how many samples they agree.
//!
//!     cargo run --release --manifest-path benches/euc/Cargo.toml --target-dir target/euc

use std::time::Instant;

use euc::{Interpolate, Pipeline, buffer::Buffer2d, rasterizer};
use people::{
    asset::Asset,
    body::Body,
    camera::Camera,
    math::vec3,
    motion::{PoseChoice, draw},
    person::{Figure, Person},
    posing::{Ground, Habit, follow},
    raster::{NOTHING, Samples, Spot},
    rng::Rng,
    wear::{Outfit, Template},
};

const PEOPLE: usize = 40;
/// Samples along a side: a picture of 192 pixels with four samples each.
const SIDE: usize = 384;
const ROUNDS: usize = 15;

/// euc interpolates whatever vertices give; a number of a triangle stays what it is.
#[derive(Clone)]
struct Id(u32);

impl Interpolate for Id {
    fn lerp2(a: Self, _: Self, _: f32, _: f32) -> Self {
        a
    }
    fn lerp3(a: Self, _: Self, _: Self, _: f32, _: f32, _: f32) -> Self {
        a
    }
}

struct Draw;

impl Pipeline for Draw {
    type Vertex = ([f32; 4], u32);
    type VsOut = Id;
    type Pixel = u32;

    #[inline(always)]
    fn vert(&self, vertex: &Self::Vertex) -> ([f32; 4], Id) {
        (vertex.0, Id(vertex.1))
    }

    #[inline(always)]
    fn frag(&self, id: &Id) -> u32 {
        id.0
    }
}

struct Mesh {
    spots: Vec<Spot>,
    triangles: Vec<[u16; 3]>,
    two_sided: bool,
    /// The same for euc: three vertices a triangle, in its clip space.
    clip: Vec<([f32; 4], u32)>,
}

fn meshes(k: usize, rng: &mut Rng) -> Vec<Mesh> {
    let (asset, template) = (Asset::embedded(), Template::embedded());
    let body = Body::sampled(asset, rng.below(asset.bodies()));
    let outfit = Outfit::draw(&body.traits, rng);
    let person = Person::new(asset, template, body, &outfit);
    let p = draw(&asset.stills, &asset.clips, PoseChoice::default(), rng);
    let posed = follow(asset, &template.bones, &person.body, &p, Ground::Free, &Habit::draw(rng, 1.0));
    let mut figure = Figure::default();
    figure.pose(asset, template, &person, &posed);
    let middle = (figure.low + figure.high) * 0.5;
    let eye = middle + vec3(0.3 * (k % 3) as f32, 0.4, 3.0);
    let camera = Camera::looking(eye, middle, 0.0, 270.0, [SIDE / 2, SIDE / 2]);
    let layers = person.layers.iter().enumerate();
    let meshes = layers.map(|(mesh, layer)| {
        let spots: Vec<Spot> = figure.points[mesh].iter().map(|&p| camera.spot(p, 2.0)).collect();
        let half = SIDE as f32 / 2.0;
        let place = |s: &Spot| [s.x / half - 1.0, 1.0 - s.y / half, 1.0 - 0.5 * s.w, 1.0];
        let clip = layer
            .triangles
            .iter()
            .enumerate()
            .flat_map(|(k, t)| t.map(|v| (place(&spots[usize::from(v)]), Samples::index(mesh, k))))
            .collect();
        Mesh { spots, triangles: layer.triangles.clone(), two_sided: layer.two_sided, clip }
    });
    meshes.collect()
}

fn own(samples: &mut Samples, meshes: &[Mesh]) {
    samples.clear([0, 0, SIDE, SIDE]);
    for (k, mesh) in meshes.iter().enumerate() {
        // Outlines cut within triangles are left out: euc has none.
        samples.draw(k, &mesh.spots, &mesh.triangles, &[], mesh.two_sided);
    }
}

fn peer(ids: &mut Buffer2d<u32>, depth: &mut Buffer2d<f32>, meshes: &[Mesh]) {
    type OneSided<'a> = rasterizer::Triangles<'a, Buffer2d<f32>>;
    type TwoSided<'a> = rasterizer::Triangles<'a, Buffer2d<f32>, rasterizer::BackfaceCullingDisabled>;
    use euc::Target;
    ids.clear(NOTHING);
    depth.clear(1.0);
    for mesh in meshes {
        if mesh.two_sided {
            Draw.draw::<TwoSided<'_>, _>(&mesh.clip, ids, Some(depth));
        } else {
            Draw.draw::<OneSided<'_>, _>(&mesh.clip, ids, Some(depth));
        }
    }
}

fn main() {
    let mut rng = Rng::new(1, 1);
    let people: Vec<Vec<Mesh>> = (0..PEOPLE).map(|k| meshes(k, &mut rng)).collect();
    let mut samples = Samples::default();
    let (mut ids, mut depth) = (Buffer2d::new([SIDE; 2], NOTHING), Buffer2d::new([SIDE; 2], 1.0));
    let (mut same, mut either) = (0, 0);
    for meshes in &people {
        own(&mut samples, meshes);
        peer(&mut ids, &mut depth, meshes);
        for (a, b) in samples.shown.iter().zip(ids.as_ref()) {
            either += usize::from(*a != NOTHING || *b != NOTHING);
            same += usize::from(*a != NOTHING && a == b);
        }
    }
    // In turn, the least of some: other work on the machine only adds.
    let mut least = [f64::MAX; 2];
    for _ in 0..ROUNDS {
        let start = Instant::now();
        people.iter().for_each(|meshes| own(&mut samples, meshes));
        least[0] = least[0].min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        people.iter().for_each(|meshes| peer(&mut ids, &mut depth, meshes));
        least[1] = least[1].min(start.elapsed().as_secs_f64());
    }
    let triangles: usize = people.iter().flatten().map(|m| m.triangles.len()).sum();
    println!("{PEOPLE} people, {} triangles each, {SIDE} x {SIDE} samples", triangles / PEOPLE);
    for (name, seconds) in ["crates/people", "euc 0.5.3"].iter().zip(least) {
        println!("{name}: {:.2} ms a person", 1e3 * seconds / PEOPLE as f64);
    }
    println!("{:.1} % of {either} covered samples show the same triangle", 100.0 * same as f64 / either as f64);
}
