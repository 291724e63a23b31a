//! Posewire turns a USB camera into a stream of human poses on a serial wire.
//!
//! ```text
//! capture ──Frame──▶ [newest] ──▶ keypoints ──Keypoints──▶ track + temporal ──PoseFrame──▶ [newest] ──▶ output
//! thread `capture`                thread `infer`                                          one thread a sink
//! ```
//!
//! * [`capture`]: a [`capture::FrameSource`] (camera, file, built-in figure) gives [`picture::Frame`]s, each stamped by
//!   the driver's monotonic clock.
//! * [`keypoints`]: finds persons, crops each, runs the int8 network through [`infer`], decodes 17 joints.
//! * [`track`]: says who is who, from frame to frame.
//! * [`temporal`]: one causal memory a person; smooths, fills occlusions, forecasts 150 ms ahead.
//! * [`output`]: sinks (serial, JSON lines, display, web, record) evaluate the newest forecasts for the moment of sending.
//!
//! Beside the pipeline: [`calibrate`] (a camera's intrinsics) and [`eval`] (accuracy and smoothness on labelled data).
//!
//! Between threads stand newest-wins slots ([`latest`]) that count what they overwrite: there is no queue to grow and
//! none to go stale. Stages know the types of [`pose`] and of this page, never each other; [`pipeline`] joins them.
//! `keypoints`, `temporal` and `track` read no clock, file or environment: time is an argument.

pub mod calibrate;
pub mod capture;
pub mod clock;
pub mod config;
pub mod eval;
pub mod files;
pub mod infer;
pub mod keypoints;
pub mod models;
pub mod output;
pub mod picture;
pub mod pipeline;
pub mod stage;
pub mod telemetry;
pub mod temporal;
pub mod track;
