//! Rooms and open places: planes and boxes.

use super::stuff::{Skin, Stuff, sky};
use crate::{
    camera::Camera,
    light::{Colour, Light, linear},
    math::{TAU, UP, Vec3, cos, sin, smooth, vec3, yaw},
    rng::Rng,
};

/// Surfaces by number; 0 is the sky.
const FLOOR: u16 = 1;
const CEILING: u16 = 2;
/// The first of four.
const WALLS: u16 = 3;
/// Pictures and windows: see [`Place::pane`].
const PANES: u16 = 10;
/// Three each: top or underside, the sides along x, the sides along z.
const PIECES: u16 = 40;

/// Whether that is a piece, not the place itself.
pub fn is_piece(id: u16) -> bool {
    id >= PIECES
}

/// Where a ray meets something.
#[derive(Debug, Clone, Copy)]
pub struct Meeting {
    /// The inverse of the distance along the camera's axis.
    pub near: f32,
    /// That distance, metres.
    far_m: f32,
    /// Which surface.
    id: u16,
}

impl Meeting {
    /// Which surface.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// Whether it is sky or ground.
    pub fn is_open(&self) -> bool {
        self.id == 0 || self.id == FLOOR
    }

    /// Whether it is that surface all over: a wall with pictures is not.
    pub fn is(&self, id: u16) -> bool {
        self.id == id && id != WALLS
    }
}

/// A piece with the camera's place on its own axes.
#[derive(Debug, Clone, Copy)]
pub struct Sight {
    from: Vec3,
    /// cos, sin.
    turn: [f32; 2],
    size: Vec3,
}

/// What is seen there.
#[derive(Debug, Clone, Copy)]
pub struct Hit {
    /// Linear colour.
    pub albedo: Colour,
    /// Of length 1.
    pub normal: Vec3,
    /// Share of the sky that reaches it.
    pub open: f32,
    /// Shines by itself.
    pub glow: bool,
    /// Which surface, for edges.
    pub id: u16,
}

/// A box that stands, lies or hangs somewhere.
#[derive(Debug, Clone, Copy)]
pub struct Piece {
    /// Middle of its underside.
    pub at: Vec3,
    /// Half width, height, half depth.
    pub size: Vec3,
    /// Turn about the vertical.
    pub turn: f32,
    /// Its sides.
    pub side: Skin,
    /// Its top.
    pub top: Skin,
}

/// Somewhere.
#[derive(Debug, Clone)]
pub struct Place {
    floor: Skin,
    /// Walls at -z, +z, -x, +x and a ceiling; none in the open.
    walls: Option<[Skin; 5]>,
    /// Distances of those walls from the origin, and the ceiling's height.
    reach: [f32; 5],
    pieces: Vec<Piece>,
    /// cos, sin of each piece's turn.
    turns: Vec<[f32; 2]>,
    zenith: Colour,
    horizon: Colour,
    salt: f32,
    /// A window or picture on the far wall: left, bottom, width, height.
    panes: Vec<[f32; 4]>,
}

fn colour(rng: &mut Rng, low: f32, high: f32, saturation: f32) -> Colour {
    let (h, s, v) = (rng.unit() * TAU, rng.unit() * saturation, rng.between(low, high));
    let tint = |shift: f32| v * (1.0 - s * (0.5 + 0.5 * cos(h + shift)));
    vec3(tint(0.0), tint(2.1), tint(4.2))
}

fn wood(rng: &mut Rng) -> Colour {
    let [r, g, b] =
        rng.pick(&[[176, 136, 96], [128, 88, 56], [90, 60, 40], [200, 170, 130], [120, 110, 100]]);
    linear(r, g, b) * rng.between(0.7, 1.2)
}

fn skin(stuff: Stuff, a: Colour, b: Colour, repeat_m: f32, rng: &mut Rng) -> Skin {
    Skin { stuff, a, b, repeat_m, salt: rng.between(0.0, 31.0) }
}

impl Place {
    /// A furnished room that reaches `wide` and `deep` metres from the origin.
    pub fn room(rng: &mut Rng, wide: f32, deep: f32) -> Self {
        let wall = colour(rng, 0.25, 0.8, 0.35);
        let surface = |rng: &mut Rng| {
            let other = colour(rng, 0.2, 0.7, 0.4);
            match rng.below(8) {
                0 => skin(Stuff::Paper, wall, wall.mix(other, 0.5), rng.between(0.1, 0.4), rng),
                1 => skin(Stuff::Bricks, linear(150, 84, 66), linear(180, 172, 160), 0.24, rng),
                2 => skin(Stuff::Drape, other, wall, 1.0, rng),
                3 => skin(Stuff::Boards, wood(rng), wood(rng), 0.15, rng),
                _ => skin(Stuff::Paint, wall, wall, 1.0, rng),
            }
        };
        let far = surface(rng);
        let walls = [
            far,
            surface(rng),
            surface(rng),
            surface(rng),
            skin(Stuff::Paint, vec3(0.75, 0.75, 0.73), wall, 1.0, rng),
        ];
        let floor = match rng.below(5) {
            0 | 1 => skin(Stuff::Boards, wood(rng), wood(rng), rng.between(0.09, 0.2), rng),
            2 => skin(
                Stuff::Tiles,
                colour(rng, 0.3, 0.7, 0.2),
                colour(rng, 0.2, 0.7, 0.2),
                rng.between(0.25, 0.6),
                rng,
            ),
            _ => skin(Stuff::Grain, colour(rng, 0.15, 0.5, 0.5), colour(rng, 0.1, 0.4, 0.5), 1.0, rng),
        };
        let panes = (0..rng.below(4))
            .map(|_| {
                [
                    rng.between(-wide, wide * 0.6),
                    rng.between(0.7, 1.4),
                    rng.between(0.4, 1.6),
                    rng.between(0.4, 1.2),
                ]
            })
            .collect();
        let mut place = Self {
            floor,
            walls: Some(walls),
            reach: [deep, deep * rng.between(1.0, 2.0) + 4.0, wide, wide, rng.between(2.4, 3.2)],
            pieces: Vec::new(),
            turns: Vec::new(),
            zenith: vec3(0.5, 0.65, 0.95),
            horizon: vec3(0.8, 0.85, 0.9),
            salt: rng.between(0.0, 31.0),
            panes,
        };
        for _ in 0..2 + rng.below(6) {
            // Along the walls.
            let side = rng.below(3);
            let s = vec3(rng.between(0.25, 0.8), rng.between(0.4, 2.1), rng.between(0.2, 0.4));
            let at = match side {
                0 => vec3(rng.between(-wide, wide), 0.0, -deep + s.z + 0.02),
                1 => vec3(-wide + s.z + 0.02, 0.0, rng.between(-deep, 1.0)),
                _ => vec3(wide - s.z - 0.02, 0.0, rng.between(-deep, 1.0)),
            };
            let turn = if side == 0 { 0.0 } else { TAU / 4.0 };
            let piece = Self::furniture(at, s, turn, rng);
            place.add(piece);
        }
        place
    }

    /// A street, yard or meadow.
    pub fn outdoors(rng: &mut Rng) -> Self {
        let floor = match rng.below(5) {
            0 => skin(Stuff::Grain, linear(86, 116, 52), linear(52, 78, 34), 1.0, rng),
            1 => skin(Stuff::Grain, linear(112, 110, 106), linear(84, 84, 84), 1.0, rng),
            2 => skin(Stuff::Tiles, linear(150, 145, 135), linear(140, 136, 128), rng.between(0.2, 0.6), rng),
            3 => skin(Stuff::Grain, linear(198, 176, 138), linear(172, 148, 112), 1.0, rng),
            _ => skin(Stuff::Boards, wood(rng), wood(rng), 0.14, rng),
        };
        let grey = rng.chance(0.4);
        let mut place = Self {
            floor,
            walls: None,
            reach: [0.0; 5],
            pieces: Vec::new(),
            turns: Vec::new(),
            zenith: if grey { vec3(0.55, 0.58, 0.62) } else { vec3(0.16, 0.34, 0.78) },
            horizon: if grey { vec3(0.75, 0.76, 0.78) } else { vec3(0.62, 0.74, 0.9) },
            salt: rng.between(0.0, 31.0),
            panes: Vec::new(),
        };
        for _ in 0..3 + rng.below(8) {
            let far = rng.between(5.0, 26.0);
            let around = rng.between(2.1, 4.2);
            let at = vec3(far * sin(around), 0.0, far * cos(around));
            let tall = rng.chance(0.5);
            let s = if tall {
                vec3(rng.between(2.0, 7.0), rng.between(3.0, 12.0), rng.between(1.0, 3.0))
            } else {
                vec3(rng.between(0.4, 4.0), rng.between(0.8, 4.0), rng.between(0.3, 1.0))
            };
            let a = colour(rng, 0.2, 0.65, 0.35);
            let b = colour(rng, 0.2, 0.6, 0.4);
            let side = if tall {
                match rng.below(4) {
                    0 => skin(Stuff::Bricks, linear(150, 84, 66), linear(180, 172, 160), 0.3, rng),
                    1 => skin(Stuff::Leaves, linear(40, 62, 28), linear(98, 122, 58), 1.0, rng),
                    _ => skin(Stuff::Windows, a, b, rng.between(1.2, 2.4), rng),
                }
            } else {
                match rng.below(4) {
                    0 | 1 => skin(Stuff::Leaves, linear(34, 54, 24), linear(104, 126, 60), 1.0, rng),
                    2 => skin(Stuff::Boards, wood(rng), wood(rng), 0.12, rng),
                    _ => skin(Stuff::Paint, a, b, 1.0, rng),
                }
            };
            let turn = rng.between(-0.8, 0.8);
            place.add(Piece { at, size: s, turn, side, top: Skin { stuff: Stuff::Paint, ..side } });
        }
        place
    }

    /// Nothing but ground and sky, for a photograph to be seen in their place.
    pub fn bare(rng: &mut Rng) -> Self {
        let mut place = Self::outdoors(rng);
        place.retain(|_| false);
        place
    }

    /// Nothing that exists: walls of blotches and grain, to be learnt from.
    pub fn strange(rng: &mut Rng) -> Self {
        let mut place = Self::room(rng, 3.0, 3.0);
        if let Some(walls) = &mut place.walls {
            for wall in walls.iter_mut().take(4) {
                let stuff = rng.pick(&[
                    Stuff::Blotches,
                    Stuff::Blotches,
                    Stuff::Leaves,
                    Stuff::Paper,
                    Stuff::Tiles,
                    Stuff::Books,
                ]);
                *wall = skin(
                    stuff,
                    colour(rng, 0.05, 0.9, 0.9),
                    colour(rng, 0.05, 0.9, 0.9),
                    rng.between(0.1, 0.9),
                    rng,
                );
            }
        }
        place
    }

    /// A piece of furniture.
    pub fn furniture(at: Vec3, size: Vec3, turn: f32, rng: &mut Rng) -> Piece {
        let a = if rng.chance(0.6) { wood(rng) } else { colour(rng, 0.08, 0.8, 0.6) };
        let b = colour(rng, 0.1, 0.8, 0.3);
        let side = match rng.below(5) {
            0 if size.y > 0.9 => skin(Stuff::Books, a, a * 0.8, 0.3, rng),
            1 | 2 => skin(Stuff::Drawers, a, b, rng.between(0.4, 0.8), rng),
            3 => skin(Stuff::Drape, a, b, 1.0, rng),
            _ => skin(Stuff::Paint, a, b, 1.0, rng),
        };
        Piece {
            at,
            size,
            turn,
            side,
            top: Skin { stuff: Stuff::Boards, a, b: a * 0.9, repeat_m: 0.2, salt: 3.0 },
        }
    }

    /// Takes away what is not to stay.
    pub fn retain(&mut self, stays: impl Fn(&Piece) -> bool) {
        self.pieces.retain(stays);
        self.turns = self.pieces.iter().map(|p| [cos(p.turn), sin(p.turn)]).collect();
    }

    /// Puts a piece somewhere.
    pub fn add(&mut self, piece: Piece) {
        self.turns.push([cos(piece.turn), sin(piece.turn)]);
        self.pieces.push(piece);
    }

    /// The ceiling's height, and how far walls are from the origin; none in the open.
    pub fn reach(&self) -> Option<[f32; 5]> {
        self.walls.map(|_| self.reach)
    }

    /// Where each piece may be seen: left, top, right, bottom, pixels.
    pub fn bounds(&self, camera: &Camera) -> Vec<[f32; 4]> {
        let bound = |(piece, [c, s]): (&Piece, &[f32; 2])| {
            let mut b = [f32::MAX, f32::MAX, f32::MIN, f32::MIN];
            for k in 0..8 {
                let sign = |bit: usize| if k >> bit & 1 == 0 { -1.0 } else { 1.0 };
                let (x, z) = (sign(0) * piece.size.x, sign(2) * piece.size.z);
                let y = if sign(1) > 0.0 { piece.size.y } else { 0.0 };
                let seen = camera.see(piece.at + vec3(x * c + z * s, y, z * c - x * s));
                if seen.z < 0.1 {
                    return [f32::MIN, f32::MIN, f32::MAX, f32::MAX];
                }
                let [px, py] = camera.project(seen);
                b = [b[0].min(px), b[1].min(py), b[2].max(px), b[3].max(py)];
            }
            // Straight edges are bent by the lens.
            [b[0] - 4.0, b[1] - 4.0, b[2] + 4.0, b[3] + 4.0]
        };
        self.pieces.iter().zip(&self.turns).map(bound).collect()
    }

    /// The pieces as `eye` sees them.
    pub fn sights(&self, eye: Vec3) -> Vec<Sight> {
        let one = |(piece, &[c, s]): (&Piece, &[f32; 2])| {
            let v = eye - piece.at;
            Sight { from: vec3(v.x * c - v.z * s, v.y, v.z * c + v.x * s), turn: [c, s], size: piece.size }
        };
        self.pieces.iter().zip(&self.turns).map(one).collect()
    }

    /// Where a ray from `eye` first meets something; `ray` reaches 1 m along the camera's axis. Only `some` of the pieces can be met.
    pub fn meet(&self, eye: Vec3, ray: Vec3, sights: &[Sight], some: &[usize]) -> Meeting {
        const LEAST_M: f32 = 0.05;
        let (mut far, mut id) = (f32::MAX, 0);
        let mut set = |t: f32, other: u16| {
            if t > LEAST_M && t < far {
                (far, id) = (t, other);
            }
        };
        if ray.y < -1e-5 {
            set(-eye.y / ray.y, FLOOR);
        }
        if self.walls.is_some() {
            let [ahead, back, left, right, ceiling] = self.reach;
            if ray.y > 1e-5 {
                set((ceiling - eye.y) / ray.y, CEILING);
            }
            if ray.z.abs() > 1e-6 {
                let (wall, z) = if ray.z < 0.0 { (0, -ahead) } else { (1, back) };
                set((z - eye.z) / ray.z, WALLS + wall);
            }
            if ray.x.abs() > 1e-6 {
                let (wall, x) = if ray.x < 0.0 { (2, -left) } else { (3, right) };
                set((x - eye.x) / ray.x, WALLS + wall);
            }
        }
        for &k in some {
            let Sight { from: o, turn: [c, s], size } = sights[k];
            let d = vec3(ray.x * c - ray.z * s, ray.y, ray.z * c + ray.x * s);
            let span = |o: f32, d: f32, low: f32, high: f32| {
                let inverse = 1.0 / if d.abs() < 1e-6 { 1e-6 } else { d };
                let (a, b) = ((low - o) * inverse, (high - o) * inverse);
                if a < b { (a, b) } else { (b, a) }
            };
            let (x, y, z) = (
                span(o.x, d.x, -size.x, size.x),
                span(o.y, d.y, 0.0, size.y),
                span(o.z, d.z, -size.z, size.z),
            );
            let (enter, leave) = (x.0.max(y.0).max(z.0), x.1.min(y.1).min(z.1));
            if enter > leave {
                continue;
            }
            let face = if enter == y.0 {
                0
            } else if enter == x.0 {
                1
            } else {
                2
            };
            set(enter, PIECES + 3 * k as u16 + face);
        }
        Meeting { near: if id == 0 { 0.0 } else { 1.0 / far }, far_m: far, id }
    }

    /// What is seen where a ray met something.
    pub fn look(&self, eye: Vec3, ray: Vec3, met: Meeting) -> Hit {
        let p = eye + ray * met.far_m;
        let (normal, albedo) = match met.id {
            0 => {
                let albedo = sky(ray, self.zenith, self.horizon, self.salt);
                return Hit { albedo, normal: UP, open: 1.0, glow: true, id: 0 };
            }
            FLOOR => (UP, self.floor.at(p.x, p.z)),
            id @ CEILING..PIECES => {
                let walls = self.walls.as_ref().expect("met, so there");
                match id {
                    CEILING => (-UP, walls[4].at(p.x, p.z)),
                    WALLS => (vec3(0.0, 0.0, 1.0), walls[0].at(p.x, p.y)),
                    4 => (vec3(0.0, 0.0, -1.0), walls[1].at(p.x, p.y)),
                    5 => (vec3(1.0, 0.0, 0.0), walls[2].at(p.z, p.y)),
                    _ => (vec3(-1.0, 0.0, 0.0), walls[3].at(p.z, p.y)),
                }
            }
            id => {
                let (k, face) = (usize::from((id - PIECES) / 3), (id - PIECES) % 3);
                let (piece, [c, s]) = (&self.pieces[k], self.turns[k]);
                let spin = |v: Vec3| vec3(v.x * c - v.z * s, v.y, v.z * c + v.x * s);
                let back = |v: Vec3| vec3(v.x * c + v.z * s, v.y, v.z * c - v.x * s);
                let (q, d, size) = (spin(p - piece.at), spin(ray), piece.size);
                match face {
                    0 => (vec3(0.0, -d.y.signum(), 0.0), piece.top.at(q.x, q.z)),
                    1 => (back(vec3(-d.x.signum(), 0.0, 0.0)), piece.side.at(q.z + size.z, q.y)),
                    _ => (back(vec3(0.0, 0.0, -d.z.signum())), piece.side.at(q.x + size.x, q.y)),
                }
            }
        };
        let mut hit = Hit { albedo, normal, open: 1.0, glow: false, id: met.id };
        if hit.id == WALLS {
            self.pane(p, &mut hit);
        }
        hit.open = self.open(p, &hit);
        if self.walls.is_none() && !hit.glow {
            // Air.
            let haze = smooth(12.0, 60.0, met.far_m) * 0.7;
            hit.albedo = hit.albedo.mix(self.horizon, haze);
        }
        hit
    }

    /// Pictures and windows on the far wall.
    fn pane(&self, p: Vec3, hit: &mut Hit) {
        for (k, [x, y, w, h]) in self.panes.iter().enumerate() {
            let (u, v) = ((p.x - x) / w, (p.y - y) / h);
            if !(0.0..1.0).contains(&u) || !(0.0..1.0).contains(&v) {
                continue;
            }
            hit.id = PANES + k as u16;
            let rim = (u.min(1.0 - u) * w).min(v.min(1.0 - v) * h);
            if rim < 0.04 {
                hit.albedo = vec3(0.7, 0.68, 0.62) * if k % 2 == 0 { 1.0 } else { 0.25 };
            } else if k % 2 == 0 {
                hit.albedo = sky(vec3(u - 0.5, v * 0.6, -1.0), self.zenith, self.horizon, self.salt) * 1.1;
                hit.glow = true;
                hit.id += 5;
            } else {
                let n = crate::noise::at(vec3(u * 4.0, v * 4.0, self.salt));
                hit.albedo = vec3(0.4 + 0.35 * n.x, 0.4 + 0.3 * n.y, 0.38 + 0.3 * n.z);
                hit.id += 5;
            }
        }
    }

    /// Corners and the surroundings of furniture are darker.
    fn open(&self, p: Vec3, hit: &Hit) -> f32 {
        let mut open = 1.0;
        if self.walls.is_some() {
            let [far, back, left, right, ceiling] = self.reach;
            let corner = |d: f32| 0.72 + 0.28 * smooth(0.0, 0.9, d.abs());
            let n = hit.normal;
            if n.z.abs() < 0.5 {
                open *= corner(p.z + far) * corner(back - p.z);
            }
            if n.x.abs() < 0.5 {
                open *= corner(p.x + left) * corner(right - p.x);
            }
            if n.y.abs() < 0.5 {
                open *= corner(p.y) * corner(ceiling - p.y);
            }
        }
        if hit.id == FLOOR {
            for (piece, [c, s]) in self.pieces.iter().zip(&self.turns) {
                let d = p - piece.at;
                let reach = piece.size.x + piece.size.z + 0.5;
                if d.x.abs() > reach || d.z.abs() > reach {
                    continue;
                }
                let q = vec3(d.x * c - d.z * s, 0.0, d.z * c + d.x * s);
                let (dx, dz) = ((q.x.abs() - piece.size.x).max(0.0), (q.z.abs() - piece.size.z).max(0.0));
                let gap = dx * dx + dz * dz;
                if gap < 0.25 && piece.at.y < 0.05 {
                    open *= 0.45 + 0.55 * smooth(0.0, 0.5 * piece.size.y.clamp(0.3, 1.0), gap.sqrt());
                }
            }
        }
        open
    }

    /// Light that suits the place.
    pub fn light(&self, rng: &mut Rng) -> Light {
        let around = rng.between(0.0, TAU);
        let indoors = self.walls.is_some();
        let up = if indoors { rng.between(0.45, 0.95) } else { rng.between(0.25, 0.9) };
        let ring = (1.0 - up * up).sqrt();
        let towards = yaw(around) * vec3(ring, up, 0.0);
        let warm = rng.between(-0.12, 0.2);
        let tint = vec3(1.0 + warm, 1.0, 1.0 - 1.2 * warm);
        let strength = if indoors { rng.between(0.35, 1.1) } else { rng.between(0.2, 2.0) };
        let sky = if indoors {
            vec3(0.52, 0.52, 0.52) * rng.between(0.7, 1.3)
        } else {
            vec3(0.55, 0.62, 0.75) * rng.between(0.7, 1.1)
        };
        let bounce = self.floor.at(0.3, 0.2);
        let ground = vec3(0.13, 0.13, 0.13) + bounce * 0.4;
        Light {
            towards,
            key: tint * strength,
            sky,
            ground,
            softness: if indoors {
                rng.between(0.06, 0.35)
            } else if strength > 1.0 {
                0.02
            } else {
                0.4
            },
        }
    }
}
