//! What every board does: receive the wire, keep the newest moment, draw it, answer.
//!
//! ```text
//!   UART bytes ──▶ Receiver ──▶ newest Moment ──▶ Screen::draw ──▶ Panel
//!                     │                               │
//!                     └──── HELLO request, RECEIPT ◀──┘  ──▶ UART bytes
//! ```
//!
//! No board, no clock, no interrupt in here: a board feeds bytes and the time, asks for bytes to send, and draws when asked
//! to. Decoding is `pose-wire`, drawing is `pose-draw`: the same code that the host runs. A robot needs only the
//! [`Receiver`] and [`Receiver::newest`].
#![no_std]
#![forbid(unsafe_code)]

mod moment;
mod receiver;
mod screen;

pub use moment::Moment;
pub use receiver::{LINK_LOST_AFTER_US, REQUEST_EVERY_US, Receiver};
pub use screen::{Panel, Screen, View, draw_view};
