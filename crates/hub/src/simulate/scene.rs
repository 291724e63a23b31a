//! People, cameras round them, boards' clocks and the network: the lines that come to a hub, in the order in which they come.

use std::fmt::Write;

use nalgebra::{Point3, UnitQuaternion, Vector3};
use pose::JOINTS;

use super::detector::{Detector, Level, Shown, normal};
use super::walker::Walker;
use crate::camera::Lens;
use crate::geometry::seen_at;
use crate::hub::{self, CameraInputs};
use crate::line::{LineError, Look};
use crate::{Extrinsics, V2, V3};

/// COCO's first joint of the lower half.
const HIPS: usize = 11;

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Setting {
    /// How many cameras stand round the room.
    pub cameras: usize,
    /// How many persons walk about.
    pub persons: usize,
    /// For how long.
    pub seconds: f64,
    /// The detector's error.
    pub level: Level,
    /// The share of pictures of somebody's back in which left and right are exchanged, for about a second at a time.
    pub exchanged_share: f64,
    /// Boards' clocks drift by up to 50 parts in a million, ways take long at times, frames are dropped.
    pub rough: bool,
    /// The share of stops at which somebody does something other than walk on.
    pub lively: f64,
    /// Everybody is behind something: below the hips, themselves included, no camera sees anything.
    pub halved: bool,
    /// Everything that is by chance.
    pub seed: u64,
}

impl Default for Setting {
    fn default() -> Self {
        let (level, rough) = (Level::Rendered, true);
        Self {
            cameras: 4,
            persons: 1,
            seconds: 60.0,
            level,
            exchanged_share: 0.0,
            rough,
            lively: 0.3,
            halved: false,
            seed: 1,
        }
    }
}

/// A datagram that comes to the hub.
#[derive(Clone, Debug)]
pub struct Packet {
    /// From which camera.
    pub camera: usize,
    /// When, by the hub's clock.
    pub arrived_us: i64,
    /// When its light fell, by the hub's clock: the truth, which no datagram has.
    pub true_us: i64,
    /// The JSON line.
    pub text: String,
    /// Whom the board's identities in the line truly are: (identity, person).
    pub who: Vec<(u32, usize)>,
}

/// What is simulated, in the room of the simulation: z up from the floor.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The people.
    pub walkers: Vec<Walker>,
    /// The cameras.
    pub cameras: Vec<(Lens, Extrinsics)>,
    setting: Setting,
}

/// Cameras on a ring round the origin that look to its middle: on stands, shelves and walls.
pub fn ring(count: usize, radius_m: f64, rng: &mut fastrand::Rng) -> Vec<(Lens, Extrinsics)> {
    let first = rng.f64();
    (0..count)
        .map(|k| {
            // Two stand a right angle apart, not opposite.
            let whole = if count == 2 { 0.25 } else { 1.0 / count as f64 };
            let angle = std::f64::consts::TAU * (first + whole * (k as f64 + 0.3 * (rng.f64() - 0.5)));
            let far = radius_m * (0.9 + 0.2 * rng.f64());
            let eye = Point3::new(far * angle.cos(), far * angle.sin(), 1.2 + 1.4 * rng.f64());
            let target = Point3::new(0.8 * (rng.f64() - 0.5), 0.8 * (rng.f64() - 0.5), 0.9);
            let roll = UnitQuaternion::from_euler_angles(0.0, 0.0, 0.06 * (rng.f64() - 0.5));
            // `look_at_rh` looks along -z with y up.
            let turn = UnitQuaternion::from_axis_angle(&Vector3::x_axis(), std::f64::consts::PI);
            let focal = 480.0 + 60.0 * rng.f64();
            let lens = Lens {
                camera: format!("virtual {}", k + 1),
                width_px: 640,
                height_px: 480,
                fx_px: focal,
                fy_px: focal * 1.002,
                cx_px: 320.0 + 8.0 * (rng.f64() - 0.5),
                cy_px: 240.0 + 8.0 * (rng.f64() - 0.5),
                k1: -0.06,
                k2: 0.01,
            };
            (lens, roll * turn * Extrinsics::look_at_rh(&eye, &target, &Vector3::z()))
        })
        .collect()
}

impl Scene {
    /// People and cameras by chance.
    pub fn new(setting: Setting) -> Self {
        let mut rng = fastrand::Rng::with_seed(setting.seed);
        let cameras = ring(setting.cameras, 4.2, &mut rng);
        let walkers = (0..setting.persons)
            .map(|_| Walker::new(setting.seconds + 2.0, [0.0; 2], 1.5, setting.lively, &mut rng))
            .collect();
        Self { walkers, cameras, setting }
    }

    /// A hall without error: rings of four cameras on a grid, and people all over it.
    pub fn hall(cameras: usize, persons: usize, seconds: f64) -> Self {
        let level = Level::Exact;
        let setting = Setting { cameras, persons, seconds, level, rough: false, ..Setting::default() };
        let mut rng = fastrand::Rng::with_seed(1);
        let rings = cameras.div_ceil(4);
        let side = (rings as f64).sqrt().ceil() as usize;
        let middle = |ring: usize| [8.0 * (ring % side) as f64, 8.0 * (ring / side) as f64];
        let mut stands = Vec::new();
        for k in 0..rings {
            let [x, y] = middle(k);
            for (lens, place) in ring(4, 4.2, &mut rng) {
                stands.push((lens, place * nalgebra::Translation3::new(-x, -y, 0.0)));
            }
        }
        stands.truncate(cameras);
        let walkers =
            (0..persons).map(|k| Walker::new(seconds + 2.0, middle(k % rings), 3.0, 0.3, &mut rng)).collect();
        Self { walkers, cameras: stands, setting }
    }

    /// Where everybody is at `at_us` of the hub's clock.
    pub fn truth(&self, at_us: i64) -> Vec<[V3; JOINTS]> {
        self.walkers.iter().map(|w| w.at(at_us as f64 / 1e6)).collect()
    }

    /// All datagrams, by arrival.
    pub fn packets(&self) -> Vec<Packet> {
        let mut packets: Vec<Packet> = (0..self.cameras.len()).flat_map(|c| self.of_camera(c)).collect();
        packets.sort_by_key(|p| p.arrived_us);
        packets
    }

    /// What a hub hears of them, by its own estimates of the clocks.
    ///
    /// # Errors
    /// [`LineError`]: a simulated line is none, which is a fault of the simulation.
    pub fn looks(&self) -> Result<Vec<Look>, LineError> {
        let lenses = self.cameras.iter().map(|c| c.0.clone()).collect();
        let mut inputs = CameraInputs::new(lenses, vec![0; self.cameras.len()]);
        let heard = self.packets().into_iter().map(|p| {
            inputs.receive(&hub::Packet { camera: p.camera, arrived_us: p.arrived_us, text: p.text })
        });
        heard.filter_map(Result::transpose).collect()
    }

    fn of_camera(&self, camera: usize) -> Vec<Packet> {
        let Setting { seed, seconds, level, exchanged_share, rough, halved, .. } = self.setting;
        let mut rng = fastrand::Rng::with_seed(seed.wrapping_mul(1_000).wrapping_add(camera as u64));
        let (lens, place) = &self.cameras[camera];
        let mut detectors: Vec<Detector> =
            self.walkers.iter().map(|_| Detector::new(level, exchanged_share, rng.u64(..))).collect();
        // The board's identities: a new one for whoever was away for long.
        let mut ids: Vec<(u32, f64)> = vec![(0, -1e9); self.walkers.len()];
        let mut next_id = 1;
        let drift = if rough { 50e-6 * (2.0 * rng.f64() - 1.0) } else { 0.0 };
        let offset_us = if rough { 1e10 * rng.f64() } else { 0.0 };
        let board = |t_s: f64| (t_s * 1e6 * (1.0 + drift) + offset_us).round() as i64;
        let size = V2::new(f64::from(lens.width_px), f64::from(lens.height_px));
        let Lens { width_px: width, height_px: height, .. } = lens;
        let (mut packets, mut seq) = (Vec::new(), 0);
        let phase = rng.f64() / 30.0;
        let mut arrived_before = 0;
        for frame in 0..(seconds * 30.0) as u64 {
            let t_s = phase + frame as f64 / 30.0 + if rough { 0.0005 * normal(&mut rng) } else { 0.0 };
            let dropped = rough && rng.f64() < 0.04;
            let mut who = Vec::new();
            let mut persons = String::new();
            for k in nearest(&self.walkers, place, t_s) {
                let Some(px) = pixels(lens, place, &self.walkers[k].at(t_s)) else { continue };
                let Some(mut shown) = detectors[k].see(t_s, &px, size) else { continue };
                if halved {
                    shown[HIPS..].iter_mut().for_each(|joint| joint.score = 0.0);
                }
                if t_s - ids[k].1 > 1.0 {
                    ids[k].0 = next_id;
                    next_id += 1;
                }
                ids[k].1 = t_s;
                who.push((ids[k].0, k));
                if !persons.is_empty() {
                    persons.push(',');
                }
                write_person(&mut persons, ids[k].0, &shown);
            }
            let age_s = 0.045 + if rough { 0.008 * rng.f64() } else { 0.0 };
            let way_s = if rough { way_s(&mut rng) } else { 0.0005 };
            if dropped {
                continue;
            }
            let (captured_us, emitted_us) = (board(t_s.max(0.0)), board(t_s.max(0.0) + age_s));
            // A network of one hop keeps the order.
            let arrived_us = (((t_s + age_s + way_s) * 1e6) as i64).max(arrived_before + 1);
            arrived_before = arrived_us;
            let text = format!(
                "{{\"seq\":{seq},\"frame\":{frame},\"captured_us\":{captured_us},\"emitted_us\":{emitted_us},\"width\":{width},\"height\":{height},\"persons\":[{persons}]}}"
            );
            seq += 1;
            packets.push(Packet {
                camera,
                arrived_us,
                true_us: (t_s.max(0.0) * 1e6).round() as i64,
                text,
                who,
            });
        }
        packets
    }
}

/// Whom a board tells of: no more than the nearest, and nobody too far away to be found.
fn nearest(walkers: &[Walker], place: &Extrinsics, t_s: f64) -> Vec<usize> {
    const FAR_M: f64 = 9.0;
    let far = |k: usize| (place * Point3::from(walkers[k].at(t_s)[0])).coords.norm();
    let mut near: Vec<(f64, usize)> =
        (0..walkers.len()).map(|k| (far(k), k)).filter(|(far, _)| *far < FAR_M).collect();
    near.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut near: Vec<usize> = near.into_iter().take(pose::MAX_PERSONS).map(|n| n.1).collect();
    near.sort_unstable();
    near
}

/// Of a Wi-Fi: mostly a millisecond or two, at times thirty.
fn way_s(rng: &mut fastrand::Rng) -> f64 {
    let calm = -0.001 * (1.0 - rng.f64()).ln();
    0.0006 + calm + if rng.f64() < 0.05 { 0.03 * rng.f64() } else { 0.0 }
}

/// Where the camera sees joints; `None` where one is behind it.
fn pixels(lens: &Lens, place: &Extrinsics, joints: &[V3; JOINTS]) -> Option<[V2; JOINTS]> {
    let mut px = [V2::zeros(); JOINTS];
    for (px, at) in px.iter_mut().zip(joints) {
        let ray = seen_at(place, *at)?;
        *px = lens.project(V3::new(ray.x, ray.y, 1.0))?;
    }
    Some(px)
}

fn write_person(to: &mut String, id: u32, shown: &[Shown; JOINTS]) {
    // Writing to a String cannot fail.
    let _ = write!(to, "{{\"id\":{id},\"score\":0.9,\"box\":[0,0,0,0],\"keypoints\":[");
    for (j, s) in shown.iter().enumerate() {
        let comma = if j > 0 { "," } else { "" };
        let _ = if s.score < 0.05 {
            write!(to, "{comma}[0,0,0,0,\"absent\"]")
        } else {
            let state = if s.measured { "measured" } else { "predicted" };
            write!(to, "{comma}[{:.2},{:.2},{:.3},{:.2},\"{state}\"]", s.at.x, s.at.y, s.score, s.sigma)
        };
    }
    to.push_str("],\"keypoints3d\":null}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line;

    #[test]
    fn lines_are_read_back_and_their_rays_lead_to_the_truth() {
        let scene =
            Scene::new(Setting { level: Level::Exact, seconds: 4.0, persons: 2, ..Setting::default() });
        let packets = scene.packets();
        assert!(packets.len() > 4 * 100 && packets.is_sorted_by_key(|p| p.arrived_us));
        let mut checked = 0;
        for p in &packets {
            let (lens, place) = &scene.cameras[p.camera];
            let read = line::read(&p.text, lens).unwrap();
            let truth = scene.truth(p.true_us);
            assert_eq!(read.persons.len(), p.who.len());
            for (seen, (id, person)) in read.persons.iter().zip(&p.who) {
                assert_eq!(seen.id, *id);
                for (j, ray) in seen.joints.iter().enumerate() {
                    let Some(ray) = ray else { continue };
                    let off = (seen_at(place, truth[*person][j]).unwrap() - ray.at).norm();
                    assert!(off < 2e-4, "{off}");
                    checked += 1;
                }
            }
        }
        assert!(checked > 5_000, "{checked}");
        assert!(packets.iter().zip(scene.packets()).all(|(a, b)| a.text == b.text));
    }
}
