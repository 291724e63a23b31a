//! Bones: lines that are cut to the panel before they are walked, so that a joint far outside costs nothing.

use embedded_graphics::{
    prelude::*,
    primitives::{Line, PrimitiveStyle, Rectangle},
};

/// The part of `line` inside `bounds` (Liang and Barsky 1984); the very same line where it lies inside as a whole.
pub(crate) fn clip(line: Line, bounds: Rectangle) -> Option<Line> {
    let low = bounds.top_left;
    let high = bounds.bottom_right()?;
    if bounds.contains(line.start) && bounds.contains(line.end) {
        return Some(line);
    }
    let (start, d) = (line.start, line.end - line.start);
    let (mut from, mut to) = (0f32, 1f32);
    for (p, q) in
        [(-d.x, start.x - low.x), (d.x, high.x - start.x), (-d.y, start.y - low.y), (d.y, high.y - start.y)]
    {
        if p == 0 {
            if q < 0 {
                return None;
            }
            continue;
        }
        let t = q as f32 / p as f32;
        if p < 0 {
            from = from.max(t);
        } else {
            to = to.min(t);
        }
    }
    let at = |t: f32| Point::new(start.x + (d.x as f32 * t) as i32, start.y + (d.y as f32 * t) as i32);
    (from <= to).then(|| Line::new(at(from), at(to)))
}

/// A solid line from joint to joint: in pieces, because the library squares twice the width times the length, which in large photos does
/// not fit its 32 bits.
pub(crate) fn solid<D: DrawTarget>(
    target: &mut D,
    line: Line,
    style: PrimitiveStyle<D::Color>,
) -> Result<(), D::Error> {
    const LARGEST_ROOT: i32 = 46_340;
    let longest = (LARGEST_ROOT / (2 * style.stroke_width as i32).max(1) - 2).max(1);
    let d = line.end - line.start;
    let pieces = (d.x.abs() + d.y.abs()) / longest + 1;
    let at = |i: i32| line.start + Point::new(d.x * i / pieces, d.y * i / pieces);
    (0..pieces).try_for_each(|i| Line::new(at(i), at(i + 1)).into_styled(style).draw(target))
}

/// Pieces of `on` pixels along the longer axis with gaps of about `off`, beginning and ending with a piece; each is drawn `wider`
/// longer at both ends.
pub(crate) fn broken<D: DrawTarget>(
    target: &mut D,
    line: Line,
    (on, off): (u32, u32),
    wider: u32,
    style: PrimitiveStyle<D::Color>,
) -> Result<(), D::Error> {
    let d = line.end - line.start;
    // Pixels of the line, and between the beginnings of its first and its last piece.
    let length = d.x.abs().max(d.y.abs()) + 1;
    let (on, off, wider) = (on.max(1) as i32, off.max(1) as i32, wider as i32);
    let gaps = ((length - on) / (on + off)).max(1);
    let room = (length - on).max(0);
    let at = |i: i32| line.start + Point::new(d.x * i / (length - 1).max(1), d.y * i / (length - 1).max(1));
    for i in 0..=gaps {
        let from = room * i / gaps;
        let to = (from + on - 1).min(length - 1);
        Line::new(at(from - wider), at(to + wider)).into_styled(style).draw(target)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds() -> Rectangle {
        Rectangle::new(Point::zero(), Size::new(100, 50))
    }

    #[test]
    fn a_line_inside_stays_as_it_is() {
        let line = Line::new(Point::new(3, 4), Point::new(99, 49));
        assert_eq!(clip(line, bounds()), Some(line));
    }

    #[test]
    fn a_line_that_crosses_is_cut_at_the_edges() {
        let line = Line::new(Point::new(-100, 10), Point::new(300, 10));
        assert_eq!(clip(line, bounds()), Some(Line::new(Point::new(0, 10), Point::new(99, 10))));
    }

    #[test]
    fn a_line_outside_is_gone() {
        for (a, b) in [((-9, 0), (-1, 40)), ((0, 60), (90, 51)), ((-5, 5), (3, -10))] {
            assert_eq!(clip(Line::new(a.into(), b.into()), bounds()), None);
        }
    }
}
