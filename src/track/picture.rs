//! Who is in one picture, each person once.

use pose::{BoxPx, Keypoints};

use super::associate::Shape;

/// A pose of less extent shows nobody: the crop of a track that has shrunk to a hand's breadth shows some pose for ever. Nobody
/// so small can be made out, and the finder's cells are wider.
const MIN_EXTENT_PX: f32 = 20.0;

/// Whom a detection shows, if anybody.
pub(super) fn somebody(detection: &Keypoints, min_score: f32) -> Option<Shape> {
    let shape = Some(detection).filter(|d| d.score >= min_score).and_then(Shape::of);
    shape.filter(|shape| shape.extent_px() >= MIN_EXTENT_PX)
}

/// A pose that lies in so narrow a strip at the picture's edge, of the strip's length, may be no more than the edge itself: a crop that is
/// black beyond it shows upright figures for ever. Of somebody who comes in no more is to be seen then than a side.
const EDGE_SHARE: f32 = 0.2;

/// Whether all that is seen of somebody lies in a strip at the edge of a picture of `[width, height]` pixels.
pub fn is_at_edge_alone(detection: &Keypoints, size: [usize; 2]) -> bool {
    Shape::of(detection).is_some_and(|shape| is_strip_at_edge(&shape.bounds, size))
}

/// Whether what of `b` lies in a picture of `[width, height]` pixels is a strip at its edge, or nothing.
pub fn is_strip_at_edge(b: &BoxPx, [width, height]: [usize; 2]) -> bool {
    let across = (b.x + b.w).min(width as f32 - b.x);
    let down = (b.y + b.h).min(height as f32 - b.y);
    across < EDGE_SHARE * b.h || down < EDGE_SHARE * b.w
}

/// Takes out of `seen` who is there twice: of two alike the surer stays.
pub(super) fn keep_the_surer(detections: &[Keypoints], seen: &mut [Option<Shape>]) {
    for i in 0..seen.len() {
        for j in 0..i {
            if let (Some(a), Some(b)) = (&seen[i], &seen[j])
                && a.is_duplicate_of(b)
            {
                let weaker = if detections[i].score > detections[j].score { j } else { i };
                seen[weaker] = None;
            }
        }
    }
}

/// Who is in a single picture, the surest first: indices of the detections of at least this score that show somebody, each person
/// once, by the same rules as [`Identities`](super::Identities); any number of them.
pub fn distinct_persons(detections: &[Keypoints], min_score: f32) -> Vec<usize> {
    let mut seen: Vec<Option<Shape>> = detections.iter().map(|d| somebody(d, min_score)).collect();
    keep_the_surer(detections, &mut seen);
    let mut persons: Vec<usize> = (0..seen.len()).filter(|&i| seen[i].is_some()).collect();
    persons.sort_by(|&a, &b| detections[b].score.total_cmp(&detections[a].score));
    persons
}

#[cfg(test)]
mod tests {
    use super::*;
    use pose::Keypoint;

    /// A figure in the box `[x, y, width, height]`.
    fn figure([x, y, w, h]: [f32; 4]) -> Keypoints {
        let mut k = Keypoints { score: 0.9, ..Keypoints::default() };
        for (j, joint) in k.joints.iter_mut().enumerate() {
            let (x_px, y_px) = (x + w * (j % 2) as f32, y + h * j as f32 / 16.0);
            *joint = Keypoint { x_px, y_px, score: 0.9, sigma_px: 0.0 };
        }
        k
    }

    #[test]
    fn a_figure_that_is_the_pictures_edge_is_nobody_and_whoever_leaves_it_is_somebody() {
        let is_edge = |at| is_at_edge_alone(&figure(at), [640, 480]);
        for edge in [[622.0, 180.0, 12.0, 163.0], [1.0, 180.0, 12.0, 163.0], [200.0, 466.0, 160.0, 10.0]] {
            assert!(is_edge(edge), "{edge:?}");
        }
        for body in [[600.0, 180.0, 38.0, 163.0], [620.0, 180.0, 18.0, 60.0], [300.0, 100.0, 12.0, 200.0]] {
            assert!(!is_edge(body), "{body:?}");
        }
        assert!(!is_at_edge_alone(&Keypoints::default(), [640, 480]), "nothing lies nowhere");
    }
}
