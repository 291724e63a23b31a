//! What things are made of: colour, shine and small relief at a place of the mean body (metres: left, up, ahead).

use crate::{
    light::Colour,
    math::{Vec3, cos, floor, frac, mix, sin, smooth, vec3},
    noise,
};

/// What light meets at a sample.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Linear colour.
    pub albedo: Colour,
    /// Added to the normal.
    pub bump: Vec3,
    /// Share that is mirrored.
    pub gloss: f32,
    /// A small highlight instead of a broad one.
    pub tight: bool,
    /// How far light creeps past the edge of shadow.
    pub wrap: f32,
}

/// A material.
#[derive(Debug, Clone, Copy)]
pub enum Surface {
    /// Skin with a painted face.
    Skin(Skin),
    /// Eyeballs, with the iris' colour and what dark glasses leave of the light.
    Eye(Colour, f32),
    /// Woven things.
    Cloth(Cloth),
    /// Hair of that colour; how streaky it is.
    Hair(Colour, f32),
    /// Leather or rubber: colour, sole's colour, height of the sole.
    Shoe(Colour, Colour, f32),
}

/// Skin and what is painted on it.
#[derive(Debug, Clone, Copy)]
pub struct Skin {
    /// Linear colour.
    pub tone: Colour,
    /// Of brows, lashes and beard.
    pub hair: Colour,
    /// Lips.
    pub lips: Colour,
    /// 0 shaved to 1 full.
    pub beard: f32,
    /// Of the brows, 0 to 1.
    pub brows: f32,
    /// Years, for lines.
    pub years: f32,
    /// Shifts the noise.
    pub salt: f32,
    /// Stands in for cloth where a cut leaves a gap.
    pub under: Colour,
    /// Painted on the face: a mask over nose and mouth, or a beard's place.
    pub mask: Option<Colour>,
    /// Frames of glasses and what is seen through them: dark ones are sunglasses.
    pub glasses: Option<Glasses>,
}

/// Glasses, painted on the face.
#[derive(Debug, Clone, Copy)]
pub struct Glasses {
    /// Of the frame.
    pub frame: Colour,
    /// How much of the light dark glass keeps back, 0 to 1.
    pub dark: f32,
    /// Half width and half height of a glass, metres.
    pub half_m: [f32; 2],
}

/// How a cloth is coloured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pattern {
    /// One colour.
    Plain,
    /// Bands around or along.
    Stripes,
    /// Crossing bands.
    Checks,
    /// Dots.
    Dots,
    /// A figure on the chest.
    Print,
    /// Faded cotton.
    Denim,
    /// Patches.
    Blotch,
    /// Two blocks of colour, one above the other.
    Blocks,
    /// What a photograph shows: the person's swatch of that number.
    Photo(u8),
}

/// A cloth.
#[derive(Debug, Clone, Copy)]
pub struct Cloth {
    /// How it is coloured.
    pub pattern: Pattern,
    /// Its colours.
    pub colours: [Colour; 3],
    /// Metres of one repeat.
    pub repeat_m: f32,
    /// Angle of its bands.
    pub angle: f32,
    /// Relief of folds.
    pub folds: f32,
    /// Relief of the weave.
    pub weave: f32,
    /// Shine.
    pub gloss: f32,
    /// Shifts the noise.
    pub salt: f32,
    /// A zip or row of buttons down the front.
    pub placket: bool,
}

impl Surface {
    /// What light meets at `p`, `cut` metres inside the outline.
    pub fn look(&self, p: Vec3, cut: f32) -> Look {
        match self {
            Self::Skin(skin) => skin.look(p),
            Self::Eye(iris, light) => eye(*iris, *light, p),
            Self::Cloth(cloth) => cloth.look(p, cut),
            Self::Hair(colour, streaks) => hair(*colour, *streaks, p, cut),
            Self::Shoe(colour, sole, sole_y) => shoe(*colour, *sole, *sole_y, p, cut),
        }
    }
}

/// Centre of the left eye on the mean body.
const EYE: [f32; 2] = [0.029, 0.6935];

fn ellipse(x: f32, y: f32, rx: f32, ry: f32) -> f32 {
    let (a, b) = (x / rx, y / ry);
    a * a + b * b
}

impl Skin {
    fn look(&self, p: Vec3) -> Look {
        let mottle = noise::at(p * 45.0 + vec3(self.salt, 0.0, 0.0));
        let mut albedo = self.tone * (1.0 + 0.05 * mottle.x) + vec3(0.012, 0.0, 0.0) * mottle.y;
        let mut gloss = 0.045;
        let mut bump = noise::rough(p * 160.0) * 0.02;
        let x = p.x.abs();
        if p.y > 0.56 && p.z > 0.03 {
            self.face(p, x, mottle, &mut albedo, &mut gloss, &mut bump);
        }
        if let Some(mask) = self.mask
            && p.z > 0.045
            && p.y > 0.592
            && p.y < 0.664 - 0.25 * (x - 0.02).max(0.0)
            && x < 0.068
        {
            let fold = frac((p.y - 0.592) * 38.0) < 0.12;
            albedo = mask * if fold { 0.82 } else { 1.0 };
            gloss = 0.0;
        }
        if let Some(glasses) = self.glasses
            && p.z > 0.06
        {
            glasses.paint(p, x, &mut albedo, &mut gloss);
        }
        if x < 0.22 && p.y < 0.12 && p.y > -0.12 {
            albedo = self.under;
        }
        Look { albedo, bump, gloss, tight: false, wrap: 0.22 }
    }

    fn face(&self, p: Vec3, x: f32, mottle: Vec3, albedo: &mut Colour, gloss: &mut f32, bump: &mut Vec3) {
        let blush = 1.0 - smooth(0.2, 1.0, ellipse(x - 0.043, p.y - 0.652, 0.03, 0.026));
        let tip = 1.0 - smooth(0.3, 1.0, ellipse(x, p.y - 0.658, 0.018, 0.014));
        *albedo = albedo.times(vec3(
            1.0 + 0.05 * blush,
            1.0 - 0.09 * blush - 0.05 * tip,
            1.0 - 0.09 * blush - 0.05 * tip,
        ));
        // Hollows that the baked light is too coarse for: under brow and nose, below the lip.
        let (ex, ey) = (x - EYE[0], p.y - EYE[1]);
        let hollow = 1.0 - smooth(0.25, 1.0, ellipse(ex + 0.003, ey - 0.001, 0.026, 0.017));
        *albedo = *albedo * (1.0 - 0.2 * hollow);
        if p.z > 0.09 {
            // Lashes: a dark rim, above more than below.
            let rim = ellipse(ex, ey - 0.0005, 0.0165, 0.0085);
            let lash =
                smooth(0.55, 0.85, rim) * (1.0 - smooth(1.1, 1.5, rim)) * if ey > 0.0 { 0.85 } else { 0.35 };
            *albedo = albedo.mix(self.hair * 0.5, lash);
            // Brows.
            let arch = 0.7165 + 0.006 * (1.0 - ((x - 0.033) / 0.02) * ((x - 0.033) / 0.02));
            let taper = mix(0.0052, 0.0024, smooth(0.02, 0.05, x));
            let brow = (1.0 - smooth(0.6, 1.15, (p.y - arch).abs() / taper))
                * smooth(0.010, 0.016, x)
                * (1.0 - smooth(0.046, 0.054, x));
            *albedo = albedo.mix(self.hair, brow * self.brows);
            // Nostrils and the shade under the nose.
            let nostril = 1.0 - smooth(0.3, 1.0, ellipse(x - 0.0085, p.y - 0.6475, 0.006, 0.004));
            let under = 1.0 - smooth(0.2, 1.0, ellipse(x, p.y - 0.645, 0.02, 0.007));
            *albedo = *albedo * (1.0 - 0.55 * nostril) * (1.0 - 0.18 * under);
            // Lips, the line between them, and the shade below.
            let corner = (x / 0.026).min(1.0);
            let upper = 0.6262 + 0.0095 * (1.0 - corner * corner) * (1.0 - 0.12 * cos(x * 600.0).max(0.0));
            let lower = 0.6262 - 0.0105 * (1.0 - corner * corner);
            let lip = smooth(lower - 0.0015, lower + 0.0015, p.y)
                * (1.0 - smooth(upper - 0.0015, upper + 0.0015, p.y))
                * f32::from(x < 0.026);
            *albedo = albedo.mix(self.lips, 0.75 * lip);
            *gloss += 0.05 * lip;
            let line = (1.0 - smooth(0.0008, 0.0022, (p.y - 0.6262).abs())) * (1.0 - smooth(0.022, 0.028, x));
            *albedo = *albedo * (1.0 - 0.6 * line);
            let below = 1.0 - smooth(0.2, 1.0, ellipse(x, p.y - 0.6085, 0.02, 0.006));
            *albedo = *albedo * (1.0 - 0.14 * below);
            // Lines from nose to mouth come with the years.
            let fold = (x - 0.02 - 0.35 * (0.655 - p.y)).abs();
            let aged = smooth(30.0, 75.0, self.years);
            let crease = (1.0 - smooth(0.001, 0.004, fold))
                * smooth(0.615, 0.625, p.y)
                * (1.0 - smooth(0.648, 0.655, p.y));
            *albedo = *albedo * (1.0 - (0.08 + 0.22 * aged) * crease);
            *bump += noise::at(vec3(p.x * 20.0, p.y * 170.0, self.salt))
                * (0.10 * aged * smooth(0.72, 0.735, p.y));
        }
        if self.beard > 0.0 {
            let jaw = smooth(0.66, 0.635, p.y - 0.9 * (x - 0.05).max(0.0))
                * smooth(0.05, 0.08, p.z + 0.2 * (0.6 - p.y).max(0.0));
            let cheek = smooth(0.9, 1.3, ellipse(x, p.y - 0.665, 0.052, 0.033));
            let lips = smooth(0.9, 1.4, ellipse(x, p.y - 0.627, 0.024, 0.012));
            let chin = jaw * cheek * lips;
            let grain = 0.7 + 0.3 * mottle.z;
            *albedo = albedo.mix(self.hair, (self.beard * chin * grain).clamp(0.0, 0.92));
            *gloss *= 1.0 - 0.8 * chin * self.beard;
        }
    }
}

impl Glasses {
    fn paint(&self, p: Vec3, x: f32, albedo: &mut Colour, gloss: &mut f32) {
        let [w, h] = self.half_m;
        let r = ellipse(x - 0.032, p.y - EYE[1], w, h);
        let bridge = x < 0.032 - 0.8 * w && (p.y - EYE[1] - 0.004).abs() < 0.0022;
        let rim = (0.8..1.12).contains(&r);
        if rim || bridge {
            *albedo = self.frame;
            *gloss = 0.12;
        } else if r < 1.0 {
            *albedo = *albedo * (1.0 - self.dark);
            *gloss += 0.12;
        }
    }
}

fn eye(iris: Colour, light: f32, p: Vec3) -> Look {
    let r2 = ellipse(p.x.abs() - EYE[0] + 0.0004, p.y - EYE[1], 1.0, 1.0);
    let r = r2.sqrt();
    let white = vec3(0.62, 0.58, 0.55);
    let albedo = if r < 0.0026 {
        vec3(0.004, 0.004, 0.004)
    } else {
        iris.mix(white, smooth(0.0056, 0.0066, r))
            * mix(0.75, 1.0, smooth(0.007, 0.004, (p.y - EYE[1]).max(0.0)))
    };
    Look { albedo: albedo * light, bump: Vec3::ZERO, gloss: 0.35 * light, tight: true, wrap: 0.15 }
}

impl Cloth {
    fn look(&self, p: Vec3, cut: f32) -> Look {
        let salt = vec3(self.salt, 1.7 * self.salt, -self.salt);
        // Folds run across limbs and slant over the trunk.
        let broad = noise::at(vec3(p.x * 7.0 + p.y * 4.0, p.y * 13.0 - p.x * 5.0, p.z * 8.0) + salt);
        let fine = noise::at(vec3(p.x * 22.0 - p.y * 9.0, p.y * 30.0 + p.x * 12.0, p.z * 24.0) + salt);
        let ridge = |v: f32| 1.0 - 2.0 * v.abs();
        let crease = ridge(broad.x) * 0.5 + ridge(fine.y) * 0.25;
        // Threads are finer than any picture's pixels.
        let thread = noise::rough(p * 420.0) * 0.6;
        let mut bump = (broad * 0.7 + fine * 0.5) * self.folds + thread * (0.12 * self.weave);
        let mut albedo = self.colour(p, broad);
        albedo = albedo * (1.0 + 0.09 * self.weave * thread.x + 0.14 * self.folds * (crease - 0.2));
        // A seam along hems.
        if (0.010..0.0125).contains(&cut) {
            albedo = albedo * 0.8;
        }
        if cut < 0.004 {
            bump += vec3(0.0, -0.2, 0.0);
            albedo = albedo * 0.88;
        }
        if self.placket && p.x.abs() < 0.012 && p.z > 0.0 && p.y < 0.56 {
            let edge = (p.x.abs() - 0.010).abs() < 0.002;
            let button = ellipse(p.x, frac(p.y * 14.0) / 14.0 - 0.035, 0.005, 0.005) < 1.0;
            albedo = if button {
                albedo.mix(vec3(0.7, 0.68, 0.62), 0.6)
            } else if edge {
                albedo * 0.7
            } else {
                albedo
            };
        }
        Look { albedo, bump, gloss: self.gloss, tight: false, wrap: 0.08 }
    }

    fn colour(&self, p: Vec3, broad: Vec3) -> Colour {
        let [a, b, c] = self.colours;
        let (s, k) = (sin(self.angle), cos(self.angle));
        let along = (p.y * k + (p.x + 0.4 * p.z) * s) / self.repeat_m;
        let across = (p.x * k - p.y * s + 0.3 * p.z) / self.repeat_m;
        match self.pattern {
            Pattern::Plain => a,
            // The swatch gives all colour.
            Pattern::Photo(_) => vec3(1.0, 1.0, 1.0),
            Pattern::Stripes => {
                let f = frac(along);
                if f < 0.42 { b } else { a }
            }
            Pattern::Checks => {
                let f = frac(along) < 0.45;
                let g = frac(across) < 0.45;
                match (f, g) {
                    (true, true) => b,
                    (false, false) => a,
                    _ => a.mix(b, 0.5),
                }
            }
            Pattern::Dots => {
                let row = floor(along);
                let (u, v) = (along - row - 0.5, across + 0.5 * row);
                let v = frac(v) - 0.5;
                if u * u + v * v < 0.07 { b } else { a }
            }
            Pattern::Print => {
                let (u, v) = (p.x / 0.11, (p.y - 0.36) / 0.10);
                if p.z < 0.0 || u.abs() > 1.0 || v.abs() > 1.0 {
                    return a;
                }
                let blob = noise::at(vec3(u * 2.2 + self.salt, v * 2.2, 0.5 * self.salt));
                if u * u + v * v > 0.95 {
                    a
                } else if blob.x > 0.1 {
                    b
                } else if blob.y > 0.15 {
                    c
                } else {
                    a
                }
            }
            Pattern::Denim => {
                let worn = smooth(-0.5, 0.9, broad.y) * 0.35
                    + 0.25 * (1.0 - smooth(0.0, 0.09, (p.x.abs() - 0.12).abs())) * f32::from(p.z > 0.0);
                a.mix(b, worn)
            }
            Pattern::Blotch => {
                let n = noise::at(p * (0.6 / self.repeat_m) + vec3(self.salt, 0.0, 0.0));
                if n.x > 0.12 {
                    b
                } else if n.y > 0.15 {
                    c
                } else {
                    a
                }
            }
            Pattern::Blocks => {
                if p.y + 0.02 * f32::from(p.z > 0.0) > 0.36 {
                    b
                } else {
                    a
                }
            }
        }
    }
}

fn hair(colour: Colour, streaks: f32, p: Vec3, cut: f32) -> Look {
    let around = crate::math::atan2(p.x, p.z - 0.04);
    let strand = noise::at(vec3(around * 22.0, p.y * 26.0, p.z * 8.0));
    let lock = noise::at(vec3(around * 6.0, p.y * 9.0 + strand.y * 0.2, 3.0));
    let shade = 1.0 + streaks * (0.35 * strand.x + 0.3 * lock.x);
    // Thinner at the hairline.
    let root = smooth(0.0, 0.012, cut + 0.004 * strand.z);
    let albedo = colour * (shade * (0.75 + 0.25 * root));
    Look {
        albedo,
        bump: strand * (0.35 * streaks) + lock * (0.3 * streaks),
        gloss: 0.07,
        tight: false,
        wrap: 0.1,
    }
}

fn shoe(colour: Colour, sole: Colour, sole_y: f32, p: Vec3, cut: f32) -> Look {
    let grain = noise::rough(p * 140.0) * 0.6;
    let lace = p.z > 0.05
        && p.z < 0.11
        && frac(p.z * 90.0) < 0.35
        && (p.x.abs() - 0.185).abs() < 0.018
        && p.y > sole_y + 0.02;
    let albedo = if p.y < sole_y {
        sole
    } else if lace {
        colour.mix(sole, 0.7)
    } else if cut < 0.006 {
        colour * 0.6
    } else {
        colour * (1.0 + 0.06 * grain.x)
    };
    Look { albedo, bump: grain * 0.06, gloss: 0.08, tight: false, wrap: 0.05 }
}
