//! What time shows of one film: how joints fare while something hides them, and who keeps their number.

use std::collections::{BTreeMap, HashMap};

use pose::{JOINTS, JointState};

use super::{Moment, pairing::Pairs};
use crate::{clips::MISSED, statistics::Mean};

/// Frames of being hidden that are judged.
const HIDDEN_FRAMES: usize = 10;

/// Time after which a number is asked for again, microseconds.
const LATER_US: i64 = 1_000_000;

/// Errors of joints in the first ten frames in which something hides them, after they were seen and told; parts of the extent, capped
/// like every other.
#[derive(Default)]
pub(super) struct Hidden {
    /// The answer's.
    pub told: Mean,
    /// Of holding the place told last.
    pub held: Mean,
    /// The answer's in the last frame that showed the joint.
    pub before: Mean,
}

/// Counts a film's hidden joints.
pub(super) fn hidden(moments: &[Moment], pairs: &[Pairs]) -> Hidden {
    let mut hidden = Hidden::default();
    // By person and joint: the place told while it was seen, its error then, and for how many frames the joint has been hidden.
    let mut last: HashMap<(u32, usize), ([f64; 2], f64, usize)> = HashMap::new();
    for (moment, pairs) in moments.iter().zip(pairs) {
        for (i, person) in moment.truth.iter().enumerate() {
            let answer = pairs.answer_of[i].and_then(|a| moment.answer.persons[a]);
            for j in 0..JOINTS {
                let place = answer
                    .filter(|a| a.forecast.state[j] != JointState::Absent)
                    .map(|a| a.forecast.places_px[0][j].map(f64::from));
                let key = (person.id, j);
                let off = |truth: [f64; 2], [x, y]: [f64; 2]| {
                    ((x - truth[0]).hypot(y - truth[1]) / person.extent_px()).min(MISSED)
                };
                match (person.joints[j], last.get_mut(&key)) {
                    (Some(truth), Some((kept, before, frames))) if truth.is_hidden => {
                        *frames += 1;
                        if *frames <= HIDDEN_FRAMES {
                            hidden.told.add(place.map_or(MISSED, |place| off(truth.at_px, place)));
                            hidden.held.add(off(truth.at_px, *kept));
                            hidden.before.add(*before);
                        }
                    }
                    // Never told before it was hidden: there is nothing to hold.
                    (Some(truth), None) if truth.is_hidden => {}
                    (Some(truth), _) => match place {
                        Some(place) => _ = last.insert(key, (place, off(truth.at_px, place), 0)),
                        None => _ = last.remove(&key),
                    },
                    (None, _) => _ = last.remove(&key),
                }
            }
        }
    }
    hidden
}

/// Persons told of and still to be seen a second later: whether they are told of by the same number then.
pub(super) fn kept(moments: &[Moment], pairs: &[Pairs]) -> Mean {
    let number = |t: usize, i: usize| {
        let answer = pairs[t].answer_of[i].and_then(|a| moments[t].answer.persons[a]);
        answer.map(|a| a.track_id)
    };
    let at_us = |t: usize| moments[t].answer.captured_at_us;
    let mut kept = Mean::default();
    let mut later = 0;
    for t in 0..moments.len() {
        while later < moments.len() && at_us(later) < at_us(t) + LATER_US {
            later += 1;
        }
        let Some(then) = moments.get(later) else { break };
        let places: BTreeMap<u32, usize> =
            then.truth.iter().enumerate().filter(|(_, p)| p.counts()).map(|(i, p)| (p.id, i)).collect();
        for (i, person) in moments[t].truth.iter().enumerate().filter(|(_, p)| p.counts()) {
            if let (Some(before), Some(&i)) = (number(t, i), places.get(&person.id)) {
                kept.hit(number(later, i) == Some(before));
            }
        }
    }
    kept
}
