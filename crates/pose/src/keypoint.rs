//! What the keypoint network says of one person in one picture.

use crate::boxes::bounds;
use crate::{BoxPx, JOINTS, Joint, MIRROR};

/// One joint as the network sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Keypoint {
    /// Pixels of the source image.
    pub x_px: f32,
    /// Pixels of the source image.
    pub y_px: f32,
    /// Probability that the joint lies within 0.1 of the person's extent of this place, 0..=1.
    pub score: f32,
    /// Standard deviation of the place in pixels of the source image; 0 where the network gives none.
    pub sigma_px: f32,
}

/// One person as the network sees it, in COCO's order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keypoints {
    /// One keypoint a joint; a joint not found has score 0.
    pub joints: [Keypoint; JOINTS],
    /// The person's own score, 0..=1.
    pub score: f32,
}

impl Default for Keypoints {
    fn default() -> Self {
        Self { joints: [Keypoint::default(); JOINTS], score: 0.0 }
    }
}

impl core::ops::Index<Joint> for Keypoints {
    type Output = Keypoint;
    fn index(&self, joint: Joint) -> &Keypoint {
        &self.joints[joint as usize]
    }
}

impl Keypoints {
    /// The same with left and right joints' names exchanged: of a person who was seen in a mirror.
    #[must_use]
    pub fn with_sides_exchanged(&self) -> Self {
        Self { joints: MIRROR.map(|j| self.joints[j]), score: self.score }
    }

    /// The box round the joints whose score is at least `min_score`; `None` where no joint is.
    pub fn bounds(&self, min_score: f32) -> Option<BoxPx> {
        bounds(self.joints.iter().filter(|k| k.score >= min_score).map(|k| (k.x_px, k.y_px)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_leave_out_joints_below_the_threshold() {
        let mut k = Keypoints::default();
        k.joints[0] = Keypoint { x_px: 3.0, y_px: 4.0, score: 0.9, sigma_px: 0.0 };
        k.joints[1] = Keypoint { x_px: 5.0, y_px: 1.0, score: 0.8, sigma_px: 0.0 };
        k.joints[2] = Keypoint { x_px: 500.0, y_px: 1.0, score: 0.1, sigma_px: 0.0 };
        assert_eq!(k.bounds(0.5), Some(BoxPx { x: 3.0, y: 1.0, w: 2.0, h: 3.0 }));
        assert_eq!(k.bounds(0.8), k.bounds(0.5));
        assert_eq!(k.bounds(0.95), None);
    }

    #[test]
    fn exchanged_sides_are_the_other_joints_and_the_score_stays() {
        let mut k = Keypoints { score: 0.7, ..Keypoints::default() };
        k.joints[Joint::LeftWrist as usize].x_px = 9.0;
        let other = k.with_sides_exchanged();
        assert_eq!((other[Joint::RightWrist].x_px, other[Joint::LeftWrist].x_px), (9.0, 0.0));
        assert_eq!((other.score, other.with_sides_exchanged()), (0.7, k));
    }
}
