//! One person.

use embedded_graphics::{
    mono_font::MonoTextStyleBuilder,
    prelude::*,
    primitives::{Circle, Line, PrimitiveStyle, PrimitiveStyleBuilder, Rectangle, StrokeAlignment},
    text::{Baseline, Text},
};
use pose::{BONES, JOINTS, Pose};

use crate::{
    Fit, Label, Look, Metrics, PALETTE, Theme,
    line::{broken, clip, solid},
};

/// Draws bones, joints and the identity of `pose`: measured ones solid and filled, predicted ones dashed and hollow, unsure ones
/// dotted and small, absent ones not at all. Pose and `fit` are in pixels of the source image.
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
    let joints = points(pose, fit);
    let area = fit.area();
    let figure = Figure { joints, area, metrics: metrics.for_figure(extent(&joints)) };
    let colour = pose.track_id as usize % PALETTE;
    let colours = [theme.measured[colour], theme.predicted[colour]];
    if let Some(outline) = theme.outline {
        // First of the whole figure: no bone's outline cuts another.
        figure.draw(target, [outline; 2], outline, figure.metrics.outline())?;
    }
    figure.draw(target, colours, theme.outline.unwrap_or(theme.background), 0)?;
    draw_identity(target, pose.track_id, &joints, area, (colours[0], theme.outline), metrics)
}

/// Where the joints that are drawn lie on the panel.
fn points(pose: &Pose, fit: &Fit) -> [Option<(Point, Look)>; JOINTS] {
    core::array::from_fn(|j| {
        let joint = &pose.joints[j];
        Look::of(joint).map(|look| (fit.point(joint.x_px, joint.y_px), look))
    })
}

/// The identity of `pose` alone, where [`draw_pose`] has it: for bodies that are drawn otherwise.
///
/// # Errors
/// The target's own.
pub fn draw_name<D: DrawTarget>(
    target: &mut D,
    pose: &Pose,
    fit: &Fit,
    theme: &Theme<D::Color>,
    metrics: &Metrics,
) -> Result<(), D::Error> {
    let colour = theme.measured[pose.track_id as usize % PALETTE];
    draw_identity(target, pose.track_id, &points(pose, fit), fit.area(), (colour, theme.outline), metrics)
}

/// The longer side of the joints' box.
fn extent(joints: &[Option<(Point, Look)>; JOINTS]) -> u32 {
    let mut points = joints.iter().flatten().map(|(point, _)| *point);
    let Some(first) = points.next() else { return 0 };
    let (low, high) =
        points.fold((first, first), |(low, high), p| (low.component_min(p), high.component_max(p)));
    let Point { x, y } = high - low;
    x.max(y) as u32
}

struct Figure {
    joints: [Option<(Point, Look)>; JOINTS],
    area: Rectangle,
    metrics: Metrics,
}

impl Figure {
    /// Everything `wider` on each side; measured and predicted ones in `colours`, rings filled with `hollow`.
    fn draw<D: DrawTarget>(
        &self,
        target: &mut D,
        [measured, predicted]: [D::Color; 2],
        hollow: D::Color,
        wider: u32,
    ) -> Result<(), D::Error> {
        let Metrics { stroke, joint, dash, .. } = self.metrics;
        // Lines may end outside by as much as they are wide: nothing of that is visible.
        let visible = self.area.offset((joint + 2 * wider) as i32);
        let bone = |colour, stroke: u32| PrimitiveStyle::with_stroke(colour, stroke + 2 * wider);
        for (a, b) in BONES {
            let (Some((start, a)), Some((end, b))) = (self.joints[a as usize], self.joints[b as usize])
            else {
                continue;
            };
            let Some(line) = clip(Line::new(start, end), visible) else { continue };
            match a.max(b) {
                Look::Measured => solid(target, line, bone(measured, stroke))?,
                Look::Predicted => broken(target, line, (dash, dash), wider, bone(predicted, stroke))?,
                Look::Unsure => {
                    broken(target, line, (stroke, 2 * stroke + 1), wider, bone(predicted, stroke))?
                }
            }
        }
        for (centre, look) in self.joints.iter().flatten().filter(|(centre, _)| visible.contains(*centre)) {
            let (diameter, style) = match look {
                Look::Measured => (joint, PrimitiveStyle::with_fill(measured)),
                // Filled, or the bones below would fill it.
                Look::Predicted => (
                    (joint + joint / 4) | 1,
                    PrimitiveStyleBuilder::new()
                        .fill_color(hollow)
                        .stroke_color(predicted)
                        .stroke_width((joint / 3).max(1))
                        .stroke_alignment(StrokeAlignment::Inside)
                        .build(),
                ),
                Look::Unsure => ((joint / 2) | 1, PrimitiveStyle::with_fill(predicted)),
            };
            Circle::with_center(*centre, diameter + 2 * wider).into_styled(style).draw(target)?;
        }
        Ok(())
    }
}

/// The identity above the highest joint, moved inside the panel; on a ground of its own where there is an outline.
fn draw_identity<D: DrawTarget>(
    target: &mut D,
    track_id: u32,
    joints: &[Option<(Point, Look)>; JOINTS],
    area: Rectangle,
    (colour, ground): (D::Color, Option<D::Color>),
    metrics: &Metrics,
) -> Result<(), D::Error> {
    let visible = joints.iter().flatten().map(|(point, _)| point).filter(|p| area.contains(**p));
    let Some(top) = visible.min_by_key(|p| (p.y, p.x)) else { return Ok(()) };
    let label = Label::from_args(format_args!("{track_id}"));
    #[cfg(feature = "large")]
    let times = metrics.text_scale.max(1);
    #[cfg(not(feature = "large"))]
    let times = 1;
    let cell = metrics.font.character_size * times;
    let width = cell.width as i32 * label.as_str().len() as i32;
    let low = area.top_left;
    let high = low + Point::new(area.size.width as i32 - width, area.size.height as i32 - cell.height as i32);
    let gap = metrics.joint as i32;
    let wanted = Point::new(top.x - width / 2, top.y - cell.height as i32 - gap);
    let place = wanted.component_min(high).component_max(low);
    let mut style = MonoTextStyleBuilder::new().font(metrics.font).text_color(colour);
    if let Some(ground) = ground {
        style = style.background_color(ground);
    }
    let style = style.build();
    #[cfg(feature = "large")]
    if times > 1 {
        let mut target = crate::enlarged::Enlarged { target, origin: place, times };
        Text::with_baseline(label.as_str(), Point::zero(), style, Baseline::Top).draw(&mut target)?;
        return Ok(());
    }
    Text::with_baseline(label.as_str(), place, style, Baseline::Top).draw(target)?;
    Ok(())
}
