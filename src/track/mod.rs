//! Who is who, from frame to frame.
//!
//! [`Identities`] gives identities: it holds each frame's poses against where the known persons were expected and what they wear
//! ([`Clothes`]), decides who was seen, who is new and who is gone, by [`IdentityRules`]. [`Search`] says when the whole picture is
//! worth looking at, and [`newcomers`] which of the boxes found there belong to nobody yet, [`Turns`] which of them are looked at first,
//! [`grown`] which of them show more of somebody who is followed, [`from_behind`] which of those that were found once everybody seen was painted out stand behind them,
//! [`found_first`] where to look after a pause in the frames. Of a single picture, [`distinct_persons`] says who is in it;
//! [`is_at_edge_alone`] and [`is_strip_at_edge`] say whether a pose or a box is more than the picture's edge.

mod associate;
mod clothes;
mod identities;
mod known;
mod overlap;
mod picture;
mod rules;
mod search;
mod turns;

pub use associate::{MIN_JOINT_SCORE, similarity};
pub use clothes::{Clothes, Garment};
pub use identities::{Assignment, Identities};
pub use picture::{distinct_persons, is_at_edge_alone, is_strip_at_edge};
pub use rules::IdentityRules;
pub use search::{Around, Search, found_first, from_behind, grown, newcomers};
pub use turns::Turns;
