//! Rooms and open places: planes and boxes.

use super::stuff::Skin;
use crate::{
    camera::Camera,
    light::Colour,
    math::{Vec3, cos, sin, vec3},
};

/// Surfaces by number; 0 is the sky.
pub(super) const FLOOR: u16 = 1;
pub(super) const CEILING: u16 = 2;
/// The first of four.
pub(super) const WALLS: u16 = 3;
/// Pictures and windows: see [`Place::pane`].
pub(super) const PANES: u16 = 10;
/// Three each: top or underside, the sides along x, the sides along z.
pub(super) const PIECES: u16 = 40;

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
    pub(super) far_m: f32,
    /// Which surface.
    pub(super) id: u16,
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
    pub(super) floor: Skin,
    /// Walls at -z, +z, -x, +x and a ceiling; none in the open.
    pub(super) walls: Option<[Skin; 5]>,
    /// Distances of those walls from the origin, and the ceiling's height.
    pub(super) reach: [f32; 5],
    pub(super) pieces: Vec<Piece>,
    /// cos, sin of each piece's turn.
    pub(super) turns: Vec<[f32; 2]>,
    pub(super) zenith: Colour,
    pub(super) horizon: Colour,
    pub(super) salt: f32,
    /// A window or picture on the far wall: left, bottom, width, height.
    pub(super) panes: Vec<[f32; 4]>,
}

impl Place {
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
        const MIN_M: f32 = 0.05;
        let (mut far, mut id) = (f32::MAX, 0);
        let mut set = |t: f32, other: u16| {
            if t > MIN_M && t < far {
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
}
