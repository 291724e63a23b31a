//! A pinhole camera with a little radial distortion.

use crate::{
    math::{Mat3, UP, Vec3, cos, sin, vec3},
    raster::Spot,
};

/// Where a camera is and what it sees.
#[derive(Debug, Clone, Copy)]
pub struct Camera {
    /// Metres in the world (y up).
    pub eye: Vec3,
    /// World to camera: rows are right, down and ahead.
    pub turn: Mat3,
    /// Pixels.
    pub focal_px: f32,
    /// Centre of the picture, pixels.
    pub centre_px: [f32; 2],
    /// Distortion: a point at r (tangents) is seen at r (1 + k r²).
    pub k1: f32,
    /// Picture, pixels.
    pub size: [usize; 2],
}

impl Camera {
    /// At `eye`, looking at `target`, turned about its axis by `roll`.
    #[inline]
    pub fn looking(eye: Vec3, target: Vec3, roll: f32, focal_px: f32, size: [usize; 2]) -> Self {
        let ahead = (target - eye).unit();
        let right = ahead.cross(UP).unit();
        let down = ahead.cross(right);
        let (c, s) = (cos(roll), sin(roll));
        let (right, down) = (right * c + down * s, down * c - right * s);
        let turn = Mat3([right, down, ahead]).transpose();
        Self { eye, turn, focal_px, centre_px: size.map(|s| s as f32 / 2.0), k1: 0.0, size }
    }

    /// Camera space: right, down, ahead; metres.
    #[inline]
    pub fn see(&self, p: Vec3) -> Vec3 {
        self.turn * (p - self.eye)
    }

    /// Pixels of a point in camera space; only of points ahead.
    #[inline]
    pub fn project(&self, p: Vec3) -> [f32; 2] {
        self.project_tangents(p.x / p.z, p.y / p.z)
    }

    #[inline]
    fn project_tangents(&self, x: f32, y: f32) -> [f32; 2] {
        let k = self.focal_px * (1.0 + self.k1 * (x * x + y * y).min(1.0));
        [self.centre_px[0] + k * x, self.centre_px[1] + k * y]
    }

    /// Where a point of the world falls on a grid of `per_px` samples a pixel.
    #[inline]
    pub fn spot(&self, p: Vec3, per_px: f32) -> Spot {
        let c = self.see(p);
        if c.z < 0.05 {
            return Spot::default();
        }
        let w = 1.0 / c.z;
        let [x, y] = self.project_tangents(c.x * w, c.y * w);
        Spot::new(x * per_px, y * per_px, w)
    }

    /// The direction in the world that a pixel looks along, 1 m ahead of the camera.
    #[inline]
    pub fn ray(&self, x_px: f32, y_px: f32) -> Vec3 {
        self.turn.transpose() * self.tangents(x_px, y_px)
    }

    /// The same in camera space.
    #[inline]
    pub fn tangents(&self, x_px: f32, y_px: f32) -> Vec3 {
        let scale = 1.0 / self.focal_px;
        let (x, y) = ((x_px - self.centre_px[0]) * scale, (y_px - self.centre_px[1]) * scale);
        if self.k1 == 0.0 {
            return vec3(x, y, 1.0);
        }
        // One step undoes so little distortion well enough.
        let r2 = (x * x + y * y).min(1.0);
        let k = 1.0 / (1.0 + self.k1 * r2 / (1.0 + 2.0 * self.k1 * r2));
        vec3(x * k, y * k, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ahead_lies_in_the_middle_and_rays_lead_back() {
        let mut camera = Camera::looking(vec3(1.0, 1.5, 4.0), vec3(0.0, 1.0, 0.0), 0.2, 300.0, [320, 240]);
        camera.k1 = -0.05;
        let middle = camera.project(camera.see(vec3(0.0, 1.0, 0.0)));
        assert!((middle[0] - 160.0).abs() < 1e-2 && (middle[1] - 120.0).abs() < 1e-2);
        let upright =
            Camera { turn: Camera::looking(camera.eye, Vec3::ZERO, 0.0, 1.0, [2, 2]).turn, ..camera };
        assert!(
            upright.see(vec3(0.0, 2.0, 0.0)).y < upright.see(Vec3::ZERO).y,
            "up in the world is up in the picture"
        );
        let p = vec3(0.6, 0.4, 0.3);
        let seen = camera.see(p);
        let [x, y] = camera.project(seen);
        let back = camera.eye + camera.ray(x, y) * seen.z;
        assert!((back - p).length() < 0.01, "{back:?}");
    }
}
