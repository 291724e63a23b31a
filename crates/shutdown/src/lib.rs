//! Signals that ask a program to end, waits for named pipes that they interrupt, and an end that always comes.

mod last_resort;
mod pipes;
mod signals;

pub use last_resort::{Cause, Held, LastResort, exit_at_once, set_on_signal};
pub use pipes::{Stopped, wait_for_reader};
pub use signals::termination_signals;
