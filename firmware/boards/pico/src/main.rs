//! Posewire on a Raspberry Pi Pico or Pico 2: poses on UART 0 or on the board's own USB cable, a screen on SPI 0.
#![no_std]
#![no_main]

#[cfg(not(feature = "usb"))]
#[path = "uart.rs"]
mod line;
#[cfg(feature = "usb")]
#[path = "usb.rs"]
mod line;
mod panel;

use app::Receiver;
use embassy_executor::Spawner;
use embassy_futures::select::{Either, select};
use embassy_rp::{
    gpio::{Level, Output},
    spi::Spi,
    watchdog::Watchdog,
};
use embassy_time::{Duration, Instant, Timer};
use embedded_io_async::{BufRead, ReadReady, Write};
use pose_wire::MAX_PACKET;
use static_cell::StaticCell;

/// Bytes that wait while the screen is drawn: 44 ms at 921600 baud, where the OLED takes 5. The LCD takes 52 with four persons: a full
/// line of that speed wants `rtscts` there.
const RING: usize = 4096;
/// Answers that wait to be sent.
const ANSWERS: usize = 256;
/// No turn of the main loop takes a tenth of it.
const WATCHDOG: Duration = Duration::from_secs(1);
/// How long the main loop sleeps on a silent line: often enough for the watchdog and for the seconds of "link lost".
const IDLE: Duration = Duration::from_millis(100);

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    static RECEIVER: StaticCell<Receiver> = StaticCell::new();

    let p = embassy_rp::init(Default::default());
    #[cfg(not(feature = "usb"))]
    let mut line = line::open(line::Pins {
        uart: p.UART0,
        tx: p.PIN_0,
        rx: p.PIN_1,
        #[cfg(feature = "rtscts")]
        rts: p.PIN_3,
        #[cfg(feature = "rtscts")]
        cts: p.PIN_2,
    });
    #[cfg(feature = "usb")]
    let mut line = line::open(p.USB);

    let spi = Spi::new_blocking_txonly(p.SPI0, p.PIN_18, p.PIN_19, panel::config());
    let pins = panel::Pins {
        select: Output::new(p.PIN_17, Level::High),
        data_or_command: Output::new(p.PIN_20, Level::Low),
        reset: Output::new(p.PIN_21, Level::High),
    };
    let mut panel = panel::start(spi, pins);
    let mut screen = app::Screen::new(panel::theme(), panel::metrics(&panel));
    let receiver = RECEIVER.init_with(Receiver::new);
    let mut frame = [0; MAX_PACKET];
    let mut watchdog = Watchdog::new(p.WATCHDOG);
    watchdog.start(WATCHDOG);

    loop {
        // At most a ring's worth a turn: the screen gets its turn under any flood.
        let mut taken = 0;
        while taken < RING && (taken == 0 || line.read_ready().unwrap_or(true)) {
            match select(line.fill_buf(), Timer::after(IDLE)).await {
                Either::First(Ok(bytes)) => {
                    let now_us = now_us();
                    bytes.iter().for_each(|b| receiver.push(*b, now_us));
                    let n = bytes.len();
                    line.consume(n);
                    taken += n;
                }
                // Overrun, framing or break: bytes are missing, how many nobody knows. It ends the turn as a byte does: at a wrong baud
                // rate nothing else ever comes.
                Either::First(Err(_)) => {
                    receiver.overrun(1);
                    // At an error the driver masks its interrupt, and only this unmasks it.
                    line.consume(0);
                    taken += 1;
                }
                Either::Second(()) => break,
            }
        }
        // A screen that cannot be written to is no reason to stop receiving.
        let _ = screen.draw(receiver, &mut panel, now_us);
        loop {
            let n = receiver.answer(now_us(), &mut frame);
            if n == 0 {
                break;
            }
            // The ring takes several answers; only a host that stops us with CTS makes this wait, and then not for long.
            let _ = select(line.write_all(&frame[..n]), Timer::after(IDLE)).await;
        }
        // Only here, after everything has had its turn.
        watchdog.feed(WATCHDOG);
    }
}

fn now_us() -> u64 {
    Instant::now().as_micros()
}

/// Stands still, so that the watchdog starts the board anew.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    cortex_m::interrupt::disable();
    loop {
        cortex_m::asm::nop();
    }
}
