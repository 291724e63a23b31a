//! The room: wall, floor, a window, shelves, and a sideboard that people walk behind.

use super::paint::{Canvas, Colour};

/// Where the wall meets the floor, as a share of the picture's height.
const SKIRTING: f32 = 0.66;

/// Paints the room once; its bytes begin every frame.
pub fn paint(canvas: &mut Canvas, rng: &mut fastrand::Rng) -> Vec<u8> {
    let wall: Colour = [rng.f32() * 50.0 + 150.0, rng.f32() * 40.0 + 150.0, rng.f32() * 50.0 + 140.0];
    let floor: Colour = [rng.f32() * 30.0 + 120.0, rng.f32() * 20.0 + 92.0, rng.f32() * 20.0 + 66.0];
    let mut grain = ValueNoise::new(rng);
    let (w, h) = (canvas.width as f32, canvas.height as f32);
    for y in 0..canvas.height {
        for x in 0..canvas.width {
            let (u, v) = ((x as f32 + 0.5) / w, (y as f32 + 0.5) / h);
            let colour = if v < SKIRTING {
                wall_at(u, v, wall, &mut grain)
            } else {
                floor_at(u, v, floor, &mut grain)
            };
            // Light falls from the left.
            let light = 1.06 - 0.22 * u;
            canvas.set(x, y, colour.map(|c| c * light));
        }
    }
    canvas.rgb().to_vec()
}

fn wall_at(u: f32, v: f32, wall: Colour, grain: &mut ValueNoise) -> Colour {
    let inside = |u0: f32, v0: f32, u1: f32, v1: f32| u > u0 && u < u1 && v > v0 && v < v1;
    if v > SKIRTING - 0.02 {
        return [225.0, 222.0, 215.0];
    }
    if inside(0.06, 0.08, 0.27, 0.42) {
        // A window: frame, two panes, sky over hedge.
        let pane = inside(0.07, 0.095, 0.16, 0.405) || inside(0.17, 0.095, 0.26, 0.405);
        return match pane {
            false => [238.0, 236.0, 230.0],
            true if v > 0.3 => [96.0 + 40.0 * grain.at(60.0 * u, 60.0 * v), 128.0, 88.0],
            true => [196.0, 214.0, 236.0],
        };
    }
    if inside(0.72, 0.12, 0.95, 0.50) {
        // Shelves of books.
        let row = (v - 0.12) / 0.0951;
        if row.fract() < 0.09 || !(0.727..=0.943).contains(&u) {
            return [104.0, 78.0, 54.0];
        }
        let book = ((u - 0.72) * 90.0).floor() + 31.0 * row.floor();
        let shade = |k: f32| 60.0 + 130.0 * (book * k).sin().abs();
        return if row.fract() > 0.25 + 0.2 * (book * 7.7).sin().abs() {
            [shade(1.3), shade(2.1), shade(3.7)]
        } else {
            [58.0, 46.0, 36.0]
        };
    }
    if inside(0.43, 0.14, 0.56, 0.33) {
        // A picture.
        let frame = !inside(0.438, 0.152, 0.552, 0.317);
        return if frame {
            [60.0, 50.0, 44.0]
        } else {
            [170.0 - 200.0 * (v - 0.14), 150.0, 110.0 + 260.0 * (v - 0.14)]
        };
    }
    let paper = 6.0 * (grain.at(14.0 * u, 14.0 * v) - 0.5) + 5.0 * (grain.at(90.0 * u, 70.0 * v) - 0.5);
    wall.map(|c| c + paper)
}

fn floor_at(u: f32, v: f32, floor: Colour, grain: &mut ValueNoise) -> Colour {
    // Boards run towards the camera: their edges meet where the picture's horizon is.
    let depth = 1.0 / (v - SKIRTING + 0.16);
    let across = (u - 0.5) * depth;
    let board = (across * 5.0).floor();
    let seam = across * 5.0 - board < 0.04;
    let tone = 18.0 * ((board * 12.9).sin()) + 24.0 * (grain.at(across * 60.0, depth * 3.0) - 0.5);
    floor.map(|c| if seam { 0.6 * c } else { c + tone })
}

/// A sideboard before everybody, which hides legs at one side of the room.
pub fn paint_foreground(canvas: &mut Canvas) {
    const X_M: [f32; 2] = [0.62, 1.32];
    const HEIGHT_M: f32 = 0.72;
    const Z_M: f32 = 1.9;
    canvas.board(X_M, [0.0, HEIGHT_M], Z_M, |u, v| {
        let edge = v < 0.06 || (u * 2.0).fract() < 0.02 || u > 0.985;
        let knob = (u - 0.44).hypot(v - 0.4) < 0.022 || (u - 0.56).hypot(v - 0.4) < 0.022;
        match (edge, knob) {
            (_, true) => [190.0, 180.0, 150.0],
            (true, _) => [92.0, 70.0, 52.0],
            _ => [134.0 - 12.0 * v, 104.0 - 10.0 * v, 78.0 - 8.0 * v],
        }
    });
}

/// Smooth random texture, 0..=1.
struct ValueNoise {
    lattice: [f32; 256],
}

impl ValueNoise {
    fn new(rng: &mut fastrand::Rng) -> Self {
        Self { lattice: std::array::from_fn(|_| rng.f32()) }
    }

    fn at(&mut self, x: f32, y: f32) -> f32 {
        let (xi, yi) = (x.floor(), y.floor());
        let (fx, fy) = (x - xi, y - yi);
        let value = |i: i32, j: i32| {
            let (x, y) = (xi as i32 + i, yi as i32 + j);
            self.lattice[(x.wrapping_mul(73) ^ y.wrapping_mul(151)) as usize & 255]
        };
        let top = value(0, 0) + fx * (value(1, 0) - value(0, 0));
        let bottom = value(0, 1) + fx * (value(1, 1) - value(0, 1));
        top + fy * (bottom - top)
    }
}
