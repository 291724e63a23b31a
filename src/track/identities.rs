//! Identities: birth, death, re-entry.

mod frame;

use arrayvec::ArrayVec;
use pose::{Keypoints, MAX_PERSONS, Pose};

use self::frame::{Shown, apart};
use super::IdentityRules;
use super::appearance::Appearance;
use super::associate::Shape;
use super::crops::{Crop, Crops, Origin};
use super::known::{Track, reach_extents};
use super::overlap::{DetectionOf, is_behind_another};
use super::picture::{keep_the_surer, somebody};
use super::search::Around;

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
}

impl Identities {
    /// Knows nobody.
    pub fn new(config: IdentityRules) -> Self {
        Self {
            config: IdentityRules { max_persons: config.max_persons.clamp(1, MAX_PERSONS), ..config },
            tracks: [None; MAX_PERSONS],
            next_id: 1,
            last_us: i64::MIN,
        }
    }

    /// Persons followed now, and how many of them the last frame did not show.
    pub fn followed(&self) -> (usize, usize) {
        let followed = || self.tracks.iter().flatten().filter(|t| !t.is_lost);
        (followed().count(), followed().filter(|t| t.seen_us < self.last_us).count())
    }

    /// By slot: whether the last frame showed somebody who is told of.
    pub fn shown(&self) -> [bool; MAX_PERSONS] {
        self.tracks.map(|track| track.is_some_and(|t| t.id != 0 && !t.is_lost && t.seen_us == self.last_us))
    }

    /// As [`followed`](Self::followed), and how many were so at most [`memory_us`](IdentityRules::memory_us) before `at_us`.
    pub fn around(&self, at_us: i64) -> Around {
        let (followed, unseen) = self.followed();
        let is_away = |t: &&Track| t.is_lost && at_us.saturating_sub(t.seen_us) <= self.config.memory_us;
        Around { followed, unseen, away: self.tracks.iter().flatten().filter(is_away).count() }
    }

    /// Whether the last frame is so long ago that nobody need be near where they were then.
    pub fn is_after_pause(&self, at_us: i64) -> bool {
        self.is_last_before(at_us, self.config.silence_us)
    }

    /// Whether the last frame is so long ago that nobody can be expected where their motion then led.
    pub fn is_beyond_forecast(&self, at_us: i64) -> bool {
        self.is_last_before(at_us, self.config.forecast_us)
    }

    /// How far from where they are expected whoever the last frame showed may be, in extents; 0 as long as forecasts say where.
    pub fn reach(&self, at_us: i64) -> f32 {
        match self.is_beyond_forecast(at_us) {
            true => reach_extents(at_us.saturating_sub(self.last_us)),
            false => 0.0,
        }
    }

    fn is_last_before(&self, at_us: i64, by_us: i64) -> bool {
        self.last_us != i64::MIN && at_us.saturating_sub(self.last_us) > by_us
    }

    /// Where to look for each person followed. Whom the last frame did not show come last.
    ///
    /// `predicted[slot]` is the pose expected for the coming frame. Its sure joints make the box; where they are few,
    /// what was last seen is taken in too, and a person unseen for a while gets a wider box.
    pub fn rois(&self, at_us: i64, predicted: &[Option<Pose>; MAX_PERSONS]) -> Crops {
        let mut crops = Crops::new();
        for was_seen in [true, false] {
            for (track, predicted) in self.tracks.iter().zip(predicted) {
                let followed = track.as_ref().filter(|t| !t.is_lost);
                if let Some(track) = followed.filter(|t| (t.seen_us >= self.last_us) == was_seen) {
                    let box_px = track.roi(predicted.as_ref(), at_us);
                    crops.push(Crop { box_px, origin: Origin::Followed { was_seen } });
                }
            }
        }
        crops
    }

    /// Takes one frame's poses and says who they are, the oldest identity first, newcomers last.
    ///
    /// `predicted[slot]` is the pose expected at `captured_at_us`; where there is none, the last one seen stands in.
    /// Persons no longer reported are not listed; listed ones without a detection were not seen in this frame.
    /// Detections beyond the first [`MAX_PERSONS`] are ignored. Nobody's clothes are known, nor where the picture ends.
    pub fn update(
        &mut self,
        captured_at_us: i64,
        detections: &[Keypoints],
        predicted: &[Option<Pose>; MAX_PERSONS],
    ) -> ArrayVec<Assignment, MAX_PERSONS> {
        let nothing_known = [Appearance::UNKNOWN; MAX_PERSONS];
        self.update_with_appearance(captured_at_us, None, detections, &nothing_known, predicted)
    }

    /// As [`update`](Self::update), where the picture has `size` (width, height; pixels) and `appearance[detection]` is what each wears.
    pub fn update_with_appearance(
        &mut self,
        captured_at_us: i64,
        size: Option<[usize; 2]>,
        detections: &[Keypoints],
        appearance: &[Appearance],
        predicted: &[Option<Pose>; MAX_PERSONS],
    ) -> ArrayVec<Assignment, MAX_PERSONS> {
        self.age(captured_at_us);
        let mut seen = self.persons_seen(detections);
        let shown = Shown { at_us: captured_at_us, size, detections, appearance, apart: apart(&seen) };
        let mut detection_of = self.recognise(&shown, predicted, &mut seen);
        self.last_us = captured_at_us;
        self.doubt(&shown, &mut detection_of);
        self.keep(&shown, &mut detection_of);
        let is_new = self.begin(&shown, &seen, &mut detection_of);
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
                track.at_edge_us = track.at_edge_us.map(|us| us.min(now_us));
            }
        }
        for track in &mut self.tracks {
            let Some(t) = track else { continue };
            let memory_us =
                if t.appearance.is_known() { self.config.clothes_memory_us } else { self.config.memory_us };
            if now_us - t.seen_us > memory_us {
                *track = None;
            } else if t.seen_us < self.last_us {
                // Of whoever was in sight until now the frame decides: none has missed them yet.
                t.is_lost |= t.is_given_up(now_us, &self.config);
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
        &self,
        detection_of: &DetectionOf,
        is_new: &[bool; MAX_PERSONS],
        predicted: &[Option<Pose>; MAX_PERSONS],
    ) -> ArrayVec<Assignment, MAX_PERSONS> {
        let mut listed = ArrayVec::new();
        for (slot, track) in self.tracks.iter().enumerate() {
            let Some(track) = track.as_ref().filter(|t| !t.is_lost) else { continue };
            let unseen_us = self.last_us.saturating_sub(track.seen_us);
            let is_hidden =
                || is_behind_another(&track.expected(predicted[slot].as_ref()), slot, detection_of);
            let is_told_unseen = track.score >= self.config.unseen_score
                && (unseen_us <= self.config.told_us || (unseen_us <= self.config.hidden_us && is_hidden()));
            listed.push(Assignment {
                slot,
                track_id: track.id,
                detection: detection_of[slot].map(|(d, _)| d),
                is_new: is_new[slot],
                is_reported: track.id != 0 && (detection_of[slot].is_some() || is_told_unseen),
            });
        }
        // Newcomers have no identity yet: they come last, and a later birth never moves an older person.
        listed.sort_unstable_by_key(|a| (a.track_id.wrapping_sub(1), a.slot));
        listed
    }
}
