//! The vocabulary of Posewire: joints, bones, keypoints, poses and what is known of each.
//!
//! `no_std`, no allocation: the tracker, the wire and the firmware share these types.
//!
//! Spaces and units are part of the names: `_px` are pixels of the source image (origin at the top-left corner of
//! the top-left pixel, x right, y down), `_us` microseconds of the monotonic clock that stamps the camera's frames,
//! `_m` metres: `joints_3d_m` from the middle of the hips, what a [`Place`] or a [`Floor`] says from the camera (both x right in
//! the image, y down, z away from the camera).
#![no_std]
#![forbid(unsafe_code)]

mod boxes;
mod forecast;
mod frame;
pub mod gesture;
mod joint;
mod keypoint;
mod oks;
pub mod polygon;
mod pose;

pub use boxes::{BoxPx, PersonBox};
pub use forecast::{Forecast, HORIZONS_US};
pub use frame::{Floor, PoseFrame, TrackedPerson};
pub use joint::{BONES, JOINTS, Joint, MIRROR};
pub use keypoint::{Keypoint, Keypoints};
pub use oks::{joint_similarity, oks};
pub use pose::{JointState, Place, Pose, PoseJoint, Stamped, UNSURE_SCORE};

/// Persons that every fixed-size container of Posewire holds.
pub const MAX_PERSONS: usize = 8;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadMe;
