//! Posewire on an STM32F411CE "Black Pill": poses on USART 2, an SSD1306 on SPI 1.
#![no_std]
#![no_main]

mod clock;
mod registers;
mod spi;
mod uart;

use bare::Clock;
use cortex_m::Peripherals;
use cortex_m_rt::{entry, exception};
use embedded_graphics::prelude::*;
use panels::Oled;
use pose_draw::Metrics;

use crate::{
    clock::{APB1_HZ, CLOCK_HZ},
    registers::*,
    spi::{Delay, Pin, Screen},
    uart::Uart,
};

#[entry]
fn main() -> ! {
    let core = Peripherals::take().expect("main runs once");
    clock::start();
    let clock = Clock::start(core.SYST, CLOCK_HZ);
    let (data_or_command, mut reset) = (Pin::new(0), Pin::new(1));
    let panel = Oled::start(Screen::start(), data_or_command, &mut reset, &mut Delay);
    let uart = Uart::start(app::BAUD, APB1_HZ);
    let screen = app::Screen::new(Oled::<Screen, Pin>::THEME, Metrics::for_panel(panel.size()));
    start_watchdog();
    bare::run(uart, panel, screen, &clock, || IWDG_KR.write(0xaaaa))
}

/// One second of the chip's 32 kHz, roughly; no turn of the main loop takes a tenth of it.
fn start_watchdog() {
    IWDG_KR.write(0xcccc);
    IWDG_KR.write(0x5555);
    IWDG_PR.write(3); // by 32
    IWDG_RLR.write(1_000);
    IWDG_KR.write(0xaaaa);
}

/// The vector table's only interrupt in use is the UART's; others are never enabled.
#[exception]
unsafe fn DefaultHandler(number: i16) {
    if number == 38 {
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
