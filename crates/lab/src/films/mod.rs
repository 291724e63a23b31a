//! The whole program on films: frames in, poses out, as the board runs it, crops that follow their own answers included.
//!
//! A [`Film`] gives frames with what is true of each. [`run`] puts them through a [`Tracker`] and pairs answers with people
//! (`pairing`); `score` counts places, ghosts, first frames and exchanged sides, `identity` who kept their number, and
//! [`crate::clips`] motion: acceleration against the truth and lag. All counts are kept film by film, so that intervals come
//! from resampling films, those cut from one video together.

mod boxes;
mod goals;
mod identity;
mod others;
mod pairing;
mod score;
mod source;
mod steady;
mod table;
mod tracks;

use std::path::PathBuf;

use pose::{JOINTS, Keypoints, PoseFrame};
use posewire::Tracker;
use posewire::capture::CaptureError;
use posewire::picture::Frame;
use posewire::tracker::TrackError;

use crate::{
    Interval,
    clips::{Clip, ClipSet, ClipsError},
};

pub use self::{
    boxes::{Boxes, Detection, Told, Truth},
    goals::{Goal, goals, goals_table},
    others::Answers,
    source::{Labelled, Rendered, Take, labelled},
    table::{Differences, Row, table},
    tracks::Track,
};

/// What can go wrong with a film.
#[derive(Debug, thiserror::Error)]
pub enum FilmsError {
    /// The labels cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The labels are not what they should be.
    #[error("{} line {line}: {what}; `python -m posetrain.temporal.films` in models/train writes them", path.display())]
    Labels {
        /// Which file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// Another program's answers are not what they should be.
    #[error(
        "{} line {line}: {what}; a line a frame: {{\"film\": NAME, \"persons\": [{{\"id\": 1, \"joints\": [[x, y, score], …]}}]}}",
        path.display()
    )]
    Answers {
        /// Which file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// Another program answered to more frames than a film has, or to fewer.
    #[error("{}: {answers} answers to the {frames} frames of '{film}'; a line a frame, of nobody too", path.display())]
    Unanswered {
        /// Which file.
        path: PathBuf,
        /// The film's name.
        film: String,
        /// Lines of the file that are of this film.
        answers: usize,
        /// Frames that the film has.
        frames: usize,
    },
    /// The pictures cannot be read.
    #[error("film '{film}'")]
    Pictures {
        /// The film's name.
        film: String,
        /// Why.
        source: CaptureError,
    },
    /// The tracker cannot go on.
    #[error("film '{film}', frame {frame}")]
    Track {
        /// The film's name.
        film: String,
        /// From 0.
        frame: usize,
        /// Why.
        source: TrackError,
    },
    /// Motion cannot be measured.
    #[error(transparent)]
    Clips(#[from] ClipsError),
}

/// What is true of a joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrueJoint {
    /// Pixels of the frame.
    pub at_px: [f64; 2],
    /// Something stands before it.
    pub is_hidden: bool,
}

/// Somebody in a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct TruePerson {
    /// The same in every frame of a film.
    pub id: u32,
    /// `None` where not known or outside the picture.
    pub joints: [Option<TrueJoint>; JOINTS],
    /// Joints outside the picture of somebody of whom it shows anything, pixels of the frame; `None` where not known.
    pub beyond_px: [Option<[f64; 2]>; JOINTS],
    /// Camera space: right, down, ahead; metres. `None` where not known.
    pub joints_m: Option<[[f32; 3]; JOINTS]>,
}

impl TruePerson {
    /// Longer side of the known joints' box, pixels; at least [`MIN_EXTENT_PX`].
    pub fn extent_px(&self) -> f64 {
        extent_px(self.joints.iter().flatten().map(|joint| joint.at_px))
    }

    fn seen(&self) -> usize {
        self.joints.iter().flatten().filter(|j| !j.is_hidden).count()
    }

    /// Whether somebody could be asked to find this person.
    fn counts(&self) -> bool {
        self.seen() >= MIN_SEEN
    }
}

/// Longer side of a box round `places_px`; at least [`MIN_EXTENT_PX`].
fn extent_px(places_px: impl Iterator<Item = [f64; 2]> + Clone) -> f64 {
    let span = |axis: usize| {
        let along = || places_px.clone().map(|at_px| at_px[axis]);
        along().fold(f64::NEG_INFINITY, f64::max) - along().fold(f64::INFINITY, f64::min)
    };
    span(0).max(span(1)).max(MIN_EXTENT_PX)
}

/// Nobody is measured by less.
pub const MIN_EXTENT_PX: f64 = 8.0;

/// Of whom fewer joints are seen need not be found, and is no ghost where found.
pub const MIN_SEEN: usize = 6;

/// Frames and their truth.
pub trait Film {
    /// What the film is called.
    fn name(&self) -> &str;
    /// The video that the film was cut from, where others may be of the same one.
    fn source(&self) -> Option<&str> {
        None
    }
    /// Whether everybody in the picture is labelled: an answer that fits nobody is a ghost only then.
    fn is_complete(&self) -> bool;
    /// Motion is compared with the truth smoothed by a Gaussian of this many frames: hand labels shake. 0: as it is.
    fn smooth_truth(&self) -> f64;
    /// The next frame and who is in it; `None` at the end.
    ///
    /// # Errors
    /// [`FilmsError`] where the frame cannot be had.
    fn next(&mut self) -> Result<Option<(Frame, Vec<TruePerson>)>, FilmsError>;
}

/// A frame's truth and answer.
pub(crate) struct Moment {
    truth: Vec<TruePerson>,
    answer: PoseFrame,
    /// Every pose of the network as the tracker weighed it, the same person more than once included.
    seen: Vec<Keypoints>,
}

/// What one film gave.
pub struct Outcome {
    source: Option<String>,
    score: score::Score,
    identity: identity::Counts,
    /// Stretches with their truth as motion is compared with it: smoothed where the film's labels shake.
    motion: Vec<(Clip, Vec<pose::Forecast>)>,
    tracks: Vec<Track>,
    boxes: Vec<Boxes>,
}

impl Outcome {
    /// What the network said of every true person.
    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// Boxes of every frame.
    pub fn boxes(&self) -> &[Boxes] {
        &self.boxes
    }
}

/// Everything counted for one setting, film by film.
pub struct Outcomes {
    films: Vec<Outcome>,
    /// Films that were cut from one video, which are drawn together; in the order of the films.
    sources: Vec<Vec<usize>>,
}

/// Runs one film from a tracker that knows nobody.
///
/// # Errors
/// [`FilmsError`]: frames that cannot be had, or a tracker that cannot go on.
pub fn run(film: &mut dyn Film, tracker: &mut Tracker) -> Result<Outcome, FilmsError> {
    tracker.reset();
    let mut moments = Vec::new();
    while let Some((frame, truth)) = film.next()? {
        let answer = tracker.track(&frame).map_err(|source| FilmsError::Track {
            film: film.name().to_owned(),
            frame: moments.len(),
            source,
        })?;
        moments.push(Moment { truth, answer, seen: tracker.seen().to_vec() });
    }
    Ok(judge(film, &moments))
}

fn judge(film: &dyn Film, moments: &[Moment]) -> Outcome {
    let pairs = pairing::pair(moments);
    Outcome {
        source: film.source().map(str::to_owned),
        score: score::count(moments, &pairs, film.is_complete()),
        identity: identity::count(moments, &pairs, film.is_complete()),
        motion: motion(film, moments, &pairs),
        tracks: tracks::tracks(film, moments, &pairs),
        boxes: boxes::boxes(film, moments),
    }
}

/// Each stretch in which somebody was answered without a break, as a clip of its own.
fn motion(film: &dyn Film, moments: &[Moment], pairs: &[pairing::Pairs]) -> Vec<(Clip, Vec<pose::Forecast>)> {
    let mut stretches: Vec<(u32, usize, Clip, Vec<pose::Forecast>)> = Vec::new();
    for (t, (moment, pairs)) in moments.iter().zip(pairs).enumerate() {
        for (i, person) in moment.truth.iter().enumerate().filter(|(_, p)| p.counts()) {
            let Some(answer) = pairs.answer_of[i].and_then(|a| moment.answer.persons[a]) else { continue };
            let going_on = stretches.iter_mut().find(|(id, last, ..)| *id == person.id && *last + 1 == t);
            let (_, last, clip, answers) = match going_on {
                Some(stretch) => stretch,
                None => {
                    let clip = Clip {
                        name: film.name().to_owned(),
                        source: film.source().map(str::to_owned),
                        captured_at_us: Vec::new(),
                        extent_px: Vec::new(),
                        observed: Vec::new(),
                        truth: Vec::new(),
                        truth_3d_m: None,
                    };
                    stretches.push((person.id, t, clip, Vec::new()));
                    stretches.last_mut().expect("one was pushed")
                }
            };
            *last = t;
            clip.captured_at_us.push(moment.answer.captured_at_us);
            clip.extent_px.push(person.extent_px());
            clip.truth.push(person.joints.map(|j| j.map(|j| j.at_px)));
            let seen = answer.seen.unwrap_or_default();
            clip.observed.push(seen.joints.map(|k| [k.x_px, k.y_px, k.score].map(f64::from)));
            answers.push(answer.forecast);
        }
    }
    let smoothed = stretches.into_iter().map(|(_, _, mut clip, answers)| {
        clip.smooth_truth(film.smooth_truth());
        (clip, answers)
    });
    smoothed.collect()
}

impl Outcomes {
    /// Of these films.
    pub fn of(films: Vec<Outcome>) -> Self {
        let mut sources: Vec<Vec<usize>> = Vec::new();
        for (i, film) in films.iter().enumerate() {
            let same = |of: &&mut Vec<usize>| film.source.is_some() && films[of[0]].source == film.source;
            match sources.iter_mut().find(same) {
                Some(source) => source.push(i),
                None => sources.push(vec![i]),
            }
        }
        Self { films, sources }
    }

    fn motion(&self) -> (ClipSet, Vec<Vec<pose::Forecast>>) {
        let stretches = self.films.iter().flat_map(|f| &f.motion);
        let (clips, answers) = stretches.cloned().unzip();
        (ClipSet::of("films", clips), answers)
    }

    /// `figure` of all films, by their places, with its interval: what is drawn are the videos that films were cut from.
    fn interval(&self, figure: impl Fn(&[usize]) -> Option<f64>) -> Interval {
        Interval::of(self.sources.len(), |drawn| {
            figure(&drawn.iter().flat_map(|&source| &self.sources[source]).copied().collect::<Vec<_>>())
        })
    }
}

#[cfg(test)]
mod tests;
