//! The floor, from where feet stand over time: how high the camera is above it and how it is tilted.
//!
//! In camera space (x right, y down, z ahead) the floor is y = a·x + b·z + c. Each person's lower ankle, ten times a second, is a point
//! a little above it, or well above where the foot is lifted: points above count less than points below. How upright people stand tells the
//! tilt as well, if roughly, where nobody has walked towards the camera or away from it. Where the camera's height has been measured, each
//! person's plane also passes so far below the camera as their size lets it.

use nalgebra::{Matrix2, Vector2, Vector3};
use pose::{Floor, JOINTS, MAX_PERSONS};

use super::planes::{Below, Group, Planes, Point, Prior};
use super::scale::{Scale, Seen, by_comparison};
use super::stance::{Stance, is_upright};
use super::stature::Stature;

/// Points that are remembered; the oldest make room.
const POINTS: usize = 512;
/// From one point of a person to the next, microseconds.
const EVERY_US: i64 = 100_000;
/// The plane is fitted anew after so many points.
const FIT_EVERY: usize = 10;
/// Fewer say nothing: some five seconds of one person.
const MIN_POINTS: usize = 50;
/// An ankle over the sole, of a person's height.
const ANKLE: f64 = 0.047;
/// How upright people stand, of the tangent.
const UPRIGHT_SIGMA: f64 = 0.10;
/// What is left of a height beside what the fit leaves open.
const SHAPE_SIGMA: f64 = 0.03;
/// How well somebody measures how high a camera is, part of it.
const MEASURED_SIGMA: f64 = 0.01;
/// A camera lower than that above feet tells nothing of their size, metres.
const MIN_HEIGHT_M: f64 = 0.3;
/// Told of from this certainty on: degrees, and part of the height.
const SURE: (f64, f64) = (6.0, 0.25);

/// What is known of the floor.
#[derive(Debug)]
pub struct FloorFinder {
    /// Of everybody who walks on it.
    stature: Stature,
    /// The camera's, where somebody has measured it.
    camera_height_m: Option<f64>,
    points: Vec<Point>,
    next: usize,
    fresh: usize,
    /// When a point of whom was taken last.
    taken: [Option<(i64, u32)>; MAX_PERSONS],
    floor: Option<Floor>,
    /// What the floor says of those who are there.
    scales: [Option<Scale>; MAX_PERSONS],
    planes: Planes,
    /// By what sizes are compared: kept, so that no fit allocates.
    compared: Vec<Seen>,
}

impl FloorFinder {
    /// Nothing is known but how tall people are taken to be, and how high the camera is, metres, where somebody has measured that.
    pub fn new(stature: Stature, camera_height_m: Option<f64>) -> Self {
        Self {
            stature,
            camera_height_m,
            points: Vec::with_capacity(POINTS),
            next: 0,
            fresh: 0,
            taken: [None; MAX_PERSONS],
            floor: None,
            scales: [None; MAX_PERSONS],
            planes: Planes::default(),
            compared: Vec::new(),
        }
    }

    /// How much larger than taken the person in `slot` is, by the floor; `None` before that is known.
    pub fn scale(&self, slot: usize) -> Option<Scale> {
        *self.scales.get(slot)?
    }

    /// What the floor is known to be by now.
    pub fn floor(&self) -> Option<Floor> {
        self.floor
    }

    /// Another person is in `slot`.
    pub fn reset(&mut self, slot: usize) {
        if let Some(taken) = self.taken.get_mut(slot) {
            *taken = None;
            self.scales[slot] = None;
        }
    }

    /// Another camera, or another lens: all begins anew.
    pub fn forget(&mut self) {
        *self = Self::new(self.stature, self.camera_height_m);
    }

    /// Takes where the feet of the person in `slot` are: `joints_m` from the middle of the hips, which is `at_m` before the camera. Whoever
    /// comes back is the same `person`.
    pub fn take(
        &mut self,
        slot: usize,
        person: u32,
        captured_at_us: i64,
        at_m: [f32; 3],
        joints_m: &[[f32; 3]; JOINTS],
    ) {
        let Some(taken) = self.taken.get_mut(slot) else { return };
        let is_early = |(at_us, of)| of == person && (0..EVERY_US).contains(&(captured_at_us - at_us));
        if taken.is_some_and(is_early) {
            return;
        }
        *taken = Some((captured_at_us, person));
        let stance = Stance::of(joints_m, self.down(), self.stature);
        let at_m = Vector3::from(at_m.map(f64::from)) + stance.ankle_m;
        let point = Point { person, at_m, axis: stance.axis };
        if !point.at_m.iter().all(|v| v.is_finite()) || point.at_m.z < 0.3 {
            return;
        }
        match self.points.get_mut(self.next) {
            Some(oldest) => *oldest = point,
            None => self.points.push(point),
        }
        self.next = (self.next + 1) % POINTS;
        self.fresh += 1;
        if self.fresh >= FIT_EVERY && self.points.len() >= MIN_POINTS {
            self.fresh = 0;
            self.floor = self.fit();
        }
    }

    /// The floor's vertical, where it is known.
    fn down(&self) -> Option<Vector3<f64>> {
        self.floor.map(|floor| -Vector3::from(floor.up.map(f64::from)))
    }

    /// The floor by what is remembered, where it is sure enough; keeps what it says of everybody's size.
    fn fit(&mut self) -> Option<Floor> {
        let (prior, stature) = (self.prior(), self.stature);
        let below = self.camera_height_m.map(|height_m| Below {
            camera_m: height_m - ANKLE * stature.height_m,
            // So far as the person's size lets it.
            variance: stature.scale().variance + MEASURED_SIGMA.powi(2),
        });
        self.planes.fit(&self.points, prior, below)?;
        let (height_m, height_sigma_m) = self.height_m();
        let sigma_deg = [0, 1].map(|k| self.planes.covariance[(k, k)].sqrt().to_degrees());
        let is_sure = sigma_deg[1] < SURE.0 && sigma_deg[0] < SURE.0 && height_sigma_m < SURE.1 * height_m;
        if !is_sure {
            return None;
        }
        let mut seen = std::mem::take(&mut self.compared);
        seen.clear();
        seen.extend(self.planes.groups.iter().filter_map(|group| self.seen(group)));
        self.keep_scales(&seen, stature.scale());
        self.compared = seen;
        let (up, pitch_rad, roll_rad) = self.planes.tilt();
        // Along the lens's axis and to the right of it, as the floor lies.
        let ahead = (Vector3::z() - up * up.z).try_normalize(1e-3)?;
        let right = ahead.cross(&up);
        let [up, ahead, right] = [up, ahead, right].map(|v| v.map(|v| v as f32).into());
        Some(Floor {
            up,
            ahead,
            right,
            height_m: height_m as f32,
            height_sigma_m: height_sigma_m as f32,
            pitch_deg: pitch_rad.to_degrees() as f32,
            pitch_sigma_deg: sigma_deg[1] as f32,
            roll_deg: roll_rad.to_degrees() as f32,
            roll_sigma_deg: sigma_deg[0] as f32,
        })
    }

    /// The slope that how people stand tells, before any foot.
    fn prior(&self) -> Prior {
        // Who bends or sits tells nothing of the vertical. Asked of the newest floor, also of those who were seen before any.
        let down = self.down();
        let upright = || self.points.iter().filter_map(|p| p.axis).filter(|axis| is_upright(axis, down));
        let (count, up) = (upright().count(), upright().sum::<Vector3<f64>>());
        if up.y >= 0.0 {
            return (Matrix2::zeros(), Vector2::zeros());
        }
        let weight = (count as f64 / MIN_POINTS as f64).min(1.0) / UPRIGHT_SIGMA.powi(2);
        (Matrix2::from_diagonal_element(weight), weight * up.xz() / -up.y)
    }

    /// How high the camera is above the floor, and sigma, metres.
    fn height_m(&self) -> (f64, f64) {
        if let Some(height_m) = self.camera_height_m {
            return (height_m, MEASURED_SIGMA * height_m);
        }
        let planes = &self.planes;
        let c = planes.mean(|g| g.offset(Some(&planes.slope)));
        let height_m = c / planes.norm() + ANKLE * self.stature.height_m;
        let middle = planes.middle();
        let offset_variance = middle.dot(&(planes.covariance * middle)) + 1.0 / planes.weight();
        // Sizes of several persons are wrong each in a way of its own.
        let persons = planes.groups.len().clamp(1, 4) as f64;
        let size = self.stature.sigma_m / self.stature.height_m / persons.sqrt();
        let of_size = (size * height_m).powi(2) + (SHAPE_SIGMA * height_m).powi(2);
        (height_m, (offset_variance + of_size).sqrt())
    }

    /// How high above this person's feet the camera seems to be.
    fn seen(&self, group: &Group) -> Option<Seen> {
        let planes = &self.planes;
        let at = group.at / group.weight;
        // The camera's own height is below it; that of persons beside one another is the same wherever they are.
        let lever = if self.camera_height_m.is_some() { at } else { at - planes.middle() };
        let height_m = group.offset(Some(&planes.slope)) / planes.norm() + ANKLE * self.stature.height_m;
        let variance = (1.0 / group.weight + lever.dot(&(planes.covariance * lever))) / height_m.powi(2);
        (height_m > MIN_HEIGHT_M).then(|| Seen { person: group.person, log_height: height_m.ln(), variance })
    }

    /// What the floor says of everybody's size; those of whom it says nothing keep what it said before.
    fn keep_scales(&mut self, seen: &[Seen], size: Scale) {
        let mut keep = |person: u32, scale: Scale| {
            let slot = self.taken.iter().position(|taken| taken.is_some_and(|(_, of)| of == person));
            slot.iter().for_each(|&slot| self.scales[slot] = Some(scale));
        };
        match self.camera_height_m {
            // Their planes pass below the camera already.
            Some(height_m) => seen.iter().for_each(|one| {
                let variance = one.variance + MEASURED_SIGMA.powi(2);
                keep(one.person, Scale { log: height_m.ln() - one.log_height, variance });
            }),
            None => by_comparison(seen, size.variance).for_each(|(person, scale)| keep(person, scale)),
        }
    }
}

#[cfg(test)]
mod tests;
