//! YOLO-pose: many candidates, each a box, a confidence and 17 joints.

use pose::{BoxPx, JOINTS, Keypoint};

use super::Outputs;
use crate::infer::{InferError, YoloSpec};

/// Values of one candidate: centre, size, confidence, then x, y, score a joint.
const VALUES: usize = 5 + 3 * JOINTS;

/// How candidates lie in the output.
#[derive(Clone, Copy, Debug)]
pub(in crate::keypoints) struct Rows {
    pub count: usize,
    /// From one candidate to the next.
    candidate_step: usize,
    /// From one value of a candidate to the next.
    value_step: usize,
}

impl Rows {
    /// For `[56, candidates]` (as exported by most) or `[candidates, 56]`; `None` for anything else.
    pub fn new(shape: &[usize]) -> Option<Self> {
        match *shape {
            [VALUES, count] => Some(Self { count, candidate_step: 1, value_step: count }),
            [count, VALUES] => Some(Self { count, candidate_step: VALUES, value_step: 1 }),
            _ => None,
        }
    }

    /// Of a network's output.
    ///
    /// # Errors
    /// [`InferError::Model`] where it is missing or lies otherwise.
    pub fn of(outputs: &Outputs<'_>, output: &str) -> Result<Self, InferError> {
        let shape = outputs.shape(output)?;
        Self::new(shape).ok_or_else(|| outputs.unfit(output, shape, "[56, candidates] or [candidates, 56]"))
    }

    pub fn value(&self, output: &[f32], candidate: usize, value: usize) -> f32 {
        output[candidate * self.candidate_step + value * self.value_step]
    }

    pub fn confidence(&self, output: &[f32], candidate: usize) -> f32 {
        self.value(output, candidate, 4)
    }

    /// Net pixels.
    pub fn box_net(&self, output: &[f32], candidate: usize) -> BoxPx {
        let [cx, cy, w, h] = std::array::from_fn(|v| self.value(output, candidate, v));
        BoxPx { x: cx - 0.5 * w, y: cy - 0.5 * h, w: w.max(0.0), h: h.max(0.0) }
    }
}

#[derive(Debug)]
pub(super) struct Yolo {
    pub output: String,
    pub rows: Rows,
    pub threshold: f32,
    pub net_size: [f32; 2],
    pub pad: f32,
}

impl Yolo {
    /// By `spec`, if the output holds candidates.
    ///
    /// # Errors
    /// [`InferError::Model`] naming the output.
    pub fn new(spec: &YoloSpec, outputs: &Outputs<'_>) -> Result<Self, InferError> {
        let YoloSpec { output, threshold, nms_iou: _ } = spec;
        Ok(Self {
            output: output.clone(),
            rows: Rows::of(outputs, output)?,
            threshold: *threshold,
            net_size: outputs.net_size().map(|v| v as f32),
            pad: outputs.manifest.roi.unwrap_or_default().pad,
        })
    }

    /// The candidate that is sure and fills the crop's unpadded middle best is the person whom the crop was made for.
    /// Without one every joint keeps score 0.
    pub fn decode(&self, output: &[f32], joints: &mut [Keypoint; JOINTS]) {
        let [w, h] = self.net_size.map(|s| s / self.pad);
        let middle = BoxPx { x: 0.5 * (self.net_size[0] - w), y: 0.5 * (self.net_size[1] - h), w, h };
        let mut best = (0.0, None);
        for candidate in 0..self.rows.count {
            let confidence = self.rows.confidence(output, candidate);
            if confidence >= self.threshold {
                let fit = confidence * self.rows.box_net(output, candidate).iou(&middle);
                if fit > best.0 {
                    best = (fit, Some(candidate));
                }
            }
        }
        let Some(candidate) = best.1 else { return };
        for (j, joint) in joints.iter_mut().enumerate() {
            let [x_px, y_px, score] =
                std::array::from_fn(|v| self.rows.value(output, candidate, 5 + 3 * j + v));
            *joint = Keypoint { x_px, y_px, score, sigma_px: 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Candidates (cx, confidence), boxes of 40 x 40 net pixels at cy = 32, joints on the centre.
    fn output(candidates: &[(f32, f32)]) -> Vec<f32> {
        let rows: Vec<Vec<f32>> = candidates
            .iter()
            .map(|&(cx, confidence)| {
                let mut row = vec![cx, 32.0, 40.0, 40.0, confidence];
                row.extend([cx, 32.0, 0.6].repeat(JOINTS));
                row
            })
            .collect();
        (0..VALUES).flat_map(|v| rows.iter().map(move |r| r[v])).collect()
    }

    #[test]
    fn the_candidate_in_the_middle_is_the_person_of_the_crop() {
        let out = output(&[(60.0, 0.95), (33.0, 0.8), (32.0, 0.1)]);
        let codec = Yolo {
            output: "o".into(),
            rows: Rows::new(&[VALUES, 3]).unwrap(),
            threshold: 0.3,
            net_size: [64.0; 2],
            pad: 1.25,
        };
        let mut joints = [Keypoint::default(); JOINTS];
        codec.decode(&out, &mut joints);
        assert_eq!((joints[0].x_px, joints[0].score), (33.0, 0.6));

        let mut none = [Keypoint::default(); JOINTS];
        Yolo { threshold: 0.99, ..codec }.decode(&out, &mut none);
        assert_eq!(none, [Keypoint::default(); JOINTS]);
    }

    #[test]
    fn both_layouts_are_read_and_no_other() {
        assert!(Rows::new(&[VALUES, 3]).is_some() && Rows::new(&[3, VALUES]).is_some());
        assert!(Rows::new(&[55, 3]).is_none() && Rows::new(&[VALUES]).is_none());
    }
}
