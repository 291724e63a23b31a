//! What a network gives, beside what the codec of its manifest reads.

use crate::infer::{InferError, Manifest, OutputInfo};

/// The outputs of the network of a manifest.
#[derive(Clone, Copy)]
pub(in crate::keypoints) struct Outputs<'a> {
    pub manifest: &'a Manifest,
    pub all: &'a [OutputInfo],
}

impl<'a> Outputs<'a> {
    /// Width and height of the network's input in net pixels.
    pub fn net_size(&self) -> [usize; 2] {
        [self.manifest.input.width, self.manifest.input.height]
    }

    /// The shape of an output, without the batch axis.
    ///
    /// # Errors
    /// [`InferError::Model`] where there is none of this name.
    pub fn shape(&self, name: &str) -> Result<&'a [usize], InferError> {
        self.all.iter().find(|o| o.name == name).map(|o| &*o.shape).ok_or_else(|| {
            let there: Vec<_> = self.all.iter().map(|o| &*o.name).collect();
            let (codec_of, there) = (&self.manifest.name, there.join(", "));
            InferError::model(
                &self.manifest.file,
                format!("no output {name:?}, which the codec of {codec_of} reads; the network has: {there}"),
            )
        })
    }

    /// The error of an output whose shape is not the one `wanted`.
    pub fn unfit(&self, output: &str, shape: &[usize], wanted: &str) -> InferError {
        let codec_of = &self.manifest.name;
        InferError::model(
            &self.manifest.file,
            format!("output {output:?} has shape {shape:?}; the codec of {codec_of} wants {wanted}"),
        )
    }
}
