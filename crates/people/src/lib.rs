//! A small, fast renderer of people with exact truth.
//!
//! A [`Body`](body::Body) of the embedded bank is dressed ([`wear`]), posed after recorded motion ([`motion`], [`posing`]), set into a
//! place ([`backdrop`]) and drawn ([`render`]) as a [`Camera`](camera::Camera) sees it; [`film`] and [`dataset`] put these together.
//! The truth beside each picture: 17 joints in pixels and in metres, hidden or seen by depth, boxes, areas.
//!
//! World space is y up, metres; a person at heading 0 looks along +z with the left hand at +x. Camera space is x right, y down, z ahead.
//! The rasteriser is its own: it only says which triangle each sample shows, and all shading waits until that is known.
//!
//! The same seed gives the same bytes on every machine: no platform mathematics ([`math`]), no clock, no threads.
#![forbid(unsafe_code)]

pub mod asset;
pub mod backdrop;
pub mod body;
pub mod camera;
pub mod damage;
#[cfg(feature = "sets")]
pub mod dataset;
pub mod film;
pub mod light;
pub mod mannequin;
pub mod math;
pub mod motion;
pub mod noise;
pub mod person;
pub mod posing;
pub mod raster;
pub mod render;
pub mod rng;
pub mod shot;
pub mod stance;
pub mod surface;
pub mod swatch;
pub mod wear;
