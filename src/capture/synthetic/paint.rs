//! A painter of shaded, anti-aliased capsules with a depth buffer, seen by a pinhole camera.

/// Metres: x right, y up from the floor, z away from the camera.
pub type Point = [f32; 3];

/// Red, green, blue, 0..=255.
pub type Colour = [f32; 3];

/// Height of the camera above the floor: a table or a shelf.
const CAMERA_HEIGHT_M: f32 = 1.15;

/// Focal length in picture heights: 55° from top to bottom of the picture, as webcams have.
const FOCAL_HEIGHTS: f32 = 0.96;

/// Where the light comes from, unit length: the upper left, before the scene.
const LIGHT: [f32; 3] = [-0.45, 0.62, -0.64];

/// Depth of the room's back, which nothing is behind.
const FAR_M: f32 = 1e3;

/// The picture being painted.
pub struct Canvas {
    pub width: usize,
    pub height: usize,
    rgb: Vec<u8>,
    depth_m: Vec<f32>,
    focal_px: f32,
}

impl Canvas {
    pub fn new(width: usize, height: usize) -> Self {
        // A tall picture is limited by its width.
        let focal_px = FOCAL_HEIGHTS * (height as f32).min(width as f32);
        let (rgb, depth_m) = (vec![0; 3 * width * height], vec![FAR_M; width * height]);
        Self { width, height, rgb, depth_m, focal_px }
    }

    /// Begins a picture with a background.
    pub fn start(&mut self, background: &[u8]) {
        self.rgb.copy_from_slice(background);
        self.depth_m.fill(FAR_M);
    }

    pub fn rgb(&self) -> &[u8] {
        &self.rgb
    }

    /// Pixels and depth of a point; what is behind the camera is far outside the picture.
    pub fn project(&self, p: Point) -> (f32, f32, f32) {
        let z = p[2].max(0.05);
        let x = 0.5 * self.width as f32 + self.focal_px * p[0] / z;
        let y = 0.5 * self.height as f32 - self.focal_px * (p[1] - CAMERA_HEIGHT_M) / z;
        (x, y, z)
    }

    /// Depth of what is seen at a pixel; `None` outside the picture.
    pub fn depth_at(&self, x_px: f32, y_px: f32) -> Option<f32> {
        let inside = x_px >= 0.0 && y_px >= 0.0 && x_px < self.width as f32 && y_px < self.height as f32;
        inside.then(|| self.depth_m[y_px as usize * self.width + x_px as usize])
    }

    /// The background's pixel, for the room to be painted once.
    pub fn set(&mut self, x: usize, y: usize, colour: Colour) {
        let at = 3 * (y * self.width + x);
        for (byte, c) in self.rgb[at..at + 3].iter_mut().zip(colour) {
            *byte = c.clamp(0.0, 255.0) as u8;
        }
    }

    /// A tapered limb from `a` to `b`, `ra` and `rb` thick, nearer parts over farther ones.
    pub fn capsule(&mut self, a: Point, ra_m: f32, b: Point, rb_m: f32, colour: Colour) {
        self.part(a, ra_m, b, rb_m, colour, 1.0);
    }

    /// [`capsule`](Self::capsule) that is lit as if it were `roundness` as round: several side by side make one flat
    /// surface near 0.
    pub fn part(&mut self, a: Point, ra_m: f32, b: Point, rb_m: f32, colour: Colour, roundness: f32) {
        let (ax, ay, az) = self.project(a);
        let (bx, by, bz) = self.project(b);
        let (ra, rb) = (self.focal_px * ra_m / az, self.focal_px * rb_m / bz);
        let (dx, dy) = (bx - ax, by - ay);
        let length2 = (dx * dx + dy * dy).max(1e-6);
        let r = ra.max(rb) + 1.0;
        let Some((x0, x1)) = span(ax.min(bx) - r, ax.max(bx) + r, self.width) else { return };
        let Some((y0, y1)) = span(ay.min(by) - r, ay.max(by) + r, self.height) else { return };
        for y in y0..y1 {
            let py = y as f32 + 0.5 - ay;
            for x in x0..x1 {
                let px = x as f32 + 0.5 - ax;
                let t = ((px * dx + py * dy) / length2).clamp(0.0, 1.0);
                let (ox, oy) = (px - t * dx, py - t * dy);
                let radius = ra + t * (rb - ra);
                let distance = (ox * ox + oy * oy).sqrt();
                let cover = (radius - distance + 0.5).clamp(0.0, 1.0);
                if cover > 0.0 {
                    let (nx, ny) = (ox / radius.max(0.5), oy / radius.max(0.5));
                    let nz = (1.0 - nx * nx - ny * ny).max(0.0).sqrt();
                    let depth_m = az + t * (bz - az) - nz * (ra_m + t * (rb_m - ra_m));
                    let (lx, ly) = (roundness * nx, roundness * ny);
                    let lz = (1.0 - lx * lx - ly * ly).max(0.0).sqrt();
                    let lit = (lx * LIGHT[0] - ly * LIGHT[1] - lz * LIGHT[2]).max(0.0);
                    self.blend(x, y, depth_m, cover, colour.map(|c| c * (0.52 + 0.56 * lit)));
                }
            }
        }
    }

    /// An upright board facing the camera.
    pub fn board(&mut self, x_m: [f32; 2], y_m: [f32; 2], z_m: f32, colour: impl Fn(f32, f32) -> Colour) {
        let (ax, ay, _) = self.project([x_m[0], y_m[1], z_m]);
        let (bx, by, _) = self.project([x_m[1], y_m[0], z_m]);
        let Some((x0, x1)) = span(ax - 1.0, bx + 1.0, self.width) else { return };
        let Some((y0, y1)) = span(ay - 1.0, by + 1.0, self.height) else { return };
        for y in y0..y1 {
            for x in x0..x1 {
                let (px, py) = (x as f32 + 0.5, y as f32 + 0.5);
                let cover =
                    (px - ax + 0.5).min(bx - px + 0.5).min(py - ay + 0.5).min(by - py + 0.5).clamp(0.0, 1.0);
                if cover > 0.0 {
                    self.blend(x, y, z_m, cover, colour((px - ax) / (bx - ax), (py - ay) / (by - ay)));
                }
            }
        }
    }

    fn blend(&mut self, x: usize, y: usize, depth_m: f32, cover: f32, colour: Colour) {
        let at = y * self.width + x;
        if depth_m > self.depth_m[at] {
            return;
        }
        if cover > 0.5 {
            self.depth_m[at] = depth_m;
        }
        for (byte, c) in self.rgb[3 * at..3 * at + 3].iter_mut().zip(colour) {
            let was = f32::from(*byte);
            *byte = (was + cover * (c - was) + 0.5).clamp(0.0, 255.0) as u8;
        }
    }

    /// Adds sensor noise of standard deviation `sigma` levels: the sum of four bytes of a hash is normal enough.
    pub fn add_noise(&mut self, sigma: f32, seed: u64) {
        // Four uniform bytes sum to a standard deviation of 147.8; 16 fractional bits.
        let gain = (sigma / 147.8 * 65_536.0) as i32;
        let mut rng = fastrand::Rng::with_seed(seed);
        for pair in self.rgb.chunks_mut(2) {
            let bits = rng.u64(..).to_le_bytes();
            for (byte, four) in pair.iter_mut().zip(bits.chunks_exact(4)) {
                let sum: i32 = four.iter().map(|&b| i32::from(b)).sum::<i32>() - 510;
                *byte = (i32::from(*byte) + ((sum * gain + 32_768) >> 16)).clamp(0, 255) as u8;
            }
        }
    }
}

/// The pixels between two edges, inside the picture.
fn span(from: f32, to: f32, size: usize) -> Option<(usize, usize)> {
    let (a, b) = (from.floor().max(0.0), to.ceil().min(size as f32));
    (a < b).then_some((a as usize, b as usize))
}
