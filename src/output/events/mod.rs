//! What happens, rather than where joints are: who comes and goes, who is in which zone, who raises a hand or falls.
//!
//! ```json
//! {"event":"enter","id":3,"zone":"door","captured_us":1000,"emitted_us":9000,"persons":2}
//! ```
//!
//! What counts as an event is `crates/pose-events`, by which the hub tells those of a room too; here are one camera's picture as it watches it
//! (`picture.rs`), zones from a file, and the sink.

mod line;
mod picture;
mod sink;
mod zones;

#[cfg(feature = "mqtt")]
pub(in crate::output) use line::write_event;
pub use picture::watch_frame;
pub use pose_events::{At, Event, Watch, What, Zone, Zones};
#[cfg(feature = "mqtt")]
pub use pose_events::{BLIND_AFTER_US, KINDS, MAX_ZONES};
pub use sink::EventLines;
pub use zones::{ZoneError, read_zones};
