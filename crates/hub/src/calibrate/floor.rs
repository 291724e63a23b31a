//! The floor from where feet stand, and how high heads are above it.

use nalgebra::{Rotation3, UnitQuaternion};
use pose::JOINTS;

use crate::geometry::centre;
use crate::{Extrinsics, V3};

/// Middle height of the lower ankle, and of eyes, ears and nose together, as parts of the stature: of people who walk, which lowers a head
/// by two hundredths and lifts an ankle by one. Ten recorded walks give .907 ± .003 and .061 ± .005.
const ANKLE: f64 = 0.062;
const FACE: f64 = 0.907;
/// Bodies that stand or walk: within this of upright (radians).
const UPRIGHT: f64 = 0.35;
/// Fewer bodies with feet and a head are no floor.
const MIN_BODIES: usize = 25;

/// The floor, in the cameras' units.
pub struct Floor {
    /// Away from the ground, length 1.
    up: V3,
    /// `up · p` of the ground.
    level: f64,
    /// Stature of whoever was seen.
    pub stature: f64,
}

/// Finds it from bodies; `None` for too few that are whole.
pub fn find(bodies: &[[Option<V3>; JOINTS]], cameras: &[Extrinsics]) -> Option<Floor> {
    // Where bodies point is up, roughly.
    let trunks: Vec<V3> = bodies.iter().filter_map(trunk).collect();
    if trunks.len() < MIN_BODIES {
        return None;
    }
    let mut up = trunks.iter().sum::<V3>().normalize();
    for _ in 0..3 {
        up = trunks.iter().filter(|t| t.angle(&up) < UPRIGHT).sum::<V3>().try_normalize(1e-9)?;
    }
    let size = middle(trunks.iter().map(|t| t.norm()).collect())?;
    // Then the plane that lower ankles lie in; of each walk the lower one stands.
    let ankles: Vec<[V3; 2]> = bodies.iter().filter_map(|b| Some([b[15]?, b[16]?])).collect();
    if ankles.len() < MIN_BODIES {
        return None;
    }
    let mut level = 0.0;
    let mut within = 0.25 * size;
    for round in 0..8 {
        let lower: Vec<V3> =
            ankles.iter().map(|[a, b]| if up.dot(a) < up.dot(b) { *a } else { *b }).collect();
        if round == 0 {
            level = middle(lower.iter().map(|p| up.dot(p)).collect())?;
        }
        let near: Vec<V3> = lower.into_iter().filter(|p| (up.dot(p) - level).abs() < within).collect();
        if near.len() < MIN_BODIES {
            return None;
        }
        let mean = near.iter().sum::<V3>() / near.len() as f64;
        let spread: nalgebra::Matrix3<f64> = near.iter().map(|p| (p - mean) * (p - mean).transpose()).sum();
        // Bodies hold the plane where feet went along a line only: a degree or two each, as so many bodies.
        let count = near.len() as f64;
        let tilt = tilted(&spread, up, 0.02 * size * size * count, &trunks);
        up = tilt;
        level = middle(near.iter().map(|p| up.dot(p)).collect())?;
        within = (0.8 * within).max(0.1 * size);
    }
    let heads: Vec<f64> = bodies
        .iter()
        .filter(|b| trunk(b).is_some_and(|t| t.angle(&up) < UPRIGHT))
        .filter_map(|b| {
            let face: Vec<V3> = b[..5].iter().flatten().copied().collect();
            (face.len() >= 3).then(|| up.dot(&(face.iter().sum::<V3>() / face.len() as f64)) - level)
        })
        .collect();
    if heads.len() < MIN_BODIES {
        return None;
    }
    let stature = middle(heads)? / (FACE - ANKLE);
    // Cameras stand above the floor, or nothing holds.
    let above = cameras.iter().filter(|c| up.dot(&centre(c)) > level - ANKLE * stature).count();
    (stature > 0.0 && 2 * above > cameras.len()).then_some(Floor {
        up,
        level: level - ANKLE * stature,
        stature,
    })
}

/// The normal with the least spread along it and the least angle to bodies.
fn tilted(spread: &nalgebra::Matrix3<f64>, up: V3, hold: f64, trunks: &[V3]) -> V3 {
    let body = trunks.iter().filter(|t| t.angle(&up) < UPRIGHT).sum::<V3>().try_normalize(1e-9).unwrap_or(up);
    // Minimise nᵀ S n + hold |n − body|² over small tilts of `up`.
    let basis = Rotation3::rotation_between(&V3::z(), &up)
        .unwrap_or_else(|| Rotation3::from_axis_angle(&nalgebra::Vector3::x_axis(), std::f64::consts::PI));
    let across = basis.matrix().fixed_columns::<2>(0).into_owned();
    let a = across.transpose() * spread * across + nalgebra::Matrix2::identity() * hold;
    let b = across.transpose() * (spread * up - body * hold);
    match a.cholesky() {
        Some(factor) => (up - across * factor.solve(&b)).normalize(),
        None => up,
    }
}

/// From the middle of the ankles to the middle of the shoulders.
fn trunk(body: &[Option<V3>; JOINTS]) -> Option<V3> {
    Some(0.5 * (body[5]? + body[6]?) - 0.5 * (body[15]? + body[16]?))
}

fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

impl Floor {
    /// Cameras in the room: z up from the floor, the origin below the first camera, which looks along y.
    pub fn room_of(&self, cameras: &[Extrinsics], scale: f64) -> Vec<Extrinsics> {
        let first = &cameras[0];
        let ahead = first.rotation.inverse() * V3::z();
        // A camera that looks straight down has the picture's top ahead.
        let ahead =
            if ahead.dot(&self.up).abs() < 0.95 { ahead } else { first.rotation.inverse() * -V3::y() };
        let y = (ahead - self.up * self.up.dot(&ahead)).normalize();
        let x = y.cross(&self.up);
        let eye = centre(first);
        let origin = eye - self.up * (self.up.dot(&eye) - self.level);
        // Columns are the room's axes: from the room to the cameras' space.
        let turn = Rotation3::from_matrix_unchecked(nalgebra::Matrix3::from_columns(&[x, y, self.up]));
        cameras
            .iter()
            .map(|c| {
                let rotation = c.rotation * UnitQuaternion::from_rotation_matrix(&turn);
                let shift = (c.rotation * origin + c.translation.vector) * scale;
                Extrinsics::from_parts(shift.into(), rotation)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::Point3;

    use super::*;

    /// People of 1.8 units who stand about on the floor z = 0.5.
    fn bodies() -> Vec<[Option<V3>; JOINTS]> {
        let one = |k: usize| {
            let feet = V3::new((k % 6) as f64 * 0.5, (k / 6) as f64 * 0.5, 0.5);
            std::array::from_fn(|j| {
                let height = match j {
                    0..=4 => FACE,
                    5..=10 => 0.8,
                    11..=14 => 0.5,
                    _ => ANKLE,
                };
                // One foot is lifted.
                let lift = if j == 15 + k % 2 { 0.1 } else { 0.0 };
                let aside = if j % 2 == 1 { 0.15 } else { -0.15 };
                Some(feet + V3::new(aside, 0.0, 1.8 * height + lift))
            })
        };
        (0..36).map(one).collect()
    }

    fn looking(eye: V3, to: V3, up: V3) -> Extrinsics {
        let turn = UnitQuaternion::from_axis_angle(&V3::x_axis(), std::f64::consts::PI);
        turn * Extrinsics::look_at_rh(&Point3::from(eye), &Point3::from(to), &up)
    }

    #[test]
    fn the_room_stands_on_its_floor_below_the_first_camera_also_where_that_looks_down() {
        let (eye, below) = (V3::new(1.0, 2.0, 3.5), V3::new(1.0, 2.0, 0.5));
        for (to, up) in
            [(V3::new(1.0, 5.0, 2.5), V3::z()), (V3::new(1.2, 2.05, 0.5), V3::new(1.0, -2.0, 0.0))]
        {
            let cameras = [looking(eye, to, up), looking(V3::new(4.0, 2.0, 2.5), below, V3::z())];
            let floor = find(&bodies(), &cameras).unwrap();
            assert!((floor.stature - 1.8).abs() < 0.05, "{}", floor.stature);
            let placed = floor.room_of(&cameras, 2.0);
            // Twice as large, three units up; y is where the first one looks, or the top of its picture.
            assert!((centre(&placed[0]) - V3::new(0.0, 0.0, 6.0)).norm() < 0.1, "{}", centre(&placed[0]));
            let second = centre(&placed[1]);
            assert!((second.xy().norm() - 6.0).abs() < 0.1 && (second.z - 4.0).abs() < 0.1, "{second}");
            let ahead = placed[0].rotation.inverse() * if up == V3::z() { V3::z() } else { -V3::y() };
            assert!(ahead.x.abs() < 0.01 && ahead.y > 0.9, "{ahead}");
        }
    }

    #[test]
    fn cameras_below_the_floor_have_none() {
        let cameras = [0.0, 1.0].map(|x| looking(V3::new(x, 2.0, -1.0), V3::new(1.0, 1.0, 0.0), V3::z()));
        assert!(find(&bodies(), &cameras).is_none());
        assert!(find(&bodies()[..20], &cameras.map(|c| c.inverse())).is_none());
    }
}
