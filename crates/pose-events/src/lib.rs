#![forbid(unsafe_code)]
//! What happens, rather than where joints are: who comes and goes, who is in which zone, who raises a hand or falls. The tracker watches one
//! camera's picture with it, the hub a room.
//!
//! ```json
//! {"event":"enter","id":3,"zone":"door","captured_us":1000,"emitted_us":9000,"persons":2}
//! ```
//!
//! An event is told once, when it has held long enough not to be a flicker ([`Watch`]). What is watched is a state, so a moment that is
//! dropped delays an event and loses none. Nothing here reads a clock or a file: times and text are arguments.

mod count;
mod event;
mod watch;
mod zones;

pub use event::{Event, KINDS, What};
pub use watch::{BLIND_AFTER_US, Person, Watch};
pub use zones::{At, MAX_ZONES, Plane, Zone, Zones};
