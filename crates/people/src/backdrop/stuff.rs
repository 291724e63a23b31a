//! Surfaces of places: floors, walls, fronts of furniture. Coordinates in metres on the surface.

use crate::{
    light::Colour,
    math::{Vec3, floor, frac, smooth, vec3},
    noise,
};

/// What a flat surface shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stuff {
    /// Paint with a little grain.
    Paint,
    /// Boards along v.
    Boards,
    /// Square tiles.
    Tiles,
    /// Carpet, grass, gravel: grain.
    Grain,
    /// Bricks.
    Bricks,
    /// Wallpaper.
    Paper,
    /// Books on shelves.
    Books,
    /// A front of doors and drawers.
    Drawers,
    /// Windows of a building.
    Windows,
    /// Leaves.
    Leaves,
    /// A cloth of folds.
    Drape,
    /// Blotches of several colours.
    Blotches,
}

/// A surface.
#[derive(Debug, Clone, Copy)]
pub struct Skin {
    /// What it shows.
    pub stuff: Stuff,
    /// Main colour, linear.
    pub a: Colour,
    /// Second colour.
    pub b: Colour,
    /// Metres of one repeat.
    pub repeat_m: f32,
    /// Shifts the noise.
    pub salt: f32,
}

impl Skin {
    /// Colour at (u, v) metres.
    pub fn at(&self, u: f32, v: f32) -> Colour {
        let r = self.repeat_m;
        let grain = |k: f32| noise::flat(u * k + self.salt, v * k, self.salt);
        let cell = |x: f32, y: f32| noise::cell(x as i32, y as i32, self.salt as i32);
        match self.stuff {
            Stuff::Paint => self.a * (1.0 + 0.04 * grain(5.0).x),
            Stuff::Boards => {
                let row = floor(u / r);
                let long = v / (7.0 * r) + 0.37 * row;
                let seam = frac(u / r) < 0.04 || frac(long) < 0.004;
                let tone =
                    1.0 + 0.16 * cell(row, floor(long)) + 0.10 * noise::flat(u * 60.0, v * 3.0, self.salt).x;
                self.a.mix(self.b, 0.3 + 0.3 * cell(floor(long), row)) * if seam { 0.55 } else { tone }
            }
            Stuff::Tiles => {
                let (x, y) = (floor(u / r), floor(v / r));
                let seam = frac(u / r) < 0.03 || frac(v / r) < 0.03;
                let odd = (x as i32 + y as i32) & 1 == 1;
                let c = if odd { self.b } else { self.a };
                if seam { self.a * 0.6 } else { c * (1.0 + 0.07 * cell(x, y)) }
            }
            Stuff::Grain => {
                let (fine, broad) = (grain(70.0), grain(2.1));
                let n = fine.x * 0.6 + broad.z * 0.5 + broad.y * fine.y * 0.4;
                self.a.mix(self.b, (0.5 + 0.6 * n).clamp(0.0, 1.0))
            }
            Stuff::Bricks => {
                let row = floor(v / (0.4 * r));
                let x = u / r + 0.5 * frac(row * 0.5) * 2.0;
                let seam = frac(v / (0.4 * r)) < 0.12 || frac(x) < 0.05;
                if seam { self.b } else { self.a * (1.0 + 0.25 * cell(floor(x), row) + 0.1 * grain(50.0).x) }
            }
            Stuff::Paper => {
                let (x, y) = (frac(u / r) - 0.5, frac(v / r) - 0.5);
                let d = x * x + y * y + 0.03 * grain(9.0).x;
                if d < 0.06 || (x.abs() - y.abs()).abs() < 0.03 { self.b } else { self.a }
            }
            Stuff::Books => {
                let row = floor(v / 0.32);
                let up = frac(v / 0.32);
                if up < 0.07 {
                    return self.b;
                }
                let x = floor(u * 26.0 + 3.0 * row);
                let tall = 0.6 + 0.3 * cell(x, row);
                let c = vec3(
                    0.25 + 0.25 * cell(x, row + 7.0),
                    0.22 + 0.2 * cell(x, row + 13.0),
                    0.2 + 0.2 * cell(x, row + 19.0),
                );
                if up < tall { c * if frac(u * 26.0) < 0.1 { 0.5 } else { 1.0 } } else { self.b * 0.35 }
            }
            Stuff::Drawers => {
                let (x, y) = (frac(u / r), frac(v / (0.6 * r)));
                let edge = x < 0.02 || y < 0.03;
                let knob = (x - 0.5) * (x - 0.5) * 2.6 + (y - 0.5) * (y - 0.5) < 0.004;
                let tone = 1.0 + 0.1 * noise::flat(u * 4.0, v * 50.0, self.salt).x;
                if knob {
                    self.b
                } else if edge {
                    self.a * 0.5
                } else {
                    self.a * tone
                }
            }
            Stuff::Windows => {
                let (x, y) = (frac(u / r), frac(v / (1.2 * r)));
                let pane = (0.22..0.78).contains(&x) && (0.25..0.85).contains(&y);
                if pane {
                    let k = 0.5 + 0.5 * cell(floor(u / r), floor(v / r));
                    vec3(0.05, 0.07, 0.09).mix(vec3(0.35, 0.42, 0.5), k * 0.6)
                } else {
                    self.a * (1.0 + 0.08 * grain(2.0).x)
                }
            }
            Stuff::Leaves => {
                let n = grain(5.0).x * 0.4 + grain(19.0).y * 0.5 + grain(60.0).x * 0.4;
                self.a.mix(self.b, smooth(-0.5, 0.6, n))
            }
            Stuff::Drape => {
                self.a * (1.0 + 0.3 * noise::flat(u * 9.0, v * 0.4, self.salt).x + 0.1 * grain(60.0).y)
            }
            Stuff::Blotches => {
                let n = grain(1.0 / r);
                let m = grain(3.1 / r);
                if n.x > 0.15 {
                    self.b
                } else if n.y + 0.3 * m.x > 0.2 {
                    vec3(self.a.z, self.a.x, self.b.y)
                } else {
                    self.a * (1.0 + 0.2 * m.y)
                }
            }
        }
    }
}

/// Sky in a direction of the world: brighter near the horizon, with clouds.
pub fn sky(ray: Vec3, zenith: Colour, horizon: Colour, salt: f32) -> Colour {
    let d = ray.unit();
    let up = d.y.max(0.0);
    let base = horizon.mix(zenith, smooth(0.0, 0.6, up));
    let q = vec3(d.x / (up + 0.2) * 1.2, salt, d.z / (up + 0.2) * 1.2);
    let n = noise::at(q).x * 0.6 + noise::at(q * 2.3).y * 0.3 + noise::at(q * 5.0).z * 0.15;
    base.mix(vec3(0.95, 0.95, 0.97), smooth(0.0, 0.6, n) * 0.8)
}
