//! What is seen where a ray meets a place.

use super::{
    place::{CEILING, FLOOR, Meeting, PANES, PIECES, Place, WALLS},
    stuff::sky,
};
use crate::{
    light::Colour,
    math::{UP, Vec3, smooth, vec3},
};

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

impl Place {
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
}
