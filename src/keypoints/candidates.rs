//! Candidates of a search: the surest are kept, and one of those that show the same person.

use pose::PersonBox;

/// How many see one person in a crowd.
const CELLS_A_PERSON: usize = 9;

/// Boxes in net pixels; memory is kept.
#[derive(Debug)]
pub(super) struct Candidates {
    all: Vec<PersonBox>,
    max_found: usize,
}

impl Candidates {
    /// For so many persons.
    pub fn up_to(max_found: usize) -> Self {
        Self { all: Vec::with_capacity(CELLS_A_PERSON * max_found), max_found }
    }

    pub fn clear(&mut self) {
        self.all.clear();
    }

    #[cfg(test)]
    pub fn all(&self) -> &[PersonBox] {
        &self.all
    }

    /// Adds a candidate; where there are too many the weakest gives way.
    pub fn keep(&mut self, candidate: PersonBox) {
        let b = candidate.box_px;
        if ![b.x, b.y, b.w, b.h, candidate.score].iter().all(|v| v.is_finite()) || b.area() <= 0.0 {
            return;
        }
        if self.all.len() < CELLS_A_PERSON * self.max_found {
            self.all.push(candidate);
        } else if let Some(weakest) = self.all.iter_mut().min_by(|a, b| a.score.total_cmp(&b.score))
            && weakest.score < candidate.score
        {
            *weakest = candidate;
        }
    }

    /// Writes the persons, the surest first: of two boxes that overlap by more than `nms_iou` of their union the surer one.
    pub fn persons(&mut self, nms_iou: f32, found: &mut Vec<PersonBox>) {
        found.clear();
        self.all.sort_unstable_by(|a, b| b.score.total_cmp(&a.score));
        for candidate in &self.all {
            if found.len() == self.max_found {
                break;
            }
            if found.iter().all(|kept| kept.box_px.iou(&candidate.box_px) <= nms_iou) {
                found.push(*candidate);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pose::BoxPx;

    use super::*;

    #[test]
    fn the_candidates_are_bounded_and_the_best_stay() {
        let mut candidates = Candidates::up_to(16);
        for i in 0..1000 {
            let score = (i * 7919 % 1000) as f32 / 1000.0;
            candidates.keep(PersonBox { box_px: BoxPx { x: i as f32, y: 0.0, w: 1.0, h: 1.0 }, score });
        }
        assert_eq!(candidates.all().len(), 144);
        assert!(candidates.all().iter().all(|c| c.score >= 1.0 - 0.144));
        let mut found = Vec::new();
        candidates.persons(0.5, &mut found);
        assert_eq!(found.len(), 16);
        assert!(found.iter().all(|p| p.score >= 1.0 - 0.016), "the surest of those");
    }
}
