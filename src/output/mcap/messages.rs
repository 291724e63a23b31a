//! What messages say: Foxglove's shapes, made of poses.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pose::{BONES, JointState, Pose, PoseJoint};
use serde_json::{Value, json};

/// Of a joint that is measured, and of one that is not.
const OPAQUE: f32 = 1.0;
const FAINT: f32 = 0.45;

/// Pixels.
const LINE_PX: f32 = 3.0;
const JOINT_PX: f32 = 6.0;
const LETTER_PX: f32 = 14.0;
/// Metres.
const BONE_M: f32 = 0.03;

/// `foxglove.PointsAnnotation`'s word for separate points, and for lines of two points each.
const POINTS: u8 = 1;
const LINE_LIST: u8 = 4;
/// `foxglove.LinePrimitive`'s word for lines of two points each, `foxglove.SceneEntityDeletion`'s for everything.
const SCENE_LINE_LIST: u8 = 2;
const DELETE_ALL: u8 = 1;

/// A time since 1970, or since a recording's beginning; none lies before that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment(u64);

impl Moment {
    pub fn of_us(us: i64) -> Self {
        Self(us.max(0) as u64 * 1_000)
    }

    /// Nanoseconds.
    pub fn ns(self) -> u64 {
        self.0
    }

    fn json(self) -> Value {
        json!({ "sec": self.0 / 1_000_000_000, "nsec": self.0 % 1_000_000_000 })
    }
}

/// `foxglove.CompressedImage`.
pub(super) fn image(at: Moment, jpeg: &[u8]) -> Value {
    json!({ "timestamp": at.json(), "frame_id": "camera", "format": "jpeg", "data": STANDARD.encode(jpeg) })
}

fn colour(id: u32, alpha: f32) -> Value {
    let [r, g, b] = pose_draw::colour_of(id).map(|c| f32::from(c) / 255.0);
    json!({ "r": r, "g": g, "b": b, "a": alpha })
}

/// Whether a joint is told of, and as what.
fn alpha_of(joint: &PoseJoint) -> Option<f32> {
    use pose::JointState::{Absent, Measured, Predicted};
    let is_place = joint.x_px.is_finite() && joint.y_px.is_finite();
    match joint.state {
        _ if !is_place => None,
        Absent => None,
        Measured if joint.score >= pose::UNSURE_SCORE => Some(OPAQUE),
        Measured | Predicted => Some(FAINT),
    }
}

/// The ends of the bones whose fainter end is `alpha`.
fn bones(pose: &Pose, alpha: f32) -> impl Iterator<Item = [usize; 2]> + '_ {
    BONES.iter().map(|&(a, b)| [a as usize, b as usize]).filter(move |ends| {
        let alphas = ends.map(|end| alpha_of(&pose.joints[end]));
        matches!(alphas, [Some(a), Some(b)] if a.min(b) == alpha)
    })
}

/// `foxglove.ImageAnnotations`: bones and joints by how sure they are, and each person's identity.
pub(super) fn annotations(at: Moment, persons: &[Pose]) -> Value {
    let (mut points, mut texts) = (Vec::new(), Vec::new());
    for pose in persons {
        let place = |joint: usize| json!({ "x": pose.joints[joint].x_px, "y": pose.joints[joint].y_px });
        let mut add = |kind: u8, alpha: f32, thickness: f32, places: Vec<Value>| {
            if places.is_empty() {
                return;
            }
            points.push(json!({
                "timestamp": at.json(), "type": kind, "points": places, "thickness": thickness,
                "outline_color": colour(pose.track_id, alpha), "outline_colors": [],
                "fill_color": colour(pose.track_id, alpha),
            }));
        };
        for alpha in [OPAQUE, FAINT] {
            add(LINE_LIST, alpha, LINE_PX, bones(pose, alpha).flatten().map(place).collect());
            let joints = (0..pose::JOINTS).filter(|&j| alpha_of(&pose.joints[j]) == Some(alpha));
            add(POINTS, alpha, JOINT_PX, joints.map(place).collect());
        }
        if let Some(bounds) = pose.bounds() {
            texts.push(json!({
                "timestamp": at.json(), "position": { "x": bounds.x, "y": bounds.y },
                "text": pose.track_id.to_string(), "font_size": LETTER_PX,
                "text_color": colour(pose.track_id, OPAQUE),
                "background_color": { "r": 0, "g": 0, "b": 0, "a": 0.5 },
            }));
        }
    }
    json!({ "circles": [], "points": points, "texts": texts })
}

/// `foxglove.SceneUpdate`: everybody who has a pose in metres, in the place of whoever was there before.
pub(super) fn scene(at: Moment, persons: &[Pose]) -> Value {
    let entity = |pose: &Pose| {
        let joints = pose.joints_3d_m?;
        let (frame, [x0, y0, z0]) = match &pose.place {
            Some(place) => ("camera", place.at_m),
            None => ("hips", [0.0; 3]),
        };
        let is_known =
            |j: usize| pose.joints[j].state != JointState::Absent && joints[j].iter().all(|v| v.is_finite());
        let is_place = |&[a, b]: &[usize; 2]| is_known(a) && is_known(b);
        let points: Vec<_> = BONES
            .iter()
            .map(|&(a, b)| [a as usize, b as usize])
            .filter(is_place)
            .flatten()
            .map(|j| {
                let [x, y, z] = joints[j];
                json!({ "x": x0 + x, "y": y0 + y, "z": z0 + z })
            })
            .collect();
        Some(json!({
            "timestamp": at.json(), "frame_id": frame, "id": format!("person {}", pose.track_id),
            "lifetime": { "sec": 0, "nsec": 0 }, "frame_locked": true, "metadata": [],
            "arrows": [], "cubes": [], "spheres": [], "cylinders": [], "triangles": [], "texts": [], "models": [],
            "lines": [{
                "type": SCENE_LINE_LIST,
                "pose": { "position": { "x": 0, "y": 0, "z": 0 }, "orientation": { "x": 0, "y": 0, "z": 0, "w": 1 } },
                "thickness": BONE_M, "scale_invariant": false, "points": points,
                "color": colour(pose.track_id, OPAQUE), "colors": [], "indices": [],
            }],
        }))
    };
    let entities: Vec<_> = persons.iter().filter_map(entity).collect();
    json!({ "deletions": [{ "timestamp": at.json(), "type": DELETE_ALL, "id": "" }], "entities": entities })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pose::Joint;

    /// Somebody of whom these joints are there, each at a place of its own.
    fn somebody(joints: &[(Joint, f32)]) -> Pose {
        let mut pose = Pose { track_id: 1, ..Pose::default() };
        for &(joint, score) in joints {
            let x_px = 10.0 * joint as usize as f32;
            pose.joints[joint as usize] =
                PoseJoint { x_px, y_px: 5.0, score, sigma_px: 1.0, state: JointState::Measured };
        }
        pose
    }

    /// Kind, opacity and number of places of what is drawn.
    fn drawn(pose: &Pose) -> Vec<(u64, f64, usize)> {
        let marks = annotations(Moment::of_us(0), std::slice::from_ref(pose));
        let of = |mark: &Value| {
            let places = mark["points"].as_array().map_or(0, Vec::len);
            (mark["type"].as_u64().unwrap(), mark["outline_color"]["a"].as_f64().unwrap(), places)
        };
        marks["points"].as_array().unwrap().iter().map(of).collect()
    }

    #[test]
    fn what_is_unsure_is_faint_and_a_bone_is_as_its_fainter_end() {
        use Joint::{LeftElbow, LeftShoulder, LeftWrist};
        let faint = f64::from(FAINT);
        let arm = [(LeftShoulder, 0.9), (LeftElbow, 0.9), (LeftWrist, 0.01)];
        let marks = [(4, 1.0, 2), (1, 1.0, 2), (4, faint, 2), (1, faint, 1)];
        assert_eq!(drawn(&somebody(&arm)), marks);
        let mut nowhere = somebody(&arm);
        nowhere.joints[LeftWrist as usize].x_px = f32::NAN;
        assert_eq!(drawn(&nowhere), marks[..2]);
    }

    #[test]
    fn a_bone_to_a_joint_that_nobody_knows_is_not_in_the_scene() {
        use Joint::{LeftElbow, LeftShoulder, LeftWrist};
        let mut pose = somebody(&[(LeftShoulder, 0.9), (LeftElbow, 0.9), (LeftWrist, 0.9)]);
        pose.joints_3d_m = Some([[0.5; 3]; pose::JOINTS]);
        let places = |pose: &Pose| {
            let scene = scene(Moment::of_us(0), std::slice::from_ref(pose));
            scene["entities"][0]["lines"][0]["points"].as_array().unwrap().len()
        };
        assert_eq!(places(&pose), 4, "two bones of seventeen joints");
        pose.joints[LeftWrist as usize].state = JointState::Absent;
        assert_eq!(places(&pose), 2);
    }

    #[test]
    fn a_moment_is_whole_seconds_and_the_nanoseconds_beyond_them() {
        assert_eq!(Moment::of_us(12_345_678).json(), json!({ "sec": 12, "nsec": 345_678_000 }));
        assert_eq!(Moment::of_us(-5).ns(), 0);
    }
}
