//! What two and more cameras know of places: epipolar geometry and triangulation, over rays.

mod essential;
mod resect;
mod triangulate;

pub use essential::{Pair, Relative, relative};
pub use resect::{Mark, Resected, resect};
pub(crate) use triangulate::residual;
pub use triangulate::{Spot, View, dlt, triangulate, weighted_dlt};

use crate::{Place, V2, V3};

/// The ray that a camera sees a point of the room by; `None` behind it.
pub fn seen_at(camera: &Place, point: V3) -> Option<V2> {
    let at = camera * nalgebra::Point3::from(point);
    (at.z > 0.05).then(|| at.coords.xy() / at.z)
}

/// Where a camera stands in the room.
pub fn centre(camera: &Place) -> V3 {
    -(camera.rotation.inverse() * camera.translation.vector)
}

/// The angle between two cameras' directions, radians, and the distance of their centres.
pub fn apart(a: &Place, b: &Place) -> (f64, f64) {
    ((a.rotation * b.rotation.inverse()).angle(), (centre(a) - centre(b)).norm())
}
