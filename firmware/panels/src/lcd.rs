//! ST7789.

use app::Panel;
use embedded_graphics::{pixelcolor::Rgb565, prelude::*, primitives::Rectangle};
use embedded_hal::{delay::DelayNs, digital::OutputPin, spi::SpiDevice};
use mipidsi::{Builder, Display, interface::SpiInterface, models::ST7789, options::ColorInversion};
use pose_draw::Theme;

type Driver<S, D, R> = Display<SpiInterface<'static, S, D>, ST7789, R>;

/// A 240×240 LCD: drawn directly, since a picture in RAM would take 115 KB.
pub struct Lcd<S: SpiDevice, D: OutputPin, R: OutputPin>(Driver<S, D, R>);

impl<S: SpiDevice, D: OutputPin, R: OutputPin> Lcd<S, D, R> {
    /// The controller's limit for writing.
    pub const SPI_HZ: u32 = 62_500_000;

    /// Resets the panel and switches it on; `data_or_command` is its D/C pin. Pixels go through `buffer`: 512 bytes are enough that
    /// more would not be faster. The SPI's mode is 3.
    ///
    /// # Panics
    /// Not with pins that cannot fail.
    pub fn start(
        device: S,
        data_or_command: D,
        reset: R,
        delay: &mut impl DelayNs,
        buffer: &'static mut [u8],
    ) -> Self {
        let panel = Builder::new(ST7789, SpiInterface::new(device, data_or_command, buffer))
            .display_size(240, 240)
            .invert_colors(ColorInversion::Inverted)
            .reset_pin(reset)
            .init(delay);
        let Ok(panel) = panel else { panic!("the size fits the controller") };
        Self(panel)
    }

    /// In colour.
    pub fn theme() -> Theme<Rgb565> {
        Theme::dark()
    }
}

impl<S: SpiDevice, D: OutputPin, R: OutputPin> DrawTarget for Lcd<S, D, R> {
    type Color = Rgb565;
    type Error = <Driver<S, D, R> as DrawTarget>::Error;

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

impl<S: SpiDevice, D: OutputPin, R: OutputPin> OriginDimensions for Lcd<S, D, R> {
    fn size(&self) -> Size {
        Size::new(240, 240)
    }
}

impl<S: SpiDevice, D: OutputPin, R: OutputPin> Panel for Lcd<S, D, R> {
    fn show(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
