//! From directions to pixels and back.

/// A pin-hole camera with two terms of radial distortion; pixels of the source image, from its top left corner.
///
/// A point (x, y, 1) in front of the camera is seen at (fx·x·d + cx, fy·y·d + cy) with d = 1 + k1·r² + k2·r⁴ and
/// r² = x² + y²: OpenCV's model with its other terms 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Intrinsics {
    /// Focal length along x, pixels.
    pub fx: f64,
    /// Focal length along y, pixels.
    pub fy: f64,
    /// Principal point, pixels.
    pub cx: f64,
    /// Principal point, pixels.
    pub cy: f64,
    /// Distortion at r².
    pub k1: f64,
    /// Distortion at r⁴.
    pub k2: f64,
}

/// Newton's method meets any camera's distortion in a few steps.
const STEPS: usize = 12;
/// The same between bounds.
const BOUNDED_STEPS: usize = 20;
/// No picture is pressed together more than this.
const MIN_DISTORTION: f64 = 0.2;

impl Intrinsics {
    /// A lens without distortion that sees `across_deg` degrees over `width_px`, its axis in the middle of the picture.
    pub fn from_view(across_deg: f64, [width_px, height_px]: [u32; 2]) -> Self {
        let [w, h] = [f64::from(width_px), f64::from(height_px)];
        let f = 0.5 * w / (0.5 * across_deg).to_radians().tan();
        Self { fx: f, fy: f, cx: 0.5 * w, cy: 0.5 * h, k1: 0.0, k2: 0.0 }
    }

    /// Where the point (x, y, 1) of the camera's space is seen, pixels.
    pub fn project(&self, x: f64, y: f64) -> [f64; 2] {
        let r2 = x * x + y * y;
        let d = self.distortion(r2);
        [self.fx * x * d + self.cx, self.fy * y * d + self.cy]
    }

    /// The same, also far outside of the picture, where the polynomial would turn over: no point there is seen in the picture.
    pub fn project_clamped(&self, x: f64, y: f64) -> [f64; 2] {
        let d = self.distortion(x * x + y * y).max(MIN_DISTORTION);
        [self.fx * (x * d) + self.cx, self.fy * (y * d) + self.cy]
    }

    /// The direction (x, y, 1) that is seen at (u, v): [`Self::project`] undone. `None` where the polynomial has no answer,
    /// which is outside of what the lens was measured on.
    pub fn direction(&self, u: f64, v: f64) -> Option<[f64; 2]> {
        let [x, y] = [(u - self.cx) / self.fx, (v - self.cy) / self.fy];
        let seen = x.hypot(y);
        if !seen.is_finite() {
            return None;
        }
        // Along the radius: r·(1 + k1·r² + k2·r⁴) = seen.
        let mut r = seen;
        for _ in 0..STEPS {
            let r2 = r * r;
            let slope = 1.0 + r2 * (3.0 * self.k1 + 5.0 * r2 * self.k2);
            if slope < 0.05 {
                return None;
            }
            r = (r - (r * self.distortion(r2) - seen) / slope).max(0.0);
        }
        let is_met = (r * self.distortion(r * r) - seen).abs() < 1e-6 * seen.max(1.0);
        // Beyond the place where the polynomial turned over it may come back.
        let is_met = is_met && r <= self.widest();
        let by = if seen > 0.0 { r / seen } else { 1.0 };
        is_met.then_some([x * by, y * by])
    }

    /// The same; beyond what the lens sees at all, the last direction before.
    pub fn direction_clamped(&self, u: f64, v: f64) -> [f64; 2] {
        let [x, y] = [(u - self.cx) / self.fx, (v - self.cy) / self.fy];
        let seen = x.hypot(y);
        if seen == 0.0 {
            return [x, y];
        }
        // Along the radius as above: Newton's steps, and halves where one leads out of what is left.
        let (mut low, mut high) = (0.0, self.widest().min(seen / MIN_DISTORTION));
        let mut r = seen.min(high);
        for _ in 0..BOUNDED_STEPS {
            let (r2, off) = (r * r, r * self.distortion(r * r).max(MIN_DISTORTION) - seen);
            if off < 0.0 {
                low = r
            } else {
                high = r
            }
            let next = r - off / (1.0 + r2 * (3.0 * self.k1 + r2 * 5.0 * self.k2));
            r = if (low..=high).contains(&next) { next } else { 0.5 * (low + high) };
        }
        let by = r / seen;
        [x * by, y * by]
    }

    fn distortion(&self, r2: f64) -> f64 {
        1.0 + r2 * (self.k1 + r2 * self.k2)
    }

    /// Up to this distance from the axis, at depth 1, what is farther out is seen farther out; then the polynomial turns over.
    fn widest(&self) -> f64 {
        let (k1, k2) = (self.k1, self.k2);
        // The first place where 1 + 3 k1 r² + 5 k2 r⁴ is 0.
        let root = (9.0 * k1 * k1 - 20.0 * k2).sqrt();
        let r2 = 2.0 / (root - 3.0 * k1);
        if r2 > 0.0 { r2.sqrt() } else { f64::INFINITY }
    }

    /// The same for pictures that are `across` times as wide and `down` times as high.
    #[must_use]
    pub fn scaled(&self, across: f64, down: f64) -> Self {
        let Self { fx, fy, cx, cy, k1, k2 } = *self;
        Self { fx: fx * across, fy: fy * down, cx: cx * across, cy: cy * down, k1, k2 }
    }

    /// The same for pictures of `size_px` that are turned by `quarters` of a full turn clockwise, then mirrored.
    #[must_use]
    pub fn turned(&self, quarters: u8, mirror: bool, size_px: [u32; 2]) -> Self {
        let [mut w, mut h] = size_px.map(f64::from);
        let mut to = *self;
        for _ in 0..quarters % 4 {
            // What was at (x, y) comes to (h - y, x).
            to = Self { fx: to.fy, fy: to.fx, cx: h - to.cy, cy: to.cx, ..to };
            (w, h) = (h, w);
        }
        if mirror {
            to.cx = w - to.cx;
        }
        to
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LENS: Intrinsics = Intrinsics { fx: 610.0, fy: 605.0, cx: 330.0, cy: 236.0, k1: -0.21, k2: 0.05 };

    proptest! {
        #[test]
        fn both_ways_back_agree_where_both_have_an_answer(
            focal in 0.3..2.0, k1 in -0.5..0.3, k2 in -0.1..0.3, u in -640.0..1_280.0, v in -480.0..960.0,
        ) {
            let lens = Intrinsics { fx: 640.0 * focal, fy: 630.0 * focal, k1, k2, ..LENS };
            let clamped = lens.direction_clamped(u, v);
            if let Some([x, y]) = lens.direction(u, v) {
                prop_assert!((x - clamped[0]).hypot(y - clamped[1]) < 1e-4, "{lens:?}: {x} {y}, {clamped:?}");
                let ([a, b], [c, d]) = (lens.project(x, y), lens.project_clamped(x, y));
                prop_assert!((a - c).hypot(b - d) < 1e-9 && (a - u).hypot(b - v) < 1e-2);
            }
        }
    }

    #[test]
    fn a_direction_is_a_projection_undone_over_the_whole_picture() {
        for (u, v) in [(0.0, 0.0), (640.0, 0.0), (0.0, 480.0), (640.0, 480.0), (330.0, 236.0), (100.0, 400.0)]
        {
            let [x, y] = LENS.direction(u, v).expect("the lens sees its own picture");
            let [back_u, back_v] = LENS.project(x, y);
            assert!((back_u - u).abs() < 1e-6 && (back_v - v).abs() < 1e-6, "{u} {v}: {back_u} {back_v}");
        }
    }

    #[test]
    fn where_the_polynomial_folds_there_is_no_direction() {
        let folding = Intrinsics { k1: -0.4, k2: 0.0, ..LENS };
        assert_eq!(folding.direction(5000.0, 236.0), None);
        assert_eq!(folding.direction(f64::NAN, 236.0), None);
    }

    #[test]
    fn a_field_of_view_is_met_at_the_edges() {
        let lens = Intrinsics::from_view(90.0, [640, 480]);
        let [x, _] = lens.direction(640.0, 240.0).unwrap();
        assert!((x - 1.0).abs() < 1e-9, "45 degrees to the right: {x}");
    }

    /// Where a point is seen in the turned picture is where it was seen before, turned.
    #[test]
    fn a_turned_camera_sees_what_is_turned() {
        let (w, h) = (640.0, 480.0);
        let [u, v] = LENS.project(0.1, -0.2);
        let near = |lens: Intrinsics, [x, y]: [f64; 2], [u, v]: [f64; 2]| {
            let [a, b] = lens.project(x, y);
            assert!((a - u).abs() < 1e-9 && (b - v).abs() < 1e-9, "{a} {b}, {u} {v}");
        };
        near(LENS.turned(1, false, [640, 480]), [0.2, 0.1], [h - v, u]);
        near(LENS.turned(2, false, [640, 480]), [-0.1, 0.2], [w - u, h - v]);
        near(LENS.turned(3, false, [640, 480]), [-0.2, -0.1], [v, w - u]);
        near(LENS.turned(0, true, [640, 480]), [-0.1, -0.2], [w - u, v]);
        near(LENS.turned(1, true, [640, 480]), [-0.2, 0.1], [v, u]);
    }
}
