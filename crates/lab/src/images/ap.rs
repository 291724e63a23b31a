//! Average precision over object keypoint similarity, as COCO's own tools compute it.

use std::collections::HashMap;

use pose::{JOINTS, Joint};
use serde::Serialize;

use posewire::coco::{Annotation, GroundTruth, Prediction};

/// Results of a picture that count, the surest: COCO's rule for keypoints.
const MAX_RESULTS: usize = 20;
/// Similarity thresholds: 0.50, 0.55 … 0.95.
const SIMILARITIES: usize = 10;
/// Recalls at which precision is read off: 0, 0.01 … 1.
const RECALLS: usize = 101;

/// COCO's keypoint measures; `None` where no labelled person is of the kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Precision {
    /// Mean over the similarity thresholds .50 to .95.
    pub ap: Option<f64>,
    /// At .50.
    pub ap50: Option<f64>,
    /// At .75.
    pub ap75: Option<f64>,
    /// Of persons between 32² and 96² square pixels.
    pub ap_medium: Option<f64>,
    /// Of persons above 96² square pixels.
    pub ap_large: Option<f64>,
    /// Mean recall over the similarity thresholds.
    pub ar: Option<f64>,
}

/// Measures results against labels.
pub fn precision(truth: &GroundTruth, predictions: &[Prediction]) -> Precision {
    let pictures = by_picture(truth, predictions);
    let all = curves(&pictures, 0.0, 1e10);
    let mean =
        |c: &[Curve]| (!c.is_empty()).then(|| c.iter().map(|c| c.precision).sum::<f64>() / c.len() as f64);
    let medium = curves(&pictures, 32.0 * 32.0, 96.0 * 96.0);
    let large = curves(&pictures, 96.0 * 96.0, 1e10);
    Precision {
        ap: mean(&all),
        ap50: all.first().map(|c| c.precision),
        ap75: all.get(5).map(|c| c.precision),
        ap_medium: mean(&medium),
        ap_large: mean(&large),
        ar: (!all.is_empty()).then(|| all.iter().map(|c| c.recall).sum::<f64>() / all.len() as f64),
    }
}

/// One picture's labels and its results, the surest first, with all similarities.
struct Picture<'a> {
    labels: Vec<&'a Annotation>,
    scores: Vec<f64>,
    areas: Vec<f64>,
    /// `[result][label]`.
    similarity: Vec<Vec<f64>>,
}

fn by_picture<'a>(truth: &'a GroundTruth, predictions: &'a [Prediction]) -> Vec<Picture<'a>> {
    let mut labels: HashMap<u64, Vec<&Annotation>> = HashMap::new();
    for a in &truth.annotations {
        labels.entry(a.image_id).or_default().push(a);
    }
    let mut results: HashMap<u64, Vec<&Prediction>> = HashMap::new();
    for p in predictions {
        results.entry(p.image_id).or_default().push(p);
    }
    // By number, as COCO's tools walk them: it decides between results of equal score.
    let mut ids: Vec<u64> = truth.images.iter().map(|i| i.id).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.iter()
        .map(|id| {
            let labels = labels.remove(id).unwrap_or_default();
            let mut results = results.remove(id).unwrap_or_default();
            results.sort_by(|a, b| b.score.total_cmp(&a.score));
            results.truncate(MAX_RESULTS);
            Picture {
                similarity: results
                    .iter()
                    .map(|r| labels.iter().map(|l| similarity(r, l)).collect())
                    .collect(),
                scores: results.iter().map(|r| r.score).collect(),
                areas: results.iter().map(|r| area(r)).collect(),
                labels,
            }
        })
        .collect()
}

/// Of the box round all joints of a result, which is what COCO's tools take for its area.
fn area(result: &Prediction) -> f64 {
    let (mut low, mut high) = ((f64::MAX, f64::MAX), (f64::MIN, f64::MIN));
    for j in 0..JOINTS {
        let (x, y) = result.joint(j);
        low = (low.0.min(x), low.1.min(y));
        high = (high.0.max(x), high.1.max(y));
    }
    (high.0 - low.0) * (high.1 - low.1)
}

/// Without labelled joints (a crowd), the distance to the doubled box stands in for that to the joints.
fn similarity(result: &Prediction, label: &Annotation) -> f64 {
    let [x, y, w, h] = label.bbox;
    let labelled = label.labelled();
    let (mut sum, mut n) = (0.0, 0);
    for j in 0..JOINTS {
        let (rx, ry) = result.joint(j);
        let (dx, dy) = match label.joint(j) {
            Some((lx, ly)) => (rx - lx, ry - ly),
            None if labelled > 0 => continue,
            None => (
                (x - w - rx).max(0.0) + (rx - x - 2.0 * w).max(0.0),
                (y - h - ry).max(0.0) + (ry - y - 2.0 * h).max(0.0),
            ),
        };
        // Through a decimal: COCO's sigmas are decimals, an f32 is not.
        let sigma = (f64::from(Joint::ALL[j].oks_sigma()) * 1e3).round() / 1e3;
        let e = (dx * dx + dy * dy) / (2.0 * sigma).powi(2) / (label.area() + f64::EPSILON) / 2.0;
        sum += (-e).exp();
        n += 1;
    }
    sum / f64::from(n)
}

struct Curve {
    precision: f64,
    recall: f64,
}

/// One curve a similarity threshold, for persons of an area in `least..=most`; empty where there are none.
fn curves(pictures: &[Picture<'_>], least: f64, most: f64) -> Vec<Curve> {
    let is_ignored =
        |l: &Annotation| l.iscrowd != 0 || l.labelled() == 0 || !(least..=most).contains(&l.area());
    let persons = pictures.iter().flat_map(|p| &p.labels).filter(|l| !is_ignored(l)).count();
    if persons == 0 {
        return vec![];
    }
    (0..SIMILARITIES)
        .map(|i| {
            let threshold = 0.5 + 0.05 * i as f64;
            // (score, whether it hit) of the results that count.
            let mut hits: Vec<(f64, bool)> = Vec::new();
            for p in pictures {
                let ignored: Vec<bool> = p.labels.iter().map(|l| is_ignored(l)).collect();
                for (r, hit) in assigned(p, &ignored, threshold).into_iter().enumerate() {
                    match hit {
                        Some(label) if ignored[label] => {}
                        Some(_) => hits.push((p.scores[r], true)),
                        None if !(least..=most).contains(&p.areas[r]) => {}
                        None => hits.push((p.scores[r], false)),
                    }
                }
            }
            hits.sort_by(|a, b| b.0.total_cmp(&a.0));
            curve(&hits, persons)
        })
        .collect()
}

/// For each result of a picture the label it takes, the surest result first; labels that count go before ignored ones.
fn assigned(p: &Picture<'_>, ignored: &[bool], threshold: f64) -> Vec<Option<usize>> {
    let mut order: Vec<usize> = (0..p.labels.len()).collect();
    order.sort_by_key(|&l| ignored[l]);
    let mut taken = vec![false; p.labels.len()];
    p.similarity
        .iter()
        .map(|similarity| {
            let mut best = threshold.min(1.0 - 1e-10);
            let mut chosen: Option<usize> = None;
            for &l in &order {
                if taken[l] && p.labels[l].iscrowd == 0 {
                    continue;
                }
                if chosen.is_some_and(|c| !ignored[c]) && ignored[l] {
                    break;
                }
                if similarity[l] >= best {
                    (best, chosen) = (similarity[l], Some(l));
                }
            }
            if let Some(l) = chosen {
                taken[l] = true;
            }
            chosen
        })
        .collect()
}

fn curve(hits: &[(f64, bool)], persons: usize) -> Curve {
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(hits.len());
    let (mut right, mut wrong) = (0.0, 0.0);
    for (_, hit) in hits {
        if *hit {
            right += 1.0
        } else {
            wrong += 1.0
        }
        points.push((right / persons as f64, right / (right + wrong + f64::EPSILON)));
    }
    let recall = points.last().map_or(0.0, |p| p.0);
    // The best precision at this recall or a higher one.
    for i in (1..points.len()).rev() {
        points[i - 1].1 = points[i - 1].1.max(points[i].1);
    }
    let sum: f64 = (0..RECALLS)
        .map(|i| {
            let wanted = i as f64 / (RECALLS - 1) as f64;
            let at = points.partition_point(|p| p.0 < wanted);
            points.get(at).map_or(0.0, |p| p.1)
        })
        .sum();
    Curve { precision: sum / RECALLS as f64, recall }
}
