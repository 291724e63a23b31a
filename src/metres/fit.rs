//! Where a body of known shape stands, from where its joints are seen.
//!
//! A joint at P + X (X from the middle of the hips) is seen in the direction (u, v, 1) where x - u·z = 0 and y - v·z = 0:
//! linear in P. The distances from the rays are in metres; each joint counts by how sure its place in the picture is, at the distance that
//! comes out, and by how well it fits the others (Huber's weights), a few times in turn.

use nalgebra::{Matrix3, Vector3};
use pose::JOINTS;

/// How far off a joint of the 3D pose usually is, metres, beside what the picture says.
const POSE_SIGMA_M: f64 = 0.05;
/// From this many standard deviations on a joint counts less: it is exchanged, hidden or not this person's.
const HUBER: f64 = 1.0;
/// The weights stand still after so many turns.
const TURNS: usize = 5;
/// Fewer joints may lie on a line.
const MIN_JOINTS: usize = 6;
/// Nearer than that nobody fits into a picture; farther, nobody is seen. Metres, of the pose's own size.
const DEPTHS_M: std::ops::Range<f64> = 0.2..200.0;
/// Where to begin: the weights of the first turn hang on it alone.
const FIRST_DEPTH_M: f64 = 3.0;

/// One joint: where it is from the middle of the hips, metres, the direction in which it is seen, and that direction's standard
/// deviation.
#[derive(Clone, Copy, Debug)]
pub struct Ray {
    /// Metres.
    pub joint_m: Vector3<f64>,
    /// (u, v) of the direction (u, v, 1).
    pub seen: [f64; 2],
    /// Standard deviation of u and v.
    pub sigma: f64,
}

/// What fits the rays best.
#[derive(Clone, Copy, Debug)]
pub struct Fit {
    /// The middle of the hips, metres.
    pub at_m: Vector3<f64>,
    /// Its covariance, of what the picture and the pose leave open, square metres.
    pub covariance: Matrix3<f64>,
}

/// Where the body stands whose joints are seen along `rays`; `None` for too few of them, or where no place before the camera fits.
pub fn fit(rays: &[Ray]) -> Option<Fit> {
    if rays.len() < MIN_JOINTS {
        return None;
    }
    let mut at = Vector3::new(0.0, 0.0, FIRST_DEPTH_M);
    let mut trust = [1.0; JOINTS];
    let mut left = (Matrix3::zeros(), 0.0);
    for _ in 0..TURNS {
        let (mut a, mut b) = (Matrix3::zeros(), Vector3::zeros());
        let variance =
            |ray: &Ray, depth: f64| (ray.sigma * depth.max(DEPTHS_M.start)).powi(2) + POSE_SIGMA_M.powi(2);
        for (ray, trust) in rays.iter().zip(&trust) {
            let weight = trust / variance(ray, at.z);
            for (row, right) in rows(ray) {
                a += weight * row * row.transpose();
                b += weight * row * right;
            }
        }
        let inverse = a.try_inverse()?;
        let depth = at.z;
        at = inverse * b;
        let mut misfit = 0.0;
        for (ray, trust) in rays.iter().zip(&mut trust) {
            let squared: f64 = rows(ray).map(|(row, right)| (row.dot(&at) - right).powi(2)).iter().sum();
            let normed = squared / variance(ray, depth);
            misfit += *trust * normed;
            *trust = (HUBER / normed.sqrt().max(1e-6)).min(1.0);
        }
        left = (inverse, misfit / (2 * rays.len() - 3) as f64);
    }
    let (inverse, misfit) = left;
    let is_there = DEPTHS_M.contains(&at.z) && at.iter().chain(inverse.iter()).all(|v| v.is_finite());
    is_there.then(|| Fit { at_m: at, covariance: inverse * misfit })
}

/// The two equations of a joint: row · P = right.
fn rows(ray: &Ray) -> [(Vector3<f64>, f64); 2] {
    let ([u, v], joint) = (ray.seen, ray.joint_m);
    [(Vector3::new(1.0, 0.0, -u), u * joint.z - joint.x), (Vector3::new(0.0, 1.0, -v), v * joint.z - joint.y)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen_from(at: Vector3<f64>, count: usize) -> Vec<Ray> {
        let rays = (0..count).map(|i| {
            let i = i as f64;
            let joint_m = Vector3::new(0.3 * (2.1 * i).sin(), 0.1 * i - 0.8, 0.2 * (1.3 * i).cos());
            let p = joint_m + at;
            Ray { joint_m, seen: [p.x / p.z, p.y / p.z], sigma: 0.005 }
        });
        rays.collect()
    }

    #[test]
    fn a_body_is_where_its_joints_are_seen() {
        for at in [Vector3::new(0.4, -0.2, 3.0), Vector3::new(-2.0, 1.0, 7.0), Vector3::new(0.0, 0.0, 1.5)] {
            let found = fit(&seen_from(at, JOINTS)).expect("all is seen").at_m;
            assert!((found - at).norm() < 1e-9, "{found}");
        }
    }

    #[test]
    fn one_joint_that_is_somebody_elses_moves_it_little_and_makes_it_less_sure() {
        let at = Vector3::new(0.4, -0.2, 3.0);
        let mut rays = seen_from(at, JOINTS);
        let sure = fit(&rays).unwrap();
        rays[9].seen[0] += 0.4;
        let moved = fit(&rays).unwrap();
        assert!((moved.at_m - at).norm() < 0.2, "{}", moved.at_m);
        assert!(moved.covariance[(2, 2)] > sure.covariance[(2, 2)] + 1e-4);
    }

    #[test]
    fn an_unsure_place_in_the_picture_is_worth_less_the_farther_the_body_is() {
        // How far, of its depth, a body is moved aside by a half of its joints that are seen aside, as unsure as they are.
        let moved = |depth_m: f64| {
            let mut rays = seen_from(Vector3::new(0.0, 0.0, depth_m), JOINTS);
            for ray in rays.iter_mut().step_by(2) {
                (ray.seen[0], ray.sigma) = (ray.seen[0] + 0.01, 0.03);
            }
            fit(&rays).expect("all is seen").at_m.x / depth_m
        };
        let (near, far) = (moved(0.5), moved(10.0));
        assert!(near > 0.003 && far < 0.4 * near, "{near} and {far}");
    }

    #[test]
    fn too_few_joints_and_places_behind_the_camera_are_nowhere() {
        let at = Vector3::new(0.0, 0.0, 3.0);
        assert!(fit(&seen_from(at, 5)).is_none() && fit(&[]).is_none());
        let mut inside_out = seen_from(at, JOINTS);
        inside_out.iter_mut().for_each(|ray| ray.joint_m = -ray.joint_m);
        assert!(fit(&inside_out).is_none_or(|f| f.at_m.z > 0.0));
        let mut wild = seen_from(at, JOINTS);
        wild[3].seen[0] = f64::NAN;
        assert!(fit(&wild).is_none());
    }
}
