//! What the network said of every true person of a film beside what is true: a line of JSON each, for training on exact truth.
//!
//! `posetrain.temporal.tracks` in models/train reads them.

use pose::JOINTS;
use serde::Serialize;

use super::{Film, Moment, pairing::Pairs};

/// One person of one film, frame by frame; all lists are of one length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Track {
    /// The film's name.
    pub film: String,
    /// The true person, the same in every frame of the film.
    pub id: u32,
    /// Hand labels are to be smoothed by a Gaussian of this many frames; 0: the truth is exact.
    pub smooth_truth: f64,
    /// Capture times.
    pub captured_at_us: Vec<i64>,
    /// Longer side of the box of the joints known, pixels.
    pub extent_px: Vec<f64>,
    /// x, y in pixels and COCO's visibility: 0 not known or outside the picture, 1 hidden, 2 seen.
    pub truth: Vec<[[f64; 3]; JOINTS]>,
    /// Camera space: right, down, ahead; metres. `None` where the film does not know.
    pub truth_3d_m: Option<Vec<[[f64; 3]; JOINTS]>>,
    /// x, y in pixels and score, as the network alone saw it; `None` where no answer was this person's.
    pub observed: Vec<Option<[[f64; 3]; JOINTS]>>,
    /// The identity of that answer.
    pub track_id: Vec<Option<u32>>,
}

/// Every true person's track. A person who comes back goes on where the track stopped, with later times.
pub(super) fn tracks(film: &dyn Film, moments: &[Moment], pairs: &[Pairs]) -> Vec<Track> {
    let mut tracks: Vec<Track> = Vec::new();
    for (moment, pairs) in moments.iter().zip(pairs) {
        for (person, answer) in moment.truth.iter().zip(&pairs.answer_of) {
            let at = tracks.iter().position(|t| t.id == person.id).unwrap_or_else(|| {
                tracks.push(Track {
                    film: film.name().to_owned(),
                    id: person.id,
                    smooth_truth: film.smooth_truth(),
                    captured_at_us: Vec::new(),
                    extent_px: Vec::new(),
                    truth: Vec::new(),
                    truth_3d_m: person.joints_m.map(|_| Vec::new()),
                    observed: Vec::new(),
                    track_id: Vec::new(),
                });
                tracks.len() - 1
            });
            let track = &mut tracks[at];
            track.captured_at_us.push(moment.answer.captured_at_us);
            track.extent_px.push(rounded(person.extent_px(), PX));
            track.truth.push(person.joints.map(|joint| {
                joint.map_or([0.0; 3], |j| {
                    let [x, y] = j.at_px.map(|v| rounded(v, PX));
                    [x, y, if j.is_hidden { 1.0 } else { 2.0 }]
                })
            }));
            if let (Some(all), Some(now)) = (&mut track.truth_3d_m, person.joints_m) {
                all.push(now.map(|p| p.map(|v| rounded(f64::from(v), M))));
            }
            let answer = answer.and_then(|a| moment.answer.persons[a]);
            track.observed.push(answer.and_then(|a| a.seen).map(|seen| {
                seen.joints.map(|k| {
                    let [x, y] = [k.x_px, k.y_px].map(|v| rounded(f64::from(v), PX));
                    [x, y, rounded(f64::from(k.score), SCORE)]
                })
            }));
            track.track_id.push(answer.map(|a| a.track_id));
        }
    }
    tracks
}

/// Parts of a unit that are written: hundredths of a pixel, ten-thousandths of a metre, thousandths of a score.
const PX: f64 = 1e2;
const M: f64 = 1e4;
const SCORE: f64 = 1e3;

fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}
