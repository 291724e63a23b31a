//! Somebody new: two cameras whose unknown persons are the same body.

use std::collections::HashMap;
use std::ops::Range;

use pose::{JOINTS, Joint, MIRROR};

use super::body::{ARM_BONES, BONES, RESTLESS};
use super::joint::{JointFilter, strayed};
use super::rate::{FRESH_US, Rates};
use crate::geometry::{View, centre, triangulate};
use crate::line::Seen;
use crate::{Extrinsics, V2, V3};

/// What one camera saw and nobody in the room explains.
#[derive(Clone, Debug)]
pub(super) struct Loose {
    pub at_us: i64,
    pub seen: Seen,
    /// How rays moved since the look before, a second.
    pub speed: [V2; JOINTS],
    /// From the camera towards the middle of the trunk, in the room; `None` where no trunk is seen.
    line: Option<(V3, V3)>,
}

impl Loose {
    /// Seen by a camera at `place`.
    pub fn new(place: &Extrinsics, at_us: i64, seen: Seen, speed: [V2; JOINTS]) -> Self {
        let rays = Joint::TRUNK.iter().filter_map(|&j| Some(seen.joints[j as usize]?.at));
        let (sum, count) = rays.fold((V2::zeros(), 0.0), |s, r| (s.0 + r, s.1 + 1.0));
        let line = (count > 0.0).then(|| {
            let ray = sum / count;
            (centre(place), (place.rotation.inverse() * V3::new(ray.x, ray.y, 1.0)).normalize())
        });
        Self { at_us, seen, speed, line }
    }
}

/// What a joint may have left its way by within the time beyond [`FRESH_US`] is seen so far away, metres.
const SPREAD_M: f64 = 3.0;
/// In a row, so often must two persons fit.
const TIMES: u32 = 3;
/// Joints that must meet.
const MIN_JOINTS: usize = 8;
/// Mean misfit of the rays of both cameras, in sigmas squared.
const MEETS: f64 = 2.2;
/// The same, of whom both see the upper half alone.
const MEETS_HALF: f64 = 1.6;
/// Bodies that can be, metres: of bones, of arms' bones, from shoulders to hips, from one to the other, from there to the head, and above the floor.
const BONE_M: Range<f64> = 0.04..0.8;
const ARM_BONE_M: Range<f64> = 0.04..0.45;
const TRUNK_M: Range<f64> = 0.25..0.85;
const SHOULDERS_M: Range<f64> = 0.15..0.6;
const NECK_M: Range<f64> = 0.1..0.45;
const ABOVE_M: (f64, f64) = (-0.4, 2.6);

/// Who may be whom: (camera, identity) twice → how often it fitted, and when last.
#[derive(Clone, Debug, Default)]
pub(super) struct Births {
    fitted: HashMap<[(usize, u32); 2], (u32, i64)>,
}

/// A body that two cameras agree on.
pub(super) struct Newborn {
    pub joints: [Option<JointFilter>; JOINTS],
    pub camera: usize,
    pub as_whom: u32,
}

impl Births {
    /// Whether `seen` by `camera` is somebody whom another camera does not know either.
    pub fn look(
        &mut self,
        places: &[Extrinsics],
        rates: &Rates,
        camera: usize,
        now: &Loose,
        others: &[Vec<Loose>],
    ) -> Option<Newborn> {
        self.fitted.retain(|[(a, _), (b, _)], (_, at)| now.at_us - *at < rates.row_us(*a, *b));
        let mut best: Option<(f64, Newborn)> = None;
        for (other, loose) in others.iter().enumerate().filter(|o| o.0 != camera) {
            // Older ones are elsewhere by now.
            let fresh_us = rates.fresh_us(camera, other);
            for then in loose.iter().filter(|l| (now.at_us - l.at_us).abs() < fresh_us) {
                if !may_meet(now, then) {
                    continue;
                }
                // Whoever turns their back to one of both has left and right exchanged there.
                for exchanged in [false, true] {
                    let pair = [(camera, now), (other, then)];
                    let Some((cost, joints)) = body(places, pair, exchanged) else { continue };
                    if best.as_ref().is_none_or(|b| cost < b.0) {
                        let as_whom = then.seen.id;
                        best = Some((cost, Newborn { joints, camera: other, as_whom }));
                    }
                }
            }
        }
        let (_, newborn) = best?;
        let (me, them) = ((camera, now.seen.id), (newborn.camera, newborn.as_whom));
        let key = if me < them { [me, them] } else { [them, me] };
        let (times, at) = self.fitted.entry(key).or_default();
        (*times, *at) = (*times + 1, now.at_us);
        (*times >= TIMES).then_some(newborn)
    }
}

/// Metres: two trunks' rays that pass each other farther away are of two people; nobody is found farther off than that.
const PASS_M: f64 = 0.5;
const FAR_M: f64 = 15.0;

/// Whether the rays to the middles of both come near each other, before both cameras and above the floor: cheap, for most do not.
fn may_meet(now: &Loose, then: &Loose) -> bool {
    let (Some((a, u)), Some((b, v))) = (now.line, then.line) else { return false };
    let (between, cosine) = (b - a, u.dot(&v));
    let square = 1.0 - cosine * cosine;
    if square < 1e-4 {
        return false;
    }
    let s = (between.dot(&u) - between.dot(&v) * cosine) / square;
    let t = (between.dot(&u) * cosine - between.dot(&v)) / square;
    let (p, q) = (a + u * s, b + v * t);
    let before = |x: f64| (0.2..FAR_M).contains(&x);
    before(s) && before(t) && (p - q).norm() < PASS_M && (ABOVE_M.0..ABOVE_M.1).contains(&p.z)
}

/// The body that both saw, at the first one's moment, and how badly rays meet; `exchanged`: if the second one took left for right.
fn body(
    places: &[Extrinsics],
    pair: [(usize, &Loose); 2],
    exchanged: bool,
) -> Option<(f64, [Option<JointFilter>; JOINTS])> {
    let [(a, now), (b, then)] = pair;
    let later = (now.at_us - then.at_us) as f64 / 1e6;
    let stale = (later.abs() - FRESH_US as f64 / 1e6).max(0.0);
    let mut joints = [None; JOINTS];
    let mut at = [None::<V3>; JOINTS];
    let (mut sum, mut count) = (0.0, 0);
    for j in 0..JOINTS {
        // From the shoulders down: nobody takes an ear for the other.
        let k = if exchanged && j > 4 { MIRROR[j] } else { j };
        let (Some(p), Some(q)) = (now.seen.joints[j], then.seen.joints[k]) else { continue };
        let views = [
            View { camera: &places[a], ray: p.at, sigma: p.sigma },
            View {
                camera: &places[b],
                ray: q.at + then.speed[k] * later,
                sigma: q.sigma.hypot(strayed(stale, RESTLESS[k]).sqrt() / SPREAD_M),
            },
        ];
        count += 1;
        let Some(spot) = triangulate(&views) else {
            sum += 8.0;
            continue;
        };
        // Two rays have one number to disagree in, of four.
        sum += (4.0 * spot.misfit).min(8.0);
        if spot.misfit < 2.5 && (ABOVE_M.0..ABOVE_M.1).contains(&spot.at.z) {
            at[j] = Some(spot.at);
            joints[j] = Some(JointFilter::new(spot.at, spot.covariance));
        }
    }
    let cost = sum / f64::from(count.max(1));
    if at.iter().flatten().count() < MIN_JOINTS || cost > MEETS {
        return None;
    }
    let lengths = |of: &[(usize, usize)]| -> Vec<f64> {
        of.iter().filter_map(|(a, b)| Some((at[*a]? - at[*b]?).norm())).collect()
    };
    // Rays of two different people meet too, in bodies that nobody has.
    let is_body = match (at[5].zip(at[6]), at[11].zip(at[12])) {
        (Some((l, r)), Some((m, s))) => {
            let lengths = lengths(&BONES);
            let fair = lengths.iter().filter(|m| BONE_M.contains(m)).count();
            let trunk_m = (0.5 * (l + r) - 0.5 * (m + s)).norm();
            5 * fair >= 4 * lengths.len() && TRUNK_M.contains(&trunk_m)
        }
        // Who stands or sits behind something: there is less that must fit, so all of it must.
        (Some((l, r)), None) => {
            let head = mean(at[..5].iter().flatten());
            let neck_m = head.map(|head| (head - 0.5 * (l + r)).norm());
            cost <= MEETS_HALF
                && lengths(&BONES[..ARM_BONES]).iter().all(|m| ARM_BONE_M.contains(m))
                && SHOULDERS_M.contains(&(l - r).norm())
                && neck_m.is_some_and(|m| NECK_M.contains(&m))
        }
        _ => false,
    };
    is_body.then_some((cost, joints))
}

fn mean<'a>(places: impl Iterator<Item = &'a V3>) -> Option<V3> {
    let (sum, count) = places.fold((V3::zeros(), 0.0), |(sum, n), at| (sum + at, n + 1.0));
    (count > 0.0).then(|| sum / count)
}
