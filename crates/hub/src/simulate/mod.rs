//! People of recorded motion before virtual cameras, with the detector's error, clocks that are wrong and ways that take long: what the hub
//! is measured on. The same seed gives the same lines.
//!
//! The motion is CMU's (mocap.cs.cmu.edu), as `people` embeds it.

mod detector;
mod offline;
mod scene;
mod score;
mod walker;

pub use detector::{Detector, Level, Shown};
pub use scene::{Packet, Scene, Setting, ring};
pub use score::{Score, score, worst};
pub use walker::Walker;
