//! What asks a program to end, and waits that must not keep it from that.

mod pipes;
mod signals;

pub use pipes::{Stopped, is_pipe, wait_for_reader};
pub use signals::ask_to_end;
