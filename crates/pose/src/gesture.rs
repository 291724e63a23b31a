//! What a pose says at a glance: a joint's angle, a raised hand, crossed arms, somebody who lies.
//!
//! Plain functions of one pose in the picture's plane, for a robot as for a tracker: `no_std`, no memory. All measure by the trunk, so
//! that neither distance nor resolution matters. They take the joints that are known, measured or predicted, whose score is at least
//! [`UNSURE_SCORE`], and answer `None` where a joint that they need is not. A flicker lasts a frame: hold an answer against time
//! ([`Held`]) before anything moves because of it.

mod fall;

use crate::{Joint, JointState, Pose, UNSURE_SCORE};
pub use fall::Fall;

/// A wrist is raised from so far above its shoulder on, in trunks: 0.3 is the height of the mouth, and hands that gesticulate stay below.
const RAISED_TRUNKS: f32 = 0.3;

/// Somebody whose trunk leans further from the vertical lies or bends down: 60 degrees, beyond what sitting back does.
const LYING_RAD: f32 = core::f32::consts::FRAC_PI_3;

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
    Some(lean_rad(pose)? > LYING_RAD)
}

/// The trunk's angle from the vertical, radians, 0..=π.
fn lean_rad(pose: &Pose) -> Option<f32> {
    let [x, y] = Trunk::of(pose)?.up;
    // y grows downwards.
    Some(libm::atan2f(x.abs(), -y))
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

#[cfg(test)]
mod tests;
