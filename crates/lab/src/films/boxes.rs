//! Boxes of one film, frame by frame: who is truly there, what the network saw and whom the program told of. For other trackers on
//! the same detections; `posetrain.temporal.identities` in models/train reads them.

use pose::{BoxPx, JointState, Keypoints};
use serde::Serialize;

use super::{Film, Moment, TruePerson};

/// A joint below this score is not seen.
const MIN_SCORE: f32 = 0.2;

/// One frame, a line of JSON. Boxes are left, top, width and height in pixels, round joints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Boxes {
    /// The film's name.
    pub film: String,
    /// Capture time.
    pub captured_at_us: i64,
    /// Who is there.
    pub truth: Vec<Truth>,
    /// What the crops of this frame show, as the tracker weighed it, the same person more than once included.
    pub detections: Vec<Detection>,
    /// Whom the program told of.
    pub answers: Vec<Told>,
}

/// Somebody who is there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Truth {
    /// The same in every frame of a film.
    pub id: u32,
    /// Round every joint inside the picture.
    pub r#box: [f32; 4],
    /// Whether somebody could be asked to find them.
    pub counts: bool,
}

/// A pose of the network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Detection {
    /// Round the joints seen.
    pub r#box: [f32; 4],
    /// Of the person: with the finder's odds where they were just found.
    pub score: f32,
}

/// A pose that was told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Told {
    /// The identity.
    pub id: u32,
    /// Round the joints told.
    pub r#box: [f32; 4],
    /// Whether the network saw them in this frame.
    pub seen: bool,
}

/// Every frame's boxes.
pub(super) fn boxes(film: &dyn Film, moments: &[Moment]) -> Vec<Boxes> {
    let one = |moment: &Moment| Boxes {
        film: film.name().to_owned(),
        captured_at_us: moment.answer.captured_at_us,
        truth: moment.truth.iter().filter_map(truth).collect(),
        detections: moment.seen.iter().filter_map(detection).collect(),
        answers: moment.answer.persons.iter().flatten().filter_map(told).collect(),
    };
    moments.iter().map(one).collect()
}

fn truth(person: &TruePerson) -> Option<Truth> {
    let places = person.joints.iter().flatten().map(|j| j.at_px.map(|v| v as f32));
    Some(Truth { id: person.id, r#box: round(places)?, counts: person.counts() })
}

fn detection(seen: &Keypoints) -> Option<Detection> {
    let places = seen.joints.iter().filter(|k| k.score >= MIN_SCORE).map(|k| [k.x_px, k.y_px]);
    Some(Detection { r#box: round(places)?, score: seen.score })
}

fn told(person: &pose::TrackedPerson) -> Option<Told> {
    let forecast = &person.forecast;
    let known = forecast.places_px[0].iter().zip(forecast.state);
    let places = known.filter(|(_, state)| *state != JointState::Absent).map(|(p, _)| *p);
    Some(Told { id: person.track_id, r#box: round(places)?, seen: person.seen.is_some() })
}

/// Tenths of a pixel.
fn round(places: impl Iterator<Item = [f32; 2]>) -> Option<[f32; 4]> {
    let (mut low, mut high) = ([f32::INFINITY; 2], [f32::NEG_INFINITY; 2]);
    for place in places {
        for axis in 0..2 {
            low[axis] = low[axis].min(place[axis]);
            high[axis] = high[axis].max(place[axis]);
        }
    }
    let BoxPx { x, y, w, h } = BoxPx::from_corners(low[0], low[1], high[0], high[1]);
    (low[0] <= high[0]).then(|| [x, y, w, h].map(|v| (10.0 * v).round() / 10.0))
}
