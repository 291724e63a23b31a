//! Where a person is and will be: a pose at any moment.

use crate::{JOINTS, JointState, MIRROR, Pose, PoseJoint, Stamped};

/// Moments after capture that every model answers for, microseconds; between them a [`Forecast`] interpolates.
pub const HORIZONS_US: [i64; 4] = [0, 50_000, 100_000, 150_000];

/// Where one person is now and will be within the next 150 ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// The frame's capture time.
    pub captured_at_us: i64,
    /// `[horizon][joint]`, pixels of the source image.
    pub places_px: [[[f32; 2]; JOINTS]; HORIZONS_US.len()],
    /// `[horizon][joint]`, standard deviation in pixels, the same along x and y.
    pub sigma_px: [[f32; JOINTS]; HORIZONS_US.len()],
    /// Probability that the joint lies within 0.1 of the person's extent of its place at capture, 0..=1.
    pub score: [f32; JOINTS],
    /// How each joint is known at capture.
    pub state: [JointState; JOINTS],
    /// Hip-centred metres at capture, where the model lifts.
    pub joints_3d_m: Option<[[f32; 3]; JOINTS]>,
}

/// A pose this long after its frame is no pose any more: every joint is absent, in microseconds.
const MAX_AGE_US: i64 = 1_000_000;

/// Least growth of sigma a second beyond the last horizon, of sigma there: a forecast never grows surer with age.
const MIN_GROWTH_PER_S: f32 = 4.0;

impl Default for Forecast {
    /// Every joint absent.
    fn default() -> Self {
        Self {
            captured_at_us: 0,
            places_px: [[[0.0; 2]; JOINTS]; HORIZONS_US.len()],
            sigma_px: [[0.0; JOINTS]; HORIZONS_US.len()],
            score: [0.0; JOINTS],
            state: [JointState::Absent; JOINTS],
            joints_3d_m: None,
        }
    }
}

impl Forecast {
    /// Joints whose place is known at capture: measured or predicted.
    pub fn known_joints(&self) -> usize {
        self.state.iter().filter(|state| **state != JointState::Absent).count()
    }

    /// The same with left and right joints' names exchanged: of a person who was seen in a mirror.
    #[must_use]
    pub fn with_sides_exchanged(&self) -> Self {
        fn exchanged<T: Copy>(joints: &[T; JOINTS]) -> [T; JOINTS] {
            MIRROR.map(|j| joints[j])
        }
        Self {
            captured_at_us: self.captured_at_us,
            places_px: self.places_px.map(|places| exchanged(&places)),
            sigma_px: self.sigma_px.map(|sigma| exchanged(&sigma)),
            score: exchanged(&self.score),
            state: exchanged(&self.state),
            joints_3d_m: self.joints_3d_m.map(|joints| exchanged(&joints)),
        }
    }

    /// Where the person is expected at `valid_at_us`: places of [`at`](Self::at), scores and sigma of the capture. How well a joint can be
    /// foretold says nothing of whether it is a part of the person: at a few frames a second none can be.
    pub fn expected_at(&self, valid_at_us: i64) -> Pose {
        let mut pose = self.at(0, 0.0, valid_at_us).value;
        for (j, joint) in pose.joints.iter_mut().enumerate() {
            if joint.state != JointState::Absent {
                (joint.score, joint.sigma_px) = (self.score[j], self.sigma_px[0][j]);
            }
        }
        pose
    }

    /// The same, where joints that are predicted beyond the edges of a picture of `width_px` by `height_px` are absent: a joint that is
    /// out of the picture is not a hidden one, and of somebody who sits at a desk nobody knows where the legs are.
    #[must_use]
    pub fn within(mut self, width_px: u32, height_px: u32) -> Self {
        let is_inside = |[x_px, y_px]: [f32; 2]| {
            (0.0..=width_px as f32).contains(&x_px) && (0.0..=height_px as f32).contains(&y_px)
        };
        for j in 0..JOINTS {
            if self.state[j] == JointState::Predicted && !is_inside(self.places_px[0][j]) {
                (self.state[j], self.score[j]) = (JointState::Absent, 0.0);
            }
        }
        self
    }

    /// Whether nothing is known of `valid_at_us` any more.
    pub(crate) fn is_over(&self, valid_at_us: i64) -> bool {
        valid_at_us.saturating_sub(self.captured_at_us) > MAX_AGE_US
    }

    /// The pose at `valid_at_us`, interpolated between the horizons.
    ///
    /// A time before the capture gives the pose at capture and is stamped so. Beyond the last horizon places stay where
    /// they are there and sigma goes on growing. Scores fall as sigma grows. Over a second after capture it is no pose any more: every joint is
    /// absent, the person's score is 0, and there is no 3D.
    pub fn at(&self, track_id: u32, score: f32, valid_at_us: i64) -> Stamped<Pose> {
        let ahead_us = valid_at_us.saturating_sub(self.captured_at_us).max(0);
        let last = HORIZONS_US.len() - 1;
        let upper = HORIZONS_US.iter().position(|&h| ahead_us <= h).unwrap_or(last).max(1);
        let (h0, h1) = (HORIZONS_US[upper - 1], HORIZONS_US[upper]);
        let w = ((ahead_us - h0) as f32 / (h1 - h0) as f32).min(1.0);
        let beyond_s = (ahead_us - HORIZONS_US[last]).max(0) as f32 * 1e-6;
        let step_s = (HORIZONS_US[last] - HORIZONS_US[last - 1]) as f32 * 1e-6;
        let too_old = self.is_over(valid_at_us);

        let mut pose = Pose { track_id, ..Pose::default() };
        if !too_old {
            (pose.score, pose.joints_3d_m) = (score, self.joints_3d_m);
        }
        for (j, joint) in pose.joints.iter_mut().enumerate() {
            let mix = |a: f32, b: f32| a + w * (b - a);
            let ([x0, y0], [x1, y1]) = (self.places_px[upper - 1][j], self.places_px[upper][j]);
            let slope = (self.sigma_px[last][j] - self.sigma_px[last - 1][j]) / step_s;
            let growth = slope.max(MIN_GROWTH_PER_S * self.sigma_px[last][j]) * beyond_s;
            let sigma_px = mix(self.sigma_px[upper - 1][j], self.sigma_px[upper][j]) + growth;
            let trust = if sigma_px > self.sigma_px[0][j] { self.sigma_px[0][j] / sigma_px } else { 1.0 };
            *joint = PoseJoint {
                x_px: mix(x0, x1),
                y_px: mix(y0, y1),
                score: self.score[j] * trust,
                sigma_px,
                state: if too_old { JointState::Absent } else { self.state[j] },
            };
            if joint.state == JointState::Absent {
                joint.score = 0.0;
            }
        }
        Stamped {
            captured_at_us: self.captured_at_us,
            valid_at_us: self.captured_at_us.saturating_add(ahead_us),
            value: pose,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn exchanged_sides_are_the_other_joints_and_twice_is_nothing() {
        let mut f = moving_right();
        for (j, score) in f.score.iter_mut().enumerate() {
            *score = j as f32 / 100.0;
            f.places_px[2][j][1] = j as f32;
            f.sigma_px[1][j] = j as f32;
        }
        f.state[9] = JointState::Predicted;
        f.state[15] = JointState::Absent;
        assert_eq!(f.known_joints(), JOINTS - 1);
        f.joints_3d_m = Some(core::array::from_fn(|j| [j as f32, 0.0, 0.0]));
        let other = f.with_sides_exchanged();
        for (j, &m) in MIRROR.iter().enumerate() {
            assert_eq!(other.score[j], f.score[m]);
            assert_eq!(other.places_px[2][j], f.places_px[2][m]);
            assert_eq!((other.sigma_px[1][j], other.state[j]), (f.sigma_px[1][m], f.state[m]));
            assert_eq!(other.joints_3d_m.unwrap()[j][0], m as f32);
        }
        assert_eq!(other.with_sides_exchanged(), f);
    }

    #[test]
    fn what_is_foretold_beyond_the_picture_is_absent_and_what_is_seen_there_stays() {
        let mut f = moving_right();
        for (j, place, state) in [
            (13, [100.0, 481.0], JointState::Predicted),
            (14, [100.0, 481.0], JointState::Measured),
            (15, [-1.0, 50.0], JointState::Predicted),
            (16, [640.0, 480.0], JointState::Predicted),
        ] {
            (f.places_px[0][j], f.state[j]) = (place, state);
        }
        let seen = f.within(640, 480);
        for j in 0..JOINTS {
            let expected = match j {
                13 | 15 => JointState::Absent,
                16 => JointState::Predicted,
                _ => JointState::Measured,
            };
            assert_eq!(seen.state[j], expected, "{j}");
        }
        assert_eq!((seen.score[13], seen.score[14]), (0.0, 0.8));
        assert_eq!(seen.known_joints(), JOINTS - 2);
    }

    #[test]
    fn a_joint_is_expected_as_surely_as_it_was_seen_however_far_ahead() {
        let mut f = moving_right();
        f.state[15] = JointState::Absent;
        for ahead_us in [0, 40_000, 200_000, 900_000] {
            let at_us = f.captured_at_us + ahead_us;
            let (expected, told) = (f.expected_at(at_us), f.at(0, 0.0, at_us).value);
            for (e, t) in expected.joints.iter().zip(told.joints) {
                let sure = if t.state == JointState::Absent { (0.0, t.sigma_px) } else { (0.8, 1.0) };
                assert_eq!((e.score, e.sigma_px), sure, "{ahead_us}");
                assert_eq!((e.x_px, e.y_px, e.state), (t.x_px, t.y_px, t.state));
            }
        }
        assert!(f.expected_at(f.captured_at_us + 1_000_001).bounds().is_none());
    }

    fn moving_right() -> Forecast {
        let mut f = Forecast { captured_at_us: 1_000_000, ..Forecast::default() };
        for h in 0..4 {
            f.places_px[h] = [[100.0 + 10.0 * h as f32, 50.0]; JOINTS];
            f.sigma_px[h] = [1.0 + h as f32; JOINTS];
        }
        f.score = [0.8; JOINTS];
        f.state = [JointState::Measured; JOINTS];
        f
    }

    #[test]
    fn the_horizons_themselves_are_met_and_the_middle_lies_between() {
        let f = moving_right();
        for (h, us) in HORIZONS_US.into_iter().enumerate() {
            let p = f.at(7, 0.9, 1_000_000 + us);
            assert_eq!(p.value.joints[3].x_px, 100.0 + 10.0 * h as f32);
            assert_eq!(p.value.joints[3].sigma_px, 1.0 + h as f32);
        }
        let p = f.at(7, 0.9, 1_075_000);
        assert_eq!((p.value.joints[0].x_px, p.value.joints[0].sigma_px), (115.0, 2.5));
        assert_eq!((p.value.track_id, p.value.score, p.valid_at_us), (7, 0.9, 1_075_000));
    }

    #[test]
    fn before_capture_is_answered_as_at_capture() {
        let p = moving_right().at(1, 1.0, 0);
        assert_eq!((p.value.joints[0].x_px, p.valid_at_us), (100.0, 1_000_000));
    }

    #[test]
    fn beyond_the_last_horizon_places_stay_and_sigma_grows() {
        let p = moving_right().at(1, 1.0, 1_650_000);
        assert_eq!(p.value.joints[0].x_px, 130.0);
        assert!(p.value.joints[0].sigma_px > 10.0);
        assert!(p.value.joints[0].score < 0.1);
        assert_eq!(p.value.joints[0].state, JointState::Measured);
    }

    #[test]
    fn a_second_after_capture_every_joint_is_absent() {
        let lifted = Forecast { joints_3d_m: Some([[1.0; 3]; JOINTS]), ..moving_right() };
        for when in [2_000_001, i64::MAX] {
            let p = lifted.at(1, 1.0, when);
            assert!(p.value.joints.iter().all(|j| j.state == JointState::Absent && j.score == 0.0));
            assert_eq!((p.value.score, p.value.joints_3d_m), (0.0, None));
        }
        let last = lifted.at(1, 1.0, 2_000_000);
        assert!(last.value.score == 1.0 && last.value.joints_3d_m.is_some());
        assert!(last.value.joints.iter().all(|j| j.state == JointState::Measured && j.score > 0.0));
    }

    #[test]
    fn a_model_that_grows_surer_ahead_is_not_believed_beyond_what_it_says() {
        let mut f = moving_right();
        for (h, sigma_px) in [4.0, 3.0, 2.0, 1.0].into_iter().enumerate() {
            f.sigma_px[h] = [sigma_px; JOINTS];
        }
        let sigma_px = |ahead_us: i64| f.at(1, 1.0, 1_000_000 + ahead_us).value.joints[0].sigma_px;
        assert_eq!(sigma_px(150_000), 1.0);
        assert!((sigma_px(400_000) - 2.0).abs() < 1e-3, "four times itself a second: {}", sigma_px(400_000));
    }

    proptest! {
        #[test]
        fn sigma_never_falls_and_nothing_is_nan_at_any_time(a: i64, b: i64) {
            let (early, late) = (a.min(b), a.max(b));
            let (e, l) = (moving_right().at(1, 1.0, early), moving_right().at(1, 1.0, late));
            for (e, l) in e.value.joints.iter().zip(&l.value.joints) {
                prop_assert!(e.sigma_px <= l.sigma_px && l.x_px.is_finite() && l.score.is_finite());
            }
        }
    }
}
