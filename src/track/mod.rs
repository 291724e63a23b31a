//! Who is who, from frame to frame.
//!
//! [`Identities`] gives identities: it holds each frame's poses against where the known persons were expected, decides who
//! was seen, who is new and who is gone. [`Search`] says when the whole picture is worth looking at, and
//! [`newcomers`] which of the boxes found there belong to nobody yet. Of a single picture, [`distinct_persons`] says who is in it.

mod associate;
mod identities;
mod search;

pub use identities::{Assignment, Identities, IdentityRules, distinct_persons};
pub use search::{Search, newcomers};
