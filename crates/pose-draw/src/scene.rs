//! A whole picture.

use embedded_graphics::{
    mono_font::MonoTextStyle,
    prelude::*,
    text::{Baseline, Text},
};
use pose::Pose;

use crate::{Fit, Label, Metrics, Theme, figure::draw_pose};

/// The persons of one moment.
#[derive(Clone, Copy, Debug)]
pub struct Scene<P> {
    /// Whoever is there; any iterator of poses in pixels of the source image.
    pub persons: P,
    /// Source image, pixels.
    pub width_px: u32,
    /// Source image, pixels.
    pub height_px: u32,
    /// How old the light behind the poses is, milliseconds; `None`: not known.
    pub age_ms: Option<i32>,
    /// Whether they are those of the tracker's built-in clip: nobody is there.
    pub is_built_in: bool,
}

/// Clears `target` and draws the scene: every person, how many they are, how old it all is.
///
/// # Errors
/// The target's own.
pub fn draw_scene<D, P>(
    target: &mut D,
    scene: Scene<P>,
    theme: &Theme<D::Color>,
    metrics: &Metrics,
) -> Result<(), D::Error>
where
    D: DrawTarget,
    P: IntoIterator<Item = Pose>,
{
    let area = target.bounding_box();
    let fit = Fit::new(scene.width_px, scene.height_px, area);
    target.clear(theme.background)?;
    let mut count = 0;
    for pose in scene.persons {
        draw_pose(target, &pose, &fit, theme, metrics)?;
        count += 1;
    }
    let style = MonoTextStyle::new(metrics.font, theme.text);
    let mut place = area.top_left;
    let text = Label::from_args(format_args!("{count} seen"));
    Text::with_baseline(text.as_str(), place, style, Baseline::Top).draw(target)?;
    if let Some(age) = scene.age_ms {
        place.y += metrics.font.character_size.height as i32;
        // Four digits are what the narrowest panel has room for, and seconds say no more.
        let text = Label::from_args(format_args!("{} ms", age.clamp(-999, 9999)));
        Text::with_baseline(text.as_str(), place, style, Baseline::Top).draw(target)?;
    }
    if scene.is_built_in {
        place.y += metrics.font.character_size.height as i32;
        Text::with_baseline("demo", place, style, Baseline::Top).draw(target)?;
    }
    Ok(())
}

/// Clears `target` and writes `lines` in its middle.
///
/// # Errors
/// The target's own.
pub fn draw_message<D: DrawTarget>(
    target: &mut D,
    lines: &[&str],
    theme: &Theme<D::Color>,
    metrics: &Metrics,
) -> Result<(), D::Error> {
    let area = target.bounding_box();
    target.clear(theme.background)?;
    let cell = metrics.font.character_size;
    let height = (cell.height as usize * lines.len()) as i32;
    let mut y = area.top_left.y + (area.size.height as i32 - height) / 2;
    for line in lines {
        let width = (cell.width as usize * line.len()) as i32;
        let x = area.top_left.x + (area.size.width as i32 - width) / 2;
        let style = MonoTextStyle::new(metrics.font, theme.text);
        Text::with_baseline(line, Point::new(x, y), style, Baseline::Top).draw(target)?;
        y += cell.height as i32;
    }
    Ok(())
}
