//! USART 2 on PA2 and PA3, received by interrupt; it has no FIFO.

use bare::{Irq, Line, Ring};
use cortex_m::peripheral::NVIC;

use crate::registers::*;

const ENABLED: u32 = 1 << 13 | 1 << 3 | 1 << 2;
const RECEIVE_INTERRUPT: u32 = 1 << 5;
const OVERRUN: u32 = 1 << 3;
const RECEIVED: u32 = 1 << 5;
const TRANSMIT_EMPTY: u32 = 1 << 7;

// SAFETY: USART 2's number in the manual's table of vectors.
const USART_2: Irq = unsafe { Irq::new(38) };

static RING: Ring = Ring::new();

/// The UART.
pub struct Uart;

impl Uart {
    /// Sets the UART to `baud`, 8N1, from a bus clock of `bus_hz`, and starts to receive.
    pub fn start(baud: u32, bus_hz: u32) -> Self {
        let (modes, functions) =
            if cfg!(feature = "rtscts") { (0b1010_1010, 0x7777) } else { (0b1010_0000, 0x7700) };
        GPIO_A_MODER.set(modes);
        GPIO_A_AFRL.set(functions);
        USART_BRR.write((bus_hz + baud / 2) / baud);
        // With RTS the line says by itself that a byte waits unread; with CTS it waits itself.
        USART_CR3.write(if cfg!(feature = "rtscts") { 0b11 << 8 } else { 0 });
        USART_CR1.write(ENABLED | RECEIVE_INTERRUPT);
        // SAFETY: the handler touches the ring and the UART alone, both of which are ready.
        unsafe { NVIC::unmask(USART_2) };
        Self
    }
}

impl Line for Uart {
    fn ring(&self) -> &'static Ring {
        &RING
    }

    fn resume(&mut self) {
        USART_CR1.write(ENABLED | RECEIVE_INTERRUPT);
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            // A host that holds CTS loses the answer, not the poses.
            if !USART_SR.wait_for(TRANSMIT_EMPTY) {
                return;
            }
            USART_DR.write(u32::from(*byte));
        }
    }
}

/// USART 2's handler: into the ring.
pub fn on_interrupt() {
    let status = USART_SR.read();
    if status & (RECEIVED | OVERRUN) == 0 {
        return;
    }
    if RING.is_full() {
        USART_CR1.write(ENABLED);
        return;
    }
    // Reading the byte after the status clears the overrun. This byte came before the gap.
    RING.push(USART_DR.read() as u8);
    if status & OVERRUN != 0 {
        RING.gap();
        USART_CR1.write(ENABLED);
    }
}
