//! One joint's place and speed in the room: an extended Kalman filter over rays, which come when they come.

use nalgebra::{Matrix2, Matrix2x6, Matrix3, Matrix6, Vector6};

use crate::geometry::residual;
use crate::{Place, V2, V3};

/// A detector's error lasts: so many rays in a row say what one says.
const ALIKE: f64 = 4.0;
/// Squared, in sigmas: a ray that is farther off counts less, ever less.
const FAR: f64 = 6.0;
/// Squared, in sigmas: another thing altogether.
const WILD: f64 = 150.0;
/// Without rays, a joint slows down within so many seconds.
const COASTS_S: f64 = 0.6;

/// A joint's place and speed, and how well both are known.
#[derive(Clone, Copy, Debug)]
pub struct JointFilter {
    /// Place (m) and speed (m/s).
    state: Vector6<f64>,
    covariance: Matrix6<f64>,
}

impl JointFilter {
    /// At `at`, with that covariance, at rest within walking speed.
    pub fn new(at: V3, covariance: Matrix3<f64>) -> Self {
        let mut state = Vector6::zeros();
        state.fixed_rows_mut::<3>(0).copy_from(&at);
        let mut all = Matrix6::zeros();
        all.fixed_view_mut::<3, 3>(0, 0).copy_from(&(covariance * ALIKE));
        all.fixed_view_mut::<3, 3>(3, 3).copy_from(&Matrix3::identity());
        Self { state, covariance: all }
    }

    /// Metres.
    pub fn at(&self) -> V3 {
        self.state.fixed_rows::<3>(0).into_owned()
    }

    /// Metres a second.
    pub fn speed(&self) -> V3 {
        self.state.fixed_rows::<3>(3).into_owned()
    }

    /// Where it is `seconds` later, or earlier.
    pub fn after(&self, seconds: f64) -> V3 {
        let gone = if seconds > 0.0 { COASTS_S * (1.0 - (-seconds / COASTS_S).exp()) } else { seconds };
        self.at() + self.speed() * gone
    }

    /// Standard deviation of the place along one axis, metres, all axes together.
    pub fn sigma(&self) -> f64 {
        (self.covariance.fixed_view::<3, 3>(0, 0).trace() / 3.0).sqrt()
    }

    /// Puts it elsewhere without a word on how well that is known.
    pub fn shift(&mut self, by: V3) {
        let mut at = self.state.fixed_rows_mut::<3>(0);
        at += by;
    }

    /// Goes on by `seconds`; `restless` is the density of its acceleration, m²/s³.
    pub fn go_on(&mut self, seconds: f64, restless: f64) {
        let keep = (-seconds / COASTS_S).exp();
        let gone = COASTS_S * (1.0 - keep);
        let at = self.after(seconds);
        self.state.fixed_rows_mut::<3>(0).copy_from(&at);
        let speed = self.speed() * keep;
        self.state.fixed_rows_mut::<3>(3).copy_from(&speed);
        // In blocks: the transition is [1, gone; 0, keep].
        let p = self.covariance.fixed_view::<3, 3>(0, 0).into_owned();
        let c = self.covariance.fixed_view::<3, 3>(0, 3).into_owned();
        let v = self.covariance.fixed_view::<3, 3>(3, 3).into_owned();
        let one = Matrix3::identity();
        let q = restless * seconds;
        let new_p = p + (c + c.transpose()) * gone + v * (gone * gone) + one * (q * seconds * seconds / 3.0);
        let new_c = (c + v * gone) * keep + one * (q * seconds / 2.0);
        let new_v = v * (keep * keep) + one * q;
        self.covariance.fixed_view_mut::<3, 3>(0, 0).copy_from(&new_p);
        self.covariance.fixed_view_mut::<3, 3>(0, 3).copy_from(&new_c);
        self.covariance.fixed_view_mut::<3, 3>(3, 0).copy_from(&new_c.transpose());
        self.covariance.fixed_view_mut::<3, 3>(3, 3).copy_from(&new_v);
    }

    /// How far a ray of `seconds` ago lies from here, squared, in units of both sigmas: 2 on average.
    pub fn off(&self, camera: &Place, ray: V2, sigma: f64, seconds: f64) -> Option<f64> {
        let (innovation, _, s) = self.innovation(camera, ray, sigma * sigma, seconds)?;
        s.cholesky().map(|c| innovation.dot(&c.solve(&innovation)))
    }

    /// Takes in a ray of `seconds` ago.
    pub fn take(&mut self, camera: &Place, ray: V2, sigma: f64, seconds: f64) {
        let variance = ALIKE * sigma * sigma;
        let Some((innovation, slope, s)) = self.innovation(camera, ray, variance, seconds) else { return };
        let Some(factor) = s.cholesky() else { return };
        let off = innovation.dot(&factor.solve(&innovation));
        if off > WILD {
            return;
        }
        let loose = (off / FAR).max(1.0);
        let s = s + Matrix2::identity() * (variance * (loose - 1.0));
        let Some(inverse) = s.try_inverse() else { return };
        let gain = self.covariance * slope.transpose() * inverse;
        self.state -= gain * innovation / loose.sqrt();
        self.covariance -= gain * slope * self.covariance;
        self.covariance = (self.covariance + self.covariance.transpose()) * 0.5;
    }

    #[allow(clippy::type_complexity)]
    fn innovation(
        &self,
        camera: &Place,
        ray: V2,
        variance: f64,
        seconds: f64,
    ) -> Option<(V2, Matrix2x6<f64>, Matrix2<f64>)> {
        let (innovation, by_place) = residual(camera, self.at() - self.speed() * seconds, ray)?;
        let mut slope = Matrix2x6::zeros();
        slope.fixed_columns_mut::<3>(0).copy_from(&by_place);
        slope.fixed_columns_mut::<3>(3).copy_from(&(by_place * -seconds));
        let s = slope * self.covariance * slope.transpose() + Matrix2::identity() * variance;
        Some((innovation, slope, s))
    }
}
