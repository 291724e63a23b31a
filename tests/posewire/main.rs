//! Every integration test, in one binary: it links once.

mod cli;
#[cfg(unix)]
mod clients;
mod config;
mod display;
mod fakes;
mod frames;
mod infer;
mod keypoints;
#[cfg(unix)]
mod output;
mod pipeline;
#[cfg(target_os = "linux")]
mod pty;
mod quantised;
#[cfg(target_os = "linux")]
mod serial;
mod shutdown;
mod tiny;
mod track;
mod wire;
