//! A person in the room: 17 joints, how long the bones are, who saw them.

use pose::{JOINTS, MIRROR};

use super::joint::JointFilter;
use crate::line::{Ray, Seen};
use crate::{Place, V3};

/// Bones whose length stays: arms, legs, shoulders, hips, flanks.
pub(super) const BONES: [(usize, usize); 12] = [
    (5, 7),
    (7, 9),
    (6, 8),
    (8, 10),
    (11, 13),
    (13, 15),
    (12, 14),
    (14, 16),
    (5, 6),
    (11, 12),
    (5, 11),
    (6, 12),
];
/// From where a joint that nobody has seen yet is looked for.
const NEAR: [usize; JOINTS] = [3, 0, 0, 0, 0, 6, 5, 5, 6, 7, 8, 12, 11, 11, 12, 13, 14];
const ARMS: [usize; 6] = [5, 6, 7, 8, 9, 10];
const LEGS: [usize; 6] = [11, 12, 13, 14, 15, 16];
/// How far such a joint may be from there, metres.
const ABOUT_M: f64 = 0.35;
/// How restless joints are, m²/s³: trunks, arms and legs swing.
const RESTLESS: [f64; JOINTS] =
    [4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 12.0, 12.0, 25.0, 25.0, 4.0, 4.0, 12.0, 12.0, 25.0, 25.0];
/// The share by which a bone's length is put right each time.
const STIFF: f64 = 0.25;
/// A joint known worse than this, metres, is not told.
pub(super) const TOLD_M: f64 = 0.20;

/// One person.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub id: u32,
    /// Where it is, by the hub's clock.
    pub at_us: i64,
    pub born_us: i64,
    pub joints: [Option<JointFilter>; JOINTS],
    bones: [f64; BONES.len()],
    /// When each camera saw it last, and as whom.
    pub seen_us: Vec<i64>,
    pub seen_as: Vec<u32>,
    /// How often sides are exchanged, of arms and legs: a share of the last second.
    exchanged: [f64; 2],
    /// Since when it is where an older one is.
    pub doubled_since_us: Option<i64>,
}

/// What a ray is off by, in its own sigmas, at most: one wild joint must not speak for all.
const MOST_OFF: f64 = 36.0;

impl Body {
    pub fn new(id: u32, at_us: i64, joints: [Option<JointFilter>; JOINTS], cameras: usize) -> Self {
        Self {
            id,
            at_us,
            born_us: at_us,
            joints,
            bones: [0.0; BONES.len()],
            seen_us: vec![i64::MIN / 2; cameras],
            seen_as: vec![0; cameras],
            exchanged: [0.0; 2],
            doubled_since_us: None,
        }
    }

    /// How many cameras saw it within `us` before `at_us`.
    pub fn watched_by(&self, at_us: i64, us: i64) -> usize {
        self.seen_us.iter().filter(|&&t| at_us - t < us).count()
    }

    /// When somebody saw it last.
    pub fn last_us(&self) -> i64 {
        self.seen_us.iter().copied().max().unwrap_or(i64::MIN / 2)
    }

    /// The middle of what is known of shoulders and hips.
    pub fn middle(&self, seconds: f64) -> Option<V3> {
        let known = [5, 6, 11, 12].iter().filter_map(|&j| self.joints[j].as_ref());
        let (sum, count) = known.fold((V3::zeros(), 0.0), |(s, n), k| (s + k.after(seconds), n + 1.0));
        (count > 0.0).then(|| sum / count)
    }

    /// Brings it to `at_us`; a moment that is past leaves it as it is.
    pub fn go_on(&mut self, at_us: i64) {
        let seconds = (at_us - self.at_us) as f64 / 1e6;
        if seconds <= 0.0 {
            return;
        }
        self.at_us = at_us;
        for (joint, restless) in self.joints.iter_mut().zip(RESTLESS) {
            if let Some(joint) = joint {
                joint.go_on(seconds, restless);
            }
        }
    }

    /// How badly what a camera saw at `at_us` fits, a joint: mean of squared distances in sigmas, half of what each may be at most;
    /// 1 is as expected. `None` for too few joints in common.
    pub fn misfit(&self, camera: &Place, seen: &Seen, at_us: i64) -> Option<f64> {
        let late = (self.at_us - at_us) as f64 / 1e6;
        let (mut sum, mut count) = (0.0, 0.0);
        for (joint, ray) in self.joints.iter().zip(&seen.joints) {
            let (Some(joint), Some(ray)) = (joint, ray) else { continue };
            if joint.sigma() < TOLD_M {
                sum += joint.off(camera, ray.at, ray.sigma, late)?.min(MOST_OFF) / 2.0;
                count += 1.0;
            }
        }
        (count >= 4.0).then(|| sum / count)
    }

    /// Takes in what a camera saw; left and right as they fit.
    pub fn take(&mut self, camera: &Place, number: usize, seen: &Seen, at_us: i64) {
        self.go_on(at_us);
        let late = (self.at_us - at_us) as f64 / 1e6;
        let mut rays = seen.joints;
        for (group, limbs) in [ARMS, LEGS].iter().enumerate() {
            let other_way = self.fits_exchanged(camera, &rays, limbs, late);
            let share = &mut self.exchanged[group];
            *share += 0.03 * (f64::from(u8::from(other_way)) - *share);
            if other_way {
                let before = rays;
                limbs.iter().for_each(|&j| rays[j] = before[MIRROR[j]]);
            }
            // When all say so for long, it was the body that was wrong.
            if *share > 0.6 {
                *share = 0.0;
                let before = self.joints;
                limbs.iter().for_each(|&j| self.joints[j] = before[MIRROR[j]]);
            }
        }
        for j in 0..JOINTS {
            let Some(ray) = rays[j] else { continue };
            if self.joints[j].is_none() {
                self.joints[j] = self.joints[NEAR[j]].map(|near| {
                    JointFilter::new(near.at(), nalgebra::Matrix3::identity() * (ABOUT_M * ABOUT_M))
                });
            }
            if let Some(joint) = &mut self.joints[j] {
                joint.take(camera, ray.at, ray.sigma, late);
            }
        }
        self.hold_bones();
        self.seen_us[number] = self.seen_us[number].max(at_us);
        self.seen_as[number] = seen.id;
    }

    fn fits_exchanged(
        &self,
        camera: &Place,
        rays: &[Option<Ray>; JOINTS],
        limbs: &[usize],
        late: f64,
    ) -> bool {
        let (mut as_is, mut exchanged, mut count) = (0.0, 0.0, 0);
        for &j in limbs {
            let (Some(joint), Some(own), Some(other)) = (&self.joints[j], rays[j], rays[MIRROR[j]]) else {
                continue;
            };
            let off = |r: Ray| joint.off(camera, r.at, r.sigma, late).map(|o| o.min(MOST_OFF));
            let (Some(a), Some(b)) = (off(own), off(other)) else { continue };
            (as_is, exchanged, count) = (as_is + a, exchanged + b, count + 1);
        }
        count >= 3 && as_is > 4.0 * f64::from(count) && exchanged < 0.35 * as_is
    }

    /// Learns how long bones are, and brings joints to where the bones have that length: the worse known one moves more.
    fn hold_bones(&mut self) {
        for (bone, length) in BONES.iter().zip(&mut self.bones) {
            let (Some(a), Some(b)) = (self.joints[bone.0], self.joints[bone.1]) else { continue };
            let way = b.at() - a.at();
            let now = way.norm();
            let (sa, sb) = (a.sigma().powi(2), b.sigma().powi(2));
            if !(0.05..0.9).contains(&now) {
                continue;
            }
            if *length == 0.0 {
                if sa.max(sb) < 0.06 * 0.06 {
                    *length = now;
                }
                continue;
            }
            if sa.max(sb) < 0.06 * 0.06 {
                // A middle value rather than a mean: it follows the sign alone.
                *length += (0.01 * (now - *length)).clamp(-0.0005, 0.0005);
            }
            let by = way * ((*length - now) / now * STIFF / (sa + sb));
            if let [Some(a), Some(b)] = [bone.0, bone.1].map(|j| self.joints[j]) {
                let (mut a, mut b) = (a, b);
                a.shift(-by * sa);
                b.shift(by * sb);
                (self.joints[bone.0], self.joints[bone.1]) = (Some(a), Some(b));
            }
        }
    }

    /// Mean distance of joints that both know; `None` for less than six.
    pub fn apart(&self, other: &Body) -> Option<f64> {
        let both =
            self.joints.iter().zip(&other.joints).filter_map(|(a, b)| Some((a.as_ref()?, b.as_ref()?)));
        let (sum, count) = both.fold((0.0, 0.0), |(s, n), (a, b)| (s + (a.at() - b.at()).norm(), n + 1.0));
        (count >= 6.0).then(|| sum / count)
    }
}
