//! From pictures to joints: find persons, crop, run the network, decode.
//!
//! [`PersonFinder`] looks at a whole picture and is run now and then; [`KeypointNet`] looks at one box and is run for
//! every person in every frame. Both are made from a [`Manifest`](crate::infer::Manifest) and its network, whoever
//! trained it.

mod candidates;
mod decode;
mod finder;
mod flip;
mod net;
mod roi;
mod silhouette;

pub use decode::{Decoder, PERSON_SCORE_JOINTS, person_score};
pub use finder::{MAX_FOUND, PersonFinder};
pub use net::KeypointNet;
pub use roi::check_box;
use roi::{image_from_net, image_from_net_whole};

use crate::infer::InferError;

/// Why no joints can be given.
#[derive(Debug, thiserror::Error)]
pub enum KeypointError {
    /// The network cannot be used or failed.
    #[error(transparent)]
    Infer(#[from] InferError),
    /// A box that shows nothing.
    #[error("box ({x}, {y}, {w} x {h} px): {reason}")]
    Box {
        /// Left edge, pixels.
        x: f32,
        /// Top edge, pixels.
        y: f32,
        /// Pixels.
        w: f32,
        /// Pixels.
        h: f32,
        /// What is wrong with it.
        reason: &'static str,
    },
}
