//! Where the picture lies on the panel.

use embedded_graphics::{prelude::*, primitives::Rectangle};

/// How far outside of its area a place may lie, panel pixels.
const BEYOND_PX: f32 = 16_000.0;

/// Image pixels to panel pixels: one scale for both axes, the whole picture visible.
///
/// Spare room is left at the left and at the top, where the text goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    area: Rectangle,
    panel_from_image: f32,
    offset: (f32, f32),
}

impl Fit {
    /// A picture of `width_px` × `height_px` (0 is taken for 1) inside `area`.
    pub fn new(width_px: u32, height_px: u32, area: Rectangle) -> Self {
        let (width, height) = (width_px.max(1) as f32, height_px.max(1) as f32);
        let Size { width: aw, height: ah } = area.size;
        let panel_from_image = (aw as f32 / width).min(ah as f32 / height);
        let offset = (
            area.top_left.x as f32 + aw as f32 - panel_from_image * width,
            area.top_left.y as f32 + ah as f32 - panel_from_image * height,
        );
        Self { area, panel_from_image, offset }
    }

    /// The area that was given.
    pub fn area(&self) -> Rectangle {
        self.area
    }

    /// Panel pixels to one image pixel.
    pub fn scale(&self) -> f32 {
        self.panel_from_image
    }

    /// Where the image place (`x_px`, `y_px`) lies on the panel, parts of pixels kept; may lie outside `area`, but not so far that later
    /// sums run over.
    pub(crate) fn place(&self, x_px: f32, y_px: f32) -> [f32; 2] {
        let Rectangle { top_left: low, size } = self.area;
        let to = |v: f32, offset: f32, low: i32, extent: u32| {
            let (low, high) = (low as f32, low as f32 + extent as f32);
            (v * self.panel_from_image + offset).clamp(low - BEYOND_PX, high + BEYOND_PX)
        };
        [to(x_px, self.offset.0, low.x, size.width), to(y_px, self.offset.1, low.y, size.height)]
    }

    /// The panel pixel that contains the image place (`x_px`, `y_px`); may lie outside `area`.
    pub fn point(&self, x_px: f32, y_px: f32) -> Point {
        let low = self.area.top_left;
        let [x, y] = self.place(x_px, y_px);
        // `as` cuts towards zero; the shift makes that a floor.
        let floor = |v: f32, low: i32| (v - low as f32 + 16_384.0) as i32 - 16_384 + low;
        Point::new(floor(x, low.x), floor(y, low.y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_panel_leaves_its_spare_room_at_the_left() {
        let fit = Fit::new(640, 480, Rectangle::new(Point::zero(), Size::new(128, 64)));
        assert_eq!(fit.point(639.9, 479.9), Point::new(127, 63));
        assert_eq!(fit.point(0.0, 0.0), Point::new(42, 0));
    }

    #[test]
    fn a_high_panel_leaves_its_spare_room_at_the_top() {
        let fit = Fit::new(640, 480, Rectangle::new(Point::new(10, 20), Size::new(240, 240)));
        assert_eq!(fit.point(0.0, 0.0), Point::new(10, 80));
        assert_eq!(fit.point(-8.0, 0.0), Point::new(7, 80));
    }

    #[test]
    fn places_far_away_and_empty_pictures_give_points() {
        let fit = Fit::new(0, 0, Rectangle::new(Point::zero(), Size::new(64, 64)));
        assert_eq!(fit.point(f32::MAX, f32::MIN), Point::new(16_064, -16_000));
    }

    #[test]
    fn a_panorama_is_drawn_to_its_right_edge() {
        let fit = Fit::new(20_000, 100, Rectangle::new(Point::zero(), Size::new(20_000, 100)));
        assert_eq!(fit.point(19_999.5, 50.5), Point::new(19_999, 50));
        assert_eq!(fit.place(19_999.5, 50.5), [19_999.5, 50.5]);
        assert_eq!(fit.point(-0.5, 150.0), Point::new(-1, 150));
    }
}
