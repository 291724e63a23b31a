//! A body of clay that takes the pose of joints in 3D: what a tracker shows of somebody of whom it knows no more.
//!
//! Joints come in metres from the middle of the hips, as a camera sees them: x right, y down, z away. The body is of mean build; it is
//! drawn without perspective, `px_per_m` and shifted so that its joints lie where they are seen.

use pose::JOINTS;

use crate::{
    asset::{Asset, SHAPE, Traits},
    body::{Body, Posed, head_of, skin},
    light::{Colour, Tone, linear},
    math::{Vec3, floor, pow, vec3},
    motion::{POSE_JOINTS, Places, joint::*},
    person::normals,
    posing::{Ground, Habit, follow},
    raster::{NOTHING, Samples, Spot, shares},
    wear::Template,
};

/// Of a toe's joint over the ground.
const SOLE_BELOW_M: f32 = 0.03;
/// Samples along a side of a pixel.
const FINE: usize = 2;
/// Of a neck over the middle of the shoulders, of the trunk.
const NECK_ABOVE: f32 = 0.08;
/// Joints that tell where the body is: faces say little, and hands swing.
const WEIGHTS: [f32; JOINTS] =
    [0.3, 0.2, 0.2, 0.3, 0.3, 1.0, 1.0, 0.7, 0.7, 0.5, 0.5, 1.0, 1.0, 0.8, 0.8, 0.8, 0.8];
/// Smaller ones have no area, larger ones none that fits a picture; pixels a metre.
const SCALES: std::ops::Range<f32> = 2.0..5000.0;

/// Where a joint is seen, pixels.
pub type Seen = [f32; 2];

/// A body in a pose, and where the picture has it.
#[derive(Debug, Clone)]
pub struct Stand {
    /// How the bones move the body at rest, about the middle of the hips: x right, y up, z towards the camera.
    pub posed: Vec<Posed>,
    /// Pixels a metre.
    pub px_per_m: f32,
    /// Where the middle of the hips lies, pixels.
    pub at_px: [f32; 2],
    /// How high its lowest sole is over the hips, metres: negative of whoever stands.
    pub sole_m: f32,
}

/// One body that many may borrow, and what drawing it needs.
#[derive(Debug)]
pub struct Mannequin {
    asset: &'static Asset,
    template: &'static Template,
    body: Body,
    tone: Tone,
    points: Vec<Vec3>,
    normals: Vec<Vec3>,
    spots: Vec<Spot>,
    samples: Samples,
}

impl Default for Mannequin {
    fn default() -> Self {
        Self::new()
    }
}

impl Mannequin {
    /// A body of mean build.
    pub fn new() -> Self {
        let (asset, template) = (Asset::embedded(), Template::embedded());
        // The mean of the bank's grown men: of all bodies that of which a mannequin says least.
        let (mut shape, mut count) = ([0.0; SHAPE], 0.0);
        for (own, traits) in (0..asset.bodies()).map(|k| asset.shape(k)) {
            if (20..60).contains(&traits.years) && traits.gender < 0.5 {
                shape.iter_mut().zip(own).for_each(|(sum, s)| *sum += s);
                count += 1.0;
            }
        }
        let traits = Traits { gender: 0.0, years: 35, weight: 0.4, african: 0.0, asian: 0.0 };
        let body = Body::new(asset, &shape.map(|sum| sum / f32::max(count, 1.0)), traits);
        Self {
            asset,
            template,
            body,
            tone: Tone::new(0.0),
            points: Vec::new(),
            normals: Vec::new(),
            spots: Vec::new(),
            samples: Samples::default(),
        }
    }

    /// The body in the pose of `joints_m`, its joints over those `seen`; `None` where fewer than four of these are, or nothing fits.
    pub fn stand(&self, joints_m: &[[f32; 3]; JOINTS], seen: &[Option<Seen>; JOINTS]) -> Option<Stand> {
        let up = |[x, y, z]: [f32; 3]| vec3(x, -y, -z);
        let mut joints: [Vec3; JOINTS] = joints_m.map(up);
        if !joints.iter().all(|p| p.dot(*p).is_finite()) {
            return None;
        }
        // Across the picture joints are where they are seen; the third dimension tells how deep.
        let (px_per_m, at_px) = fit(&joints, seen)?;
        for (joint, seen) in joints.iter_mut().zip(seen) {
            if let Some([x, y]) = seen {
                joint.x = (x - at_px[0]) / px_per_m;
                joint.y = (at_px[1] - y) / px_per_m;
            }
        }
        let hips = (joints[L_HIP] + joints[R_HIP]) * 0.5;
        let posed = self.posed(&joints.map(|p| p - hips));
        let own = self.body.posed_joints(self.asset, &posed);
        let (px_per_m, at_px) = fit(&own, seen)?;
        let bones = &self.template.bones;
        let low = |bone: usize| head_of(&posed[bone], self.body.heads[bone]).y - SOLE_BELOW_M;
        let sole_m = bones.foot.iter().chain(&bones.toe).map(|&bone| low(bone)).fold(f32::MAX, f32::min);
        SCALES.contains(&px_per_m).then_some(Stand { posed, px_per_m, at_px, sole_m })
    }

    /// How the bones move the body for joints in metres from the middle of the hips: x right, y up, z towards the camera.
    fn posed(&self, joints: &[Vec3; JOINTS]) -> Vec<Posed> {
        let mut places: Places = [Vec3::ZERO; POSE_JOINTS];
        places[..JOINTS].copy_from_slice(joints);
        places[PELVIS] = (places[L_HIP] + places[R_HIP]) * 0.5;
        let shoulders = (places[L_SHOULDER] + places[R_SHOULDER]) * 0.5;
        places[NECK] = shoulders + (shoulders - places[PELVIS]) * NECK_ABOVE;
        places[POSE_JOINTS - 1] = (places[L_EAR] + places[R_EAR]) * 0.5;
        let habit = Habit { curl: [0.35; 2], out: 0.1, ..Habit::default() };
        follow(self.asset, &self.template.bones, &self.body, &places, Ground::Free, &habit)
    }

    /// Draws the body over `rgb`, a picture of `size` with three bytes a pixel, in a colour of sRGB; `opacity` 0 to 1.
    pub fn draw(&mut self, stand: &Stand, colour: [u8; 3], opacity: f32, size: [usize; 2], rgb: &mut [u8]) {
        skin(&self.body.rest, &self.asset.influences, &stand.posed, &mut self.points);
        normals(&self.points, &self.asset.triangles, &mut self.normals);
        let fine = FINE as f32;
        self.spots.clear();
        self.spots.extend(self.points.iter().map(|p| {
            let x = stand.at_px[0] + stand.px_per_m * p.x;
            let y = stand.at_px[1] - stand.px_per_m * p.y;
            // Nearness only sorts: there is no perspective.
            Spot::new(x * fine, y * fine, (1.0 + 0.1 * p.z).max(0.1))
        }));
        let bounds = self.spots.iter().fold([f32::MAX, f32::MAX, f32::MIN, f32::MIN], |b, s| {
            [b[0].min(s.x), b[1].min(s.y), b[2].max(s.x), b[3].max(s.y)]
        });
        let edge = |v: f32, limit: usize| (floor((v / fine).clamp(0.0, 65_000.0)) as usize).min(limit);
        let (left, top) = (edge(bounds[0] - 2.0, size[0]), edge(bounds[1] - 2.0, size[1]));
        let (right, bottom) = (edge(bounds[2] + 4.0, size[0]), edge(bounds[3] + 4.0, size[1]));
        if left >= right || top >= bottom {
            return;
        }
        self.samples.clear([left, top, right, bottom].map(|v| v * FINE));
        self.samples.draw(0, &self.spots, &self.asset.triangles, &[], false);
        let [r, g, b] = colour;
        // Clay takes some of the colour's strength.
        let clay = linear(r, g, b).mix(vec3(0.62, 0.60, 0.58), 0.22);
        let width = self.samples.width;
        for y in top..bottom {
            for x in left..right {
                let first = FINE * (y - top) * width + FINE * (x - left);
                let four = [first, first + 1, first + width, first + width + 1];
                let (mut sum, mut shown) = (Vec3::ZERO, 0.0);
                for (k, s) in four.into_iter().enumerate() {
                    if self.samples.shown[s] != NOTHING {
                        let (dx, dy) = ((k & 1) as f32 + 0.5, (k >> 1) as f32 + 0.5);
                        let (sx, sy) = ((FINE * x) as f32 + dx, (FINE * y) as f32 + dy);
                        sum += self.shade(Samples::split(self.samples.shown[s]).1, [sx, sy], clay);
                        shown += 1.0;
                    }
                }
                if shown > 0.0 {
                    let colour = sum * (1.0 / shown);
                    let share = opacity.clamp(0.0, 1.0) * shown / (FINE * FINE) as f32;
                    let at = 3 * (y * size[0] + x);
                    for (byte, lit) in rgb[at..at + 3].iter_mut().zip([colour.x, colour.y, colour.z]) {
                        let (old, new) = (f32::from(*byte), f32::from(self.tone.byte(lit)));
                        *byte = (old + (new - old) * share + 0.5) as u8;
                    }
                }
            }
        }
    }

    /// What a triangle looks like at a sample: a lamp above left behind the camera, sky and ground, a rim of light.
    fn shade(&self, triangle: usize, [x, y]: [f32; 2], clay: Colour) -> Colour {
        let t = self.asset.triangles[triangle].map(usize::from);
        let s = shares(t.map(|v| self.spots[v]), x, y);
        let normal =
            (self.normals[t[0]] * s[0] + self.normals[t[1]] * s[1] + self.normals[t[2]] * s[2]).unit();
        let light = &self.asset.light;
        let open = light[t[0]] * s[0] + light[t[1]] * s[1] + light[t[2]] * s[2];
        let towards = vec3(-0.42, 0.62, 0.66);
        let lit = normal.dot(towards).max(0.0);
        let sky = 0.5 + 0.5 * normal.y;
        let half = vec3(-0.23, 0.34, 0.912);
        let shine = pow(normal.dot(half).max(0.0), 24.0);
        let rim = 1.0 - normal.z.max(0.0);
        let fill = (0.16 + 0.30 * sky) * open * (0.4 + 0.6 * open);
        clay * (fill + 0.82 * lit)
            + vec3(1.0, 1.0, 1.0) * (0.10 * shine * lit + 0.10 * rim * rim * rim * open)
    }

    /// The body at rest for whoever draws it elsewhere.
    pub fn rest(&self) -> (&Asset, &Body) {
        (self.asset, &self.body)
    }
}

/// Scale and shift, pixels, that bring the joints (x right, y up) nearest to where they are seen.
fn fit(joints: &[Vec3; JOINTS], seen: &[Option<Seen>; JOINTS]) -> Option<(f32, [f32; 2])> {
    let pairs = || {
        let all = joints.iter().zip(seen).zip(WEIGHTS);
        all.filter_map(|((p, seen), w)| seen.map(|[x, y]| (w, [p.x, -p.y], [x, y])))
    };
    if pairs().count() < 4 {
        return None;
    }
    let total: f32 = pairs().map(|(w, ..)| w).sum();
    let from = [0, 1].map(|k| pairs().map(|(w, p, _)| w * p[k]).sum::<f32>() / total);
    let to = [0, 1].map(|k| pairs().map(|(w, _, q)| w * q[k]).sum::<f32>() / total);
    let (mut along, mut square) = (0.0, 0.0);
    for (w, p, q) in pairs() {
        for k in [0, 1] {
            along += w * (p[k] - from[k]) * (q[k] - to[k]);
            square += w * (p[k] - from[k]) * (p[k] - from[k]);
        }
    }
    let scale = along / square.max(1e-6);
    let at = [0, 1].map(|k| to[k] - scale * from[k]);
    (SCALES.contains(&scale) && at.iter().all(|v| v.is_finite())).then_some((scale, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::standing;

    /// Somebody at ease, one arm raised, as a network would tell, and where a camera that sees 100 px a metre has them.
    fn told() -> ([[f32; 3]; JOINTS], [Option<Seen>; JOINTS]) {
        let mut places = standing(0.0);
        (places[7], places[9]) = (vec3(0.42, 1.55, 0.1), vec3(0.45, 1.80, 0.15));
        let hips = places[PELVIS];
        let joints: [[f32; 3]; JOINTS] = std::array::from_fn(|j| {
            let p = places[j] - hips;
            [p.x, -p.y, -p.z]
        });
        (joints, joints.map(|[x, y, _]| Some([160.0 + 100.0 * x, 120.0 + 100.0 * y])))
    }

    #[test]
    fn its_joints_lie_where_they_are_seen() {
        let mannequin = Mannequin::new();
        let (joints, seen) = told();
        let stand = mannequin.stand(&joints, &seen).expect("all is seen");
        let own = mannequin.body.posed_joints(mannequin.asset, &stand.posed);
        let mut off = 0.0;
        for (p, seen) in own.iter().zip(seen).skip(5) {
            let [x, y] = seen.unwrap();
            let dx = stand.at_px[0] + stand.px_per_m * p.x - x;
            let dy = stand.at_px[1] - stand.px_per_m * p.y - y;
            assert!(dx.hypot(dy) < 13.0, "a limb's end is {dx} {dy} px away");
            off += dx.hypot(dy) / 12.0;
        }
        assert!(off < 6.0, "{off} px of some 170");
    }

    #[test]
    fn it_covers_the_person_and_nothing_else() {
        let mut mannequin = Mannequin::new();
        let (joints, seen) = told();
        let stand = mannequin.stand(&joints, &seen).unwrap();
        let mut rgb = vec![7; 3 * 320 * 240];
        mannequin.draw(&stand, [240, 228, 66], 1.0, [320, 240], &mut rgb);
        let at = |x: usize, y: usize| &rgb[3 * (y * 320 + x)..][..3];
        assert!(
            at(160, 100)[0] > 60 && at(160, 100)[0] > at(160, 100)[2],
            "the trunk is yellow: {:?}",
            at(160, 100)
        );
        assert_eq!(at(20, 20), [7; 3]);
        let covered = rgb.chunks_exact(3).filter(|p| p != &[7; 3]).count();
        assert!((3000..14_000).contains(&covered), "{covered} pixels");
        // Half beyond the edge, and wholly.
        for at_px in [[-20.0, 230.0], [9000.0, -9000.0]] {
            mannequin.draw(&Stand { at_px, ..stand.clone() }, [86, 180, 233], 0.5, [320, 240], &mut rgb);
        }
    }

    #[test]
    fn what_is_no_pose_is_not_drawn() {
        let mannequin = Mannequin::new();
        let (mut joints, mut seen) = told();
        seen[3..].fill(None);
        assert!(mannequin.stand(&joints, &seen).is_none());
        let (_, seen) = told();
        assert!(mannequin.stand(&[[0.0; 3]; JOINTS], &seen).is_none());
        joints[9][2] = f32::NAN;
        assert!(mannequin.stand(&joints, &seen).is_none());
    }
}
