//! Whether a pose can be: nothing of a body well inside another part of it or another body, and weight over what carries it.
//! Bodies are capsules round COCO's joints here; that is coarse, and enough to find what glares.

use pose::{JOINTS, Joint};

use crate::math::{Vec3, vec3};

const EARS: [Joint; 2] = Joint::EARS;
const SHOULDERS: [Joint; 2] = Joint::SHOULDERS;
const WRISTS: [Joint; 2] = Joint::WRISTS;
const HIPS: [Joint; 2] = Joint::HIPS;
const KNEES: [Joint; 2] = Joint::KNEES;
const ANKLES: [Joint; 2] = Joint::ANKLES;

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

const PARTS: [Part; 10] = {
    use Joint::*;
    [
        Part { ends: |j| [middle(j, EARS), middle(j, EARS) + vec3(0.0, 0.04, 0.0)], girth: 0.045 },
        Part { ends: |j| [middle(j, HIPS), middle(j, SHOULDERS).mix(middle(j, HIPS), 0.15)], girth: 0.060 },
        Part { ends: |j| forearm(at(j, LeftElbow), at(j, LeftWrist)), girth: 0.022 },
        Part { ends: |j| forearm(at(j, RightElbow), at(j, RightWrist)), girth: 0.022 },
        Part { ends: |j| [at(j, LeftShoulder), at(j, LeftElbow)], girth: 0.026 },
        Part { ends: |j| [at(j, RightShoulder), at(j, RightElbow)], girth: 0.026 },
        Part { ends: |j| thigh(at(j, LeftHip), at(j, LeftKnee)), girth: 0.038 },
        Part { ends: |j| thigh(at(j, RightHip), at(j, RightKnee)), girth: 0.038 },
        Part { ends: |j| [at(j, LeftKnee), at(j, LeftAnkle)], girth: 0.028 },
        Part { ends: |j| [at(j, RightKnee), at(j, RightAnkle)], girth: 0.028 },
    ]
};

/// A hand is as long as a third of its forearm.
fn forearm(elbow: Vec3, wrist: Vec3) -> [Vec3; 2] {
    [elbow, wrist + (wrist - elbow) * 0.35]
}

/// Thighs meet at the top.
fn thigh(hip: Vec3, knee: Vec3) -> [Vec3; 2] {
    [hip.mix(knee, 0.4), knee]
}

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

fn at(joints: &Joints, joint: Joint) -> Vec3 {
    joints[joint as usize]
}

/// Between two joints.
pub(crate) fn middle(joints: &Joints, [left, right]: [Joint; 2]) -> Vec3 {
    (at(joints, left) + at(joints, right)) * 0.5
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
    let trunk = middle(j, SHOULDERS).mix(middle(j, HIPS), 0.5);
    let limb = |from: [Joint; 2], to: [Joint; 2]| middle(j, from).mix(middle(j, to), 0.45);
    // Shares of the weight as anatomists give them.
    let weight = trunk * 0.5
        + middle(j, EARS) * 0.08
        + limb(HIPS, KNEES) * 0.2
        + limb(KNEES, ANKLES) * 0.12
        + limb(SHOULDERS, WRISTS) * 0.1;
    let low = WRISTS.iter().chain(&Joint::LEGS).map(|&k| at(j, k).y).fold(f32::MAX, f32::min);
    let mut carry: Vec<Vec3> = Vec::new();
    for k in [WRISTS, KNEES, ANKLES, HIPS].into_iter().flatten() {
        let (at, is_hip) = (at(j, k), HIPS.contains(&k));
        // Hips lie a hand above what somebody sits on.
        let above = at.y - low - if is_hip { 0.05 } else { 0.0 } * height_m;
        if above < 0.06 * height_m || is_seated && is_hip {
            carry.push(at.flat());
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
        (j[Joint::LeftElbow as usize], j[Joint::LeftWrist as usize]) =
            (vec3(0.15, 1.15, 0.1), vec3(0.0, 1.1, 0.0));
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
