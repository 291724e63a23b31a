//! A person in the room: 17 joints, how long the bones are, who saw them.

use pose::{JOINTS, Joint, MIRROR};

use super::joint::{Expected, JointFilter, coasted};
use crate::V3;
use crate::geometry::Eye;
use crate::line::{Ray, Seen};

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
/// The first of them, which are the arms'.
pub(super) const ARM_BONES: usize = 4;
/// From where a joint that nobody has seen yet is looked for: the first of both that is known.
const NEAR: [[Joint; 2]; JOINTS] = {
    use Joint::*;
    [
        [LeftEar, LeftShoulder],
        [Nose, LeftShoulder],
        [Nose, RightShoulder],
        [Nose, LeftShoulder],
        [Nose, RightShoulder],
        [RightShoulder, LeftHip],
        [LeftShoulder, RightHip],
        [LeftShoulder, RightShoulder],
        [RightShoulder, LeftShoulder],
        [LeftElbow, LeftShoulder],
        [RightElbow, RightShoulder],
        [RightHip, LeftShoulder],
        [LeftHip, RightShoulder],
        [LeftHip, RightHip],
        [RightHip, LeftHip],
        [LeftKnee, LeftHip],
        [RightKnee, RightHip],
    ]
};
const ARMS: [usize; 6] = Joint::indices(Joint::ARMS);
const LEGS: [usize; 6] = Joint::indices(Joint::LEGS);
/// How far such a joint may be from there, metres.
const ABOUT_M: f64 = 0.35;
/// How restless joints are, m²/s³: trunks, arms and legs swing.
pub(super) const RESTLESS: [f64; JOINTS] =
    [4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 12.0, 12.0, 25.0, 25.0, 4.0, 4.0, 12.0, 12.0, 25.0, 25.0];
/// The share by which a bone's length is put right each time.
const STIFF: f64 = 0.25;
/// A joint known worse than this, metres, is not told.
pub(super) const TOLD_M: f64 = 0.20;
/// With fewer joints known nothing can be held against somebody, and nobody could say where they are.
pub(super) const MIN_KNOWN: usize = 4;
/// Limbs whose left and right a camera may take for each other.
pub(super) const GROUPS: [&[usize; 6]; 2] = [&ARMS, &LEGS];
/// What it costs, in sigmas squared, to say that a camera takes left for right: whoever turns their back is taken for somebody who
/// faces the camera, arms and legs alike; one of both alone is rarer.
const EXCHANGED: f64 = 20.0;
const HALF: f64 = 30.0;
/// Below that a joint fits so well that nobody asks whether it fits the other way round.
const FITS: f64 = 2.0;
/// Seconds in which a body's front is made up, and how sure that must be against its sides before these are exchanged.
const FRONT_S: f64 = 0.2;
const BACKWARD: f64 = -0.2;

/// Seconds in which it is made up whether arms, or legs, alone have the wrong sides, and the share of looks that must say so.
const ALONE_S: f64 = 0.5;
const ALONE: f64 = 0.35;
/// So many cameras that saw it just now: of two, neither is outvoted.
const OUTVOTED: usize = 3;
const WATCHED_US: i64 = 500_000;

/// Who went: number, when they were seen last, where.
pub(super) type Gone = (u32, i64, V3);

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
    /// How much face and knees look where the sides say that the front is: a mean over the last second, 1 for all, -1 for the other way.
    front: f64,
    /// The share of the last looks in which arms, or legs, alone fitted the other way round.
    alone: [f64; 2],
    /// The middle of the trunk and its speed.
    middle: Option<(V3, V3)>,
    /// Since when it is where an older one is.
    pub doubled_since_us: Option<i64>,
    /// Who went near there and whose number it has: theirs again if it is nobody.
    pub back: Option<Gone>,
}

/// How what a camera saw fits a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    /// A joint: mean of squared distances in sigmas, half of what each may be at most; 1 is as expected.
    pub misfit: f64,
    /// Whether arms and legs fit better with left and right exchanged.
    pub exchanged: [bool; 2],
}

fn is_told(joint: &JointFilter) -> bool {
    joint.variance() < TOLD_M * TOLD_M
}

/// Rays with arms and legs the other way round where `exchanged` says so.
pub(super) fn sides(rays: &[Option<Ray>; JOINTS], exchanged: [bool; 2]) -> [Option<Ray>; JOINTS] {
    let mut right = *rays;
    for (limbs, _) in GROUPS.iter().zip(exchanged).filter(|g| g.1) {
        limbs.iter().for_each(|&j| right[j] = rays[MIRROR[j]]);
    }
    right
}

/// Which limbs fit better the other way round; `offs` of these are then those.
fn fits_exchanged(
    expected: &[Option<Expected>; JOINTS],
    offs: &mut [Option<f64>; JOINTS],
    rays: &[Option<Ray>; JOINTS],
) -> [bool; 2] {
    let limbs = || GROUPS.iter().flat_map(|limbs| limbs.iter().copied());
    let own: f64 = limbs().filter_map(|j| offs[j]).sum();
    let known = limbs().filter(|&j| offs[j].is_some()).count();
    if known < 3 || own < FITS * known as f64 {
        return [false; 2];
    }
    // What arms and legs gain by it, where both ways are known.
    let mut others = [None; JOINTS];
    let mut gains = [0.0; 2];
    for (limbs, gain) in GROUPS.iter().zip(&mut gains) {
        for &j in *limbs {
            others[j] =
                expected[j].zip(rays[MIRROR[j]]).map(|(e, ray)| e.off(ray.at, ray.sigma).min(MAX_OFF));
            *gain += offs[j].zip(others[j]).map_or(0.0, |(own, other)| own - other);
        }
    }
    let worth = |exchanged: [bool; 2]| {
        let gained: f64 = gains.iter().zip(exchanged).filter(|g| g.1).map(|g| g.0).sum();
        let cost = match exchanged {
            [false, false] => 0.0,
            [true, true] => EXCHANGED,
            _ => HALF,
        };
        gained - cost
    };
    let all = [[false, false], [true, true], [true, false], [false, true]];
    let best = all.into_iter().max_by(|a, b| worth(*a).total_cmp(&worth(*b))).unwrap_or_default();
    for (limbs, _) in GROUPS.iter().zip(best).filter(|g| g.1) {
        limbs.iter().for_each(|&j| offs[j] = others[j]);
    }
    best
}

/// What a ray is off by, in its own sigmas, at most: one wild joint must not speak for all.
const MAX_OFF: f64 = 36.0;

impl Body {
    pub fn new(id: u32, at_us: i64, joints: [Option<JointFilter>; JOINTS], cameras: usize) -> Self {
        let mut body = Self {
            id,
            at_us,
            born_us: at_us,
            joints,
            bones: [0.0; BONES.len()],
            seen_us: vec![i64::MIN / 2; cameras],
            seen_as: vec![0; cameras],
            front: 0.0,
            alone: [0.0; 2],
            middle: None,
            doubled_since_us: None,
            back: None,
        };
        body.find_middle();
        body
    }

    /// It is elsewhere: as if it were new, but for who it is and how long its bones are.
    pub fn put(&mut self, at_us: i64, joints: [Option<JointFilter>; JOINTS]) {
        (self.at_us, self.joints) = (at_us, joints);
        (self.front, self.alone) = (0.0, [0.0; 2]);
        self.find_middle();
    }

    /// How many cameras saw it within `us` before `at_us`.
    pub fn watched_by(&self, at_us: i64, us: i64) -> usize {
        self.seen_us.iter().filter(|&&t| at_us - t < us).count()
    }

    /// Whether two cameras have seen it since it was born.
    pub fn is_sure(&self) -> bool {
        self.seen_us.iter().filter(|t| **t > self.born_us).count() >= 2
    }

    /// When somebody saw it last.
    pub fn last_us(&self) -> i64 {
        self.seen_us.iter().copied().max().unwrap_or(i64::MIN / 2)
    }

    /// The middle of what is known of shoulders and hips.
    pub fn middle(&self, seconds: f64) -> Option<V3> {
        self.middle.map(|(at, speed)| at + speed * coasted(seconds))
    }

    fn find_middle(&mut self) {
        let known = Joint::TRUNK.iter().filter_map(|&j| self.joints[j as usize].as_ref());
        let zero = (V3::zeros(), V3::zeros(), 0.0);
        let (at, speed, n) = known.fold(zero, |(a, s, n), k| (a + k.at(), s + k.speed(), n + 1.0));
        self.middle = (n > 0.0).then(|| (at / n, speed / n));
    }

    /// Brings it to `at_us`; a moment that is past leaves it as it is.
    pub fn go_on(&mut self, at_us: i64) {
        let seconds = (at_us - self.at_us) as f64 / 1e6;
        if seconds <= 0.0 {
            return;
        }
        self.at_us = at_us;
        self.joints = self.joints_after(seconds);
    }

    /// Its joints so much later, and how well they are known by then; or where they were before.
    pub fn joints_after(&self, seconds: f64) -> [Option<JointFilter>; JOINTS] {
        let mut joints = self.joints;
        for (joint, restless) in joints.iter_mut().zip(RESTLESS) {
            let Some(joint) = joint else { continue };
            if seconds > 0.0 {
                joint.go_on(seconds, restless);
            } else {
                joint.shift(joint.after(seconds) - joint.at());
            }
        }
        joints
    }

    /// Joints that are known as well as is told, as of the last look.
    pub fn known(&self) -> usize {
        self.joints.iter().flatten().filter(|joint| is_told(joint)).count()
    }

    /// How what a camera saw at `at_us` fits; `None` for too few joints in common.
    pub fn fit(&self, eye: &Eye, seen: &Seen, at_us: i64) -> Option<Fit> {
        let late = (self.at_us - at_us) as f64 / 1e6;
        let mut expected: [Option<Expected>; JOINTS] = [None; JOINTS];
        let mut offs = [None; JOINTS];
        for (j, (joint, ray)) in self.joints.iter().zip(&seen.joints).enumerate() {
            let Some(joint) = joint.as_ref().filter(|joint| is_told(joint)) else { continue };
            // A pair may be seen the other way round: its rays are each other's.
            if ray.is_none() && seen.joints[MIRROR[j]].is_none() {
                continue;
            }
            expected[j] = Some(joint.expected(eye, late, RESTLESS[j])?);
            offs[j] = ray.zip(expected[j]).map(|(ray, e)| e.off(ray.at, ray.sigma).min(MAX_OFF));
        }
        let exchanged = fits_exchanged(&expected, &mut offs, &seen.joints);
        let (sum, count) = offs.iter().flatten().fold((0.0, 0.0), |(s, n), off| (s + off / 2.0, n + 1.0));
        (count >= MIN_KNOWN as f64).then(|| Fit { misfit: sum / count, exchanged })
    }

    /// Takes in what a camera saw; left and right as they fit.
    pub fn take(&mut self, eye: &Eye, number: usize, seen: &Seen, at_us: i64, exchanged: [bool; 2]) {
        let seconds = ((at_us - self.last_us()) as f64 / 1e6).clamp(0.0, 0.2);
        self.go_on(at_us);
        let late = (self.at_us - at_us) as f64 / 1e6;
        let rays = sides(&seen.joints, exchanged);
        for j in 0..JOINTS {
            let Some(ray) = rays[j] else { continue };
            if self.joints[j].is_none() {
                let near = NEAR[j].iter().find_map(|&near| self.joints[near as usize]);
                self.joints[j] = near.map(|near| {
                    JointFilter::new(near.at(), nalgebra::Matrix3::identity() * (ABOUT_M * ABOUT_M))
                });
            }
            if let Some(joint) = &mut self.joints[j] {
                joint.take(eye, ray.at, ray.sigma, late, RESTLESS[j]);
            }
        }
        self.hold_bones();
        self.agree(exchanged, seconds);
        self.look_to_the_front(seconds);
        self.find_middle();
        self.seen_us[number] = self.seen_us[number].max(at_us);
        self.seen_as[number] = seen.id;
    }

    /// One camera takes arms, or legs, for each other now and then; where many do, it is the body that has them the wrong way round, from
    /// when it began or from a moment in which both lay on each other.
    fn agree(&mut self, exchanged: [bool; 2], seconds: f64) {
        let kept = (-seconds / ALONE_S).exp();
        for (group, limbs) in GROUPS.iter().enumerate() {
            let now = f64::from(exchanged[group] && !exchanged[1 - group]);
            self.alone[group] += (now - self.alone[group]) * (1.0 - kept);
            if self.alone[group] > ALONE && self.watched_by(self.at_us, WATCHED_US) >= OUTVOTED {
                self.exchange(&[limbs]);
            }
        }
    }

    /// Left for right, of some limbs.
    pub fn exchange(&mut self, groups: &[&[usize; 6]]) {
        let before = self.joints;
        groups.iter().flat_map(|limbs| limbs.iter()).for_each(|&j| self.joints[j] = before[MIRROR[j]]);
        self.alone = [0.0; 2];
    }

    /// Left is left of where the face looks and knees bend. Cameras behind somebody take left for right, and when most of them do
    /// the body has its sides from them: then all of its limbs are exchanged.
    fn look_to_the_front(&mut self, seconds: f64) {
        let place =
            |j: usize| self.joints[j].as_ref().filter(|joint| joint.variance() < 0.01).map(JointFilter::at);
        let middle = |a: usize, b: usize| Some(0.5 * (place(a)? + place(b)?));
        let across = |left: usize, right: usize| Some(place(left)? - place(right)?);
        let Some(left) = across(5, 6).or_else(|| across(11, 12)) else { return };
        let front = left.cross(&V3::z());
        if front.norm() < 0.1 {
            return;
        }
        let front = front.normalize();
        // A nose lies a hand's length before the ears, a bent knee before the line from hip to ankle.
        let face = place(0).zip(middle(3, 4)).map_or(0.0, |(nose, ears)| (nose - ears).dot(&front) / 0.1);
        let knee = |hip: usize, knee: usize, ankle: usize| {
            Some((place(knee)? - 0.5 * (place(hip)? + place(ankle)?)).dot(&front) / 0.1)
        };
        let knees: f64 = [knee(11, 13, 15), knee(12, 14, 16)].iter().flatten().sum();
        let now = (face + 0.5 * knees).clamp(-1.0, 1.0);
        self.front += (now - self.front) * (1.0 - (-seconds / FRONT_S).exp());
        if self.front < BACKWARD {
            self.exchange(&GROUPS);
            self.front = -self.front;
        }
    }

    /// Learns how long bones are, and brings joints to where the bones have that length: the worse known one moves more.
    fn hold_bones(&mut self) {
        for (bone, length) in BONES.iter().zip(&mut self.bones) {
            let (Some(a), Some(b)) = (&self.joints[bone.0], &self.joints[bone.1]) else { continue };
            let way = b.at() - a.at();
            let now = way.norm();
            let (sa, sb) = (a.variance(), b.variance());
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
            for (j, by) in [(bone.0, -by * sa), (bone.1, by * sb)] {
                if let Some(joint) = &mut self.joints[j] {
                    joint.shift(by);
                }
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
