//! Posewire on the LM3S6965 evaluation board, which QEMU emulates with its screen: the firmware that the emulator tests run.
#![no_std]
#![no_main]

mod oled;
mod registers;
mod uart;

use core::sync::atomic::{AtomicU32, Ordering};

use app::{Receiver, Screen};
use cortex_m::{
    Peripherals,
    peripheral::{SYST, syst::SystClkSource},
};
use cortex_m_rt::{entry, exception};
use embedded_graphics::prelude::*;
use pose_draw::{Metrics, Theme};
use pose_wire::MAX_PACKET;

use crate::{oled::Oled, registers::*, uart::Uart};

/// What Posewire sends at unless told otherwise.
const BAUD: u32 = 115_200;
/// The PLL's 200 MHz by four.
const CLOCK_HZ: u32 = 50_000_000;
/// No turn of the main loop takes a tenth of it.
const WATCHDOG_MS: u32 = 1_000;

static MILLISECONDS: AtomicU32 = AtomicU32::new(0);

#[entry]
fn main() -> ! {
    start_clocks();
    let mut core = Peripherals::take().expect("main runs once");
    core.SYST.set_clock_source(SystClkSource::Core);
    core.SYST.set_reload(CLOCK_HZ / 1_000 - 1);
    core.SYST.clear_current();
    core.SYST.enable_counter();
    core.SYST.enable_interrupt();

    let mut panel = Oled::start();
    let mut uart = Uart::start(BAUD, CLOCK_HZ);
    let mut receiver = Receiver::new();
    let mut screen = Screen::new(Theme::grey(), Metrics::for_panel(panel.size()));
    let mut frame = [0; MAX_PACKET];
    start_watchdog();

    loop {
        let lost = uart.overruns();
        if lost > 0 {
            receiver.overrun(lost);
        }
        // At most what the ring held when the turn began and a little more: the panel gets its turn under any flood.
        let at_us = now_us();
        for _ in 0..2048 {
            let Some(byte) = uart.read() else { break };
            receiver.push(byte, at_us);
        }
        uart.resume();
        loop {
            let n = receiver.answer(now_us(), &mut frame);
            if n == 0 {
                break;
            }
            uart.write(&frame[..n]);
        }
        let Ok(_) = screen.draw(&mut receiver, &mut panel, now_us);
        // Only here, after everything has had its turn.
        WDT_ICR.write(1);
    }
}

/// 50 MHz from the 8 MHz crystal by the PLL; clocks for the parts that are used.
fn start_clocks() {
    const BYPASS: u32 = 1 << 11;
    const POWER_DOWN: u32 = 1 << 13;
    const USE_DIVIDER: u32 = 1 << 22;
    const BY_FOUR: u32 = 3 << 23;
    const CRYSTAL_8_MHZ: u32 = 0xe << 6;
    RCC.write(RCC.read() | BYPASS);
    let running = BY_FOUR | USE_DIVIDER | CRYSTAL_8_MHZ | BYPASS;
    RCC.write(running | POWER_DOWN);
    RCC.write(running);
    // Until the PLL has locked, or as long as the data sheet gives it.
    for _ in 0..32_768 {
        if RIS.read() & 1 << 6 != 0 {
            break;
        }
    }
    RCC.write(running & !BYPASS);
    RCGC0.set(1 << 3);
    RCGC1.set(1 << 4 | 1);
    RCGC2.set(0b1101);
    // The data sheet asks for three cycles before the first access.
    cortex_m::asm::delay(8);
}

/// Resets the board when the main loop stands still for two periods.
fn start_watchdog() {
    WDT_LOAD.write(CLOCK_HZ / 1_000 * WATCHDOG_MS);
    WDT_CTL.write(0b11);
}

/// Microseconds since the start: whole milliseconds that the interrupt counts, and the part that the timer has done.
fn now_us() -> u64 {
    let reload = CLOCK_HZ / 1_000 - 1;
    loop {
        let before = MILLISECONDS.load(Ordering::Relaxed);
        let left = SYST::get_current();
        if MILLISECONDS.load(Ordering::Relaxed) == before {
            return u64::from(before) * 1_000 + u64::from((reload - left) / (CLOCK_HZ / 1_000_000));
        }
    }
}

#[exception]
fn SysTick() {
    MILLISECONDS.fetch_add(1, Ordering::Relaxed);
}

/// The vector table's only interrupt in use is UART 0's; others are never enabled.
#[exception]
unsafe fn DefaultHandler(irq: i16) {
    if irq == 5 {
        uart::on_interrupt();
    }
}

/// Stands still, so that the watchdog starts the board anew.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    cortex_m::interrupt::disable();
    loop {
        cortex_m::asm::nop();
    }
}
