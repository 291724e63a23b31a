//! One person.

use embedded_graphics::{
    mono_font::MonoTextStyle,
    prelude::*,
    primitives::{Circle, Line, PrimitiveStyle, PrimitiveStyleBuilder, Rectangle},
    text::{Baseline, Text},
};
use pose::{BONES, JOINTS, JointState, Pose};

use crate::{
    Fit, Label, Metrics, PALETTE, Theme,
    line::{clip, dashed, solid},
};

/// Draws bones, joints and the identity of `pose`: measured ones solid and filled, predicted ones dashed and hollow, absent
/// ones not at all. A bone is measured where both its ends are. Pose and `fit` are in pixels of the source image.
///
/// # Errors
/// The target's own.
pub fn draw_pose<D: DrawTarget>(
    target: &mut D,
    pose: &Pose,
    fit: &Fit,
    theme: &Theme<D::Color>,
    metrics: &Metrics,
) -> Result<(), D::Error> {
    let colour = pose.track_id as usize % PALETTE;
    let (measured, predicted) = (theme.measured[colour], theme.predicted[colour]);
    let points: [Option<Point>; JOINTS] = core::array::from_fn(|j| {
        let joint = &pose.joints[j];
        (joint.state != JointState::Absent).then(|| fit.point(joint.x_px, joint.y_px))
    });
    // Lines may end outside by as much as they are wide: nothing of that is visible.
    let visible = fit.area().offset(metrics.joint as i32);

    for (a, b) in BONES {
        let (Some(start), Some(end)) = (points[a as usize], points[b as usize]) else { continue };
        let Some(line) = clip(Line::new(start, end), visible) else { continue };
        if pose[a].state == JointState::Measured && pose[b].state == JointState::Measured {
            solid(target, line, PrimitiveStyle::with_stroke(measured, metrics.stroke))?;
        } else {
            dashed(target, line, metrics.dash, PrimitiveStyle::with_stroke(predicted, metrics.stroke))?;
        }
    }
    for (joint, point) in pose.joints.iter().zip(points) {
        let Some(centre) = point.filter(|p| visible.contains(*p)) else { continue };
        let circle = Circle::with_center(centre, metrics.joint);
        let style = match joint.state {
            JointState::Measured => PrimitiveStyle::with_fill(measured),
            // Filled with the background, or the bones below would fill it.
            _ => PrimitiveStyleBuilder::new()
                .fill_color(theme.background)
                .stroke_color(predicted)
                .stroke_width(1)
                .build(),
        };
        circle.into_styled(style).draw(target)?;
    }
    draw_identity(target, pose.track_id, &points, fit.area(), measured, metrics)
}

/// The identity above the highest joint, moved inside the panel.
fn draw_identity<D: DrawTarget>(
    target: &mut D,
    track_id: u32,
    points: &[Option<Point>; JOINTS],
    area: Rectangle,
    colour: D::Color,
    metrics: &Metrics,
) -> Result<(), D::Error> {
    let visible = points.iter().flatten().filter(|p| area.contains(**p));
    let Some(top) = visible.min_by_key(|p| (p.y, p.x)) else { return Ok(()) };
    let label = Label::from_args(format_args!("{track_id}"));
    let cell = metrics.font.character_size;
    let width = cell.width as i32 * label.as_str().len() as i32;
    let low = area.top_left;
    let high = low + Point::new(area.size.width as i32 - width, area.size.height as i32 - cell.height as i32);
    let gap = metrics.joint as i32;
    let wanted = Point::new(top.x - width / 2, top.y - cell.height as i32 - gap);
    let place = wanted.component_min(high).component_max(low);
    let style = MonoTextStyle::new(metrics.font, colour);
    Text::with_baseline(label.as_str(), place, style, Baseline::Top).draw(target)?;
    Ok(())
}
