//! The screen on SPI 0.

use embassy_rp::{
    gpio::Output,
    peripherals::SPI0,
    spi::{Blocking, Config, Phase, Polarity, Spi},
};
use embassy_time::Delay;
use embedded_graphics::prelude::*;
use embedded_hal_bus::spi::{ExclusiveDevice, NoDelay};
use pose_draw::{Metrics, Theme};

type Device = ExclusiveDevice<Spi<'static, SPI0, Blocking>, Output<'static>, NoDelay>;

/// The pins of a screen, beside clock and data.
pub struct Pins {
    /// Chip select, high.
    pub select: Output<'static>,
    /// Data or command.
    pub data_or_command: Output<'static>,
    /// Reset, high.
    pub reset: Output<'static>,
}

/// The screen that is built in.
#[cfg(feature = "ssd1306")]
pub type Screen = panels::Oled<Device, Output<'static>>;
/// The screen that is built in.
#[cfg(feature = "st7789")]
pub type Screen = panels::Lcd<Device, Output<'static>, Output<'static>>;

/// How the screen wants its SPI.
pub fn config() -> Config {
    let mut config = Config::default();
    config.frequency = Screen::SPI_HZ;
    if cfg!(feature = "st7789") {
        config.polarity = Polarity::IdleHigh;
        config.phase = Phase::CaptureOnSecondTransition;
    }
    config
}

/// Switches the screen on.
pub fn start(spi: Spi<'static, SPI0, Blocking>, pins: Pins) -> Screen {
    let Pins { select, data_or_command, reset } = pins;
    let Ok(device) = ExclusiveDevice::new_no_delay(spi, select);
    #[cfg(feature = "ssd1306")]
    {
        let mut reset = reset;
        let screen = Screen::start(device, data_or_command, &mut reset, &mut Delay);
        // Dropped, the pin would float and reset the panel.
        core::mem::forget(reset);
        screen
    }
    #[cfg(feature = "st7789")]
    {
        static BUFFER: static_cell::StaticCell<[u8; 512]> = static_cell::StaticCell::new();
        Screen::start(device, data_or_command, reset, &mut Delay, BUFFER.init([0; 512]))
    }
}

/// Colours for this screen.
pub fn theme() -> Theme<<Screen as DrawTarget>::Color> {
    #[cfg(feature = "ssd1306")]
    return Screen::THEME;
    #[cfg(feature = "st7789")]
    return Screen::theme();
}

/// Line widths and font for this screen.
pub fn metrics(screen: &Screen) -> Metrics {
    Metrics::for_panel(screen.size())
}
