//! Signals that ask a program to end, and waits for named pipes that they interrupt.

mod pipes;
mod signals;

pub use pipes::{Stopped, is_pipe, wait_for_reader};
pub use signals::termination_signals;
