//! Posewire on an ESP32-C3: poses over the board's own USB cable, an SSD1306 on SPI 2.
//!
//! The chip's USB port is a serial port to the host, for which any baud rate is right. It takes 64 bytes at a time and makes the host wait
//! for the rest, so nothing is lost and no interrupt is needed while the screen is drawn.
#![no_std]
#![no_main]

use app::Receiver;
use embedded_graphics::prelude::*;
use embedded_hal_bus::spi::ExclusiveDevice;
use esp_hal::{
    Blocking,
    clock::CpuClock,
    delay::Delay,
    gpio::{Level, Output, OutputConfig},
    spi::master::{Config as SpiConfig, Spi},
    time::{Duration, Instant, Rate},
    timer::timg::{MwdtStage, TimerGroup},
    usb_serial_jtag::{UsbSerialJtag, UsbSerialJtagRx, UsbSerialJtagTx},
};
use panels::Oled;
use pose_draw::Metrics;
use pose_wire::MAX_PACKET;

esp_bootloader_esp_idf::esp_app_desc!();

type Device = ExclusiveDevice<Spi<'static, Blocking>, Output<'static>, Delay>;
type Screen = Oled<Device, Output<'static>>;

/// At most so many bytes a turn: the screen gets its turn under any flood.
const TURN_BYTES: usize = 4096;
/// A host that has more sends it within this time.
const MORE_WITHIN: Duration = Duration::from_micros(300);
/// A host that takes no answer for so long is not there.
const ANSWER_WITHIN: Duration = Duration::from_millis(5);

#[esp_hal::main]
fn main() -> ! {
    let p = esp_hal::init(esp_hal::Config::default().with_cpu_clock(CpuClock::max()));
    let config = SpiConfig::default().with_frequency(Rate::from_hz(Screen::SPI_HZ));
    // A frequency of the panel's data sheet, which the chip has.
    let Ok(spi) = Spi::new(p.SPI2, config) else { unreachable!() };
    let spi = spi.with_sck(p.GPIO4).with_mosi(p.GPIO6);
    let pin = OutputConfig::default();
    let Ok(device) = ExclusiveDevice::new(spi, Output::new(p.GPIO7, Level::High, pin), Delay::new());
    let data_or_command = Output::new(p.GPIO5, Level::Low, pin);
    let mut reset = Output::new(p.GPIO10, Level::High, pin);
    let mut panel = Screen::start(device, data_or_command, &mut reset, &mut Delay::new());
    let mut screen = app::Screen::new(Screen::THEME, Metrics::for_panel(panel.size()));
    let (mut rx, mut tx) = UsbSerialJtag::new(p.USB_DEVICE).split();
    let mut watchdog = TimerGroup::new(p.TIMG0).wdt;
    // No turn of the main loop takes a tenth of it.
    watchdog.set_timeout(MwdtStage::Stage0, Duration::from_secs(1));
    watchdog.enable();

    let mut receiver = Receiver::new();
    let mut frame = [0; MAX_PACKET];
    loop {
        receive(&mut rx, &mut receiver);
        // A screen that cannot be written to is no reason to stop receiving.
        let _ = screen.draw(&mut receiver, &mut panel, now_us);
        loop {
            let n = receiver.answer(now_us(), &mut frame);
            if n == 0 {
                break;
            }
            send(&mut tx, &frame[..n]);
        }
        // Only here, after everything has had its turn.
        watchdog.feed();
    }
}

/// Takes what the host has to say now.
fn receive(rx: &mut UsbSerialJtagRx<'static, Blocking>, receiver: &mut Receiver) {
    let mut heard_at = Instant::now();
    for _ in 0..TURN_BYTES {
        loop {
            if let Ok(byte) = rx.read_byte() {
                heard_at = Instant::now();
                receiver.push(byte, now_us());
                break;
            }
            if heard_at.elapsed() > MORE_WITHIN {
                return;
            }
        }
    }
}

/// Sends an answer, or leaves it where nobody takes it.
fn send(tx: &mut UsbSerialJtagTx<'static, Blocking>, bytes: &[u8]) {
    let began = Instant::now();
    for &byte in bytes {
        while tx.write_byte_nb(byte).is_err() {
            if began.elapsed() > ANSWER_WITHIN {
                return;
            }
        }
    }
    let _ = tx.flush_tx_nb();
}

fn now_us() -> u64 {
    Instant::now().duration_since_epoch().as_micros()
}

/// Stands still, so that the watchdog starts the board anew.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
