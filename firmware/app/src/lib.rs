//! What every board does: receive the wire, keep the newest moment, draw it, answer.
//!
//! ```text
//!   UART bytes ──▶ Receiver ──▶ newest Moment ──▶ Screen::draw ──▶ Panel
//!                     │                               │
//!                     └──── HELLO request, RECEIPT ◀──┘  ──▶ UART bytes
//! ```
//!
//! No board, no clock, no interrupt in here: a board feeds bytes and the time, asks for bytes to send, and draws when asked
//! to. Receiving is `pose-wire`, drawing is `pose-draw`: the same code that the host runs. A robot needs only the
//! [`Receiver`] and [`Receiver::newest`].
#![no_std]
#![forbid(unsafe_code)]

mod arrival;
mod receiver;
mod screen;

pub use arrival::Arrival;
pub use receiver::{LINK_LOST_AFTER_US, REQUEST_EVERY_US, Receiver};
pub use screen::{Panel, Screen, View, draw_view};

/// Bits a second: `POSEWIRE_BAUD` when building, else what Posewire sends at unless told otherwise.
pub const BAUD: u32 = match option_env!("POSEWIRE_BAUD") {
    Some(text) => match u32::from_str_radix(text, 10) {
        Ok(baud) => baud,
        Err(_) => panic!("POSEWIRE_BAUD is not a number"),
    },
    None => pose_wire::DEFAULT_BAUD,
};
