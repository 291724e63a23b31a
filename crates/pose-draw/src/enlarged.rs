//! Text for large pictures: the fonts end at twenty pixels.

use embedded_graphics::{Pixel, prelude::*, primitives::Rectangle};

/// A target on which every pixel is a square.
pub(crate) struct Enlarged<'a, D> {
    pub target: &'a mut D,
    /// Where (0, 0) lies.
    pub origin: Point,
    /// Length of a square's side.
    pub times: u32,
}

impl<D> Dimensions for Enlarged<'_, D> {
    fn bounding_box(&self) -> Rectangle {
        // No text is wider than what a target has room for.
        Rectangle::new(Point::zero(), Size::new_equal(i32::MAX as u32))
    }
}

impl<D: DrawTarget> DrawTarget for Enlarged<'_, D> {
    type Color = D::Color;
    type Error = D::Error;

    fn draw_iter<I: IntoIterator<Item = Pixel<D::Color>>>(&mut self, pixels: I) -> Result<(), D::Error> {
        for Pixel(at, colour) in pixels {
            let square = Rectangle::new(self.origin + at * self.times as i32, Size::new_equal(self.times));
            self.target.fill_solid(&square, colour)?;
        }
        Ok(())
    }
}
