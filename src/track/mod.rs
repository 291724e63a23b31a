//! Who is who, from frame to frame.
//!
//! [`Identities`] gives identities: it compares each frame's poses with where the known persons were expected and what they wear
//! ([`Appearance`]), and decides by [`IdentityRules`] who was seen, who is new and who is gone. What the [`Crops`] of a frame are:
//!
//! * [`Search`]: when the whole picture is searched for people.
//! * [`unmatched_detections`]: which of the boxes found there belong to nobody yet; [`RoundRobin`]: which of them come first.
//! * [`expand_partial_boxes`]: which found boxes show more of a person who is followed.
//! * [`occluded_detections`]: who stands behind the people seen, found after these were painted out.
//! * [`merge_after_pause`]: where to look after a pause in the frames.
//!
//! Of a single picture, [`distinct_persons`] says who is in it; [`is_at_edge_alone`] and [`is_strip_at_edge`] say whether a pose or a
//! box is more than the picture's edge.

mod appearance;
mod associate;
mod crops;
mod identities;
mod known;
mod overlap;
mod picture;
mod round_robin;
mod rules;
mod search;

pub use appearance::{Appearance, BodyRegion};
pub use associate::{MIN_JOINT_SCORE, similarity};
pub use crops::{
    Crop, Crops, Origin, expand_partial_boxes, has_room, merge_after_pause, occluded_detections,
    unmatched_detections,
};
pub use identities::{Assignment, Identities};
pub use picture::{distinct_persons, is_at_edge_alone, is_strip_at_edge};
pub use round_robin::RoundRobin;
pub use rules::IdentityRules;
pub use search::{Around, Search};
