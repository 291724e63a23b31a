//! Draws poses on any `embedded-graphics` `DrawTarget`: the host's window, a terminal, a PNG, a microcontroller's panel.
//!
//! One picture is a [`Scene`]: the persons of one moment and how old they are. [`draw_scene`] paints it in the colours of
//! a [`Theme`], placed by a [`Fit`] (image pixels to panel pixels), in the line widths and font of [`Metrics`]. What was measured,
//! what was predicted and what is unsure differ in shape ([`Look`]), so on every panel, one bit deep or twenty-four, and to every
//! eye; colours tell persons apart ([`colour_of`]):
//!
//! ```text
//!   measured                 predicted             unsure                absent
//!   ────●────  solid bone    ─ ─ ○ ─ ─  dashed     · · • · ·  dotted     nothing
//! ```
//!
//! [`draw_planar`] draws persons as planar bodies instead: limbs, trunk and head as shaded contours of a body's proportions.
//!
//! The feature `large` draws text on photos and large screens as large as it has to be there.
//!
//! `no_std`, no allocation. Positions are computed with additions and multiplications alone, so the host and a
//! microcontroller without a floating-point unit paint the same pixels.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod colour;
#[cfg(feature = "large")]
mod enlarged;
mod figure;
mod fit;
mod label;
mod line;
mod look;
mod parts;
mod planar;
mod scene;
mod theme;

pub use colour::{PALETTE, colour_of};
pub use figure::{draw_name, draw_pose};
pub use fit::Fit;
pub use label::Label;
pub use look::Look;
pub use parts::{HEAD, NECK, PARTS, PELVIS, SHAPES, Shape};
pub use planar::{Skins, TONES, draw_planar};
pub use scene::{Scene, draw_message, draw_scene};
pub use theme::{Metrics, Theme};
