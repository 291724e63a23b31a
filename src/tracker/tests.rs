//! The whole tracker on rendered clips, with temporal models that say what a test wants.

use std::sync::{Arc, Mutex};

use super::*;
use crate::capture::FrameSource;
use crate::capture::clip::EveryFrame;
use crate::capture::synthetic::Synthetic;
use crate::config::NONE;
use crate::track::Search;

fn clip(width: u32, height: u32, frames: u64) -> Vec<Frame> {
    let clip = Synthetic::new(1, width, height, 30.0, 3).and_then(Synthetic::as_mjpeg).expect("valid");
    let mut source = EveryFrame(clip);
    let next = |_| source.next_frame(std::time::Duration::ZERO).expect("a frame").expect("no wait");
    (0..frames).map(next).collect()
}

fn tracker(finder: &str) -> Tracker {
    let mut config = Config::default();
    config.models.finder = finder.into();
    Tracker::new(&config).expect("the built-in models load")
}

#[test]
fn without_a_finder_the_whole_picture_decides_how_it_is_decoded() {
    let tracker = tracker(NONE);
    let look = tracker.look(&clip(640, 480, 1)[0], &[None; MAX_PERSONS]);
    let whole = BoxPx { x: 0.0, y: 0.0, w: 640.0, h: 480.0 };
    assert_eq!(look.crops[..], [Crop { box_px: whole, origin: Origin::Whole }]);
    // A side of 1.25 times the width on 160 net pixels.
    assert_eq!(look.reduction, 5);
}

#[test]
fn a_search_leaves_whoever_is_a_quarter_of_the_picture_sharp() {
    let tracker = tracker("builtin");
    let large = Frame { width: 1920, height: 1080, ..clip(320, 240, 1)[0].clone() };
    let look = tracker.look(&large, &[None; MAX_PERSONS]);
    let quarter = BoxPx { x: 0.0, y: 0.0, w: 480.0, h: 270.0 };
    let most = tracker.net.image_per_net_px(&quarter);
    assert!(look.is_search && look.reduction > 1 && look.reduction as f32 <= most, "{}", look.reduction);
}

#[test]
fn no_more_persons_are_looked_at_than_were_asked_for() {
    let mut config = Config::default();
    config.persons.max = crate::config::MaxPersons::new(1).unwrap();
    let mut tracker = Tracker::new(&config).expect("the built-in models load");
    let crowd = Synthetic::new(3, 640, 480, 30.0, 3).and_then(Synthetic::as_mjpeg).expect("valid");
    let mut source = EveryFrame(crowd);
    for _ in 0..20 {
        let frame = source.next_frame(std::time::Duration::ZERO).expect("a frame").expect("no wait");
        tracker.track(&frame).expect("decodes");
        assert!(tracker.look(&frame, &[None; MAX_PERSONS]).crops.len() <= 1);
    }
}

/// Predicts so many joints of everybody, of them some beyond the picture's left edge.
struct Few {
    known: usize,
    beyond: usize,
}

impl TemporalModel for Few {
    fn name(&self) -> &str {
        "few"
    }
    fn reset(&mut self, _: usize) {}
    fn step(&mut self, observations: &[Observation], forecasts: &mut [Forecast]) {
        for forecast in &mut forecasts[..observations.len()] {
            forecast.state[..self.known].fill(pose::JointState::Predicted);
            forecast.places_px[0][..self.beyond].fill([-1.0, 50.0]);
        }
    }
}

#[test]
fn a_person_of_fewer_than_four_joints_in_the_picture_is_not_told_of() {
    for (known, beyond, told) in [(3, 0, 0), (4, 0, 1), (6, 2, 1), (6, 3, 0)] {
        let networks = Networks::load(&Config::default().models).expect("the built-in networks load");
        let mut tracker =
            Tracker::of_parts(networks, IdentityRules::default(), Box::new(Few { known, beyond }))
                .expect("sets up");
        let poses = clip(320, 240, 20).iter().map(|f| tracker.track(f).expect("decodes")).last();
        assert_eq!(tracker.identities.followed().0, 1);
        let persons = poses.expect("20 frames").persons;
        assert_eq!(persons.iter().flatten().count(), told, "{known} joints, {beyond} beyond the edge");
        for person in persons.iter().flatten() {
            assert_eq!(person.forecast.known_joints(), known - beyond);
        }
    }
}

/// Knows so many joints of everybody, and expects whom it does not see in a strip whose left edge lies here.
struct Leaves {
    left: f32,
    known: usize,
}

impl TemporalModel for Leaves {
    fn name(&self) -> &str {
        "leaves"
    }
    fn reset(&mut self, _: usize) {}
    fn step(&mut self, observations: &[Observation], forecasts: &mut [Forecast]) {
        for (observation, forecast) in observations.iter().zip(forecasts) {
            forecast.captured_at_us = observation.captured_at_us;
            forecast.state[..self.known].fill(pose::JointState::Predicted);
            let strip = |j: usize| [self.left + (j % 2) as f32 * 10.0, 60.0 + 7.0 * j as f32];
            let seen = observation.keypoints.map(|k| k.joints.map(|k| [k.x_px, k.y_px]));
            forecast.places_px.fill(seen.unwrap_or(std::array::from_fn(strip)));
        }
    }
}

/// The frame after those of `clip`, in which nothing is to be seen.
fn empty_after(clip: &[Frame]) -> Frame {
    let last = clip.last().expect("some frames");
    Frame {
        bytes: Arc::new(vec![128; 320 * 240]),
        format: PixelFormat::Grey,
        stride: 320,
        captured_at_us: last.captured_at_us + 33_333,
        ..last.clone()
    }
}

#[test]
fn whoever_is_not_seen_is_told_of_where_eight_joints_are_expected_not_at_the_edge() {
    for (left, known, told) in
        [(308.0, 17, 0), (330.0, 17, 0), (-15.0, 17, 0), (155.0, 17, 1), (155.0, 8, 1), (155.0, 7, 0)]
    {
        let networks = Networks::load(&Config::default().models).expect("the built-in networks load");
        let model = Box::new(Leaves { left, known });
        let mut tracker = Tracker::of_parts(networks, IdentityRules::default(), model).expect("sets up");
        let clip = clip(320, 240, 20);
        let told_in = |frame: &Frame, tracker: &mut Tracker| {
            tracker.track(frame).expect("decodes").persons.iter().flatten().count()
        };
        assert_eq!(clip.iter().map(|frame| told_in(frame, &mut tracker)).last(), Some(1), "seen");
        assert_eq!(told_in(&empty_after(&clip), &mut tracker), told, "{left}, {known} joints");
        assert_eq!(tracker.identities.followed(), (1, 1), "and looked for all the same");
    }
}

#[test]
fn a_damaged_frame_does_not_use_up_a_search() {
    let mut tracker = tracker("builtin");
    let whole = &clip(320, 240, 1)[0];
    let half = Frame { bytes: Arc::new(whole.bytes[..200].to_vec()), ..whole.clone() };
    assert!(tracker.look(&half, &[None; MAX_PERSONS]).is_search);
    assert!(tracker.track(&half).unwrap_err().is_of_this_frame_alone());
    assert!(tracker.look(whole, &[None; MAX_PERSONS]).is_search, "the next one is searched instead");
    assert_eq!(tracker.searcher.rhythm, Search::default());
}

#[test]
fn at_two_frames_a_second_whoever_walks_about_keeps_their_number_and_is_seen_in_nearly_every_frame() {
    for max in [1, 4] {
        let mut config = Config::default();
        config.persons.max = crate::config::MaxPersons::new(max).unwrap();
        let (mut shown, mut told) = (0, 0);
        for seed in 3..7 {
            let mut tracker = Tracker::new(&config).expect("the built-in models load");
            let mut source = EveryFrame(Synthetic::new(1, 320, 240, 2.0, seed).expect("valid"));
            for i in 0..40 {
                let frame = source.next_frame(std::time::Duration::ZERO).expect("a frame").expect("no wait");
                let in_sight = source.0.truth()[0].joints.iter().filter(|joint| joint.score > 0.0).count();
                shown += usize::from(in_sight > 8);
                for person in tracker.track(&frame).expect("decodes").persons.iter().flatten() {
                    assert_eq!(person.track_id, 1, "seed {seed}, frame {i}, up to {max} persons");
                    told += usize::from(person.seen.is_some());
                }
            }
        }
        assert!(shown > 140 && 20 * told >= 19 * shown, "{told} of {shown}, up to {max} persons");
    }
}

#[test]
fn at_three_frames_a_second_nobody_takes_the_crop_of_somebody_seated_at_the_other_end_of_the_picture() {
    let mut source = EveryFrame(Synthetic::new(1, 320, 240, 30.0, 3).expect("valid"));
    let frame = source.next_frame(std::time::Duration::ZERO).expect("a frame").expect("no wait");
    let frame = Frame { captured_at_us: 2_000_000, ..frame };
    let walker = source.0.truth()[0];
    let b = walker.bounds(0.5).expect("in sight");
    let tall = b.w.max(b.h);
    let mut config = Config::default();
    config.persons.max = crate::config::MaxPersons::new(1).unwrap();
    // The finder misses who sits there: the picture does not even show them.
    let far: f32 = if b.centre().0 > 160.0 { -160.0 } else { 160.0 };
    assert!(far.abs() > tall, "{b:?}");
    for (dx, is_taken) in [(far, false), (0.5 * tall * far.signum(), true)] {
        let mut tracker = Tracker::new(&config).expect("the built-in models load");
        let mut seated = Keypoints { score: 0.9, ..walker };
        seated.joints.iter_mut().for_each(|joint| joint.x_px += dx);
        for i in 0..5 {
            let at_us = 2_000_000 - 333_333 - 200_000 * (4 - i);
            tracker.identities.update(at_us, &[seated], &[None; MAX_PERSONS]);
        }
        tracker.track(&frame).expect("decodes");
        let [seen] = tracker.seen() else { panic!("one crop: {:?}", tracker.seen()) };
        let off = (seen.joints[0].x_px - walker.joints[0].x_px).abs();
        assert_eq!(off < 0.2 * tall, is_taken, "{dx}: {off} of {tall}");
        let unseen = usize::from(!is_taken);
        assert_eq!(
            tracker.identities.followed(),
            (1, unseen),
            "{dx}: nobody else is followed in their place"
        );
    }
}

/// A tracker of the built-in networks with this model, and the rules for scores that are joints' own.
fn with_model(model: impl TemporalModel + 'static) -> Tracker {
    let networks = Networks::load(&Config::default().models).expect("the built-in networks load");
    Tracker::of_parts(networks, IdentityRules::default(), Box::new(model)).expect("sets up")
}

#[test]
fn somebody_has_the_score_of_the_crop_that_showed_them_last() {
    let mut tracker = with_model(Leaves { left: 155.0, known: 17 });
    let score = |tracker: &mut Tracker, frame: &Frame| {
        tracker.track(frame).expect("decodes").persons[0].expect("told of").score
    };
    let clip = clip(320, 240, 20);
    for frame in &clip[..19] {
        tracker.track(frame).expect("decodes");
    }
    let seen = score(&mut tracker, &clip[19]);
    assert!(seen > 0.25 && tracker.seen().iter().any(|k| k.score == seen), "{seen}");
    assert_eq!(score(&mut tracker, &empty_after(&clip)), seen, "as when last seen");
}

/// Notes whom it is to forget.
struct Forgets(Arc<Mutex<Vec<usize>>>);

impl TemporalModel for Forgets {
    fn name(&self) -> &str {
        "forgets"
    }
    fn reset(&mut self, slot: usize) {
        self.0.lock().expect("nobody panics").push(slot);
    }
    fn step(&mut self, _: &[Observation], _: &mut [Forecast]) {}
}

#[test]
fn whoever_begins_has_no_memory_of_whose_place_they_take() {
    let forgotten = Arc::default();
    let mut tracker = with_model(Forgets(Arc::clone(&forgotten)));
    for frame in &clip(320, 240, 20) {
        tracker.track(frame).expect("decodes");
    }
    assert_eq!(forgotten.lock().expect("nobody panics").first(), Some(&0));
}

/// Takes five steps, and then expects everybody where nobody can be.
struct Wild(u32);

impl TemporalModel for Wild {
    fn name(&self) -> &str {
        "wild"
    }
    fn reset(&mut self, _: usize) {}
    fn step(&mut self, observations: &[Observation], forecasts: &mut [Forecast]) {
        Leaves { left: 155.0, known: 17 }.step(observations, forecasts);
        self.0 += 1;
        for forecast in forecasts.iter_mut().filter(|_| self.0 > 5) {
            // What is only predicted outside the picture lays no crop.
            forecast.state.fill(pose::JointState::Measured);
            forecast.score.fill(0.9);
            forecast.places_px.fill(std::array::from_fn(|j| [2e6, j as f32]));
        }
    }
}

#[test]
fn a_forecast_gone_wild_costs_a_frame_and_nothing_else() {
    let mut tracker = with_model(Wild(0));
    let clip = clip(320, 240, 8);
    for frame in &clip[..6] {
        tracker.track(frame).expect("decodes");
    }
    assert_eq!(tracker.identities.followed(), (1, 0));
    tracker.track(&clip[6]).expect("the run goes on");
    assert_eq!(tracker.identities.followed(), (0, 0), "nobody is looked for where nobody can be");
    tracker.track(&clip[7]).expect("decodes");
    assert_eq!(tracker.identities.followed(), (1, 0), "found again at once");
}

/// Expects the legs of everybody far below the picture.
struct Below;

impl TemporalModel for Below {
    fn name(&self) -> &str {
        "below"
    }
    fn reset(&mut self, _: usize) {}
    fn step(&mut self, observations: &[Observation], forecasts: &mut [Forecast]) {
        Leaves { left: 155.0, known: 17 }.step(observations, forecasts);
        for forecast in forecasts {
            forecast.score.fill(0.9);
            forecast.places_px.iter_mut().for_each(|places| places[13..].fill([160.0, 2e6]));
        }
    }
}

#[test]
fn crops_are_of_what_is_expected_in_the_picture() {
    let mut tracker = with_model(Below);
    for frame in &clip(320, 240, 20) {
        tracker.track(frame).expect("decodes");
        assert_eq!(tracker.identities.followed(), (1, 0));
    }
}

#[test]
fn the_smoother_is_the_one_fitted_for_the_keypoint_network() {
    let config = Config::default();
    let networks = Networks::load(&config.models).expect("the built-in networks load");
    assert_eq!(networks.error_model.as_deref(), Some("keypoints"));
    let weights = crate::models::temporal(&config.models.temporal, config.temporal.smoother);
    let weights = weights.expect("can be read").expect("the smoother has weights");
    let smoother = crate::temporal::Xl::new(&weights, crate::temporal::DEFAULT_SMOOTHNESS).expect("fits");
    let model = Box::new(smoother.observed_by("keypoints"));
    let mut by_hand = Tracker::of_parts(networks, IdentityRules::of(true), model).expect("sets up");
    let mut by_config = tracker("builtin");
    let mut told = 0;
    for frame in &clip(320, 240, 20) {
        let [a, b] = [&mut by_config, &mut by_hand].map(|tracker| {
            tracker.track(frame).expect("decodes").persons.map(|person| person.map(|p| p.forecast))
        });
        told += a.iter().flatten().count();
        assert!(a == b, "{a:?} {b:?}");
    }
    assert!(told > 10, "{told}");
}

#[test]
fn a_least_score_and_number_of_joints_of_ones_own_hold() {
    let told = |change: fn(&mut Config)| {
        let mut config = Config::default();
        change(&mut config);
        let mut tracker = Tracker::new(&config).expect("the built-in models load");
        let poses = clip(320, 240, 20).iter().map(|f| tracker.track(f).expect("decodes")).last();
        (poses.expect("20 frames").persons[0].is_some(), tracker.min_joints)
    };
    assert_eq!(told(|_| ()), (true, 4));
    assert_eq!(told(|config| config.persons.min_score = "1.0".parse().expect("a score")), (false, 4));
    assert_eq!(told(|config| config.persons.min_joints = "9".parse().expect("a number")), (true, 9));
}

#[test]
fn in_a_mirror_what_was_seen_has_the_sides_of_the_answer() {
    let mut config = Config::default();
    config.source.mirror = true;
    let mut tracker = Tracker::new(&config).expect("the built-in models load");
    let poses = clip(320, 240, 5).iter().map(|f| tracker.track(f).expect("decodes")).last();
    let told = poses.expect("5 frames").persons[0].expect("told of").seen;
    assert!(told.is_some() && tracker.seen().iter().any(|k| told == Some(k.with_sides_exchanged())));
}
