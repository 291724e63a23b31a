//! Boxes round persons.

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

    /// Share of the smaller box that the other one covers (overlap coefficient), 0..=1; symmetric. 0 where either has no area.
    pub fn overlap_of_smaller(&self, other: &Self) -> f32 {
        let both = self.area_shared(other);
        if both > 0.0 { both / self.area().min(other.area()) } else { 0.0 }
    }

    fn area_shared(&self, other: &Self) -> f32 {
        let w = (self.x + self.w).min(other.x + other.w) - self.x.max(other.x);
        let h = (self.y + self.h).min(other.y + other.h) - self.y.max(other.y);
        w.max(0.0) * h.max(0.0)
    }
}

/// A person as a finder sees them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PersonBox {
    /// Pixels of the source image; cut to the picture by nobody.
    pub box_px: BoxPx,
    /// 0..=1.
    pub score: f32,
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
        assert_eq!(a.overlap_of_smaller(&BoxPx { w: 2.0, ..a }), 1.0);
        assert_eq!(a.overlap_of_smaller(&BoxPx { x: 3.0, ..a }), 0.5);
        assert_eq!(a.overlap_of_smaller(&BoxPx { w: 0.0, ..a }), 0.0);
        // Half of each lies in the other: a third of both together.
        assert_eq!(a.iou(&BoxPx { x: 3.0, ..a }), 1.0 / 3.0);
        assert_eq!(a.overlap_of_smaller(&BoxPx { x: 3.0, w: 20.0, ..a }), 0.5);
    }

    #[test]
    fn a_box_has_its_middle_between_its_corners_in_either_order() {
        let a = BoxPx::from_corners(5.0, 1.0, 3.0, 9.0);
        assert_eq!((a, a.centre()), (BoxPx { x: 3.0, y: 1.0, w: 2.0, h: 8.0 }, (4.0, 5.0)));
    }
}
