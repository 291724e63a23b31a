//! Identities: birth, death, re-entry.

use pose::{BoxPx, JointState, Keypoints, MAX_PERSONS, Pose};

use super::associate::{MIN_SIMILARITY, Shape, Similarities, assign};

/// A pose of less extent shows nobody: the crop of a track that has shrunk to a hand's breadth shows some pose for ever. Nobody
/// so small can be made out, and the finder's cells are wider.
const MIN_EXTENT_PX: f32 = 20.0;

/// When somebody becomes, stays and ceases to be somebody.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IdentityRules {
    /// Persons followed at most, 1..=[`MAX_PERSONS`].
    pub max_persons: usize,
    /// Frames in a row in which a newcomer must be seen before they get an identity. Two: a false find seldom repeats,
    /// and one frame of delay is hardly noticed.
    pub confirm_frames: u32,
    /// A person unseen for longer, or for longer than they had been known, is no longer reported. 600 ms: an occlusion by somebody
    /// who walks past; what the temporal model predicts beyond that is worth little.
    pub silence_us: i64,
    /// A person unseen for longer is forgotten; before that they get their identity back where pose and place fit. 3 s: a
    /// walk behind a pillar.
    pub memory_us: i64,
    /// A pose with a lower person's score shows nobody. 0.25: the eight best joints of an empty crop score below 0.15,
    /// of a person half cut off above 0.4.
    pub min_score: f32,
    /// Nobody begins with a lower score, in the mean of the frames until they are confirmed.
    pub newcomer_score: f32,
    /// Whoever is seen with this score is somebody at once, without a second frame. Above 1: nobody is.
    pub sure_score: f32,
    /// Whoever's score falls below it, in the mean of the last frames, was never somebody, or is no longer: a ghost ends.
    pub kept_score: f32,
}

impl Default for IdentityRules {
    /// For scores that are the mean of the best joints' scores: a ghost has them as high as a person, so time has to tell.
    fn default() -> Self {
        Self {
            max_persons: 4,
            confirm_frames: 2,
            silence_us: 600_000,
            memory_us: 3_000_000,
            min_score: 0.25,
            newcomer_score: 0.25,
            sure_score: f32::INFINITY,
            kept_score: 0.0,
        }
    }
}

impl IdentityRules {
    /// For scores that are the network's own word on whether there is a person (`tells_presence`), or the default. Chosen on clips
    /// that networks were trained on and on rendered films; low, because the finder has said already that there is somebody.
    pub fn of(tells_presence: bool) -> Self {
        if !tells_presence {
            return Self::default();
        }
        Self { min_score: 0.03, newcomer_score: 0.25, sure_score: 0.5, kept_score: 0.08, ..Self::default() }
    }

    /// The same where somebody begins with `score` and ends below half of it.
    #[must_use]
    pub fn from_score(self, score: f32) -> Self {
        Self {
            min_score: self.min_score.min(0.5 * score),
            newcomer_score: score,
            sure_score: self.sure_score.max(score),
            kept_score: 0.5 * score,
            ..self
        }
    }
}

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

#[derive(Clone, Copy, Debug)]
struct Track {
    /// 0 until confirmed.
    id: u32,
    born_us: i64,
    seen_us: i64,
    frames_seen: u32,
    is_lost: bool,
    /// Mean of the scores, the last frames' most.
    score: f32,
    /// As last seen.
    shape: Shape,
}

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

    /// Writes the box to look at for each person followed, in pixels of the source image; gives their count.
    ///
    /// `predicted[slot]` is the pose expected for the coming frame. Its sure joints make the box; where they are few,
    /// what was last seen is taken in too, and a person unseen for a while gets a wider box.
    pub fn rois(
        &self,
        at_us: i64,
        predicted: &[Option<Pose>; MAX_PERSONS],
        boxes: &mut [BoxPx; MAX_PERSONS],
    ) -> usize {
        /// With half of the joints in sight the body's extent is known.
        const ENOUGH_JOINTS: usize = 8;
        /// Growth of the box a second unseen, of its side: a walker covers about their own width.
        const GROWTH_PER_S: f32 = 0.5;
        let mut n = 0;
        for (slot, track) in self.tracks.iter().enumerate() {
            let Some(track) = track.as_ref().filter(|t| !t.is_lost) else { continue };
            let expected = track.expected(predicted[slot].as_ref());
            let mut b = expected.bounds;
            if expected.joints() < ENOUGH_JOINTS {
                let last = track.shape.bounds;
                b = BoxPx::from_corners(
                    b.x.min(last.x),
                    b.y.min(last.y),
                    (b.x + b.w).max(last.x + last.w),
                    (b.y + b.h).max(last.y + last.h),
                );
            }
            let grow =
                GROWTH_PER_S * (at_us - track.seen_us).clamp(0, 1_000_000) as f32 * 1e-6 * b.w.max(b.h);
            // A pose of one joint has no extent; a crop needs some.
            let (w, h) = ((b.w + grow).max(1.0), (b.h + grow).max(1.0));
            let (cx, cy) = b.centre();
            boxes[n] = BoxPx { x: cx - 0.5 * w, y: cy - 0.5 * h, w, h };
            n += 1;
        }
        n
    }

    /// Takes one frame's poses and says who they are, the oldest identity first, newcomers last.
    ///
    /// `predicted[slot]` is the pose expected at `captured_at_us`; where there is none, the last one seen stands in.
    /// Persons no longer reported are not listed; listed ones without a detection were not seen in this frame.
    /// Detections beyond the first [`MAX_PERSONS`] are ignored.
    pub fn update(
        &mut self,
        captured_at_us: i64,
        detections: &[Keypoints],
        predicted: &[Option<Pose>; MAX_PERSONS],
    ) -> &[Assignment] {
        self.age(captured_at_us);
        let mut seen: [Option<Shape>; MAX_PERSONS] = self.persons_seen(detections);
        let mut detection_of = [None; MAX_PERSONS];

        let last_us = std::mem::replace(&mut self.last_us, captured_at_us);
        self.match_tracks(&mut seen, &mut detection_of, |track, slot, shape| {
            if track.is_lost {
                return 0.0;
            }
            let similarity = track.expected(predicted[slot].as_ref()).similarity(shape);
            if track.seen_us < last_us { HIDDEN_FACTOR * similarity } else { similarity }
        });
        self.match_tracks(&mut seen, &mut detection_of, |track, _, shape| {
            if track.is_lost { track.fits_again(shape, captured_at_us) } else { 0.0 }
        });

        for (track, detection) in self.tracks.iter_mut().zip(&detection_of) {
            let Some(t) = track else { continue };
            match detection {
                Some((d, _)) => t.score += NEWEST_SHARE * (detections[*d].score - t.score),
                // A newcomer must be seen in every frame until they are somebody.
                None if t.id == 0 => *track = None,
                None => {}
            }
        }
        let (newcomer_score, kept_score) = (self.config.newcomer_score, self.config.kept_score);
        for (track, detection) in self.tracks.iter_mut().zip(&mut detection_of) {
            let Some(t) = track else { continue };
            let least = if t.id == 0 || t.is_lost { newcomer_score } else { kept_score };
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
            let (Some(t), Some((_, shape))) = (track, *detection) else { continue };
            if t.is_lost {
                if followed == self.config.max_persons {
                    *detection = None;
                    continue;
                }
                followed += 1;
            }
            (t.shape, t.seen_us, t.is_lost) = (shape, captured_at_us, false);
            t.frames_seen += 1;
        }
        let mut is_new = [false; MAX_PERSONS];
        for (detection, shape) in seen.iter().enumerate() {
            let Some(shape) = shape.filter(|_| detections[detection].score >= newcomer_score) else {
                continue;
            };
            let Some(slot) = self.free_slot().filter(|_| followed < self.config.max_persons) else { break };
            followed += 1;
            self.tracks[slot] = Some(Track {
                id: 0,
                born_us: captured_at_us,
                seen_us: captured_at_us,
                frames_seen: 1,
                is_lost: false,
                score: detections[detection].score,
                shape,
            });
            detection_of[slot] = Some((detection, shape));
            is_new[slot] = true;
        }
        self.confirm();
        self.list(&detection_of, &is_new)
    }

    /// Forgets everybody; identities go on counting.
    pub fn reset(&mut self) {
        self.tracks = [None; MAX_PERSONS];
    }

    fn age(&mut self, now_us: i64) {
        for track in &mut self.tracks {
            let Some(t) = track else { continue };
            let unseen_us = now_us - t.seen_us;
            let known_us = t.seen_us - t.born_us;
            // Whoever was not known for longer than they are away: a false find of two frames must not be predicted for twenty. Of
            // a newcomer nothing is known yet; the next frame decides.
            let patience_us = if t.id == 0 { i64::MAX } else { known_us };
            if unseen_us > self.config.memory_us {
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
        detection_of: &mut [Option<(usize, Shape)>; MAX_PERSONS],
        similarity: impl Fn(&Track, usize, &Shape) -> f32,
    ) {
        let mut similarities: Similarities = [[0.0; MAX_PERSONS]; MAX_PERSONS];
        for (slot, row) in similarities.iter_mut().enumerate() {
            let Some(track) = self.tracks[slot].as_ref().filter(|_| detection_of[slot].is_none()) else {
                continue;
            };
            for (s, shape) in row.iter_mut().zip(seen.iter()) {
                *s = shape.as_ref().map_or(0.0, |shape| similarity(track, slot, shape));
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
            let (frames, sure) = (self.config.confirm_frames, self.config.sure_score);
            let ready = ready.filter(|t| t.frames_seen >= frames || t.score >= sure);
            let Some(track) = ready.min_by_key(|t| t.born_us) else { break };
            track.id = self.next_id;
            self.next_id += 1;
            reported += 1;
        }
    }

    fn list(
        &mut self,
        detection_of: &[Option<(usize, Shape)>; MAX_PERSONS],
        is_new: &[bool; MAX_PERSONS],
    ) -> &[Assignment] {
        let mut n = 0;
        for (slot, track) in self.tracks.iter().enumerate() {
            let Some(track) = track.as_ref().filter(|t| !t.is_lost) else { continue };
            self.assignments[n] = Assignment {
                slot,
                track_id: track.id,
                detection: detection_of[slot].map(|(d, _)| d),
                is_new: is_new[slot],
                is_reported: track.id != 0,
            };
            n += 1;
        }
        let listed = &mut self.assignments[..n];
        // Newcomers have no identity yet: they come last, and a later birth never moves an older person.
        listed.sort_unstable_by_key(|a| (a.track_id.wrapping_sub(1), a.slot));
        listed
    }
}

/// Whom a detection shows, if anybody.
fn somebody(detection: &Keypoints, min_score: f32) -> Option<Shape> {
    let shape = Some(detection).filter(|d| d.score >= min_score).and_then(Shape::of);
    shape.filter(|shape| shape.extent_px() >= MIN_EXTENT_PX)
}

/// Takes out of `seen` who is there twice: of two alike the surer stays.
fn keep_the_surer(detections: &[Keypoints], seen: &mut [Option<Shape>]) {
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
/// once, by the same rules as [`Identities`]; any number of them.
pub fn distinct_persons(detections: &[Keypoints], min_score: f32) -> Vec<usize> {
    let mut seen: Vec<Option<Shape>> = detections.iter().map(|d| somebody(d, min_score)).collect();
    keep_the_surer(detections, &mut seen);
    let mut persons: Vec<usize> = (0..seen.len()).filter(|&i| seen[i].is_some()).collect();
    persons.sort_by(|&a, &b| detections[b].score.total_cmp(&detections[a].score));
    persons
}

impl Track {
    /// The pose expected now, or the last one seen where nothing is predicted.
    fn expected(&self, predicted: Option<&Pose>) -> Shape {
        let shape = predicted.and_then(|pose| {
            Shape::new(pose.joints.map(|j| {
                // A joint that nobody has seen for long has a place, but says nothing of where the person is.
                let score = if j.state == JointState::Absent { 0.0 } else { j.score };
                (j.x_px, j.y_px, score)
            }))
        });
        shape.unwrap_or(self.shape)
    }

    /// How well somebody who appears now fits this person who was lost, 0..=1: a like size, and not farther away than
    /// they can have walked.
    fn fits_again(&self, shape: &Shape, now_us: i64) -> f32 {
        /// One extent per second: a brisk walk seen from the side is about 0.9 body heights a second.
        const EXTENTS_PER_S: f32 = 1.0;
        /// Room for a turn of the body and for noise, in extents.
        const SLACK_EXTENTS: f32 = 0.3;
        /// Somebody half or twice as large is another person, or half of one.
        const MAX_RATIO: f32 = 1.8;
        let (old, new) = (self.shape.extent_px().max(1.0), shape.extent_px().max(1.0));
        let ratio = (old / new).max(new / old);
        let ((ax, ay), (bx, by)) = (self.shape.bounds.centre(), shape.bounds.centre());
        let away = (ax - bx).hypot(ay - by) / old.max(new);
        let reach = SLACK_EXTENTS + EXTENTS_PER_S * (now_us - self.seen_us).max(0) as f32 * 1e-6;
        if ratio > MAX_RATIO || away > reach {
            return 0.0;
        }
        // The nearest and likest of several wins; all that pass are above the threshold.
        MIN_SIMILARITY + (1.0 - MIN_SIMILARITY) * (1.0 - away / reach) / ratio
    }
}
