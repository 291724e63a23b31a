//! The interrupts that are used, by their numbers in the data sheet.

use cortex_m::interrupt::InterruptNumber;

/// A number of the vector table after the processor's own.
#[derive(Clone, Copy)]
pub struct Irq(u16);

impl Irq {
    /// UART 0.
    pub const UART_0: Irq = Irq(5);
    /// Timer 0, A.
    pub const TIMER_0: Irq = Irq(19);
}

// SAFETY: the numbers above are the data sheet's, and there is no way to make others.
unsafe impl InterruptNumber for Irq {
    fn number(self) -> u16 {
        self.0
    }
}
