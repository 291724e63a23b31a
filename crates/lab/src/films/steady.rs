//! What time shows of one film: how joints fare while something hides them, and who keeps their number.

use std::collections::{BTreeMap, HashMap};

use pose::{JOINTS, JointState};

use super::{Moment, pairing::Pairs, score::MISSED};
use crate::statistics::Mean;

/// Frames of being hidden that are judged.
const HIDDEN_FRAMES: usize = 10;

/// Time after which a number is asked for again, microseconds.
const LATER_US: i64 = 1_000_000;

/// Joints in the first ten frames in which something hides them, after they were seen and told: the answer's error, and that of
/// holding the place told last; parts of the extent, capped like every other.
pub(super) fn hidden(moments: &[Moment], pairs: &[Pairs]) -> (Mean, Mean) {
    let (mut told, mut held) = (Mean::default(), Mean::default());
    // By person and joint: the place told while it was seen, and for how many frames it has been hidden.
    let mut last: HashMap<(u32, usize), ([f64; 2], usize)> = HashMap::new();
    for (moment, pairs) in moments.iter().zip(pairs) {
        for (i, person) in moment.truth.iter().enumerate() {
            let answer = pairs.answer_of[i].and_then(|a| moment.answer.persons[a]);
            for j in 0..JOINTS {
                let place = answer
                    .filter(|a| a.forecast.state[j] != JointState::Absent)
                    .map(|a| a.forecast.places_px[0][j].map(f64::from));
                let key = (person.id, j);
                match (person.joints[j], last.get_mut(&key)) {
                    (Some(truth), Some((kept, frames))) if truth.is_hidden => {
                        *frames += 1;
                        if *frames <= HIDDEN_FRAMES {
                            let off = |[x, y]: [f64; 2]| {
                                let px = (x - truth.at_px[0]).hypot(y - truth.at_px[1]);
                                (px / person.extent_px()).min(MISSED)
                            };
                            told.add(place.map_or(MISSED, off));
                            held.add(off(*kept));
                        }
                    }
                    // Never told before it was hidden: there is nothing to hold.
                    (Some(truth), None) if truth.is_hidden => {}
                    (Some(_), _) => match place {
                        Some(place) => _ = last.insert(key, (place, 0)),
                        None => _ = last.remove(&key),
                    },
                    (None, _) => _ = last.remove(&key),
                }
            }
        }
    }
    (told, held)
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
