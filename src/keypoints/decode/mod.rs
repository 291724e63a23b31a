//! From a network's outputs to joints; one file a kind of output.

mod heatmap;
mod movenet;
mod outputs;
mod simcc;
mod yolo;

pub(super) use outputs::Outputs;
pub(super) use yolo::Rows;

use heatmap::Heatmap;
use movenet::Movenet;
use pose::{JOINTS, Keypoint, Keypoints};
use simcc::Simcc;
use yolo::Yolo;

use super::flip::Averaged;
use crate::infer::{Codec, InferError, Manifest, OutputInfo, ScoreFit, SigmaFit, State};
use crate::picture::Affine;
use math::logistic;

/// How many of the best joints make a person's score: a person of whom half is seen is a person.
pub const PERSON_SCORE_JOINTS: usize = 8;

/// The mean score of the [`PERSON_SCORE_JOINTS`] best joints, 0..=1.
pub fn person_score(joints: &[Keypoint; JOINTS]) -> f32 {
    let mut scores = joints.map(|k| k.score);
    scores.sort_unstable_by(|a, b| b.total_cmp(a));
    scores[..PERSON_SCORE_JOINTS].iter().sum::<f32>() / PERSON_SCORE_JOINTS as f32
}

/// Reads joints out of a keypoint network's outputs, as its manifest says.
#[derive(Debug)]
pub struct Decoder {
    kind: Kind,
    /// The output that tells whether there is a person.
    presence: Option<String>,
}

#[derive(Debug)]
enum Kind {
    /// With what averages a crop and its mirror image, under the flip test.
    Heatmap(Heatmap, Option<Averaged>),
    Simcc(Simcc),
    Movenet(Movenet),
    Yolo(Yolo),
}

impl Decoder {
    /// A decoder for the codec of `manifest`, if the network's outputs fit it.
    ///
    /// # Errors
    /// [`InferError::Model`] naming the output that is missing or has another shape.
    pub fn new(manifest: &Manifest, outputs: &[OutputInfo]) -> Result<Self, InferError> {
        let outputs = &Outputs { manifest, all: outputs };
        let mut presence = None;
        let kind = match &manifest.codec {
            Codec::Heatmap(spec) => {
                let heatmap = Heatmap::new(spec, outputs)?;
                presence = spec.presence.as_deref().map(|name| presence_output(outputs, name)).transpose()?;
                let averaged = spec.flip_test.then(|| Averaged::new(heatmap.rows, heatmap.columns));
                Kind::Heatmap(heatmap, averaged)
            }
            Codec::Simcc(spec) => Kind::Simcc(Simcc::new(spec, outputs)?),
            Codec::Movenet(spec) => Kind::Movenet(Movenet::new(spec, outputs)?),
            Codec::Yolo(spec) => Kind::Yolo(Yolo::new(spec, outputs)?),
            Codec::Centre(_) | Codec::Fastestdet(_) => {
                return Err(InferError::model(
                    &manifest.file,
                    "its codec finds boxes, not joints: a keypoint network is needed here",
                ));
            }
        };
        Ok(Self { kind, presence })
    }

    /// Whether a person's score is the network's own word on whether there is one; else it is the mean of the best joints' scores.
    pub fn tells_presence(&self) -> bool {
        self.presence.is_some()
    }

    /// The joints of batch element `i` in pixels of the source image; `mirrored` is the element that shows it mirrored, where the
    /// manifest wants the flip test.
    ///
    /// # Errors
    /// [`InferError::Run`] where the network lacks an output. Without a run of what was fitted the answer is that of the run before.
    pub fn decode(
        &mut self,
        state: &dyn State,
        i: usize,
        mirrored: usize,
        image_from_net: &Affine,
    ) -> Result<Keypoints, InferError> {
        let mut joints = [Keypoint::default(); JOINTS];
        match &mut self.kind {
            Kind::Heatmap(d, None) => d.decode(state.output(i, &d.output)?.0, &mut joints),
            Kind::Heatmap(d, Some(averaged)) => {
                d.decode(averaged.of(state, &d.output, i, mirrored)?, &mut joints);
            }
            Kind::Simcc(d) => {
                d.decode(state.output(i, &d.output_x)?.0, state.output(i, &d.output_y)?.0, &mut joints);
            }
            Kind::Movenet(d) => d.decode(state.output(i, &d.output)?.0, &mut joints),
            Kind::Yolo(d) => d.decode(state.output(i, &d.output)?.0, &mut joints),
        }
        let scale = image_from_net.scale();
        for joint in &mut joints {
            if !(joint.x_px.is_finite() && joint.y_px.is_finite() && joint.score.is_finite()) {
                *joint = Keypoint::default();
                continue;
            }
            (joint.x_px, joint.y_px) = image_from_net.apply(joint.x_px, joint.y_px);
            joint.score = joint.score.clamp(0.0, 1.0);
            joint.sigma_px = if joint.sigma_px.is_finite() { joint.sigma_px * scale } else { 0.0 };
        }
        let score = match &self.presence {
            Some(output) => {
                let cells = state.output(i, output)?.0;
                logistic(cells.iter().sum::<f32>() / cells.len() as f32)
            }
            None => person_score(&joints),
        };
        Ok(Keypoints { score, joints })
    }
}

/// The name of an output that tells whether there is a person, if its shape is of that kind.
fn presence_output(outputs: &Outputs<'_>, name: &str) -> Result<String, InferError> {
    match outputs.shape(name)? {
        [1, _, _] => Ok(name.to_owned()),
        shape => Err(outputs.unfit(name, shape, "[1, rows, columns]")),
    }
}

/// A peak's feature to score and sigma, one pair of numbers a joint each.
#[derive(Debug)]
struct Fits {
    score: Option<[(f32, f32); JOINTS]>,
    sigma: Option<[(f32, f32); JOINTS]>,
}

impl Fits {
    fn new(score: Option<&ScoreFit>, sigma: Option<&SigmaFit>) -> Self {
        // Lengths were checked when the manifest was read.
        Self {
            score: score.map(|s| std::array::from_fn(|j| (s.a[j], s.b[j]))),
            sigma: sigma.map(|s| std::array::from_fn(|j| (s.c[j], s.d[j]))),
        }
    }

    /// `feature` is log-odds where `is_log_odds`, else the score itself.
    fn apply(&self, joint: usize, feature: f32, is_log_odds: bool) -> (f32, f32) {
        let score = match &self.score {
            Some(fit) => logistic(fit[joint].0 + fit[joint].1 * feature),
            None if is_log_odds => logistic(feature),
            None => feature,
        };
        let sigma_px = self.sigma.as_ref().map_or(0.0, |fit| (fit[joint].0 + fit[joint].1 * feature).exp());
        (score, sigma_px)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_person_scores_as_a_person() {
        let mut joints = [Keypoint::default(); JOINTS];
        for k in &mut joints[..8] {
            k.score = 0.9;
        }
        assert!((person_score(&joints) - 0.9).abs() < 1e-6);
    }
}
