//! The processor's clock.

use crate::registers::*;

/// The PLL's 200 MHz by four.
pub const CLOCK_HZ: u32 = 50_000_000;

/// 50 MHz from the 8 MHz crystal by the PLL; clocks for the parts that are used.
pub fn start() {
    const BYPASS: u32 = 1 << 11;
    const POWER_DOWN: u32 = 1 << 13;
    const USE_DIVIDER: u32 = 1 << 22;
    const BY_FOUR: u32 = 3 << 23;
    const CRYSTAL_8_MHZ: u32 = 0xe << 6;
    const LOCKED: u32 = 1 << 6;
    RCC.set(BYPASS);
    let running = BY_FOUR | USE_DIVIDER | CRYSTAL_8_MHZ | BYPASS;
    RCC.write(running | POWER_DOWN);
    RCC.write(running);
    RIS.wait_for(LOCKED);
    RCC.write(running & !BYPASS);
    RCGC0.set(1 << 3);
    RCGC1.set(1 << 4 | 1);
    RCGC2.set(0b1101);
    // The data sheet asks for three cycles before the first access.
    cortex_m::asm::delay(8);
}
