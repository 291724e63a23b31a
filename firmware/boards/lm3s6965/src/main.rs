//! Posewire on the LM3S6965 evaluation board, which QEMU emulates with its screen: the firmware that the emulator tests run.
#![no_std]
#![no_main]

mod clock;
mod oled;
mod registers;
mod uart;

use app::Screen;
use bare::Clock;
use cortex_m::Peripherals;
use cortex_m_rt::{entry, exception};
use embedded_graphics::prelude::*;
use pose_draw::{Metrics, Theme};

use crate::{clock::CLOCK_HZ, oled::Oled, registers::*, uart::Uart};

/// No turn of the main loop takes a tenth of it.
const WATCHDOG_MS: u32 = 1_000;

#[entry]
fn main() -> ! {
    let core = Peripherals::take().expect("main runs once");
    clock::start();
    let clock = Clock::start(core.SYST, CLOCK_HZ);
    let panel = Oled::start();
    let uart = Uart::start(app::BAUD, CLOCK_HZ);
    let screen = Screen::new(Theme::grey(), Metrics::for_panel(panel.size()));
    // It resets the board when the main loop stands still for two periods.
    WDT_LOAD.write(CLOCK_HZ / 1_000 * WATCHDOG_MS);
    WDT_CTL.write(0b11);
    bare::run(uart, panel, screen, &clock, || WDT_ICR.write(1))
}

/// The vector table's only interrupt in use is the UART's; others are never enabled.
#[exception]
unsafe fn DefaultHandler(number: i16) {
    if number == 5 {
        uart::on_interrupt();
    }
}

/// Ends the main loop's sleep.
#[exception]
fn SysTick() {}

/// Stands still, so that the watchdog starts the board anew.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    cortex_m::interrupt::disable();
    loop {
        cortex_m::asm::nop();
    }
}
