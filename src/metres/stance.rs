//! How somebody stands: on which foot, and which way their body points where it is straight.
//!
//! A camera that looks down steeply sees people who stand upright lean far, so the body itself says whether it is straight; which of the
//! straight ones stand upright is asked of the floor, as far as that is known.

use nalgebra::Vector3;
use pose::{JOINTS, Joint};

use super::stature::Stature;

/// From the ankles to the shoulders, of a person's height: who stands has 0.77, who sits on a chair 0.6.
const STRAIGHT: f64 = 0.65;
/// Cosine of the angle by which the knee of the leg that is stood on may bend: a walker's bends by a third of a right angle, and a knee that
/// is placed some centimetres off looks as bent again.
const STRAIGHT_KNEE: f64 = 0.6;
/// Cosine of how far from the floor's vertical a body that stands upright may point.
const UPRIGHT: f64 = 0.85;
/// The same, from the picture's vertical, while there is no floor: 55 degrees, so that a camera may look down by 45 and people lean still.
const UPRIGHT_BEFORE: f64 = 0.57;

/// How somebody stands, in camera space.
#[derive(Clone, Copy, Debug)]
pub struct Stance {
    /// The lower ankle, from the middle of the hips, metres.
    pub ankle_m: Vector3<f64>,
    /// Up along the body, of length 1; `None` of who bends or sits.
    pub axis: Option<Vector3<f64>>,
}

impl Stance {
    /// Of somebody whose joints are at `joints_m`, from the middle of the hips; `down` is the floor's, where it is known.
    pub fn of(joints_m: &[[f32; 3]; JOINTS], down: Option<Vector3<f64>>, stature: Stature) -> Self {
        let at = |joint: Joint| Vector3::from(joints_m[joint as usize].map(f64::from));
        let left = [Joint::LeftHip, Joint::LeftKnee, Joint::LeftAnkle].map(at);
        let right = [Joint::RightHip, Joint::RightKnee, Joint::RightAnkle].map(at);
        let up = 0.5 * (at(Joint::LeftShoulder) + at(Joint::RightShoulder) - left[2] - right[2]);
        let long = up.try_normalize(STRAIGHT * stature.height_m);
        // Before a camera that looks down, of two feet on the floor the nearer one is lower in the picture.
        let down = down.or(long.map(|up| -up)).unwrap_or(Vector3::y());
        let [hip, knee, ankle] = if left[2].dot(&down) > right[2].dot(&down) { left } else { right };
        let (thigh, shin) = (knee - hip, ankle - knee);
        let is_straight = thigh.dot(&shin) > STRAIGHT_KNEE * thigh.norm() * shin.norm();
        Self { ankle_m: ankle, axis: long.filter(|_| is_straight) }
    }
}

/// Whether a straight body that points along `axis` stands upright above the floor, of which `down` is known or not.
pub fn is_upright(axis: &Vector3<f64>, down: Option<Vector3<f64>>) -> bool {
    match down {
        Some(down) => -axis.dot(&down) > UPRIGHT,
        None => -axis.y > UPRIGHT_BEFORE,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Somebody who stands on both feet, or sits on a chair and looks at the camera, before a camera that looks down by `pitch_deg`.
    pub fn body(is_seated: bool, pitch_deg: f32) -> [[f32; 3]; JOINTS] {
        let mut joints_m = [[0.0; 3]; JOINTS];
        let (knee, ankle) = if is_seated {
            ([0.1, 0.0, -0.45], [0.1, 0.45, -0.45])
        } else {
            ([0.1, 0.4, 0.0], [0.1, 0.8, 0.0])
        };
        for (left, [x, y, z]) in [(5, [0.2, -0.5, 0.0]), (11, [0.1, 0.0, 0.0]), (13, knee), (15, ankle)] {
            joints_m[left] = turned([x, y, z], pitch_deg);
            joints_m[left + 1] = turned([-x, y, z], pitch_deg);
        }
        joints_m
    }

    /// What is seen at a place when the camera has been turned down.
    pub fn turned([x, y, z]: [f32; 3], pitch_deg: f32) -> [f32; 3] {
        let (sin, cos) = pitch_deg.to_radians().sin_cos();
        [x, y * cos - z * sin, z * cos + y * sin]
    }

    #[test]
    fn who_stands_is_upright_before_any_camera_and_who_sits_before_none() {
        for pitch_deg in [0.0, 20.0, 45.0] {
            let stance = |is_seated| Stance::of(&body(is_seated, pitch_deg), None, Stature::ADULT);
            let axis = stance(false).axis.unwrap_or_else(|| panic!("bent at {pitch_deg}"));
            assert!(is_upright(&axis, None), "{pitch_deg}: {axis}");
            let floor = |pitch_deg| Some(Vector3::from(turned([0.0, 1.0, 0.0], pitch_deg).map(f64::from)));
            assert!(is_upright(&axis, floor(pitch_deg)) && !is_upright(&axis, floor(pitch_deg - 40.0)));
            assert!(stance(true).axis.is_none(), "{pitch_deg}");
        }
        // On the floor, across the picture.
        assert!(!is_upright(&Vector3::x(), None));
    }

    #[test]
    fn in_a_stride_a_body_points_up_from_between_its_feet_and_with_bent_knees_or_bent_down_nowhere() {
        let with = |moved: &[(Joint, [f32; 3])]| {
            let mut joints_m = body(false, 0.0);
            moved.iter().for_each(|(joint, place_m)| joints_m[*joint as usize] = *place_m);
            Stance::of(&joints_m, None, Stature::ADULT).axis
        };
        use Joint::{LeftAnkle, LeftKnee, LeftShoulder, RightAnkle, RightKnee, RightShoulder};
        let stride = with(&[(LeftAnkle, [0.1, 0.78, -0.25]), (RightAnkle, [-0.1, 0.8, 0.25])]);
        let axis = stride.expect("both legs are straight");
        assert!(axis.x.abs() < 0.02 && axis.z.abs() < 0.02 && axis.y < -0.99, "{axis}");
        let knees = [(LeftKnee, [0.1, 0.33, -0.45]), (RightKnee, [-0.1, 0.33, -0.45])];
        let ankles = [(LeftAnkle, [0.1, 0.65, 0.0]), (RightAnkle, [-0.1, 0.65, 0.0])];
        assert_eq!(with(&[knees, ankles].concat()), None);
        assert_eq!(with(&[(LeftShoulder, [0.2, 0.3, -0.4]), (RightShoulder, [-0.2, 0.3, -0.4])]), None);
    }

    #[test]
    fn the_foot_in_the_air_is_not_stood_on_though_it_is_nearer_to_a_camera_that_looks_down() {
        let pitch_deg = 40.0;
        let mut joints_m = body(false, pitch_deg);
        joints_m[Joint::LeftKnee as usize] = turned([0.1, 0.35, -0.2], pitch_deg);
        joints_m[Joint::LeftAnkle as usize] = turned([0.1, 0.7, -0.3], pitch_deg);
        let stance = Stance::of(&joints_m, None, Stature::ADULT);
        assert!(stance.ankle_m.x < 0.0 && stance.axis.is_some(), "{stance:?}");
    }
}
