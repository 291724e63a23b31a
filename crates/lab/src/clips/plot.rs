//! The lag-versus-jitter curves as a PNG.

use std::{collections::BTreeMap, convert::Infallible, fs::File, io::BufWriter, path::Path};

use embedded_graphics::{
    mono_font::{MonoTextStyle, ascii::FONT_7X13},
    pixelcolor::Rgb888,
    prelude::*,
    primitives::{Circle, Line, PrimitiveStyle, Rectangle},
    text::Text,
};

use super::{ClipsError, Row};

const SIZE: Size = Size::new(960, 560);
/// Left, top, right and bottom edge of the plot inside the picture: room for the longest name in the legend on the right, for
/// the title and the axis' name above each other at the top.
const FRAME: (i32, i32, i32, i32) = (60, 64, 690, 510);
/// Ten that are told apart on white (Tableau's), one a family.
const COLOURS: [Rgb888; 10] = [
    Rgb888::new(31, 119, 180),
    Rgb888::new(255, 127, 14),
    Rgb888::new(44, 160, 44),
    Rgb888::new(214, 39, 40),
    Rgb888::new(148, 103, 189),
    Rgb888::new(140, 86, 75),
    Rgb888::new(227, 119, 194),
    Rgb888::new(90, 90, 90),
    Rgb888::new(188, 189, 34),
    Rgb888::new(23, 190, 207),
];
/// Width of a character of the font, pixels.
const CHARACTER: i32 = 7;

struct Canvas(Vec<u8>);

impl OriginDimensions for Canvas {
    fn size(&self) -> Size {
        SIZE
    }
}

impl DrawTarget for Canvas {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(&mut self, pixels: I) -> Result<(), Infallible> {
        for Pixel(at, colour) in pixels {
            if self.bounding_box().contains(at) {
                let i = 3 * (at.y as usize * SIZE.width as usize + at.x as usize);
                self.0[i..i + 3].copy_from_slice(&[colour.r(), colour.g(), colour.b()]);
            }
        }
        Ok(())
    }
}

/// Acceleration error over added lag, a curve a family: left and low is better.
///
/// # Errors
/// [`ClipsError::Write`] where the file cannot be written.
pub fn draw_curves(title: &str, rows: &[Row], path: &Path) -> Result<(), ClipsError> {
    let mut curves: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    // What could not be timed has no place.
    for row in rows.iter().filter(|row| row.report.added_lag.is_finite()) {
        let point = (row.report.added_lag, row.report.acceleration.value);
        curves.entry(&row.family).or_default().push(point);
    }
    let mut canvas = Canvas(vec![255; 3 * (SIZE.width * SIZE.height) as usize]);
    let Ok(()) = paint(&mut canvas, title, &curves);
    let failed = |what: String| ClipsError::Write { path: path.into(), what };
    let file = File::create(path).map_err(|e| failed(e.to_string()))?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), SIZE.width, SIZE.height);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().map_err(|e| failed(e.to_string()))?;
    writer.write_image_data(&canvas.0).map_err(|e| failed(e.to_string()))
}

fn paint(
    canvas: &mut Canvas,
    title: &str,
    curves: &BTreeMap<&str, Vec<(f64, f64)>>,
) -> Result<(), Infallible> {
    let (left, top, right, bottom) = FRAME;
    let all = curves.values().flatten();
    let most = all.fold((0.5, 1.0), |(x, y), p| (p.0.max(x), p.1.max(y)));
    let (min_lag, max_lag, max_y) = (-0.3, most.0 * 1.05, most.1 * 1.05);
    let at = |x: f64, y: f64| {
        let across = (x - min_lag) / (max_lag - min_lag);
        Point::new(
            left + (across * f64::from(right - left)).round() as i32,
            bottom - (y / max_y * f64::from(bottom - top)).round() as i32,
        )
    };
    let black = MonoTextStyle::new(&FONT_7X13, Rgb888::BLACK);
    Text::new(title, Point::new(left, 22), black).draw(canvas)?;
    let grid = PrimitiveStyle::with_stroke(Rgb888::new(225, 225, 225), 1);
    for i in 0..=8 {
        let (x, y) = (f64::from(i) * max_lag / 8.0, f64::from(i) * max_y / 8.0);
        Line::new(at(x, 0.0), at(x, max_y)).into_styled(grid).draw(canvas)?;
        Line::new(at(min_lag, y), at(max_lag, y)).into_styled(grid).draw(canvas)?;
        Text::new(&format!("{x:.2}"), at(x, 0.0) + Point::new(-14, 16), black).draw(canvas)?;
        let label = format!("{y:.1}");
        let width = CHARACTER * label.len() as i32;
        Text::new(&label, at(min_lag, y) + Point::new(-6 - width, 4), black).draw(canvas)?;
    }
    Rectangle::with_corners(at(min_lag, max_y), at(max_lag, 0.0))
        .into_styled(PrimitiveStyle::with_stroke(Rgb888::BLACK, 1))
        .draw(canvas)?;
    Text::new("added lag, frames of 30 Hz", Point::new(left + 220, bottom + 38), black).draw(canvas)?;
    Text::new("Accel, % of the person's extent", Point::new(left, top - 10), black).draw(canvas)?;
    for (i, (name, points)) in curves.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let mut points = points.clone();
        points.dedup();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        for pair in points.windows(2) {
            Line::new(at(pair[0].0, pair[0].1), at(pair[1].0, pair[1].1))
                .into_styled(PrimitiveStyle::with_stroke(colour, 2))
                .draw(canvas)?;
        }
        for p in &points {
            Circle::with_center(at(p.0, p.1), 7)
                .into_styled(PrimitiveStyle::with_fill(colour))
                .draw(canvas)?;
        }
        let row = Point::new(right + 18, top + 12 + 20 * i as i32);
        Circle::with_center(row - Point::new(6, 4), 7)
            .into_styled(PrimitiveStyle::with_fill(colour))
            .draw(canvas)?;
        Text::new(name, row + Point::new(4, 0), MonoTextStyle::new(&FONT_7X13, colour)).draw(canvas)?;
    }
    Ok(())
}
