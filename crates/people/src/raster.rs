//! Which triangle each sample shows: depth and an index, nothing else; whatever is shaded is shaded later, once.

/// A vertex on the grid of samples: `w` is larger where it is nearer (the inverse of the distance).
#[derive(Debug, Clone, Copy, Default)]
pub struct Spot {
    /// Samples from the left edge.
    pub x: f32,
    /// Samples from the top edge.
    pub y: f32,
    /// Nearness; not above 0 where it is behind the camera.
    pub w: f32,
    /// The first column and row whose middle is not before it, 0 to 65535: most triangles are so small that whole numbers tell
    /// that they lie between all samples.
    cell: [u16; 2],
}

impl Spot {
    /// A vertex; `w` not above 0 where it is behind the camera.
    #[inline]
    pub fn new(x: f32, y: f32, w: f32) -> Self {
        // Samples lie at halves. Casts cut off towards 0 and hold at 0, which is what floor would do here.
        Self { x, y, w, cell: [(x + 0.5) as u16, (y + 0.5) as u16] }
    }
}

/// A grid of samples, or a part of one.
#[derive(Debug, Default)]
pub struct Samples {
    /// The first column and row of the grid that are kept.
    pub origin: [usize; 2],
    /// Samples in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Nearness of what is shown, 0 for nothing.
    pub near: Vec<f32>,
    /// What is shown: [`Samples::index`].
    pub shown: Vec<u32>,
}

/// Bits of the triangle in an index; the rest is the mesh.
const TRIANGLE_BITS: u32 = 17;

/// Nothing is shown.
pub const NOTHING: u32 = u32::MAX;

impl Samples {
    /// Empties the grid; of the whole only what lies between left, top, right and bottom is kept.
    #[inline]
    pub fn clear(&mut self, [left, top, right, bottom]: [usize; 4]) {
        self.origin = [left, top];
        (self.width, self.height) = (right.saturating_sub(left), bottom.saturating_sub(top));
        self.near.clear();
        self.near.resize(self.width * self.height, 0.0);
        self.shown.clear();
        self.shown.resize(self.width * self.height, NOTHING);
    }

    /// Where the sample of a column and row of the whole grid is kept; `None` outside the part.
    #[inline]
    pub fn at(&self, x: usize, y: usize) -> Option<usize> {
        let (x, y) = (x.wrapping_sub(self.origin[0]), y.wrapping_sub(self.origin[1]));
        (x < self.width && y < self.height).then_some(y * self.width + x)
    }

    /// The index of a triangle of a mesh.
    #[inline]
    pub fn index(mesh: usize, triangle: usize) -> u32 {
        (mesh as u32) << TRIANGLE_BITS | triangle as u32
    }

    /// Mesh and triangle of an index.
    #[inline]
    pub fn split(index: u32) -> (usize, usize) {
        ((index >> TRIANGLE_BITS) as usize, (index & ((1 << TRIANGLE_BITS) - 1)) as usize)
    }

    /// Draws a mesh. `cut` says for each vertex how far inside the mesh's outline it lies: samples below 0 are left out.
    /// One-sided meshes show only triangles that are counter-clockwise as seen.
    #[inline]
    pub fn draw(
        &mut self,
        mesh: usize,
        spots: &[Spot],
        triangles: &[[u16; 3]],
        cut: &[f32],
        two_sided: bool,
    ) {
        let [left, top] = self.origin;
        let (right, bottom) = (left + self.width, top + self.height);
        for (k, t) in triangles.iter().enumerate() {
            let [a, b, c] = t.map(|v| &spots[usize::from(v)]);
            let span = |axis: usize, low: usize, high: usize| {
                let [a, b, c] = [a.cell[axis], b.cell[axis], c.cell[axis]].map(usize::from);
                (a.min(b).min(c).max(low), a.max(b).max(c).min(high))
            };
            let (x0, x1) = span(0, left, right);
            if x0 >= x1 {
                continue;
            }
            let (y0, y1) = span(1, top, bottom);
            if y0 >= y1 || a.w <= 0.0 || b.w <= 0.0 || c.w <= 0.0 {
                continue;
            }
            let area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
            // y grows downwards: counter-clockwise as seen is negative.
            if area == 0.0 || (area > 0.0 && !two_sided) {
                continue;
            }
            let scale = 1.0 / area;
            // Shares of a and b at the first sample, and their steps.
            let (px, py) = (x0 as f32 + 0.5, y0 as f32 + 0.5);
            let ua = ((b.x - px) * (c.y - py) - (b.y - py) * (c.x - px)) * scale;
            let ub = ((c.x - px) * (a.y - py) - (c.y - py) * (a.x - px)) * scale;
            let (ua_x, ua_y) = ((b.y - c.y) * scale, (c.x - b.x) * scale);
            let (ub_x, ub_y) = ((c.y - a.y) * scale, (a.x - c.x) * scale);
            let id = Self::index(mesh, k);
            let edges = if cut.is_empty() { None } else { Some(t.map(|v| cut[usize::from(v)])) };
            let edges = edges.filter(|e| e.iter().any(|&f| f < 0.0));
            for y in y0..y1 {
                let rows = (y - y0) as i32 as f32;
                let (mut u, mut v) = (ua + rows * ua_y, ub + rows * ub_y);
                let row = (y - top) * self.width;
                let row = row + x0 - left..row + x1 - left;
                for (near, shown) in self.near[row.clone()].iter_mut().zip(&mut self.shown[row]) {
                    let s = 1.0 - u - v;
                    let w = u * a.w + v * b.w + s * c.w;
                    // One branch on the signs in the place of three that nobody can foretell.
                    if (u.to_bits() | v.to_bits() | s.to_bits()) >> 31 == 0 && w > *near {
                        let is_cut = |[fa, fb, fc]: [f32; 3]| u * fa + v * fb + s * fc < 0.0;
                        if !edges.is_some_and(is_cut) {
                            (*near, *shown) = (w, id);
                        }
                    }
                    (u, v) = (u + ua_x, v + ub_x);
                }
            }
        }
    }
}

/// Shares of a triangle's first two corners at a point of the grid, corrected for perspective.
#[inline]
pub fn shares(spots: [Spot; 3], x: f32, y: f32) -> [f32; 3] {
    let [a, b, c] = spots;
    let area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
    let u = (((b.x - x) * (c.y - y) - (b.y - y) * (c.x - x)) / area).clamp(0.0, 1.0);
    let v = (((c.x - x) * (a.y - y) - (c.y - y) * (a.x - x)) / area).clamp(0.0, 1.0);
    let [u, v, s] = [u * a.w, v * b.w, (1.0 - u - v).max(0.0) * c.w];
    let k = 1.0 / (u + v + s).max(1e-12);
    [u * k, v * k, s * k]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearer_triangle_is_shown_and_edges_are_cut() {
        let spot = Spot::new;
        let far = [spot(0.0, 0.0, 0.5), spot(0.0, 20.0, 0.5), spot(20.0, 0.0, 0.5)];
        let near = [spot(0.0, 0.0, 1.0), spot(0.0, 8.0, 1.0), spot(8.0, 0.0, 1.0)];
        let mut s = Samples::default();
        s.clear([0, 0, 10, 10]);
        s.draw(0, &near, &[[0, 1, 2]], &[], false);
        s.draw(1, &far, &[[0, 1, 2]], &[], false);
        assert_eq!(Samples::split(s.shown[0]), (0, 0));
        assert_eq!(Samples::split(s.shown[99]), (1, 0));
        s.clear([0, 0, 10, 10]);
        s.draw(2, &far, &[[0, 2, 1]], &[], false);
        assert!(s.shown.iter().all(|&i| i == NOTHING), "seen from behind");
        s.draw(2, &far, &[[0, 1, 2]], &[1.0, -2.0, 1.0], false);
        assert_ne!(s.shown[0], NOTHING);
        assert_eq!(s.shown[90], NOTHING, "below the cut");
        // A part shows what the whole shows there.
        let mut part = Samples::default();
        part.clear([3, 2, 9, 7]);
        for grid in [&mut s, &mut part] {
            grid.draw(1, &far, &[[0, 1, 2]], &[], false);
        }
        for (x, y) in (0..12).flat_map(|x| (0..12).map(move |y| (x, y))) {
            assert_eq!(part.at(x, y).is_some(), (3..9).contains(&x) && (2..7).contains(&y));
            if let Some(k) = part.at(x, y) {
                let whole = s.at(x, y).expect("inside");
                assert!((part.near[k] - s.near[whole]).abs() < 1e-6, "{x} {y}");
            }
        }
    }
}
