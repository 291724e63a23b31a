//! Places, misses, ghosts, first frames and exchanged sides of one film.

use std::collections::BTreeMap;

use pose::{JOINTS, JointState, MIRROR, TrackedPerson};

use super::{Moment, TruePerson, pairing::Pairs, steady};
use crate::{
    clips::MISSED,
    statistics::{Claims, Mean},
};

/// Whoever shows this many joints in their first frame is clear: nothing excuses that they are not answered in it. Sets that label no
/// faces have twelve.
const CLEAR: usize = 12;

/// Nothing can be done with fewer joints.
const FEW: usize = 4;

/// One film's sums.
#[derive(Clone, Debug, Default)]
pub(super) struct Score {
    /// Joints seen: distance in parts of the extent; what is not answered counts [`MISSED`].
    pub error: Mean,
    pub pck_05: Mean,
    pub pck_10: Mean,
    /// Joints with something before them, within 0.1.
    pub hidden_pck_10: Mean,
    /// Joints seen, of persons who are answered, that are called absent.
    pub missed_joints: Mean,
    /// Joints told of, seen or hidden: their scores, and whether they lie within 0.1.
    pub claims: Claims,
    /// Persons who count and are not answered.
    pub missed_persons: Mean,
    /// Persons answered who would be answered better with left and right exchanged.
    pub exchanged: Mean,
    /// The same of somebody who is told as most of their answers until then were: of a memory that errs in nothing else.
    pub exchanged_by_most: Mean,
    /// Answers a frame that fit nobody; none are counted where not everybody is labelled.
    pub ghosts: Mean,
    /// Frames that the oldest ghost lived.
    pub oldest_ghost: usize,
    /// Answers a frame that fit somebody who has one already.
    pub doubles: Mean,
    /// Clear persons answered in the first frame that shows them.
    pub first: Mean,
    /// Frames that somebody clear waited for the first answer.
    pub wait: Mean,
    /// Joints that something has hidden for ten frames at most, what holding their last place would be off by, and what the answer was
    /// off by while they were last seen.
    pub hidden_error: Mean,
    pub held_error: Mean,
    pub before_error: Mean,
    /// Numbers kept over a second.
    pub kept: Mean,
    /// Answers of fewer than [`FEW`] joints.
    pub few: usize,
}

/// Counts a film.
pub(super) fn count(moments: &[Moment], pairs: &[Pairs], is_complete: bool) -> Score {
    let mut score = Score::default();
    let mut ghost_frames: BTreeMap<u32, usize> = BTreeMap::new();
    let mut first_seen: BTreeMap<u32, Option<usize>> = BTreeMap::new();
    let mut sides: BTreeMap<u32, Mean> = BTreeMap::new();
    for (t, (moment, pairs)) in moments.iter().zip(pairs).enumerate() {
        let answers: Vec<&TrackedPerson> = moment.answer.persons.iter().flatten().collect();
        score.few += answers.iter().filter(|a| a.forecast.known_joints() < FEW).count();
        for (i, person) in moment.truth.iter().enumerate() {
            if !person.counts() {
                continue;
            }
            let answer = pairs.answer_of[i].map(|a| answers[a]);
            score.missed_persons.hit(answer.is_none());
            places(&mut score, person, answer);
            if let Some(answer) = answer {
                let is_exchanged = is_better_exchanged(person, answer);
                score.exchanged.hit(is_exchanged);
                let until_now = sides.entry(person.id).or_default();
                until_now.hit(is_exchanged);
                score.exchanged_by_most.hit(until_now.get() > Some(0.5));
            }
            first_frame(&mut score, &mut first_seen, person, answer.is_some(), t);
        }
        let (mut ghosts, mut doubles) = (0.0, 0.0);
        for (a, answer) in answers.iter().enumerate() {
            if pairs.answer_of.contains(&Some(a)) {
                continue;
            }
            match pairs.nearest[a] {
                Some(i) => doubles += f64::from(u8::from(pairs.answer_of[i].is_some())),
                None if is_complete => {
                    ghosts += 1.0;
                    let lived = ghost_frames.entry(answer.track_id).or_default();
                    *lived += 1;
                    score.oldest_ghost = score.oldest_ghost.max(*lived);
                }
                None => {}
            }
        }
        if is_complete {
            score.ghosts.add(ghosts);
        }
        score.doubles.add(doubles);
    }
    let hidden = steady::hidden(moments, pairs);
    (score.hidden_error, score.held_error, score.before_error) = (hidden.told, hidden.held, hidden.before);
    score.kept = steady::kept(moments, pairs);
    // Whoever was never answered waited until the end.
    for since in first_seen.into_values().flatten() {
        score.wait.add((moments.len() - since) as f64);
    }
    score
}

fn places(score: &mut Score, person: &TruePerson, answer: Option<&TrackedPerson>) {
    let extent = person.extent_px();
    for j in 0..JOINTS {
        let Some(truth) = person.joints[j] else { continue };
        let known = answer.filter(|a| a.forecast.state[j] != JointState::Absent);
        let off = known.map(|a| {
            let [x, y] = a.forecast.places_px[0][j].map(f64::from);
            (x - truth.at_px[0]).hypot(y - truth.at_px[1]) / extent
        });
        if let (Some(answer), Some(off)) = (known, off) {
            score.claims.add(f64::from(answer.forecast.score[j]), off < 0.1);
        }
        if truth.is_hidden {
            score.hidden_pck_10.hit(off.is_some_and(|off| off < 0.1));
            continue;
        }
        score.error.add(off.unwrap_or(MISSED).min(MISSED));
        score.pck_05.hit(off.is_some_and(|off| off < 0.05));
        score.pck_10.hit(off.is_some_and(|off| off < 0.1));
        if answer.is_some() {
            score.missed_joints.hit(off.is_none());
        }
    }
}

fn is_better_exchanged(person: &TruePerson, answer: &TrackedPerson) -> bool {
    let (mut as_is, mut exchanged) = (0.0, 0.0);
    for (j, other) in MIRROR.into_iter().enumerate() {
        let (Some(truth), Some(_)) = (person.joints[j], person.joints[other]) else { continue };
        let state = |j: usize| answer.forecast.state[j] != JointState::Absent;
        if j == other || !state(j) || !state(other) {
            continue;
        }
        let off = |j: usize| {
            let [x, y] = answer.forecast.places_px[0][j].map(f64::from);
            (x - truth.at_px[0]).hypot(y - truth.at_px[1])
        };
        as_is += off(j);
        exchanged += off(other);
    }
    exchanged < as_is
}

/// `first_seen`: since when somebody has been waited for; `None` once answered, or where their first frame was not clear.
fn first_frame(
    score: &mut Score,
    first_seen: &mut BTreeMap<u32, Option<usize>>,
    person: &TruePerson,
    is_answered: bool,
    t: usize,
) {
    match first_seen.get(&person.id).copied() {
        None => {
            let is_clear = person.seen() >= CLEAR;
            if is_clear {
                score.first.hit(is_answered);
            }
            if is_clear && is_answered {
                score.wait.add(0.0);
            }
            first_seen.insert(person.id, Some(t).filter(|_| is_clear && !is_answered));
        }
        Some(Some(since)) if is_answered => {
            score.wait.add((t - since) as f64);
            first_seen.insert(person.id, None);
        }
        Some(_) => {}
    }
}

impl Score {
    /// Adds another film's.
    pub fn add(&mut self, other: &Self) {
        let mut other = other.clone();
        for (mean, more) in self.means().into_iter().zip(other.means()) {
            *mean = mean.with(*more);
        }
        self.claims = self.claims.with(other.claims);
        self.oldest_ghost = self.oldest_ghost.max(other.oldest_ghost);
        self.few += other.few;
    }

    fn means(&mut self) -> [&mut Mean; 16] {
        [
            &mut self.error,
            &mut self.pck_05,
            &mut self.pck_10,
            &mut self.hidden_pck_10,
            &mut self.missed_joints,
            &mut self.missed_persons,
            &mut self.exchanged,
            &mut self.exchanged_by_most,
            &mut self.ghosts,
            &mut self.doubles,
            &mut self.first,
            &mut self.wait,
            &mut self.hidden_error,
            &mut self.held_error,
            &mut self.before_error,
            &mut self.kept,
        ]
    }
}
