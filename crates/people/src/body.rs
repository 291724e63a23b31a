//! One body: its shape at rest, and the same posed.

use pose::JOINTS;

use crate::{
    asset::{Asset, SHAPE, Traits},
    math::{Mat3, Vec3},
};

/// Where annotators put a joint, from where anatomists do (left, up, ahead; parts of the body's height): shoulders higher, hips
/// farther out. Found by what a network sees beside rendered and beside COCO's labels: docs/lab/rendered-people.md.
const ANNOTATED: [(usize, [f32; 3]); 4] =
    [(5, [0.0, 0.010, 0.0]), (6, [0.0, 0.010, 0.0]), (11, [0.009, 0.0, 0.0]), (12, [-0.009, 0.0, 0.0])];

/// Bones that the program names.
#[derive(Debug, Clone, Copy)]
pub struct Bones {
    /// Hips, the root.
    pub hips: usize,
    /// Left and right, as all pairs.
    pub hip_joint: [usize; 2],
    /// Thighs.
    pub thigh: [usize; 2],
    /// Lower legs.
    pub shin: [usize; 2],
    /// Feet.
    pub foot: [usize; 2],
    /// Toes.
    pub toe: [usize; 2],
    /// The spine from below.
    pub spine: [usize; 3],
    /// Collar bones.
    pub collar: [usize; 2],
    /// Upper arms.
    pub arm: [usize; 2],
    /// Forearms.
    pub forearm: [usize; 2],
    /// Hands.
    pub hand: [usize; 2],
    /// Thumbs.
    pub thumb: [usize; 2],
    /// Fingers: first and second half.
    pub fingers: [[usize; 2]; 2],
    /// Neck from below, then the head.
    pub neck: [usize; 3],
}

impl Bones {
    /// Looks the names up.
    pub fn of(asset: &Asset) -> Self {
        let b = |name: &str| asset.bone(name);
        let pair = |name: &str| [b(&format!("Left{name}")), b(&format!("Right{name}"))];
        Self {
            hips: b("Hips"),
            hip_joint: [b("LHipJoint"), b("RHipJoint")],
            thigh: pair("UpLeg"),
            shin: pair("Leg"),
            foot: pair("Foot"),
            toe: pair("ToeBase"),
            spine: [b("LowerBack"), b("Spine"), b("Spine1")],
            collar: pair("Shoulder"),
            arm: pair("Arm"),
            forearm: pair("ForeArm"),
            hand: pair("Hand"),
            thumb: [b("LThumb"), b("RThumb")],
            fingers: [pair("FingerBase"), pair("HandFinger1")],
            neck: [b("Neck"), b("Neck1"), b("Head")],
        }
    }
}

/// A body at rest.
#[derive(Debug)]
pub struct Body {
    /// Vertices: left, up, ahead, metres.
    pub rest: Vec<Vec3>,
    /// Where bones begin.
    pub heads: Vec<Vec3>,
    /// COCO's joints.
    pub joints: Vec<Vec3>,
    /// See [`Asset::anchors`].
    anchors: Vec<Vec3>,
    /// Its traits.
    pub traits: Traits,
    /// Sole to crown.
    pub height_m: f32,
}

impl Body {
    /// The body of that shape.
    pub fn new(asset: &Asset, shape: &[f32; SHAPE], traits: Traits) -> Self {
        let mut rest = asset.mean.clone();
        for ((basis, scale), s) in asset.basis.iter().zip(asset.scale).zip(shape) {
            let k = scale * s;
            for (p, d) in rest.iter_mut().zip(basis) {
                p.x += k * f32::from(d[0]);
                p.y += k * f32::from(d[1]);
                p.z += k * f32::from(d[2]);
            }
        }
        let (low, high) = rest.iter().fold((f32::MAX, f32::MIN), |(l, h), p| (l.min(p.y), h.max(p.y)));
        let height_m = high - low;
        let mut anchors = asset.anchors(shape);
        let bones = anchors.len() / JOINTS;
        for (j, from) in ANNOTATED {
            let by = Vec3::from(from) * height_m;
            let row = j * bones..(j + 1) * bones;
            for (anchor, tie) in anchors[row.clone()].iter_mut().zip(&asset.ties[row]) {
                *anchor += by * *tie;
            }
        }
        Self { rest, heads: asset.heads(shape), joints: asset.joints(shape), anchors, traits, height_m }
    }

    /// A body of the bank.
    pub fn sampled(asset: &Asset, body: usize) -> Self {
        let (shape, traits) = asset.shape(body);
        Self::new(asset, &shape, traits)
    }

    /// Where the joints go with the bones.
    pub fn posed_joints(&self, asset: &Asset, posed: &[Posed]) -> [Vec3; JOINTS] {
        let bones = posed.len();
        std::array::from_fn(|j| {
            let mut p = Vec3::ZERO;
            for (b, t) in posed.iter().enumerate() {
                p += t.turn * self.anchors[j * bones + b] + t.shift * asset.ties[j * bones + b];
            }
            p
        })
    }
}

/// How a bone moves what it carries: turned about the origin, then shifted.
#[derive(Debug, Clone, Copy)]
pub struct Posed {
    /// From rest to world.
    pub turn: Mat3,
    /// Metres.
    pub shift: Vec3,
}

/// Bones' transforms from their rotations, the root's head at `root`.
pub fn chain(asset: &Asset, heads: &[Vec3], turns: &[Mat3], root: Vec3) -> Vec<Posed> {
    let mut places = vec![root; turns.len()];
    for (k, parent) in asset.parents.iter().enumerate() {
        if let &Some(p) = parent {
            places[k] = places[p] + turns[p] * (heads[k] - heads[p]);
        }
    }
    turns
        .iter()
        .zip(heads.iter().zip(places))
        .map(|(&turn, (&head, place))| Posed { turn, shift: place - turn * head })
        .collect()
}

/// Where a bone's head has gone.
pub fn head_of(posed: &Posed, head: Vec3) -> Vec3 {
    posed.turn * head + posed.shift
}

/// Linear blend skinning of points that the bones carry by `influences`.
pub fn skin(points: &[Vec3], influences: &[[(u8, f32); 4]], posed: &[Posed], out: &mut Vec<Vec3>) {
    out.clear();
    out.extend(points.iter().zip(influences).map(|(&p, ties)| {
        let mut moved = Vec3::ZERO;
        for &(bone, weight) in ties {
            if weight > 0.0 {
                let t = &posed[usize::from(bone)];
                moved += (t.turn * p + t.shift) * weight;
            }
        }
        moved
    }));
}
