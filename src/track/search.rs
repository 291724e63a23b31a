//! When to look at the whole picture, and who in it is new.

use pose::{BoxPx, MAX_PERSONS, PersonBox, Pose};

use super::known::away_extents;

/// With the one person followed in sight, how often newcomers are looked for: half a second is hardly noticed, and at 30 frames a
/// second the finder then costs one run in fifteen frames.
const NEWCOMERS_EVERY_US: i64 = 500_000;

/// With somebody out of sight, and among several, who stand before each other and hide and show others all the time: every fourth
/// frame of 30 a second, and a sixth of the silence after which an identity is no longer reported. What it costs: docs/lab/identities.md.
const AMONG_PEOPLE_EVERY_US: i64 = 100_000;

/// Among several, all in sight, of two frames in a row both are searched only if so far apart: a board that sees ten frames a second
/// with several people has no time for more.
const IN_A_ROW_US: i64 = 200_000;

/// With everybody in sight and no room to follow more, so many times as long between two searches: somebody may still have come out from
/// behind something and show more than their crop does.
const FULL_FACTOR: i64 = 2;

/// A found box whose longer side is this much that of the joints' box it holds shows more of the person: heads and feet reach beyond
/// the joints by a sixth.
const MORE: f32 = 1.4;

/// A found and a tracked box that share more than this part of the smaller of the two are the same person: the
/// finder's box holds the whole body, the tracked one the joints that are in sight.
const SAME_COVER: f32 = 0.6;

/// How many people there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Persons with a box in this frame.
    pub followed: usize,
    /// Those of them whom the last frame did not show.
    pub unseen: usize,
    /// Persons who are no longer followed, but were a moment ago: they may be hidden by who is.
    pub away: usize,
}

/// The rhythm of searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Search {
    last_us: Option<i64>,
    /// Whether there was a frame since then.
    has_rested: bool,
}

impl Search {
    /// Whether this frame is to be searched: with nobody tracked every frame, with somebody out of sight and among several every
    /// 100 ms, else every 500 ms; half as often where all are in sight and leave no room for more. Among several, all in sight, two
    /// frames in a row are searched only if 200 ms lie between them.
    pub fn is_due(&self, captured_at_us: i64, around: Around, max_persons: usize) -> bool {
        let Around { followed, unseen, away } = around;
        let every_us = match (followed, unseen) {
            (0, _) => 0,
            (1, 0) if away == 0 => NEWCOMERS_EVERY_US,
            _ => AMONG_PEOPLE_EVERY_US,
        };
        let is_full = unseen == 0 && followed >= max_persons.min(MAX_PERSONS);
        let every_us = if is_full { FULL_FACTOR * every_us } else { every_us };
        let every_us = if unseen == 0 && followed > 0 && !self.has_rested {
            every_us.max(IN_A_ROW_US)
        } else {
            every_us
        };
        // A clock that went back (another source) starts anew.
        self.last_us.is_none_or(|last| captured_at_us - last >= every_us || captured_at_us < last)
    }

    /// A frame was not searched.
    pub fn rested(&mut self) {
        self.has_rested = true;
    }

    /// The frame of this time was searched; one that turned out to be damaged was not.
    pub fn done(&mut self, captured_at_us: i64) {
        *self = Self { last_us: Some(captured_at_us), has_rested: false };
    }
}

/// Whether `person` was found where the tracked box `b` is.
pub(super) fn covers(person: &PersonBox, b: &BoxPx) -> bool {
    b.overlap_of_smaller(&person.box_px) >= SAME_COVER
}

/// Appends to `boxes` (of which the first `count` hold the persons followed) the found boxes that none of them covers,
/// the surest first; gives the new count, at most the length of `boxes`. Where that is full they take the places of the last
/// `unseen` of the persons followed, from the end: whoever was not seen where they were expected may be there instead. The others were
/// seen in the last frame: of them each leaves their place only to a find at most `reach` extents away, as far as they may have
/// walked since; 0: to none. Whoever is found where they were expected keeps their place, whatever else is found.
pub fn unmatched_detections(
    found: &[PersonBox],
    boxes: &mut [BoxPx],
    count: usize,
    unseen: usize,
    reach: f32,
) -> usize {
    let first_unseen = count - unseen.min(count);
    // Whoever may have walked out of their crop is as little surely there as whoever was not seen.
    let first_unsure = if reach > 0.0 { 0 } else { first_unseen };
    let (sure, unsure) = boxes[..count].split_at(first_unsure);
    let mut is_spare = [false; MAX_PERSONS];
    is_spare[first_unsure..count].fill(true);
    // A find of somebody surely there says nothing of whoever is expected behind them, and one find is one person.
    for person in found.iter().filter(|person| !sure.iter().any(|b| covers(person, b))) {
        let share = |i: &usize| unsure[*i].overlap_of_smaller(&person.box_px);
        let theirs = (0..unsure.len()).filter(|i| is_spare[first_unsure + i] && covers(person, &unsure[*i]));
        if let Some(i) = theirs.max_by(|a, b| share(a).total_cmp(&share(b))) {
            is_spare[first_unsure + i] = false;
        }
    }
    let mut n = count;
    for person in found {
        if boxes[..n].iter().any(|b| covers(person, b)) {
            continue;
        }
        if n < boxes.len() {
            boxes[n] = person.box_px;
            n += 1;
            continue;
        }
        let away = |i: &usize| away_extents(&person.box_px, &boxes[*i]);
        let of_unseen = (first_unseen..count).rev().find(|i| is_spare[*i]);
        let near = (first_unsure..first_unseen).filter(|i| is_spare[*i] && away(i) <= reach);
        if let Some(i) = of_unseen.or_else(|| near.min_by(|a, b| away(a).total_cmp(&away(b)))) {
            boxes[i] = person.box_px;
            is_spare[i] = false;
        }
    }
    n
}

/// Found where whoever is seen was painted out: a box that is that of somebody followed shows what is left of them, and one that lies in it
/// nearly whole a part of it.
const LEFT_OVER_IOU: f32 = 0.5;
const LEFT_OVER_INSIDE: f32 = 0.8;

/// Whoever is half hidden shows little; what is surely nobody costs a run of the keypoint network.
const MIN_BEHIND: f32 = 0.3;

/// Appends to `boxes`, as long as they have room, those of who was found behind those who are seen, and painted out: of the first `count`
/// the first `followed` hold the persons followed, `seen` where those were seen, in pixels of the source image. Gives the new count.
pub fn occluded_detections(
    found: &[PersonBox],
    seen: &[Pose],
    boxes: &mut [BoxPx],
    followed: usize,
    count: usize,
) -> usize {
    let mut n = count;
    for PersonBox { box_px, .. } in found.iter().filter(|person| person.score >= MIN_BEHIND) {
        let is_part = |b: &BoxPx| box_px.area() < b.area() && box_px.overlap_of_smaller(b) > LEFT_OVER_INSIDE;
        let is_left_over = boxes[..followed].iter().any(|b| b.iou(box_px) >= LEFT_OVER_IOU)
            || seen.iter().filter_map(Pose::bounds).any(|b| is_part(&b));
        let is_found_already = boxes[followed..n].iter().any(|b| b.overlap_of_smaller(box_px) >= SAME_COVER);
        if n < boxes.len() && !is_left_over && !is_found_already {
            boxes[n] = *box_px;
            n += 1;
        }
    }
    n
}

/// After a pause: puts the found boxes before the first `count` of `boxes`, which say where persons were before it, and leaves out
/// those of them that a found box covers or that cover one; gives the new count, at most the length of `boxes`. Who was followed has
/// walked on meanwhile, and a crop of where they stood would show half of them and a stranger.
pub fn merge_after_pause(found: &[PersonBox], boxes: &mut [BoxPx], count: usize) -> usize {
    let mut before = [BoxPx::default(); MAX_PERSONS];
    let count = count.min(MAX_PERSONS);
    before[..count].copy_from_slice(&boxes[..count]);
    let mut n = unmatched_detections(found, boxes, 0, 0, 0.0);
    for b in &before[..count] {
        let is_same = |a: &BoxPx| a.overlap_of_smaller(b) >= SAME_COVER;
        if n < boxes.len() && !boxes[..n].iter().any(is_same) {
            boxes[n] = *b;
            n += 1;
        }
    }
    n
}

/// Replaces each of `boxes`, those of the persons followed, by a found box that covers it and is much larger, unless that overlaps
/// another of them as well, smaller or larger: it may be theirs. The crop of a person who was half hidden shows no legs, and would for ever.
pub fn expand_partial_boxes(found: &[PersonBox], boxes: &mut [BoxPx]) {
    for i in 0..boxes.len() {
        let longer = |b: &BoxPx| b.w.max(b.h);
        let is_more =
            |whole: &BoxPx| longer(whole) > MORE * longer(&boxes[i]) && whole.area() > boxes[i].area();
        let is_alone = |whole: &BoxPx| {
            let overlaps = |b: &BoxPx| b.overlap_of_smaller(whole) >= SAME_COVER;
            overlaps(&boxes[i]) && boxes.iter().filter(|b| overlaps(b)).count() == 1
        };
        let whole = found.iter().map(|p| p.box_px).find(|whole| is_more(whole) && is_alone(whole));
        if let Some(whole) = whole {
            boxes[i] = whole;
        }
    }
}

#[cfg(test)]
mod tests {
    use pose::JointState;

    use super::*;

    #[test]
    fn the_rhythm_is_the_one_stated() {
        let mut search = Search::default();
        let mut is_due = |at_us: i64, followed: usize, unseen: usize| {
            let due = search.is_due(at_us, Around { followed, unseen, away: 0 }, 4);
            if due {
                search.done(at_us);
            } else {
                search.rested();
            }
            due
        };
        let searched: Vec<i64> = (0..40).map(|i| i * 33_000).filter(|&t| is_due(t, 1, 0)).collect();
        assert_eq!(searched, [0, 528_000, 1_056_000]);
        assert!(is_due(1_320_000, 0, 0) && is_due(1_320_001, 0, 0), "nobody tracked: every frame");
        assert!(!is_due(1_410_000, 1, 1) && is_due(1_430_000, 1, 1), "lost: every 100 ms");
        assert!(!is_due(1_520_000, 3, 0) && is_due(1_530_000, 3, 0), "among people: every 100 ms");
        assert!(
            !is_due(1_720_000, 4, 0) && is_due(1_730_000, 4, 0),
            "nobody more can be followed: half as often"
        );
        assert!(is_due(0, 1, 0), "the clock went back");
    }

    #[test]
    fn a_search_that_was_not_done_is_still_due() {
        let mut search = Search::default();
        let one = Around { followed: 1, ..Around::default() };
        search.done(0);
        assert!(search.is_due(600_000, one, 4));
        assert!(search.is_due(633_000, one, 4), "the frame before was damaged");
        search.done(633_000);
        assert!(!search.is_due(666_000, one, 4));
    }

    #[test]
    fn two_frames_in_a_row_are_searched_only_if_somebody_is_out_of_sight_or_frames_are_rare() {
        let three = |unseen: usize| Around { followed: 3, unseen, away: 0 };
        let searched = |every_us: i64, unseen: usize| {
            let mut search = Search::default();
            (0..6)
                .map(|i| i * every_us)
                .map(|t| {
                    let due = search.is_due(t, three(unseen), 4);
                    if due {
                        search.done(t)
                    } else {
                        search.rested()
                    }
                    due
                })
                .filter(|due| *due)
                .count()
        };
        assert_eq!(searched(100_000, 0), 3, "ten frames a second: every other one");
        assert_eq!(searched(100_000, 1), 6, "and every one while somebody is out of sight");
        assert_eq!(searched(200_000, 0), 6, "five frames a second");
    }

    #[test]
    fn whoever_was_there_a_moment_ago_is_looked_for_behind_who_is() {
        let mut search = Search::default();
        search.done(0);
        search.rested();
        let alone = Around { followed: 1, ..Around::default() };
        assert!(!search.is_due(200_000, alone, 4) && search.is_due(100_000, Around { away: 1, ..alone }, 4));
    }

    #[test]
    fn only_boxes_that_nobody_has_are_new() {
        let person = |x: f32, score: f32| PersonBox { box_px: BoxPx { x, y: 0.0, w: 40.0, h: 100.0 }, score };
        let mut boxes = [BoxPx::default(); MAX_PERSONS];
        boxes[0] = BoxPx { x: 5.0, y: 10.0, w: 30.0, h: 60.0 };
        let n = unmatched_detections(
            &[person(0.0, 0.9), person(200.0, 0.8), person(204.0, 0.7)],
            &mut boxes,
            1,
            0,
            0.0,
        );
        assert_eq!((n, boxes[1].x), (2, 200.0));
        let crowd: Vec<_> = (0..20).map(|i| person(500.0 + 50.0 * i as f32, 0.5)).collect();
        assert_eq!(unmatched_detections(&crowd, &mut boxes, 2, 0, 0.0), MAX_PERSONS);
        assert_eq!(
            unmatched_detections(&crowd, &mut boxes[..3], 2, 0, 0.0),
            3,
            "no more than are to be followed"
        );
    }

    #[test]
    fn a_find_takes_the_crop_of_whoever_was_not_seen_where_there_is_no_other_room() {
        let at = |x: f32| BoxPx { x, y: 0.0, w: 40.0, h: 100.0 };
        let found = [300.0, 400.0, 500.0].map(|x| PersonBox { box_px: at(x), score: 0.5 });
        let mut boxes = [at(0.0), at(100.0), at(200.0)];
        assert_eq!(unmatched_detections(&found, &mut boxes, 3, 2, 0.0), 3);
        assert_eq!(boxes.map(|b| b.x), [0.0, 400.0, 300.0], "those seen keep theirs");
        let mut boxes = [at(0.0), at(300.0)];
        assert_eq!(unmatched_detections(&found[..1], &mut boxes, 2, 1, 0.0), 2);
        assert_eq!(boxes[1].x, 300.0, "found where they were expected");
    }

    #[test]
    fn whoever_is_found_where_they_were_expected_keeps_their_crop_whoever_else_is_found() {
        let find = |x: f32| PersonBox { box_px: BoxPx { x, y: 0.0, w: 40.0, h: 100.0 }, score: 0.5 };
        let (own, other) = (find(5.0), find(300.0));
        let expected = BoxPx { x: 0.0, y: 0.0, w: 40.0, h: 100.0 };
        for found in [[own, other], [other, own]] {
            let mut boxes = [expected];
            assert_eq!(
                (unmatched_detections(&found, &mut boxes, 1, 1, 0.0), boxes),
                (1, [expected]),
                "{found:?}"
            );
        }
        // The find is that of somebody seen, before whoever is expected there: these may have come out elsewhere.
        let mut boxes = [expected, BoxPx { x: 10.0, ..expected }];
        unmatched_detections(&[own, other], &mut boxes, 2, 1, 0.0);
        assert_eq!(boxes.map(|b| b.x), [0.0, 300.0]);
        // Of two who are not seen one is found: the nearer of both.
        let mut boxes = [BoxPx { x: 12.0, ..expected }, expected];
        unmatched_detections(&[own, other], &mut boxes, 2, 2, 0.0);
        assert_eq!(boxes.map(|b| b.x), [300.0, 0.0]);
    }

    #[test]
    fn whoever_was_seen_leaves_their_place_only_to_a_find_as_near_as_they_can_have_walked() {
        let at = |x: f32| BoxPx { x, y: 0.0, w: 40.0, h: 100.0 };
        let after = |places: &[f32], unseen: usize, reach: f32, found: &[f32]| {
            let mut boxes = [BoxPx::default(); MAX_PERSONS];
            places.iter().zip(&mut boxes).for_each(|(x, b)| *b = at(*x));
            let found: Vec<_> = found.iter().map(|x| PersonBox { box_px: at(*x), score: 0.5 }).collect();
            let boxes = &mut boxes[..places.len()];
            assert_eq!(unmatched_detections(&found, boxes, places.len(), unseen, reach), places.len());
            boxes.iter().map(|b| b.x).collect::<Vec<_>>()
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
        let at = |x: f32| BoxPx { x, y: 0.0, w: 40.0, h: 100.0 };
        let found = [30.0, 300.0].map(|x| PersonBox { box_px: at(x), score: 0.5 });
        // The first was near who is found at 30 (walked on), the second where 300 is (grown by the time away), the third nowhere.
        let mut boxes = [at(0.0), BoxPx { x: 280.0, y: -20.0, w: 80.0, h: 140.0 }, at(600.0), at(900.0)];
        assert_eq!(merge_after_pause(&found, &mut boxes, 3), 4);
        assert_eq!(boxes.map(|b| b.x), [30.0, 300.0, 0.0, 600.0]);
        let mut boxes = [at(300.0), at(600.0)];
        assert_eq!(merge_after_pause(&found, &mut boxes, 2), 2, "no more than there is room for");
        assert_eq!(boxes.map(|b| b.x), [30.0, 300.0]);
    }

    #[test]
    fn a_crop_grows_to_the_whole_of_the_one_person_whom_it_shows_in_part() {
        let b = |x: f32, y: f32, w: f32, h: f32| BoxPx { x, y, w, h };
        let whole = PersonBox { box_px: b(0.0, 0.0, 60.0, 160.0), score: 0.9 };
        let mut boxes = [b(10.0, 10.0, 40.0, 70.0), b(200.0, 10.0, 40.0, 70.0)];
        expand_partial_boxes(&[whole], &mut boxes);
        assert_eq!((boxes[0], boxes[1].x), (whole.box_px, 200.0));
        // The box that the joints of somebody wholly in sight have is hardly smaller.
        let mut boxes = [b(5.0, 12.0, 45.0, 138.0)];
        expand_partial_boxes(&[whole], &mut boxes);
        assert_eq!(boxes[0].h, 138.0);
        // Two people in one box: it is neither's.
        let mut boxes = [b(0.0, 10.0, 25.0, 70.0), b(30.0, 10.0, 25.0, 70.0)];
        expand_partial_boxes(&[whole], &mut boxes);
        assert_eq!(boxes.map(|b| b.h), [70.0, 70.0]);
    }

    #[test]
    fn whoever_stands_behind_somebody_seen_is_looked_at_and_what_is_left_of_those_is_not() {
        let find = |x, y, w, h, score| PersonBox { box_px: BoxPx { x, y, w, h }, score };
        let mut seen = Pose::default();
        for (j, joint) in seen.joints.iter_mut().enumerate() {
            (joint.x_px, joint.y_px) = (100.0 + 10.0 * (j % 5) as f32, 50.0 + 10.0 * j as f32);
            joint.state = JointState::Measured;
        }
        let followed = BoxPx { x: 95.0, y: 40.0, w: 50.0, h: 180.0 };
        let elsewhere = BoxPx { x: 300.0, y: 40.0, w: 50.0, h: 180.0 };
        let looked_at = |found: &[PersonBox], places: usize| {
            let mut boxes = [followed, elsewhere, BoxPx::default(), BoxPx::default()];
            let n = occluded_detections(found, &[seen], &mut boxes[..places], 1, 2);
            boxes[2..n].to_vec()
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
