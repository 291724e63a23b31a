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
            .filter(|&a| {
                let is_someones = persons.iter().any(|&p| pairs.answer_of[p] == Some(a));
                is_someones || pairs.nearest[a].map_or(is_complete, |i| moment.truth[i].counts())
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
    counts.hota = hota(moments, &frames);
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

/// Of a frame: who is in it, who was told of, and how alike each of those is to each of these.
struct Alike {
    ids: Vec<u32>,
    tracks: Vec<u32>,
    similarity: Vec<Vec<f64>>,
}

impl Alike {
    fn of(moment: &Moment, persons: &[usize], answers: &[usize]) -> Self {
        let answer = |a: usize| moment.answer.persons[a].as_ref().expect("an answer that counts");
        let row = |&i: &usize| answers.iter().map(|&a| similarity(&moment.truth[i], answer(a))).collect();
        Self {
            ids: persons.iter().map(|&i| moment.truth[i].id).collect(),
            tracks: answers.iter().map(|&a| answer(a).track_id).collect(),
            similarity: persons.iter().map(row).collect(),
        }
    }

    /// What a pair's similarity is of all that either shares with anybody in the frame.
    fn share(&self, row: usize, column: usize) -> f64 {
        let both = self.similarity[row][column];
        let of_row: f64 = self.similarity[row].iter().sum();
        let of_column: f64 = self.similarity.iter().map(|row| row[column]).sum();
        let either = of_row + of_column - both;
        if either > 0.0 { both / either } else { 0.0 }
    }
}

/// The counts at every threshold. Frames are paired once, so that association is greatest: a pair weighs by how well its tracks go
/// together over the whole film, not only by its similarity in the frame, as in TrackEval, the authors' own program.
fn hota(moments: &[Moment], frames: &[(Vec<usize>, Vec<usize>)]) -> [Hota; THRESHOLDS] {
    let (mut of_id, mut of_track) = (BTreeMap::<u32, f64>::new(), BTreeMap::<u32, f64>::new());
    let mut shared: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    let frames: Vec<Alike> = moments.iter().zip(frames).map(|(m, (p, a))| Alike::of(m, p, a)).collect();
    for frame in &frames {
        frame.ids.iter().for_each(|id| *of_id.entry(*id).or_default() += 1.0);
        frame.tracks.iter().for_each(|track| *of_track.entry(*track).or_default() += 1.0);
        for (r, &id) in frame.ids.iter().enumerate() {
            for (c, &track) in frame.tracks.iter().enumerate() {
                *shared.entry((id, track)).or_default() += frame.share(r, c);
            }
        }
    }
    // Frames that a pair has in common over all frames of either.
    let alignment = |pair: &(u32, u32), common: f64| common / (of_id[&pair.0] + of_track[&pair.1] - common);
    let mut counts = [Hota::default(); THRESHOLDS];
    let mut hits: [BTreeMap<(u32, u32), f64>; THRESHOLDS] = Default::default();
    for frame in &frames {
        let pair = |r: usize, c: usize| (frame.ids[r], frame.tracks[c]);
        let pairs = pairing::assign(frame.ids.len(), frame.tracks.len(), |r, c| {
            alignment(&pair(r, c), shared[&pair(r, c)]) * frame.similarity[r][c]
        });
        for (k, (counts, hits)) in counts.iter_mut().zip(&mut hits).enumerate() {
            let threshold = (k + 1) as f64 / (THRESHOLDS + 1) as f64;
            let mut paired = 0.0;
            for &(r, c) in pairs.iter().filter(|&&(r, c)| frame.similarity[r][c] >= threshold) {
                paired += 1.0;
                *hits.entry(pair(r, c)).or_default() += 1.0;
            }
            counts.hits += paired;
            counts.misses += frame.ids.len() as f64 - paired;
            counts.ghosts += frame.tracks.len() as f64 - paired;
        }
    }
    for (counts, hits) in counts.iter_mut().zip(&hits) {
        // Each of the pair's hits is worth the share that these make of all frames of either.
        counts.association = hits.iter().map(|(pair, &n)| n * alignment(pair, n)).sum();
    }
    counts
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
