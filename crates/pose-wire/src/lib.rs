//! The wire protocol.
#![no_std]
#![forbid(unsafe_code)]
