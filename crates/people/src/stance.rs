//! Whether a pose can be: nothing of a body well inside another part of it or another body, and weight over what carries it.
//! Bodies are capsules round COCO's joints here; that is coarse, and enough to find what glares.

use pose::JOINTS;

use crate::math::{Vec3, vec3};

/// COCO's joints in the world.
pub type Joints = [Vec3; JOINTS];

/// A part of a body: from, to, radius as a share of the body's height.
struct Part {
    ends: fn(&Joints) -> [Vec3; 2],
    girth: f32,
}

const HEAD: usize = 0;
const TRUNK: usize = 1;
/// Left, then right.
const FOREARM: usize = 2;
const ARM: usize = 4;
const THIGH: usize = 6;
const SHIN: usize = 8;

const PARTS: [Part; 10] = [
    Part { ends: |j| [middle(j, 3), middle(j, 3) + vec3(0.0, 0.04, 0.0)], girth: 0.045 },
    Part { ends: |j| [middle(j, 11), middle(j, 5).mix(middle(j, 11), 0.15)], girth: 0.060 },
    // A hand is as long as a third of its forearm.
    Part { ends: |j| [j[7], j[9] + (j[9] - j[7]) * 0.35], girth: 0.022 },
    Part { ends: |j| [j[8], j[10] + (j[10] - j[8]) * 0.35], girth: 0.022 },
    Part { ends: |j| [j[5], j[7]], girth: 0.026 },
    Part { ends: |j| [j[6], j[8]], girth: 0.026 },
    // Thighs meet at the top.
    Part { ends: |j| [j[11].mix(j[13], 0.4), j[13]], girth: 0.038 },
    Part { ends: |j| [j[12].mix(j[14], 0.4), j[14]], girth: 0.038 },
    Part { ends: |j| [j[13], j[15]], girth: 0.028 },
    Part { ends: |j| [j[14], j[16]], girth: 0.028 },
];

/// Parts of one body that must not meet: neighbours do.
const APART: [(usize, usize); 18] = [
    (FOREARM, HEAD),
    (FOREARM + 1, HEAD),
    (FOREARM, TRUNK),
    (FOREARM + 1, TRUNK),
    (FOREARM, FOREARM + 1),
    (FOREARM, ARM + 1),
    (FOREARM + 1, ARM),
    (FOREARM, THIGH),
    (FOREARM, THIGH + 1),
    (FOREARM + 1, THIGH),
    (FOREARM + 1, THIGH + 1),
    (FOREARM, SHIN),
    (FOREARM + 1, SHIN + 1),
    (THIGH, THIGH + 1),
    (THIGH, SHIN + 1),
    (THIGH + 1, SHIN),
    (SHIN, SHIN + 1),
    (SHIN, TRUNK),
];

fn middle(j: &Joints, left: usize) -> Vec3 {
    (j[left] + j[left + 1]) * 0.5
}

/// How deep the deepest part of a body lies inside another part of it, metres; not above 0 where all are free.
pub fn clash_m(joints: &Joints, height_m: f32) -> f32 {
    let deep = |&(a, b): &(usize, usize)| overlap(&PARTS[a], joints, height_m, &PARTS[b], joints, height_m);
    APART.iter().map(deep).fold(f32::MIN, f32::max)
}

/// How deep two bodies lie in each other.
pub fn crash_m(one: (&Joints, f32), other: (&Joints, f32)) -> f32 {
    let pairs = PARTS.iter().flat_map(|a| PARTS.iter().map(move |b| (a, b)));
    pairs.map(|(a, b)| overlap(a, one.0, one.1, b, other.0, other.1)).fold(f32::MIN, f32::max)
}

fn overlap(a: &Part, ja: &Joints, ha: f32, b: &Part, jb: &Joints, hb: f32) -> f32 {
    a.girth * ha + b.girth * hb - distance((a.ends)(ja), (b.ends)(jb))
}

/// How deep a body reaches into a column (metres, the vertical): `at` its middle on the ground, half sides along its own axes
/// turned by `turn` about the vertical, up to `top_m`.
pub fn reaches_into_m(
    joints: &Joints,
    height_m: f32,
    at: Vec3,
    half: [f32; 2],
    turn: f32,
    top_m: f32,
) -> f32 {
    let (s, c) = (crate::math::sin(turn), crate::math::cos(turn));
    let mut deepest = f32::MIN;
    for part in &PARTS {
        let [from, to] = (part.ends)(joints);
        for k in 0..5 {
            let p = from.mix(to, k as f32 / 4.0) - at;
            let (x, z) = ((p.x * c - p.z * s).abs() - half[0], (p.z * c + p.x * s).abs() - half[1]);
            let outside = (x.max(0.0) * x.max(0.0) + z.max(0.0) * z.max(0.0)).sqrt() + x.max(z).min(0.0);
            deepest = deepest.max(part.girth * height_m - outside.max(p.y - top_m));
        }
    }
    deepest
}

/// How far the weight lies beside what carries it, metres over the ground: joints that are nearly as low as the lowest, or a
/// seat under the hips.
pub fn beside_m(joints: &Joints, height_m: f32, is_seated: bool) -> f32 {
    let j = joints;
    let trunk = middle(j, 5).mix(middle(j, 11), 0.5);
    let limb = |a: usize, b: usize| middle(j, a).mix(middle(j, b), 0.45);
    // Shares of the weight as anatomists give them.
    let weight =
        trunk * 0.5 + middle(j, 3) * 0.08 + limb(11, 13) * 0.2 + limb(13, 15) * 0.12 + limb(5, 9) * 0.1;
    let low = [9, 10, 11, 12, 13, 14, 15, 16].map(|k| j[k].y).into_iter().fold(f32::MAX, f32::min);
    let mut carry: Vec<Vec3> = Vec::new();
    for k in [9, 10, 13, 14, 15, 16, 11, 12] {
        // Hips lie a hand above what somebody sits on.
        let above = j[k].y - low - if k == 11 || k == 12 { 0.05 } else { 0.0 } * height_m;
        if above < 0.06 * height_m || is_seated && (k == 11 || k == 12) {
            carry.push(j[k].flat());
        }
    }
    let p = weight.flat();
    let mut least = f32::MAX;
    for (i, &a) in carry.iter().enumerate() {
        for (k, &b) in carry.iter().enumerate().skip(i) {
            least = least.min(distance([p, p], [a, b]));
            for &c in carry.iter().skip(k + 1) {
                let side = |a: Vec3, b: Vec3| (b - a).cross(p - a).y;
                let (u, v, w) = (side(a, b), side(b, c), side(c, a));
                if u > 0.0 && v > 0.0 && w > 0.0 || u < 0.0 && v < 0.0 && w < 0.0 {
                    return 0.0;
                }
            }
        }
    }
    least
}

/// Between the nearest points of two segments.
fn distance([a, b]: [Vec3; 2], [c, d]: [Vec3; 2]) -> f32 {
    let (u, v, w) = (b - a, d - c, a - c);
    let (uu, uv, vv, uw, vw) = (u.dot(u), u.dot(v), v.dot(v), u.dot(w), v.dot(w));
    let lot = uu * vv - uv * uv;
    let mut s = if lot > 1e-9 { ((uv * vw - vv * uw) / lot).clamp(0.0, 1.0) } else { 0.0 };
    let t = if vv > 1e-9 { ((uv * s + vw) / vv).clamp(0.0, 1.0) } else { 0.0 };
    s = if uu > 1e-9 { ((uv * t - uw) / uu).clamp(0.0, 1.0) } else { s };
    (a + u * s - (c + v * t)).length()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::standing;

    fn upright() -> Joints {
        let p = standing(0.0);
        std::array::from_fn(|k| p[k])
    }

    #[test]
    fn segments_are_as_far_apart_as_they_are() {
        let x = vec3(1.0, 0.0, 0.0);
        assert!((distance([Vec3::ZERO, x], [vec3(0.5, 1.0, -1.0), vec3(0.5, 1.0, 1.0)]) - 1.0).abs() < 1e-6);
        assert!((distance([Vec3::ZERO, x], [vec3(3.0, 0.0, 0.0), vec3(4.0, 0.0, 0.0)]) - 2.0).abs() < 1e-6);
        assert!((distance([Vec3::ZERO; 2], [x; 2]) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn who_stands_at_ease_is_free_and_a_forearm_through_the_belly_is_not() {
        let mut j = upright();
        assert!(clash_m(&j, 1.75) <= 0.0, "{}", clash_m(&j, 1.75));
        (j[7], j[9]) = (vec3(0.15, 1.15, 0.1), vec3(0.0, 1.1, 0.0));
        assert!(clash_m(&j, 1.75) > 0.05);
    }

    #[test]
    fn two_who_stand_in_one_place_crash_and_two_beside_each_other_do_not() {
        let (a, b) = (upright(), upright().map(|p| p + vec3(0.1, 0.0, 0.0)));
        assert!(crash_m((&a, 1.75), (&b, 1.75)) > 0.1);
        let c = a.map(|p| p + vec3(0.8, 0.0, 0.0));
        assert!(crash_m((&a, 1.75), (&c, 1.75)) < 0.0);
    }

    #[test]
    fn a_box_is_stood_in_beside_or_on() {
        let j = upright();
        let into = |x: f32, top: f32| reaches_into_m(&j, 1.75, vec3(x, 0.0, 0.0), [0.3, 0.2], 0.4, top);
        assert!(into(0.1, 1.0) > 0.1);
        assert!(into(0.9, 1.0) < 0.0);
        assert!(into(0.1, 0.02) < 0.0, "a mat under the feet");
    }

    #[test]
    fn who_leans_too_far_would_fall_unless_somebody_sits() {
        let j = upright();
        assert!(beside_m(&j, 1.75, false) < 0.06);
        let tilted = j.map(|p| p + vec3(0.0, 0.0, -0.6 * (p.y - 0.08)));
        assert!(beside_m(&tilted, 1.75, false) > 0.4);
        assert!(beside_m(&tilted, 1.75, true) < 0.3);
    }
}
