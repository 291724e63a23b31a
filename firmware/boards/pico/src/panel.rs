//! The screen on SPI 0: what differs between the two that are known.

use app::Panel;
use embassy_rp::{
    gpio::{Level, Output},
    peripherals::SPI0,
    spi::{Blocking, Config, Spi},
};
use embassy_time::Delay;
use embedded_graphics::prelude::*;
use embedded_hal_bus::spi::{ExclusiveDevice, NoDelay};
use pose_draw::{Metrics, Theme};

type Device = ExclusiveDevice<Spi<'static, SPI0, Blocking>, Output<'static>, NoDelay>;

/// The pins of a screen, beside clock and data.
pub struct Pins {
    /// Chip select.
    pub cs: Output<'static>,
    /// Data or command.
    pub dc: Output<'static>,
    /// Reset, low.
    pub reset: Output<'static>,
}

impl Pins {
    /// All at rest.
    pub fn new(
        cs: embassy_rp::Peri<'static, impl embassy_rp::gpio::Pin>,
        dc: embassy_rp::Peri<'static, impl embassy_rp::gpio::Pin>,
        reset: embassy_rp::Peri<'static, impl embassy_rp::gpio::Pin>,
    ) -> Self {
        Self {
            cs: Output::new(cs, Level::High),
            dc: Output::new(dc, Level::Low),
            reset: Output::new(reset, Level::High),
        }
    }
}

#[cfg(feature = "ssd1306")]
pub use oled::{Screen, config, start, theme};

#[cfg(feature = "ssd1306")]
mod oled {
    use embedded_graphics::{pixelcolor::BinaryColor, primitives::Rectangle};
    use ssd1306::{Ssd1306, mode::BufferedGraphicsMode, prelude::*};

    use super::*;

    /// A 128×64 OLED: drawn in RAM, sent as a whole.
    pub struct Screen(
        Ssd1306<
            SPIInterface<Device, Output<'static>>,
            DisplaySize128x64,
            BufferedGraphicsMode<DisplaySize128x64>,
        >,
    );

    /// 8 MHz: the controller takes 10.
    pub fn config() -> Config {
        let mut config = Config::default();
        config.frequency = 8_000_000;
        config
    }

    /// Switches the panel on.
    pub fn start(spi: Spi<'static, SPI0, Blocking>, pins: Pins) -> Screen {
        let Pins { cs, dc, mut reset } = pins;
        let Ok(device) = ExclusiveDevice::new_no_delay(spi, cs);
        let mut panel =
            Ssd1306::new(SPIInterface::new(device, dc), DisplaySize128x64, DisplayRotation::Rotate0)
                .into_buffered_graphics_mode();
        // A panel that is not there does not answer on SPI either: neither call can fail here.
        let _ = panel.reset(&mut reset, &mut Delay);
        let _ = panel.init();
        // The pin must stay high.
        core::mem::forget(reset);
        Screen(panel)
    }

    /// One bit a pixel.
    pub fn theme() -> Theme<BinaryColor> {
        Theme::MONO
    }

    impl DrawTarget for Screen {
        type Color = BinaryColor;
        type Error = display_error::Error;

        fn draw_iter<I: IntoIterator<Item = Pixel<BinaryColor>>>(
            &mut self,
            pixels: I,
        ) -> Result<(), Self::Error> {
            self.0.draw_iter(pixels)
        }

        fn fill_solid(&mut self, area: &Rectangle, colour: BinaryColor) -> Result<(), Self::Error> {
            self.0.fill_solid(area, colour)
        }

        fn clear(&mut self, colour: BinaryColor) -> Result<(), Self::Error> {
            self.0.clear(colour)
        }
    }

    impl OriginDimensions for Screen {
        fn size(&self) -> Size {
            let (width, height) = self.0.dimensions();
            Size::new(u32::from(width), u32::from(height))
        }
    }

    impl Panel for Screen {
        fn show(&mut self) -> Result<(), Self::Error> {
            self.0.flush()
        }
    }

    /// The driver's error type, by a shorter name.
    mod display_error {
        pub type Error = <super::Ssd1306<
            super::SPIInterface<super::Device, super::Output<'static>>,
            super::DisplaySize128x64,
            super::BufferedGraphicsMode<super::DisplaySize128x64>,
        > as embedded_graphics::draw_target::DrawTarget>::Error;
    }
}

#[cfg(feature = "st7789")]
pub use lcd::{Screen, config, start, theme};

#[cfg(feature = "st7789")]
mod lcd {
    use embassy_rp::spi::{Phase, Polarity};
    use embedded_graphics::{pixelcolor::Rgb565, primitives::Rectangle};
    use mipidsi::{Builder, Display, interface::SpiInterface, models::ST7789, options::ColorInversion};
    use static_cell::StaticCell;

    use super::*;

    type Driver = Display<SpiInterface<'static, Device, Output<'static>>, ST7789, Output<'static>>;

    /// A 240×240 LCD: drawn directly, since a picture in RAM would take 115 KB.
    pub struct Screen(Driver);

    /// The controller's limit for writing is 62.5 MHz, which is also what the RP2040 can do.
    pub fn config() -> Config {
        let mut config = Config::default();
        config.frequency = 62_500_000;
        config.polarity = Polarity::IdleHigh;
        config.phase = Phase::CaptureOnSecondTransition;
        config
    }

    /// Switches the panel on.
    pub fn start(spi: Spi<'static, SPI0, Blocking>, pins: Pins) -> Screen {
        static BUFFER: StaticCell<[u8; 512]> = StaticCell::new();
        let Pins { cs, dc, reset } = pins;
        let Ok(device) = ExclusiveDevice::new_no_delay(spi, cs);
        let interface = SpiInterface::new(device, dc, BUFFER.init([0; 512]));
        let panel = Builder::new(ST7789, interface)
            .display_size(240, 240)
            .invert_colors(ColorInversion::Inverted)
            .reset_pin(reset)
            .init(&mut Delay);
        let Ok(panel) = panel else { panic!("the size fits the controller") };
        Screen(panel)
    }

    /// In colour.
    pub fn theme() -> Theme<Rgb565> {
        Theme::dark()
    }

    impl DrawTarget for Screen {
        type Color = Rgb565;
        type Error = <Driver as DrawTarget>::Error;

        fn draw_iter<I: IntoIterator<Item = Pixel<Rgb565>>>(&mut self, pixels: I) -> Result<(), Self::Error> {
            // The driver would hand places outside to the controller, which has memory there that is not on show, or none.
            let panel = self.bounding_box();
            self.0.draw_iter(pixels.into_iter().filter(|pixel| panel.contains(pixel.0)))
        }

        fn fill_contiguous<I: IntoIterator<Item = Rgb565>>(
            &mut self,
            area: &Rectangle,
            colours: I,
        ) -> Result<(), Self::Error> {
            self.0.fill_contiguous(area, colours)
        }

        fn fill_solid(&mut self, area: &Rectangle, colour: Rgb565) -> Result<(), Self::Error> {
            self.0.fill_solid(area, colour)
        }
    }

    impl OriginDimensions for Screen {
        fn size(&self) -> Size {
            Size::new(240, 240)
        }
    }

    impl Panel for Screen {
        fn show(&mut self) -> Result<(), Self::Error> {
            Ok(())
        }
    }
}

/// Line widths and font for this screen.
pub fn metrics(screen: &Screen) -> Metrics {
    Metrics::for_panel(screen.size())
}
