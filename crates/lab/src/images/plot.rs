//! The share of joints against the distance allowed, as a picture.

use std::convert::Infallible;

use embedded_graphics::mono_font::MonoTextStyle;
use embedded_graphics::mono_font::ascii::FONT_7X13;
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::*;
use embedded_graphics::primitives::{Line, PrimitiveStyle};
use embedded_graphics::text::{Alignment, Text};
use image::{Rgb, RgbImage};

use super::Share;

const SIZE: (u32, u32) = (640, 420);
/// Pixels left, above, right and below of the axes, for their labels.
const MARGIN: (i32, i32, i32, i32) = (56, 32, 20, 46);
const INK: Rgb888 = Rgb888::new(40, 40, 40);
const GRID: Rgb888 = Rgb888::new(224, 224, 224);
const CURVE: Rgb888 = Rgb888::new(30, 100, 200);
const INTERVAL: Rgb888 = Rgb888::new(200, 218, 244);

/// Draws a PCK curve with its interval, both axes from 0: 640 x 420 pixels.
pub fn draw_curve(title: &str, curve: &[Share]) -> RgbImage {
    let mut canvas = Canvas(RgbImage::from_pixel(SIZE.0, SIZE.1, Rgb([255; 3])));
    match paint(&mut canvas, title, curve) {
        Ok(()) => canvas.0,
    }
}

fn paint(canvas: &mut Canvas, title: &str, curve: &[Share]) -> Result<(), Infallible> {
    let (left, top) = (MARGIN.0, MARGIN.1);
    let (width, height) = (SIZE.0 as i32 - left - MARGIN.2, SIZE.1 as i32 - top - MARGIN.3);
    let most = curve.iter().map(|s| s.within).fold(0.1, f64::max);
    let at = |within: f64, share: f64| {
        let (x, y) = (within / most * f64::from(width), (1.0 - share) * f64::from(height));
        Point::new(left + x.round() as i32, top + y.round() as i32)
    };
    let text = MonoTextStyle::new(&FONT_7X13, INK);
    for i in 0..=10 {
        let share = f64::from(i) / 10.0;
        let style = PrimitiveStyle::with_stroke(if i == 0 { INK } else { GRID }, 1);
        Line::new(at(0.0, share), at(most, share)).into_styled(style).draw(canvas)?;
        let place = at(0.0, share) + Point::new(-8, 4);
        Text::with_alignment(&format!("{share:.1}"), place, text, Alignment::Right).draw(canvas)?;
    }
    for i in 0..=((most * 20.0).round() as i32) {
        let within = f64::from(i) / 20.0;
        let style = PrimitiveStyle::with_stroke(if i == 0 { INK } else { GRID }, 1);
        Line::new(at(within, 0.0), at(within, 1.0)).into_styled(style).draw(canvas)?;
        let place = at(within, 0.0) + Point::new(0, 16);
        Text::with_alignment(&format!("{within:.2}"), place, text, Alignment::Center).draw(canvas)?;
    }
    for pair in curve.windows(2) {
        let (x0, x1) = (at(pair[0].within, 0.0).x, at(pair[1].within, 0.0).x);
        for x in x0..x1 {
            let t = f64::from(x - x0) / f64::from(x1 - x0);
            let mix = |a: f64, b: f64| a + t * (b - a);
            let from = Point::new(x, at(0.0, mix(pair[0].low, pair[1].low)).y);
            let to = Point::new(x, at(0.0, mix(pair[0].high, pair[1].high)).y);
            Line::new(from, to).into_styled(PrimitiveStyle::with_stroke(INTERVAL, 1)).draw(canvas)?;
        }
    }
    for pair in curve.windows(2) {
        let line = Line::new(at(pair[0].within, pair[0].value), at(pair[1].within, pair[1].value));
        line.into_styled(PrimitiveStyle::with_stroke(CURVE, 2)).draw(canvas)?;
    }
    Text::new(title, Point::new(left, 20), text).draw(canvas)?;
    let below = Point::new(left + width / 2, SIZE.1 as i32 - 10);
    let caption = "allowed error, parts of the person's extent; share of body joints within it";
    Text::with_alignment(caption, below, text, Alignment::Center).draw(canvas)?;
    Ok(())
}

struct Canvas(RgbImage);

impl OriginDimensions for Canvas {
    fn size(&self) -> Size {
        Size::new(self.0.width(), self.0.height())
    }
}

impl DrawTarget for Canvas {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(&mut self, pixels: I) -> Result<(), Infallible> {
        for Pixel(p, c) in pixels {
            if let (Ok(x), Ok(y)) = (u32::try_from(p.x), u32::try_from(p.y))
                && x < self.0.width()
                && y < self.0.height()
            {
                self.0.put_pixel(x, y, Rgb([c.r(), c.g(), c.b()]));
            }
        }
        Ok(())
    }
}
