//! Device registers and interrupts, by their addresses and numbers.

use core::ptr::{read_volatile, write_volatile};

use cortex_m::interrupt::InterruptNumber;

/// One 32-bit register.
#[derive(Clone, Copy)]
pub struct Register(usize);

impl Register {
    /// The register at `address`.
    ///
    /// # Safety
    /// It is a register of the device: aligned, always mapped, and nothing written to it moves or protects memory.
    pub const unsafe fn at(address: usize) -> Self {
        Self(address)
    }

    /// Its value.
    pub fn read(self) -> u32 {
        // SAFETY: whoever called `at` said so.
        unsafe { read_volatile(self.0 as *const u32) }
    }

    /// Sets its value.
    pub fn write(self, value: u32) {
        // SAFETY: whoever called `at` said so.
        unsafe { write_volatile(self.0 as *mut u32, value) }
    }

    /// Sets `bits`, the others stay.
    pub fn set(self, bits: u32) {
        self.write(self.read() | bits);
    }

    /// Clears `bits`, the others stay.
    pub fn clear(self, bits: u32) {
        self.write(self.read() & !bits);
    }

    /// Waits until all of `bits` are set, but not for ever: what is broken must not keep the board from saying so.
    pub fn wait_for(self, bits: u32) -> bool {
        (0..100_000).any(|_| self.read() & bits == bits)
    }
}

/// An interrupt's number in the vector table, after the processor's own.
#[derive(Clone, Copy)]
pub struct Irq(u16);

impl Irq {
    /// Interrupt `number`.
    ///
    /// # Safety
    /// The device has it.
    pub const unsafe fn new(number: u16) -> Self {
        Self(number)
    }
}

// SAFETY: whoever called `new` said so.
unsafe impl InterruptNumber for Irq {
    fn number(self) -> u16 {
        self.0
    }
}
