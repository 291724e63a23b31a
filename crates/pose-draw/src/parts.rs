//! The parts of a body between its joints: how thick they are, and where they lie in the picture.

use pose::{JOINTS, Joint, Pose};

use crate::{Fit, Look};

/// Places beside the 17 joints: middle of the shoulders, middle of the hips, middle of the head.
pub const NECK: usize = JOINTS;
/// See [`NECK`].
pub const PELVIS: usize = JOINTS + 1;
/// See [`NECK`].
pub const HEAD: usize = JOINTS + 2;
/// Joints and the places beside them.
pub(crate) const PLACES: usize = JOINTS + 3;

/// One part of a body, in shares of the body's height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// From which place to which.
    pub ends: [usize; 2],
    /// How far beyond each end it is drawn out along its own direction.
    pub beyond: [f32; 2],
    /// Half the width at both ends.
    pub radii: [f32; 2],
    /// How much wider it is in its middle.
    pub bulge: f32,
    /// How far it is rounded beyond each end.
    pub caps: [f32; 2],
    /// Taken to be so much farther away, metres: what lies over what where depths are alike, or not known.
    pub behind_m: f32,
}

/// How many parts a body has.
pub const PARTS: usize = 18;

const fn limb(ends: [usize; 2], radii: [f32; 2], bulge: f32, behind_m: f32) -> Shape {
    Shape { ends, beyond: [0.0; 2], radii, bulge, caps: radii, behind_m }
}

/// From the second end of a limb on, along it: a hand, a foot.
const fn tip(ends: [usize; 2], from: f32, to: f32, radii: [f32; 2], behind_m: f32) -> Shape {
    Shape { ends, beyond: [from, to], radii, bulge: 0.0, caps: radii, behind_m }
}

/// The parts, those that are mostly behind first. The trunk's widths are the least: shoulders and hips make it wider.
pub const SHAPES: [Shape; PARTS] = {
    use Joint::*;
    const ARM: f32 = -0.06;
    const LEG: f32 = 0.10;
    [
        tip([LeftKnee as usize, LeftAnkle as usize], 0.0, 0.035, [0.024, 0.030], LEG),
        tip([RightKnee as usize, RightAnkle as usize], 0.0, 0.035, [0.024, 0.030], LEG),
        limb([LeftKnee as usize, LeftAnkle as usize], [0.031, 0.021], 0.007, LEG),
        limb([RightKnee as usize, RightAnkle as usize], [0.031, 0.021], 0.007, LEG),
        limb([LeftHip as usize, LeftKnee as usize], [0.049, 0.033], 0.004, LEG),
        limb([RightHip as usize, RightKnee as usize], [0.049, 0.033], 0.004, LEG),
        limb([NECK, HEAD], [0.032, 0.030], -0.003, 0.03),
        limb([LeftShoulder as usize, RightShoulder as usize], [0.033, 0.033], 0.006, 0.06),
        Shape {
            ends: [NECK, PELVIS],
            beyond: [0.0; 2],
            radii: [0.078, 0.074],
            bulge: -0.008,
            caps: [0.040, 0.060],
            behind_m: 0.0,
        },
        Shape {
            ends: [NECK, HEAD],
            beyond: [0.0; 2],
            radii: [0.052, 0.058],
            bulge: 0.004,
            caps: [0.052, 0.055],
            behind_m: -0.04,
        },
        limb([LeftShoulder as usize, LeftElbow as usize], [0.031, 0.024], 0.003, ARM),
        limb([RightShoulder as usize, RightElbow as usize], [0.031, 0.024], 0.003, ARM),
        limb([LeftElbow as usize, LeftWrist as usize], [0.024, 0.016], 0.003, ARM),
        limb([RightElbow as usize, RightWrist as usize], [0.024, 0.016], 0.003, ARM),
        tip([LeftElbow as usize, LeftWrist as usize], 0.012, 0.055, [0.019, 0.016], ARM - 0.01),
        tip([RightElbow as usize, RightWrist as usize], 0.012, 0.055, [0.019, 0.016], ARM - 0.01),
        // Where the trunk is not known, as where hips are outside: then only these tell of it.
        limb([LeftHip as usize, RightHip as usize], [0.045, 0.045], 0.0, 0.02),
        // The nose tells which way the face looks.
        tip([HEAD, Joint::Nose as usize], -0.004, 0.010, [0.010, 0.008], -0.05),
    ]
};
const TRUNK: usize = 8;
const SKULL: usize = 9;
const NOSE: usize = 17;

/// How long each is of a body's height, between joints as annotators see them: what tells the height where the others are
/// foreshortened.
const LENGTHS: [([usize; 2], f32); 12] = {
    use Joint::*;
    [
        ([NECK, PELVIS], 0.303),
        ([LeftHip as usize, LeftKnee as usize], 0.224),
        ([RightHip as usize, RightKnee as usize], 0.224),
        ([LeftKnee as usize, LeftAnkle as usize], 0.232),
        ([RightKnee as usize, RightAnkle as usize], 0.232),
        ([LeftShoulder as usize, LeftElbow as usize], 0.172),
        ([RightShoulder as usize, RightElbow as usize], 0.172),
        ([LeftElbow as usize, LeftWrist as usize], 0.150),
        ([RightElbow as usize, RightWrist as usize], 0.150),
        ([LeftShoulder as usize, RightShoulder as usize], 0.215),
        ([NECK, HEAD], 0.135),
        ([LeftEar as usize, RightEar as usize], 0.092),
    ]
};

/// A part where it lies on the panel, panel pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub from: [f32; 2],
    pub to: [f32; 2],
    pub radii: [f32; 2],
    pub bulge: f32,
    pub caps: [f32; 2],
    pub look: Look,
    depth_m: f32,
}

/// Where the parts of `pose` lie, the farthest first.
pub(crate) fn parts(pose: &Pose, fit: &Fit) -> ([Part; PARTS], usize) {
    let mut places = [None; PLACES];
    for (place, joint) in places.iter_mut().zip(&pose.joints) {
        *place = Look::of(joint).map(|look| Spot { at: fit.place(joint.x_px, joint.y_px), look });
    }
    places[NECK] = middle(&places, Joint::SHOULDERS);
    places[PELVIS] = middle(&places, Joint::HIPS);
    places[HEAD] = head(&places);
    let height = height(&places);
    let empty = Part {
        from: [0.0; 2],
        to: [0.0; 2],
        radii: [0.0; 2],
        bulge: 0.0,
        caps: [0.0; 2],
        look: Look::Unsure,
        depth_m: 0.0,
    };
    let (mut parts, mut count) = ([empty; PARTS], 0);
    if height < 1.0 {
        return (parts, 0);
    }
    let depth = |place: usize| {
        let z = |j: usize| pose.joints_3d_m.map_or(0.0, |joints| joints[j][2]);
        match place {
            NECK => 0.5 * (z(5) + z(6)),
            PELVIS => 0.5 * (z(11) + z(12)),
            HEAD => 0.5 * (z(3) + z(4)),
            joint => z(joint),
        }
    };
    for (i, shape) in SHAPES.iter().enumerate() {
        let [a, b] = shape.ends;
        let (Some(from), Some(to)) = (places[a], places[b]) else { continue };
        let depth_m = 0.5 * (depth(a) + depth(b)) + shape.behind_m;
        // A nose that lies behind the head is not seen.
        if i == NOSE && depth(b) > depth(a) {
            continue;
        }
        let mut part = Part {
            from: from.at,
            to: to.at,
            radii: shape.radii.map(|r| r * height),
            bulge: shape.bulge * height,
            caps: shape.caps.map(|r| r * height),
            look: from.look.max(to.look),
            depth_m,
        };
        let along = direction(part.from, part.to);
        let moved = |at: [f32; 2], by: f32| [0, 1].map(|k| at[k] + along[k] * by * height);
        if shape.beyond != [0.0; 2] {
            (part.from, part.to) = (moved(part.to, shape.beyond[0]), moved(part.to, shape.beyond[1]));
        }
        if i == TRUNK {
            // As wide as shoulders and hips are seen to be; from the side the least.
            for (radius, [left, right]) in part.radii.iter_mut().zip([Joint::SHOULDERS, Joint::HIPS]) {
                let (Some(left), Some(right)) = (places[left as usize], places[right as usize]) else {
                    continue;
                };
                let across = sub(left.at, right.at);
                let width = (across[0] * along[1] - across[1] * along[0]).abs();
                *radius = radius.max(0.46 * width + 0.036 * height);
            }
        } else if i == SKULL {
            (part.from, part.to) = (moved(part.to, -0.020), moved(part.to, 0.022));
        }
        // What is drawn before it in the table is behind it where depths are alike.
        let at = parts[..count].iter().take_while(|other| other.depth_m >= depth_m).count();
        parts.copy_within(at..count, at + 1);
        parts[at] = part;
        count += 1;
    }
    (parts, count)
}

#[derive(Clone, Copy)]
struct Spot {
    at: [f32; 2],
    look: Look,
}

/// As sure as the surer one: of somebody seen from the side one is always hidden.
fn between(a: Option<Spot>, b: Option<Spot>) -> Option<Spot> {
    let (a, b) = (a?, b?);
    Some(Spot { at: [0, 1].map(|k| 0.5 * (a.at[k] + b.at[k])), look: a.look.min(b.look) })
}

fn middle(places: &[Option<Spot>; PLACES], [left, right]: [Joint; 2]) -> Option<Spot> {
    between(places[left as usize], places[right as usize])
}

/// The middle of the ears, or of what else of a face is known; as sure as the surest of it.
fn head(places: &[Option<Spot>; PLACES]) -> Option<Spot> {
    let mean = |joints: core::ops::Range<usize>| {
        let (mut sum, mut count, mut look) = ([0.0; 2], 0.0, Look::Unsure);
        for spot in places[joints].iter().flatten() {
            sum = [0, 1].map(|k| sum[k] + spot.at[k]);
            count += 1.0;
            look = look.min(spot.look);
        }
        (count > 0.0).then(|| Spot { at: sum.map(|v| v / count), look })
    };
    middle(places, Joint::EARS).or_else(|| mean(0..5))
}

/// How high the body is, panel pixels, were it upright: foreshortening makes bones shorter and never longer, so the second longest for
/// its kind tells it; the longest may be a slip. 0: nothing tells it.
fn height(places: &[Option<Spot>; PLACES]) -> f32 {
    let (mut first, mut second) = (0f32, 0f32);
    for ([a, b], share) in LENGTHS {
        let (Some(a), Some(b)) = (places[a], places[b]) else { continue };
        let height = length(sub(a.at, b.at)) / share;
        if height > first {
            (first, second) = (height, first);
        } else {
            second = second.max(height);
        }
    }
    if second > 0.0 { second } else { first }
}

fn sub(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    [a[0] - b[0], a[1] - b[1]]
}

pub(crate) fn length([x, y]: [f32; 2]) -> f32 {
    root(x * x + y * y)
}

/// Of length 1, upwards where both ends are one.
pub(crate) fn direction(from: [f32; 2], to: [f32; 2]) -> [f32; 2] {
    let d = sub(to, from);
    let length = length(d);
    if length > 1e-3 { d.map(|v| v / length) } else { [0.0, -1.0] }
}

/// Square root: Newton's steps from a first guess by halving the exponent. The standard one is not in `core`.
pub(crate) fn root(v: f32) -> f32 {
    if v <= 0.0 {
        return 0.0;
    }
    let mut r = f32::from_bits((v.to_bits() >> 1) + 0x1fbd_1df5);
    for _ in 0..3 {
        r = 0.5 * (r + v / r);
    }
    r
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_those_of_the_standard_library() {
        for v in [1e-12, 1e-4, 0.25, 1.0, 2.0, 1e3, 5.12e8] {
            let (ours, theirs) = (root(v), std::primitive::f32::sqrt(v));
            assert!((ours - theirs).abs() <= 1e-6 * theirs, "{v}: {ours} {theirs}");
        }
        assert_eq!(root(0.0), 0.0);
        assert_eq!(root(-1.0), 0.0);
    }
}
