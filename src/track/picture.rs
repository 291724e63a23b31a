//! Who is in one picture, each person once.

use pose::Keypoints;

use super::associate::Shape;

/// A pose of less extent shows nobody: the crop of a track that has shrunk to a hand's breadth shows some pose for ever. Nobody
/// so small can be made out, and the finder's cells are wider.
const MIN_EXTENT_PX: f32 = 20.0;

/// Whom a detection shows, if anybody.
pub(super) fn somebody(detection: &Keypoints, min_score: f32) -> Option<Shape> {
    let shape = Some(detection).filter(|d| d.score >= min_score).and_then(Shape::of);
    shape.filter(|shape| shape.extent_px() >= MIN_EXTENT_PX)
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
