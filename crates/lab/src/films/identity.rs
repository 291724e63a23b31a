//! Who kept their number: MOTA (Bernardin and Stiefelhagen 2008), IDF1 (Ristani et al. 2016), HOTA (Luiten et al. 2021).

use std::collections::BTreeMap;

use pose::oks;

use super::{Moment, TruePerson, pairing};

/// The localisation thresholds that HOTA is averaged over.
const THRESHOLDS: usize = 19;

/// Counts of one film; sums over films are sums of these, and identities are of one film each.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub truths: f64,
    pub misses: f64,
    pub ghosts: f64,
    pub switches: f64,
    /// True positives by the best one-to-one assignment of identities over the film, and all answers that count.
    pub identity_hits: f64,
    pub answers: f64,
    hota: [Hota; THRESHOLDS],
}

/// At one threshold.
#[derive(Clone, Copy, Debug, Default)]
struct Hota {
    hits: f64,
    misses: f64,
    ghosts: f64,
    /// Sum over the hits of how well the pair's tracks cover each other.
    association: f64,
}

/// COCO's similarity of a true person and an answer.
fn similarity(person: &TruePerson, answer: &pose::TrackedPerson) -> f64 {
    /// A person's area over the square of the extent.
    const AREA: f64 = 0.2;
    let extent = person.extent_px();
    let truth = |j: usize| person.joints[j].map_or((0.0, 0.0), |t| (t.at_px[0] as f32, t.at_px[1] as f32));
    let place = |j: usize| (answer.forecast.places_px[0][j][0], answer.forecast.places_px[0][j][1]);
    let counts = |j: usize| person.joints[j].is_some();
    oks(truth, place, counts, (AREA * extent * extent) as f32, 1.0).map_or(0.0, f64::from)
}

/// Counts a film. Answers that fit somebody who need not be found count for nothing; where not everybody is labelled, so do
/// answers that fit nobody.
pub(super) fn count(moments: &[Moment], pairs: &[pairing::Pairs], is_complete: bool) -> Counts {
    let mut counts = Counts::default();
    let mut together: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    let mut last: BTreeMap<u32, u32> = BTreeMap::new();
    // By frame, the persons and answers that count: indices.
    let mut frames = Vec::with_capacity(moments.len());
    for (moment, pairs) in moments.iter().zip(pairs) {
        let persons: Vec<usize> = (0..moment.truth.len()).filter(|&i| moment.truth[i].counts()).collect();
        let all = moment.answer.persons.iter().flatten().count();
        let answers: Vec<usize> = (0..all)
            .filter(|&a| match pairs.nearest[a] {
                Some(i) => moment.truth[i].counts() || persons.iter().any(|&p| pairs.answer_of[p] == Some(a)),
                None => is_complete,
            })
            .collect();
        counts.truths += persons.len() as f64;
        counts.answers += answers.len() as f64;
        let mut paired = 0;
        for &i in &persons {
            let id = moment.truth[i].id;
            let Some(a) = pairs.answer_of[i].filter(|a| answers.contains(a)) else {
                counts.misses += 1.0;
                continue;
            };
            paired += 1;
            let track = moment.answer.persons[a].expect("a pair's answer").track_id;
            if last.insert(id, track).is_some_and(|before| before != track) {
                counts.switches += 1.0;
            }
        }
        counts.ghosts += (answers.len() - paired) as f64;
        for &i in &persons {
            for &a in &answers {
                let answer = moment.answer.persons[a].as_ref().expect("an answer that counts");
                if pairing::closeness(&moment.truth[i], answer) >= pairing::MIN_CLOSENESS {
                    *together.entry((moment.truth[i].id, answer.track_id)).or_default() += 1.0;
                }
            }
        }
        frames.push((persons, answers));
    }
    counts.identity_hits = identity_hits(&together);
    for (k, hota) in counts.hota.iter_mut().enumerate() {
        *hota = at_threshold(moments, &frames, (k + 1) as f64 / (THRESHOLDS + 1) as f64);
    }
    counts
}

/// Frames in which somebody and their one identity of the film were together.
fn identity_hits(together: &BTreeMap<(u32, u32), f64>) -> f64 {
    let mut ids: Vec<u32> = together.keys().map(|k| k.0).collect();
    let mut tracks: Vec<u32> = together.keys().map(|k| k.1).collect();
    for list in [&mut ids, &mut tracks] {
        list.sort_unstable();
        list.dedup();
    }
    let frames = |r: usize, c: usize| together.get(&(ids[r], tracks[c])).copied().unwrap_or(0.0);
    pairing::assign(ids.len(), tracks.len(), frames).into_iter().map(|(r, c)| frames(r, c)).sum()
}

fn at_threshold(moments: &[Moment], frames: &[(Vec<usize>, Vec<usize>)], threshold: f64) -> Hota {
    let mut hota = Hota::default();
    let mut hits: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    let (mut of_id, mut of_track) = (BTreeMap::<u32, f64>::new(), BTreeMap::<u32, f64>::new());
    for (moment, (persons, answers)) in moments.iter().zip(frames) {
        let answer = |a: usize| moment.answer.persons[answers[a]].expect("an answer that counts");
        for &i in persons {
            *of_id.entry(moment.truth[i].id).or_default() += 1.0;
        }
        for a in 0..answers.len() {
            *of_track.entry(answer(a).track_id).or_default() += 1.0;
        }
        let pairs = pairing::assign(persons.len(), answers.len(), |r, c| {
            let s = similarity(&moment.truth[persons[r]], &answer(c));
            if s >= threshold { s } else { 0.0 }
        });
        hota.misses += (persons.len() - pairs.len()) as f64;
        hota.ghosts += (answers.len() - pairs.len()) as f64;
        for (r, c) in pairs {
            hota.hits += 1.0;
            *hits.entry((moment.truth[persons[r]].id, answer(c).track_id)).or_default() += 1.0;
        }
    }
    for ((id, track), n) in &hits {
        // Each of the pair's hits is worth the share that these make of all frames of either.
        hota.association += n * n / (of_id[id] + of_track[track] - n);
    }
    hota
}

impl Counts {
    /// Adds another film's.
    pub fn add(&mut self, other: &Self) {
        self.truths += other.truths;
        self.misses += other.misses;
        self.ghosts += other.ghosts;
        self.switches += other.switches;
        self.identity_hits += other.identity_hits;
        self.answers += other.answers;
        for (a, b) in self.hota.iter_mut().zip(&other.hota) {
            a.hits += b.hits;
            a.misses += b.misses;
            a.ghosts += b.ghosts;
            a.association += b.association;
        }
    }

    pub fn mota(&self) -> f64 {
        1.0 - (self.misses + self.ghosts + self.switches) / self.truths
    }

    pub fn idf1(&self) -> f64 {
        2.0 * self.identity_hits / (self.truths + self.answers)
    }

    /// Mean over the thresholds of the root of detection times association.
    pub fn hota(&self) -> f64 {
        let at = self.hota.iter().map(|h| {
            let all = h.hits + h.misses + h.ghosts;
            if all > 0.0 { (h.association / all).sqrt() } else { 0.0 }
        });
        at.sum::<f64>() / THRESHOLDS as f64
    }
}
