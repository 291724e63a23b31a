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
    /// `None`: not drawn.
    pub fn of(joint: &PoseJoint) -> Option<Self> {
        match joint.state {
            JointState::Absent => None,
            _ if joint.score < UNSURE_SCORE => Some(Look::Unsure),
            JointState::Measured => Some(Look::Measured),
            JointState::Predicted => Some(Look::Predicted),
        }
    }
}
