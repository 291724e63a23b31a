//! What the keypoint network says of one person in one picture.

use crate::{JOINTS, Joint};

/// An upright box in pixels of the source image; may reach outside the picture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BoxPx {
    /// Left edge.
    pub x: f32,
    /// Top edge.
    pub y: f32,
    /// Width, never negative.
    pub w: f32,
    /// Height, never negative.
    pub h: f32,
}

impl BoxPx {
    /// The box with these corners, in either order.
    pub fn from_corners(x0: f32, y0: f32, x1: f32, y1: f32) -> Self {
        Self { x: x0.min(x1), y: y0.min(y1), w: (x1 - x0).abs(), h: (y1 - y0).abs() }
    }

    /// Area in square pixels.
    pub fn area(&self) -> f32 {
        self.w * self.h
    }

    /// Centre, x and y.
    pub fn centre(&self) -> (f32, f32) {
        (self.x + 0.5 * self.w, self.y + 0.5 * self.h)
    }

    /// Intersection over union, 0..=1; 0 where either box has no area.
    pub fn iou(&self, other: &Self) -> f32 {
        let both = self.area_shared(other);
        if both > 0.0 { both / (self.area() + other.area() - both) } else { 0.0 }
    }

    /// Share of the smaller box that lies inside the larger one, 0..=1.
    pub fn share_inside(&self, other: &Self) -> f32 {
        let both = self.area_shared(other);
        if both > 0.0 { both / self.area().min(other.area()) } else { 0.0 }
    }

    fn area_shared(&self, other: &Self) -> f32 {
        let w = (self.x + self.w).min(other.x + other.w) - self.x.max(other.x);
        let h = (self.y + self.h).min(other.y + other.h) - self.y.max(other.y);
        w.max(0.0) * h.max(0.0)
    }
}

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
    /// The box round the joints whose score is at least `min_score`; `None` where no joint is.
    pub fn bounds(&self, min_score: f32) -> Option<BoxPx> {
        bounds(self.joints.iter().filter(|k| k.score >= min_score).map(|k| (k.x_px, k.y_px)))
    }
}

/// The box round `points`; `None` where there is none.
pub(crate) fn bounds(points: impl Iterator<Item = (f32, f32)>) -> Option<BoxPx> {
    let (mut x0, mut y0, mut x1, mut y1) =
        (f32::INFINITY, f32::INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY);
    for (x, y) in points {
        (x0, y0, x1, y1) = (x0.min(x), y0.min(y), x1.max(x), y1.max(y));
    }
    (x0 <= x1 && y0 <= y1).then(|| BoxPx::from_corners(x0, y0, x1, y1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iou_of_a_box_with_itself_is_one_and_of_disjoint_boxes_zero() {
        let a = BoxPx { x: 1.0, y: 2.0, w: 4.0, h: 5.0 };
        assert_eq!(a.iou(&a), 1.0);
        assert_eq!(a.iou(&BoxPx { x: 10.0, ..a }), 0.0);
        assert_eq!(a.iou(&BoxPx { w: 0.0, ..a }), 0.0);
        assert_eq!(a.share_inside(&BoxPx { w: 2.0, ..a }), 1.0);
        assert_eq!(a.share_inside(&BoxPx { x: 3.0, ..a }), 0.5);
        assert_eq!(a.share_inside(&BoxPx { w: 0.0, ..a }), 0.0);
    }

    #[test]
    fn bounds_leave_out_joints_below_the_threshold() {
        let mut k = Keypoints::default();
        k.joints[0] = Keypoint { x_px: 3.0, y_px: 4.0, score: 0.9, sigma_px: 0.0 };
        k.joints[1] = Keypoint { x_px: 5.0, y_px: 1.0, score: 0.8, sigma_px: 0.0 };
        k.joints[2] = Keypoint { x_px: 500.0, y_px: 1.0, score: 0.1, sigma_px: 0.0 };
        assert_eq!(k.bounds(0.5), Some(BoxPx { x: 3.0, y: 1.0, w: 2.0, h: 3.0 }));
        assert_eq!(k.bounds(0.95), None);
    }
}
