//! Draws dressed and posed people before a backdrop, and says what is seen of whom.

mod shade;
mod truth;

pub use truth::{JointTruth, Truth};

use crate::{
    backdrop::Backdrop,
    camera::Camera,
    light::{Light, Shadow, Tone},
    math::{Vec3, vec3},
    person::{Figure, Person},
    raster::{NOTHING, Samples, Spot, shares},
};
use shade::shade;

/// Larger pictures, pixels, have one sample a pixel instead of four: their edges are fine enough.
const COARSE_FROM_PX: usize = 1 << 20;

/// Scratch that is kept from picture to picture.
#[derive(Debug, Default)]
pub struct Renderer {
    samples: Samples,
    /// Samples along a side of a pixel.
    fine: usize,
    spots: Vec<Vec<Spot>>,
    shadows: Vec<Shadow>,
    /// Whose layer each mesh is.
    of_mesh: Vec<(usize, usize)>,
    /// Where people may be seen: left, top, right, bottom, pixels.
    covered: [usize; 4],
    /// What of the picture is there: left, top, right, bottom.
    region: [usize; 4],
    /// Linear red, green, blue of the region, row by row.
    pub picture: Vec<Vec3>,
    /// Persons' truth, in their order.
    pub truth: Vec<Truth>,
}

impl Renderer {
    /// Draws everybody and what is behind them into [`picture`](Self::picture) and fills [`truth`](Self::truth).
    pub fn draw(
        &mut self,
        camera: &Camera,
        light: &Light,
        backdrop: &Backdrop,
        people: &[(&Person, &Figure)],
    ) {
        self.set(camera, light, people);
        self.finish(camera, light, backdrop, people);
    }

    /// The first half of [`draw`](Self::draw): who may be seen where. What is wholly [hidden](Self::hides) of the backdrop need
    /// not be drawn then.
    pub fn set(&mut self, camera: &Camera, light: &Light, people: &[(&Person, &Figure)]) {
        self.start(light, people);
        self.region = [0, 0, camera.size[0], camera.size[1]];
        self.rasterise(camera, people);
    }

    /// The other half.
    pub fn finish(
        &mut self,
        camera: &Camera,
        light: &Light,
        backdrop: &Backdrop,
        people: &[(&Person, &Figure)],
    ) {
        self.picture.clear();
        let [left, top, right, bottom] = self.region;
        for y in top..bottom {
            let row = y * camera.size[0];
            self.picture.extend((row + left..row + right).map(|at| backdrop.lit(at)));
        }
        self.compose(camera, light, backdrop, people);
        for (i, (_, figure)) in people.iter().enumerate() {
            self.see_joints(camera, backdrop, i, figure);
        }
    }

    /// Whether people hide all of a pixel of something that is `near` (the inverse of its distance).
    pub fn hides(&self, x: usize, y: usize, near: f32) -> bool {
        let (x, y) = (self.fine * x, self.fine * y);
        let last = self.fine - 1;
        let hidden = |dx: usize, dy: usize| {
            self.samples.at(x + dx, y + dy).is_some_and(|s| self.samples.near[s] > near)
        };
        hidden(0, 0) && hidden(last, 0) && hidden(0, last) && hidden(last, last)
    }

    /// The same as [`draw`](Self::draw), of the [`region`](Self::region) alone where people and their shadows may be: elsewhere
    /// the picture shows the backdrop. A film's memory and time are then its people's, not the room's.
    pub fn draw_people(
        &mut self,
        camera: &Camera,
        light: &Light,
        backdrop: &Backdrop,
        people: &[(&Person, &Figure)],
    ) {
        self.start(light, people);
        let [width, height] = camera.size;
        self.region = [width, height, 0, 0];
        for ((_, figure), shadow) in people.iter().zip(&self.shadows) {
            let [low, high] = around(shadow);
            let all = join(extent(camera, figure.low, figure.high), extent(camera, low, high));
            self.region = join(self.region, all);
        }
        self.rasterise(camera, people);
        self.finish(camera, light, backdrop, people);
    }

    fn start(&mut self, light: &Light, people: &[(&Person, &Figure)]) {
        self.shadows.resize_with(people.len().max(self.shadows.len()), Shadow::default);
        for ((_, figure), shadow) in people.iter().zip(&mut self.shadows) {
            shadow.start(light, figure.low, figure.high);
        }
        self.truth.clear();
        self.truth.resize(people.len(), Truth::default());
    }

    fn rasterise(&mut self, camera: &Camera, people: &[(&Person, &Figure)]) {
        let [width, height] = camera.size;
        self.fine = if width * height > COARSE_FROM_PX { 1 } else { 2 };
        let extents = people.iter().map(|(_, f)| extent(camera, f.low, f.high));
        self.covered = extents.fold([width, height, 0, 0], join);
        self.samples.clear(self.covered.map(|v| v * self.fine));
        self.of_mesh.clear();
        for (i, (person, figure)) in people.iter().enumerate() {
            let shadow = &mut self.shadows[i];
            for (k, layer) in person.layers.iter().enumerate() {
                let mesh = self.of_mesh.len();
                self.of_mesh.push((i, k));
                if self.spots.len() <= mesh {
                    self.spots.push(Vec::new());
                }
                let spots = &mut self.spots[mesh];
                spots.clear();
                spots.extend(figure.points[k].iter().map(|&p| camera.spot(p, self.fine as f32)));
                self.samples.draw(mesh, spots, &layer.triangles, &layer.cut, layer.two_sided);
                shadow.draw(&figure.points[k], &layer.triangles, &layer.cut);
            }
            shadow.finish();
        }
    }

    /// Dims a whole picture by the square of the distance from the camera, as a lamp on the camera does: what is `at_m` away keeps its
    /// light.
    pub fn dim(&mut self, camera: &Camera, backdrop: &Backdrop, at_m: f32) {
        let width = camera.size[0];
        for (at, p) in self.picture.iter_mut().enumerate() {
            let (x, y) = (at % width, at / width);
            let shown = self.samples.at(self.fine * x, self.fine * y).map_or(0.0, |s| self.samples.near[s]);
            let near = shown.max(backdrop.near_at(at, 0)) * at_m;
            *p = *p * (near * near).min(4.0);
        }
    }

    /// Where a pixel of the region is in [`picture`](Self::picture).
    fn place(&self, x: usize, y: usize) -> usize {
        let [left, top, right, _] = self.region;
        (y - top) * (right - left) + x - left
    }

    fn compose(
        &mut self,
        camera: &Camera,
        light: &Light,
        backdrop: &Backdrop,
        people: &[(&Person, &Figure)],
    ) {
        let [left, top, right, bottom] = self.covered;
        let width = camera.size[0];
        for (i, (_, figure)) in people.iter().enumerate() {
            self.cast(camera, light, backdrop, i, figure);
        }
        let mut boxes = vec![[usize::MAX, usize::MAX, 0, 0]; people.len()];
        let fine = self.samples.width;
        let [origin_x, origin_y] = self.samples.origin;
        let count = self.fine * self.fine;
        let weight = 1.0 / count as f32;
        for y in top..bottom {
            for x in left..right {
                let first = (self.fine * y - origin_y) * fine + self.fine * x - origin_x;
                let four =
                    if count == 4 { [first, first + 1, first + fine, first + fine + 1] } else { [first; 4] };
                let ids = four.map(|s| self.samples.shown[s]);
                if ids.iter().all(|&i| i == NOTHING) {
                    continue;
                }
                let (at, place) = (y * width + x, self.place(x, y));
                let behind = self.picture[place];
                let mut sum = Vec3::ZERO;
                let mut done: [Option<(usize, f32, Vec3)>; 4] = [None; 4];
                for k in 0..count {
                    let id = ids[k];
                    if id == NOTHING {
                        sum += behind;
                        continue;
                    }
                    let (mesh, triangle) = Samples::split(id);
                    let (who, layer) = self.of_mesh[mesh];
                    self.truth[who].whole_px += weight;
                    let near = self.samples.near[four[k]];
                    if near <= backdrop.near_at(at, k) {
                        sum += behind;
                        self.samples.shown[four[k]] = NOTHING;
                        continue;
                    }
                    self.truth[who].area_px += weight;
                    let b = &mut boxes[who];
                    *b = [b[0].min(x), b[1].min(y), b[2].max(x + 1), b[3].max(y + 1)];
                    // Samples of one surface at one depth look alike.
                    let alike = |d: &&(usize, f32, Vec3)| d.0 == mesh && (d.1 - near).abs() < 0.012 * near;
                    let known = done.iter().flatten().find(alike).map(|d| d.2);
                    let colour = known.unwrap_or_else(|| {
                        let (person, figure) = people[who];
                        let (column, row) = (origin_x + four[k] % fine, origin_y + four[k] / fine);
                        let (sx, sy) = (column as f32 + 0.5, row as f32 + 0.5);
                        let t = person.layers[layer].triangles[triangle].map(usize::from);
                        let spots = t.map(|v| self.spots[mesh][v]);
                        let share = shares(spots, sx, sy);
                        let area = (spots[1].x - spots[0].x) * (spots[2].y - spots[0].y)
                            - (spots[1].y - spots[0].y) * (spots[2].x - spots[0].x);
                        shade(
                            area > 0.0,
                            light,
                            &self.shadows[..people.len()],
                            camera,
                            person,
                            figure,
                            layer,
                            t,
                            share,
                        )
                    });
                    done[k] = Some((mesh, near, colour));
                    sum += colour;
                }
                self.picture[place] = sum * weight;
            }
        }
        for (truth, [x0, y0, x1, y1]) in self.truth.iter_mut().zip(boxes) {
            if x1 > 0 {
                truth.box_px = [x0 as f32, y0 as f32, (x1 - x0) as f32, (y1 - y0) as f32];
            }
        }
    }

    /// Takes light from the backdrop where a person stands in its way.
    fn cast(&mut self, camera: &Camera, light: &Light, backdrop: &Backdrop, i: usize, figure: &Figure) {
        let shadow = &self.shadows[i];
        let width = camera.size[0];
        // Around the feet and what else is low, less of the sky arrives.
        let blobs = figure.blobs;
        let [low, high] = around(shadow);
        let [left, top, right, bottom] = extent(camera, low, high);
        for y in top..bottom {
            for x in left..right {
                let at = y * width + x;
                let near = backdrop.near_at(at, 0);
                if near <= 0.0 {
                    continue;
                }
                let p = camera.eye + camera.ray(x as f32 + 0.5, y as f32 + 0.5) * (1.0 / near);
                if p.x < low.x || p.x > high.x || p.z < low.z || p.z > high.z || p.y > high.y {
                    continue;
                }
                let key = shadow.reaches(p, 0.02, light.softness);
                let mut open = 1.0;
                for (b, r) in blobs {
                    let d = p - b;
                    let (far, own) = (d.dot(d), r * r);
                    // Farther off it takes less than a hundredth.
                    if far < 8.0 * own {
                        let q = 1.0 + far / own;
                        open *= 1.0 - 0.8 / (q * q);
                    }
                }
                if key < 1.0 || open < 0.98 {
                    let lost = backdrop.key(at) * (1.0 - key * (0.5 + 0.5 * open))
                        + backdrop.fill(at) * (1.0 - open);
                    let place = self.place(x, y);
                    let v = self.picture[place] - lost;
                    self.picture[place] = vec3(v.x.max(0.0), v.y.max(0.0), v.z.max(0.0));
                }
            }
        }
    }

    /// What of the picture is there: left, top, right, bottom.
    pub fn region(&self) -> [usize; 4] {
        self.region
    }

    /// The region as bytes of red, green and blue, into a whole picture of `width`.
    pub fn bytes_into(&self, width: usize, tone: &Tone, exposure: f32, out: &mut [u8]) {
        let [left, top, right, bottom] = self.region;
        if left >= right {
            return;
        }
        for (y, row) in (top..bottom).zip(self.picture.chunks_exact(right - left)) {
            let at = y * width;
            for (p, c) in out[3 * (at + left)..3 * (at + right)].chunks_exact_mut(3).zip(row) {
                p.copy_from_slice(&[c.x, c.y, c.z].map(|v| tone.byte(v * exposure)));
            }
        }
    }

    /// The picture as bytes of red, green and blue.
    pub fn bytes(&self, tone: &Tone, exposure: f32, out: &mut Vec<u8>) {
        out.clear();
        out.extend(self.picture.iter().flat_map(|c| [c.x, c.y, c.z].map(|v| tone.byte(v * exposure))));
    }
}

/// The box in which a person takes light from what is behind.
fn around(shadow: &Shadow) -> [Vec3; 2] {
    let margin = vec3(0.4, 0.0, 0.4);
    [shadow.bounds[0] - margin, shadow.bounds[1] + margin]
}

/// Where a box of the world may be seen: left, top, right, bottom, pixels; all of the picture where it reaches the camera.
fn extent(camera: &Camera, low: Vec3, high: Vec3) -> [usize; 4] {
    let [width, height] = camera.size;
    let whole = [0, 0, width, height];
    // In tangents from the camera's axis.
    let mut b = [f32::MAX, f32::MAX, f32::MIN, f32::MIN];
    let mut r2 = 0.0f32;
    for k in 0..8 {
        let pick = |bit: usize, a: f32, b: f32| if k >> bit & 1 == 0 { a } else { b };
        let seen = camera.see(vec3(pick(0, low.x, high.x), pick(1, low.y, high.y), pick(2, low.z, high.z)));
        if seen.z < 0.2 {
            return whole;
        }
        let (x, y) = (seen.x / seen.z, seen.y / seen.z);
        r2 = r2.max(x * x + y * y);
        b = [b[0].min(x), b[1].min(y), b[2].max(x), b[3].max(y)];
    }
    // The lens moves a point towards the axis or away from it, the farthest ones most.
    let bent = 1.0 + camera.k1 * r2.min(1.0);
    let far = |v: f32, centre: f32, pick: fn(f32, f32) -> f32| centre + camera.focal_px * pick(v, v * bent);
    let [cx, cy] = camera.centre_px;
    let b =
        [far(b[0], cx, f32::min), far(b[1], cy, f32::min), far(b[2], cx, f32::max), far(b[3], cy, f32::max)];
    let edge = |v: f32, size: usize| (v.max(0.0) as usize).min(size);
    let (left, top) = (edge(b[0] - 2.0, width), edge(b[1] - 2.0, height));
    [left, top, edge(b[2] + 3.0, width).max(left), edge(b[3] + 3.0, height).max(top)]
}

/// What holds both.
fn join(a: [usize; 4], b: [usize; 4]) -> [usize; 4] {
    [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])]
}
