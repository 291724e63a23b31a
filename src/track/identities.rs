//! Identities: birth, death, re-entry.

use pose::{BoxPx, Keypoints, MAX_PERSONS, Pose};

use super::IdentityRules;
use super::associate::{Shape, Similarities, assign};
use super::clothes::Clothes;
use super::known::Track;
use super::overlap::{
    DetectionOf, is_behind_another, is_there_already, is_within_another, leave_to_whom_they_show,
};
use super::picture::{keep_the_surer, somebody};
use super::search::Around;

/// Share of the newest frame in the mean of a person's score: it forgets within some four frames.
const NEWEST_SHARE: f32 = 0.3;

/// What a frame says of one person who is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assignment {
    /// The person's place, `0..MAX_PERSONS`: one temporal memory each.
    pub slot: usize,
    /// Stable identity from 1, never used again in one run; 0 until confirmed.
    pub track_id: u32,
    /// Index into the frame's detections; `None` where the person was not seen.
    pub detection: Option<usize>,
    /// The slot held somebody else before: its memory must be forgotten.
    pub is_new: bool,
    /// Confirmed: to be reported.
    pub is_reported: bool,
}

/// Gives identities to the poses of each frame, in fixed memory.
#[derive(Debug)]
pub struct Identities {
    config: IdentityRules,
    tracks: [Option<Track>; MAX_PERSONS],
    next_id: u32,
    last_us: i64,
    assignments: [Assignment; MAX_PERSONS],
}

/// Factor on the similarity of somebody whom the last frame did not show: of two people at one place, one hides the
/// other, and stays in front for more than a frame.
const HIDDEN_FACTOR: f32 = 0.85;

impl Identities {
    /// Knows nobody.
    pub fn new(config: IdentityRules) -> Self {
        Self {
            config: IdentityRules { max_persons: config.max_persons.clamp(1, MAX_PERSONS), ..config },
            tracks: [None; MAX_PERSONS],
            next_id: 1,
            last_us: i64::MIN,
            assignments: [Assignment::default(); MAX_PERSONS],
        }
    }

    /// Persons followed now, and how many of them the last frame did not show.
    pub fn followed(&self) -> (usize, usize) {
        let followed = || self.tracks.iter().flatten().filter(|t| !t.is_lost);
        (followed().count(), followed().filter(|t| t.seen_us < self.last_us).count())
    }

    /// As [`followed`](Self::followed), and how many were so at most [`memory_us`](IdentityRules::memory_us) before `at_us`.
    pub fn around(&self, at_us: i64) -> Around {
        let (followed, unseen) = self.followed();
        let is_away = |t: &&Track| t.is_lost && at_us.saturating_sub(t.seen_us) <= self.config.memory_us;
        Around { followed, unseen, away: self.tracks.iter().flatten().filter(is_away).count() }
    }

    /// Whether the last frame is so long ago that nobody can be expected where their motion then led.
    pub fn is_after_pause(&self, at_us: i64) -> bool {
        self.last_us != i64::MIN && at_us.saturating_sub(self.last_us) > self.config.silence_us
    }

    /// Writes the box to look at for each person followed, in pixels of the source image; gives their count. Whom the last frame did
    /// not show come last.
    ///
    /// `predicted[slot]` is the pose expected for the coming frame. Its sure joints make the box; where they are few,
    /// what was last seen is taken in too, and a person unseen for a while gets a wider box.
    pub fn rois(
        &self,
        at_us: i64,
        predicted: &[Option<Pose>; MAX_PERSONS],
        boxes: &mut [BoxPx; MAX_PERSONS],
    ) -> usize {
        let mut n = 0;
        for is_unseen in [false, true] {
            for (track, predicted) in self.tracks.iter().zip(predicted) {
                let followed = track.as_ref().filter(|t| !t.is_lost);
                let Some(track) = followed.filter(|t| (t.seen_us < self.last_us) == is_unseen) else {
                    continue;
                };
                boxes[n] = track.roi(predicted.as_ref(), at_us);
                n += 1;
            }
        }
        n
    }

    /// Takes one frame's poses and says who they are, the oldest identity first, newcomers last.
    ///
    /// `predicted[slot]` is the pose expected at `captured_at_us`; where there is none, the last one seen stands in.
    /// Persons no longer reported are not listed; listed ones without a detection were not seen in this frame.
    /// Detections beyond the first [`MAX_PERSONS`] are ignored. Nobody's clothes are known.
    pub fn update(
        &mut self,
        captured_at_us: i64,
        detections: &[Keypoints],
        predicted: &[Option<Pose>; MAX_PERSONS],
    ) -> &[Assignment] {
        self.update_dressed(captured_at_us, detections, &[Clothes::UNKNOWN; MAX_PERSONS], predicted)
    }

    /// As [`update`](Self::update), where `clothes[detection]` is what each wears.
    pub fn update_dressed(
        &mut self,
        captured_at_us: i64,
        detections: &[Keypoints],
        clothes: &[Clothes; MAX_PERSONS],
        predicted: &[Option<Pose>; MAX_PERSONS],
    ) -> &[Assignment] {
        self.age(captured_at_us);
        let mut seen: [Option<Shape>; MAX_PERSONS] = self.persons_seen(detections);
        let mut detection_of: DetectionOf = [None; MAX_PERSONS];

        let apart = apart(&seen);
        let is_after_pause = self.is_after_pause(captured_at_us);
        let last_us = std::mem::replace(&mut self.last_us, captured_at_us);
        let rules = self.config;
        self.match_tracks(&mut seen, &mut detection_of, |track, slot, d, shape| {
            if track.is_lost {
                return 0.0;
            }
            let predicted = predicted[slot].as_ref();
            let similarity = track.similarity(predicted, shape, &clothes[d], rules.clothes_share);
            if track.seen_us < last_us { HIDDEN_FACTOR * similarity } else { similarity }
        });
        // Whoever is out of sight may appear beside where they are expected; those who were followed until now before those who had
        // gone before, whom the place says less of the longer they are away.
        for was_followed in [true, false] {
            self.match_tracks(&mut seen, &mut detection_of, |track, _, d, shape| {
                let is_out_of_sight = track.id != 0 && (track.is_lost || track.seen_us < last_us);
                // From behind something somebody comes bit by bit; after a pause a crop that shows half of somebody shows a stranger.
                let is_sure = !is_after_pause || detections[d].score >= rules.newcomer_score;
                let is_turn = (last_us.saturating_sub(track.seen_us) <= rules.silence_us) == was_followed;
                if is_out_of_sight && is_sure && is_turn {
                    track.fits_again(shape, &clothes[d], captured_at_us, &rules)
                } else {
                    0.0
                }
            });
        }

        leave_to_whom_they_show(&self.tracks, clothes, &mut detection_of);
        for (track, detection) in self.tracks.iter_mut().zip(&detection_of) {
            let Some(t) = track else { continue };
            match detection {
                Some((d, _)) => t.score += NEWEST_SHARE * (detections[*d].score - t.score),
                // A newcomer must be seen in every frame until they are somebody.
                None if t.id == 0 => *track = None,
                None => {}
            }
        }
        let seen_of = detection_of;
        for (slot, (track, detection)) in self.tracks.iter_mut().zip(&mut detection_of).enumerate() {
            let Some(t) = track else { continue };
            let is_within =
                detection.is_some_and(|(_, shape)| is_within_another(&shape, Some(slot), &seen_of));
            let least = match t.id == 0 || t.is_lost {
                true => rules.newcomer_score,
                false if is_within => rules.kept_score.max(0.5 * rules.within_score),
                false => rules.kept_score,
            };
            if t.score < least {
                (t.is_lost, *detection) = (true, None);
            }
        }
        // Nobody waits for a newcomer.
        for track in &mut self.tracks {
            if track.is_some_and(|t| t.id == 0 && t.is_lost) {
                *track = None;
            }
        }
        // Each person followed costs a run of the network a frame: there are never more than were asked for.
        let mut followed = self.followed().0;
        for (track, detection) in self.tracks.iter_mut().zip(&mut detection_of) {
            let (Some(t), Some((d, shape))) = (track, *detection) else { continue };
            if t.is_lost {
                if followed == rules.max_persons {
                    *detection = None;
                    continue;
                }
                followed += 1;
            }
            (t.shape, t.seen_us, t.is_lost) = (shape, captured_at_us, false);
            if apart[d] {
                t.learn(&clothes[d]);
            }
            t.frames_seen += 1;
        }
        let mut is_new = [false; MAX_PERSONS];
        for (detection, shape) in seen.iter().enumerate() {
            let Some(shape) = shape.filter(|_| detections[detection].score >= rules.newcomer_score) else {
                continue;
            };
            // A crop of somebody's legs shows a person too: the one whose legs they are.
            if detection_of.iter().flatten().any(|(_, whole)| shape.is_part_of(whole))
                || is_there_already(&shape, &clothes[detection], &self.tracks, &detection_of, &rules)
            {
                continue;
            }
            let Some(slot) = self.free_slot().filter(|_| followed < rules.max_persons) else { break };
            followed += 1;
            let began_within = is_within_another(&shape, None, &detection_of);
            self.tracks[slot] = Some(Track {
                id: 0,
                born_us: captured_at_us,
                seen_us: captured_at_us,
                frames_seen: 1,
                is_lost: false,
                began_within,
                score: detections[detection].score,
                shape,
                clothes: if apart[detection] { clothes[detection] } else { Clothes::UNKNOWN },
            });
            detection_of[slot] = Some((detection, shape));
            is_new[slot] = true;
        }
        self.confirm();
        self.list(&detection_of, &is_new, predicted)
    }

    /// Forgets everybody; identities go on counting.
    pub fn reset(&mut self) {
        self.tracks = [None; MAX_PERSONS];
    }

    fn age(&mut self, now_us: i64) {
        // A clock that was set back: what was seen then was seen by now, or nobody would be missed until the clock is there again.
        if now_us < self.last_us {
            self.last_us = now_us;
            for track in self.tracks.iter_mut().flatten() {
                (track.seen_us, track.born_us) = (track.seen_us.min(now_us), track.born_us.min(now_us));
            }
        }
        for track in &mut self.tracks {
            let Some(t) = track else { continue };
            let unseen_us = now_us - t.seen_us;
            let known_us = t.seen_us - t.born_us;
            // Whoever was not known for longer than they are away: a false find of two frames must not be predicted for twenty. Of
            // a newcomer nothing is known yet; the next frame decides.
            let patience_us = if t.id == 0 { i64::MAX } else { known_us };
            let memory_us =
                if t.clothes.is_known() { self.config.clothes_memory_us } else { self.config.memory_us };
            if unseen_us > memory_us {
                *track = None;
            } else if unseen_us > self.config.silence_us.min(patience_us) {
                t.is_lost = true;
            }
        }
    }

    /// The detections that show somebody, each person once: of two alike the surer stays.
    fn persons_seen(&self, detections: &[Keypoints]) -> [Option<Shape>; MAX_PERSONS] {
        let mut seen =
            std::array::from_fn(|i| detections.get(i).and_then(|d| somebody(d, self.config.min_score)));
        keep_the_surer(detections, &mut seen);
        seen
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

    /// Gives identities to newcomers seen often enough, the firstborn first, as far as there is room.
    fn confirm(&mut self) {
        let mut reported = self.tracks.iter().flatten().filter(|t| t.id != 0 && !t.is_lost).count();
        while reported < self.config.max_persons {
            let ready = self.tracks.iter_mut().flatten().filter(|t| t.id == 0);
            let rules = &self.config;
            let ready = ready.filter(|t| match t.began_within {
                true => t.frames_seen >= rules.within_frames && t.score >= rules.within_score,
                false => t.frames_seen >= rules.confirm_frames || t.score >= rules.sure_score,
            });
            let Some(track) = ready.min_by_key(|t| t.born_us) else { break };
            track.id = self.next_id;
            self.next_id += 1;
            reported += 1;
        }
    }

    fn list(
        &mut self,
        detection_of: &DetectionOf,
        is_new: &[bool; MAX_PERSONS],
        predicted: &[Option<Pose>; MAX_PERSONS],
    ) -> &[Assignment] {
        let mut n = 0;
        for (slot, track) in self.tracks.iter().enumerate() {
            let Some(track) = track.as_ref().filter(|t| !t.is_lost) else { continue };
            let unseen_us = self.last_us.saturating_sub(track.seen_us);
            let is_hidden =
                || is_behind_another(&track.expected(predicted[slot].as_ref()), slot, detection_of);
            let is_told_unseen = track.score >= self.config.unseen_score
                && (unseen_us <= self.config.told_us || (unseen_us <= self.config.hidden_us && is_hidden()));
            self.assignments[n] = Assignment {
                slot,
                track_id: track.id,
                detection: detection_of[slot].map(|(d, _)| d),
                is_new: is_new[slot],
                is_reported: track.id != 0 && (detection_of[slot].is_some() || is_told_unseen),
            };
            n += 1;
        }
        let listed = &mut self.assignments[..n];
        // Newcomers have no identity yet: they come last, and a later birth never moves an older person.
        listed.sort_unstable_by_key(|a| (a.track_id.wrapping_sub(1), a.slot));
        listed
    }
}

/// Which of those seen nobody else stands before or behind: their clothes are their own.
fn apart(seen: &[Option<Shape>; MAX_PERSONS]) -> [bool; MAX_PERSONS] {
    /// Share of the smaller of two boxes that may lie in the other.
    const MAX_SHARED: f32 = 0.15;
    std::array::from_fn(|i| {
        let others =
            || seen.iter().enumerate().filter(|(k, _)| *k != i).filter_map(|(_, other)| other.as_ref());
        seen[i].is_some_and(|s| others().all(|o| s.bounds.share_inside(&o.bounds) < MAX_SHARED))
    })
}
