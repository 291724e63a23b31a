//! The keypoint network: boxes in, joints out.

use std::sync::Arc;

use pose::{BoxPx, Keypoints, MAX_PERSONS};

use super::flip::mirror_input;
use super::{Decoder, KeypointError, image_from_net};
use crate::infer::{InferError, Manifest, Plan, RoiSpec, State, Task};
use crate::picture::{Affine, Picture, crop_resize_into};

/// Estimates the joints of the persons in given boxes, up to [`MAX_PERSONS`] a picture; one thread owns it.
///
/// The three steps can be called one by one, so that a caller with a clock can time them:
/// [`crop`](Self::crop), [`run`](Self::run), [`decode`](Self::decode); [`estimate`](Self::estimate) is all three.
pub struct KeypointNet {
    state: Box<dyn State>,
    decoder: Decoder,
    roi: RoiSpec,
    net_size: [usize; 2],
    image_from_net: [Affine; MAX_PERSONS],
    count: usize,
    /// Under the flip test: the pixels on their way. The mirrored crops lie after all the others.
    mirrored: Option<Vec<u8>>,
}

impl KeypointNet {
    /// Checks that the network's outputs fit the manifest's codec and makes the buffers.
    ///
    /// # Errors
    /// [`InferError`] naming the file and the output.
    pub fn new(manifest: &Manifest, plan: &Arc<dyn Plan>) -> Result<Self, InferError> {
        if manifest.task != Task::Keypoints {
            return Err(InferError::model(
                &manifest.name,
                "its task is not \"keypoints\": it finds persons, not joints",
            ));
        }
        Ok(Self {
            decoder: Decoder::new(manifest, plan.outputs())?,
            state: plan.state(MAX_PERSONS * manifest.inputs_per_crop())?,
            mirrored: (manifest.inputs_per_crop() == 2).then(Vec::new),
            roi: manifest.roi.unwrap_or_default(),
            net_size: [manifest.input.width, manifest.input.height],
            image_from_net: [Affine::IDENTITY; MAX_PERSONS],
            count: 0,
        })
    }

    /// Whether a person's score is the network's own word on whether there is one ([`Decoder::tells_presence`]).
    pub fn tells_presence(&self) -> bool {
        self.decoder.tells_presence()
    }

    /// Image pixels that one net pixel spans for a person of this box: what a decoder of large pictures may leave out.
    pub fn image_per_net_px(&self, box_px: &BoxPx) -> f32 {
        image_from_net(box_px, &self.roi, self.net_size).map_or(1.0, |m| m.scale())
    }

    /// Left, top, right and bottom of what the network sees of a person of this box, in pixels of the source image;
    /// `None` for a box that [`crop`](Self::crop) refuses.
    pub fn image_edges(&self, box_px: &BoxPx) -> Option<[f32; 4]> {
        let m = image_from_net(box_px, &self.roi, self.net_size).ok()?;
        let [w, h] = self.net_size.map(|n| n as f32);
        let (left, top) = m.apply(0.0, 0.0);
        let (right, bottom) = m.apply(w, h);
        Some([left, top, right, bottom])
    }

    /// Writes the crops of `boxes` (pixels of the source image) into the network's inputs.
    ///
    /// # Errors
    /// [`KeypointError::Box`] for a box without extent; nothing is cropped then.
    ///
    /// # Panics
    /// Where there are more than [`MAX_PERSONS`] boxes.
    pub fn crop(&mut self, picture: &Picture<'_>, boxes: &[BoxPx]) -> Result<(), KeypointError> {
        self.count = 0;
        for (m, b) in self.image_from_net[..boxes.len()].iter_mut().zip(boxes) {
            *m = image_from_net(b, &self.roi, self.net_size)?;
        }
        for (i, m) in self.image_from_net[..boxes.len()].iter().enumerate() {
            crop_resize_into(picture, m, &mut self.state.input_mut(i), [self.roi.fill; 3]);
        }
        self.count = boxes.len();
        if let Some(scratch) = &mut self.mirrored {
            for i in 0..self.count {
                mirror_input(&mut *self.state, i, self.count + i, scratch);
            }
        }
        Ok(())
    }

    /// Runs the network over the crops.
    ///
    /// # Errors
    /// [`InferError::Run`] where the engine fails.
    pub fn run(&mut self) -> Result<(), InferError> {
        self.state.run(if self.mirrored.is_some() { 2 * self.count } else { self.count })
    }

    /// Reads the joints of each crop, in the boxes' order, in pixels of the source image.
    ///
    /// # Errors
    /// [`InferError::Run`] where the network lacks an output. Without a run of what was fitted the answer is that of the run before.
    ///
    /// # Panics
    /// Where `out` is shorter than the boxes were.
    pub fn decode(&mut self, out: &mut [Keypoints]) -> Result<(), InferError> {
        for (i, m) in self.image_from_net[..self.count].iter().enumerate() {
            out[i] = self.decoder.decode(&*self.state, i, self.count + i, m)?;
        }
        Ok(())
    }

    /// The joints of the persons in `boxes`, in the boxes' order, in pixels of the source image.
    ///
    /// # Errors
    /// [`KeypointError`]: a box without extent, or a network that fails.
    ///
    /// # Panics
    /// Where there are more than [`MAX_PERSONS`] boxes or `out` is shorter than `boxes`.
    pub fn estimate(
        &mut self,
        picture: &Picture<'_>,
        boxes: &[BoxPx],
        out: &mut [Keypoints],
    ) -> Result<(), KeypointError> {
        self.crop(picture, boxes)?;
        self.run()?;
        Ok(self.decode(out)?)
    }
}
