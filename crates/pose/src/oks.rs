//! Object keypoint similarity: how alike two poses are, in units of how well people agree on each joint (COCO).

use crate::{JOINTS, Joint};

/// COCO's similarity of two sets of places, 0..=1: the mean over the joints that `counts` of
/// `exp(-d² / (2 · area · (2·sigma·tolerance)²))`.
///
/// `area_px2` is the person's area in square pixels; `tolerance` is 1 for COCO's own measure and above where places are
/// compared across time. `None` where no joint counts or the area is not above 0.
pub fn oks(
    a: impl Fn(usize) -> (f32, f32),
    b: impl Fn(usize) -> (f32, f32),
    counts: impl Fn(usize) -> bool,
    area_px2: f32,
    tolerance: f32,
) -> Option<f32> {
    if area_px2.is_nan() || area_px2 <= 0.0 {
        return None;
    }
    let (mut sum, mut n) = (0.0, 0);
    for joint in (0..JOINTS).filter(|&j| counts(j)) {
        sum += joint_similarity(joint, a(joint), b(joint), area_px2, tolerance);
        n += 1;
    }
    (n > 0).then(|| sum / n as f32)
}

/// One joint's part of [`oks`], 0..=1: `exp(-d² / (2 · area · (2·sigma·tolerance)²))`, for an area above 0.
pub fn joint_similarity(
    joint: usize,
    (ax, ay): (f32, f32),
    (bx, by): (f32, f32),
    area_px2: f32,
    tolerance: f32,
) -> f32 {
    let spread = 2.0 * Joint::ALL[joint].oks_sigma() * tolerance;
    let (dx, dy) = (ax - bx, ay - by);
    libm::expf(-(dx * dx + dy * dy) / (2.0 * area_px2 * spread * spread))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_pose_scores_one_and_a_far_one_nothing() {
        let at = |j: usize| (10.0 * j as f32, 5.0);
        assert_eq!(oks(at, at, |_| true, 400.0, 1.0), Some(1.0));
        assert!(oks(at, |j| (at(j).0 + 500.0, 5.0), |_| true, 400.0, 1.0).unwrap() < 1e-6);
        assert_eq!(oks(at, at, |_| false, 400.0, 1.0), None);
        assert_eq!(oks(at, at, |_| true, 0.0, 1.0), None);
    }

    #[test]
    fn one_sigma_away_scores_as_the_definition_says() {
        // d = 2 sigma sqrt(area): exp(-1/2).
        let d = 2.0 * Joint::Nose.oks_sigma() * 20.0;
        let s = oks(|_| (0.0, 0.0), |_| (d, 0.0), |j| j == 0, 400.0, 1.0).unwrap();
        assert!((s - 0.606_530_7).abs() < 1e-6);
        // Twice as tolerant, the same is half as far.
        let tolerant = oks(|_| (0.0, 0.0), |_| (0.0, 2.0 * d), |j| j == 0, 400.0, 2.0).unwrap();
        assert!((tolerant - s).abs() < 1e-6, "{tolerant}");
        // The mean of a joint that is there and one that is nowhere near.
        let half = oks(|_| (0.0, 0.0), |j| (1e4 * j as f32, 0.0), |j| j < 2, 400.0, 1.0);
        assert_eq!(half, Some(0.5));
    }
}
