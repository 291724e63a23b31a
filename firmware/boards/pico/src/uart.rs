//! The line on UART 0.

#[cfg(feature = "rtscts")]
use embassy_rp::peripherals::{PIN_2, PIN_3};
use embassy_rp::{
    Peri, bind_interrupts, pac,
    peripherals::{PIN_0, PIN_1, UART0},
    uart::{BufferedInterruptHandler, BufferedUart, Config},
};
use static_cell::StaticCell;

use crate::{ANSWERS, RING};

bind_interrupts!(struct Interrupts {
    UART0_IRQ => BufferedInterruptHandler<UART0>;
});

/// What it takes of the board.
pub struct Pins {
    /// The UART.
    pub uart: Peri<'static, UART0>,
    /// To the host.
    pub tx: Peri<'static, PIN_0>,
    /// From the host.
    pub rx: Peri<'static, PIN_1>,
    /// Stops the host.
    #[cfg(feature = "rtscts")]
    pub rts: Peri<'static, PIN_3>,
    /// The host stops us.
    #[cfg(feature = "rtscts")]
    pub cts: Peri<'static, PIN_2>,
}

/// Begins to receive.
pub fn open(pins: Pins) -> BufferedUart {
    static RECEIVED: StaticCell<[u8; RING]> = StaticCell::new();
    static TO_SEND: StaticCell<[u8; ANSWERS]> = StaticCell::new();
    let mut config = Config::default();
    config.baudrate = app::BAUD;
    let (to_send, received) = (TO_SEND.init([0; ANSWERS]), RECEIVED.init([0; RING]));
    #[cfg(not(feature = "rtscts"))]
    let uart = BufferedUart::new(pins.uart, pins.tx, pins.rx, Interrupts, to_send, received, config);
    #[cfg(feature = "rtscts")]
    let uart = BufferedUart::new_with_rtscts(
        pins.uart, pins.tx, pins.rx, pins.rts, pins.cts, Interrupts, to_send, received, config,
    );
    // The driver leaves GPIO 1 floating; hum on it would be bytes and errors where nothing is plugged in.
    pac::PADS_BANK0.gpio(1).modify(|pad| {
        pad.set_pue(true);
        pad.set_schmitt(true);
    });
    uart
}
