//! The middle of the pipeline in one piece: from a frame to the poses of the persons in it.
//!
//! Decode, find, crop, run, read the joints, say who is who, filter. Owned by one thread; reads no clock: whoever wants
//! times is told when each step ends.

use log::warn;
use pose::{BoxPx, Forecast, Keypoints, MAX_PERSONS, PersonBox, Pose, PoseFrame, TrackedPerson};

use crate::infer::InferError;
use crate::keypoints::{KeypointError, KeypointNet, PersonFinder};
use crate::picture::{DecodeError, Decoder, Frame, Part, PixelFormat};
use crate::temporal::{Observation, TemporalModel};
use crate::track::{Search, Tracker, TrackerConfig, newcomers};

/// A step of [`Stage::process`] that has just ended. In frames that are searched, the first three come twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Decoding the picture, cropping and resizing into a network's input.
    Pixels,
    /// Running a network.
    Network,
    /// Reading boxes or joints out of a network's output.
    Decode,
    /// Who is who.
    Track,
    /// Filtering and forecasting.
    Temporal,
}

/// Why a frame gave no poses.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The frame is damaged; the next one may be whole.
    #[error(transparent)]
    Frame(#[from] DecodeError),
    /// A network failed, and will again.
    #[error(transparent)]
    Network(#[from] InferError),
}

/// Everything between the camera and the sinks that depends on the picture.
pub struct Stage {
    decoder: Decoder,
    finder: Option<PersonFinder>,
    net: KeypointNet,
    search: Search,
    tracker: Tracker,
    max_persons: usize,
    model: Box<dyn TemporalModel>,
    found: Vec<PersonBox>,
    /// By slot: what the model last said of each person.
    known: [Option<Forecast>; MAX_PERSONS],
    /// By slot: the person's own score when last seen.
    scores: [f32; MAX_PERSONS],
}

impl Stage {
    /// Joins the networks, the tracker and the temporal model. Without a finder the whole picture is the first box:
    /// one person who fills a good part of it is still found.
    ///
    /// # Errors
    /// [`DecodeError`] where the JPEG library cannot be set up.
    pub fn new(
        finder: Option<PersonFinder>,
        net: KeypointNet,
        tracker: TrackerConfig,
        model: Box<dyn TemporalModel>,
    ) -> Result<Self, DecodeError> {
        Ok(Self {
            decoder: Decoder::new()?,
            finder,
            net,
            search: Search::default(),
            max_persons: tracker.max_persons.clamp(1, MAX_PERSONS),
            tracker: Tracker::new(tracker),
            model,
            found: Vec::with_capacity(crate::keypoints::MAX_FOUND),
            known: [None; MAX_PERSONS],
            scores: [0.0; MAX_PERSONS],
        })
    }

    /// Forgets identities and memories.
    pub fn reset(&mut self) {
        self.tracker.reset();
        self.search = Search::default();
        self.known = [None; MAX_PERSONS];
        for slot in 0..MAX_PERSONS {
            self.model.reset(slot);
        }
    }

    /// Finds, identifies and filters the persons of one frame; `seq` counts processed frames, `done` is told each step.
    ///
    /// # Errors
    /// [`StageError::Frame`] for a picture that cannot be decoded, [`StageError::Network`] for an engine that fails.
    pub fn process(
        &mut self,
        frame: &Frame,
        seq: u64,
        done: &mut dyn FnMut(Step),
    ) -> Result<PoseFrame, StageError> {
        let at_us = frame.captured_at_us;
        let predicted: [Option<Pose>; MAX_PERSONS] =
            std::array::from_fn(|slot| self.known[slot].map(|f| f.at(0, self.scores[slot], at_us).value));

        let mut boxes = [BoxPx::default(); MAX_PERSONS];
        let mut count = self.tracker.rois(at_us, &predicted, &mut boxes);
        let (followed, unseen) = self.tracker.followed();
        let is_search = self.search.is_due(at_us, followed, unseen, self.max_persons);

        let reduction = self.reduction(frame, &boxes[..count], is_search);
        // A search looks at everything, and whoever is found is cropped from the same picture.
        let part = if is_search { None } else { self.part(&boxes[..count], reduction) };
        let picture = self.decoder.decode_part(frame, reduction, part.as_ref())?;
        let [width, height] = picture.image_size;
        match &mut self.finder {
            Some(finder) if is_search => {
                finder.fit(&picture);
                done(Step::Pixels);
                finder.run()?;
                done(Step::Network);
                finder.decode(&mut self.found)?;
                count = newcomers(&self.found, &mut boxes, count);
                done(Step::Decode);
            }
            None if count == 0 => {
                boxes[0] = BoxPx { x: 0.0, y: 0.0, w: width as f32, h: height as f32 };
                count = 1;
            }
            _ => {}
        }

        let mut seen = [Keypoints::default(); MAX_PERSONS];
        match self.net.crop(&picture, &boxes[..count]) {
            Ok(()) => {}
            // A box gone wild belongs to a prediction gone wild; the next search finds the person again.
            Err(error @ KeypointError::Box { .. }) => {
                warn!("{error}: all persons are looked for anew");
                self.reset();
                count = 0;
            }
            Err(KeypointError::Infer(error)) => return Err(error.into()),
        }
        done(Step::Pixels);
        if count > 0 {
            self.net.run()?;
            done(Step::Network);
            self.net.decode(&mut seen)?;
            done(Step::Decode);
        }
        Ok(self.identify(frame, seq, [width, height], &seen[..count], &predicted, done))
    }

    fn identify(
        &mut self,
        frame: &Frame,
        seq: u64,
        [width, height]: [usize; 2],
        seen: &[Keypoints],
        predicted: &[Option<Pose>; MAX_PERSONS],
        done: &mut dyn FnMut(Step),
    ) -> PoseFrame {
        let captured_at_us = frame.captured_at_us;
        let assignments = self.tracker.update(captured_at_us, seen, predicted);
        done(Step::Track);

        let nobody = Observation { slot: 0, captured_at_us, keypoints: None };
        let mut observations = [nobody; MAX_PERSONS];
        for (observation, a) in observations.iter_mut().zip(assignments) {
            if a.is_new {
                self.model.reset(a.slot);
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
        // A person no longer listed is not predicted from what was known of him.
        self.known = [None; MAX_PERSONS];
        let mut persons = [None; MAX_PERSONS];
        let mut reported = 0;
        for (a, forecast) in assignments.iter().zip(forecasts) {
            self.known[a.slot] = Some(forecast);
            if a.is_reported {
                persons[reported] =
                    Some(TrackedPerson { track_id: a.track_id, score: self.scores[a.slot], forecast });
                reported += 1;
            }
        }
        done(Step::Temporal);
        PoseFrame {
            seq,
            frame: frame.seq,
            captured_at_us,
            width: width as u32,
            height: height as u32,
            persons,
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
        let whole = [frame.width as usize, frame.height as usize];
        let search = self.finder.as_ref().filter(|_| is_search).map(|f| {
            // Whoever is found is cropped from the same picture, and may be as small as a quarter of it.
            f.image_per_net_px(whole).min(
                0.25 * self.net.image_per_net_px(&BoxPx {
                    x: 0.0,
                    y: 0.0,
                    w: whole[0] as f32,
                    h: whole[1] as f32,
                }),
            )
        });
        crops.chain(search).fold(8.0f32, f32::min).max(1.0) as u32
    }
}
