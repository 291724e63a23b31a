//! Posewire on the LM3S6965 evaluation board, which QEMU emulates with its screen: the firmware that the emulator tests run.
#![no_std]
#![no_main]

mod clock;
mod irq;
mod oled;
mod registers;
mod uart;

use app::{Receiver, Screen};
use cortex_m::Peripherals;
use cortex_m_rt::{entry, exception};
use embedded_graphics::prelude::*;
use pose_draw::{Metrics, Theme};
use pose_wire::MAX_PACKET;

use crate::{clock::Clock, oled::Oled, registers::*, uart::Uart};

/// What Posewire sends at unless told otherwise.
const BAUD: u32 = 115_200;
/// The PLL's 200 MHz by four.
const CLOCK_HZ: u32 = 50_000_000;
/// No turn of the main loop takes a tenth of it.
const WATCHDOG_MS: u32 = 1_000;

#[entry]
fn main() -> ! {
    start_clocks();
    let core = Peripherals::take().expect("main runs once");
    let clock = Clock::start(core.SYST, CLOCK_HZ);
    let mut panel = Oled::start();
    let mut uart = Uart::start(BAUD, CLOCK_HZ);
    let mut receiver = Receiver::new();
    let mut screen = Screen::new(Theme::grey(), Metrics::for_panel(panel.size()));
    let mut frame = [0; MAX_PACKET];
    start_watchdog();

    loop {
        // At most a ring's worth: the panel gets its turn under any flood.
        let at_us = clock.now_us();
        for _ in 0..uart::RING {
            let Some(byte) = uart.read() else { break };
            receiver.push(byte, at_us);
        }
        let gaps = uart.overruns();
        if gaps > 0 {
            receiver.overrun(gaps);
        }
        uart.resume();
        loop {
            let n = receiver.answer(clock.now_us(), &mut frame);
            if n == 0 {
                break;
            }
            uart.write(&frame[..n]);
        }
        let Ok(drawn) = screen.draw(&mut receiver, &mut panel, || clock.now_us());
        // Only here, after everything has had its turn.
        WDT_ICR.write(1);
        if !drawn {
            uart.wait();
        }
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
    RCGC1.set(1 << 16 | 1 << 4 | 1);
    RCGC2.set(0b1101);
    // The data sheet asks for three cycles before the first access.
    cortex_m::asm::delay(8);
}

/// Resets the board when the main loop stands still for two periods.
fn start_watchdog() {
    WDT_LOAD.write(CLOCK_HZ / 1_000 * WATCHDOG_MS);
    WDT_CTL.write(0b11);
}

/// The vector table's two interrupts in use; others are never enabled.
#[exception]
unsafe fn DefaultHandler(number: i16) {
    match number {
        5 => uart::on_interrupt(),
        19 => clock::on_interrupt(),
        _ => {}
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
