//! Maps between pixel spaces.

/// A map between two pixel spaces: `x' = xx·x + xy·y + x0`, `y' = yx·x + yy·y + y0`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the formula names them")]
pub struct Affine {
    pub xx: f32,
    pub xy: f32,
    pub x0: f32,
    pub yx: f32,
    pub yy: f32,
    pub y0: f32,
}

impl Affine {
    /// Every point to itself.
    pub const IDENTITY: Affine = Affine { xx: 1.0, xy: 0.0, x0: 0.0, yx: 0.0, yy: 1.0, y0: 0.0 };

    /// Scales by `sx`, `sy`, then shifts by `x0`, `y0`.
    pub const fn scale_then_shift(sx: f32, sy: f32, x0: f32, y0: f32) -> Self {
        Affine { xx: sx, xy: 0.0, x0, yx: 0.0, yy: sy, y0 }
    }

    /// Where (x, y) lands.
    pub fn apply(&self, x: f32, y: f32) -> (f32, f32) {
        (self.xx * x + self.xy * y + self.x0, self.yx * x + self.yy * y + self.y0)
    }

    /// This map, then `next`.
    pub fn then(&self, next: &Affine) -> Affine {
        let (x0, y0) = next.apply(self.x0, self.y0);
        Affine {
            xx: next.xx * self.xx + next.xy * self.yx,
            xy: next.xx * self.xy + next.xy * self.yy,
            x0,
            yx: next.yx * self.xx + next.yy * self.yx,
            yy: next.yx * self.xy + next.yy * self.yy,
            y0,
        }
    }

    /// The map back; `None` where this one flattens the plane.
    pub fn inverse(&self) -> Option<Affine> {
        let det = self.xx * self.yy - self.xy * self.yx;
        if !det.is_normal() {
            return None;
        }
        let (xx, xy, yx, yy) = (self.yy / det, -self.xy / det, -self.yx / det, self.xx / det);
        Some(Affine {
            xx,
            xy,
            x0: -(xx * self.x0 + xy * self.y0),
            yx,
            yy,
            y0: -(yx * self.x0 + yy * self.y0),
        })
    }

    /// How many pixels of the target one pixel of the source spans, along the longer axis.
    pub fn scale(&self) -> f32 {
        self.xx.hypot(self.yx).max(self.xy.hypot(self.yy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_scale_is_that_of_the_longer_axis_and_the_second_map_comes_second() {
        let m = Affine::scale_then_shift(2.0, 3.0, 10.0, 20.0);
        assert_eq!((m.apply(1.0, 1.0), m.scale()), ((12.0, 23.0), 3.0));
        // A quarter to the right after that: x becomes y, y becomes -x.
        let quarter = Affine { xx: 0.0, xy: -1.0, x0: 0.0, yx: 1.0, yy: 0.0, y0: 0.0 };
        assert_eq!((m.then(&quarter).apply(1.0, 1.0), m.then(&quarter).scale()), ((-23.0, 12.0), 3.0));
        assert_eq!(Affine::scale_then_shift(1.0, 0.0, 5.0, 5.0).inverse(), None);
    }

    proptest! {
        #[test]
        fn an_affine_and_its_inverse_cancel(
            xx in 0.5f32..4.0, yy in 0.5f32..4.0, xy in -0.4f32..0.4, yx in -0.4f32..0.4,
            x0 in -500f32..500.0, y0 in -500f32..500.0, x in -100f32..800.0, y in -100f32..800.0,
        ) {
            let m = Affine { xx, xy, x0, yx, yy, y0 };
            let (u, v) = m.then(&m.inverse().expect("determinant is at least 0.09")).apply(x, y);
            prop_assert!((u - x).abs() < 0.05 && (v - y).abs() < 0.05, "({x}, {y}) came back as ({u}, {v})");
        }
    }
}
