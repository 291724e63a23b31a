//! What one frame does to who is known: who is seen again, who is doubted, who begins.

use pose::{Keypoints, MAX_PERSONS, Pose};

use super::Identities;
use crate::track::appearance::Appearance;
use crate::track::associate::{Shape, Similarities, assign};
use crate::track::known::Track;
use crate::track::overlap::{DetectionOf, is_there_already, is_within_another, leave_to_whom_they_show};
use crate::track::picture::is_strip_at_edge;

/// Share of the newest frame in the mean of a person's score: it forgets within some four frames.
const NEWEST_SHARE: f32 = 0.3;

/// Factor on the similarity of somebody whom the last frame did not show: of two people at one place, one hides the
/// other, and stays in front for more than a frame.
const HIDDEN_FACTOR: f32 = 0.85;

/// What a frame shows.
pub(super) struct Shown<'a> {
    pub at_us: i64,
    /// Width and height of the picture, pixels; `None`: nobody knows where it ends.
    pub size: Option<[usize; 2]>,
    pub detections: &'a [Keypoints],
    /// By detection.
    pub appearance: &'a [Appearance],
    /// By detection: [`apart`].
    pub apart: [bool; MAX_PERSONS],
}

impl Identities {
    /// Who of those known is seen where; takes them out of `seen`.
    pub(super) fn recognise(
        &self,
        shown: &Shown,
        predicted: &[Option<Pose>; MAX_PERSONS],
        seen: &mut [Option<Shape>; MAX_PERSONS],
    ) -> DetectionOf {
        let (rules, last_us) = (&self.config, self.last_us);
        let mut detection_of: DetectionOf = [None; MAX_PERSONS];
        let is_beyond_forecast = self.is_beyond_forecast(shown.at_us);
        let is_after_pause = self.is_after_pause(shown.at_us);
        // From behind something somebody comes bit by bit; after so long a crop that shows half of somebody shows a stranger.
        let is_sure = |d: usize| !is_beyond_forecast || shown.detections[d].score >= rules.newcomer_score;
        let again = |track: &Track, d: usize, shape: &Shape| match is_sure(d) {
            true => track.fits_again(shape, &shown.appearance[d], shown.at_us, rules),
            false => 0.0,
        };
        self.match_tracks(seen, &mut detection_of, |track, slot, d, shape| {
            if track.is_lost {
                return 0.0;
            }
            let as_expected = || {
                let predicted = predicted[slot].as_ref();
                track.similarity(predicted, shape, &shown.appearance[d], rules.clothes_share)
            };
            // Both at once: whoever walks to where another was is not that one as long as the other is seen farther on.
            let similarity = match is_beyond_forecast {
                false => as_expected(),
                true if is_after_pause => again(track, d, shape),
                true => as_expected().max(again(track, d, shape)),
            };
            if track.seen_us < last_us { HIDDEN_FACTOR * similarity } else { similarity }
        });
        // Whoever is out of sight, or too new to be expected anywhere, may appear beside where they were; those who were followed until
        // now before those who had gone before, whom the place says less of the longer they are away.
        for was_followed in [true, false] {
            self.match_tracks(seen, &mut detection_of, |track, _, d, shape| {
                let is_out_of_sight =
                    track.is_lost || track.seen_us < last_us || track.is_given_up(shown.at_us, rules);
                let is_turn = (last_us.saturating_sub(track.seen_us) <= rules.silence_us) == was_followed;
                if track.id != 0 && is_out_of_sight && is_turn { again(track, d, shape) } else { 0.0 }
            });
        }
        leave_to_whom_they_show(&self.tracks, shown.appearance, &mut detection_of);
        detection_of
    }

    /// Takes in the scores of those seen. Whoever was never somebody, or is no longer, is lost, and their detection nobody's.
    pub(super) fn doubt(&mut self, shown: &Shown, detection_of: &mut DetectionOf) {
        let rules = &self.config;
        for (track, detection) in self.tracks.iter_mut().zip(&*detection_of) {
            let Some(t) = track else { continue };
            match detection {
                // How sure they were long ago says nothing of who is there now.
                Some((d, _)) if shown.at_us.saturating_sub(t.seen_us) > rules.score_memory_us => {
                    t.score = shown.detections[*d].score;
                }
                Some((d, _)) => t.score += NEWEST_SHARE * (shown.detections[*d].score - t.score),
                // A newcomer must be seen in every frame until they are somebody.
                None if t.id == 0 => *track = None,
                None => t.is_lost |= t.is_given_up(shown.at_us, rules),
            }
        }
        let seen_of = *detection_of;
        for (slot, (track, detection)) in self.tracks.iter_mut().zip(detection_of).enumerate() {
            let Some(t) = track else { continue };
            let is_within =
                detection.is_some_and(|(_, shape)| is_within_another(&shape, Some(slot), &seen_of));
            // Whoever lies within somebody and is not confirmed when they could be is that one's leg: it would keep a place from others.
            let had_time = t.id == 0 && t.began_within && t.frames_seen >= rules.within_frames;
            let least = match t.id == 0 || t.is_lost {
                true if had_time => rules.newcomer_score.max(rules.within_score),
                true => rules.newcomer_score,
                false if is_within => rules.kept_score.max(0.5 * rules.within_score),
                false => rules.kept_score,
            };
            let is_edge = detection.is_some_and(|(_, shape)| {
                let is_strip = shown.size.is_some_and(|size| is_strip_at_edge(&shape.bounds, size));
                t.is_the_edge(is_strip, shown.at_us, rules)
            });
            if t.score < least || is_edge {
                (t.is_lost, *detection) = (true, None);
            }
        }
        // Nobody waits for a newcomer.
        for track in &mut self.tracks {
            if track.is_some_and(|t| t.id == 0 && t.is_lost) {
                *track = None;
            }
        }
    }

    /// Takes in where and how those seen are now. Each person followed costs a run of the network a frame: there are never more than
    /// were asked for, and whoever is back beyond that is not seen.
    pub(super) fn keep(&mut self, shown: &Shown, detection_of: &mut DetectionOf) {
        let mut followed = self.followed().0;
        for (track, detection) in self.tracks.iter_mut().zip(detection_of) {
            let (Some(t), Some((d, shape))) = (track, *detection) else { continue };
            if t.is_lost {
                if followed == self.config.max_persons {
                    *detection = None;
                    continue;
                }
                followed += 1;
            }
            (t.shape, t.seen_us, t.is_lost) = (shape, shown.at_us, false);
            if shown.apart[d] {
                t.learn(&shown.appearance[d]);
            }
            t.frames_seen += 1;
        }
    }

    /// Begins with whoever is left in `seen`, as far as there is room; gives which slots hold somebody else now.
    pub(super) fn begin(
        &mut self,
        shown: &Shown,
        seen: &[Option<Shape>; MAX_PERSONS],
        detection_of: &mut DetectionOf,
    ) -> [bool; MAX_PERSONS] {
        let rules = self.config;
        let mut is_new = [false; MAX_PERSONS];
        for (d, shape) in seen.iter().enumerate() {
            let Some(shape) = shape.filter(|_| shown.detections[d].score >= rules.newcomer_score) else {
                continue;
            };
            // A crop of somebody's legs shows a person too: the one whose legs they are.
            if detection_of.iter().flatten().any(|(_, whole)| shape.is_part_of(whole))
                || is_there_already(&shape, &shown.appearance[d], &self.tracks, detection_of, &rules)
            {
                continue;
            }
            let has_room = self.followed().0 < rules.max_persons;
            let Some(slot) = self.free_slot().filter(|_| has_room) else { break };
            self.tracks[slot] = Some(Track {
                id: 0,
                born_us: shown.at_us,
                seen_us: shown.at_us,
                frames_seen: 1,
                is_lost: false,
                began_within: is_within_another(&shape, None, detection_of),
                score: shown.detections[d].score,
                at_edge_us: None,
                shape,
                appearance: if shown.apart[d] { shown.appearance[d] } else { Appearance::UNKNOWN },
            });
            detection_of[slot] = Some((d, shape));
            is_new[slot] = true;
        }
        is_new
    }

    /// Assigns what is in `seen` to the tracks without a detection, best sum first, and takes it out of `seen`.
    fn match_tracks(
        &self,
        seen: &mut [Option<Shape>; MAX_PERSONS],
        detection_of: &mut DetectionOf,
        similarity: impl Fn(&Track, usize, usize, &Shape) -> f32,
    ) {
        let mut similarities: Similarities = [[0.0; MAX_PERSONS]; MAX_PERSONS];
        for (slot, row) in similarities.iter_mut().enumerate() {
            let Some(track) = self.tracks[slot].as_ref().filter(|_| detection_of[slot].is_none()) else {
                continue;
            };
            for (d, (s, shape)) in row.iter_mut().zip(seen.iter()).enumerate() {
                *s = shape.as_ref().map_or(0.0, |shape| similarity(track, slot, d, shape));
            }
        }
        for (slot, detection) in assign(&similarities, MAX_PERSONS, MAX_PERSONS).into_iter().enumerate() {
            if let Some(d) = detection
                && let Some(shape) = seen[d].take()
            {
                detection_of[slot] = Some((d, shape));
            }
        }
    }

    /// An empty slot, or that of whoever has been lost for longest; `None` where all are followed.
    fn free_slot(&self) -> Option<usize> {
        let empty = self.tracks.iter().position(Option::is_none);
        empty.or_else(|| {
            let lost =
                self.tracks.iter().enumerate().filter_map(|(i, t)| t.filter(|t| t.is_lost).map(|t| (i, t)));
            lost.min_by_key(|(_, t)| t.seen_us).map(|(i, _)| i)
        })
    }
}

/// Which of those seen nobody else stands before or behind: their clothes are their own.
pub(super) fn apart(seen: &[Option<Shape>; MAX_PERSONS]) -> [bool; MAX_PERSONS] {
    /// Share of the smaller of two boxes that may lie in the other.
    const MAX_SHARED: f32 = 0.15;
    std::array::from_fn(|i| {
        let others =
            || seen.iter().enumerate().filter(|(k, _)| *k != i).filter_map(|(_, other)| other.as_ref());
        seen[i].is_some_and(|s| others().all(|o| s.bounds.overlap_of_smaller(&o.bounds) < MAX_SHARED))
    })
}
