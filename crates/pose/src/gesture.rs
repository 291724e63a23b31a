//! What a pose says at a glance: a joint's angle, a raised hand, crossed arms, somebody who lies.
//!
//! Plain functions of one pose in the picture's plane, for a robot as for a tracker: `no_std`, no memory. All measure by the trunk, so
//! that neither distance nor resolution matters. They take the joints that are known, measured or predicted, whose score is at least
//! [`UNSURE_SCORE`], and answer `None` where a joint that they need is not. A flicker lasts a frame: hold an answer against time
//! ([`Held`]) before anything moves because of it.

use crate::{Joint, JointState, Pose, UNSURE_SCORE};

/// A wrist is raised from so far above its shoulder on, in trunks: 0.3 is the height of the mouth, and hands that gesticulate stay below.
const RAISED_TRUNKS: f32 = 0.3;

/// Somebody whose trunk leans further from the vertical lies or bends down: 60 degrees, beyond what sitting back does.
const LYING_COSINE: f32 = 0.5;

/// Where a joint is, pixels of the source image, where it is known well enough.
pub fn place_px(pose: &Pose, joint: Joint) -> Option<[f32; 2]> {
    let j = &pose[joint];
    // NaN is not at least anything.
    let is_known =
        j.state != JointState::Absent && j.score >= UNSURE_SCORE && j.x_px.is_finite() && j.y_px.is_finite();
    is_known.then_some([j.x_px, j.y_px])
}

/// Between two joints, pixels of the source image; where one is known alone, that one.
fn middle_px(pose: &Pose, a: Joint, b: Joint) -> Option<[f32; 2]> {
    match (place_px(pose, a), place_px(pose, b)) {
        (Some(a), Some(b)) => Some([0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])]),
        (one, other) => one.or(other),
    }
}

/// The angle at `at` between the directions to `from` and `to`, radians, 0..=π: π is a stretched elbow or knee.
pub fn angle_rad(pose: &Pose, from: Joint, at: Joint, to: Joint) -> Option<f32> {
    let [from, at, to] = [place_px(pose, from)?, place_px(pose, at)?, place_px(pose, to)?];
    let (a, b) = (minus(from, at), minus(to, at));
    let is_somewhere = length(a) > 0.0 && length(b) > 0.0;
    is_somewhere.then(|| libm::atan2f(cross(a, b).abs(), dot(a, b)))
}

/// Whether the left and the right hand (the person's own) are held up: the wrist well above its shoulder, as one asks for the word.
pub fn hands_raised(pose: &Pose) -> [Option<bool>; 2] {
    let raised = |shoulder, wrist| {
        let trunk = Trunk::of(pose)?;
        let [shoulder, wrist] = [place_px(pose, shoulder)?, place_px(pose, wrist)?];
        // Along the trunk rather than up the picture: who lies down has not raised a hand.
        Some(dot(minus(wrist, shoulder), trunk.up) > RAISED_TRUNKS * trunk.length_px)
    };
    [raised(Joint::LeftShoulder, Joint::LeftWrist), raised(Joint::RightShoulder, Joint::RightWrist)]
}

/// Whether the arms are crossed before the trunk: each wrist on the other side's half, between shoulders and hips.
pub fn arms_crossed(pose: &Pose) -> Option<bool> {
    let trunk = Trunk::of(pose)?;
    let [left, right] = [place_px(pose, Joint::LeftShoulder)?, place_px(pose, Joint::RightShoulder)?];
    let [left_wrist, right_wrist] = [place_px(pose, Joint::LeftWrist)?, place_px(pose, Joint::RightWrist)?];
    // From the right to the left shoulder, whichever way the person faces.
    let across = minus(left, right);
    let width_px = length(across);
    // Seen from the side there is no other half.
    if width_px < 0.25 * trunk.length_px {
        return None;
    }
    let to_left = |wrist| dot(minus(wrist, trunk.hips), across) / width_px;
    let height = |wrist| dot(minus(wrist, trunk.hips), trunk.up) / trunk.length_px;
    let is_before = |wrist| (0.1..1.1).contains(&height(wrist));
    Some(
        to_left(left_wrist) < -0.05 * width_px
            && to_left(right_wrist) > 0.05 * width_px
            && is_before(left_wrist)
            && is_before(right_wrist),
    )
}

/// Whether the trunk lies rather than stands or sits, in a picture that is upright.
pub fn is_lying(pose: &Pose) -> Option<bool> {
    let trunk = Trunk::of(pose)?;
    // y grows downwards.
    Some(-trunk.up[1] < LYING_COSINE)
}

/// The axis of the body.
#[derive(Clone, Copy, Debug)]
struct Trunk {
    /// Between the hips, pixels.
    hips: [f32; 2],
    /// From there to between the shoulders, of length 1.
    up: [f32; 2],
    length_px: f32,
}

impl Trunk {
    /// By both sides where they are known, else by one.
    fn of(pose: &Pose) -> Option<Self> {
        let hips = middle_px(pose, Joint::LeftHip, Joint::RightHip)?;
        let shoulders = middle_px(pose, Joint::LeftShoulder, Joint::RightShoulder)?;
        let axis = minus(shoulders, hips);
        let length_px = length(axis);
        (length_px > 0.0).then(|| Self { hips, up: [axis[0] / length_px, axis[1] / length_px], length_px })
    }
}

fn minus(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    [a[0] - b[0], a[1] - b[1]]
}

fn dot(a: [f32; 2], b: [f32; 2]) -> f32 {
    a[0] * b[0] + a[1] * b[1]
}

fn cross(a: [f32; 2], b: [f32; 2]) -> f32 {
    a[0] * b[1] - a[1] * b[0]
}

fn length(a: [f32; 2]) -> f32 {
    libm::hypotf(a[0], a[1])
}

/// An answer that changes only when the new one has held for a while.
///
/// ```
/// use pose::gesture::Held;
/// let mut raised = Held::new(200_000, 400_000);
/// assert!(!raised.update(Some(true), 0));
/// assert!(!raised.update(Some(true), 100_000));
/// assert!(raised.update(Some(true), 200_000));
/// assert!(raised.update(Some(false), 300_000), "not yet");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Held {
    begins_after_us: i64,
    ends_after_us: i64,
    is_on: bool,
    /// For how long the answer has been another than `is_on`, microseconds; time in which nobody knew is left out.
    differs_for_us: i64,
    /// The moment of such an answer, which holds until the next moment.
    differs_at_us: Option<i64>,
}

impl Held {
    /// Off; on after so many microseconds of yes, off again after so many of no.
    pub const fn new(begins_after_us: i64, ends_after_us: i64) -> Self {
        Self { begins_after_us, ends_after_us, is_on: false, differs_for_us: 0, differs_at_us: None }
    }

    /// A moment stands for so long at most: four a second are enough to say what holds, and a camera's stall says nothing.
    const MOMENT_US: i64 = 250_000;

    /// Takes the answer of `now_us` and says what holds. `None` (nobody knows) changes nothing, and the time until somebody knows again
    /// counts for nothing. Where no answer comes for longer than 250 ms, 250 ms of that count.
    pub fn update(&mut self, answer: Option<bool>, now_us: i64) -> bool {
        if let Some(at_us) = self.differs_at_us.take() {
            let passed_us = now_us.saturating_sub(at_us);
            // A clock that went back begins anew.
            self.differs_for_us = if passed_us < 0 {
                0
            } else {
                self.differs_for_us.saturating_add(passed_us.min(Self::MOMENT_US))
            };
        }
        match answer {
            None => {}
            Some(answer) if answer == self.is_on => self.differs_for_us = 0,
            Some(answer) => {
                let after_us = if answer { self.begins_after_us } else { self.ends_after_us };
                if self.differs_for_us >= after_us {
                    (self.is_on, self.differs_for_us) = (answer, 0);
                } else {
                    self.differs_at_us = Some(now_us);
                }
            }
        }
        self.is_on
    }
}

/// Notices that somebody who was up lies.
///
/// What counts is how they came to lie: their trunk may be out of sight for any time afterwards.
///
/// Nothing here is a medical device: who sits down slowly behind a table, or falls where nobody can be made out, is missed, and
/// who throws themselves onto a sofa is not.
#[derive(Clone, Copy, Debug)]
pub struct Fall {
    lying: Held,
    /// When the trunk was upright last; none since it lies.
    upright_at_us: Option<i64>,
    /// Whether it began to lie soon after.
    is_sudden: bool,
    /// Being on: from the fall until they are up again.
    is_fallen: bool,
}

impl Default for Fall {
    fn default() -> Self {
        Self::new()
    }
}

impl Fall {
    /// From upright to lying takes a fall at most this long; lying down to sleep takes longer.
    const WITHIN_US: i64 = 1_500_000;

    /// Nobody has fallen.
    pub const fn new() -> Self {
        // A second: who stumbles and catches themselves is no fall. Who sits up for a moment is not up again.
        Self { lying: Held::new(1_000_000, 300_000), upright_at_us: None, is_sudden: false, is_fallen: false }
    }

    /// Takes the pose of `now_us` and says whether they lie after a fall.
    pub fn update(&mut self, pose: &Pose, now_us: i64) -> bool {
        let lies = is_lying(pose);
        match lies {
            Some(false) => self.upright_at_us = Some(now_us),
            // Judged where lying begins: time in which nobody knows delays the end of holding.
            Some(true) => {
                if let Some(at_us) = self.upright_at_us.take() {
                    self.is_sudden = now_us.saturating_sub(at_us) <= Self::WITHIN_US;
                }
            }
            None => {}
        }
        let was_lying = self.lying.is_on;
        let is_lying = self.lying.update(lies, now_us);
        if is_lying && !was_lying {
            self.is_fallen = self.is_sudden;
        }
        self.is_fallen &= is_lying;
        self.is_fallen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PoseJoint;
    use proptest::prelude::*;

    /// Somebody who stands facing the camera, a trunk of 100 px: their right is the picture's left.
    fn standing() -> Pose {
        let mut pose = Pose::default();
        for (joint, x_px, y_px) in [
            (Joint::Nose, 200.0, 50.0),
            (Joint::LeftShoulder, 230.0, 100.0),
            (Joint::RightShoulder, 170.0, 100.0),
            (Joint::LeftElbow, 240.0, 150.0),
            (Joint::RightElbow, 160.0, 150.0),
            (Joint::LeftWrist, 245.0, 200.0),
            (Joint::RightWrist, 155.0, 200.0),
            (Joint::LeftHip, 220.0, 200.0),
            (Joint::RightHip, 180.0, 200.0),
            (Joint::LeftKnee, 220.0, 280.0),
            (Joint::RightKnee, 180.0, 280.0),
            (Joint::LeftAnkle, 220.0, 360.0),
            (Joint::RightAnkle, 180.0, 360.0),
        ] {
            put(&mut pose, joint, x_px, y_px);
        }
        pose
    }

    fn put(pose: &mut Pose, joint: Joint, x_px: f32, y_px: f32) {
        pose.joints[joint as usize] =
            PoseJoint { x_px, y_px, score: 0.9, sigma_px: 1.0, state: JointState::Measured };
    }

    /// Turned by `radians` (clockwise in the picture), scaled and shifted.
    fn moved(pose: &Pose, radians: f32, scale: f32, shift_px: [f32; 2]) -> Pose {
        let (sine, cosine) = (libm::sinf(radians), libm::cosf(radians));
        let mut moved = *pose;
        for j in &mut moved.joints {
            let (x, y) = (j.x_px, j.y_px);
            j.x_px = scale * (cosine * x - sine * y) + shift_px[0];
            j.y_px = scale * (sine * x + cosine * y) + shift_px[1];
        }
        moved
    }

    fn lying() -> Pose {
        moved(&standing(), core::f32::consts::FRAC_PI_2, 1.0, [400.0, 0.0])
    }

    #[test]
    fn angles_are_those_of_the_limbs() {
        let mut pose = standing();
        let elbow = |pose: &Pose| angle_rad(pose, Joint::LeftShoulder, Joint::LeftElbow, Joint::LeftWrist);
        let knee = angle_rad(&pose, Joint::LeftHip, Joint::LeftKnee, Joint::LeftAnkle).unwrap();
        assert!((knee - core::f32::consts::PI).abs() < 1e-6);
        put(&mut pose, Joint::LeftElbow, 230.0, 150.0);
        put(&mut pose, Joint::LeftWrist, 280.0, 150.0);
        assert!((elbow(&pose).unwrap() - core::f32::consts::FRAC_PI_2).abs() < 1e-6);
        pose.joints[Joint::LeftWrist as usize].score = 0.2;
        assert_eq!(elbow(&pose), None);
    }

    #[test]
    fn a_hand_is_raised_above_its_own_shoulder_alone() {
        let mut pose = standing();
        assert_eq!(hands_raised(&pose), [Some(false), Some(false)]);
        put(&mut pose, Joint::LeftWrist, 235.0, 60.0);
        assert_eq!(hands_raised(&pose), [Some(true), Some(false)]);
        // At the height of the shoulder: pointing at something.
        put(&mut pose, Joint::LeftWrist, 300.0, 95.0);
        assert_eq!(hands_raised(&pose)[0], Some(false));
        pose.joints[Joint::LeftWrist as usize].state = JointState::Absent;
        assert_eq!(hands_raised(&pose), [None, Some(false)]);
        // The trunk has 100 px, the shoulder is at 100.
        for (y_px, is_raised) in [(72.0, false), (68.0, true)] {
            put(&mut pose, Joint::RightWrist, 165.0, y_px);
            assert_eq!(hands_raised(&pose)[1], Some(is_raised), "{y_px}");
        }
    }

    #[test]
    fn arms_are_crossed_where_both_wrists_are_on_the_other_side() {
        let mut pose = standing();
        assert_eq!(arms_crossed(&pose), Some(false));
        put(&mut pose, Joint::LeftWrist, 175.0, 140.0);
        assert_eq!(arms_crossed(&pose), Some(false), "one hand on the chest");
        put(&mut pose, Joint::RightWrist, 225.0, 140.0);
        assert_eq!(arms_crossed(&pose), Some(true));
        for y_px in [60.0, 230.0] {
            let mut beyond = pose;
            put(&mut beyond, Joint::LeftWrist, 175.0, y_px);
            assert_eq!(arms_crossed(&beyond), Some(false), "above the head, or in the lap");
        }
        put(&mut pose, Joint::LeftShoulder, 205.0, 100.0);
        put(&mut pose, Joint::RightShoulder, 195.0, 100.0);
        assert_eq!(arms_crossed(&pose), None, "seen from the side");
    }

    #[test]
    fn a_trunk_lies_from_60_degrees_on_either_way_and_one_side_of_it_is_enough() {
        let leaning = |degrees: f32| moved(&standing(), degrees.to_radians(), 1.0, [0.0; 2]);
        for degrees in [-180.0f32, -150.0, -90.0, -61.0, -59.0, -30.0, 0.0, 30.0, 59.0, 61.0, 90.0, 150.0] {
            assert_eq!(is_lying(&leaning(degrees)), Some(degrees.abs() > 60.0), "{degrees}");
        }
        for degrees in [0.0, 40.0, 80.0] {
            let mut pose = leaning(degrees);
            for joint in [Joint::LeftHip, Joint::LeftShoulder] {
                pose.joints[joint as usize].score = 0.1;
            }
            assert_eq!(is_lying(&pose), Some(degrees > 60.0), "{degrees}, by the right side");
            pose.joints[Joint::RightHip as usize].state = JointState::Absent;
            assert_eq!(is_lying(&pose), None);
        }
    }

    #[test]
    fn who_has_fallen_was_upright_at_most_a_second_and_a_half_before() {
        for (hidden_us, has_fallen) in [(1_450_000, true), (1_550_000, false)] {
            let mut fall = Fall::new();
            fall.update(&standing(), 0);
            let mut lies = |after_us: i64| fall.update(&lying(), hidden_us + after_us);
            assert!(![0, 250_000, 500_000, 750_000].map(&mut lies).contains(&true));
            assert_eq!(lies(1_000_000), has_fallen, "{hidden_us}");
            let mut up = |after_us: i64| fall.update(&standing(), hidden_us + 2_000_000 + after_us);
            assert_eq!(
                [0, 150_000, 290_000, 310_000].map(&mut up),
                [has_fallen, has_fallen, has_fallen, false]
            );
        }
    }

    #[test]
    fn who_lies_after_having_been_up_has_fallen_and_who_lay_down_slowly_has_not() {
        let at = |fall: &mut Fall, pose: &Pose, from_ms: i64, to_ms: i64| {
            (from_ms..to_ms).step_by(33).fold(false, |_, ms| fall.update(pose, 1_000 * ms))
        };
        let mut fall = Fall::new();
        assert!(!at(&mut fall, &standing(), 0, 2_000));
        assert!(!at(&mut fall, &lying(), 2_000, 2_900), "might be a stumble");
        assert!(at(&mut fall, &lying(), 2_900, 9_000), "and they stay fallen");
        assert!(!at(&mut fall, &standing(), 9_000, 9_500), "up again");

        let mut hidden = Fall::new();
        at(&mut hidden, &standing(), 0, 2_000);
        at(&mut hidden, &lying(), 2_000, 2_500);
        assert!(!at(&mut hidden, &Pose::default(), 2_500, 4_200), "half a second is all that is known");
        assert!(at(&mut hidden, &lying(), 4_200, 4_800));

        let mut slow = Fall::new();
        at(&mut slow, &standing(), 0, 2_000);
        // Half down, the trunk out of sight, for longer than a fall takes.
        at(&mut slow, &Pose::default(), 2_000, 6_000);
        assert!(!at(&mut slow, &lying(), 6_000, 9_000));
        assert!(!at(&mut Fall::new(), &lying(), 0, 9_000), "lay there before anybody looked");
    }

    #[test]
    fn answers_that_change_to_and_fro_change_nothing_however_often() {
        let mut held = Held::new(200_000, 200_000);
        for at_us in (0..5_000_000).step_by(250_000) {
            let answers = [(true, 0), (true, 150_000), (false, 200_000)];
            assert!(
                answers.map(|(answer, us)| held.update(Some(answer), at_us + us)) == [false; 3],
                "{at_us}"
            );
        }
    }

    #[test]
    fn two_moments_with_a_stall_between_them_are_no_time_in_which_it_held() {
        let mut held = Held::new(300_000, 300_000);
        assert!(!held.update(Some(true), 0) && !held.update(Some(true), 60_000_000));
        assert!(held.update(Some(true), 60_050_000), "250 ms and 50 ms");
        assert!(held.update(Some(false), 61_000_000) && held.update(Some(false), 90_000_000));
        let mut fall = Fall::new();
        fall.update(&standing(), 0);
        assert!(
            !fall.update(&lying(), 33_000) && !fall.update(&lying(), 3_033_000),
            "two frames are no fall"
        );
    }

    #[test]
    fn time_in_which_nobody_knows_counts_neither_for_the_beginning_nor_for_the_end() {
        for is_on in [false, true] {
            let mut held = Held::new(200_000, 200_000);
            if is_on {
                assert!(!held.update(Some(true), 0) && held.update(Some(true), 200_000));
            }
            let mut at = |answer, ms: i64| held.update(answer, 1_000 * ms) != is_on;
            // A frame, a long time of which nobody knows, and another frame.
            assert!(!at(Some(!is_on), 1_000) && !at(None, 1_033) && !at(None, 4_000));
            assert!(!at(Some(!is_on), 5_000) && !at(Some(!is_on), 5_150));
            assert!(at(Some(!is_on), 5_167), "33 ms and 167 ms");
        }
        let mut back = Held::new(200_000, 200_000);
        assert!(!back.update(Some(true), 5_000_000) && !back.update(Some(true), 5_150_000));
        assert!(
            !back.update(Some(true), 1_000_000) && !back.update(Some(true), 1_100_000),
            "the clock went back"
        );
        assert!(back.update(Some(true), 1_200_000));
        let mut fall = Fall::new();
        fall.update(&standing(), 0);
        assert!(!fall.update(&lying(), 33_000) && !fall.update(&Pose::default(), 66_000));
        assert!(!fall.update(&lying(), 1_100_000), "two frames are no fall");
    }

    proptest! {
        #[test]
        fn size_and_place_change_no_answer_and_turning_none_but_lying(
            radians in -3.0f32..3.0, scale in 0.1f32..8.0, x in -500.0f32..2000.0, y in -500.0f32..2000.0, is_raised: bool,
        ) {
            let mut pose = standing();
            if is_raised {
                put(&mut pose, Joint::LeftWrist, 235.0, 30.0);
            }
            let other = moved(&pose, radians, scale, [x, y]);
            prop_assert_eq!(hands_raised(&other), hands_raised(&pose));
            prop_assert_eq!(arms_crossed(&other), arms_crossed(&pose));
            prop_assert_eq!(is_lying(&moved(&pose, 0.0, scale, [x, y])), Some(false));
        }

        #[test]
        fn whatever_the_joints_are_nothing_panics(
            joints in prop::collection::vec((any::<f32>(), any::<f32>(), any::<f32>()), crate::JOINTS), now_us: i64,
        ) {
            let mut pose = Pose::default();
            for (j, (x_px, y_px, score)) in pose.joints.iter_mut().zip(joints) {
                *j = PoseJoint { x_px, y_px, score, sigma_px: 1.0, state: JointState::Measured };
            }
            let _ = (hands_raised(&pose), arms_crossed(&pose), is_lying(&pose));
            let _ = angle_rad(&pose, Joint::Nose, Joint::LeftEye, Joint::RightEye);
            Fall::new().update(&pose, now_us);
        }
    }
}
