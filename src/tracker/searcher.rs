//! Where to look in a picture: at those who are followed and, where the picture is searched, at whoever is found beside and behind
//! them; and how much counts what is seen there.

use pose::{Keypoints, PersonBox, Pose};

use super::behind::{Behind, is_seen_already};
use super::{Look, TrackError};
use crate::keypoints::{MAX_FOUND, PersonFinder};
use crate::picture::Picture;
use crate::telemetry::Stage;
use crate::track::{
    Around, Crops, Origin, RoundRobin, Search, expand_partial_boxes, is_at_edge_alone, merge_after_pause,
    unmatched_detections,
};

/// The person finder, when it is run, and whom it found last. Memory is kept.
pub(super) struct Searcher {
    pub(super) finder: Option<PersonFinder>,
    pub(super) rhythm: Search,
    max_persons: usize,
    /// A crop of a lower score shows nobody.
    min_score: f32,
    found: Vec<PersonBox>,
    turns: RoundRobin,
    behind: Behind,
}

impl Searcher {
    /// Looks at no more than `max_persons` persons a picture, and takes a crop of a lower score than `min_score` for nobody. Without a
    /// finder nothing is ever searched.
    pub(super) fn new(finder: Option<PersonFinder>, max_persons: usize, min_score: f32) -> Self {
        Self {
            finder,
            rhythm: Search::default(),
            max_persons,
            min_score,
            found: Vec::with_capacity(2 * MAX_FOUND),
            turns: RoundRobin::default(),
            behind: Behind::new(max_persons),
        }
    }

    /// The next picture is searched.
    pub(super) fn reset(&mut self) {
        self.rhythm = Search::default();
        self.turns = RoundRobin::default();
    }

    /// Whether the picture of this time is to be searched.
    pub(super) fn is_due(&self, at_us: i64, around: Around, is_after_pause: bool) -> bool {
        self.finder.is_some() && (is_after_pause || self.rhythm.is_due(at_us, around, self.max_persons))
    }

    /// The crops of a picture: those of `look`, and in a search those of whoever is found besides. `people` are those who were seen, and
    /// are told of, where they are expected.
    ///
    /// # Errors
    /// [`TrackError::Network`].
    pub(super) fn search(
        &mut self,
        picture: &Picture<'_>,
        look: Look,
        people: impl Iterator<Item = Pose>,
        ended: &mut dyn FnMut(Stage),
    ) -> Result<Crops, TrackError> {
        let mut crops = look.crops;
        let Some(finder) = self.finder.as_mut().filter(|_| look.is_search) else {
            self.rhythm.rested();
            self.found.clear();
            return Ok(crops);
        };
        self.rhythm.done(look.at_us);
        finder.fit(picture);
        ended(Stage::Pixels);
        finder.run()?;
        ended(Stage::Network);
        finder.decode(&mut self.found)?;
        if look.is_after_pause {
            merge_after_pause(&self.found, &mut crops, self.max_persons);
            ended(Stage::Decode);
            return Ok(crops);
        }
        // Surest first.
        let sure = self.found.partition_point(|person| finder.is_sure(person));
        expand_partial_boxes(&self.found[..sure], &mut crops);
        self.turns.order(&mut self.found, &crops);
        unmatched_detections(&self.found, &mut crops, self.max_persons, look.reach);
        crops.iter().filter(|crop| crop.origin.is_new()).for_each(|crop| self.turns.take(crop.box_px));
        ended(Stage::Decode);
        self.behind.look(finder, picture, people, &mut crops, &mut self.found, ended)?;
        Ok(crops)
    }

    /// Weighs what the keypoint network saw in `crops`, `seen[i]` in the crop `i`, of a picture of `size` (width, height; pixels): of
    /// whoever was found just now both networks have a word, and of who is seen already, or may be the edge alone, nothing is left:
    /// somebody of score 0 may be somebody by the user's own least score.
    pub(super) fn weigh(&self, crops: &Crops, size: [usize; 2], seen: &mut [Keypoints]) {
        for (crop, seen) in crops.iter().zip(&mut *seen).filter(|(crop, _)| crop.origin.is_new()) {
            let found = self.found.iter().find(|found| found.box_px == crop.box_px);
            if let Some((finder, found)) = self.finder.as_ref().zip(found) {
                seen.score = finder.both(found.score, seen.score);
            }
            // Whoever leaves is followed to the last; nobody begins, or is back, in a strip at the edge.
            if is_at_edge_alone(seen, size) {
                *seen = Keypoints::default();
            }
        }
        if let Some(finder) = &self.finder {
            // Who stands behind was found last.
            let (others, behind) =
                seen.split_at_mut(crops.partition_point(|crop| crop.origin != Origin::FoundBehind));
            // A crop that shows nobody has joints too, which say nothing of who stands where.
            let others = others.iter().filter(|other| other.score >= self.min_score);
            for seen in behind.iter_mut().filter(|seen| is_seen_already(seen, others.clone(), finder)) {
                *seen = Keypoints::default();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pose::BoxPx;

    use super::*;
    use crate::capture::FrameSource;
    use crate::capture::clip::EveryFrame;
    use crate::capture::synthetic::Synthetic;
    use crate::config::Config;
    use crate::picture::{Decoder, Frame};
    use crate::track::Crop;
    use crate::tracker::Networks;

    const FOLLOWED: Origin = Origin::Followed { was_seen: true };

    fn look(crops: Crops) -> Look {
        Look { at_us: 0, crops, reach: 0.0, is_search: true, is_after_pause: false, reduction: 1 }
    }

    fn finder() -> PersonFinder {
        let networks = Networks::load(&Config::default().models).expect("the built-in networks load");
        networks.finder.expect("a finder is built in")
    }

    /// Of a clip of so many persons.
    fn first_frame(persons: usize) -> (EveryFrame<Synthetic>, Frame) {
        let mut clip = EveryFrame(Synthetic::new(persons, 320, 240, 30.0, 3).expect("valid"));
        let frame = clip.next_frame(Duration::ZERO).expect("a frame").expect("no wait");
        (clip, frame)
    }

    #[test]
    fn of_whoever_was_found_just_now_both_networks_have_a_word() {
        let mut searcher = Searcher::new(Some(finder()), 1, 0.03);
        let (clip, frame) = first_frame(1);
        let mut decoder = Decoder::new().expect("sets up");
        let picture = decoder.decode(&frame, 1).expect("decodes");
        let search = searcher.search(&picture, look(Crops::new()), std::iter::empty(), &mut |_| {});
        let crops = search.expect("runs");
        let mut seen = [Keypoints { score: 0.5, ..clip.0.truth()[0] }];
        searcher.weigh(&crops, picture.image_size, &mut seen);
        let found = searcher.found.iter().find(|found| found.box_px == crops[0].box_px).expect("was found");
        let finder = searcher.finder.as_ref().expect("is built in");
        assert_eq!(seen[0].score, finder.both(found.score, 0.5));
        assert_ne!(seen[0].score, 0.5);
    }

    #[test]
    fn with_one_place_the_next_search_looks_at_somebody_else_than_the_surest_find() {
        let mut searcher = Searcher::new(Some(finder()), 1, 0.03);
        let (_, frame) = first_frame(2);
        let mut decoder = Decoder::new().expect("sets up");
        let picture = decoder.decode(&frame, 1).expect("decodes");
        let mut looked_at = || {
            let look = look(Crops::new());
            let crops = searcher.search(&picture, look, std::iter::empty(), &mut |_| {}).expect("runs");
            assert_eq!(crops.len(), 1, "one place");
            crops[0].box_px
        };
        let (first, second) = (looked_at(), looked_at());
        assert!(first.iou(&second) < 0.5, "{first:?} {second:?}");
    }

    #[test]
    fn a_crop_that_shows_nobody_says_nothing_of_who_stands_behind_somebody() {
        let mut finder = finder();
        let (_, frame) = first_frame(1);
        let mut decoder = Decoder::new().expect("sets up");
        let picture = decoder.decode(&frame, 1).expect("decodes");
        finder.fit_without(&picture, &[]);
        let searcher = Searcher::new(Some(finder), 4, 0.03);
        let figure = |x: f32, tall: f32, score: f32| {
            let mut seen = Keypoints { score, ..Keypoints::default() };
            for (j, joint) in seen.joints.iter_mut().enumerate() {
                (joint.x_px, joint.y_px) = (x + 0.3 * tall * (j % 2) as f32, 60.0 + tall * j as f32 / 16.0);
                joint.score = 0.9;
            }
            seen
        };
        // One joint of some weight somewhere, which is no body's size.
        let mut speck = figure(250.0, 100.0, 0.01);
        speck.joints[1..].iter_mut().for_each(|joint| joint.score = 0.0);
        let somebody = figure(60.0, 120.0, 0.9);
        let is_somebody = |other: Keypoints, behind: Keypoints| {
            let crop = |origin| Crop { box_px: BoxPx::default(), origin };
            let crops = [FOLLOWED, FOLLOWED, Origin::FoundBehind].into_iter().map(crop).collect();
            let mut seen = [somebody, other, behind];
            searcher.weigh(&crops, [320, 240], &mut seen);
            seen[2] != Keypoints::default()
        };
        assert!(!is_somebody(speck, figure(150.0, 30.0, 0.9)), "a foot that was not painted out");
        let behind = figure(150.0, 110.0, 0.9);
        assert!(!is_somebody(Keypoints { score: 0.5, ..behind }, behind), "seen twice");
        assert!(
            is_somebody(Keypoints { score: 0.01, ..behind }, behind),
            "nobody is there but whoever is behind"
        );
    }

    #[test]
    fn nobody_begins_at_the_edge_not_even_in_the_place_of_somebody_unseen() {
        let mut searcher = Searcher::new(Some(finder()), 1, 0.03);
        let (_, frame) = first_frame(1);
        let mut decoder = Decoder::new().expect("sets up");
        let picture = decoder.decode(&frame, 1).expect("decodes");
        let mut strip = Keypoints { score: 0.9, ..Keypoints::default() };
        for (j, joint) in strip.joints.iter_mut().enumerate() {
            (joint.x_px, joint.y_px) = (312.0 + (j % 2) as f32 * 6.0, 60.0 + 7.0 * j as f32);
            joint.score = 0.9;
        }
        // Somebody is followed to where nobody is found, and there is no place for anybody else.
        let box_px = BoxPx { x: 310.0, y: 60.0, w: 20.0, h: 120.0 };
        for (was_seen, is_taken) in [(true, false), (false, true)] {
            let followed = Crop { box_px, origin: Origin::Followed { was_seen } };
            let look = look([followed].into_iter().collect());
            let crops = searcher.search(&picture, look, std::iter::empty(), &mut |_| {}).expect("runs");
            assert_eq!(crops[..] != [followed], is_taken, "{crops:?}");
            let mut seen = [strip];
            searcher.weigh(&crops, picture.image_size, &mut seen);
            assert_eq!(seen[0].joints, if is_taken { Keypoints::default().joints } else { strip.joints });
        }
    }
}
