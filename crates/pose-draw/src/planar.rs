//! One person as a planar body: limbs, trunk and head as shaded contours, the nearer over the farther.

use embedded_graphics::{
    Pixel,
    pixelcolor::{BinaryColor, PixelColor, Rgb888},
    prelude::*,
    primitives::Rectangle,
};
use pose::Pose;

use crate::{
    Fit, Look, Metrics, PALETTE, Theme, colour_of,
    parts::{Part, direction, length, parts, root},
};

/// How many tones a body has.
pub const TONES: usize = 10;

/// Towards the light: from above left, before the picture.
const LIGHT: [f32; 3] = [-0.45, -0.56, 0.70];

/// What bodies are painted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skins<C> {
    /// From dark to light; person `track_id` takes number `track_id % PALETTE`.
    pub tones: [[C; TONES]; PALETTE],
}

impl Skins<BinaryColor> {
    /// For panels of one bit a pixel: rims are lit, what lies within them is not.
    pub const MONO: Self = {
        let mut tones = [BinaryColor::Off; TONES];
        tones[0] = BinaryColor::On;
        Self { tones: [tones; PALETTE] }
    };
}

impl<C: PixelColor + From<Rgb888>> Skins<C> {
    /// Each person in tones of the colour of their identity.
    pub fn coloured() -> Self {
        Self { tones: core::array::from_fn(|id| Self::ramp(colour_of(id as u32))) }
    }

    /// For grey panels.
    pub fn grey() -> Self {
        Self { tones: [Self::ramp([210; 3]); PALETTE] }
    }

    /// From a third of the colour to it, and on to a little white.
    fn ramp(colour: [u8; 3]) -> [C; TONES] {
        core::array::from_fn(|tone| {
            let share = tone as f32 / (TONES - 1) as f32;
            let [r, g, b] = colour.map(|c| {
                let c = f32::from(c);
                let lit = c * (0.30 + 0.80 * share).min(1.0);
                let white = ((share - 0.75) * 1.2).max(0.0);
                (lit + (255.0 - lit) * white) as u8
            });
            C::from(Rgb888::new(r, g, b))
        })
    }
}

/// Draws `pose` as a body of its proportions: measured parts solid, predicted ones a grid of pixels that lets the picture through, unsure
/// ones their rims alone, unknown ones not at all. Parts lie over each other as `joints_3d_m` tells, else as they mostly do.
///
/// # Errors
/// The target's own.
pub fn draw_planar<D: DrawTarget>(
    target: &mut D,
    pose: &Pose,
    fit: &Fit,
    theme: &Theme<D::Color>,
    skins: &Skins<D::Color>,
    metrics: &Metrics,
) -> Result<(), D::Error> {
    let (parts, count) = parts(pose, fit);
    let parts = &parts[..count];
    let tones = &skins.tones[pose.track_id as usize % PALETTE];
    if let Some(outline) = theme.outline {
        // First of the whole figure: no part's outline cuts another.
        let wider = (metrics.stroke as f32 * 0.5).max(1.0);
        for part in parts.iter().filter(|part| part.look == Look::Measured) {
            paint(target, fit.area(), part, wider, |_, _, _| Some(outline))?;
        }
    }
    for part in parts {
        // Rims are as wide as a thin line, and leave something of a small figure.
        let rim = (metrics.stroke as f32 * 0.4).max(1.0);
        let rim_from = (1.0 - rim / part.radii[0].min(part.radii[1]).max(1.0)).clamp(0.35, 1.0);
        paint(target, fit.area(), part, 0.0, |Point { x, y }, normal, far| {
            let is_rim = far > rim_from * rim_from;
            let is_shown = match part.look {
                Look::Measured => true,
                Look::Predicted => is_rim || (x + y) & 1 == 0,
                Look::Unsure => is_rim && (x + 2 * y) % 4 < 2,
            };
            let facing: f32 = normal.iter().zip(LIGHT).map(|(n, l)| n * l).sum();
            let tone = if is_rim { 0 } else { 1 + (facing.clamp(0.0, 0.999) * (TONES - 1) as f32) as usize };
            is_shown.then(|| tones[tone])
        })?;
    }
    crate::figure::draw_name(target, pose, fit, theme, metrics)
}

/// Paints the pixels of `part`, made `wider` on each side: `ink` is told the pixel, the surface's direction there and how far out it lies,
/// squared, 0 to 1.
fn paint<D: DrawTarget>(
    target: &mut D,
    area: Rectangle,
    part: &Part,
    wider: f32,
    ink: impl Fn(Point, [f32; 3], f32) -> Option<D::Color>,
) -> Result<(), D::Error> {
    let radii = part.radii.map(|r| r + wider);
    let caps = part.caps.map(|r| r + wider);
    let along = direction(part.from, part.to);
    let long = length([part.to[0] - part.from[0], part.to[1] - part.from[1]]);
    let reach = radii[0].max(radii[1]).max(caps[0]).max(caps[1]) + part.bulge.max(0.0) + 1.0;
    let low = area.top_left;
    let Some(high) = area.bottom_right() else { return Ok(()) };
    // What is far outside costs nothing, and no sum runs over.
    let span = |k: usize, low: i32, high: i32| {
        let (a, b) = (part.from[k].min(part.to[k]) - reach, part.from[k].max(part.to[k]) + reach);
        (a.max(low as f32) as i32, b.min(high as f32) as i32)
    };
    let ((left, right), (top, bottom)) = (span(0, low.x, high.x), span(1, low.y, high.y));
    for y in top..=bottom {
        let row = (left..=right).filter_map(|x| {
            let p = [x as f32 + 0.5 - part.from[0], y as f32 + 0.5 - part.from[1]];
            let on = p[0] * along[0] + p[1] * along[1];
            let beside = p[1] * along[0] - p[0] * along[1];
            let (share, over) = if on < 0.0 {
                (0.0, on / caps[0])
            } else if on > long {
                (1.0, (on - long) / caps[1])
            } else {
                (on / long.max(1e-3), 0.0)
            };
            let radius = radii[0] + (radii[1] - radii[0]) * share + 4.0 * part.bulge * share * (1.0 - share);
            let out = beside / radius.max(0.5);
            let far = out * out + over * over;
            if far > 1.0 {
                return None;
            }
            let normal =
                [along[0] * over - along[1] * out, along[1] * over + along[0] * out, root(1.0 - far)];
            let at = Point::new(x, y);
            ink(at, normal, far).map(|colour| Pixel(at, colour))
        });
        target.draw_iter(row)?;
    }
    Ok(())
}
