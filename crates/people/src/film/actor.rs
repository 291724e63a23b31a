//! What one person does: walks to a place, turns, stands or does something recorded, and so on without end.

use std::sync::Arc;

use pose::Joint;

use crate::{
    asset::Asset,
    body::{Body, Bones},
    math::{PI, Vec3, atan2, cos, sin, smooth, vec3, yaw},
    motion::{
        Clip, Motion, Places, ahead, blend, heading,
        joint::{HEAD_TOP, PELVIS},
        mirrored, standing,
    },
    posing::leg_scale,
    rng::Rng,
};

/// Ankle of a standing foot in the poses that actors give.
pub const STANDING_ANKLE_M: f32 = 0.085;

/// Walks that are recorded straight on: clip, from which second.
const WALKS: [(&str, f32); 4] = [("08_02", 0.1), ("35_02", 0.1), ("12_02", 0.6), ("136_21", 0.4)];

/// Things done on the spot: clip, from which second, how long.
const ACTS: [(&str, f32, f32); 7] = [
    ("02_05", 0.5, 3.2),
    ("02_06", 1.0, 4.0),
    ("02_10", 1.0, 4.0),
    ("02_10", 5.0, 4.0),
    ("60_01", 1.0, 4.0),
    ("61_14", 1.0, 4.0),
    ("135_04", 0.5, 3.0),
];

/// Seconds in which one thing turns into the next.
const BLEND_S: f32 = 0.45;

/// Somebody lively does one thing more instead of walking on, with this chance.
const LIVELY_AGAIN: f32 = 0.6;

/// Seconds that something out of a motion file lasts.
const LIVELY_S: [f32; 2] = [1.5, 5.0];

/// How fast it is done, times as recorded.
const LIVELY_RATE: [f32; 2] = [0.7, 1.4];

/// Something recorded, from some second of a clip on.
#[derive(Debug, Clone)]
struct Act {
    clip: usize,
    from_s: f32,
    /// Times as fast as recorded.
    rate: f32,
    mirrored: bool,
}

#[derive(Debug, Clone)]
enum Deed {
    Walk { to: Vec3 },
    Turn { to: f32 },
    Stand,
    Act(Act),
}

#[derive(Debug, Clone)]
struct Step {
    deed: Deed,
    start_s: f32,
    length_s: f32,
    at: Vec3,
    heading: f32,
}

/// Where somebody walks.
#[derive(Debug, Clone, Copy)]
pub enum Stage {
    /// Across a lane at depth `lane_m`, `reach_m` to either side.
    Lane {
        /// Depth.
        lane_m: f32,
        /// To either side.
        reach_m: f32,
    },
    /// All over a round spot.
    Spot {
        /// Its middle.
        middle: Vec3,
        /// From there.
        reach_m: f32,
    },
}

/// One person's doings.
#[derive(Debug)]
pub struct Actor {
    asset: &'static Asset,
    /// What somebody lively does: anything in here.
    lively: Option<Arc<Motion>>,
    rng: Rng,
    stage: Stage,
    gait: Gait,
    steps: Vec<Step>,
    /// Legs' length over the recorded ones', known once the body is.
    pace: f32,
}

/// One cycle of a recorded walk: two steps that begin and end alike.
#[derive(Debug)]
struct Gait {
    clip: &'static Clip,
    from_s: f32,
    period_s: f32,
    /// Metres a cycle, of the recorded person.
    stride_m: f32,
}

impl Gait {
    fn new(asset: &'static Asset, name: &str, from_s: f32) -> Self {
        let clip = asset.clips.clip(name).expect("an embedded clip");
        let hz = asset.clips.hz;
        let pose = |t: f32| ahead(&clip.at(t, hz));
        let first = pose(from_s);
        // The lag at which the walk looks most like its beginning.
        let apart =
            |a: &Places, b: &Places| a.iter().zip(b).map(|(a, b)| (*a - *b).dot(*a - *b)).sum::<f32>();
        let best = (16..30)
            .map(|k| k as f32 / hz)
            .min_by(|&a, &b| apart(&first, &pose(from_s + a)).total_cmp(&apart(&first, &pose(from_s + b))));
        let period_s = best.unwrap_or(1.1).min((clip.length_s(hz) - from_s) / 2.0);
        let (a, b) = (clip.at(from_s, hz)[PELVIS], clip.at(from_s + period_s, hz)[PELVIS]);
        Self { clip, from_s, period_s, stride_m: (b - a).flat().length() }
    }

    /// The walk at a phase, over the origin, heading along +z.
    fn at(&self, phase: f32, hz: f32) -> Places {
        let u = phase - phase.floor();
        let t = self.from_s + u * self.period_s;
        let (a, b) = (ahead(&self.clip.at(t, hz)), ahead(&self.clip.at(t + self.period_s, hz)));
        let lift = vec3(0.0, STANDING_ANKLE_M - self.clip.ankle_m, 0.0);
        blend(&b, &a, u).map(|p| p + lift)
    }
}

impl Actor {
    /// Somebody on `stage`, as the `index`th there; `lively`: does whatever is recorded in there, one thing after another, and walks less.
    pub fn new(
        asset: &'static Asset,
        lively: Option<Arc<Motion>>,
        stage: Stage,
        index: usize,
        mut rng: Rng,
    ) -> Self {
        let (name, from_s) = WALKS[rng.below(WALKS.len())];
        let at = match stage {
            Stage::Lane { lane_m, reach_m } => {
                let side = if index.is_multiple_of(2) { -1.0 } else { 1.0 };
                vec3(side * reach_m * rng.between(0.3, 0.9), 0.0, lane_m)
            }
            Stage::Spot { middle, reach_m } => within(middle, reach_m, &mut rng),
        };
        let heading = if lively.is_some() { rng.between(-PI, PI) } else { 0.0 };
        let first = Step { deed: Deed::Stand, start_s: -10.0, length_s: 9.0 + rng.unit(), at, heading };
        let gait = Gait::new(asset, name, from_s);
        Self { asset, lively, rng, stage, gait, steps: vec![first], pace: 0.0 }
    }

    /// Where every joint is at `t_s`. Horizontally in metres of the world over the body's leg scale, as
    /// [`follow`](crate::posing::follow) wants it.
    pub fn at(&mut self, t_s: f32, bones: &Bones, body: &Body) -> Places {
        let hz = self.asset.clips.hz;
        if self.pace == 0.0 {
            self.pace = leg_scale(bones, body, &self.gait.at(0.0, hz));
        }
        while self.steps.last().is_some_and(|s| s.start_s + s.length_s < t_s) {
            self.plan();
        }
        let k = self.steps.iter().rposition(|s| s.start_s <= t_s).unwrap_or(0);
        let step = self.steps[k].clone();
        let (p, at, facing) = self.pose(&step, t_s - step.start_s);
        let scale = leg_scale(bones, body, &p);
        let turn = yaw(facing);
        p.map(|q| turn * q + at * (1.0 / scale))
    }

    /// What comes after the last step: mostly there and back across the lane.
    fn plan(&mut self) {
        let last = self.steps.last().expect("there is a first step").clone();
        let (_, at, heading) = self.pose(&last, last.length_s);
        let start_s = last.start_s + last.length_s;
        let (deed, length_s) = match self.stage {
            Stage::Lane { lane_m, reach_m } => self.across(&last.deed, at, lane_m, reach_m),
            Stage::Spot { middle, reach_m } => self.about(&last.deed, at, heading, middle, reach_m),
        };
        self.steps.push(Step { deed, start_s, length_s, at, heading });
    }

    /// Mostly there and back across the lane.
    fn across(&mut self, last: &Deed, at: Vec3, lane_m: f32, reach_m: f32) -> (Deed, f32) {
        let acts = self.about_to_act();
        let lively = self.lively.is_some();
        if lively && matches!(last, Deed::Act(_) | Deed::Stand) && self.rng.chance(LIVELY_AGAIN) {
            return self.stop();
        }
        let rng = &mut self.rng;
        match last {
            Deed::Turn { .. } if !acts => {
                let side = if at.x > 0.0 { -1.0 } else { 1.0 };
                let to =
                    vec3(side * reach_m * rng.between(0.35, 1.0), 0.0, lane_m + rng.between(-0.15, 0.15));
                self.walk(at, to)
            }
            Deed::Turn { .. } => self.stop(),
            Deed::Walk { .. } => {
                // Stops, and turns to the camera or away from it.
                let to = match lively {
                    true => rng.between(-PI, PI),
                    false if rng.chance(0.75) => 0.3 * rng.normal(),
                    false => PI + 0.3 * rng.normal(),
                };
                (Deed::Turn { to }, 1.1)
            }
            Deed::Act(_) | Deed::Stand => {
                let side = if at.x > 0.0 { -1.0 } else { 1.0 };
                (Deed::Turn { to: side * PI / 2.0 }, 0.9)
            }
        }
    }

    /// From place to place on the spot, with a stop now and then.
    fn about(&mut self, last: &Deed, at: Vec3, heading: f32, middle: Vec3, reach_m: f32) -> (Deed, f32) {
        match last {
            Deed::Walk { .. } if self.rng.chance(0.3) => {
                (Deed::Turn { to: heading + 0.6 * self.rng.normal() }, 1.1)
            }
            Deed::Turn { .. } => self.stop(),
            _ => {
                let mut to = within(middle, reach_m, &mut self.rng);
                // A step on the spot is no walk.
                for _ in 0..8 {
                    if (to - at).length() > 0.6 * reach_m {
                        break;
                    }
                    to = within(middle, reach_m, &mut self.rng);
                }
                self.walk(at, to)
            }
        }
    }

    fn walk(&self, at: Vec3, to: Vec3) -> (Deed, f32) {
        let speed = self.gait.stride_m / self.gait.period_s * self.pace.max(0.5);
        (Deed::Walk { to }, ((to - at).length() / speed + 0.6).max(1.2))
    }

    fn stop(&mut self) -> (Deed, f32) {
        if let Some(motion) = &self.lively {
            return anything(motion, &mut self.rng);
        }
        if self.rng.chance(0.25) {
            (Deed::Stand, self.rng.between(0.8, 2.0))
        } else {
            let (name, from_s, length_s) = ACTS[self.rng.below(ACTS.len())];
            let clip = self.asset.clips.index(name).expect("an embedded clip");
            (Deed::Act(Act { clip, from_s, rate: 1.0, mirrored: false }), length_s)
        }
    }

    /// Whether the last turn was made after a walk: then something is done here.
    fn about_to_act(&self) -> bool {
        self.steps.len() > 1 && matches!(self.steps[self.steps.len() - 2].deed, Deed::Walk { .. })
    }

    /// Pose over the origin heading along +z, and where and whither it goes, `t` seconds into a step.
    fn pose(&self, step: &Step, t: f32) -> (Places, Vec3, f32) {
        let hz = self.asset.clips.hz;
        let rest = standing(0.5 * sway(step.start_s + t, 0.11));
        let rest = breathing(rest, step.start_s + t);
        let (t, length) = (t.clamp(0.0, step.length_s), step.length_s);
        let inside = smooth(0.0, BLEND_S, t) * smooth(0.0, BLEND_S, length - t);
        match &step.deed {
            Deed::Stand => (rest, step.at, step.heading),
            Deed::Walk { to } => {
                let way = *to - step.at;
                let distance = way.length();
                let gone = travelled(t, length, BLEND_S) * distance;
                let phase = gone / (self.gait.stride_m * self.pace.max(0.5));
                let towards = atan2(way.x, way.z);
                let turned = step.heading + shortest(step.heading, towards) * smooth(0.0, 0.5, t);
                (blend(&rest, &self.gait.at(phase, hz), inside), step.at + way.unit() * gone, turned)
            }
            Deed::Turn { to } => {
                // Small steps on the spot.
                let by = shortest(step.heading, *to);
                let effort = (by.abs() / 1.2).min(1.0) * 0.42;
                let marching = self.gait.at(0.5 * t / self.gait.period_s * 2.0, hz);
                let p = blend(&rest, &marching, effort * inside);
                (p, step.at, step.heading + by * smooth(0.05, length - 0.05, t))
            }
            Deed::Act(act) => {
                let motion = self.lively.as_deref().unwrap_or(&self.asset.clips);
                let clip = &motion.clips[act.clip];
                let at = |t: f32| {
                    let p = clip.at(act.from_s + act.rate * t, motion.hz);
                    if act.mirrored { mirrored(&p) } else { p }
                };
                let (first, p) = (at(0.0), at(t));
                let back = yaw(-heading(&first));
                let moved = (back * (p[PELVIS] - first[PELVIS])).flat() * self.pace.max(0.5);
                let turned = shortest(heading(&first), heading(&p));
                let lift = vec3(0.0, STANDING_ANKLE_M - clip.ankle_m, 0.0);
                let own = ahead(&p).map(|q| q + lift);
                let shift = yaw(step.heading) * moved;
                // A person keeps to its lane, or to its spot.
                let kept = match self.stage {
                    Stage::Lane { reach_m, .. } if self.lively.is_some() => {
                        // Half out of the picture at most: who danced out of it would be gone for good.
                        let x = (step.at.x + shift.x).clamp(-1.3 * reach_m, 1.3 * reach_m);
                        vec3(x - step.at.x, 0.0, shift.z.clamp(-0.35, 0.35))
                    }
                    Stage::Lane { .. } => vec3(shift.x, 0.0, shift.z.clamp(-0.35, 0.35)),
                    Stage::Spot { middle, reach_m } => {
                        let to = step.at + shift - middle;
                        middle + to * (reach_m / to.length().max(reach_m)) - step.at
                    }
                };
                (blend(&rest, &own, inside), step.at + kept, step.heading + turned)
            }
        }
    }
}

/// Any part of any clip, longer ones oftener, either way round.
fn anything(motion: &Motion, rng: &mut Rng) -> (Deed, f32) {
    let (clip, frame) = motion.frame(rng);
    let rate = rng.between(LIVELY_RATE[0], LIVELY_RATE[1]);
    let whole_s = motion.clips[clip].length_s(motion.hz) / rate;
    let length_s = rng.between(LIVELY_S[0], LIVELY_S[1]).min(whole_s).max(2.5 * BLEND_S);
    let from_s = (frame as f32 / motion.hz).min((whole_s - length_s).max(0.0) * rate);
    (Deed::Act(Act { clip, from_s, rate, mirrored: rng.chance(0.5) }), length_s)
}

/// Somewhere within `reach_m` of `middle`, each place as likely.
fn within(middle: Vec3, reach_m: f32, rng: &mut Rng) -> Vec3 {
    let (angle, far_m) = (rng.between(0.0, 2.0 * PI), reach_m * rng.unit().sqrt());
    middle + vec3(far_m * cos(angle), 0.0, far_m * sin(angle))
}

/// The share of a way that is gone at `t` of `length` seconds, with soft ends of `soft` seconds.
fn travelled(t: f32, length: f32, soft: f32) -> f32 {
    let full = length - soft;
    let ramp = |t: f32| if t < soft { t * t / (2.0 * soft) } else { t - soft / 2.0 };
    let d = if t <= length - soft { ramp(t) } else { full - ramp(length - t) };
    (d / full).clamp(0.0, 1.0)
}

/// The shorter turn from one heading to another.
fn shortest(from: f32, to: f32) -> f32 {
    let turns = (to - from) / (2.0 * PI);
    (turns - turns.round()) * 2.0 * PI
}

/// A gentle swing about 0 of `rate` Hz.
fn sway(t_s: f32, rate: f32) -> f32 {
    0.6 * sin(2.0 * PI * rate * t_s) + 0.4 * cos(2.0 * PI * 1.7 * rate * t_s)
}

fn breathing(mut p: Places, t_s: f32) -> Places {
    let s = sin(1.5 * t_s);
    for j in Joint::indices(Joint::ARMS) {
        p[j].y += 0.003 * s;
    }
    for j in Joint::indices(Joint::HEAD).into_iter().chain([HEAD_TOP]) {
        p[j].x += 0.004 * sway(t_s, 0.17);
    }
    p
}
