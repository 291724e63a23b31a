//! SPI 1 on PA5 (clock) and PA7 (data) with its select on PA4: as much of it as a screen needs, which only listens.

use core::convert::Infallible;

use bare::Register;
use embedded_hal::{
    delay::DelayNs,
    digital::{self, OutputPin},
    spi::{self, Operation, SpiDevice},
};

use crate::{clock::CLOCK_HZ, registers::*};

const BUSY: u32 = 1 << 7;
const TRANSMIT_EMPTY: u32 = 1 << 1;

/// The screen's SPI.
pub struct Screen;

impl Screen {
    /// 6 MHz, mode 0, eight bits, the most significant first.
    pub fn start() -> Self {
        const MASTER: u32 = 1 << 2;
        const BY_16: u32 = 0b011 << 3;
        const SELECT_BY_SOFTWARE: u32 = 0b11 << 8;
        GPIO_A_BSRR.write(1 << 4);
        GPIO_A_OSPEEDR.set(0b10 << 14 | 0b10 << 10 | 0b10 << 8);
        GPIO_A_AFRL.set(0x5050_0000);
        GPIO_A_MODER.set(0b10 << 14 | 0b10 << 10 | 0b01 << 8);
        SPI_CR1.write(SELECT_BY_SOFTWARE | BY_16 | MASTER);
        SPI_CR1.set(1 << 6);
        Self
    }
}

impl spi::ErrorType for Screen {
    type Error = Infallible;
}

impl SpiDevice for Screen {
    fn transaction(&mut self, operations: &mut [Operation<'_, u8>]) -> Result<(), Infallible> {
        GPIO_A_BSRR.write(1 << (4 + 16));
        for operation in operations {
            match operation {
                Operation::Write(bytes) | Operation::Transfer(_, bytes) => {
                    for byte in *bytes {
                        SPI_SR.wait_for(TRANSMIT_EMPTY);
                        SPI_DR.write(u32::from(*byte));
                    }
                }
                Operation::DelayNs(ns) => Delay.delay_ns(*ns),
                // A screen says nothing on this SPI.
                Operation::Read(bytes) => bytes.fill(0),
                Operation::TransferInPlace(bytes) => bytes.fill(0),
            }
        }
        // The select, and D/C after it, must not change before the last bit is out.
        SPI_SR.wait_for(TRANSMIT_EMPTY);
        while SPI_SR.read() & BUSY != 0 {}
        GPIO_A_BSRR.write(1 << 4);
        Ok(())
    }
}

/// An output of GPIO B.
pub struct Pin(u32);

impl Pin {
    /// Pin `number`, 0 to 15.
    pub fn new(number: u32) -> Self {
        GPIO_B_MODER.clear(0b11 << (2 * number));
        GPIO_B_MODER.set(0b01 << (2 * number));
        Self(number)
    }
}

impl digital::ErrorType for Pin {
    type Error = Infallible;
}

impl OutputPin for Pin {
    fn set_low(&mut self) -> Result<(), Infallible> {
        write(GPIO_B_BSRR, self.0 + 16)
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        write(GPIO_B_BSRR, self.0)
    }
}

fn write(register: Register, bit: u32) -> Result<(), Infallible> {
    register.write(1 << bit);
    Ok(())
}

/// Waits by counting cycles.
pub struct Delay;

impl DelayNs for Delay {
    fn delay_ns(&mut self, ns: u32) {
        // At least as long: a loop's turn takes more than one cycle.
        cortex_m::asm::delay(ns.div_ceil(1_000) * (CLOCK_HZ / 1_000_000));
    }
}
