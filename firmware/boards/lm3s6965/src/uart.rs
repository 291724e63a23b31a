//! UART 0, a PL011, received by interrupt.

use bare::{Irq, Line, Ring};
use cortex_m::peripheral::NVIC;

use crate::registers::*;

const RECEIVE_EMPTY: u32 = 1 << 4;
const TRANSMIT_FULL: u32 = 1 << 5;
/// Receive and receive-timeout interrupts.
const RECEIVED: u32 = 1 << 4 | 1 << 6;
const OVERRUN: u32 = 1 << 11;

// SAFETY: UART 0's number in the data sheet's table of interrupts.
const UART_0: Irq = unsafe { Irq::new(5) };

static RING: Ring = Ring::new();

/// The UART.
pub struct Uart;

impl Uart {
    /// Sets the UART to `baud`, 8N1, from a system clock of `clock_hz`, and starts to receive.
    pub fn start(baud: u32, clock_hz: u32) -> Self {
        GPIO_A_AFSEL.set(0b11);
        GPIO_A_DEN.set(0b11);
        // The divisor in 1/64, rounded.
        let divisor = (clock_hz * 4 + baud / 2) / baud;
        UART_CTL.write(0);
        UART_IBRD.write(divisor >> 6);
        UART_FBRD.write(divisor & 63);
        UART_LCRH.write(3 << 5 | 1 << 4); // eight bits, FIFOs
        UART_CTL.write(1 << 9 | 1 << 8 | 1);
        UART_IM.write(RECEIVED);
        // SAFETY: the handler touches the ring and the UART alone, both of which are ready.
        unsafe { NVIC::unmask(UART_0) };
        Self
    }
}

impl Line for Uart {
    fn ring(&self) -> &'static Ring {
        &RING
    }

    fn resume(&mut self) {
        UART_IM.write(RECEIVED);
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            // Without CTS the FIFO always empties.
            while UART_FR.read() & TRANSMIT_FULL != 0 {}
            UART_DR.write(u32::from(*byte));
        }
    }
}

/// UART 0's handler: from the FIFO into the ring. Both interrupts end when the FIFO is empty; were they cleared by hand, bytes that
/// stay in it for want of room would raise none again.
pub fn on_interrupt() {
    while UART_FR.read() & RECEIVE_EMPTY == 0 {
        if RING.is_full() {
            UART_IM.write(0);
            return;
        }
        let received = UART_DR.read();
        if received & OVERRUN != 0 {
            // This byte comes after the gap. Dropped, it makes the gap one longer; kept, it would be taken for one before it.
            RING.gap();
            UART_IM.write(0);
            return;
        }
        RING.push(received as u8);
    }
}
