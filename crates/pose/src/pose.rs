//! What Posewire says of one person at one moment.

use crate::{BoxPx, JOINTS, Joint, boxes::bounds};

/// How a joint's place is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum JointState {
    /// Not known: neither seen nor predictable. Its place means nothing.
    #[default]
    Absent = 0,
    /// The network saw it in the frame that this pose was made from.
    Measured = 1,
    /// Not seen, hardly, or not where it can be: its place rests on the person's own past and the other joints.
    Predicted = 2,
}

impl JointState {
    /// The word that JSON lines carry.
    pub const fn name(self) -> &'static str {
        match self {
            JointState::Absent => "absent",
            JointState::Measured => "measured",
            JointState::Predicted => "predicted",
        }
    }
}

/// A joint whose score is lower is unsure, being wrong twice as often as right: drawn so, and taken for nothing where something is
/// concluded from a pose.
pub const UNSURE_SCORE: f32 = 1.0 / 3.0;

/// One joint of a [`Pose`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoseJoint {
    /// Pixels of the source image.
    pub x_px: f32,
    /// Pixels of the source image.
    pub y_px: f32,
    /// Probability that the joint lies within 0.1 of the person's extent of this place, 0..=1.
    pub score: f32,
    /// Standard deviation of the place at the pose's `valid_at`, pixels.
    pub sigma_px: f32,
    /// How the place is known.
    pub state: JointState,
}

/// Where a person stands before the camera, at the moment of capture.
///
/// Camera space: x right in the picture, y down, z along the lens's axis; metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place {
    /// The middle of the hips.
    pub at_m: [f32; 3],
    /// Its standard deviation along each axis.
    pub sigma_m: [f32; 3],
    /// From the camera to there.
    pub distance_m: f32,
    /// Its standard deviation.
    pub distance_sigma_m: f32,
}

/// One person, filtered, at the moment its [`Stamped`] says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Stable identity, from 1; never used again for somebody else in one run.
    pub track_id: u32,
    /// The person's own score, 0..=1.
    pub score: f32,
    /// COCO's order.
    pub joints: [PoseJoint; JOINTS],
    /// Hip-centred places in metres (x right in the image, y down, z away from the camera), where the model lifts. An absent joint's means nothing.
    pub joints_3d_m: Option<[[f32; 3]; JOINTS]>,
    /// Where the person stands, where the camera's lens is known.
    pub place: Option<Place>,
}

impl Default for Pose {
    fn default() -> Self {
        Self {
            track_id: 0,
            score: 0.0,
            joints: [PoseJoint::default(); JOINTS],
            joints_3d_m: None,
            place: None,
        }
    }
}

impl core::ops::Index<Joint> for Pose {
    type Output = PoseJoint;
    fn index(&self, joint: Joint) -> &PoseJoint {
        &self.joints[joint as usize]
    }
}

impl Pose {
    /// The box round the joints that are not absent; `None` where all are.
    pub fn bounds(&self) -> Option<BoxPx> {
        bounds(self.joints.iter().filter(|j| j.state != JointState::Absent).map(|j| (j.x_px, j.y_px)))
    }
}

/// A value with the time of the light it was made from and the time it speaks of.
///
/// Times are microseconds of one monotonic clock and signed, so that differences are never wrapped: some drivers stamp
/// frames a little in the future.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stamped<T> {
    /// Capture time of the frame, as the driver gives it.
    pub captured_at_us: i64,
    /// The moment that `value` describes: `captured_at_us`, or later where it was predicted.
    pub valid_at_us: i64,
    /// What is stamped.
    pub value: T,
}

impl<T> Stamped<T> {
    /// How old the frame behind this value is at `now_us`, in microseconds; negative if the driver stamped the future.
    pub fn age_us(&self, now_us: i64) -> i64 {
        now_us.saturating_sub(self.captured_at_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_leave_out_what_is_absent_and_keep_what_is_predicted() {
        let mut pose = Pose::default();
        assert_eq!(pose.bounds(), None);
        for (joint, x_px, y_px, state) in [
            (Joint::Nose, 30.0, 10.0, JointState::Measured),
            (Joint::LeftAnkle, 20.0, 90.0, JointState::Predicted),
            (Joint::RightAnkle, 500.0, -500.0, JointState::Absent),
        ] {
            pose.joints[joint as usize] = PoseJoint { x_px, y_px, state, ..PoseJoint::default() };
        }
        assert_eq!(pose.bounds(), Some(BoxPx { x: 20.0, y: 10.0, w: 10.0, h: 80.0 }));
    }

    #[test]
    fn an_age_is_above_0_after_the_capture() {
        let stamped = Stamped { captured_at_us: 5_000, valid_at_us: 9_000, value: () };
        assert_eq!([stamped.age_us(8_000), stamped.age_us(4_000)], [3_000, -1_000]);
    }
}
