//! Which detections are looked at next, in turn, where there are more than can be followed.

use arrayvec::ArrayVec;
use pose::{BoxPx, MAX_PERSONS, PersonBox};

use super::crops::{Crop, covers};

/// A find that overlaps an earlier one so far is the same, a frame later.
const SAME_IOU: f32 = 0.5;

/// More than any finder finds; beyond that the turns begin again.
const MAX_LOOKED_AT: usize = 4 * MAX_PERSONS;

/// Which finds were looked at: a thing that the finder is surer of than of somebody far away would take the only place for ever,
/// however often the keypoint network denies it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoundRobin {
    /// Pixels of the source image.
    looked_at: ArrayVec<BoxPx, MAX_LOOKED_AT>,
}

impl RoundRobin {
    /// Puts those of `found` that were looked at behind the others, either part the surest first as before. `followed` are the crops of the
    /// persons followed: whoever is found there takes no turn. When nobody is left who was not looked at, the turns begin anew.
    pub fn order(&mut self, found: &mut [PersonBox], followed: &[Crop]) {
        let is_followed = |person: &PersonBox| followed.iter().any(|crop| covers(person, &crop.box_px));
        let is_fresh = |person: &PersonBox| !is_followed(person) && !self.had(person);
        if !found.iter().any(is_fresh) {
            self.looked_at.clear();
            return;
        }
        let mut fresh = 0;
        for i in 0..found.len() {
            if !self.had(&found[i]) {
                found[fresh..=i].rotate_right(1);
                fresh += 1;
            }
        }
    }

    /// The find in this box is looked at.
    pub fn take(&mut self, box_px: BoxPx) {
        if self.looked_at.is_full() {
            self.looked_at.clear();
        }
        self.looked_at.push(box_px);
    }

    fn had(&self, person: &PersonBox) -> bool {
        self.looked_at.iter().any(|b| b.iou(&person.box_px) >= SAME_IOU)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::track::Origin;

    fn find(x: f32, score: f32) -> PersonBox {
        PersonBox { box_px: BoxPx { x, y: 0.0, w: 40.0, h: 100.0 }, score }
    }

    #[test]
    fn everybody_found_has_a_turn_the_surest_first_and_then_anew() {
        let mut turns = RoundRobin::default();
        let mut looked_at = |frame: usize| {
            // The finder's boxes shake.
            let shake = (frame % 2) as f32;
            let mut found = [find(shake, 0.9), find(200.0 - shake, 0.5), find(400.0 + shake, 0.4)];
            turns.order(&mut found, &[]);
            turns.take(found[0].box_px);
            found.map(|person| person.score)
        };
        let order: Vec<_> = (0..4).map(&mut looked_at).collect();
        assert_eq!(order, [[0.9, 0.5, 0.4], [0.5, 0.4, 0.9], [0.4, 0.9, 0.5], [0.9, 0.5, 0.4]]);
    }

    #[test]
    fn whoever_is_followed_takes_no_turn() {
        let (own, thing) = (find(0.0, 0.9), find(200.0, 0.5));
        let mut turns = RoundRobin::default();
        turns.take(thing.box_px);
        let mut found = [thing, own];
        turns.order(&mut found, &[Crop { box_px: own.box_px, origin: Origin::Followed { was_seen: true } }]);
        assert_eq!(found, [thing, own], "nobody else waits");
        turns.take(thing.box_px);
        turns.order(&mut found, &[]);
        assert_eq!(found, [own, thing], "no longer followed");
    }

    #[test]
    fn many_things_that_move_are_not_remembered_without_end() {
        let mut turns = RoundRobin::default();
        (0..=MAX_LOOKED_AT).for_each(|i| turns.take(find(100.0 * i as f32, 0.5).box_px));
        assert_eq!(turns.looked_at.len(), 1);
    }
}
