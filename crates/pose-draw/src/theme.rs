//! Colours, and sizes that suit a panel.

use embedded_graphics::{
    mono_font::{MonoFont, ascii},
    pixelcolor::{BinaryColor, PixelColor, Rgb888},
    prelude::Size,
};

/// Colours of persons; the identity chooses, so a person keeps its colour.
pub const PALETTE: usize = 6;

/// The colours of a [`crate::Scene`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme<C> {
    /// Behind everything.
    pub background: C,
    /// Text.
    pub text: C,
    /// Measured bones and joints; person `track_id` takes number `track_id % PALETTE`.
    pub measured: [C; PALETTE],
    /// Predicted ones, which are dashed and hollow besides.
    pub predicted: [C; PALETTE],
}

impl Theme<BinaryColor> {
    /// For panels of one bit a pixel: dashes and hollow joints make the difference.
    pub const MONO: Self = Self {
        background: BinaryColor::Off,
        text: BinaryColor::On,
        measured: [BinaryColor::On; PALETTE],
        predicted: [BinaryColor::On; PALETTE],
    };
}

impl<C: PixelColor + From<Rgb888>> Theme<C> {
    /// For colour and grey panels: bright on black, predicted at half brightness.
    ///
    /// Okabe and Ito's colours (Color Universal Design, 2008) told apart by all common kinds of colour vision; the blue is
    /// left out, which is too dark on black.
    pub fn dark() -> Self {
        const COLOURS: [(u8, u8, u8); PALETTE] =
            [(240, 228, 66), (86, 180, 233), (230, 159, 0), (0, 158, 115), (204, 121, 167), (213, 94, 0)];
        let rgb = |r, g, b| C::from(Rgb888::new(r, g, b));
        Self {
            background: rgb(0, 0, 0),
            text: rgb(255, 255, 255),
            measured: COLOURS.map(|(r, g, b)| rgb(r, g, b)),
            predicted: COLOURS.map(|(r, g, b)| rgb(r / 2, g / 2, b / 2)),
        }
    }

    /// For grey panels: every person is white, predicted joints and bones grey. Identities are told by their labels.
    pub fn grey() -> Self {
        let level = |l| C::from(Rgb888::new(l, l, l));
        Self {
            background: level(0),
            text: level(170),
            measured: [level(255); PALETTE],
            predicted: [level(119); PALETTE],
        }
    }
}

/// Sizes in panel pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metrics {
    /// Width of a bone.
    pub stroke: u32,
    /// Diameter of a joint; odd, so that it has a centre.
    pub joint: u32,
    /// Length of a dash and of the gap after it.
    pub dash: u32,
    /// Font of labels and text.
    pub font: &'static MonoFont<'static>,
}

impl Metrics {
    /// Small panels get thin lines and a narrow font, so that a figure 50 pixels high can still be read.
    pub fn for_panel(size: Size) -> Self {
        match size.width.min(size.height) {
            0..=100 => Self { stroke: 1, joint: 3, dash: 3, font: &ascii::FONT_5X8 },
            101..=320 => Self { stroke: 2, joint: 5, dash: 4, font: &ascii::FONT_6X10 },
            _ => Self { stroke: 3, joint: 7, dash: 7, font: &ascii::FONT_10X20 },
        }
    }
}
