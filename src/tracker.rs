//! The one place where a tracker is put together: configuration in; then a frame in, the poses in it out.
//!
//! Decode, find, crop, run, read the joints, say who is who, filter. Owned by one thread; reads no clock: whoever wants
//! times is told when each stage ends.

mod appearance;
mod behind;
mod load;
mod searcher;
mod still;

use log::warn;
use pose::{BoxPx, Forecast, Keypoints, MAX_PERSONS, Pose, PoseFrame, TrackedPerson};

pub use load::{LoadError, Networks, temporal_model};
pub use still::Stills;

use self::searcher::Searcher;
use crate::config::{Config, MinJoints};
use crate::infer::InferError;
use crate::keypoints::{KeypointError, KeypointNet};
use crate::metres::Metres;
use crate::picture::{DecodeError, Decoder, Frame, Part, PixelFormat};
use crate::telemetry::{EngineCard, Stage};
use crate::temporal::{Observation, TemporalModel};
use crate::track::{Appearance, Identities, IdentityRules, is_strip_at_edge};

/// Joints that are known of whoever is told of and was not seen. Of fewer nobody could say where somebody is: they are what an
/// expected pose is left with when it fades.
const MIN_EXPECTED: usize = 8;

/// Why a frame gave no poses.
#[derive(Debug, thiserror::Error)]
pub enum TrackError {
    /// The frame is damaged; the next one may be whole.
    #[error(transparent)]
    Frame(#[from] DecodeError),
    /// A fault on purpose; the next frame may be whole.
    #[error("injected fault: {0}")]
    Injected(&'static str),
    /// A network failed, and will again.
    #[error(transparent)]
    Network(#[from] InferError),
}

impl TrackError {
    /// Whether the next frame is worth trying.
    pub fn is_of_this_frame_alone(&self) -> bool {
        matches!(self, Self::Frame(_) | Self::Injected(_))
    }
}

/// Everything between the camera and the sinks that depends on the picture.
pub struct Tracker {
    decoder: Decoder,
    searcher: Searcher,
    net: KeypointNet,
    identities: Identities,
    model: Box<dyn TemporalModel>,
    card: EngineCard,
    /// Places persons before the camera, where that is wanted.
    metres: Option<Metres>,
    /// Pictures are a mirror's: left is right.
    mirrored: bool,
    /// A person of whom fewer joints are known is followed, but not told of: no consumer can do anything with a wrist.
    min_joints: usize,
    /// Frames that gave poses so far.
    seq: u64,
    /// By slot: what the model last said of each person.
    known: [Option<Forecast>; MAX_PERSONS],
    /// What the last frame's crops show, as it was weighed; the first `count` count.
    seen: [Keypoints; MAX_PERSONS],
    count: usize,
    /// By slot: the person's own score when last seen.
    scores: [f32; MAX_PERSONS],
}

/// What is to be looked at in a frame.
struct Look {
    /// When the frame was captured.
    at_us: i64,
    /// Pixels of the source image; the first `count` count.
    boxes: [BoxPx; MAX_PERSONS],
    count: usize,
    /// How far from their box whoever the last frame showed may be, in extents; 0 as long as forecasts say where.
    reach: f32,
    is_search: bool,
    /// `boxes` say where persons were before a pause in the frames.
    is_after_pause: bool,
    /// A JPEG may be decoded at one over this.
    reduction: u32,
}

impl Tracker {
    /// A tracker of the networks, the smoother and the rules for persons that `config` names, with right and left exchanged where
    /// pictures are mirrored; nothing else of it is read.
    ///
    /// # Errors
    /// [`LoadError`] naming the file at fault.
    pub fn new(config: &Config) -> Result<Self, LoadError> {
        let networks = Networks::load(&config.models)?;
        let model = temporal_model(config, networks.error_model.as_deref())?;
        log::info!(
            "model: {} on {}; smoother {}; up to {} persons",
            networks.name,
            networks.engine,
            model.name(),
            config.persons.max.get(),
        );
        let known = IdentityRules::of(networks.keypoints.tells_presence());
        let known = config.persons.min_score.0.map_or(known, |score| known.from_score(score));
        let rules = IdentityRules { max_persons: config.persons.max.get(), ..known };
        let tracker = Self::of_parts(networks, rules, model)?;
        Ok(Self { mirrored: config.source.mirror, min_joints: config.persons.min_joints.get(), ..tracker })
    }

    /// Joins networks, identities and a temporal model. Without a finder the whole picture is the first box: one person who
    /// fills a good part of it is still found.
    ///
    /// # Errors
    /// [`DecodeError`] where the JPEG library cannot be set up.
    pub fn of_parts(
        networks: Networks,
        rules: IdentityRules,
        model: Box<dyn TemporalModel>,
    ) -> Result<Self, DecodeError> {
        let max_persons = rules.max_persons.clamp(1, MAX_PERSONS);
        Ok(Self {
            decoder: Decoder::new()?,
            searcher: Searcher::new(networks.finder, max_persons, rules.min_score),
            net: networks.keypoints,
            identities: Identities::new(rules),
            model,
            card: EngineCard { engine: networks.engine, model_sha256: networks.sha256, max_persons },
            metres: None,
            mirrored: false,
            min_joints: MinJoints::MIN,
            seq: 0,
            known: [None; MAX_PERSONS],
            seen: [Keypoints::default(); MAX_PERSONS],
            count: 0,
            scores: [0.0; MAX_PERSONS],
        })
    }

    /// Says where persons stand too, by `metres`.
    #[must_use]
    pub fn with_metres(self, metres: Metres) -> Self {
        Self { metres: Some(metres), ..self }
    }

    /// What runs the networks.
    pub fn card(&self) -> &EngineCard {
        &self.card
    }

    /// What each crop of the last frame shows, the same person or nobody included, as it was weighed: for whoever measures what is made
    /// of it. Whoever was found just now has the score that both networks make, what was left out has no joints. Sides are the
    /// picture's.
    pub fn seen(&self) -> &[Keypoints] {
        &self.seen[..self.count]
    }

    /// Forgets identities and memories.
    pub fn reset(&mut self) {
        self.identities.reset();
        self.searcher.reset();
        self.known = [None; MAX_PERSONS];
        for slot in 0..MAX_PERSONS {
            self.model.reset(slot);
            self.metres.iter_mut().for_each(|metres| metres.reset(slot));
        }
    }

    /// Finds, identifies and filters the persons of one frame.
    ///
    /// # Errors
    /// [`TrackError`]: a picture that cannot be decoded leaves the tracker as it was.
    pub fn track(&mut self, frame: &Frame) -> Result<PoseFrame, TrackError> {
        self.track_timed(frame, &mut |_| {})
    }

    /// As [`track`](Self::track); `ended` is told each stage that has just ended. In frames that are searched the first
    /// three end twice, and once more where it is looked behind those who are seen.
    ///
    /// # Errors
    /// As [`track`](Self::track).
    pub fn track_timed(
        &mut self,
        frame: &Frame,
        ended: &mut dyn FnMut(Stage),
    ) -> Result<PoseFrame, TrackError> {
        let at_us = frame.captured_at_us;
        let predicted: [Option<Pose>; MAX_PERSONS] =
            std::array::from_fn(|slot| self.known[slot].map(|f| f.at(0, self.scores[slot], at_us).value));

        let look = self.look(frame, &predicted);
        // A search looks at everything, and whoever is found is cropped from the same picture.
        let part = if look.is_search { None } else { self.part(&look.boxes[..look.count], look.reduction) };
        let picture = self.decoder.decode_part(frame, look.reduction, part.as_ref())?;
        let size = picture.image_size;
        let shown = predicted.iter().zip(self.identities.shown());
        let people = shown.filter_map(|(pose, is_shown)| pose.filter(|_| is_shown));
        let unseen = self.identities.followed().1;
        let crops = self.searcher.search(&picture, &look, unseen, people, ended)?;

        let is_wild = match self.net.crop(&picture, crops.boxes()) {
            Ok(()) => false,
            // A box gone wild belongs to a prediction gone wild; the next search finds the person again.
            Err(error @ KeypointError::Box { .. }) => {
                warn!("{error}: all persons are looked for anew");
                true
            }
            Err(KeypointError::Infer(error)) => return Err(error.into()),
        };
        ended(Stage::Pixels);
        let mut seen = [Keypoints::default(); MAX_PERSONS];
        let count = if is_wild { 0 } else { crops.boxes().len() };
        if count > 0 {
            self.net.run()?;
            ended(Stage::Network);
            self.net.decode(&mut seen)?;
            self.searcher.weigh(&crops, size, &mut seen[..count]);
            ended(Stage::Decode);
        }
        let mut worn = [Appearance::UNKNOWN; MAX_PERSONS];
        for (worn, seen) in worn.iter_mut().zip(&seen[..count]) {
            *worn = appearance::of_person(&picture, seen);
        }
        if is_wild {
            self.reset();
        }
        (self.seen, self.count) = (seen, count);
        Ok(self.identify(frame, size, &worn, &predicted, ended))
    }

    /// Who is expected where, and how sharp the picture has to be for them.
    fn look(&self, frame: &Frame, predicted: &[Option<Pose>; MAX_PERSONS]) -> Look {
        let at_us = frame.captured_at_us;
        let mut boxes = [BoxPx::default(); MAX_PERSONS];
        // After a pause they are looked for where they were, not where their motion would have brought them.
        let is_after_pause = self.identities.is_after_pause(at_us);
        let expected = if is_after_pause { &[const { None }; MAX_PERSONS] } else { predicted };
        let mut count = self.identities.rois(at_us, expected, &mut boxes);
        let is_search = self.searcher.is_due(at_us, self.identities.around(at_us), is_after_pause);
        if self.searcher.finder.is_none() && count == 0 {
            boxes[0] = BoxPx { x: 0.0, y: 0.0, w: frame.width as f32, h: frame.height as f32 };
            count = 1;
        }
        let reduction = self.reduction(frame, &boxes[..count], is_search);
        let reach = self.identities.reach(at_us);
        Look { at_us, boxes, count, reach, is_search, is_after_pause, reduction }
    }

    fn identify(
        &mut self,
        frame: &Frame,
        [width, height]: [usize; 2],
        worn: &[Appearance; MAX_PERSONS],
        predicted: &[Option<Pose>; MAX_PERSONS],
        ended: &mut dyn FnMut(Stage),
    ) -> PoseFrame {
        let captured_at_us = frame.captured_at_us;
        let seen = &self.seen[..self.count];
        let size = Some([width, height]);
        let assignments = self.identities.update_with_appearance(captured_at_us, size, seen, worn, predicted);
        ended(Stage::Track);

        let nobody = Observation { slot: 0, captured_at_us, keypoints: None };
        let mut observations = [nobody; MAX_PERSONS];
        for (observation, a) in observations.iter_mut().zip(assignments) {
            if a.is_new {
                self.model.reset(a.slot);
                self.metres.iter_mut().for_each(|metres| metres.reset(a.slot));
                self.known[a.slot] = None;
            }
            let keypoints = a.detection.map(|d| seen[d]);
            if let Some(keypoints) = &keypoints {
                self.scores[a.slot] = keypoints.score;
            }
            *observation = Observation { slot: a.slot, captured_at_us, keypoints };
        }
        let mut forecasts = [Forecast::default(); MAX_PERSONS];
        self.model.step(&observations[..assignments.len()], &mut forecasts);
        // A person no longer listed is not predicted from what was known of them.
        self.known = [None; MAX_PERSONS];
        let mut persons = [None; MAX_PERSONS];
        let mut reported = 0;
        for (a, forecast) in assignments.iter().zip(forecasts) {
            self.known[a.slot] = Some(forecast);
            // Whoever is expected at the edge and not seen there has left the picture.
            let expected = || forecast.at(a.track_id, 0.0, captured_at_us).value.bounds();
            let has_left =
                a.detection.is_none() && expected().is_some_and(|b| is_strip_at_edge(&b, [width, height]));
            let least =
                if a.detection.is_none() { self.min_joints.max(MIN_EXPECTED) } else { self.min_joints };
            if a.is_reported && !has_left && forecast.known_joints() >= least {
                let seen = a.detection.map(|d| seen[d]);
                let (mut forecast, seen) = match self.mirrored {
                    true => (forecast.with_sides_exchanged(), seen.map(|k| k.with_sides_exchanged())),
                    false => (forecast, seen),
                };
                let score = self.scores[a.slot];
                let size_px = [width as u32, height as u32];
                let track_id = a.track_id;
                let metres = self.metres.as_mut();
                let place = metres.and_then(|m| m.place(a.slot, track_id, &mut forecast, size_px));
                persons[reported] = Some(TrackedPerson { track_id, score, forecast, seen, place });
                reported += 1;
            }
        }
        ended(Stage::Temporal);
        let seq = self.seq;
        self.seq += 1;
        PoseFrame {
            seq,
            frame: frame.seq,
            captured_at_us,
            width: width as u32,
            height: height as u32,
            persons,
            floor: self.metres.as_ref().and_then(Metres::floor),
        }
    }

    /// What the crops of `boxes` are made of in a picture reduced so; `None`: the whole.
    fn part(&self, boxes: &[BoxPx], reduction: u32) -> Option<Part> {
        // Samples lie between pixels: one neighbour on each side, and one for rounding.
        let margin = 2.0 * reduction as f32;
        let mut all: Option<[f32; 4]> = None;
        for b in boxes {
            let edges = self.net.image_edges(b)?;
            let [left, top, right, bottom] = all.unwrap_or(edges);
            all = Some([left.min(edges[0]), top.min(edges[1]), right.max(edges[2]), bottom.max(edges[3])]);
        }
        // Negative ones become 0.
        let [left, top, right, bottom] = all?;
        let span = |from: f32, to: f32| (from - margin) as usize..(to + margin) as usize;
        Some(Part { columns: span(left, right), rows: span(top, bottom) })
    }

    /// By how much a JPEG may be reduced: what the largest magnification asked for still leaves sharp.
    fn reduction(&self, frame: &Frame, boxes: &[BoxPx], is_search: bool) -> u32 {
        if frame.format != PixelFormat::Mjpeg {
            return 1;
        }
        let crops = boxes.iter().map(|b| self.net.image_per_net_px(b));
        let [w, h] = [frame.width, frame.height];
        let search = self.searcher.finder.as_ref().filter(|_| is_search).map(|finder| {
            // Whoever is found is cropped from the same picture, and may be as small as a quarter of it.
            let whole = BoxPx { x: 0.0, y: 0.0, w: w as f32, h: h as f32 };
            finder.image_per_net_px([w as usize, h as usize]).min(0.25 * self.net.image_per_net_px(&whole))
        });
        crops.chain(search).fold(8.0f32, f32::min).max(1.0) as u32
    }
}

#[cfg(test)]
mod tests;
