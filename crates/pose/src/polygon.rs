//! Polygons that people stand in: zones of a picture, or of a room's floor.

/// Whether `point` lies inside the polygon with these corners, in whatever unit both have: an odd number of edges lies to its right
/// (Shimrat 1962). No corners hold nothing, nor does a point that is not a number lie anywhere.
pub fn holds(corners: &[[f32; 2]], [x, y]: [f32; 2]) -> bool {
    let mut is_inside = false;
    let Some(&(mut before)) = corners.last() else { return false };
    for &corner in corners {
        let ([x0, y0], [x1, y1]) = (before, corner);
        if (y0 > y) != (y1 > y) && x < x0 + (x1 - x0) * (y - y0) / (y1 - y0) {
            is_inside = !is_inside;
        }
        before = corner;
    }
    is_inside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bay_is_outside_and_no_corners_hold_nothing() {
        let u = [[0., 0.], [1., 0.], [1., 4.], [3., 4.], [3., 0.], [4., 0.], [4., 5.], [0., 5.]];
        for (point, is_inside) in
            [([0.5, 0.5], true), ([2., 2.], false), ([2., 4.5], true), ([5., 2.], false)]
        {
            assert_eq!(holds(&u, point), is_inside, "{point:?}");
        }
        assert!(!holds(&[], [0., 0.]));
        assert!(!holds(&u, [f32::NAN, 0.5]) && !holds(&u, [0.5, f32::NAN]));
    }
}
