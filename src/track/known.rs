//! Somebody who is known: where they are expected, and whether somebody who appears is them.

use pose::{BoxPx, JointState, Pose};

use super::IdentityRules;
use super::appearance::Appearance;
use super::associate::{MIN_SHARED_JOINTS, MIN_SIMILARITY, Shape};

/// A joint that is expected no more exactly than this part of the person's extent says nothing of where they end.
const MAX_SIGMA: f32 = 0.15;

/// Share of the newest frame in the mean of a person's clothes: folds and light even out within a second.
const NEWEST_CLOTHES: f32 = 0.1;

/// How far from where they were somebody unseen for so long may be, in extents.
pub(super) fn reach_extents(unseen_us: i64) -> f32 {
    /// One extent per second: a brisk walk seen from the side is about 0.9 body heights a second.
    const EXTENTS_PER_S: f32 = 1.0;
    /// Room for a turn of the body and for noise.
    const SLACK_EXTENTS: f32 = 0.3;
    SLACK_EXTENTS + EXTENTS_PER_S * unseen_us as f32 * 1e-6
}

/// How far two boxes are from each other, centre to centre, in extents of the larger.
pub(super) fn away_extents(a: &BoxPx, b: &BoxPx) -> f32 {
    let ((ax, ay), (bx, by)) = (a.centre(), b.centre());
    (ax - bx).hypot(ay - by) / a.w.max(a.h).max(b.w).max(b.h).max(1.0)
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Track {
    /// 0 until confirmed.
    pub id: u32,
    pub born_us: i64,
    pub seen_us: i64,
    pub frames_seen: u32,
    pub is_lost: bool,
    /// When first seen they lay within somebody much larger.
    pub began_within: bool,
    /// Mean of the scores, the last frames' most.
    pub score: f32,
    /// Since when they show in a strip at the picture's edge alone, and not surely.
    pub at_edge_us: Option<i64>,
    /// As last seen.
    pub shape: Shape,
    /// Learned while nobody else was before them.
    pub appearance: Appearance,
}

impl Track {
    /// The pose expected now, or the last one seen where hardly a joint is predicted: nothing could be compared with two or three.
    pub fn expected(&self, predicted: Option<&Pose>) -> Shape {
        let shape = predicted.and_then(|pose| {
            let extent_px = pose.bounds().map_or(0.0, |b| b.w.max(b.h));
            Shape::new(pose.joints.map(|j| {
                // A joint that nobody has seen for long, or that may be anywhere, has a place, but says nothing of where the person is.
                let is_vague = j.state == JointState::Absent || j.sigma_px > MAX_SIGMA * extent_px;
                (j.x_px, j.y_px, if is_vague { 0.0 } else { j.score })
            }))
        });
        shape.filter(|shape| shape.joints() >= MIN_SHARED_JOINTS).unwrap_or(self.shape)
    }

    /// The box to look at for somebody who is expected so at `at_us`, pixels of the source image: round the joints that are sure;
    /// where they are few, what was last seen is taken in too; wider for somebody unseen for a while.
    pub fn roi(&self, predicted: Option<&Pose>, at_us: i64) -> BoxPx {
        /// With half of the joints in sight the body's extent is known.
        const ENOUGH_JOINTS: usize = 8;
        /// Growth of the box a second unseen, of its side: a walker covers about their own width.
        const GROWTH_PER_S: f32 = 0.5;
        let expected = self.expected(predicted);
        let mut b = expected.bounds;
        if expected.joints() < ENOUGH_JOINTS {
            let last = self.shape.bounds;
            b = BoxPx::from_corners(
                b.x.min(last.x),
                b.y.min(last.y),
                (b.x + b.w).max(last.x + last.w),
                (b.y + b.h).max(last.y + last.h),
            );
        }
        let unseen_us = at_us.saturating_sub(self.seen_us).clamp(0, 1_000_000);
        let grow = GROWTH_PER_S * unseen_us as f32 * 1e-6 * b.w.max(b.h);
        // A pose of one joint has no extent; a crop needs some.
        let (w, h) = ((b.w + grow).max(1.0), (b.h + grow).max(1.0));
        let (cx, cy) = b.centre();
        BoxPx { x: cx - 0.5 * w, y: cy - 0.5 * h, w, h }
    }

    /// How likely a pose that is dressed so is this person where they are expected, 0..=1. Other clothes take away up to a `share` of it.
    pub fn similarity(
        &self,
        predicted: Option<&Pose>,
        shape: &Shape,
        appearance: &Appearance,
        share: f32,
    ) -> f32 {
        let places = self.expected(predicted).similarity(shape);
        let likeness = self.appearance.likeness(appearance).unwrap_or(1.0);
        places * (1.0 - share * (1.0 - likeness))
    }

    /// How well somebody who appears now fits this person who was out of sight, 0..=1: a like size, not farther away than they can
    /// have walked, and like clothes where both show any. Whose clothes are very like may have been away for longer.
    pub fn fits_again(
        &self,
        shape: &Shape,
        appearance: &Appearance,
        now_us: i64,
        rules: &IdentityRules,
    ) -> f32 {
        /// Somebody half or twice as large is another person, or half of one; not in the same clothes: who bends down to the floor
        /// has half of their extent, who crouches away from the camera a third.
        const MAX_RATIO: f32 = 1.8;
        const MAX_RATIO_ALIKE: f32 = 3.0;
        let (old, new) = (self.shape.extent_px().max(1.0), shape.extent_px().max(1.0));
        let ratio = (old / new).max(new / old);
        let away = away_extents(&self.shape.bounds, &shape.bounds);
        let unseen_us = now_us.saturating_sub(self.seen_us).max(0);
        let reach = reach_extents(unseen_us);
        let likeness = self.appearance.likeness(appearance);
        let is_like = likeness.is_none_or(|likeness| likeness >= rules.unlike);
        let is_alike = likeness.is_some_and(|likeness| likeness >= rules.alike);
        let is_soon = unseen_us <= rules.memory_us || is_alike;
        let max_ratio = if is_alike { MAX_RATIO_ALIKE } else { MAX_RATIO };
        if ratio > max_ratio || away > reach || !is_like || !is_soon {
            return 0.0;
        }
        // The nearest and likest of several wins; all that pass are above the threshold. Squared: of two in file who both went on by a
        // step, one took two and the other none just as well by the sum of the ways.
        let fit = (1.0 - (away / reach).powi(2)) / ratio * likeness.unwrap_or(1.0);
        MIN_SIMILARITY + (1.0 - MIN_SIMILARITY) * fit
    }

    /// Whether they are unseen for so long at `now_us` that they are no longer looked for where they are expected: for longer than they
    /// had been known, too. A false find of two frames must not be predicted for twenty.
    pub fn is_given_up(&self, now_us: i64, rules: &IdentityRules) -> bool {
        let known_us = self.seen_us - self.born_us;
        now_us.saturating_sub(self.seen_us) > rules.silence_us.min(known_us)
    }

    /// Whether they have left, and their crop shows the picture's edge alone. `is_strip`: all that the frame of `now_us` shows of them lies in
    /// a strip there.
    pub fn is_the_edge(&mut self, is_strip: bool, now_us: i64, rules: &IdentityRules) -> bool {
        if !is_strip || self.score >= rules.edge_score {
            self.at_edge_us = None;
            return false;
        }
        now_us.saturating_sub(*self.at_edge_us.get_or_insert(now_us)) > rules.silence_us
    }

    /// Takes in what the person wears; the first frames count most.
    pub fn learn(&mut self, appearance: &Appearance) {
        let share = NEWEST_CLOTHES.max(1.0 / (1.0 + self.frames_seen as f32));
        self.appearance.learn(appearance, share);
    }
}

#[cfg(test)]
mod tests {
    use pose::PoseJoint;

    use super::*;
    use crate::track::BodyRegion;

    fn worn(top: [u8; 3]) -> Appearance {
        let mut appearance = Appearance::UNKNOWN;
        (0..40).for_each(|_| appearance.add(BodyRegion::Torso, top));
        appearance
    }

    fn figure(height: f32) -> Shape {
        let place = |j: usize| (100.0 + 20.0 * (j % 2) as f32, 300.0 - height * j as f32 / 16.0, 0.9);
        Shape::new(std::array::from_fn(place)).expect("all joints count")
    }

    fn lost(appearance: Appearance) -> Track {
        Track {
            id: 1,
            born_us: 0,
            seen_us: 5_000_000,
            frames_seen: 150,
            is_lost: true,
            began_within: false,
            score: 0.9,
            at_edge_us: None,
            shape: figure(240.0),
            appearance,
        }
    }

    #[test]
    fn a_joint_that_may_be_anywhere_says_nothing_of_where_somebody_ends() {
        let track = lost(Appearance::UNKNOWN);
        let mut pose = Pose::default();
        for (j, joint) in pose.joints.iter_mut().enumerate() {
            let (x_px, y_px) = (100.0 + 20.0 * (j % 2) as f32, 10.0 * j as f32);
            *joint = PoseJoint { x_px, y_px, score: 0.4, sigma_px: 5.0, state: JointState::Predicted };
        }
        let ends_at = |pose: &Pose| track.expected(Some(pose)).bounds.h;
        assert_eq!(ends_at(&pose), 160.0);
        pose.joints[16].sigma_px = 0.14 * 160.0;
        assert_eq!(ends_at(&pose), 160.0);
        pose.joints[16].sigma_px = 0.16 * 160.0;
        assert_eq!(ends_at(&pose), 150.0);
        pose.joints[15].state = JointState::Absent;
        assert_eq!(ends_at(&pose), 140.0);
        pose.joints[4..].iter_mut().for_each(|joint| joint.sigma_px = 1e3);
        assert_eq!(ends_at(&pose), 30.0);
        pose.joints[3].sigma_px = 1e3;
        assert_eq!(
            ends_at(&pose),
            track.shape.bounds.h,
            "of three joints nobody could say whose they are: as last seen"
        );
        pose.joints.iter_mut().for_each(|joint| joint.sigma_px = 1e3);
        assert_eq!(ends_at(&pose), track.shape.bounds.h, "as last seen");
    }

    #[test]
    fn of_whom_hardly_a_joint_is_expected_what_was_last_seen_is_looked_at_too() {
        let track = lost(Appearance::UNKNOWN);
        let last = track.shape.bounds;
        let expected = |joints: usize| {
            let mut pose = Pose::default();
            for (j, joint) in pose.joints.iter_mut().enumerate().take(joints) {
                let (x_px, y_px) = (105.0 + 10.0 * (j % 2) as f32, 150.0 + 5.0 * j as f32);
                *joint = PoseJoint { x_px, y_px, score: 0.9, sigma_px: 1.0, state: JointState::Predicted };
            }
            track.roi(Some(&pose), track.seen_us)
        };
        assert_eq!(expected(7), last);
        assert!(expected(12).h < 0.5 * last.h, "enough joints are where somebody is");
    }

    #[test]
    fn whoever_reappears_is_near_where_they_were_and_the_nearest_fits_best() {
        let track = lost(Appearance::UNKNOWN);
        let fits = |dx: f32, dy: f32, unseen_us: i64| {
            let place =
                |j: usize| (100.0 + 20.0 * (j % 2) as f32 + dx, 300.0 - 240.0 * j as f32 / 16.0 + dy, 0.9);
            let shape = Shape::new(std::array::from_fn(place)).expect("all joints count");
            track.fits_again(
                &shape,
                &Appearance::UNKNOWN,
                track.seen_us + unseen_us,
                &IdentityRules::default(),
            )
        };
        assert!(fits(40.0, 0.0, 33_000) > 0.0, "somebody who turns is a little aside at once");
        assert_eq!(fits(0.0, 300.0, 500_000), 0.0, "nobody falls through the floor");
        assert!(fits(20.0, 0.0, 500_000) > fits(60.0, 0.0, 500_000) + 0.05);
    }

    #[test]
    fn after_long_only_the_very_same_clothes_are_somebodys() {
        let rules = IdentityRules::default();
        let track = lost(worn([180, 40, 40]));
        // Half of them: the jacket is open.
        let mut half = worn([180, 40, 40]);
        (0..40).for_each(|_| half.add(BodyRegion::Torso, [40, 60, 180]));
        let fits = |appearance: &Appearance, away_us: i64| {
            track.fits_again(&figure(240.0), appearance, track.seen_us + away_us, &rules) > 0.0
        };
        assert!(fits(&half, rules.memory_us) && !fits(&half, rules.memory_us + 1));
        assert!(fits(&track.appearance, rules.memory_us + 1));
    }

    #[test]
    fn a_frame_in_another_light_does_not_change_what_somebody_known_wears() {
        let mut track = lost(worn([180, 40, 40]));
        track.learn(&worn([40, 60, 180]));
        assert!(track.appearance.likeness(&worn([180, 40, 40])).expect("both are known") > 0.8);
        track.frames_seen = 1;
        track.learn(&worn([40, 60, 180]));
        assert!(
            track.appearance.likeness(&worn([180, 40, 40])).expect("both are known") < 0.6,
            "the first count most"
        );
    }

    #[test]
    fn whoever_bends_down_out_of_sight_is_known_by_their_clothes() {
        let red = worn([180, 40, 40]);
        let track = lost(red);
        let fits = |height: f32, appearance: &Appearance| {
            track.fits_again(&figure(height), appearance, 6_000_000, &IdentityRules::default()) > 0.0
        };
        assert!(fits(110.0, &red) && !fits(70.0, &red), "half as high, but not less than a third");
        assert!(
            fits(200.0, &Appearance::UNKNOWN) && !fits(110.0, &Appearance::UNKNOWN),
            "of whom no clothes are known may be a child"
        );
        assert!(!fits(200.0, &worn([40, 60, 180])));
    }
}
