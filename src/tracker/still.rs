//! Stills: everybody in one picture at once, by the networks alone. Nothing is remembered from one picture to the next,
//! and nothing is filled in: a joint that is not seen is absent.

use pose::{BoxPx, Forecast, JOINTS, JointState, Keypoints, MAX_PERSONS, PersonBox, Pose, PoseJoint};

use super::TrackError;
use super::load::{LoadError, Networks, temporal_model};
use crate::config::{Config, MinJoints, Models};
use crate::infer::InferError;
use crate::keypoints::{KeypointError, KeypointNet, PersonFinder};
use crate::picture::Picture;
use crate::temporal::{MEASURED_SCORE, Observation, TemporalModel};
use crate::track::{IdentityRules, distinct_persons};

/// Persons of one picture at most, the surest: each is looked at twice, and a crowd must not take for ever.
const MAX_IN_PICTURE: usize = 128;

/// Finds and reads the persons of single pictures.
pub struct Stills {
    net: KeypointNet,
    finder: Option<PersonFinder>,
    error_model: Option<String>,
    /// Guesses how deep joints lie.
    lifter: Option<Box<dyn TemporalModel>>,
}

impl Stills {
    /// The networks that `models` names.
    ///
    /// # Errors
    /// [`LoadError`] naming the file at fault.
    pub fn new(models: &Models) -> Result<Self, LoadError> {
        let networks = Networks::load(models)?;
        log::info!("model: {} on {}", networks.name, networks.engine);
        Ok(Self::of_networks(networks))
    }

    /// Without a finder the whole picture is the box of one person.
    pub fn of_networks(networks: Networks) -> Self {
        let Networks { keypoints, finder, error_model, .. } = networks;
        let finder = finder.map(|finder| finder.up_to(MAX_IN_PICTURE));
        Self { net: keypoints, finder, error_model, lifter: None }
    }

    /// Poses are in 3D too, as the learned smoother tells of one look alone: good enough to draw.
    ///
    /// # Errors
    /// [`LoadError`] where its weights cannot be used.
    pub fn with_depth(mut self, models: &Models) -> Result<Self, LoadError> {
        let config = Config { models: models.clone(), ..Config::default() };
        self.lifter = Some(temporal_model(&config, self.error_model.as_deref())?);
        Ok(self)
    }

    /// Whoever the finder finds, up to 128 persons, each looked at twice: in its box, then round the joints seen there, as from the
    /// second frame on a tracked person is. Nobody of them is left out, however unsure: that is for whoever measures.
    ///
    /// # Errors
    /// [`TrackError::Network`].
    pub fn looks(&mut self, picture: &Picture<'_>) -> Result<Vec<(PersonBox, Keypoints)>, TrackError> {
        let mut persons = Vec::new();
        match &mut self.finder {
            Some(finder) => finder.find(picture, &mut persons).map_err(network)?,
            None => {
                let [w, h] = picture.image_size.map(|v| v as f32);
                persons.push(PersonBox { box_px: BoxPx { x: 0.0, y: 0.0, w, h }, score: 1.0 });
            }
        }
        persons.retain(|p| p.box_px.w > 0.0 || p.box_px.h > 0.0);
        let mut looks = Vec::with_capacity(persons.len());
        for group in persons.chunks(MAX_PERSONS) {
            let mut boxes: Vec<BoxPx> = group.iter().map(|p| p.box_px).collect();
            let mut seen = [Keypoints::default(); MAX_PERSONS];
            self.net.estimate(picture, &boxes, &mut seen).map_err(network)?;
            for (b, k) in boxes.iter_mut().zip(&seen) {
                *b = k.bounds(MEASURED_SCORE).filter(|b| b.w > 0.0 && b.h > 0.0).unwrap_or(*b);
            }
            self.net.estimate(picture, &boxes, &mut seen).map_err(network)?;
            for (found, seen) in group.iter().zip(&mut seen) {
                seen.score = self.finder.as_ref().map_or(seen.score, |f| f.both(found.score, seen.score));
            }
            looks.extend(group.iter().copied().zip(seen));
        }
        Ok(looks)
    }

    /// The persons of a picture, the surest first, numbered from 1; each of them once.
    ///
    /// # Errors
    /// [`TrackError::Network`].
    pub fn poses(&mut self, picture: &Picture<'_>) -> Result<Vec<Pose>, TrackError> {
        let seen: Vec<Keypoints> = self.looks(picture)?.into_iter().map(|(_, keypoints)| keypoints).collect();
        let least = IdentityRules::of(self.net.tells_presence()).newcomer_score;
        let lifter = &mut self.lifter;
        let persons = distinct_persons(&seen, least).into_iter().map(|i| {
            let joints_3d_m = lifter.as_mut().and_then(|model| lifted(&mut **model, &seen[i]));
            Pose { joints_3d_m, ..pose(&seen[i]) }
        });
        let told = persons
            .filter(|p| p.joints.iter().filter(|j| j.state != JointState::Absent).count() >= MinJoints::MIN);
        Ok(told.zip(1..).map(|(pose, track_id)| Pose { track_id, ..pose }).collect())
    }
}

/// A box is never refused here: it has an extent, and lies in the picture.
fn network(error: KeypointError) -> TrackError {
    match error {
        KeypointError::Infer(error) => error.into(),
        refused @ KeypointError::Box { .. } => InferError::model("person finder", refused.to_string()).into(),
    }
}

/// Joints in 3D of somebody who is seen for the first time.
fn lifted(model: &mut dyn TemporalModel, seen: &Keypoints) -> Option<[[f32; 3]; JOINTS]> {
    let observation = Observation { slot: 0, captured_at_us: 0, keypoints: Some(*seen) };
    let mut forecast = [Forecast::default()];
    model.reset(0);
    model.step(&[observation], &mut forecast);
    forecast[0].joints_3d_m
}

fn pose(seen: &Keypoints) -> Pose {
    let joints = seen.joints.map(|k| {
        if k.score < MEASURED_SCORE {
            return PoseJoint::default();
        }
        let (x_px, y_px, score, sigma_px) = (k.x_px, k.y_px, k.score, k.sigma_px);
        PoseJoint { x_px, y_px, score, sigma_px, state: JointState::Measured }
    });
    Pose { track_id: 0, score: seen.score, joints, joints_3d_m: None, place: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::FrameSource;
    use crate::capture::clip::EveryFrame;
    use crate::capture::synthetic::Synthetic;
    use crate::config::Config;
    use crate::infer::WithPresence;
    use crate::picture::{Decoder, Frame};

    /// In the first picture, without any before it, and alike however often it is looked at.
    #[test]
    fn persons_are_there_at_once_and_nothing_is_remembered() {
        let mut stills = Stills::new(&Config::default().models).expect("the built-in models load");
        let clip = Synthetic::new(2, 640, 480, 30.0, 3).and_then(Synthetic::as_mjpeg).expect("valid");
        let mut source = EveryFrame(clip);
        let mut next = || source.next_frame(std::time::Duration::ZERO).expect("a frame").expect("no wait");
        let (first, second) = (next(), next());
        let mut decoder = Decoder::new().expect("sets up");
        let mut poses = |frame| stills.poses(&decoder.decode(frame, 1).expect("decodes")).expect("runs");
        let before = poses(&first);
        assert!(!before.is_empty());
        assert!(before.iter().zip(1..).all(|(pose, id)| pose.track_id == id));
        let states = before.iter().flat_map(|pose| pose.joints).map(|j| j.state);
        assert!(states.filter(|state| *state == JointState::Measured).count() >= 8 * before.len());
        let other = poses(&second);
        assert_ne!(before, other);
        assert_eq!(poses(&first), before, "nothing of the other picture is left");

        let black = vec![0; 3 * 64 * 48];
        let nobody = Picture {
            bytes: &black,
            format: crate::picture::PixelFormat::Rgb24,
            width: 64,
            height: 48,
            stride: 3 * 64,
            image_size: [64, 48],
            image_from_picture: [1.0; 2],
        };
        assert_eq!(stills.poses(&nobody).expect("runs"), []);
        let one = Picture { width: 1, height: 1, image_size: [1, 1], ..nobody };
        assert_eq!(stills.poses(&one).expect("runs"), []);
    }

    /// The first picture of so many people.
    fn frame_of(persons: usize) -> Frame {
        let clip = Synthetic::new(persons, 640, 480, 30.0, 3).and_then(Synthetic::as_mjpeg).expect("valid");
        EveryFrame(clip).next_frame(std::time::Duration::ZERO).expect("a frame").expect("no wait")
    }

    #[test]
    fn joints_are_those_of_a_second_look_round_what_the_first_one_saw() {
        let models = Config::default().models;
        let mut net = Networks::load(&models).expect("the built-in models load").keypoints;
        let mut stills = Stills::new(&models).expect("the built-in models load");
        let (frame, mut decoder) = (frame_of(1), Decoder::new().expect("sets up"));
        let picture = decoder.decode(&frame, 1).expect("decodes");
        let looks = stills.looks(&picture).expect("runs");
        let (found, told) = looks.first().expect("somebody is found");
        let [mut once, mut twice] = [[Keypoints::default()]; 2];
        net.estimate(&picture, &[found.box_px], &mut once).expect("runs");
        let seen = once[0].bounds(MEASURED_SCORE).expect("joints");
        net.estimate(&picture, &[seen], &mut twice).expect("runs");
        assert_eq!(told.joints, twice[0].joints);
        assert_ne!(told.joints, once[0].joints);
    }

    #[test]
    fn everybody_in_a_picture_has_a_body_of_their_own_in_3d() {
        let models = Config::default().models;
        let mut stills = Stills::new(&models).and_then(|s| s.with_depth(&models)).expect("loads");
        let (frame, mut decoder) = (frame_of(2), Decoder::new().expect("sets up"));
        let poses = stills.poses(&decoder.decode(&frame, 1).expect("decodes")).expect("runs");
        let [a, b] = &poses[..] else { panic!("two people: {poses:?}") };
        assert!(a.joints_3d_m.is_some() && b.joints_3d_m.is_some());
        assert_ne!(a.joints_3d_m, b.joints_3d_m);
    }

    /// What the network says of a find is weighed against how sure the finder was, if the finder's manifest has a rule for it.
    #[test]
    fn of_whoever_is_found_both_networks_have_a_word() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = include_str!("../../models/person.toml");
        let manifest: toml::Table = toml::from_str(text).expect("valid");
        std::fs::write(folder.path().join("person.onnx"), include_bytes!("../../models/person.onnx"))
            .expect("writes");
        let frame = frame_of(2);
        let mut decoder = Decoder::new().expect("sets up");
        let mut looks = |rule: Option<WithPresence>| {
            let mut manifest = manifest.clone();
            manifest.remove("with_presence");
            if let Some(WithPresence { threshold, neutral, weight }) = rule {
                let rule = toml::toml! { threshold = threshold neutral = neutral weight = weight };
                manifest.insert("with_presence".into(), rule.into());
            }
            let path = folder.path().join("person.toml");
            std::fs::write(&path, manifest.to_string()).expect("writes");
            let finder = path.display().to_string();
            let mut stills = Stills::new(&Models { finder, ..Config::default().models }).expect("loads");
            stills.looks(&decoder.decode(&frame, 1).expect("decodes")).expect("runs")
        };
        let alone = looks(None);
        assert_eq!(alone.len(), 2, "two people are in the picture");
        let rule = WithPresence { threshold: 0.35, neutral: 0.4, weight: 2.0 };
        for ((found, seen), (same, both)) in alone.iter().zip(looks(Some(rule))) {
            assert_eq!(*found, same);
            assert_eq!(both.score, rule.both(found.score, seen.score));
            assert_ne!(both.score, seen.score);
        }
        let more = looks(Some(WithPresence { threshold: 0.001, ..rule }));
        assert!(more.len() > 2, "weaker finds are looked at too");
    }
}
