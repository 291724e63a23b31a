//! Draws poses on any `embedded-graphics` `DrawTarget`: the host's window, a terminal, a PNG, a microcontroller's panel.
//!
//! One picture is a [`Scene`]: the persons of one moment and how old they are. [`draw_scene`] paints it in the colours of
//! a [`Theme`], placed by a [`Fit`] (image pixels to panel pixels), in the line widths and font of [`Metrics`]. What was measured
//! and what was predicted look different on every panel, one bit deep or twenty-four:
//!
//! ```text
//!   measured                 predicted             absent
//!   ────●────  solid bone    ─ ─ ○ ─ ─  dashed     nothing
//! ```
//!
//! `no_std`, no allocation. Positions are computed with additions and multiplications alone, so the host and a
//! microcontroller without a floating-point unit paint the same pixels.
#![no_std]
#![forbid(unsafe_code)]

mod figure;
mod fit;
mod label;
mod line;
mod scene;
mod theme;

pub use figure::draw_pose;
pub use fit::Fit;
pub use label::Label;
pub use scene::{Scene, draw_message, draw_scene};
pub use theme::{Metrics, PALETTE, Theme};
