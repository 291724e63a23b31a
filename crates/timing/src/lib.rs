//! The clock of every program, how often something is to happen, and a histogram of how long things take.

#![forbid(unsafe_code)]

pub mod clock;
mod histogram;
mod rate;

pub use histogram::{Histogram, Summary};
pub use rate::parse_hz;
