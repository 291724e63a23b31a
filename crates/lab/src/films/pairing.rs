//! Which answer is whose, frame by frame.

use pathfinding::{kuhn_munkres::kuhn_munkres, matrix::Matrix};
use pose::{JOINTS, JointState, MAX_PERSONS, TrackedPerson};

use super::{Moment, TruePerson, extent_px};

/// Part of the extent from which on a joint's distance counts as this much: a pose that far off is nobody's.
const FAR: f64 = 0.5;

/// An answer less close than this to somebody is not theirs: at 0.4 the joints are off by 0.3 of the extent in the mean, which is
/// farther than a pose with its sides exchanged.
pub(super) const MIN_CLOSENESS: f64 = 0.4;

/// A frame's pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Pairs {
    /// By true person: the place of their answer among the frame's.
    pub answer_of: Vec<Option<usize>>,
    /// By answer: the true person whom it is closest to, if it is close at all; the picture's edge may cut them off there.
    pub nearest: [Option<usize>; MAX_PERSONS],
}

/// How close an answer is to somebody, 0..=1: one less the mean distance of the joints that both know, each in halves of the
/// extent; 0 where they share fewer than three.
pub(super) fn closeness(person: &TruePerson, answer: &TrackedPerson) -> f64 {
    closeness_of(|j| person.joints[j].map(|joint| joint.at_px), person.extent_px(), answer)
}

/// How close an answer is to whomever it may be of, whether or not they have another: in halves of the smaller of both extents, or a
/// figure in the shelf beside somebody tall would be theirs. Of anybody who need not be found joints beyond the picture's edge
/// count, too: of whom it shows a leg, only the foot could be compared in the picture.
fn closeness_to_any(person: &TruePerson, answer: &TrackedPerson) -> f64 {
    let beyond = |j: usize| person.beyond_px[j].filter(|_| !person.counts());
    let place = |j: usize| person.joints[j].map(|joint| joint.at_px).or(beyond(j));
    let told = (0..JOINTS).filter(|&j| answer.forecast.state[j] != JointState::Absent);
    let told_px = extent_px(told.map(|j| answer.forecast.places_px[0][j].map(f64::from)));
    closeness_of(place, extent_px((0..JOINTS).filter_map(place)).min(told_px), answer)
}

fn closeness_of(place: impl Fn(usize) -> Option<[f64; 2]>, extent_px: f64, answer: &TrackedPerson) -> f64 {
    let far_px = FAR * extent_px;
    let (mut sum, mut n) = (0.0, 0);
    for j in 0..JOINTS {
        let Some(truth) = place(j).filter(|_| answer.forecast.state[j] != JointState::Absent) else {
            continue;
        };
        let [x, y] = answer.forecast.places_px[0][j].map(f64::from);
        sum += ((x - truth[0]).hypot(y - truth[1]) / far_px).min(1.0);
        n += 1;
    }
    if n < 3 { 0.0 } else { 1.0 - sum / f64::from(n) }
}

/// Pairs the frames of a film: whoever had an answer's identity in the last frame keeps it while it is close enough (CLEAR MOT,
/// Bernardin and Stiefelhagen 2008), the rest are assigned so that the sum of closeness is largest.
pub(super) fn pair(moments: &[Moment]) -> Vec<Pairs> {
    // (person, identity) of the last frame.
    let mut before: Vec<(u32, u32)> = Vec::new();
    let mut all = Vec::with_capacity(moments.len());
    for Moment { truth, answer, .. } in moments {
        let answers: Vec<&TrackedPerson> = answer.persons.iter().flatten().collect();
        let close: Vec<Vec<f64>> =
            truth.iter().map(|p| answers.iter().map(|a| closeness(p, a)).collect()).collect();
        let mut pairs = Pairs { answer_of: vec![None; truth.len()], ..Pairs::default() };
        let mut is_taken = vec![false; answers.len()];
        for (i, person) in truth.iter().enumerate() {
            let held = before.iter().find(|(id, _)| *id == person.id).map(|(_, track)| *track);
            let same = held.and_then(|track| answers.iter().position(|a| a.track_id == track));
            // Somebody lost may have had the identity that another has now.
            if let Some(a) = same.filter(|&a| !is_taken[a] && close[i][a] >= MIN_CLOSENESS) {
                pairs.answer_of[i] = Some(a);
                is_taken[a] = true;
            }
        }
        let rows: Vec<usize> = (0..truth.len()).filter(|&i| pairs.answer_of[i].is_none()).collect();
        let columns: Vec<usize> = (0..answers.len()).filter(|&a| !is_taken[a]).collect();
        for (row, column) in assign(rows.len(), columns.len(), |r, c| {
            Some(close[rows[r]][columns[c]]).filter(|&s| s >= MIN_CLOSENESS).unwrap_or(0.0)
        }) {
            pairs.answer_of[rows[row]] = Some(columns[column]);
        }
        for (a, nearest) in pairs.nearest.iter_mut().enumerate().take(answers.len()) {
            let all = truth.iter().map(|person| closeness_to_any(person, answers[a])).enumerate();
            let closest = all.max_by(|(_, one), (_, other)| one.total_cmp(other));
            *nearest = closest.filter(|(_, closeness)| *closeness >= MIN_CLOSENESS).map(|(i, _)| i);
        }
        for (person, a) in truth.iter().zip(&pairs.answer_of) {
            if let Some(track) = a.map(|a| answers[a].track_id) {
                before.retain(|(id, held)| *id != person.id && *held != track);
                before.push((person.id, track));
            }
        }
        all.push(pairs);
    }
    all
}

/// Pairs of rows and columns with the largest sum of weights; none of weight 0.
pub(super) fn assign(
    rows: usize,
    columns: usize,
    weight: impl Fn(usize, usize) -> f64,
) -> Vec<(usize, usize)> {
    /// Weights are whole numbers to the library.
    const UNITS: f64 = 1e6;
    if rows == 0 || columns == 0 {
        return Vec::new();
    }
    // It wants no more rows than columns.
    let units = |r: usize, c: usize| if c < columns { (UNITS * weight(r, c)).round() as i64 } else { 0 };
    let matrix = Matrix::from_fn(rows, columns.max(rows), |(r, c)| units(r, c));
    let (_, assigned) = kuhn_munkres(&matrix);
    assigned.into_iter().enumerate().filter(|&(r, c)| c < columns && units(r, c) > 0).collect()
}
