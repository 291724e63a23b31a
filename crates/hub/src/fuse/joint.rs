//! One joint's place and speed in the room: an extended Kalman filter over rays, which come when they come.

use nalgebra::{Matrix2, Matrix3, Matrix3x2};

use crate::geometry::Eye;
use crate::{V2, V3};

/// A detector's error lasts: so many rays in a row say what one says.
const ALIKE: f64 = 3.0;
/// Squared, in sigmas: a ray that is farther off counts less, ever less.
const FAR: f64 = 6.0;
/// Squared, in sigmas: another thing altogether.
const WILD: f64 = 150.0;
/// Without rays, a joint slows down within so many seconds.
const COASTS_S: f64 = 0.6;

/// A joint's place and speed, and how well both are known.
#[derive(Clone, Copy, Debug)]
pub struct JointFilter {
    /// Metres.
    at: V3,
    /// Metres a second.
    speed: V3,
    /// Covariance: of places, of places with speeds, of speeds.
    places: Matrix3<f64>,
    cross: Matrix3<f64>,
    speeds: Matrix3<f64>,
}

/// Where a camera should see a joint, and how well that is known.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    at: V2,
    covariance: Matrix2<f64>,
}

impl Expected {
    /// How far a ray lies from here, squared, in units of both sigmas: 2 on average.
    pub fn off(&self, ray: V2, sigma: f64) -> f64 {
        let (s, by) = (self.covariance + Matrix2::identity() * (sigma * sigma), ray - self.at);
        (s.m22 * by.x * by.x - 2.0 * s.m12 * by.x * by.y + s.m11 * by.y * by.y) / s.determinant()
    }
}

impl JointFilter {
    /// At `at`, with that covariance, at rest within walking speed.
    pub fn new(at: V3, covariance: Matrix3<f64>) -> Self {
        let (places, speeds) = (covariance * ALIKE, Matrix3::identity());
        Self { at, speed: V3::zeros(), places, cross: Matrix3::zeros(), speeds }
    }

    /// Metres.
    pub fn at(&self) -> V3 {
        self.at
    }

    /// Metres a second.
    pub fn speed(&self) -> V3 {
        self.speed
    }

    /// Where it is `seconds` later, or earlier.
    pub fn after(&self, seconds: f64) -> V3 {
        self.at + self.speed * coasted(seconds)
    }

    /// Standard deviation of the place along one axis, metres, all axes together.
    pub fn sigma(&self) -> f64 {
        self.variance().sqrt()
    }

    /// Its square.
    pub fn variance(&self) -> f64 {
        self.places.trace() / 3.0
    }

    /// Puts it elsewhere without a word on how well that is known.
    pub fn shift(&mut self, by: V3) {
        self.at += by;
    }

    /// Goes on by `seconds`; `restless` is the density of its acceleration, m²/s³.
    pub fn go_on(&mut self, seconds: f64, restless: f64) {
        let keep = (-seconds / COASTS_S).exp();
        let gone = COASTS_S * (1.0 - keep);
        self.at = self.after(seconds);
        self.speed *= keep;
        // The transition is [1, gone; 0, keep].
        let (c, v, one, q) = (self.cross, self.speeds, Matrix3::identity(), restless * seconds);
        self.places += (c + c.transpose()) * gone + v * (gone * gone) + one * (q * seconds * seconds / 3.0);
        self.cross = (c + v * gone) * keep + one * (q * seconds / 2.0);
        self.speeds = v * (keep * keep) + one * q;
    }

    /// Where `eye` should have seen it `seconds` ago, as restless as it is, or will when it has gone on by as many; `None` behind it.
    pub fn expected(&self, eye: &Eye, seconds: f64, restless: f64) -> Option<Expected> {
        if seconds < 0.0 {
            let mut then = *self;
            then.go_on(-seconds, restless);
            return then.expected(eye, 0.0, restless);
        }
        let (at, slope) = eye.project(self.at - self.speed * seconds)?;
        let c = self.cross;
        let then = self.places - (c + c.transpose()) * seconds + self.speeds * (seconds * seconds);
        let then = then + Matrix3::identity() * strayed(seconds, restless);
        Some(Expected { at, covariance: slope * then * slope.transpose() })
    }

    /// Takes in a ray of `seconds` ago; `restless` as in [`Self::go_on`].
    pub fn take(&mut self, eye: &Eye, ray: V2, sigma: f64, seconds: f64, restless: f64) {
        let variance = ALIKE * sigma * sigma;
        let Some((seen, slope)) = eye.project(self.at - self.speed * seconds) else { return };
        let by = ray - seen;
        let across = slope.transpose();
        let place: Matrix3x2<f64> = (self.places - self.cross * seconds) * across;
        let speed: Matrix3x2<f64> = (self.cross.transpose() - self.speeds * seconds) * across;
        let s = slope * (place - speed * seconds) + Matrix2::identity() * variance;
        let s = s + slope * across * strayed(seconds, restless);
        let Some(inverse) = s.try_inverse() else { return };
        let off = by.dot(&(inverse * by));
        if off > WILD || !off.is_finite() {
            return;
        }
        let loose = (off / FAR).max(1.0);
        let Some(inverse) = (s + Matrix2::identity() * (variance * (loose - 1.0))).try_inverse() else {
            return;
        };
        let (by_place, by_speed) = (place * inverse, speed * inverse);
        self.at += by_place * by / loose.sqrt();
        self.speed += by_speed * by / loose.sqrt();
        self.places -= by_place * place.transpose();
        self.cross -= by_place * speed.transpose();
        self.speeds -= by_speed * speed.transpose();
        self.places = (self.places + self.places.transpose()) * 0.5;
        self.speeds = (self.speeds + self.speeds.transpose()) * 0.5;
    }
}

/// How far a joint may have left the straight way back within `seconds`, a variance, m²: what has come since tells of now rather than of then.
pub(super) fn strayed(seconds: f64, restless: f64) -> f64 {
    restless * seconds.max(0.0).powi(3) / 3.0
}

/// For how many seconds of its speed a joint goes on within `seconds`.
pub(super) fn coasted(seconds: f64) -> f64 {
    if seconds > 0.0 { COASTS_S * (1.0 - (-seconds / COASTS_S).exp()) } else { seconds }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Extrinsics;

    /// Four metres before a camera at the origin, known to two centimetres.
    fn joint() -> (Eye, JointFilter) {
        let joint = JointFilter::new(V3::new(0.0, 0.0, 4.0), Matrix3::identity() * (0.02 * 0.02));
        (Eye::of(&Extrinsics::identity()), joint)
    }

    #[test]
    fn a_late_ray_is_held_against_where_the_joint_was_then() {
        let (eye, mut joint) = joint();
        joint.speed = V3::new(2.0, 0.0, 0.0);
        let then = joint.expected(&eye, 0.2, 4.0).unwrap().at;
        assert!((then - V2::new(-0.1, 0.0)).norm() < 1e-9, "{then}");
        joint.take(&eye, then, 0.005, 0.2, 4.0);
        assert!((joint.at - V3::new(0.0, 0.0, 4.0)).norm() < 1e-9, "{}", joint.at);
        // Whoever was farther to the right then is so now, and is slower.
        joint.take(&eye, then + V2::new(0.02, 0.0), 0.005, 0.2, 4.0);
        assert!(joint.speed.x < 2.0 - 1e-3 && joint.at.x > 1e-4, "{} {}", joint.speed, joint.at);
    }

    #[test]
    fn a_joint_is_expected_where_it_will_have_gone_on_to() {
        let (eye, mut joint) = joint();
        joint.speed = V3::new(1.4, 0.0, 0.0);
        let ahead = joint.expected(&eye, -0.5, 4.0).unwrap();
        joint.go_on(0.5, 4.0);
        let then = joint.expected(&eye, 0.0, 4.0).unwrap();
        assert!((ahead.at - then.at).norm() < 1e-9, "{ahead:?} {then:?}");
        assert!((ahead.covariance - then.covariance).norm() < 1e-9, "{ahead:?} {then:?}");
    }

    #[test]
    fn the_later_a_ray_comes_the_less_it_says() {
        let moved = |late: f64| {
            let (eye, mut joint) = joint();
            // What was seen since knows the speed.
            joint.speeds *= 1e-4;
            let before = joint.expected(&eye, late, 12.0).unwrap().off(V2::new(0.03, 0.0), 0.005);
            joint.take(&eye, V2::new(0.005, 0.0), 0.005, late, 12.0);
            (joint.at.x, before)
        };
        let all = [0.0, 0.1, 0.3, 1.0].map(moved);
        assert!(all.windows(2).all(|two| two[1].0 < two[0].0 && two[1].1 < two[0].1), "{all:?}");
        // Within a second an arm may be two metres elsewhere, and what a ray says of then is nothing.
        assert!(all[3].0 < 1e-4 && all[3].1 < 0.1, "{all:?}");
    }

    #[test]
    fn a_ray_along_what_is_uncertain_is_nearer_than_one_across() {
        let covariance = Matrix2::new(4.0, 3.0, 3.0, 4.0);
        let expected = Expected { at: V2::new(1.0, 2.0), covariance };
        // Eigenvalues 7 and 1 of the diagonals, and 1 of the ray's own.
        let off = |x: f64, y: f64| expected.off(V2::new(1.0 + x, 2.0 + y), 1.0);
        assert!((off(1.0, 1.0) - 2.0 / 8.0).abs() < 1e-9 && (off(1.0, -1.0) - 2.0 / 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_farther_off_a_ray_is_the_less_it_moves_a_joint_and_a_wild_one_not_at_all() {
        let moved = |by: f64| {
            let (eye, mut joint) = joint();
            joint.take(&eye, V2::new(by, 0.0), 0.005, 0.0, 4.0);
            joint.at.x
        };
        let [near, far, wild] = [0.01, 0.1, 0.5].map(moved);
        assert!(near > 0.01 && far > 0.0 && far < near && wild == 0.0, "{near} {far} {wild}");
    }

    #[test]
    fn a_joint_that_no_ray_moves_comes_to_rest() {
        let (_, mut joint) = joint();
        joint.speed = V3::new(1.5, 0.0, 0.0);
        let after = joint.after(3.0);
        (0..30).for_each(|_| joint.go_on(0.1, 4.0));
        assert!((joint.at - after).norm() < 1e-9 && (joint.at.x - 0.9).abs() < 0.01, "{} {after}", joint.at);
        assert!(joint.speed.norm() < 0.02, "{}", joint.speed);
    }

    #[test]
    fn rays_in_a_row_are_no_more_than_a_third_of_so_many() {
        let (eye, mut joint) = joint();
        joint.places *= 1e4;
        (0..3).for_each(|_| joint.take(&eye, V2::zeros(), 0.005, 0.0, 4.0));
        // Three say what one says: across, two centimetres at four metres.
        assert!((joint.places.m11.sqrt() - 0.02).abs() < 0.001, "{}", joint.places.m11.sqrt());
    }
}
