//! The test-time flip: a crop and its mirror image are both looked at, and their maps averaged.
//!
//! What a network knows of left it has not quite learned of right. The mean errs less than either (Newell et al. 2016 test so),
//! for twice the multiply-adds.

use pose::{JOINTS, MIRROR};

use crate::infer::{InferError, State};
use crate::picture::PixelsMut;

/// Copies input `from`, mirrored, into input `to`; `scratch` is emptied and grows once.
pub(super) fn mirror_input(state: &mut dyn State, from: usize, to: usize, scratch: &mut Vec<u8>) {
    scratch.clear();
    scratch.extend_from_slice(state.input_mut(from).bytes);
    let PixelsMut { width, height, row_bytes, pixel_bytes, bytes } = state.input_mut(to);
    for row in 0..height {
        let at = row * row_bytes..row * row_bytes + width * pixel_bytes;
        let seen = scratch[at.clone()].chunks_exact(pixel_bytes).rev();
        for (out, pixel) in bytes[at].chunks_exact_mut(pixel_bytes).zip(seen) {
            out.copy_from_slice(pixel);
        }
    }
}

/// The maps of a crop and its mirror image, `[17, rows, columns]` each, averaged where a joint of the mirrored one is its other side's, and
/// its columns run backwards.
#[derive(Debug)]
pub(super) struct Averaged {
    maps: Vec<f32>,
    cells: usize,
    columns: usize,
}

impl Averaged {
    pub fn new(rows: usize, columns: usize) -> Self {
        Self { maps: vec![0.0; JOINTS * rows * columns], cells: rows * columns, columns }
    }

    /// Output `name` of batch elements `i` and, mirrored, `mirrored`.
    ///
    /// # Errors
    /// [`InferError::Run`] where the network lacks an output. Without a run of what was fitted the answer is that of the run before.
    pub fn of(
        &mut self,
        state: &dyn State,
        name: &str,
        i: usize,
        mirrored: usize,
    ) -> Result<&[f32], InferError> {
        let (seen, seen_mirrored) = (state.output(i, name)?.0, state.output(mirrored, name)?.0);
        for (joint, out) in self.maps.chunks_exact_mut(self.cells).enumerate() {
            let (a, b) = (&seen[joint * self.cells..], &seen_mirrored[MIRROR[joint] * self.cells..]);
            let rows = a.chunks_exact(self.columns).zip(b.chunks_exact(self.columns));
            for (out, (a, b)) in out.chunks_exact_mut(self.columns).zip(rows) {
                for ((out, a), b) in out.iter_mut().zip(a).zip(b.iter().rev()) {
                    *out = 0.5 * (a + b);
                }
            }
        }
        Ok(&self.maps)
    }
}

#[cfg(test)]
mod tests {
    use pose::Joint;

    use super::*;
    use crate::picture::PixelsMut;

    const ROWS: usize = 2;
    const COLUMNS: usize = 4;
    const SHAPE: [usize; 3] = [JOINTS, ROWS, COLUMNS];

    /// Two batch elements: inputs of 2 x 3 pixels in rows of 10 bytes, and the outputs given.
    struct Fake {
        inputs: [Vec<u8>; 2],
        outputs: [Vec<f32>; 2],
    }

    impl State for Fake {
        fn input_mut(&mut self, i: usize) -> PixelsMut<'_> {
            PixelsMut { bytes: &mut self.inputs[i], width: 3, height: 2, row_bytes: 10, pixel_bytes: 3 }
        }
        fn run(&mut self, _: usize) -> Result<(), InferError> {
            Ok(())
        }
        fn output(&self, i: usize, _: &str) -> Result<(&[f32], &[usize]), InferError> {
            Ok((&self.outputs[i], &SHAPE))
        }
    }

    fn fake() -> Fake {
        let blank = || vec![0.0; JOINTS * ROWS * COLUMNS];
        Fake { inputs: [(0..20).collect(), vec![0; 20]], outputs: [blank(), blank()] }
    }

    #[test]
    fn pixels_run_backwards_and_colours_do_not() {
        let mut fake = fake();
        mirror_input(&mut fake, 0, 1, &mut Vec::new());
        assert_eq!(fake.inputs[1][..10], [6, 7, 8, 3, 4, 5, 0, 1, 2, 0]);
        assert_eq!(fake.inputs[1][10..19], [16, 17, 18, 13, 14, 15, 10, 11, 12]);
    }

    #[test]
    fn the_mirrored_look_s_left_is_right() {
        let at = |joint: Joint, row: usize, column: usize| (joint as usize * ROWS + row) * COLUMNS + column;
        let mut fake = fake();
        fake.outputs[0][at(Joint::LeftWrist, 1, 0)] = 4.0;
        fake.outputs[1][at(Joint::RightWrist, 1, 3)] = 2.0;
        let mut averaged = Averaged::new(ROWS, COLUMNS);
        let maps = averaged.of(&fake, "heatmaps", 0, 1).unwrap();
        assert_eq!(maps[at(Joint::LeftWrist, 1, 0)], 3.0);
        assert_eq!(maps.iter().filter(|v| **v != 0.0).count(), 1);
    }
}
