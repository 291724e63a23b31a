//! What happens, rather than where joints are: who comes and goes, who is in which zone, who raises a hand or falls.
//!
//! ```json
//! {"event":"enter","id":3,"zone":"door","captured_us":1000,"emitted_us":9000,"persons":2}
//! ```
//!
//! An event is told once, when it has held long enough not to be a flicker (`watch.rs` has the times). What is watched is a state, so a
//! frame that is dropped delays an event and loses none.

mod sink;
mod watch;
mod zones;

pub use sink::EventLines;
#[cfg(feature = "mqtt")]
pub(in crate::output) use sink::write_event;
#[cfg(feature = "mqtt")]
pub use watch::KINDS;
pub use watch::{Event, Watch, What};
pub use zones::{At, Zone, ZoneError, Zones};
