//! Every integration test, in one binary: it links once.

mod frames;
#[cfg(unix)]
mod output;
