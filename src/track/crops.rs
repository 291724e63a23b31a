//! What is cropped from a frame: where the persons followed are expected, and who was found besides.

use arrayvec::ArrayVec;
use pose::{BoxPx, MAX_PERSONS, PersonBox, Pose};

use super::known::away_extents;

/// A found box whose longer side is this much that of the joints' box it holds shows more of the person: heads and feet reach beyond
/// the joints by a sixth.
const MORE: f32 = 1.4;

/// A found and a tracked box that share more than this part of the smaller of the two are the same person: the
/// finder's box holds the whole body, the tracked one the joints that are in sight.
const SAME_COVER: f32 = 0.6;

/// Found where whoever is seen was painted out: a box that is that of somebody followed shows what is left of them, and one that lies in it
/// nearly whole a part of it.
const LEFT_OVER_IOU: f32 = 0.5;
const LEFT_OVER_INSIDE: f32 = 0.8;

/// Whoever is half hidden shows little; what is surely nobody costs a run of the keypoint network.
const MIN_BEHIND: f32 = 0.3;

/// The crops of one frame.
pub type Crops = ArrayVec<Crop, MAX_PERSONS>;

/// A part of the picture for the keypoint network to look at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crop {
    /// Pixels of the source image.
    pub box_px: BoxPx,
    /// Why it is looked at.
    pub origin: Origin,
}

/// Where a crop comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Somebody followed is expected here; the box may be that of a find which shows more of them.
    Followed {
        /// By the last frame.
        was_seen: bool,
    },
    /// The whole picture: nobody is followed, and there is no finder.
    Whole,
    /// Somebody was here before a pause in the frames; without a finder, where nobody was followed then, the whole picture.
    BeforePause,
    /// A find that is nobody's yet.
    Found,
    /// The same, in the place of somebody followed, who is not looked at.
    FoundInstead,
    /// Found after those who are seen were painted out.
    FoundBehind,
}

impl Origin {
    /// Whether the crop is of somebody not followed until now: whoever is seen there begins, or is back. The whole picture is nobody's.
    pub fn is_new(self) -> bool {
        !matches!(self, Self::Followed { .. } | Self::Whole)
    }
}

/// Whether `person` was found where the tracked box `b` is.
pub(super) fn covers(person: &PersonBox, b: &BoxPx) -> bool {
    b.overlap_of_smaller(&person.box_px) >= SAME_COVER
}

/// Whether another crop fits, of no more than `max_persons`.
pub fn has_room(crops: &Crops, max_persons: usize) -> bool {
    crops.len() < max_persons.min(MAX_PERSONS)
}

/// Appends to `crops`, those of the persons followed, the found boxes that none of them covers, the surest first, up to `max_persons`
/// crops. Where there are so many already they take the places of persons not seen in the last frame, from the end: whoever was not
/// seen where they were expected may be there instead. The others each leave their place only to a find at most `reach` extents away, as
/// far as they may have walked since; 0: to none. Whoever is found where they were expected keeps their place, whatever else is found.
pub fn unmatched_detections(found: &[PersonBox], crops: &mut Crops, max_persons: usize, reach: f32) {
    let was_seen = |crop: &Crop| crop.origin == Origin::Followed { was_seen: true };
    // Whoever may have walked out of their crop is as little surely there as whoever was not seen.
    let is_sure = |crop: &Crop| was_seen(crop) && reach <= 0.0;
    let mut is_spare: ArrayVec<bool, MAX_PERSONS> = crops.iter().map(|crop| !is_sure(crop)).collect();
    // A find of somebody surely there says nothing of whoever is expected behind them, and one find is one person.
    let is_theirs = |person: &PersonBox, crop: &Crop| is_sure(crop) && covers(person, &crop.box_px);
    for person in found.iter().filter(|person| !crops.iter().any(|crop| is_theirs(person, crop))) {
        let share = |i: &usize| crops[*i].box_px.overlap_of_smaller(&person.box_px);
        let theirs = (0..is_spare.len()).filter(|i| is_spare[*i] && covers(person, &crops[*i].box_px));
        if let Some(i) = theirs.max_by(|a, b| share(a).total_cmp(&share(b))) {
            is_spare[i] = false;
        }
    }
    for person in found {
        if crops.iter().any(|crop| covers(person, &crop.box_px)) {
            continue;
        }
        if has_room(crops, max_persons) {
            crops.push(Crop { box_px: person.box_px, origin: Origin::Found });
            continue;
        }
        let away = |i: &usize| away_extents(&person.box_px, &crops[*i].box_px);
        let spare = || (0..is_spare.len()).filter(|i| is_spare[*i]);
        let of_unseen = spare().rev().find(|i| !was_seen(&crops[*i]));
        let near = spare().filter(|i| was_seen(&crops[*i]) && away(i) <= reach);
        if let Some(i) = of_unseen.or_else(|| near.min_by(|a, b| away(a).total_cmp(&away(b)))) {
            crops[i] = Crop { box_px: person.box_px, origin: Origin::FoundInstead };
            is_spare[i] = false;
        }
    }
}

/// Appends to `crops`, up to `max_persons`, those of who was found behind those who are seen, and painted out: `seen` where those were
/// seen, in pixels of the source image. A find in the place of somebody followed is as theirs.
pub fn occluded_detections(found: &[PersonBox], seen: &[Pose], crops: &mut Crops, max_persons: usize) {
    let is_found = |crop: &Crop| matches!(crop.origin, Origin::Found | Origin::FoundBehind);
    for PersonBox { box_px, .. } in found.iter().filter(|person| person.score >= MIN_BEHIND) {
        let is_part = |b: &BoxPx| box_px.area() < b.area() && box_px.overlap_of_smaller(b) > LEFT_OVER_INSIDE;
        let is_left_over = crops.iter().any(|c| !is_found(c) && c.box_px.iou(box_px) >= LEFT_OVER_IOU)
            || seen.iter().filter_map(Pose::bounds).any(|b| is_part(&b));
        let is_found_already =
            crops.iter().any(|c| is_found(c) && c.box_px.overlap_of_smaller(box_px) >= SAME_COVER);
        if has_room(crops, max_persons) && !is_left_over && !is_found_already {
            crops.push(Crop { box_px: *box_px, origin: Origin::FoundBehind });
        }
    }
}

/// After a pause: puts the found boxes before `crops`, which say where persons were before it, and leaves out those of them that a
/// found box covers or that cover one, and those beyond `max_persons`. Who was followed has walked on meanwhile, and a crop of where
/// they stood would show half of them and a stranger.
pub fn merge_after_pause(found: &[PersonBox], crops: &mut Crops, max_persons: usize) {
    let before = std::mem::take(crops);
    unmatched_detections(found, crops, max_persons, 0.0);
    for crop in before {
        let is_same = |other: &Crop| other.box_px.overlap_of_smaller(&crop.box_px) >= SAME_COVER;
        if has_room(crops, max_persons) && !crops.iter().any(is_same) {
            crops.push(crop);
        }
    }
}

/// Replaces the box of each of `crops`, those of the persons followed, by a found box that covers it and is much larger, unless that
/// overlaps another of them as well, smaller or larger: it may be theirs. The crop of a person who was half hidden shows no legs, and would
/// for ever.
pub fn expand_partial_boxes(found: &[PersonBox], crops: &mut [Crop]) {
    for i in 0..crops.len() {
        let own = crops[i].box_px;
        let longer = |b: &BoxPx| b.w.max(b.h);
        let is_more = |whole: &BoxPx| longer(whole) > MORE * longer(&own) && whole.area() > own.area();
        let is_alone = |whole: &BoxPx| {
            let overlaps = |b: &BoxPx| b.overlap_of_smaller(whole) >= SAME_COVER;
            overlaps(&own) && crops.iter().filter(|crop| overlaps(&crop.box_px)).count() == 1
        };
        let whole = found.iter().map(|p| p.box_px).find(|whole| is_more(whole) && is_alone(whole));
        if let Some(whole) = whole {
            crops[i].box_px = whole;
        }
    }
}

#[cfg(test)]
mod tests {
    use pose::JointState;

    use super::*;

    fn at(x: f32) -> BoxPx {
        BoxPx { x, y: 0.0, w: 40.0, h: 100.0 }
    }

    fn find(x: f32) -> PersonBox {
        PersonBox { box_px: at(x), score: 0.5 }
    }

    /// Crops of persons followed, of whom the last `unseen` were not seen.
    fn followed(boxes: &[BoxPx], unseen: usize) -> Crops {
        let seen = boxes.len() - unseen;
        let crop = |(i, &box_px)| Crop { box_px, origin: Origin::Followed { was_seen: i < seen } };
        boxes.iter().enumerate().map(crop).collect()
    }

    fn lefts(crops: &Crops) -> Vec<f32> {
        crops.iter().map(|crop| crop.box_px.x).collect()
    }

    #[test]
    fn only_boxes_that_nobody_has_are_new() {
        let person = |x: f32, score: f32| PersonBox { score, ..find(x) };
        let own = BoxPx { x: 5.0, y: 10.0, w: 30.0, h: 60.0 };
        let mut crops = followed(&[own], 0);
        let found = [person(0.0, 0.9), person(200.0, 0.8), person(204.0, 0.7)];
        unmatched_detections(&found, &mut crops, MAX_PERSONS, 0.0);
        let new = Crop { box_px: at(200.0), origin: Origin::Found };
        assert_eq!(crops[..], [followed(&[own], 0)[0], new]);
        let crowd: Vec<_> = (0..20).map(|i| find(500.0 + 50.0 * i as f32)).collect();
        let mut few = crops.clone();
        unmatched_detections(&crowd, &mut crops, MAX_PERSONS, 0.0);
        assert_eq!(crops.len(), MAX_PERSONS);
        unmatched_detections(&crowd, &mut few, 3, 0.0);
        assert_eq!(few.len(), 3, "no more than are to be followed");
    }

    #[test]
    fn a_find_takes_the_crop_of_whoever_was_not_seen_where_there_is_no_other_room() {
        let found = [300.0, 400.0, 500.0].map(find);
        let mut crops = followed(&[0.0, 100.0, 200.0].map(at), 2);
        unmatched_detections(&found, &mut crops, 3, 0.0);
        assert_eq!(lefts(&crops), [0.0, 400.0, 300.0], "those seen keep theirs");
        let origins = [Origin::Followed { was_seen: true }, Origin::FoundInstead, Origin::FoundInstead];
        assert!(crops.iter().map(|crop| crop.origin).eq(origins));
        let mut crops = followed(&[0.0, 300.0].map(at), 1);
        unmatched_detections(&found[..1], &mut crops, 2, 0.0);
        assert_eq!(crops, followed(&[0.0, 300.0].map(at), 1), "found where they were expected");
    }

    #[test]
    fn whoever_is_found_where_they_were_expected_keeps_their_crop_whoever_else_is_found() {
        let (own, other) = (find(5.0), find(300.0));
        for found in [[own, other], [other, own]] {
            let mut crops = followed(&[at(0.0)], 1);
            unmatched_detections(&found, &mut crops, 1, 0.0);
            assert_eq!(crops, followed(&[at(0.0)], 1), "{found:?}");
        }
        // The find is that of somebody seen, before whoever is expected there: these may have come out elsewhere.
        let mut crops = followed(&[at(0.0), at(10.0)], 1);
        unmatched_detections(&[own, other], &mut crops, 2, 0.0);
        assert_eq!(lefts(&crops), [0.0, 300.0]);
        // Of two who are not seen one is found: the nearer of both.
        let mut crops = followed(&[at(12.0), at(0.0)], 2);
        unmatched_detections(&[own, other], &mut crops, 2, 0.0);
        assert_eq!(lefts(&crops), [300.0, 0.0]);
    }

    #[test]
    fn whoever_was_seen_leaves_their_place_only_to_a_find_as_near_as_they_can_have_walked() {
        let after = |places: &[f32], unseen: usize, reach: f32, found: &[f32]| {
            let places: Vec<_> = places.iter().map(|x| at(*x)).collect();
            let found: Vec<_> = found.iter().map(|x| find(*x)).collect();
            let mut crops = followed(&places, unseen);
            unmatched_detections(&found, &mut crops, places.len(), reach);
            lefts(&crops)
        };
        assert_eq!(after(&[0.0], 0, 0.6, &[1000.0]), [0.0], "nobody walks so far");
        assert_eq!(after(&[0.0], 0, 0.6, &[61.0]), [0.0]);
        assert_eq!(after(&[0.0], 0, 0.6, &[60.0]), [60.0]);
        assert_eq!(after(&[0.0], 0, 0.0, &[60.0]), [0.0], "a forecast says where they are");
        assert_eq!(after(&[0.0], 0, 0.6, &[1000.0, 60.0]), [60.0], "less sure, and near");
        assert_eq!(after(&[0.0], 0, 0.6, &[60.0, 5.0]), [0.0], "found where they were expected");
        assert_eq!(after(&[0.0, 100.0], 0, 0.6, &[45.0]), [45.0, 100.0], "the nearest of two");
        assert_eq!(after(&[0.0], 0, 0.6, &[60.0, 20.0]), [60.0], "one find for a place");
        assert_eq!(after(&[0.0, 500.0], 1, 0.6, &[1000.0]), [0.0, 1000.0], "as ever where one is unseen");
        assert_eq!(after(&[0.0, 500.0], 1, 0.6, &[60.0]), [0.0, 60.0], "before who was seen");
        assert_eq!(after(&[0.0, 500.0], 1, 0.6, &[1000.0, 60.0]), [60.0, 1000.0]);
    }

    #[test]
    fn after_a_pause_the_found_come_first_and_whoever_was_not_found_is_looked_for_where_they_were() {
        let merged = |before: &[BoxPx], max_persons: usize| {
            let before = before.iter().map(|&box_px| Crop { box_px, origin: Origin::BeforePause });
            let mut crops = before.collect();
            merge_after_pause(&[30.0, 300.0].map(find), &mut crops, max_persons);
            assert!(crops.iter().all(|crop| crop.origin.is_new()));
            lefts(&crops)
        };
        // The first was near who is found at 30 (walked on), the second where 300 is (grown by the time away), the third nowhere.
        let grown = BoxPx { x: 280.0, y: -20.0, w: 80.0, h: 140.0 };
        assert_eq!(merged(&[at(0.0), grown, at(600.0)], 4), [30.0, 300.0, 0.0, 600.0]);
        assert_eq!(merged(&[at(300.0), at(600.0)], 2), [30.0, 300.0], "no more than there is room for");
    }

    #[test]
    fn a_crop_grows_to_the_whole_of_the_one_person_whom_it_shows_in_part() {
        let b = |x: f32, y: f32, w: f32, h: f32| BoxPx { x, y, w, h };
        let whole = PersonBox { box_px: b(0.0, 0.0, 60.0, 160.0), score: 0.9 };
        let mut crops = followed(&[b(10.0, 10.0, 40.0, 70.0), b(200.0, 10.0, 40.0, 70.0)], 0);
        expand_partial_boxes(&[whole], &mut crops);
        assert_eq!(crops, followed(&[whole.box_px, b(200.0, 10.0, 40.0, 70.0)], 0));
        // The box that the joints of somebody wholly in sight have is hardly smaller.
        let mut crops = followed(&[b(5.0, 12.0, 45.0, 138.0)], 0);
        expand_partial_boxes(&[whole], &mut crops);
        assert_eq!(crops[0].box_px.h, 138.0);
        // Two people in one box: it is neither's.
        let mut crops = followed(&[b(0.0, 10.0, 25.0, 70.0), b(30.0, 10.0, 25.0, 70.0)], 0);
        expand_partial_boxes(&[whole], &mut crops);
        assert!(crops.iter().all(|crop| crop.box_px.h == 70.0), "{crops:?}");
    }

    #[test]
    fn whoever_stands_behind_somebody_seen_is_looked_at_and_what_is_left_of_those_is_not() {
        let find = |x, y, w, h, score| PersonBox { box_px: BoxPx { x, y, w, h }, score };
        let mut seen = Pose::default();
        for (j, joint) in seen.joints.iter_mut().enumerate() {
            (joint.x_px, joint.y_px) = (100.0 + 10.0 * (j % 5) as f32, 50.0 + 10.0 * j as f32);
            joint.state = JointState::Measured;
        }
        let own = BoxPx { x: 95.0, y: 40.0, w: 50.0, h: 180.0 };
        let elsewhere = BoxPx { x: 300.0, y: 40.0, w: 50.0, h: 180.0 };
        let looked_at = |found: &[PersonBox], places: usize| {
            let mut crops = followed(&[own], 0);
            crops.push(Crop { box_px: elsewhere, origin: Origin::Found });
            occluded_detections(found, &[seen], &mut crops, places);
            let behind = &crops[2..];
            assert!(behind.iter().all(|crop| crop.origin == Origin::FoundBehind));
            behind.iter().map(|crop| crop.box_px).collect::<Vec<_>>()
        };
        let behind = find(120.0, 45.0, 60.0, 170.0, 0.5);
        assert_eq!(looked_at(&[behind], 4), [behind.box_px]);
        assert_eq!(looked_at(&[behind], 2), [], "no room");
        assert_eq!(looked_at(&[find(120.0, 45.0, 60.0, 170.0, 0.29)], 4), [], "hardly anybody");
        assert_eq!(looked_at(&[find(95.0, 60.0, 45.0, 150.0, 0.9)], 4), [], "all of who is followed");
        assert_eq!(looked_at(&[find(110.0, 120.0, 25.0, 60.0, 0.9)], 4), [], "a part of who is seen");
        assert_eq!(looked_at(&[find(305.0, 50.0, 50.0, 170.0, 0.9)], 4), [], "found already");
        assert_eq!(looked_at(&[behind, behind], 4).len(), 1, "the same twice");
    }
}
