//! Posewire turns a USB camera into a stream of human poses on a serial wire.
//!
//! ```text
//! capture ──Frame──▶ [newest] ──▶ tracker ──PoseFrame──▶ [newest] ──▶ output
//! thread `capture`                thread `infer`                      one thread a sink
//! ```
//!
//! * [`capture`]: a [`FrameSource`](capture::FrameSource) (camera, file, built-in clip) gives [`picture::Frame`]s, each
//!   stamped by the driver's monotonic clock.
//! * [`tracker`]: a frame in, the poses in it out. It joins
//!   `keypoints`, which finds persons, crops each, runs the int8 network through `infer` and decodes 17 joints;
//!   `track`, which says who is who from frame to frame;
//!   `temporal`, one causal memory a person, which smooths, fills occlusions and forecasts 150 ms ahead.
//! * [`output`]: sinks (serial, JSON lines, display, web, recording) evaluate the newest forecasts for the moment of sending.
//!
//! Between threads stand newest-wins slots ([`latest`]) that count what they overwrite: there is no queue to grow and
//! none to go stale. Stages know the types of [`pose`] and [`picture`], never each other; [`tracker`] and [`pipeline`] join
//! them (`tests/posewire/arrows.rs` holds every folder to that). `keypoints`, `temporal` and `track` read no clock, file or
//! environment: time is an argument.
//!
//! A tracker in a program of one's own takes two lines ([`Tracker`]); `examples/frame_to_poses.rs` is a whole one:
//!
//! ```no_run
//! # fn poses(frame: &posewire::picture::Frame) -> Result<(), Box<dyn std::error::Error>> {
//! let mut tracker = posewire::Tracker::new(&posewire::Config::default())?;
//! let poses = tracker.track(frame)?;
//! # Ok(())
//! # }
//! ```

// What others build on.
pub mod calibrate;
pub mod capture;
pub mod config;
pub mod metres;
pub mod output;
pub mod permission;
pub mod pipeline;
pub mod reason;
pub mod tracker;

mod stderr_tail;
mod usb;

// Modules that are crates, so that packages can be made small without them: what runs on every frame.
pub use ::picture;

// The modules behind it: for this package's own binary, tests and laboratory; they change without notice.
#[doc(hidden)]
pub mod avi;
#[doc(hidden)]
pub mod child_process;
#[doc(hidden)]
pub use ::timing::clock;
#[doc(hidden)]
pub mod coco;
#[doc(hidden)]
pub use ::files;
#[doc(hidden)]
pub mod infer;
#[doc(hidden)]
pub mod keypoints;
#[doc(hidden)]
pub mod models;
#[doc(hidden)]
pub use ::names;
#[doc(hidden)]
pub mod progress;
#[doc(hidden)]
pub mod telemetry;
#[doc(hidden)]
pub use ::temporal;
#[doc(hidden)]
pub mod track;
#[doc(hidden)]
pub mod tty;

pub use config::Config;
pub use tracker::Tracker;
