#![forbid(unsafe_code)]
//! What the tracker's and the hub's `--osc` have in common: messages and bundles in bytes, numbers under which persons are addressed, and one
//! person as an avatar, who is of one camera's picture there and of a room here.
//!
//! | [`OscFormat`] | a moment is | |
//! |---|---|---|
//! | `posewire` | one bundle with a time tag | the program's own addresses, which it writes itself ([`message`]) |
//! | `vrchat` | up to nine messages | eight trackers and the head of one person, in metres ([`vrchat`]) |
//! | `vmc` | two bundles | bones of one person as rotations ([`vmc`], [`bones`]) |
//!
//! Unity's space is left-handed, y up: whoever has poses brings them there ([`Seen`]). Nothing here reads a clock, and nothing is allocated for
//! a moment.

pub mod avatar;
pub mod bones;
mod format;
pub mod message;
mod slots;
pub mod vmc;
pub mod vrchat;

pub use avatar::{AvatarWriter, Seen, Whose};
pub use format::OscFormat;
pub use slots::Slots;
