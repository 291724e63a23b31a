//! SimCC (Li et al. 2022): one distribution a joint and axis.

use pose::{JOINTS, Keypoint};

use super::{Fits, Outputs};
use crate::infer::{Activation, InferError, SimccSpec};
use maps::peak;
use math::{exp_nonpositive, logistic};

#[derive(Debug)]
pub(super) struct Simcc {
    pub output_x: String,
    pub output_y: String,
    pub bins_per_px: f32,
    pub activation: Activation,
    pub fit: Fits,
}

impl Simcc {
    /// By `spec`, if the outputs have so many bins as the input's sides ask for.
    ///
    /// # Errors
    /// [`InferError::Model`] naming the output.
    pub fn new(spec: &SimccSpec, outputs: &Outputs<'_>) -> Result<Self, InferError> {
        let SimccSpec { output_x, output_y, bins_per_px, activation, score, sigma } = spec;
        for (output, size) in [output_x, output_y].into_iter().zip(outputs.net_size()) {
            let shape = outputs.shape(output)?;
            let bins = (size as f32 * bins_per_px).round() as usize;
            if shape != [JOINTS, bins] {
                return Err(outputs.unfit(
                    output,
                    shape,
                    &format!("[{JOINTS}, {bins}] (input x bins_per_px)"),
                ));
            }
        }
        Ok(Self {
            output_x: output_x.clone(),
            output_y: output_y.clone(),
            bins_per_px: *bins_per_px,
            activation: *activation,
            fit: Fits::new(score.as_ref(), sigma.as_ref()),
        })
    }

    /// `over_x`: `[17, bins]`, `over_y`: `[17, bins]`; joints come in net pixels. The less sure axis makes the score.
    pub fn decode(&self, over_x: &[f32], over_y: &[f32], joints: &mut [Keypoint; JOINTS]) {
        let (columns, rows) = (over_x.len() / JOINTS, over_y.len() / JOINTS);
        for (j, joint) in joints.iter_mut().enumerate() {
            let (x, y) = (&over_x[j * columns..][..columns], &over_y[j * rows..][..rows]);
            let (Some((at_x, top_x)), Some((at_y, top_y))) = (peak(x), peak(y)) else { continue };
            let feature = self.sureness(x, top_x).min(self.sureness(y, top_y));
            let (score, sigma_px) = self.fit.apply(j, feature, false);
            // Bin b of an axis stands for net pixel b / bins_per_px, whose centre lies half a pixel on.
            let net_px = |at: usize| at as f32 / self.bins_per_px + 0.5;
            *joint = Keypoint { x_px: net_px(at_x), y_px: net_px(at_y), score, sigma_px };
        }
    }

    fn sureness(&self, bins: &[f32], top: f32) -> f32 {
        match self.activation {
            Activation::None => top,
            Activation::Sigmoid => logistic(top),
            Activation::Softmax => 1.0 / bins.iter().map(|v| exp_nonpositive(v - top)).sum::<f32>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_become_pixels_and_the_weaker_axis_the_score() {
        let (mut x, mut y) = (vec![0.0; JOINTS * 128], vec![0.0; JOINTS * 96]);
        for j in 0..JOINTS {
            x[j * 128 + 2 * j] = 0.9;
            y[j * 96 + 40 + j] = 0.7;
        }
        let codec = Simcc {
            output_x: "x".into(),
            output_y: "y".into(),
            bins_per_px: 2.0,
            activation: Activation::None,
            fit: Fits::new(None, None),
        };
        let mut joints = [Keypoint::default(); JOINTS];
        codec.decode(&x, &y, &mut joints);
        assert_eq!((joints[3].x_px, joints[3].y_px, joints[3].score), (3.5, 22.0, 0.7));
    }

    #[test]
    fn softmax_bins_give_the_peak_s_share() {
        let codec = Simcc {
            output_x: "x".into(),
            output_y: "y".into(),
            bins_per_px: 1.0,
            activation: Activation::Softmax,
            fit: Fits::new(None, None),
        };
        let mut joints = [Keypoint::default(); JOINTS];
        codec.decode(&[1.0; JOINTS * 4], &[1.0; JOINTS * 8], &mut joints);
        assert!((joints[0].score - 0.125).abs() < 1e-6);
    }
}
