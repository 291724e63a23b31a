//! SSD1306.

use app::Panel;
use embedded_graphics::{pixelcolor::BinaryColor, prelude::*, primitives::Rectangle};
use embedded_hal::{delay::DelayNs, digital::OutputPin, spi::SpiDevice};
use pose_draw::Theme;
use ssd1306::{Ssd1306, mode::BufferedGraphicsMode, prelude::*};

type Driver<S, D> = Ssd1306<SPIInterface<S, D>, DisplaySize128x64, BufferedGraphicsMode<DisplaySize128x64>>;

/// A 128×64 OLED: drawn in RAM, sent as a whole.
pub struct Oled<S, D>(Driver<S, D>);

impl<S: SpiDevice, D: OutputPin> Oled<S, D> {
    /// The controller takes 10 MHz.
    pub const SPI_HZ: u32 = 8_000_000;
    /// One bit a pixel.
    pub const THEME: Theme<BinaryColor> = Theme::MONO;

    /// Resets the panel and switches it on; `data_or_command` is its D/C pin. `reset` has to stay high afterwards.
    pub fn start(
        device: S,
        data_or_command: D,
        reset: &mut impl OutputPin,
        delay: &mut impl DelayNs,
    ) -> Self {
        let interface = SPIInterface::new(device, data_or_command);
        let mut panel = Ssd1306::new(interface, DisplaySize128x64, DisplayRotation::Rotate0)
            .into_buffered_graphics_mode();
        // A panel that is not there cannot be told from one that is: nothing comes back over this SPI.
        let _ = panel.reset(reset, delay);
        let _ = panel.init();
        Self(panel)
    }
}

impl<S: SpiDevice, D: OutputPin> DrawTarget for Oled<S, D> {
    type Color = BinaryColor;
    type Error = <Driver<S, D> as DrawTarget>::Error;

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

impl<S: SpiDevice, D: OutputPin> OriginDimensions for Oled<S, D> {
    fn size(&self) -> Size {
        let (width, height) = self.0.dimensions();
        Size::new(u32::from(width), u32::from(height))
    }
}

impl<S: SpiDevice, D: OutputPin> Panel for Oled<S, D> {
    fn show(&mut self) -> Result<(), Self::Error> {
        self.0.flush()
    }
}
