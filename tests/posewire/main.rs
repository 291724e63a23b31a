//! Every integration test, in one binary: it links once.

mod cli;
mod frames;
mod infer;
#[cfg(unix)]
mod output;
mod tiny;
