//! Measuring: how good the answers are. Nothing here is on the device.
//!
//! [`images`]: keypoint networks on labelled pictures. [`clips`]: temporal models on clips. [`films`]: the whole program on films.

pub mod clips;
pub mod films;
pub mod images;
pub mod metres;
mod statistics;

pub use statistics::Interval;
