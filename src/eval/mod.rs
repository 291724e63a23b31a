//! Measuring: how good the answers are. Nothing here runs in the pipeline.

pub mod clips;
pub mod images;
