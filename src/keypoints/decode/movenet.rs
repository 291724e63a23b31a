//! MoveNet: places and scores as the network itself decodes them.

use pose::{JOINTS, Keypoint};

use super::Outputs;
use crate::infer::{InferError, MovenetSpec};

#[derive(Debug)]
pub(super) struct Movenet {
    pub output: String,
    pub net_size: [f32; 2],
}

impl Movenet {
    /// By `spec`, if the output holds three values a joint.
    ///
    /// # Errors
    /// [`InferError::Model`] naming the output.
    pub fn new(spec: &MovenetSpec, outputs: &Outputs<'_>) -> Result<Self, InferError> {
        let MovenetSpec { output } = spec;
        let shape = outputs.shape(output)?;
        if shape.iter().product::<usize>() != JOINTS * 3 || shape.last() != Some(&3) {
            return Err(outputs.unfit(output, shape, &format!("[1, {JOINTS}, 3]")));
        }
        Ok(Self { output: output.clone(), net_size: outputs.net_size().map(|v| v as f32) })
    }

    /// `rows`: 17 x (y, x, score), places in 0..=1 of the input; joints come in net pixels.
    pub fn decode(&self, rows: &[f32], joints: &mut [Keypoint; JOINTS]) {
        for (joint, row) in joints.iter_mut().zip(rows.chunks_exact(3)) {
            *joint = Keypoint {
                x_px: row[1] * self.net_size[0],
                y_px: row[0] * self.net_size[1],
                score: row[2],
                sigma_px: 0.0,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn y_comes_first() {
        let mut joints = [Keypoint::default(); JOINTS];
        let rows = [0.25, 0.5, 0.9].repeat(JOINTS);
        Movenet { output: "o".into(), net_size: [192.0, 256.0] }.decode(&rows, &mut joints);
        assert_eq!((joints[16].x_px, joints[16].y_px, joints[16].score), (96.0, 64.0, 0.9));
    }
}
