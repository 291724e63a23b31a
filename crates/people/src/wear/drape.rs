//! A skirt on somebody who sits, squats or lifts a leg: cloth that the bones carry stays a stiff tube. Here it falls from where
//! they carry it, as far as it is long, and lies on whatever legs are below it. No time passes: a pose gives one drape.

use super::{Fitting, hang::limb};
use crate::{
    body::{Body, Bones, Posed, head_of},
    math::{Vec3, acos, mix, smooth, vec3},
};

/// Where along a leg its girth is known: 0 hip, 1 knee, 2 ankle.
const KNOTS: [f32; 6] = [0.0, 0.25, 0.6, 1.0, 1.4, 2.0];

/// Passes over the cloth.
const PASSES: usize = 26;

/// How far everything falls in the first pass, metres; less and less up to the last.
const FALL_M: f32 = 0.022;

/// Cloth in front falls from so high above where bones carry it: there it is outside of the thighs.
const LIFT_M: f32 = 0.07;

/// The share of it that what lies along the thighs falls.
const LIGHT: f32 = 0.3;

/// Between cloth and leg, metres.
const EASE_M: f32 = 0.008;

/// Thighs bent so far (radians, against hips and against the vertical) do not change a skirt, or change all of it.
const BENT: [f32; 2] = [0.45, 0.85];

/// A grid of rings, from the waist down.
#[derive(Debug, Clone)]
pub struct Drape {
    columns: usize,
    /// 1 where the hips hold a vertex, 0 where it falls freely.
    held: Vec<f32>,
    /// How much of it lies in front, 0 to 1.
    front: Vec<f32>,
    /// What is longer than the thighs falls farthest: 0 to 1.
    heavy: Vec<f32>,
    /// To the vertex above and to the next of the ring, at rest, metres.
    above_m: Vec<f32>,
    beside_m: Vec<f32>,
    /// Of each leg at [`KNOTS`], metres.
    girths_m: [[f32; KNOTS.len()]; 2],
}

/// One leg in the world: hip, knee, ankle.
type Leg = [Vec3; 3];

impl Drape {
    /// Of a closed tube's vertices, ring by ring.
    pub(super) fn new(fit: &Fitting, rest: &[Vec3], columns: usize, held: Vec<f32>) -> Self {
        let apart = |a: usize, b: usize| (rest[a] - rest[b]).length();
        let beside = |v: usize| v / columns * columns + (v + 1) % columns;
        let (heads, b) = (&fit.body.heads, fit.template.bones);
        let (hip_y, knee_y) = (heads[b.thigh[0]].y, heads[b.shin[0]].y);
        let below = |p: &Vec3| smooth(0.75, 1.1, (hip_y - p.y) / (hip_y - knee_y));
        Self {
            columns,
            held,
            front: rest.iter().map(|p| smooth(-0.3, 0.5, p.z / p.flat().length().max(1e-3))).collect(),
            heavy: rest.iter().map(|p| mix(LIGHT, 1.0, below(p))).collect(),
            above_m: (0..rest.len()).map(|v| apart(v, v.saturating_sub(columns))).collect(),
            beside_m: (0..rest.len()).map(|v| apart(v, beside(v))).collect(),
            girths_m: [0, 1].map(|side| girths(fit, side)),
        }
    }

    /// Lets `points`, as the bones carry them, fall. Nothing gets below `floor_y`.
    pub fn fall(&self, points: &mut [Vec3], bones: &Bones, body: &Body, posed: &[Posed], floor_y: f32) {
        let at = |bone: usize| head_of(&posed[bone], body.heads[bone]);
        let legs: [Leg; 2] = [0, 1].map(|s| [at(bones.thigh[s]), at(bones.shin[s]), at(bones.foot[s])]);
        let upright = posed[bones.hips].turn * vec3(0.0, -1.0, 0.0);
        let bent = legs.iter().map(|[hip, knee, _]| {
            let thigh = (*knee - *hip).unit();
            acos(thigh.dot(upright).clamp(-1.0, 1.0)).max(acos((-thigh.y).clamp(-1.0, 1.0)))
        });
        let share = smooth(BENT[0], BENT[1], bent.fold(0.0, f32::max));
        if share <= 0.0 {
            return;
        }
        let carried = points.to_vec();
        for (p, (front, held)) in points.iter_mut().zip(self.front.iter().zip(&self.held)) {
            p.y += LIFT_M * front * (1.0 - held);
        }
        // Where thighs are farther apart than a ring is long, cloth would ride up: it stretches.
        let beside = |v: usize| v / self.columns * self.columns + (v + 1) % self.columns;
        let wide = (0..carried.len()).map(|v| (carried[v] - carried[beside(v)]).length());
        let wide_m: Vec<f32> = wide.zip(&self.beside_m).map(|(carried, rest)| carried.max(*rest)).collect();
        // What lies on a leg does not slide off it.
        let mut rests = vec![false; points.len()];
        for pass in 0..PASSES {
            let fall_m = FALL_M * (1.0 - pass as f32 / PASSES as f32);
            self.pull(points, &rests, &wide_m, fall_m);
            for ((p, held), rests) in points.iter_mut().zip(&self.held).zip(&mut rests) {
                if *held < 1.0 {
                    let fallen = *p;
                    for (leg, girths_m) in legs.iter().zip(&self.girths_m) {
                        *p = outside(*p, leg, girths_m);
                    }
                    *rests = p.y - fallen.y > 0.5 * (*p - fallen).length();
                    p.y = p.y.max(floor_y + 0.005);
                }
            }
        }
        for ((p, from), held) in points.iter_mut().zip(carried).zip(&self.held) {
            *p = from.mix(*p, share * (1.0 - held));
        }
    }

    /// Everything falls a little, no farther than the cloth is long.
    fn pull(&self, points: &mut [Vec3], rests: &[bool], wide_m: &[f32], fall_m: f32) {
        let columns = self.columns;
        for v in columns..points.len() {
            let free = 1.0 - self.held[v];
            // A little weight keeps it where it lies.
            let own = if rests[v] { 0.1 } else { self.heavy[v] };
            points[v].y -= fall_m * free * own;
            let above = points[v - columns];
            let d = points[v] - above;
            let long = d.length();
            if long > self.above_m[v] {
                points[v] = points[v].mix(above + d * (self.above_m[v] / long), free);
            }
        }
        for first in (columns..points.len()).step_by(columns) {
            for k in 0..columns {
                let (a, b) = (first + k, first + (k + 1) % columns);
                let d = points[b] - points[a];
                let (long, least) = (d.length(), wide_m[a]);
                if long > least {
                    let by = d * (0.5 * (1.0 - least / long));
                    points[a] += by * (1.0 - self.held[a]);
                    points[b] += by * (self.held[b] - 1.0);
                }
            }
        }
    }
}

/// A point on the outside of a leg.
fn outside(p: Vec3, [hip, knee, ankle]: &Leg, girths_m: &[f32; KNOTS.len()]) -> Vec3 {
    let mut deepest: Option<(f32, Vec3, f32)> = None;
    for (from, to, first) in [(*hip, *knee, 0.0), (*knee, *ankle, 1.0)] {
        let along = to - from;
        let u = ((p - from).dot(along) / along.dot(along).max(1e-6)).clamp(0.0, 1.0);
        let axis = from + along * u;
        let girth = girth_at(girths_m, first + u) + EASE_M;
        let lack = girth - (p - axis).length();
        if lack > deepest.map_or(0.0, |d| d.0) {
            deepest = Some((lack, axis, girth));
        }
    }
    deepest.map_or(p, |(_, axis, girth)| {
        let out = p - axis;
        let long = out.length();
        if long > 1e-4 { axis + out * (girth / long) } else { axis + vec3(0.0, girth, 0.0) }
    })
}

fn girth_at(girths_m: &[f32; KNOTS.len()], along: f32) -> f32 {
    let k = (1..KNOTS.len() - 1).find(|&k| along < KNOTS[k]).unwrap_or(KNOTS.len() - 1);
    let u = (along - KNOTS[k - 1]) / (KNOTS[k] - KNOTS[k - 1]);
    mix(girths_m[k - 1], girths_m[k], u.clamp(0.0, 1.0))
}

/// How far a leg reaches from its axis.
fn girths(fit: &Fitting, side: usize) -> [f32; KNOTS.len()] {
    let (t, heads, b) = (fit.template, &fit.body.heads, fit.template.bones);
    let mut most = [0.0f32; KNOTS.len()];
    for (v, p) in fit.smooth.iter().enumerate() {
        let is_other = (fit.asset.mean[v].x < 0.0) != (side == 1);
        if t.leg[v] < 0.5 || is_other {
            continue;
        }
        let (along, axis) = limb(heads[b.thigh[side]], heads[b.shin[side]], heads[b.foot[side]], *p);
        let out = *p - axis;
        for (girth, knot) in most.iter_mut().zip(KNOTS) {
            if (along - knot).abs() < 0.12 && along < 1.85 {
                *girth = girth.max(out.length());
            }
        }
    }
    // Heels and toes are not known here.
    most[KNOTS.len() - 1] = most[KNOTS.len() - 2] * 0.7;
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        asset::Asset,
        motion::{seated, standing},
        person::{Figure, Person},
        posing::{Ground, Habit, follow},
        rng::Rng,
        wear::{Bottom, Outfit, Template},
    };

    /// Somebody in a skirt that ends at `length`.
    fn dressed(length: f32, seed: u64) -> Person {
        let (asset, template) = (Asset::embedded(), Template::embedded());
        let mut rng = Rng::new(seed, 4);
        let body = Body::sampled(asset, rng.below(asset.bodies()));
        let mut outfit = Outfit::draw(&body.traits, &mut rng);
        let cloth = outfit.top.cloth;
        outfit.bottom = Bottom::Skirt { length, waist_y: 0.1, flare: 0.15, cloth };
        Person::new(asset, template, body, &outfit)
    }

    /// Where the skirt is on somebody sitting, ring by ring, and the two legs.
    fn sitting(length: f32, seed: u64) -> (Vec<Vec3>, usize, [Leg; 2], Drape) {
        let (asset, template) = (Asset::embedded(), Template::embedded());
        let person = dressed(length, seed);
        let p = seated(&standing(0.0), 0.22, &mut Rng::new(seed, 5));
        let posed = follow(asset, &template.bones, &person.body, &p, Ground::Free, &Habit::default());
        let mut figure = Figure::default();
        figure.pose(asset, template, &person, &posed);
        let k = person.layers.iter().position(|l| l.drape.is_some()).expect("a skirt");
        let drape = person.layers[k].drape.clone().expect("a skirt");
        let (b, heads) = (template.bones, &person.body.heads);
        let legs = [0, 1].map(|s| [b.thigh[s], b.shin[s], b.foot[s]].map(|j| head_of(&posed[j], heads[j])));
        (figure.points.swap_remove(k), drape.columns, legs, drape)
    }

    #[test]
    fn who_sits_has_cloth_on_the_thighs_and_none_in_them() {
        for seed in 0..12 {
            let (points, columns, legs, drape) = sitting(0.95, seed);
            let held = drape.held.iter().take_while(|h| **h > 0.0).count();
            for (p, _) in points[held.next_multiple_of(columns)..].iter().zip(0..) {
                for (leg, girths_m) in legs.iter().zip(&drape.girths_m) {
                    let out = outside(*p, leg, girths_m);
                    assert!((out - *p).length() < 0.02, "seed {seed}: {p:?} lies in a leg");
                }
            }
            // Above the middle of each thigh.
            for [hip, knee, _] in legs {
                let middle = hip.mix(knee, 0.55);
                let above = points.iter().filter(|p| (**p - middle).flat().length() < 0.07 && p.y > middle.y);
                assert!(above.count() > 0, "seed {seed}: a bare thigh");
            }
        }
    }

    #[test]
    fn what_is_longer_than_the_thighs_hangs_down_before_the_knees() {
        for seed in 0..12 {
            let (points, columns, legs, drape) = sitting(1.3, seed);
            let hem = &points[points.len() - columns..];
            for [_, knee, _] in legs {
                let lowest = hem.iter().filter(|p| (**p - knee).flat().length() < 0.2);
                let lowest = lowest.map(|p| p.y).fold(f32::MAX, f32::min);
                assert!(lowest < knee.y - 0.04, "seed {seed}: the hem is {lowest} high, a knee {}", knee.y);
            }
            // No longer than it is.
            for v in columns..points.len() {
                let long = (points[v] - points[v - columns]).length();
                assert!(long < drape.above_m[v] + 0.08, "seed {seed}: {long} m of {}", drape.above_m[v]);
            }
        }
    }

    #[test]
    fn who_stands_wears_it_as_bones_carry_it() {
        let (asset, template) = (Asset::embedded(), Template::embedded());
        let person = dressed(1.0, 3);
        let p = standing(0.0);
        let posed = follow(asset, &template.bones, &person.body, &p, Ground::Free, &Habit::default());
        let layer = person.layers.iter().find(|l| l.drape.is_some()).expect("a skirt");
        let mut points = Vec::new();
        crate::body::skin(&layer.rest, &layer.influences, &posed, &mut points);
        let carried = points.clone();
        layer.drape.as_ref().expect("a skirt").fall(&mut points, &template.bones, &person.body, &posed, -2.0);
        assert!(points == carried);
    }
}
