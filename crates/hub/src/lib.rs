//! Several cameras as one room: what `posewire` says on several boards, brought to one clock, one place and one list of people.
//!
//! | step | |
//! |---|---|
//! | [`endpoint`] | where a board's lines come in |
//! | [`mod@line`] | a board's JSON line to rays: what each camera saw, and when by the board's clock |
//! | [`clock`] | that clock beside the hub's: by exchanges ([`exchange`]), or by arrivals alone |
//! | [`calibrate`] | where the cameras stand, from somebody who walks about |
//! | [`fuse`] | who is who, and where in metres |
//! | [`hub`], [`output`], [`osc`] | these together, and what comes out |
//! | [`avatar`] | one person in Unity's space |
//! | [`zones`], [`events`] | what happens, and where on the floor |
//! | [`failover`] | a second hub of the same room, which takes over |
//! | [`building`] | several rooms, each with a hub |
//! | [`coverage`] | whether a tracker runs at the size that its lens was calibrated at |
//! | `simulate`, by its feature | virtual cameras and recorded motion with the detector's error, and what comes of them |
//!
//! Spaces: a camera's is x right, y down, z ahead. The room's is right-handed, metres, z up from the floor; its origin lies below the first
//! camera, which looks along y. A *ray* (x, y) stands for the direction (x, y, 1) in a camera's space: lenses are undone once, when a
//! line is read. Stages read no clock: time is an argument, microseconds of the hub's monotonic clock.
#![forbid(unsafe_code)]

pub mod avatar;
pub mod building;
pub mod calibrate;
pub mod camera;
pub mod clock;
pub mod config;
pub mod coverage;
pub mod endpoint;
pub mod events;
pub mod exchange;
pub mod failover;
pub mod fuse;
pub mod geometry;
pub mod hub;
pub mod line;
pub mod osc;
pub mod output;
#[cfg(feature = "simulate")]
pub mod simulate;
pub mod zones;

/// A ray, or a place in the picture.
pub type V2 = nalgebra::Vector2<f64>;
/// A place in metres.
pub type V3 = nalgebra::Vector3<f64>;
/// Where a camera is, its extrinsic parameters: from the room to the camera.
pub type Extrinsics = nalgebra::Isometry3<f64>;
