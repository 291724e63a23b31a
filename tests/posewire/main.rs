//! Every integration test, in one binary: it links once.

mod cli;
#[cfg(unix)]
mod clients;
mod frames;
mod infer;
#[cfg(unix)]
mod output;
#[cfg(target_os = "linux")]
mod pty;
#[cfg(target_os = "linux")]
mod serial;
mod quantised;
mod tiny;
mod wire;
