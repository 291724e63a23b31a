//! Looks behind those who are seen: whoever stands half behind somebody is in one box with them until those in front are painted out.

use pose::{Keypoints, MAX_PERSONS, PersonBox, Pose};

use super::TrackError;
use crate::keypoints::{MAX_FOUND, PersonFinder};
use crate::picture::Picture;
use crate::telemetry::Stage;
use crate::track::{Crops, MIN_JOINT_SCORE, has_room, occluded_detections, similarity};

/// Behind somebody alone nobody is looked for: whoever comes to them is seen on the way, and most who are followed are alone.
const MIN_SEEN: usize = 2;

/// Share of the joints that count. This and the next two were chosen on films: docs/lab/identities.md.
const MIN_BESIDE: f32 = 0.25;

/// Similarity of two poses, 0..=1.
const MAX_ALIKE: f32 = 0.3;

/// Of the longer side of the smallest of those who are seen: less is a foot that was not painted out.
const MIN_SIZE: f32 = 0.5;

/// The people who are painted out of the picture, and who is found then. Memory is kept.
pub(super) struct Behind {
    max_persons: usize,
    people: Vec<Pose>,
    found: Vec<PersonBox>,
}

impl Behind {
    /// Adds to no more than `max_persons` crops a picture.
    pub(super) fn new(max_persons: usize) -> Self {
        let people = Vec::with_capacity(MAX_PERSONS);
        Self { max_persons, people, found: Vec::with_capacity(MAX_FOUND) }
    }

    /// Paints `people`, who were seen in the last frame and are expected there, out of `picture`, and searches it once more. Adds whom
    /// it finds to `found`, and to `crops` those of them who are nobody's yet.
    pub(super) fn look(
        &mut self,
        finder: &mut PersonFinder,
        picture: &Picture<'_>,
        people: impl Iterator<Item = Pose>,
        crops: &mut Crops,
        found: &mut Vec<PersonBox>,
        ended: &mut dyn FnMut(Stage),
    ) -> Result<(), TrackError> {
        self.people.clear();
        self.people.extend(people);
        if self.people.len() < MIN_SEEN || !has_room(crops, self.max_persons) {
            return Ok(());
        }
        finder.fit_without(picture, &self.people);
        ended(Stage::Pixels);
        finder.run()?;
        ended(Stage::Network);
        finder.decode(&mut self.found)?;
        found.extend_from_slice(&self.found);
        ended(Stage::Decode);
        occluded_detections(&self.found, &self.people, crops, self.max_persons);
        Ok(())
    }
}

/// Whether `found`, in the box of who may stand half behind somebody, is one of `others`, who are seen, or a hand or foot of theirs: too
/// like one of them, with too few of the joints that count beside those whom `finder` has painted out, or too small.
pub(super) fn is_seen_already<'a>(
    found: &Keypoints,
    mut others: impl Iterator<Item = &'a Keypoints> + Clone,
    finder: &PersonFinder,
) -> bool {
    let size = |seen: &Keypoints| seen.bounds(MIN_JOINT_SCORE).map(|b| b.w.max(b.h));
    let smallest = others.clone().filter_map(size).reduce(f32::min);
    let is_small = || smallest.is_some_and(|smallest| size(found).is_none_or(|s| s < MIN_SIZE * smallest));
    let sure = || found.joints.iter().filter(|joint| joint.score >= MIN_JOINT_SCORE);
    let beside = sure().filter(|joint| !finder.is_painted_out(joint)).count();
    (beside as f32) < MIN_BESIDE * sure().count() as f32
        || is_small()
        || others.any(|other| similarity(found, other) > MAX_ALIKE)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pose::{BoxPx, JointState, Pose};

    use super::*;
    use crate::capture::FrameSource;
    use crate::capture::clip::EveryFrame;
    use crate::capture::synthetic::Synthetic;
    use crate::config::Config;
    use crate::picture::Decoder;
    use crate::track::{Crop, Origin};
    use crate::tracker::Networks;

    #[test]
    fn whoever_is_painted_out_is_not_found_and_nobody_stands_behind_themselves() {
        let networks = Networks::load(&Config::default().models).expect("the built-in networks load");
        let (mut finder, mut net) = (networks.finder.expect("a finder"), networks.keypoints);
        let mut decoder = Decoder::new().expect("sets up");
        let mut clip = EveryFrame(Synthetic::new(1, 320, 240, 30.0, 3).expect("valid"));
        for _ in 0..5 {
            let frame = clip.next_frame(Duration::ZERO).expect("a frame").expect("no wait");
            let picture = decoder.decode(&frame, 1).expect("decodes");
            let mut found = Vec::new();
            finder.find(&picture, &mut found).expect("runs");
            let whole = found.first().expect("somebody is found").box_px;
            let mut seen = [Keypoints::default()];
            net.estimate(&picture, &[whole], &mut seen).expect("runs");

            let mut pose = Pose::default();
            for (joint, keypoint) in pose.joints.iter_mut().zip(&seen[0].joints) {
                (joint.x_px, joint.y_px) = (keypoint.x_px, keypoint.y_px);
                let is_sure = keypoint.score >= MIN_JOINT_SCORE;
                joint.state = if is_sure { JointState::Measured } else { JointState::Absent };
            }
            finder.fit_without(&picture, &[pose]);
            finder.run().expect("runs");
            finder.decode(&mut found).expect("was run");
            assert!(found.iter().all(|left| left.box_px.iou(&whole) < 0.5), "{whole:?} in {found:?}");

            assert!(is_seen_already(&seen[0], [].iter(), &finder));
            let mut beside = seen[0];
            beside.joints.iter_mut().for_each(|joint| joint.x_px += 0.8 * whole.w);
            assert!(!is_seen_already(&beside, seen.iter(), &finder));
            let mut small = beside;
            small.joints.iter_mut().for_each(|joint| {
                joint.x_px = beside.joints[0].x_px + 0.4 * (joint.x_px - beside.joints[0].x_px);
                joint.y_px = beside.joints[0].y_px + 0.4 * (joint.y_px - beside.joints[0].y_px);
            });
            assert!(is_seen_already(&small, seen.iter(), &finder), "no foot is somebody");
            // With nobody painted out everybody is found again.
            finder.fit_without(&picture, &[]);
            finder.run().expect("runs");
            finder.decode(&mut found).expect("was run");
            assert_eq!(found.first().expect("somebody is found").box_px, whole);
            assert!(!is_seen_already(&seen[0], [beside].iter(), &finder));
            assert!(is_seen_already(&seen[0], seen.iter(), &finder));
        }
    }

    #[test]
    fn behind_somebody_alone_nobody_is_looked_for() {
        let networks = Networks::load(&Config::default().models).expect("the built-in networks load");
        let mut finder = networks.finder.expect("a finder");
        let mut decoder = Decoder::new().expect("sets up");
        let mut clip = EveryFrame(Synthetic::new(2, 320, 240, 30.0, 3).expect("valid"));
        let frame = clip.next_frame(Duration::ZERO).expect("a frame").expect("no wait");
        let picture = decoder.decode(&frame, 1).expect("decodes");
        let mut searched = |people: usize, places: usize| {
            let mut stages = Vec::new();
            let people = (0..people).map(|_| Pose::default());
            let followed = Crop { box_px: BoxPx::default(), origin: Origin::Followed { was_seen: true } };
            let mut crops = [followed; 2].into_iter().collect();
            let mut ended = |stage| stages.push(stage);
            let mut behind = Behind::new(places);
            let looked = behind.look(&mut finder, &picture, people, &mut crops, &mut Vec::new(), &mut ended);
            looked.expect("runs");
            assert_eq!(crops[..2], [followed; 2]);
            stages
        };
        assert_eq!(searched(1, 4), []);
        assert_eq!(searched(2, 4), [Stage::Pixels, Stage::Network, Stage::Decode]);
        assert_eq!(searched(2, 2), [], "nobody more could be followed");
    }
}
