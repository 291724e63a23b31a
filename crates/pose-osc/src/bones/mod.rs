//! From a pose's joints to rotations of an avatar's bones: a small inverse kinematics.
//!
//! Everything is in Unity's space (left-handed, y up, z to where the person looks) and from its T-pose, in which no bone is rotated: arms
//! along x, the left one to -x, legs down. A bone is swung by the shortest way from where its parent would hold it to where its joints
//! are, as far as its limit; COCO's joints say nothing of the twist of a limb. The trunk and the head do turn about themselves, because hips,
//! shoulders and ears are lines. What is not seen is taken thus:
//!
//! * hips: shoulders are level, and the trunk upright;
//! * feet, which have no toes here: their soles lie on the floor as far as an ankle bends.

mod body;
#[cfg(test)]
pub(crate) mod tests;

use nalgebra::{Matrix3, Rotation3, Unit, UnitQuaternion, Vector3};
use pose::{JOINTS, Joint};

use Bone::*;
pub use body::Body;

/// The bones, by the names of Unity's `HumanBodyBones`. A parent comes before its children.
#[allow(missing_docs, reason = "the names say it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Bone {
    Hips,
    Spine,
    Chest,
    Neck,
    Head,
    LeftShoulder,
    LeftUpperArm,
    LeftLowerArm,
    RightShoulder,
    RightUpperArm,
    RightLowerArm,
    LeftUpperLeg,
    LeftLowerLeg,
    LeftFoot,
    RightUpperLeg,
    RightLowerLeg,
    RightFoot,
}

/// How many there are.
pub const BONES: usize = 17;

/// Unity's name of each bone, and the bone that holds it.
pub const NAMES: [(Bone, &str, Bone); BONES] = [
    (Hips, "Hips", Hips),
    (Spine, "Spine", Hips),
    (Chest, "Chest", Spine),
    (Neck, "Neck", Chest),
    (Head, "Head", Neck),
    (LeftShoulder, "LeftShoulder", Chest),
    (LeftUpperArm, "LeftUpperArm", LeftShoulder),
    (LeftLowerArm, "LeftLowerArm", LeftUpperArm),
    (RightShoulder, "RightShoulder", Chest),
    (RightUpperArm, "RightUpperArm", RightShoulder),
    (RightLowerArm, "RightLowerArm", RightUpperArm),
    (LeftUpperLeg, "LeftUpperLeg", Hips),
    (LeftLowerLeg, "LeftLowerLeg", LeftUpperLeg),
    (LeftFoot, "LeftFoot", LeftLowerLeg),
    (RightUpperLeg, "RightUpperLeg", Hips),
    (RightLowerLeg, "RightLowerLeg", RightUpperLeg),
    (RightFoot, "RightFoot", RightLowerLeg),
];

/// How far a bone swings in its parent, degrees: a little more than people do, so that only what cannot be is held back.
mod limit {
    pub const SPINE: f32 = 50.0;
    pub const TRUNK_TWIST: f32 = 70.0;
    pub const NECK: f32 = 60.0;
    pub const HEAD: f32 = 80.0;
    pub const SHOULDER: f32 = 35.0;
    pub const UPPER_ARM: f32 = 140.0;
    pub const LOWER_ARM: f32 = 155.0;
    pub const UPPER_LEG: f32 = 140.0;
    pub const LOWER_LEG: f32 = 155.0;
    pub const FOOT: f32 = 45.0;
}

/// A bone that swings to where a joint is seen from another: both, and how far it goes.
const LIMBS: [(Bone, [Joint; 2], f32); 8] = [
    (LeftUpperArm, [Joint::LeftShoulder, Joint::LeftElbow], limit::UPPER_ARM),
    (LeftLowerArm, [Joint::LeftElbow, Joint::LeftWrist], limit::LOWER_ARM),
    (RightUpperArm, [Joint::RightShoulder, Joint::RightElbow], limit::UPPER_ARM),
    (RightLowerArm, [Joint::RightElbow, Joint::RightWrist], limit::LOWER_ARM),
    (LeftUpperLeg, [Joint::LeftHip, Joint::LeftKnee], limit::UPPER_LEG),
    (LeftLowerLeg, [Joint::LeftKnee, Joint::LeftAnkle], limit::LOWER_LEG),
    (RightUpperLeg, [Joint::RightHip, Joint::RightKnee], limit::UPPER_LEG),
    (RightLowerLeg, [Joint::RightKnee, Joint::RightAnkle], limit::LOWER_LEG),
];

/// Of the line from the hips to the shoulders: where the spine and the chest begin.
const SPINE_AT: f32 = 0.12;
const CHEST_AT: f32 = 0.42;

/// Shorter lines have no direction, metres.
const SHORTEST_M: f32 = 1e-3;

type Turn = UnitQuaternion<f32>;
type V = Vector3<f32>;

/// How each bone is rotated in its parent; `None` where the pose does not say.
pub type Rotations = [Option<Turn>; BONES];

impl Bone {
    /// What holds it; the hips hold themselves.
    pub fn parent(self) -> Bone {
        NAMES[self as usize].2
    }

    /// Along which axis the bone lies in the T-pose.
    pub fn rest(self) -> V {
        match self {
            LeftShoulder | LeftUpperArm | LeftLowerArm => -V::x(),
            RightShoulder | RightUpperArm | RightLowerArm => V::x(),
            LeftUpperLeg | LeftLowerLeg | RightUpperLeg | RightLowerLeg => -V::y(),
            LeftFoot | RightFoot => V::z(),
            Hips | Spine | Chest | Neck | Head => V::y(),
        }
    }
}

/// The rotations of the bones of somebody whose joints are at `joints_m`: Unity's axes, metres, from any origin.
pub fn solve(joints_m: &[Option<[f32; 3]>; JOINTS]) -> Rotations {
    let joints = Joints(joints_m);
    let mut solved = Solved { local: [None; BONES], world: [None; BONES] };
    joints.trunk(&mut solved);
    joints.head(&mut solved);
    let shoulders = joints.middle(Joint::LeftShoulder, Joint::RightShoulder);
    for (bone, joint) in [(LeftShoulder, Joint::LeftShoulder), (RightShoulder, Joint::RightShoulder)] {
        solved.swing(bone, joints.at(joint).zip(shoulders).map(|(to, from)| to - from), limit::SHOULDER);
    }
    for (bone, [from, to], limit) in LIMBS {
        solved.swing(bone, joints.line(from, to), limit);
    }
    for bone in [LeftFoot, RightFoot] {
        if let Some(shin) = solved.world[bone.parent() as usize] {
            solved.set(bone, swung(V::y(), shin.inverse() * V::y(), limit::FOOT));
        }
    }
    solved.local
}

/// Rotations as they are found: in the parent, and in the room.
struct Solved {
    local: Rotations,
    world: Rotations,
}

impl Solved {
    fn set(&mut self, bone: Bone, local: Option<Turn>) {
        let parent = if bone == Hips { Some(Turn::identity()) } else { self.world[bone.parent() as usize] };
        // Rounding adds up along a chain.
        self.world[bone as usize] =
            parent.zip(local).map(|(parent, local)| Turn::new_normalize((parent * local).into_inner()));
        self.local[bone as usize] = local.filter(|_| self.world[bone as usize].is_some());
    }

    /// Swings `bone` along `line` in the room.
    fn swing(&mut self, bone: Bone, line: Option<V>, limit_degrees: f32) {
        let parent = self.world[bone.parent() as usize];
        let local = parent
            .zip(line)
            .and_then(|(parent, line)| swung(bone.rest(), parent.inverse() * line, limit_degrees));
        self.set(bone, local);
    }
}

struct Joints<'a>(&'a [Option<[f32; 3]>; JOINTS]);

impl Joints<'_> {
    fn at(&self, joint: Joint) -> Option<V> {
        self.0[joint as usize].map(V::from)
    }

    fn middle(&self, a: Joint, b: Joint) -> Option<V> {
        Some(0.5 * (self.at(a)? + self.at(b)?))
    }

    fn line(&self, from: Joint, to: Joint) -> Option<V> {
        Some(self.at(to)? - self.at(from)?)
    }

    /// Hips, spine and chest: the hips as the line through both hips lies, the chest towards the shoulders and turned with them.
    fn trunk(&self, solved: &mut Solved) {
        let hips = self.middle(Joint::LeftHip, Joint::RightHip);
        let shoulders = self.middle(Joint::LeftShoulder, Joint::RightShoulder);
        let hips_line = self.line(Joint::LeftHip, Joint::RightHip);
        let shoulders_line = self.line(Joint::LeftShoulder, Joint::RightShoulder);
        let up = hips.zip(shoulders).map(|(hips, shoulders)| shoulders - hips);
        let turn = match (hips_line, up, shoulders_line) {
            (Some(across), Some(up), _) => x_then_y(across, up),
            (Some(across), None, _) => x_then_y(across, V::y()),
            (None, _, Some(across)) => x_then_y(V::new(across.x, 0.0, across.z), V::y()),
            (None, _, None) => return,
        };
        // Where lines have no length the person stands and looks at the camera.
        let turn = turn.unwrap_or_else(Turn::identity);
        solved.set(Hips, Some(turn));
        let Some(across) = shoulders_line else { return };
        let reach = up.map_or_else(V::y, |up| turn.inverse() * up - V::new(0.0, SPINE_AT * up.norm(), 0.0));
        let Some(swing) = swung(V::y(), reach, limit::SPINE) else { return };
        // Half of the turn is the spine's, half the chest's.
        let across = (turn * swing).inverse() * across;
        let flat = across.xz().norm();
        let twist = if flat < SHORTEST_M { 0.0 } else { f32::atan2(-across.z, across.x) };
        let most = limit::TRUNK_TWIST.to_radians();
        let half = Turn::from_axis_angle(&V::y_axis(), 0.5 * twist.clamp(-most, most));
        solved.set(Spine, Some(swing * half));
        solved.set(Chest, Some(half));
    }

    /// The neck towards the middle of the ears; the head as ears, eyes and nose lie.
    fn head(&self, solved: &mut Solved) {
        let shoulders = self.middle(Joint::LeftShoulder, Joint::RightShoulder);
        let ears = self.middle(Joint::LeftEar, Joint::RightEar);
        solved.swing(Neck, ears.zip(shoulders).map(|(to, from)| to - from), limit::NECK);
        // Eyes are a little above, the nose's tip a little below the level of the ears of who looks straight ahead.
        let nose = self.at(Joint::Nose);
        let face =
            self.middle(Joint::LeftEye, Joint::RightEye).zip(nose).map(|(a, b)| 0.5 * (a + b)).or(nose);
        let (Some(ears), Some(face), Some(neck)) = (ears, face, solved.world[Neck as usize]) else { return };
        let turn = self
            .line(Joint::LeftEar, Joint::RightEar)
            .and_then(|across| across.try_normalize(SHORTEST_M))
            .and_then(|across| x_then_y(across, (face - ears).cross(&across)));
        solved.set(Head, turn.map(|turn| within(neck.inverse() * turn, limit::HEAD)));
    }
}

/// The shortest turn from `rest`, a unit vector, to the direction of `line`, as far as `limit_degrees`.
fn swung(rest: V, line: V, limit_degrees: f32) -> Option<Turn> {
    let to = Unit::try_new(line, SHORTEST_M).filter(|to| to.iter().all(|v| v.is_finite()))?;
    let axis = rest.cross(&to);
    let angle = f32::atan2(axis.norm(), rest.dot(&to)).min(limit_degrees.to_radians());
    // The other way there is no shortest: about an axis of the T-pose.
    let axis = Unit::try_new(axis, 1e-6).unwrap_or(if rest.x == 0.0 { V::x_axis() } else { V::y_axis() });
    Some(Turn::from_axis_angle(&axis, angle))
}

/// `turn`, or as much of it as the limit leaves.
fn within(turn: Turn, limit_degrees: f32) -> Turn {
    match turn.axis_angle() {
        Some((axis, angle)) if angle > limit_degrees.to_radians() => {
            Turn::from_axis_angle(&axis, limit_degrees.to_radians())
        }
        _ => turn,
    }
}

/// The turn whose x axis lies along `x`, and whose y axis as near to `y` as that leaves.
fn x_then_y(x: V, y: V) -> Option<Turn> {
    let x = x.try_normalize(SHORTEST_M)?;
    // Along x, y says nothing.
    let y = (y - x * x.dot(&y)).try_normalize(SHORTEST_M)?;
    let turn = Turn::from_rotation_matrix(&Rotation3::from_matrix_unchecked(Matrix3::from_columns(&[
        x,
        y,
        x.cross(&y),
    ])));
    turn.coords.iter().all(|v| v.is_finite()).then_some(turn)
}
