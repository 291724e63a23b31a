//! The processor's and the buses' clocks.

use crate::registers::*;

/// Processor, AHB and APB 2.
pub const CLOCK_HZ: u32 = 96_000_000;
/// APB 1, which takes 50 MHz at most.
pub const APB1_HZ: u32 = CLOCK_HZ / 2;

/// 96 MHz by the PLL, from the board's 25 MHz crystal or, where it does not start, from the chip's own 16 MHz; clocks for the parts
/// that are used.
pub fn start() {
    const POWER_CONTROL: u32 = 1 << 28;
    const SCALE_1: u32 = 0b11 << 14;
    const SCALE_READY: u32 = 1 << 14;
    const CRYSTAL_ON: u32 = 1 << 16;
    const CRYSTAL_READY: u32 = 1 << 17;
    const PLL_ON: u32 = 1 << 24;
    const PLL_READY: u32 = 1 << 25;
    const FROM_CRYSTAL: u32 = 1 << 22;
    /// 1 MHz × 192 / 2.
    const BY_192_OVER_2: u32 = 192 << 6;
    RCC_APB1ENR.set(POWER_CONTROL);
    RCC_CR.set(CRYSTAL_ON);
    let source = if RCC_CR.wait_for(CRYSTAL_READY) { FROM_CRYSTAL | 25 } else { 16 };
    RCC_PLLCFGR.write(4 << 24 | BY_192_OVER_2 | source);
    // The core's voltage at reset, scale 2, is enough for 84 MHz. It can be chosen only while the PLL is off.
    PWR_CR.set(SCALE_1);
    RCC_CR.set(PLL_ON);
    RCC_CR.wait_for(PLL_READY);
    PWR_CSR.wait_for(SCALE_READY);
    // Three wait states at 96 MHz and 3.3 V; caches and prefetch.
    FLASH_ACR.write(0b111 << 8 | 3);
    RCC_CFGR.write(0b100 << 10 | 0b10); // APB 1 by two; run from the PLL
    RCC_CFGR.wait_for(0b10 << 2);

    RCC_AHB1ENR.set(0b11);
    RCC_APB1ENR.set(1 << 17);
    RCC_APB2ENR.set(1 << 12);
    // The manual asks for two cycles before the first access.
    cortex_m::asm::delay(8);
}
