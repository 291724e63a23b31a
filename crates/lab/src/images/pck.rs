//! The share of body joints that lie within a part of the person's extent of their label.

use std::collections::{HashMap, HashSet};

use pose::{JOINTS, Joint};
use serde::Serialize;

use super::THRESHOLDS;
use posewire::coco::{Annotation, GroundTruth, Prediction};

/// Draws for an interval; its ends then wander by less than the third digit that tables show.
const DRAWS: usize = 1000;
/// Any number does; always the same one, so that a table can be made again.
const SEED: u64 = 17;
/// The curve's thresholds: 0.01 … 0.30.
const CURVE: usize = 30;

/// The share of body joints near their label, over the twelve below the head, which every data set labels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pck {
    /// At the thresholds that tables show.
    pub shares: Vec<Share>,
    /// At 0.01 to 0.30.
    pub curve: Vec<Share>,
}

/// The share of joints within `within` of the person's extent, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Part of the longer side of the labelled joints' box.
    pub within: f64,
    /// 0..=1.
    pub value: f64,
    /// 2.5th percentile of 1,000 draws of pictures (of videos, where they are frames) with replacement.
    pub low: f64,
    /// 97.5th percentile.
    pub high: f64,
}

/// Measures results against labels. A person whose box was given is measured by the result that names them; else by the
/// nearest result of their picture that is not taken; without one all their joints count as wrong.
pub fn pck(truth: &GroundTruth, predictions: &[Prediction]) -> Pck {
    let errors = errors(truth, predictions);
    let share = |within: f64| {
        let counts: Vec<(f64, f64)> = errors
            .iter()
            .map(|drawn| (drawn.iter().filter(|e| **e <= within).count() as f64, drawn.len() as f64))
            .collect();
        let ratio = |pairs: &mut dyn Iterator<Item = (f64, f64)>| {
            let (hits, all) = pairs.fold((0.0, 0.0), |sum, p| (sum.0 + p.0, sum.1 + p.1));
            if all > 0.0 { hits / all } else { 0.0 }
        };
        let mut rng = fastrand::Rng::with_seed(SEED);
        let mut drawn: Vec<f64> = (0..if counts.is_empty() { 0 } else { DRAWS })
            .map(|_| ratio(&mut (0..counts.len()).map(|_| counts[rng.usize(0..counts.len())])))
            .collect();
        drawn.sort_by(f64::total_cmp);
        let percentile =
            |p: f64| drawn.get((p * (DRAWS - 1) as f64).round() as usize).copied().unwrap_or(0.0);
        Share {
            within,
            value: ratio(&mut counts.iter().copied()),
            low: percentile(0.025),
            high: percentile(0.975),
        }
    };
    Pck {
        shares: THRESHOLDS.map(share).to_vec(),
        curve: (1..=CURVE).map(|i| share(i as f64 / 100.0)).collect(),
    }
}

/// For each picture, or video, the errors of its labelled body joints in parts of their person's extent.
fn errors(truth: &GroundTruth, predictions: &[Prediction]) -> Vec<Vec<f64>> {
    let named: HashMap<u64, &Prediction> =
        predictions.iter().filter_map(|p| Some((p.annotation_id?, p))).collect();
    let mut free: HashMap<u64, Vec<&Prediction>> = HashMap::new();
    for p in predictions.iter().filter(|p| p.annotation_id.is_none()) {
        free.entry(p.image_id).or_default().push(p);
    }
    let mut pictures: HashMap<u64, Vec<f64>> = HashMap::new();
    let single: HashSet<u64> = truth.annotations.iter().filter(|a| a.iscrowd == 0).map(|a| a.id).collect();
    for label in truth.annotations.iter().filter(|a| single.contains(&a.id)) {
        let Some([x0, y0, x1, y1]) = label.joints_box() else { continue };
        let extent = (x1 - x0).max(y1 - y0);
        if extent <= 0.0 {
            continue;
        }
        let result = named.get(&label.id).copied().or_else(|| {
            let free = free.get_mut(&label.image_id)?;
            let nearest =
                (0..free.len()).min_by(|&a, &b| away(free[a], label).total_cmp(&away(free[b], label)))?;
            // Farther than the person is long it is somebody else.
            (away(free[nearest], label) <= extent).then(|| free.swap_remove(nearest))
        });
        let errors = pictures.entry(label.image_id).or_default();
        for joint in Joint::ALL.into_iter().filter(|j| j.is_body()) {
            let Some((x, y)) = label.joint(joint as usize) else { continue };
            errors.push(result.map_or(f64::INFINITY, |r| {
                let (rx, ry) = r.joint(joint as usize);
                (rx - x).hypot(ry - y) / extent
            }));
        }
    }
    // In the order of their numbers, so that the draws are the same each time.
    let mut pictures: Vec<_> = pictures.into_iter().filter(|(_, e)| !e.is_empty()).collect();
    pictures.sort_unstable_by_key(|(id, _)| *id);
    let clips: HashMap<u64, &str> =
        truth.images.iter().filter_map(|i| Some((i.id, i.clip.as_deref()?))).collect();
    let mut place: HashMap<&str, usize> = HashMap::new();
    let mut drawn: Vec<Vec<f64>> = Vec::new();
    for (id, mut errors) in pictures {
        let known = clips.get(&id).map(|clip| *place.entry(clip).or_insert(drawn.len()));
        match known.and_then(|at| drawn.get_mut(at)) {
            Some(of_clip) => of_clip.append(&mut errors),
            None => drawn.push(errors),
        }
    }
    drawn
}

/// Mean distance over the labelled joints, pixels.
fn away(result: &Prediction, label: &Annotation) -> f64 {
    let distances = (0..JOINTS).filter_map(|j| {
        let ((x, y), (rx, ry)) = (label.joint(j)?, result.joint(j));
        Some((rx - x).hypot(ry - y))
    });
    let (sum, n) = distances.fold((0.0, 0), |(sum, n), d| (sum + d, n + 1));
    if n == 0 { f64::INFINITY } else { sum / f64::from(n) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty frames, every joint right in the first ten and none in the others.
    fn frames(clip_of: impl Fn(u64) -> Option<String>) -> (GroundTruth, Vec<Prediction>) {
        let joints = |shift: f64| (0..JOINTS).flat_map(|j| [10.0 * j as f64 + shift, 5.0, 2.0]).collect();
        let mut truth = GroundTruth::default();
        let mut predictions = Vec::new();
        for id in 0..20 {
            truth.images.push(posewire::coco::Image {
                id,
                file_name: String::new(),
                split: None,
                clip: clip_of(id),
            });
            truth.annotations.push(Annotation {
                id,
                image_id: id,
                bbox: [0.0, 0.0, 160.0, 10.0],
                area: None,
                keypoints: joints(0.0),
                iscrowd: 0,
            });
            let mut result = Prediction::new(id, Some(id), &pose::Keypoints::default());
            result.keypoints = joints(if id < 10 { 0.0 } else { 150.0 });
            predictions.push(result);
        }
        (truth, predictions)
    }

    #[test]
    fn frames_of_one_video_are_drawn_together() {
        let (truth, predictions) = frames(|id| Some(format!("clip {}", id / 10)));
        let of_clips = pck(&truth, &predictions).shares[0];
        let (truth, predictions) = frames(|_| None);
        let of_pictures = pck(&truth, &predictions).shares[0];
        assert_eq!((of_clips.value, of_pictures.value), (0.5, 0.5));
        // Two videos: a quarter of the draws take the same one twice.
        assert_eq!((of_clips.low, of_clips.high), (0.0, 1.0));
        assert!(of_pictures.low > 0.2 && of_pictures.high < 0.8, "{of_pictures:?}");
    }
}
