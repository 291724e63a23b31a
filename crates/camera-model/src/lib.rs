//! A camera as numbers: from directions to pixels and back, and which numbers are those of a camera.

#![forbid(unsafe_code)]

mod intrinsics;
mod limits;

pub use intrinsics::Intrinsics;
pub use limits::is_same_shape;
