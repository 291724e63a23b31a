//! Colours, and sizes that suit a panel.

use embedded_graphics::{
    mono_font::{MonoFont, ascii},
    pixelcolor::{BinaryColor, PixelColor, Rgb888},
    prelude::Size,
};

use crate::{PALETTE, colour_of};

/// The colours of a [`crate::Scene`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme<C> {
    /// Behind everything.
    pub background: C,
    /// Text.
    pub text: C,
    /// Measured bones and joints; person `track_id` takes number `track_id % PALETTE`.
    pub measured: [C; PALETTE],
    /// Predicted and unsure ones, which have shapes of their own besides.
    pub predicted: [C; PALETTE],
    /// Round everything, where the ground may be of any colour: of the opposite lightness.
    pub outline: Option<C>,
}

impl Theme<BinaryColor> {
    /// For panels of one bit a pixel: shapes make the difference.
    pub const MONO: Self = Self {
        background: BinaryColor::Off,
        text: BinaryColor::On,
        measured: [BinaryColor::On; PALETTE],
        predicted: [BinaryColor::On; PALETTE],
        outline: None,
    };
}

impl<C: PixelColor + From<Rgb888>> Theme<C> {
    /// For colour panels: bright on black, each person in the colour of their identity ([`colour_of`]).
    pub fn dark() -> Self {
        let rgb = |[r, g, b]: [u8; 3]| C::from(Rgb888::new(r, g, b));
        let persons = core::array::from_fn(|id| rgb(colour_of(id as u32)));
        Self {
            background: rgb([0; 3]),
            text: rgb([255; 3]),
            measured: persons,
            predicted: persons,
            outline: None,
        }
    }

    /// For pictures, light or dark: as [`dark`](Self::dark), with a black outline.
    pub fn on_pictures() -> Self {
        let dark = Self::dark();
        Self { outline: Some(dark.background), ..dark }
    }

    /// For grey panels: every person is white, predicted joints and bones grey. Identities are told by their labels.
    pub fn grey() -> Self {
        let level = |l| C::from(Rgb888::new(l, l, l));
        Self {
            background: level(0),
            text: level(170),
            measured: [level(255); PALETTE],
            predicted: [level(119); PALETTE],
            outline: None,
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
    /// How many pixels make one of the font's, along each axis.
    #[cfg(feature = "large")]
    pub text_scale: u32,
}

impl Metrics {
    /// Small panels get thin lines and a narrow font, so that a figure 50 pixels high can still be read; photos and large
    /// screens lines as thick, beside the picture, as those of 640×480.
    pub fn for_panel(size: Size) -> Self {
        let of = |stroke, joint, dash, font| Self {
            stroke,
            joint,
            dash,
            font,
            #[cfg(feature = "large")]
            text_scale: 1,
        };
        match size.width.min(size.height) {
            0..=100 => of(1, 3, 3, &ascii::FONT_5X8),
            101..=320 => of(2, 5, 4, &ascii::FONT_6X10),
            #[cfg(feature = "large")]
            shorter @ 721.. => {
                let times = shorter / 480;
                let (stroke, joint, dash) = (3 * times, (7 * times) | 1, 7 * times);
                Self { text_scale: times, ..of(stroke, joint, dash, &ascii::FONT_10X20) }
            }
            _ => of(3, 7, 7, &ascii::FONT_10X20),
        }
    }

    /// For a figure of this extent: marks that would cover a small one shrink.
    pub(crate) fn for_figure(&self, extent: u32) -> Self {
        /// An upright figure's head is an eighth of it and holds five joints.
        const JOINTS_HIGH: u32 = 18;
        let joint = self.joint.min((extent / JOINTS_HIGH).max(3) | 1);
        Self {
            joint,
            stroke: self.stroke.min((joint / 2).max(1)),
            dash: self.dash.min(joint.max(3)),
            ..*self
        }
    }

    /// How far the outline reaches beyond what it surrounds.
    pub(crate) fn outline(&self) -> u32 {
        self.stroke.div_ceil(3)
    }
}
