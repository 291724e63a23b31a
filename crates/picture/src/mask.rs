//! Which pixels something covers.

/// Marks pixels of a picture of fixed size; the storage is kept.
#[derive(Clone, Debug)]
pub struct Mask {
    width: usize,
    height: usize,
    marked: Vec<bool>,
}

impl Mask {
    /// Nothing is marked.
    pub fn new(width: usize, height: usize) -> Self {
        Self { width, height, marked: vec![false; width * height] }
    }

    /// Width and height, pixels.
    pub fn size(&self) -> [usize; 2] {
        [self.width, self.height]
    }

    /// By row, then column.
    pub fn marked(&self) -> &[bool] {
        &self.marked
    }

    /// Whether the pixel at (x, y) is marked; outside nothing is.
    pub fn is_marked(&self, (x, y): (f32, f32)) -> bool {
        let is_inside = x >= 0.0 && y >= 0.0 && x < self.width as f32 && y < self.height as f32;
        is_inside && self.marked[y as usize * self.width + x as usize]
    }

    /// Marks nothing any more.
    pub fn clear(&mut self) {
        self.marked.fill(false);
    }

    /// Marks every pixel whose centre lies within `radius` of the line from `a` to `b`, (x, y) in pixels. Where a number is not finite nothing
    /// is marked.
    pub fn capsule(&mut self, a: [f32; 2], b: [f32; 2], radius: f32) {
        if ![a[0], a[1], b[0], b[1], radius].iter().all(|v| v.is_finite()) {
            return;
        }
        // Negative ones become 0.
        let span = |a: f32, b: f32, end: usize| {
            (a.min(b) - radius) as usize..(((a.max(b) + radius).ceil()) as usize).min(end)
        };
        let [dx, dy] = [b[0] - a[0], b[1] - a[1]];
        let length2 = (dx * dx + dy * dy).max(f32::MIN_POSITIVE);
        for y in span(a[1], b[1], self.height) {
            for x in span(a[0], b[0], self.width) {
                let [px, py] = [x as f32 + 0.5 - a[0], y as f32 + 0.5 - a[1]];
                let along = ((px * dx + py * dy) / length2).clamp(0.0, 1.0);
                let [ex, ey] = [px - along * dx, py - along * dy];
                if ex * ex + ey * ey <= radius * radius {
                    self.marked[y * self.width + x] = true;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(mask: &Mask) -> Vec<String> {
        let row = |row: &[bool]| row.iter().map(|m| if *m { '#' } else { '.' }).collect();
        mask.marked().chunks(mask.size()[0]).map(row).collect()
    }

    #[test]
    fn a_capsule_is_a_line_with_round_ends() {
        let mut mask = Mask::new(9, 5);
        mask.capsule([2.5, 2.5], [6.5, 2.5], 1.2);
        assert_eq!(drawn(&mask), [".........", "..#####..", ".#######.", "..#####..", "........."]);
        assert!(mask.is_marked((1.0, 2.9)) && !mask.is_marked((0.9, 2.5)) && !mask.is_marked((9.0, 2.5)));
        mask.clear();
        mask.capsule([3.0, 2.0], [3.0, 2.0], 0.8);
        assert_eq!(drawn(&mask), [".........", "..##.....", "..##.....", ".........", "........."]);
        mask.clear();
        mask.capsule([4.5, 2.5], [4.5, 2.5], 1.2);
        assert_eq!(drawn(&mask), [".........", "....#....", "...###...", "....#....", "........."]);
    }

    #[test]
    fn what_lies_outside_or_nowhere_marks_nothing_there() {
        let mut mask = Mask::new(4, 2);
        mask.capsule([-30.0, 1.0], [-20.0, 1.0], 3.0);
        mask.capsule([50.0, 90.0], [60.0, 90.0], 3.0);
        mask.capsule([f32::NAN, 1.0], [2.0, 1.0], 3.0);
        mask.capsule([1.0, 1.0], [2.0, 1.0], f32::INFINITY);
        assert_eq!(drawn(&mask), ["....", "...."]);
        mask.capsule([-1e9, 0.5], [1e9, 0.5], 0.6);
        assert_eq!(drawn(&mask), ["####", "...."]);
    }
}
