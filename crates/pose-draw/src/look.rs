//! How a joint and a bone look, by how their places are known.

use pose::{JointState, PoseJoint, UNSURE_SCORE};

/// Told apart by shape, not by colour: on one bit a pixel, on any ground and to any eye. A bone looks as its less sure end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Look {
    /// Seen in this frame: a filled disc, solid bones.
    Measured,
    /// Filled in from the past and the other joints: a ring, dashed bones.
    Predicted,
    /// Measured or predicted, and probably wrong: a small dot, dotted bones.
    Unsure,
}

impl Look {
    /// `None`: not drawn. What is at no place would be drawn over all of it.
    pub fn of(joint: &PoseJoint) -> Option<Self> {
        match joint.state {
            JointState::Absent => None,
            _ if !(joint.x_px.is_finite() && joint.y_px.is_finite()) => None,
            _ if joint.score < UNSURE_SCORE => Some(Look::Unsure),
            JointState::Measured => Some(Look::Measured),
            JointState::Predicted => Some(Look::Predicted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_joint_at_no_place_is_not_drawn() {
        let joint = PoseJoint { score: 0.9, state: JointState::Measured, ..PoseJoint::default() };
        assert_eq!(Look::of(&joint), Some(Look::Measured));
        for nowhere in [f32::NAN, f32::INFINITY] {
            assert_eq!(Look::of(&PoseJoint { x_px: nowhere, ..joint }), None);
            assert_eq!(Look::of(&PoseJoint { y_px: nowhere, ..joint }), None);
        }
    }
}
