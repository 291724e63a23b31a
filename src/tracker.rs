//! The one place where a tracker is put together: configuration in; then a frame in, the poses in it out.
//!
//! Decode, find, crop, run, read the joints, say who is who, filter. Owned by one thread; reads no clock: whoever wants
//! times is told when each stage ends.

mod appearance;
mod behind;
mod load;
mod searcher;
mod still;

use arrayvec::ArrayVec;
use log::warn;
use pose::{BoxPx, Forecast, Keypoints, MAX_PERSONS, Pose, PoseFrame, TrackedPerson};

pub use load::{EngineCard, LoadError, Networks, temporal_model};
pub use still::Stills;

use self::searcher::Searcher;
use crate::config::{Config, MinJoints};
use crate::infer::InferError;
use crate::keypoints::{KeypointError, KeypointNet};
use crate::metres::Metres;
use crate::picture::{DecodeError, Decoder, Frame, Part, Picture, PixelFormat};
use crate::telemetry::Stage;
use crate::temporal::{Observation, TemporalModel};
use crate::track::{Assignment, Crop, Crops, Identities, IdentityRules, Origin, is_strip_at_edge};

/// Joints that are known, in the picture or beyond its edge, of whoever is told of and was not seen. Of fewer nobody could say where somebody is: they are what an
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
    /// What the last frame's crops show, as it was weighed.
    seen: ArrayVec<Keypoints, MAX_PERSONS>,
    /// By slot: the person's own score when last seen.
    scores: [f32; MAX_PERSONS],
}

/// What is to be looked at in a frame.
struct Look {
    /// When the frame was captured.
    at_us: i64,
    /// As far as they are known before the picture is searched.
    crops: Crops,
    /// How far from their box whoever the last frame showed may be, in extents; 0 as long as forecasts say where.
    reach: f32,
    is_search: bool,
    /// `crops` say where persons were before a pause in the frames.
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
            seen: ArrayVec::new(),
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
        &self.seen
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
        let (at_us, width, height) = (frame.captured_at_us, frame.width, frame.height);
        // What may be beyond the edge is looked for when it comes back; until then the crop is of what is in the picture.
        let predicted: [Option<Pose>; MAX_PERSONS] =
            std::array::from_fn(|slot| self.known[slot].map(|f| f.within(width, height).expected_at(at_us)));

        let look = self.look(frame, &predicted);
        // A search looks at everything, and whoever is found is cropped from the same picture.
        let part = if look.is_search { None } else { self.part(&look.crops, look.reduction) };
        let picture = self.decoder.decode_part(frame, look.reduction, part.as_ref())?;
        let size = picture.image_size;
        let shown = predicted.iter().zip(self.identities.shown());
        let people = shown.filter_map(|(pose, is_shown)| pose.filter(|_| is_shown));
        let crops = self.searcher.search(&picture, look, people, ended)?;

        let seen = read_joints(&mut self.net, &picture, &crops, &self.searcher, ended)?;
        let worn: ArrayVec<_, MAX_PERSONS> =
            seen.iter().flatten().map(|seen| appearance::of_person(&picture, seen)).collect();
        if seen.is_none() {
            self.reset();
        }
        self.seen = seen.unwrap_or_default();

        let assignments =
            self.identities.update_with_appearance(at_us, Some(size), &self.seen, &worn, &predicted);
        ended(Stage::Track);
        let forecasts = self.filter(at_us, &assignments);
        let persons = self.report(at_us, size, &assignments, &forecasts);
        ended(Stage::Temporal);
        let seq = self.seq;
        self.seq += 1;
        let [width, height] = size.map(|v| v as u32);
        let floor = self.metres.as_ref().and_then(Metres::floor);
        Ok(PoseFrame { seq, frame: frame.seq, captured_at_us: at_us, width, height, persons, floor })
    }

    /// Who is expected where, and how sharp the picture has to be for them.
    fn look(&self, frame: &Frame, predicted: &[Option<Pose>; MAX_PERSONS]) -> Look {
        let at_us = frame.captured_at_us;
        // After a pause they are looked for where they were, not where their motion would have brought them.
        let is_after_pause = self.identities.is_after_pause(at_us);
        let expected = if is_after_pause { &[const { None }; MAX_PERSONS] } else { predicted };
        let mut crops = self.identities.rois(at_us, expected);
        let is_search = self.searcher.is_due(at_us, self.identities.around(at_us), is_after_pause);
        if self.searcher.finder.is_none() && crops.is_empty() {
            let box_px = BoxPx { x: 0.0, y: 0.0, w: frame.width as f32, h: frame.height as f32 };
            crops.push(Crop { box_px, origin: Origin::Whole });
        }
        if is_after_pause {
            crops.iter_mut().for_each(|crop| crop.origin = Origin::BeforePause);
        }
        let reduction = self.reduction(frame, &crops, is_search);
        let reach = self.identities.reach(at_us);
        Look { at_us, crops, reach, is_search, is_after_pause, reduction }
    }

    /// What the temporal model makes of those seen and of those expected, by assignment.
    fn filter(&mut self, captured_at_us: i64, assignments: &[Assignment]) -> ArrayVec<Forecast, MAX_PERSONS> {
        let mut observations = ArrayVec::<_, MAX_PERSONS>::new();
        for a in assignments {
            if a.is_new {
                self.model.reset(a.slot);
                self.metres.iter_mut().for_each(|metres| metres.reset(a.slot));
            }
            let keypoints = a.detection.map(|d| self.seen[d]);
            if let Some(keypoints) = &keypoints {
                self.scores[a.slot] = keypoints.score;
            }
            observations.push(Observation { slot: a.slot, captured_at_us, keypoints });
        }
        let mut forecasts: ArrayVec<_, _> = assignments.iter().map(|_| Forecast::default()).collect();
        self.model.step(&observations, &mut forecasts);
        // A person no longer listed is not predicted from what was known of them.
        self.known = [None; MAX_PERSONS];
        for (a, forecast) in assignments.iter().zip(&forecasts) {
            self.known[a.slot] = Some(*forecast);
        }
        forecasts
    }

    /// Whom consumers are told of.
    fn report(
        &mut self,
        at_us: i64,
        size: [usize; 2],
        assignments: &[Assignment],
        forecasts: &[Forecast],
    ) -> [Option<TrackedPerson>; MAX_PERSONS] {
        let mut persons = [None; MAX_PERSONS];
        let [width_px, height_px] = size.map(|v| v as u32);
        let known = assignments.iter().zip(forecasts);
        let reported = known.filter(|(a, forecast)| {
            // Whoever is expected at the edge and not seen there has left the picture.
            let expected = || forecast.at(a.track_id, 0.0, at_us).value.bounds();
            let has_left = a.detection.is_none() && expected().is_some_and(|b| is_strip_at_edge(&b, size));
            let least =
                if a.detection.is_none() { self.min_joints.max(MIN_EXPECTED) } else { self.min_joints };
            a.is_reported && !has_left && forecast.known_joints() >= least
        });
        let told = reported.map(|(a, forecast)| (a, forecast.within(width_px, height_px)));
        let told = told.filter(|(_, forecast)| forecast.known_joints() >= self.min_joints);
        for (person, (a, forecast)) in persons.iter_mut().zip(told) {
            let seen = a.detection.map(|d| self.seen[d]);
            let (mut forecast, seen) = match self.mirrored {
                true => (forecast.with_sides_exchanged(), seen.map(|k| k.with_sides_exchanged())),
                false => (forecast, seen),
            };
            let (track_id, score) = (a.track_id, self.scores[a.slot]);
            let metres = self.metres.as_mut();
            let place = metres.and_then(|m| m.place(a.slot, track_id, &mut forecast, [width_px, height_px]));
            *person = Some(TrackedPerson { track_id, score, forecast, seen, place });
        }
        persons
    }

    /// What `crops` are made of in a picture reduced so; `None`: the whole.
    fn part(&self, crops: &[Crop], reduction: u32) -> Option<Part> {
        // Samples lie between pixels: one neighbour on each side, and one for rounding.
        let margin = 2.0 * reduction as f32;
        let mut all: Option<[f32; 4]> = None;
        for crop in crops {
            let edges = self.net.image_edges(&crop.box_px)?;
            let [left, top, right, bottom] = all.unwrap_or(edges);
            all = Some([left.min(edges[0]), top.min(edges[1]), right.max(edges[2]), bottom.max(edges[3])]);
        }
        // Negative ones become 0.
        let [left, top, right, bottom] = all?;
        let span = |from: f32, to: f32| (from - margin) as usize..(to + margin) as usize;
        Some(Part { columns: span(left, right), rows: span(top, bottom) })
    }

    /// By how much a JPEG may be reduced: what the largest magnification asked for still leaves sharp.
    fn reduction(&self, frame: &Frame, crops: &[Crop], is_search: bool) -> u32 {
        if frame.format != PixelFormat::Mjpeg {
            return 1;
        }
        let crops = crops.iter().map(|crop| self.net.image_per_net_px(&crop.box_px));
        let [w, h] = [frame.width, frame.height];
        let search = self.searcher.finder.as_ref().filter(|_| is_search).map(|finder| {
            // Whoever is found is cropped from the same picture, and may be as small as a quarter of it.
            let whole = BoxPx { x: 0.0, y: 0.0, w: w as f32, h: h as f32 };
            finder.image_per_net_px([w as usize, h as usize]).min(0.25 * self.net.image_per_net_px(&whole))
        });
        crops.chain(search).fold(8.0f32, f32::min).max(1.0) as u32
    }
}

/// What `net` sees in `crops`, weighed by `searcher`; `None` where a box cannot be cropped.
fn read_joints(
    net: &mut KeypointNet,
    picture: &Picture<'_>,
    crops: &Crops,
    searcher: &Searcher,
    ended: &mut dyn FnMut(Stage),
) -> Result<Option<ArrayVec<Keypoints, MAX_PERSONS>>, TrackError> {
    let boxes: ArrayVec<BoxPx, MAX_PERSONS> = crops.iter().map(|crop| crop.box_px).collect();
    let is_cropped = match net.crop(picture, &boxes) {
        Ok(()) => true,
        // A box gone wild belongs to a prediction gone wild; the next search finds the person again.
        Err(error @ KeypointError::Box { .. }) => {
            warn!("{error}: all persons are looked for anew");
            false
        }
        Err(KeypointError::Infer(error)) => return Err(error.into()),
    };
    ended(Stage::Pixels);
    if !is_cropped {
        return Ok(None);
    }
    let mut seen: ArrayVec<_, _> = crops.iter().map(|_| Keypoints::default()).collect();
    if !seen.is_empty() {
        net.run()?;
        ended(Stage::Network);
        net.decode(&mut seen)?;
        searcher.weigh(crops, picture.image_size, &mut seen);
        ended(Stage::Decode);
    }
    Ok(Some(seen))
}

#[cfg(test)]
mod tests;
