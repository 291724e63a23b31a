//! Films: rendered people with exact truth, and folders of labelled pictures.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use people::motion::Motion;
use pose::{JOINTS, Keypoint};
use posewire::capture::clip::Clip;
use posewire::capture::replay;
use posewire::capture::synthetic::{HIDDEN_SCORE, Synthetic};
use posewire::capture::{CaptureError, CaptureError::Ended};
use posewire::picture::Frame;
use serde::Deserialize;

use super::{Film, FilmsError, TrueJoint, TruePerson};

/// What is nearer to the camera than this, metres, has no place in the picture's plane.
const NEAREST_M: f32 = 0.05;

/// How a rendered film is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Take {
    /// Of everything that is drawn.
    pub seed: u64,
    /// People in the film.
    pub persons: usize,
    /// Frames of the camera; those that are dropped count.
    pub frames: u64,
    /// Frames a second, 1 to 240.
    pub fps: f32,
    /// Width and height, pixels.
    pub size: [u32; 2],
    /// Share of the frames that never arrive, 0 to less than 1; never the first.
    pub dropped: f64,
    /// Went through a film's compression before the camera's.
    pub compressed: bool,
}

impl Take {
    /// 1 + seed mod 4 persons, 640 × 480 at 30 frames a second, none dropped.
    pub fn new(seed: u64, frames: u64) -> Self {
        Self {
            seed,
            persons: 1 + seed as usize % 4,
            frames,
            fps: 30.0,
            size: [640, 480],
            dropped: 0.0,
            compressed: false,
        }
    }

    /// `seconds` of the film `seed`, with persons (1 + seed mod 4 where none are given), rate, size and share of dropped frames
    /// drawn from those given, by the seed; a share `compressed` of films are that.
    pub fn drawn(
        seed: u64,
        persons: &[usize],
        seconds: f32,
        fps: &[f32],
        size: &[[u32; 2]],
        dropped: &[f64],
        compressed: f64,
    ) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let plain = Self::new(seed, 0);
        let fps = random.choice(fps).copied().unwrap_or(plain.fps);
        let size = random.choice(size).copied().unwrap_or(plain.size);
        let dropped = random.choice(dropped).copied().unwrap_or(plain.dropped);
        let compressed = random.f64() < compressed;
        let persons = random.choice(persons).copied().unwrap_or(plain.persons);
        Self {
            seed,
            persons,
            frames: (fps * seconds).round().max(1.0) as u64,
            fps,
            size,
            dropped,
            compressed,
        }
    }
}

/// Rendered people in a room: everybody is known, hidden or not.
pub struct Rendered {
    name: String,
    clip: Synthetic,
    dropped: f64,
    random: fastrand::Rng,
}

impl Rendered {
    /// As MJPEG: the way of a camera's frames.
    ///
    /// # Errors
    /// [`FilmsError::Pictures`] for a rate or a size that cannot be drawn, or where the JPEG library cannot be set up.
    pub fn new(take: Take) -> Result<Self, FilmsError> {
        Self::of(take, None)
    }

    /// The same; `lively`: people who do what is recorded there.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of(take: Take, lively: Option<&Arc<Motion>>) -> Result<Self, FilmsError> {
        let Take { seed, persons, frames, fps, size: [width, height], dropped, compressed } = take;
        let mut name = format!("rendered {seed}, {persons} persons");
        if take != (Take { persons, ..Take::new(seed, frames) }) {
            let percent = 100.0 * dropped;
            name += &format!(", {width} × {height}, {fps} frames a second, {percent:.0} % dropped");
            name += if compressed { ", compressed" } else { "" };
        }
        name += if lively.is_some() { ", lively" } else { "" };
        let clip = Synthetic::new(persons, width, height, fps, seed).and_then(Synthetic::as_mjpeg);
        let clip = clip.map(|clip| match lively {
            Some(motion) => clip.lively(motion),
            None => clip,
        });
        let clip = clip.map(|clip| if compressed { clip.compressed() } else { clip });
        match clip {
            Ok(clip) => Ok(Self {
                name,
                clip: clip.frames(Some(frames)),
                dropped,
                random: fastrand::Rng::with_seed(seed),
            }),
            Err(source) => Err(FilmsError::Pictures { film: name, source }),
        }
    }
}

impl Film for Rendered {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_complete(&self) -> bool {
        true
    }

    fn smooth_truth(&self) -> f64 {
        0.0
    }

    fn next(&mut self) -> Result<Option<(Frame, Vec<TruePerson>)>, FilmsError> {
        let frame = loop {
            let frame = match self.clip.next() {
                Ok(frame) => frame,
                Err(Ended) => return Ok(None),
                Err(source) => return Err(FilmsError::Pictures { film: self.name.clone(), source }),
            };
            if frame.seq == 0 || self.random.f64() >= self.dropped {
                break frame;
            }
        };
        let at_px = |k: Keypoint| [k.x_px, k.y_px].map(f64::from);
        let truth = self.clip.truth().iter().zip(self.clip.truth_m()).zip(self.clip.are_shown());
        let persons = truth.zip(1..).map(|(((person, joints_m), is_shown), id)| TruePerson {
            id,
            joints_m: Some(joints_m),
            joints: person.joints.map(|k| {
                (k.score > 0.0).then_some(TrueJoint { at_px: at_px(k), is_hidden: k.score <= HIDDEN_SCORE })
            }),
            // Behind the camera a joint has no place.
            beyond_px: std::array::from_fn(|j| {
                let is_beyond = is_shown && person.joints[j].score <= 0.0 && joints_m[j][2] > NEAREST_M;
                is_beyond.then(|| at_px(person.joints[j]))
            }),
        });
        Ok(Some((frame, persons.collect())))
    }
}

/// Pictures of a folder with a line of labels each.
pub struct Labelled {
    head: Head,
    pictures: Box<dyn Clip>,
    lines: std::vec::IntoIter<Line>,
}

/// First line of the labels.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    film: String,
    /// The video that the film was cut from; without it the film is its own.
    #[serde(default)]
    source: Option<String>,
    /// Everybody in the picture is labelled.
    complete: bool,
    /// Frames over which a label is smoothed before motion is compared with it; 0: exact.
    #[serde(default)]
    smooth_truth: f64,
}

/// The labels of one picture.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    captured_at_us: i64,
    persons: Vec<Person>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Person {
    id: u32,
    /// x, y in pixels and COCO's visibility: 0 not known, 1 hidden, 2 seen.
    joints: [[f64; 3]; JOINTS],
}

/// Every film of a folder: `NAME.jsonl` beside the folder of pictures `NAME`, in the order of their names.
///
/// # Errors
/// [`FilmsError`] where the folder or the labels cannot be read, or there is no film in it.
pub fn labelled(folder: &Path) -> Result<Vec<PathBuf>, FilmsError> {
    let fail = |source| FilmsError::Read { path: folder.into(), source };
    let mut films = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        if path.extension().is_some_and(|e| e == "jsonl") {
            films.push(path);
        }
    }
    if films.is_empty() {
        let what = "no films in it: NAME.jsonl beside a folder NAME of pictures";
        return Err(fail(std::io::Error::new(std::io::ErrorKind::NotFound, what)));
    }
    films.sort();
    Ok(films)
}

impl Labelled {
    /// The film whose labels are in this file.
    ///
    /// # Errors
    /// [`FilmsError`] where labels or pictures cannot be read or are not of one length.
    pub fn open(labels: &Path) -> Result<Self, FilmsError> {
        let text = files::read_text_at_most(labels, files::MAX_LABEL_BYTES)
            .map_err(|source| FilmsError::Read { path: labels.into(), source })?;
        let fail = |line: usize, what: String| FilmsError::Labels { path: labels.into(), line, what };
        let mut lines = text.lines().zip(1..).filter(|(text, _)| !text.trim().is_empty());
        let (first, at) = lines.next().ok_or_else(|| fail(1, "the file is empty".into()))?;
        let head: Head = serde_json::from_str(first).map_err(|e| fail(at, e.to_string()))?;
        let mut rest: Vec<Line> = Vec::new();
        for (text, at) in lines {
            let line: Line = serde_json::from_str(text).map_err(|e| fail(at, e.to_string()))?;
            let before = rest.last().map(|before| before.captured_at_us);
            if let Some(before_us) = before.filter(|&before_us| line.captured_at_us <= before_us) {
                let what = format!("the times do not rise: {} after {before_us}", line.captured_at_us);
                return Err(fail(at, what));
            }
            rest.push(line);
        }
        let folder = labels.with_extension("");
        let unreadable = |source: CaptureError| FilmsError::Pictures { film: head.film.clone(), source };
        let pictures = replay::folder::pictures(&folder).map_err(unreadable)?.len();
        if pictures != rest.len() {
            let what =
                format!("{} lines of labels for {pictures} pictures in {}", rest.len(), folder.display());
            return Err(fail(rest.len() + 1, what));
        }
        let pictures = replay::open_clip(&folder).map_err(unreadable)?;
        Ok(Self { head, pictures, lines: rest.into_iter() })
    }

    /// Frames that are left of it.
    pub fn frames(&self) -> usize {
        self.lines.len()
    }
}

impl Film for Labelled {
    fn name(&self) -> &str {
        &self.head.film
    }

    fn source(&self) -> Option<&str> {
        self.head.source.as_deref()
    }

    fn is_complete(&self) -> bool {
        self.head.complete
    }

    fn smooth_truth(&self) -> f64 {
        self.head.smooth_truth
    }

    fn next(&mut self) -> Result<Option<(Frame, Vec<TruePerson>)>, FilmsError> {
        let Some(line) = self.lines.next() else { return Ok(None) };
        let frame = match self.pictures.next() {
            Ok(frame) => Frame { captured_at_us: line.captured_at_us, ..frame },
            Err(source) => return Err(FilmsError::Pictures { film: self.head.film.clone(), source }),
        };
        let known =
            |[x, y, v]: [f64; 3]| (v > 0.0).then_some(TrueJoint { at_px: [x, y], is_hidden: v < 2.0 });
        let persons = line.persons.into_iter().map(|p| TruePerson {
            id: p.id,
            joints: p.joints.map(known),
            beyond_px: [None; JOINTS],
            joints_m: None,
        });
        Ok(Some((frame, persons.collect())))
    }
}
