//! The picture that a display shows: RGB pixels to draw poses on.

use embedded_graphics::Pixel;
use embedded_graphics::pixelcolor::{Rgb888, RgbColor};
use embedded_graphics::prelude::{DrawTarget, OriginDimensions, Point, Size};

/// RGB pixels, three bytes each, rows without padding. Whatever is drawn outside is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Canvas {
    width: usize,
    height: usize,
    rgb: Vec<u8>,
}

impl Canvas {
    /// Pixels.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Pixels.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Rows of `3 * width` bytes: red, green, blue.
    pub fn rgb(&self) -> &[u8] {
        &self.rgb
    }

    /// As [`Self::rgb`], to be written to.
    pub fn rgb_mut(&mut self) -> &mut [u8] {
        &mut self.rgb
    }

    /// Black, of this size; allocates only where it grows.
    pub fn reset(&mut self, width: usize, height: usize) {
        (self.width, self.height) = (width, height);
        self.rgb.clear();
        self.rgb.resize(3 * width * height, 0);
    }

    /// The colour at (x, y).
    ///
    /// # Panics
    /// Outside the canvas.
    pub fn at(&self, x: usize, y: usize) -> [u8; 3] {
        let i = 3 * (y * self.width + x);
        [self.rgb[i], self.rgb[i + 1], self.rgb[i + 2]]
    }

    /// Every channel to `numerator / 256` of itself.
    pub fn dim(&mut self, numerator: u16) {
        for channel in &mut self.rgb {
            *channel = ((u16::from(*channel) * numerator) >> 8) as u8;
        }
    }
}

impl OriginDimensions for Canvas {
    fn size(&self) -> Size {
        Size::new(self.width as u32, self.height as u32)
    }
}

impl DrawTarget for Canvas {
    type Color = Rgb888;
    type Error = std::convert::Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(&mut self, pixels: I) -> Result<(), Self::Error> {
        for Pixel(Point { x, y }, colour) in pixels {
            let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else { continue };
            if x < self.width && y < self.height {
                let i = 3 * (y * self.width + x);
                self.rgb[i..i + 3].copy_from_slice(&[colour.r(), colour.g(), colour.b()]);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use embedded_graphics::prelude::*;
    use embedded_graphics::primitives::{Line, PrimitiveStyle};

    #[test]
    fn lines_are_drawn_inside_and_cut_off_at_the_edges() {
        let mut canvas = Canvas::default();
        canvas.reset(4, 3);
        Line::new(Point::new(-5, 1), Point::new(9, 1))
            .into_styled(PrimitiveStyle::with_stroke(Rgb888::new(200, 100, 50), 1))
            .draw(&mut canvas)
            .unwrap();
        for x in 0..4 {
            assert_eq!(canvas.at(x, 1), [200, 100, 50]);
            assert_eq!(canvas.at(x, 0), [0; 3]);
        }
        canvas.dim(128);
        assert_eq!(canvas.at(0, 1), [100, 50, 25]);
        canvas.reset(2, 2);
        assert_eq!(canvas.rgb(), [0; 12]);
    }
}
