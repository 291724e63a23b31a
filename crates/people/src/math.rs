//! Vectors, rotations and the few functions of which every machine must give the same last bit: trigonometry comes from
//! `libm`, never from the platform.

use std::ops::{Add, AddAssign, Index, Mul, Neg, Sub};

pub use std::f32::consts::{PI, TAU};

/// A point or direction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Vec3 {
    /// Left of a person, right of a picture.
    pub x: f32,
    /// Up in the world, down in a picture.
    pub y: f32,
    /// Ahead of a person, away from a camera.
    pub z: f32,
}

/// Shorthand.
#[inline]
pub const fn vec3(x: f32, y: f32, z: f32) -> Vec3 {
    Vec3 { x, y, z }
}

/// Straight up in the world.
pub const UP: Vec3 = vec3(0.0, 1.0, 0.0);

impl Vec3 {
    /// All zero.
    pub const ZERO: Self = vec3(0.0, 0.0, 0.0);

    /// Inner product.
    #[inline]
    pub fn dot(self, o: Self) -> f32 {
        self.x * o.x + self.y * o.y + self.z * o.z
    }

    /// Outer product.
    #[inline]
    pub fn cross(self, o: Self) -> Self {
        vec3(self.y * o.z - self.z * o.y, self.z * o.x - self.x * o.z, self.x * o.y - self.y * o.x)
    }

    /// Length.
    #[inline]
    pub fn length(self) -> f32 {
        self.dot(self).sqrt()
    }

    /// The same direction, of length 1; zero stays zero.
    #[inline]
    pub fn unit(self) -> Self {
        self * (1.0 / self.length().max(1e-9))
    }

    /// A part `t` of the way to `o`.
    #[inline]
    pub fn mix(self, o: Self, t: f32) -> Self {
        self + (o - self) * t
    }

    /// Without its height.
    #[inline]
    pub fn flat(self) -> Self {
        vec3(self.x, 0.0, self.z)
    }

    /// Component by component.
    #[inline]
    pub fn times(self, o: Self) -> Self {
        vec3(self.x * o.x, self.y * o.y, self.z * o.z)
    }
}

impl From<[f32; 3]> for Vec3 {
    #[inline]
    fn from([x, y, z]: [f32; 3]) -> Self {
        vec3(x, y, z)
    }
}

impl From<Vec3> for [f32; 3] {
    #[inline]
    fn from(v: Vec3) -> Self {
        [v.x, v.y, v.z]
    }
}

impl Add for Vec3 {
    type Output = Self;
    #[inline]
    fn add(self, o: Self) -> Self {
        vec3(self.x + o.x, self.y + o.y, self.z + o.z)
    }
}

impl AddAssign for Vec3 {
    #[inline]
    fn add_assign(&mut self, o: Self) {
        *self = *self + o;
    }
}

impl Sub for Vec3 {
    type Output = Self;
    #[inline]
    fn sub(self, o: Self) -> Self {
        vec3(self.x - o.x, self.y - o.y, self.z - o.z)
    }
}

impl Neg for Vec3 {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        vec3(-self.x, -self.y, -self.z)
    }
}

impl Mul<f32> for Vec3 {
    type Output = Self;
    #[inline]
    fn mul(self, k: f32) -> Self {
        vec3(self.x * k, self.y * k, self.z * k)
    }
}

/// A 3×3 matrix by columns: where the axes go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mat3(pub [Vec3; 3]);

impl Mat3 {
    /// Changes nothing.
    pub const IDENTITY: Self = Self([vec3(1.0, 0.0, 0.0), vec3(0.0, 1.0, 0.0), vec3(0.0, 0.0, 1.0)]);

    /// Rows become columns: of a rotation, the way back.
    #[inline]
    pub fn transpose(self) -> Self {
        let [a, b, c] = self.0;
        Self([vec3(a.x, b.x, c.x), vec3(a.y, b.y, c.y), vec3(a.z, b.z, c.z)])
    }

    /// Axes along `first`, along what of `second` is square to it, and their product.
    #[inline]
    pub fn frame(first: Vec3, second: Vec3) -> Self {
        let a = first.unit();
        let b = (second - a * a.dot(second)).unit();
        Self([a, b, a.cross(b)])
    }

    /// A turn by `angle` about the unit vector `axis`.
    #[inline]
    pub fn about(axis: Vec3, angle: f32) -> Self {
        let (s, c) = (sin(angle), cos(angle));
        let turn = |v: Vec3| v * c + axis.cross(v) * s + axis * (axis.dot(v) * (1.0 - c));
        Self(Self::IDENTITY.0.map(turn))
    }

    /// The least rotation that takes direction `a` to `b`.
    #[inline]
    pub fn swing(a: Vec3, b: Vec3) -> Self {
        let (a, b) = (a.unit(), b.unit());
        let (v, c) = (a.cross(b), a.dot(b));
        if c < -0.9995 {
            return Self::about(a.cross(vec3(0.3, 0.5, 0.8)).unit(), PI);
        }
        let turn = |e: Vec3| {
            let first = v.cross(e);
            e + first + v.cross(first) * (1.0 / (1.0 + c))
        };
        Self(Self::IDENTITY.0.map(turn))
    }

    /// Angle of a rotation, radians.
    #[inline]
    pub fn angle(self) -> f32 {
        let trace = self.0[0].x + self.0[1].y + self.0[2].z;
        acos(((trace - 1.0) / 2.0).clamp(-1.0, 1.0))
    }

    /// A rotation a part `t` of the way to `o`.
    #[inline]
    pub fn toward(self, o: Self, t: f32) -> Self {
        let r = self.transpose() * o;
        let angle = r.angle();
        if angle < 1e-4 || t == 0.0 {
            return self;
        }
        let [x, y, z] = r.0;
        let axis = vec3(y.z - z.y, z.x - x.z, x.y - y.x).unit();
        self * Self::about(axis, t * angle)
    }
}

impl Mul<Vec3> for Mat3 {
    type Output = Vec3;
    #[inline]
    fn mul(self, v: Vec3) -> Vec3 {
        self.0[0] * v.x + self.0[1] * v.y + self.0[2] * v.z
    }
}

impl Mul for Mat3 {
    type Output = Self;
    #[inline]
    fn mul(self, o: Self) -> Self {
        Self(o.0.map(|column| self * column))
    }
}

impl Index<usize> for Mat3 {
    type Output = Vec3;
    #[inline]
    fn index(&self, column: usize) -> &Vec3 {
        &self.0[column]
    }
}

/// A turn about the vertical: positive from ahead (+z) to the left (+x).
#[inline]
pub fn yaw(angle: f32) -> Mat3 {
    Mat3::about(UP, angle)
}

/// Sine of an angle in radians.
#[inline]
pub fn sin(x: f32) -> f32 {
    libm::sinf(x)
}

/// Cosine of an angle in radians.
#[inline]
pub fn cos(x: f32) -> f32 {
    libm::cosf(x)
}

/// Arc cosine, radians.
#[inline]
pub fn acos(x: f32) -> f32 {
    libm::acosf(x)
}

/// Arc sine, radians.
#[inline]
pub fn asin(x: f32) -> f32 {
    libm::asinf(x)
}

/// Angle of the point (x, y), radians.
#[inline]
pub fn atan2(y: f32, x: f32) -> f32 {
    libm::atan2f(y, x)
}

/// e to the x.
#[inline]
pub fn exp(x: f32) -> f32 {
    libm::expf(x)
}

/// x to the y.
#[inline]
pub fn pow(x: f32, y: f32) -> f32 {
    libm::powf(x, y)
}

/// The next whole number below: without the call that `f32::floor` is on plain x86-64. For |x| below 2³¹.
#[inline]
pub fn floor(x: f32) -> f32 {
    let whole = x as i32 as f32;
    if whole > x { whole - 1.0 } else { whole }
}

/// What is above the next whole number below.
#[inline]
pub fn frac(x: f32) -> f32 {
    x - floor(x)
}

/// 0 below `a`, 1 above `b`, soft between.
#[inline]
pub fn smooth(a: f32, b: f32, x: f32) -> f32 {
    let t = ((x - a) / (b - a)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// A part `t` of the way from `a` to `b`.
#[inline]
pub fn mix(a: f32, b: f32, t: f32) -> f32 {
    a + (b - a) * t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotations_go_where_they_are_told_and_half_the_way() {
        let (a, b) = (vec3(0.2, -0.5, 0.7).unit(), vec3(-0.9, 0.1, 0.3).unit());
        assert!((Mat3::swing(a, b) * a - b).length() < 1e-5);
        assert!((Mat3::swing(a, -a) * a + a).length() < 1e-4);
        let turn = Mat3::about(UP, 1.0);
        assert!((Mat3::IDENTITY.toward(turn, 0.5).angle() - 0.5).abs() < 1e-4);
        assert!((yaw(PI / 2.0) * vec3(0.0, 0.0, 1.0) - vec3(1.0, 0.0, 0.0)).length() < 1e-6);
    }
}
