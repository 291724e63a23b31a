//! One person's body over time: how large its 3D poses are, which the network can only guess, against how tall the person is.

use nalgebra::{Matrix3, Vector3};
use pose::{Forecast, JOINTS, Joint, JointState, Place};

use super::fit::{Fit, Ray, fit};
use super::scale::Scale;
use super::stature::Stature;
use crate::calibrate::Intrinsics;

/// Of a person's height: from the middle of the shoulders to that of the hips, from hip to knee, from knee to ankle; where annotators see
/// these joints. Means over the renderer's bodies (`posewire eval metres`).
const TRUNK_AND_LEGS: f64 = 0.303 + 0.224 + 0.232;
/// How tall the network takes people to be before a pose of this one is known, metres.
const FIRST_HEIGHT_M: f64 = 1.68;
/// Poses over which that is a mean: a bent body looks shorter than it is.
const POSES: f64 = 60.0;
/// A 3D pose of another size is none of a person, metres of height.
const HEIGHTS_M: std::ops::Range<f64> = 0.4..4.0;

/// Joints are wrong together, which the fit takes to be wrong each for itself.
const TOGETHER: f64 = 2.0;
/// Where in a body the middle of its hips is, metres: 3D poses and annotators disagree. All three are such that 68 % are covered on
/// films that the table of docs/metres.md does not have.
const HIPS_SIGMA_M: f64 = 0.02;

/// What is known of the size of one person's 3D poses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Body {
    /// Logarithm of the height, metres, that the 3D poses have had.
    log_height: f64,
    poses: f64,
}

/// One pose before the camera, in the network's own metres: all but how large the person is.
#[derive(Clone, Copy, Debug)]
pub struct Fitted {
    joints_m: [[f32; 3]; JOINTS],
    fit: Fit,
    /// How tall the network takes the person to be.
    height_m: f64,
}

impl Body {
    /// Where the person stands, of the moment of capture; the 3D pose of `forecast` is made as large as the person is.
    ///
    /// `None` without a 3D pose, of too few joints, or where nothing before the camera fits.
    pub fn place(&mut self, forecast: &mut Forecast, lens: &Intrinsics, stature: Stature) -> Option<Place> {
        let (place, joints_m) = self.fitted(forecast, lens)?.placed(stature, stature.scale());
        forecast.joints_3d_m = Some(joints_m);
        Some(place)
    }

    /// The pose of `forecast` before the camera; `None` as of [`Self::place`].
    pub fn fitted(&mut self, forecast: &Forecast, lens: &Intrinsics) -> Option<Fitted> {
        let joints_m = forecast.joints_3d_m?;
        self.learn(&joints_m);
        let mut rays = [Ray { joint_m: Vector3::zeros(), seen: [0.0; 2], sigma: 0.0 }; JOINTS];
        let mut count = 0;
        for (j, joint) in joints_m.iter().enumerate() {
            let [u, v] = forecast.places_px[0][j].map(f64::from);
            let Some(seen) = lens.direction(u, v).filter(|_| forecast.state[j] != JointState::Absent) else {
                continue;
            };
            let sigma = f64::from(forecast.sigma_px[0][j]) / (0.5 * (lens.fx + lens.fy));
            rays[count] = Ray { joint_m: Vector3::from(joint.map(f64::from)), seen, sigma };
            count += 1;
        }
        Some(Fitted { joints_m, fit: fit(&rays[..count])?, height_m: self.log_height.exp() })
    }

    /// Takes the size of one more pose.
    fn learn(&mut self, joints_m: &[[f32; 3]; JOINTS]) {
        if self.poses == 0.0 {
            self.log_height = FIRST_HEIGHT_M.ln();
        }
        let height_m = height_m(joints_m);
        if HEIGHTS_M.contains(&height_m) {
            self.poses = (self.poses + 1.0).min(POSES);
            // The first value counts as much as a pose.
            self.log_height += (height_m.ln() - self.log_height) / (self.poses + 1.0);
        }
    }
}

impl Fitted {
    /// Of somebody so tall, and larger by `scale` than that: where they stand, and their 3D pose, metres.
    pub fn placed(&self, stature: Stature, scale: Scale) -> (Place, [[f32; 3]; JOINTS]) {
        let by = stature.height_m / self.height_m * scale.log.exp();
        let at_m = by * self.fit.at_m;
        // What hangs on the person's size lies along the ray.
        let covariance = (TOGETHER * by).powi(2) * self.fit.covariance
            + scale.variance * at_m * at_m.transpose()
            + Matrix3::from_diagonal_element(HIPS_SIGMA_M.powi(2));
        let distance_m = at_m.norm();
        let ahead = at_m / distance_m;
        let place = Place {
            at_m: at_m.map(|v| v as f32).into(),
            sigma_m: std::array::from_fn(|i| covariance[(i, i)].max(0.0).sqrt() as f32),
            distance_m: distance_m as f32,
            distance_sigma_m: ahead.dot(&(covariance * ahead)).max(0.0).sqrt() as f32,
        };
        (place, self.joints_m.map(|joint| joint.map(|v| (by * f64::from(v)) as f32)))
    }
}

/// How tall somebody is whose joints are so far apart, metres.
fn height_m(joints_m: &[[f32; 3]; JOINTS]) -> f64 {
    use Joint::{LeftAnkle, LeftHip, LeftKnee, LeftShoulder, RightAnkle, RightHip, RightKnee, RightShoulder};
    let at = |joint: Joint| Vector3::from(joints_m[joint as usize].map(f64::from));
    let apart = |a: Joint, b: Joint| (at(a) - at(b)).norm();
    let trunk = 0.5 * (at(LeftShoulder) + at(RightShoulder) - at(LeftHip) - at(RightHip)).norm();
    let thighs = 0.5 * (apart(LeftHip, LeftKnee) + apart(RightHip, RightKnee));
    let shins = 0.5 * (apart(LeftKnee, LeftAnkle) + apart(RightKnee, RightAnkle));
    (trunk + thighs + shins) / TRUNK_AND_LEGS
}

#[cfg(test)]
pub(super) mod tests {
    use pose::HORIZONS_US;

    use super::*;

    pub const LENS: Intrinsics =
        Intrinsics { fx: 610.0, fy: 605.0, cx: 330.0, cy: 236.0, k1: -0.12, k2: 0.05 };

    /// Somebody 1.80 m tall who stands at `at` and whom a network without any idea of it takes to be `scale` as large.
    pub fn person(at: [f64; 3], scale: f64) -> Forecast {
        let tall = 1.80;
        let (trunk, thigh, shin) = (0.303 * tall, 0.224 * tall, 0.232 * tall);
        let (hip, knee, ankle) = (0.0, thigh, thigh + shin);
        let mut f = Forecast { state: [JointState::Measured; JOINTS], ..Forecast::default() };
        let mut joints = [[0.0; 3]; JOINTS];
        for (j, joint) in joints.iter_mut().enumerate() {
            let side = if j % 2 == 1 { 0.12 } else { -0.12 };
            let down = match j {
                0..=4 => -trunk - 0.2,
                5 | 6 => -trunk,
                7 | 8 => -0.6 * trunk,
                9 | 10 => -0.1 * trunk,
                11 | 12 => hip,
                13 | 14 => knee,
                _ => ankle,
            };
            *joint = [side, down, 0.05 * side];
            let [x, y, z] = [0, 1, 2].map(|i| joint[i] + at[i]);
            let [u, v] = LENS.project(x / z, y / z);
            for h in 0..HORIZONS_US.len() {
                (f.places_px[h][j], f.sigma_px[h][j]) = ([u as f32, v as f32], 3.0);
            }
        }
        f.joints_3d_m = Some(joints.map(|joint| joint.map(|v| (scale * v) as f32)));
        f
    }

    #[test]
    fn a_person_of_known_height_stands_where_they_stand_whatever_size_the_network_gives_them() {
        for (at, scale) in [([0.5, 0.3, 3.0], 1.0), ([-1.0, 0.2, 5.0], 0.8), ([0.0, 0.4, 2.5], 1.15)] {
            let mut body = Body::default();
            let mut last = None;
            for _ in 0..600 {
                let mut forecast = person(at, scale);
                last =
                    body.place(&mut forecast, &LENS, Stature::measured(1.80)).map(|place| (place, forecast));
            }
            let (place, forecast) = last.expect("all is seen");
            for i in 0..3 {
                assert!((f64::from(place.at_m[i]) - at[i]).abs() < 0.01 * at[2], "{place:?} for {at:?}");
            }
            let knee = forecast.joints_3d_m.unwrap()[13];
            assert!((knee[1] - 0.224 * 1.80).abs() < 0.005, "in the person's own metres: {knee:?}");
        }
    }

    #[test]
    fn who_is_not_measured_may_be_nearer_or_farther_and_it_says_so() {
        let place =
            |stature| Body::default().place(&mut person([0.5, 0.3, 3.0], 1.0), &LENS, stature).unwrap();
        let (known, unknown) = (place(Stature::measured(1.80)), place(Stature::ADULT));
        assert!(unknown.distance_m < 0.96 * known.distance_m, "an average adult would be nearer");
        assert!(unknown.distance_sigma_m > 2.0 * known.distance_sigma_m, "{known:?} {unknown:?}");
        let along = (unknown.at_m[2] / unknown.distance_m).abs();
        assert!(unknown.sigma_m[2] > 0.9 * along * unknown.distance_sigma_m);
    }

    /// Of somebody 1.80 m tall, by one pose that is taken to be `larger` (its logarithm) than that.
    fn placed(forecast: &Forecast, larger: f64, variance: f64) -> (Place, [[f32; 3]; JOINTS]) {
        let fitted = Body::default().fitted(forecast, &LENS).expect("all is seen");
        fitted.placed(Stature::measured(1.80), Scale { log: larger, variance })
    }

    #[test]
    fn whoever_is_twice_as_large_stands_twice_as_far_away_and_that_is_half_as_sure() {
        let mut forecast = person([0.5, 0.3, 3.0], 1.0);
        forecast.places_px[0][9][0] += 60.0;
        let ((near, small), (far, large)) =
            (placed(&forecast, 0.0, 0.0), placed(&forecast, std::f64::consts::LN_2, 0.0));
        let ratio = |a: f32, b: f32| a / b;
        assert!((ratio(far.distance_m, near.distance_m) - 2.0).abs() < 1e-3, "{near:?} {far:?}");
        assert!((ratio(large[13][1], small[13][1]) - 2.0).abs() < 1e-3);
        assert!(ratio(far.distance_sigma_m, near.distance_sigma_m) > 1.6, "{near:?} {far:?}");
    }

    #[test]
    fn what_a_size_leaves_open_lies_along_the_line_of_sight() {
        // Far to the side, where the distance is much more than the depth.
        let (place, _) = placed(&person([3.0, 0.2, 3.0], 1.0), 0.0, 0.01);
        let [x, y, z] = place.at_m;
        assert!((place.distance_m - x.hypot(y).hypot(z)).abs() < 1e-3, "{place:?}");
        assert!((place.distance_sigma_m / place.distance_m - 0.1).abs() < 0.01, "a tenth: {place:?}");
    }

    #[test]
    fn a_pose_that_fits_without_any_error_is_no_surer_than_a_hip_has_a_place() {
        let (place, _) = placed(&person([0.0, 0.3, 3.0], 1.0), 0.0, 0.0);
        assert!(place.sigma_m.iter().all(|sigma_m| *sigma_m > 0.01), "{place:?}");
    }

    #[test]
    fn a_joint_some_pixels_less_sure_counts_nearly_as_much_as_the_pose_itself_is_wrong_by_more() {
        let aside = |sigma_px: f32| {
            let mut forecast = person([0.0, 0.3, 3.0], 1.0);
            for j in [5, 7, 9, 11, 13, 15] {
                forecast.places_px[0][j][0] += 6.0;
                forecast.sigma_px[0][j] = sigma_px;
            }
            placed(&forecast, 0.0, 0.0).0.at_m[0]
        };
        let (sure, less_sure) = (aside(3.0), aside(6.0));
        assert!(sure > 0.005 && less_sure > 0.7 * sure, "{sure} and {less_sure}");
    }

    #[test]
    fn the_first_pose_is_not_believed_alone_the_newest_minute_is_and_what_is_no_body_teaches_nothing() {
        let distance_m = |body: &mut Body, scale: f64| {
            let place = body.place(&mut person([0.0, 0.3, 3.0], scale), &LENS, Stature::measured(1.80));
            f64::from(place.expect("all is seen").distance_m)
        };
        let mut body = Body::default();
        // By a pose of half the size the person would stand where they stand; by the usual height half as far away.
        let (first_m, true_m) = (distance_m(&mut body, 0.5), 3.0f64.hypot(0.3));
        assert!((0.6..0.85).contains(&(first_m / true_m)), "{first_m}");
        for _ in 0..600 {
            distance_m(&mut body, 0.5);
        }
        let before = body;
        for wild in [20.0, 0.01, f64::NAN] {
            distance_m_or_nowhere(&mut body, wild);
            assert_eq!((body.log_height, body.poses), (before.log_height, before.poses), "{wild}");
        }
        for _ in 0..300 {
            distance_m(&mut body, 1.0);
        }
        let now_m = distance_m(&mut body, 1.0);
        assert!((now_m / true_m - 1.0).abs() < 0.03, "the network takes them to be larger now: {now_m}");
    }

    fn distance_m_or_nowhere(body: &mut Body, scale: f64) {
        body.place(&mut person([0.0, 0.3, 3.0], scale), &LENS, Stature::measured(1.80));
    }

    #[test]
    fn without_a_3d_pose_or_with_hardly_a_joint_there_is_no_place() {
        let mut forecast = person([0.5, 0.3, 3.0], 1.0);
        forecast.state[5..].fill(JointState::Absent);
        assert_eq!(Body::default().place(&mut forecast, &LENS, Stature::ADULT), None);
        let mut forecast = Forecast { joints_3d_m: None, ..person([0.5, 0.3, 3.0], 1.0) };
        assert_eq!(Body::default().place(&mut forecast, &LENS, Stature::ADULT), None);
        let mut forecast = person([0.5, 0.3, 3.0], 1.0);
        forecast.places_px[0] = [[f32::NAN; 2]; JOINTS];
        assert_eq!(Body::default().place(&mut forecast, &LENS, Stature::ADULT), None);
    }
}
