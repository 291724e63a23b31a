//! Every integration test, in one binary: it links once.

mod alloc;
mod arrows;
#[cfg(unix)]
mod bad_input;
#[cfg(all(target_os = "linux", feature = "v4l"))]
mod boards;
#[cfg(unix)]
mod bridges;
mod built_in_clip;
mod calibrate;
#[cfg(target_os = "linux")]
mod camera_bed;
mod capture;
mod cli;
#[cfg(unix)]
mod clients;
mod clips;
mod config;
mod display;
#[cfg(target_os = "linux")]
mod end_to_end;
#[cfg(unix)]
mod events;
mod fakes;
#[cfg(feature = "foxglove")]
mod foxglove;
mod frames;
mod infer;
#[cfg(unix)]
mod jsonl;
mod keypoints;
mod mcap;
mod moments;
#[cfg(all(unix, feature = "mqtt"))]
mod mqtt;
#[cfg(unix)]
mod output;
mod pipeline;
#[cfg(target_os = "linux")]
mod pipes;
mod predict;
#[cfg(target_os = "linux")]
mod pty;
mod quantised;
#[cfg(unix)]
mod record;
mod replay;
#[cfg(target_os = "linux")]
mod rtsp;
#[cfg(target_os = "linux")]
mod serial;
#[cfg(target_os = "linux")]
mod service;
mod servo;
mod shutdown;
mod stills;
mod strange;
mod temporal;
#[cfg(target_os = "linux")]
mod terminal;
mod tiny;
mod track;
#[cfg(unix)]
mod video;
#[cfg(unix)]
mod view;
mod watchdog;
#[cfg(unix)]
mod web;
mod wire;

/// Counts allocations by thread, for [`alloc`].
#[global_allocator]
static ALLOCATOR: posewire::telemetry::alloc::Counting = posewire::telemetry::alloc::Counting;
