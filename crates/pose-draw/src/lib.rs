//! Draws poses.
#![no_std]
#![forbid(unsafe_code)]
