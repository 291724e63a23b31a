//! Somebody who walks about a room after recorded walks, and stops to do something recorded.

use std::sync::Arc;

use people::asset::Asset;
use people::math::{PI, atan2, vec3, yaw};
use people::motion::{Clip, Places, ahead, blend, heading, joint::PELVIS};
use pose::JOINTS;

use crate::V3;

/// Walks that are recorded straight on: clip, from which second.
const WALKS: [(&str, f32); 4] = [("08_02", 0.1), ("35_02", 0.1), ("12_02", 0.6), ("136_21", 0.4)];
/// Things done on the spot: clip, from which second, how long.
const ACTS: [(&str, f32, f32); 6] = [
    ("02_05", 0.5, 3.2),
    ("02_06", 1.0, 4.0),
    ("02_10", 1.0, 4.0),
    ("60_01", 1.0, 4.0),
    ("61_14", 1.0, 4.0),
    ("135_04", 0.5, 3.0),
];
/// Truth is kept at this rate; between its moments motion is straight.
const HZ: f32 = 120.0;
const ANKLE_M: f32 = 0.085;
const BLEND_S: f32 = 0.4;

/// One person's way through a room.
#[derive(Clone, Debug)]
pub struct Walker {
    frames: Arc<Vec<[V3; JOINTS]>>,
    /// As a tape measures it, standing.
    pub stature_m: f64,
}

/// One cycle of a recorded walk.
struct Gait {
    clip: &'static Clip,
    from_s: f32,
    period_s: f32,
    stride_m: f32,
}

impl Gait {
    fn new(asset: &'static Asset, (name, from_s): (&str, f32)) -> Self {
        let clip = asset.clips.clip(name).expect("an embedded clip");
        let hz = asset.clips.hz;
        let pose = |t: f32| ahead(&clip.at(t, hz));
        let first = pose(from_s);
        let apart =
            |a: &Places, b: &Places| a.iter().zip(b).map(|(a, b)| (*a - *b).dot(*a - *b)).sum::<f32>();
        // The lag at which the walk looks most like its beginning.
        let period_s = (16..30)
            .map(|k| k as f32 / hz)
            .min_by(|&a, &b| apart(&first, &pose(from_s + a)).total_cmp(&apart(&first, &pose(from_s + b))))
            .unwrap_or(1.1)
            .min((clip.length_s(hz) - from_s) / 2.0);
        let (a, b) = (clip.at(from_s, hz)[PELVIS], clip.at(from_s + period_s, hz)[PELVIS]);
        Self { clip, from_s, period_s, stride_m: (b - a).flat().length() }
    }

    /// The walk at a phase, over the origin, heading along +z.
    fn at(&self, phase: f32, hz: f32) -> Places {
        let u = phase - phase.floor();
        let t = self.from_s + u * self.period_s;
        let (a, b) = (ahead(&self.clip.at(t, hz)), ahead(&self.clip.at(t + self.period_s, hz)));
        let lift = vec3(0.0, ANKLE_M - self.clip.ankle_m, 0.0);
        blend(&b, &a, u).map(|p| p + lift)
    }
}

impl Walker {
    /// Walks for `seconds` within `reach_m` of `middle` (x, y of the room). `lively`: the share of stops at which something is done.
    pub fn new(seconds: f64, middle: [f64; 2], reach_m: f64, lively: f64, rng: &mut fastrand::Rng) -> Self {
        let asset = Asset::embedded();
        let hz = asset.clips.hz;
        let gait = Gait::new(asset, WALKS[rng.usize(..WALKS.len())]);
        let scale = 0.94 + 0.12 * rng.f32();
        let mut frames = Vec::new();
        let mut somewhere = || {
            let (angle, far) = (2.0 * PI * rng.f32(), (reach_m as f32) * rng.f32().sqrt());
            (vec3(far * angle.cos(), 0.0, far * angle.sin()), rng.f32(), rng.usize(..ACTS.len()))
        };
        let (mut at, _, _) = somewhere();
        let (mut to, mut luck, mut act) = somewhere();
        let (mut facing, mut phase) = (0.0f32, 0.0f32);
        let speed = gait.stride_m / gait.period_s * scale;
        let mut doing: Option<f32> = None;
        let mut act_from = (at, facing);
        while (frames.len() as f64) < seconds * f64::from(HZ) + 2.0 {
            let mut p = gait.at(phase, hz);
            if let Some(t) = doing {
                let (name, from_s, length_s) = ACTS[act];
                let clip = asset.clips.clip(name).expect("an embedded clip");
                let (first, now) = (clip.at(from_s, hz), clip.at(from_s + t, hz));
                let moved = (yaw(-heading(&first)) * (now[PELVIS] - first[PELVIS])).flat() * scale;
                let lift = vec3(0.0, ANKLE_M - clip.ankle_m, 0.0);
                let inside = (t / BLEND_S).min((length_s - t) / BLEND_S).clamp(0.0, 1.0);
                p = blend(&p, &ahead(&now).map(|q| q + lift), inside);
                at = act_from.0 + yaw(act_from.1) * moved * inside;
                facing = act_from.1 + shortest(heading(&first), heading(&now)) * inside;
                doing = (t + 1.0 / HZ < length_s).then_some(t + 1.0 / HZ);
                if doing.is_none() {
                    (to, luck, act) = somewhere();
                }
            } else {
                let way = to - at;
                // A turn of at most a radian and a half a second, and slower steps meanwhile.
                let by = shortest(facing, atan2(way.x, way.z));
                facing += by.clamp(-1.5 / HZ, 1.5 / HZ);
                let step = speed * (1.0 - 0.7 * by.abs().min(1.0)) / HZ;
                at += yaw(facing) * vec3(0.0, 0.0, step);
                phase += step / (gait.stride_m * scale);
                if way.length() < 0.3 {
                    if f64::from(luck) < lively {
                        (doing, act_from) = (Some(0.0), (at, facing));
                    } else {
                        (to, luck, act) = somewhere();
                    }
                }
            }
            let turn = yaw(facing);
            frames.push(std::array::from_fn(|j| {
                let q = turn * p[j] * scale + at;
                // From people's axes (y up) to the room's (z up).
                V3::new(middle[0] + f64::from(q.x), middle[1] - f64::from(q.z), f64::from(q.y))
            }));
        }
        let top = (0..60).map(|k| gait.at(k as f32 / 60.0, hz)[19].y * scale).fold(0.0, f32::max);
        // Somebody who stands is a little higher than at the middle of a step.
        Self { frames: Arc::new(frames), stature_m: f64::from(top) + 0.01 }
    }

    /// COCO's joints `t_s` seconds in, metres of the room; the ends stay.
    pub fn at(&self, t_s: f64) -> [V3; JOINTS] {
        let t = (t_s * f64::from(HZ)).clamp(0.0, (self.frames.len() - 1) as f64);
        let k = (t as usize).min(self.frames.len() - 2);
        let (a, b) = (&self.frames[k], &self.frames[k + 1]);
        std::array::from_fn(|j| a[j].lerp(&b[j], t - k as f64))
    }
}

fn shortest(from: f32, to: f32) -> f32 {
    let turns = (to - from) / (2.0 * PI);
    (turns - turns.round()) * 2.0 * PI
}

#[cfg(test)]
mod tests {
    use super::*;
    use pose::Joint;

    #[test]
    fn walkers_stay_in_the_room_on_their_feet_and_whole() {
        for seed in 0..6 {
            let w = Walker::new(30.0, [1.0, -2.0], 1.5, 0.5, &mut fastrand::Rng::with_seed(seed));
            assert!((1.5..2.0).contains(&w.stature_m), "{}", w.stature_m);
            let mut before = w.at(0.0);
            let mut walked = 0.0;
            for k in 1..900 {
                let p = w.at(f64::from(k) / 30.0);
                let hips = 0.5 * (p[11] + p[12]);
                assert!((hips.xy() - crate::V2::new(1.0, -2.0)).norm() < 4.0, "seed {seed}: {hips}");
                assert!(p[15].z.min(p[16].z) > -0.1 && p[15].z.min(p[16].z) < 0.6, "seed {seed}, {k}");
                assert!(p[Joint::Nose as usize].z < w.stature_m + 0.6);
                let fastest = (0..JOINTS).map(|j| (p[j] - before[j]).norm() * 30.0).fold(0.0, f64::max);
                assert!(fastest < 15.0, "seed {seed}, {k}: {fastest} m/s");
                walked += (hips - 0.5 * (before[11] + before[12])).norm();
                before = p;
            }
            assert!(walked > 8.0, "seed {seed}: {walked} m");
        }
    }
}
