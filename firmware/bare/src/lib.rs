//! What boards without an operating system or an executor share: [`run`], their main loop, and what it needs: a [`Clock`] and a
//! [`Ring`] that the UART's interrupt fills. Cortex-M3 and later.
#![no_std]

mod clock;
mod register;
mod ring;
mod run;

pub use clock::Clock;
pub use register::{Irq, Register};
pub use ring::Ring;
pub use run::{Line, run};
