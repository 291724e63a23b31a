//! What two and more cameras know of places: epipolar geometry and triangulation, over rays.

mod essential;
mod resect;
mod triangulate;

pub use essential::{Pair, Relative, relative};
pub use resect::{Mark, Resected, resect};
pub use triangulate::{Spot, View, dlt, triangulate, weighted_dlt};

use nalgebra::{Matrix2x3, Matrix3};

use crate::{Extrinsics, V2, V3};

/// The ray that a camera sees a point of the room by; `None` behind it.
pub fn seen_at(camera: &Extrinsics, point: V3) -> Option<V2> {
    let at = camera * nalgebra::Point3::from(point);
    (at.z > 0.05).then(|| at.coords.xy() / at.z)
}

/// Where a camera stands in the room.
pub fn centre(camera: &Extrinsics) -> V3 {
    -(camera.rotation.inverse() * camera.translation.vector)
}

/// The angle between two cameras' directions, radians, and the distance of their centres.
pub fn apart(a: &Extrinsics, b: &Extrinsics) -> (f64, f64) {
    ((a.rotation * b.rotation.inverse()).angle(), (centre(a) - centre(b)).norm())
}

/// A camera's place as many points want it.
#[derive(Clone, Copy, Debug)]
pub struct Eye {
    turn: Matrix3<f64>,
    shift: V3,
}

impl Eye {
    /// Of a camera there.
    pub fn of(place: &Extrinsics) -> Self {
        Self { turn: *place.rotation.to_rotation_matrix().matrix(), shift: place.translation.vector }
    }

    /// The ray that it sees a point of the room by; `None` behind it.
    pub fn seen(&self, point: V3) -> Option<V2> {
        let p = self.turn * point + self.shift;
        (p.z > 0.05).then(|| p.xy() / p.z)
    }

    /// The same, and how it changes with the point.
    pub fn project(&self, point: V3) -> Option<(V2, Matrix2x3<f64>)> {
        let p = self.turn * point + self.shift;
        if p.z < 0.05 {
            return None;
        }
        let seen = p.xy() / p.z;
        let slope = Matrix2x3::new(1.0, 0.0, -seen.x, 0.0, 1.0, -seen.y) / p.z;
        Some((seen, slope * self.turn))
    }
}
