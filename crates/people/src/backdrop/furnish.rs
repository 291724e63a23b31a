//! Rooms, streets, yards and meadows made by rules, their furniture and their light.

use super::{
    place::{Piece, Place},
    stuff::{Skin, Stuff},
};
use crate::{
    light::{Colour, Light, linear},
    math::{TAU, Vec3, cos, sin, vec3, yaw},
    rng::Rng,
};

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
