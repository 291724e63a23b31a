use std::sync::Arc;

use pose::{Forecast, JOINTS, JointState, MAX_PERSONS, PoseFrame, TrackedPerson};
use posewire::picture::{Frame, PixelFormat};

use super::*;
use crate::films::pairing::pair;

/// Seventeen joints on a grid, the left ones left of the right ones.
pub(super) fn places(x: f64, y: f64) -> [[f64; 2]; JOINTS] {
    std::array::from_fn(|j| [x + 20.0 * (j % 2) as f64, y + 10.0 * (j / 2) as f64])
}

pub(super) fn person(id: u32, x: f64, y: f64) -> TruePerson {
    let joints = places(x, y).map(|at_px| Some(TrueJoint { at_px, is_hidden: false }));
    TruePerson { id, joints, beyond_px: [None; JOINTS], joints_m: None }
}

pub(super) fn answer(track_id: u32, x: f64, y: f64) -> TrackedPerson {
    let mut forecast = Forecast { state: [JointState::Measured; JOINTS], ..Forecast::default() };
    forecast.places_px = [places(x, y).map(|p| p.map(|v| v as f32)); 4];
    TrackedPerson { track_id, score: 1.0, forecast, seen: None, place: None }
}

pub(super) fn moment(t: usize, truth: Vec<TruePerson>, answers: &[TrackedPerson]) -> Moment {
    let mut persons = [None; MAX_PERSONS];
    for (p, a) in persons.iter_mut().zip(answers) {
        *p = Some(*a);
    }
    let captured_at_us = 33_333 * t as i64;
    let (seq, frame) = (t as u64, t as u64);
    Moment {
        truth,
        answer: PoseFrame { seq, frame, captured_at_us, width: 640, height: 480, persons, floor: None },
        seen: Vec::new(),
    }
}

/// A film of so many frames in which a person stands still.
pub(super) struct Still(pub usize);

impl Film for Still {
    fn name(&self) -> &str {
        "still"
    }
    fn is_complete(&self) -> bool {
        true
    }
    fn smooth_truth(&self) -> f64 {
        0.0
    }
    fn next(&mut self) -> Result<Option<(Frame, Vec<TruePerson>)>, FilmsError> {
        let Some(left) = self.0.checked_sub(1) else { return Ok(None) };
        self.0 = left;
        Ok(Some((grey(), vec![person(1, 100.0, 100.0)])))
    }
}

fn grey() -> Frame {
    let bytes = Arc::new(vec![128; 64 * 64]);
    let format = PixelFormat::Grey;
    Frame { bytes, format, width: 64, height: 64, stride: 64, seq: 0, captured_at_us: 0 }
}

fn counted(moments: &[Moment], is_complete: bool) -> (score::Score, identity::Counts) {
    let pairs = pair(moments);
    (score::count(moments, &pairs, is_complete), identity::count(moments, &pairs, is_complete))
}

#[test]
fn perfect_answers_are_perfect() {
    let moments: Vec<Moment> = (0..10)
        .map(|t| {
            let x = 100.0 + t as f64;
            let truth = vec![person(1, x, 100.0), person(2, x + 200.0, 100.0)];
            moment(t, truth, &[answer(7, x, 100.0), answer(8, x + 200.0, 100.0)])
        })
        .collect();
    let (score, counts) = counted(&moments, true);
    assert_eq!([score.error, score.pck_05, score.first].map(|m| m.get()), [0.0, 1.0, 1.0].map(Some));
    assert_eq!(
        (score.ghosts.sum, score.missed_persons.sum, score.exchanged.sum, score.few),
        (0.0, 0.0, 0.0, 0)
    );
    assert_eq!((counts.mota(), counts.idf1(), counts.switches), (1.0, 1.0, 0.0));
    assert!((counts.hota() - 1.0).abs() < 1e-9);
}

/// By hand: of ten frames five are one identity's and five another's. MOTA loses the one change; the best single identity has five of
/// ten; each hit's pair covers half of what either has, and HOTA is the root of that.
#[test]
fn a_changed_identity_costs_what_the_definitions_say() {
    let moments: Vec<Moment> = (0..10)
        .map(|t| moment(t, vec![person(1, 100.0, 100.0)], &[answer(7 + u32::from(t >= 5), 100.0, 100.0)]))
        .collect();
    let (score, counts) = counted(&moments, true);
    assert_eq!(counts.switches, 1.0);
    assert!((counts.mota() - 0.9).abs() < 1e-9);
    assert!((counts.idf1() - 0.5).abs() < 1e-9);
    assert!((counts.hota() - 0.5f64.sqrt()).abs() < 1e-9);
    assert_eq!(score.pck_05.get(), Some(1.0), "places do not care");
}

/// By hand: of ten frames ten are one identity's, half a pixel off, and in four of them a second one lies on the person. Over the film the
/// first goes with the person far better, so that all ten hits are its; the four of the double are ghosts.
#[test]
fn a_nearer_double_takes_no_frames_from_the_identity_that_goes_with_the_person() {
    let moments: Vec<Moment> = (0..10)
        .map(|t| {
            let held = answer(7, 100.5, 100.0);
            let double = [held, answer(8, 100.0, 100.0)];
            moment(t, vec![person(1, 100.0, 100.0)], if t < 4 { &double } else { &double[..1] })
        })
        .collect();
    let (_, counts) = counted(&moments, true);
    assert!((counts.hota() - (10.0f64 / 14.0).sqrt()).abs() < 1e-9, "{}", counts.hota());
}

#[test]
fn whoever_crosses_keeps_the_pair_and_an_exchange_of_answers_is_two_switches() {
    let moments: Vec<Moment> = (0..8)
        .map(|t| {
            let apart = 200.0 - 50.0 * t as f64;
            let (a, b) = (if t < 6 { (7, 8) } else { (8, 7) }, apart);
            let truth = vec![person(1, 300.0 - b, 100.0), person(2, 300.0 + b, 100.0)];
            moment(t, truth, &[answer(a.0, 300.0 - b, 100.0), answer(a.1, 300.0 + b, 100.0)])
        })
        .collect();
    let (_, counts) = counted(&moments, true);
    assert_eq!((counts.switches, counts.misses, counts.ghosts), (2.0, 0.0, 0.0));
}

#[test]
fn ghosts_are_counted_with_their_age_but_only_where_everybody_is_known() {
    let moments: Vec<Moment> = (0..6)
        .map(|t| {
            let mut answers = vec![answer(1, 100.0, 100.0)];
            if (1..5).contains(&t) {
                answers.push(answer(2, 500.0, 300.0));
            }
            moment(t, vec![person(1, 100.0, 100.0)], &answers)
        })
        .collect();
    let (score, counts) = counted(&moments, true);
    assert_eq!((score.ghosts.sum, score.ghosts.count, score.oldest_ghost), (4.0, 6.0, 4));
    assert_eq!(counts.ghosts, 4.0);
    let (score, counts) = counted(&moments, false);
    assert_eq!((score.ghosts.count, score.oldest_ghost, counts.ghosts), (0.0, 0, 0.0));
}

#[test]
fn an_answer_beside_an_answered_person_is_a_double_and_beside_somebody_hardly_seen_it_is_nothing() {
    let mut hardly = person(2, 400.0, 100.0);
    for joint in hardly.joints.iter_mut().skip(MIN_SEEN - 1).flatten() {
        joint.is_hidden = true;
    }
    let answers = [answer(1, 100.0, 100.0), answer(2, 105.0, 103.0), answer(3, 400.0, 100.0)];
    let moments = [moment(0, vec![person(1, 100.0, 100.0), hardly], &answers)];
    let (score, counts) = counted(&moments, true);
    assert_eq!((score.doubles.sum, score.ghosts.sum, score.missed_persons.count), (1.0, 0.0, 1.0));
    // To a tracker's measures the double is a false positive like any other.
    assert_eq!((counts.truths, counts.answers, counts.ghosts), (1.0, 2.0, 1.0));
}

/// Of somebody who leaves over the right edge two ankles are in the picture: whoever answers with their legs is right, whoever answers with
/// a person of that size in the middle of it is not.
#[test]
fn an_answer_of_somebody_of_whom_the_picture_shows_a_foot_is_no_ghost() {
    let leaving = |shows: usize| {
        let mut person = person(1, 600.0, 100.0);
        for (j, joint) in person.joints.iter_mut().enumerate().take(JOINTS - shows) {
            person.beyond_px[j] = joint.take().map(|joint| joint.at_px);
        }
        person
    };
    let ghosts = |person: TruePerson, x: f64| {
        let moments = [moment(0, vec![person], &[answer(1, x, 100.0)])];
        let (score, counts) = counted(&moments, true);
        assert_eq!((score.missed_persons.count, counts.ghosts), (0.0, score.ghosts.sum));
        score.ghosts.sum
    };
    assert_eq!((ghosts(leaving(2), 590.0), ghosts(leaving(2), 300.0)), (0.0, 1.0));
    assert_eq!(ghosts(leaving(0), 590.0), 0.0, "an elbow's skin may be all that is in it");
    let gone = TruePerson { beyond_px: [None; JOINTS], ..leaving(0) };
    assert_eq!(ghosts(gone, 590.0), 1.0, "the picture shows nobody any more");
    let unknown = TruePerson { beyond_px: [None; JOINTS], ..leaving(2) };
    assert_eq!(ghosts(unknown, 590.0), 1.0, "two joints alone say nobody's place");
}

/// By the tall person's extent each joint of the figure is but a third of it off.
#[test]
fn a_small_figure_beside_somebody_tall_is_a_ghost_and_no_double() {
    let mut tall = person(1, 100.0, 100.0);
    for at_px in tall.joints.iter_mut().flatten().map(|joint| &mut joint.at_px) {
        *at_px = [100.0 + 4.0 * (at_px[0] - 100.0), 100.0 + 4.0 * (at_px[1] - 100.0)];
    }
    let mut theirs = answer(1, 100.0, 100.0);
    for (place, joint) in theirs.forecast.places_px[0].iter_mut().zip(&tall.joints) {
        *place = joint.expect("all are known").at_px.map(|v| v as f32);
    }
    let (score, _) = counted(&[moment(0, vec![tall], &[theirs, answer(2, 230.0, 220.0)])], true);
    assert_eq!((score.ghosts.sum, score.doubles.sum), (1.0, 0.0));
}

#[test]
fn the_first_answer_is_waited_for() {
    let never = |t: usize| if t < 3 { vec![] } else { vec![answer(1, 100.0, 100.0)] };
    let moments: Vec<Moment> = (0..6)
        .map(|t| moment(t, vec![person(1, 100.0, 100.0), person(2, 400.0, 100.0)], &never(t)))
        .collect();
    let (score, _) = counted(&moments, true);
    assert_eq!(score.first.get(), Some(0.0));
    // Three frames for the first; the second was never answered in six.
    assert_eq!((score.wait.sum, score.wait.count), (9.0, 2.0));
    assert_eq!(score.missed_persons.sum, 9.0);
}

#[test]
fn exchanged_sides_and_absent_joints_are_seen() {
    let truth = person(1, 100.0, 100.0);
    let mut turned = answer(1, 100.0, 100.0);
    turned.forecast = turned.forecast.with_sides_exchanged();
    let mut part = answer(1, 100.0, 100.0);
    part.forecast.state[5..].fill(JointState::Absent);
    let (score, _) = counted(&[moment(0, vec![truth.clone()], &[turned])], true);
    assert_eq!(score.exchanged.get(), Some(1.0));
    let (score, _) = counted(&[moment(0, vec![truth], &[part])], true);
    assert_eq!((score.missed_joints.sum, score.missed_joints.count), (12.0, 17.0));
    assert!(
        (score.error.get().unwrap() - 12.0 * 0.5 / 17.0).abs() < 1e-9,
        "what is not answered counts half the extent"
    );
}

#[test]
fn whoever_is_told_as_most_answers_were_keeps_the_side_that_was_told_first() {
    let told = |t: usize, is_turned: bool| {
        let mut answer = answer(1, 100.0, 100.0);
        if is_turned {
            answer.forecast = answer.forecast.with_sides_exchanged();
        }
        moment(t, vec![person(1, 100.0, 100.0)], &[answer])
    };
    let moments: Vec<Moment> =
        [false, true, false, true, true].into_iter().enumerate().map(|(t, turned)| told(t, turned)).collect();
    let (score, _) = counted(&moments, true);
    assert_eq!((score.exchanged.sum, score.exchanged_by_most.sum), (3.0, 1.0));
}

#[test]
fn a_break_in_the_answers_breaks_the_motion() {
    let moments: Vec<Moment> = (0..20)
        .map(|t| {
            let answers = if t == 9 { vec![] } else { vec![answer(1, 100.0, 100.0)] };
            moment(t, vec![person(1, 100.0, 100.0)], &answers)
        })
        .collect();
    let outcome = judge(&Still(0), &moments);
    let lengths: Vec<usize> = outcome.motion.iter().map(|(clip, _)| clip.captured_at_us.len()).collect();
    assert_eq!(lengths, [9, 10]);
}

/// What was answered of each true person stands beside the truth; nothing where they were missed, and nobody takes another's answer.
#[test]
fn tracks_hold_what_was_seen_of_whom_and_nothing_where_they_were_missed() {
    let seen = |track_id: u32, x: f64| {
        let keypoint = |[x, y]: [f64; 2]| pose::Keypoint {
            x_px: x as f32 + 1.25,
            y_px: y as f32,
            score: 0.5,
            sigma_px: 0.0,
        };
        let seen = pose::Keypoints { joints: places(x, 100.0).map(keypoint), score: 1.0 };
        TrackedPerson { seen: Some(seen), ..answer(track_id, x, 100.0) }
    };
    let moments: Vec<Moment> = (0..4)
        .map(|t| {
            let mut first = person(1, 100.0, 100.0);
            first.joints[9] = None;
            first.joints[10] = Some(TrueJoint { at_px: [1.0, 2.0], is_hidden: true });
            let answers = if t == 2 { vec![seen(8, 400.0)] } else { vec![seen(8, 400.0), seen(7, 100.0)] };
            moment(t, vec![first, person(2, 400.0, 100.0)], &answers)
        })
        .collect();
    let outcome = judge(&Still(0), &moments);
    let [one, two] = outcome.tracks() else { panic!("{} tracks of two persons", outcome.tracks().len()) };
    assert_eq!((one.id, two.id, one.film.as_str()), (1, 2, "still"));
    assert_eq!(one.captured_at_us, [0, 33_333, 66_666, 99_999]);
    assert_eq!(one.track_id, [Some(7), Some(7), None, Some(7)]);
    assert_eq!(two.track_id, [Some(8); 4]);
    assert!(one.observed[2].is_none() && two.observed.iter().all(Option::is_some));
    let (truth, observed) = (one.truth[0][0], one.observed[0].expect("answered")[0]);
    assert_eq!((truth[2], observed), (2.0, [truth[0] + 1.25, truth[1], 0.5]));
    assert_eq!((one.truth[0][9], one.truth[0][10]), ([0.0; 3], [1.0, 2.0, 1.0]));
    assert!(one.truth_3d_m.is_none());
}

#[test]
fn films_of_other_rates_and_sizes_lose_frames_as_told() {
    let take = Take { fps: 15.0, size: [320, 240], dropped: 0.5, ..Take::new(4, 60) };
    let mut film = Rendered::new(take).expect("sets up");
    assert!(film.name().ends_with("320 × 240, 15 frames a second, 50 % dropped"), "{}", film.name());
    let (mut times, mut persons) = (Vec::new(), Vec::new());
    while let Some((frame, truth)) = film.next().expect("a frame") {
        assert_eq!((frame.width, frame.height), (320, 240));
        times.push(frame.captured_at_us);
        persons = truth;
    }
    assert_eq!(times[0], 0, "the first is never dropped");
    assert!((15..45).contains(&times.len()), "{} frames of 60", times.len());
    assert!(times.iter().all(|t| (t % 66_667).min(66_667 - t % 66_667) < 60), "{times:?}");
    // In metres a person is a person, whatever the picture's size.
    let places = persons[0].joints_m.expect("rendered");
    let tall = places.iter().map(|p| p[1]).fold(f32::NEG_INFINITY, f32::max)
        - places.iter().map(|p| p[1]).fold(f32::INFINITY, f32::min);
    assert!((0.5..2.1).contains(&tall), "{tall} m from the lowest joint to the highest");
}

#[test]
fn a_film_draws_its_rate_size_and_losses_by_its_seed() {
    let (rates, sizes, dropped) = ([10.0, 30.0, 60.0], [[320, 240], [640, 480]], [0.0, 0.3]);
    let takes: Vec<Take> =
        (0..40).map(|seed| Take::drawn(seed, &[], 2.0, &rates, &sizes, &dropped, 0.5)).collect();
    assert_eq!(takes[7], Take::drawn(7, &[], 2.0, &rates, &sizes, &dropped, 0.5));
    for fps in rates {
        assert!(takes.iter().any(|t| t.fps == fps && t.frames == (2.0 * fps) as u64));
    }
    assert!(sizes.iter().all(|&s| takes.iter().any(|t| t.size == s)));
    assert!(dropped.iter().all(|&d| takes.iter().any(|t| t.dropped == d)));
    let compressed = takes.iter().filter(|take| take.compressed).count();
    assert!((8..32).contains(&compressed), "{compressed} of 40");
    assert_eq!(Take::drawn(3, &[], 2.0, &[], &[], &[], 0.0), Take::new(3, 60));
}

#[test]
fn a_compressed_film_shows_the_same_people_otherwise() {
    let film = |compressed: bool| {
        let take = Take { compressed, size: [320, 240], ..Take::new(2, 4) };
        let mut film = Rendered::new(take).expect("sets up");
        let is_named = film.name().ends_with("compressed");
        assert_eq!(is_named, compressed, "{}", film.name());
        film.next().expect("a frame");
        film.next().expect("a frame").expect("not the end")
    };
    let ((plain, people), (sent, same)) = (film(false), film(true));
    assert!(plain.bytes != sent.bytes && people.len() == same.len());
    assert_eq!(people[0].joints_m, same[0].joints_m);
}

#[test]
fn the_program_finds_rendered_people_and_films_and_folders_say_the_same() {
    use std::io::Write;
    let mut tracker = posewire::Tracker::new(&posewire::Config::default()).expect("the built-in models load");
    let mut film = Rendered::new(Take::new(1, 40)).expect("sets up");
    let of_film = Outcomes::of(vec![run(&mut film, &mut tracker).expect("runs")]);
    let a = Row::of("film", &of_film, None);
    assert!(a.persons > 60.0 && a.missed_persons.value < 0.5, "{a:?}");

    let folder = tempfile::tempdir().expect("a folder");
    let (pictures, labels) = (folder.path().join("one"), folder.path().join("one.jsonl"));
    std::fs::create_dir(&pictures).expect("a folder");
    let mut lines = std::fs::File::create(&labels).expect("a file");
    writeln!(lines, r#"{{"film": "one", "complete": true}}"#).expect("room");
    let mut film = Rendered::new(Take::new(1, 40)).expect("sets up");
    while let Some((frame, persons)) = film.next().expect("a frame") {
        std::fs::write(pictures.join(format!("{:05}.jpg", frame.seq)), &frame.bytes[..]).expect("room");
        let persons: Vec<_> = persons
            .iter()
            .map(|p| {
                let joint = |j: Option<TrueJoint>| {
                    j.map_or([0.0; 3], |j| [j.at_px[0], j.at_px[1], if j.is_hidden { 1.0 } else { 2.0 }])
                };
                serde_json::json!({"id": p.id, "joints": p.joints.map(joint)})
            })
            .collect();
        let line = serde_json::json!({"captured_at_us": frame.captured_at_us, "persons": persons});
        writeln!(lines, "{line}").expect("room");
    }
    drop(lines);
    assert_eq!(labelled(folder.path()).expect("one film"), vec![labels.clone()]);
    let mut film = Labelled::open(&labels).expect("opens");
    let of_folder = Outcomes::of(vec![run(&mut film, &mut tracker).expect("runs")]);
    let b = Row::of("film", &of_folder, None);
    let (a, b) = (serde_json::to_string(&a).expect("JSON"), serde_json::to_string(&b).expect("JSON"));
    assert_eq!(a, b);
}

#[test]
fn labels_that_do_not_fit_are_refused_with_file_and_line() {
    let folder = tempfile::tempdir().expect("a folder");
    // As it is printed: every cause behind what it is the cause of.
    let printed = |error: FilmsError| format!("{:#}", anyhow::Error::from(error));
    assert!(printed(labelled(folder.path()).unwrap_err()).contains("no films"));
    let labels = folder.path().join("a.jsonl");
    let pictures = folder.path().join("a");
    std::fs::create_dir(&pictures).expect("a folder");
    let refused = |text: &str, says: &str| {
        std::fs::write(&labels, text).expect("room");
        let said = printed(Labelled::open(&labels).map(|_| ()).unwrap_err());
        assert_eq!(said.matches(says).count(), 1, "{said} does not say {says} once");
    };
    refused("", "line 1: the file is empty");
    refused("{\"film\": 3}", "line 1: invalid type");
    refused("{\"film\": \"a\", \"complete\": true}\n", "no pictures");
    let mut encoder = posewire::picture::JpegEncoder::new(80).expect("sets up");
    std::fs::write(pictures.join("1.jpg"), &encoder.jpeg_of(&grey()).expect("encodes")[..]).expect("room");
    refused("{\"film\": \"a\", \"complete\": true}\n", "0 lines of labels for 1 pictures");
    refused("{\"film\": \"a\", \"complete\": true}\n{\"captured_at_us\": 0}\n", "line 2: missing field");
    let times =
        [0, 5, 9, 9].map(|at_us| format!("{{\"captured_at_us\": {at_us}, \"persons\": []}}\n")).concat();
    let head = "{\"film\": \"a\", \"complete\": true}\n";
    refused(&format!("{head}{times}"), "line 5: the times do not rise: 9 after 9");
    let of = |head: &str| {
        std::fs::write(&labels, format!("{head}\n{{\"captured_at_us\": 0, \"persons\": []}}\n"))
            .expect("room");
        Labelled::open(&labels).expect("opens").source().map(str::to_owned)
    };
    assert_eq!(of(r#"{"film": "a", "complete": true, "source": "video"}"#).as_deref(), Some("video"));
    assert_eq!(of(r#"{"film": "a", "complete": true}"#), None);
}

#[test]
fn hidden_joints_are_held_against_their_last_place() {
    // Somebody walks 4 px a frame; from the fifth frame on a wrist is hidden, and the answer follows it half as fast.
    let moments: Vec<Moment> = (0..20)
        .map(|t| {
            let x = 100.0 + 4.0 * t as f64;
            let mut truth = person(1, x, 100.0);
            let mut told = answer(7, x, 100.0);
            let hidden = (t as f64 - 4.0).max(0.0);
            if hidden > 0.0 {
                truth.joints[9].as_mut().expect("known").is_hidden = true;
                told.forecast.places_px[0][9][0] -= 2.0 * hidden as f32;
            }
            moment(t, vec![truth], &[told])
        })
        .collect();
    let (score, _) = counted(&moments, true);
    let (told, held) = (score.hidden_error, score.held_error);
    assert_eq!((told.count, held.count), (10.0, 10.0), "ten frames are judged");
    let ratio = told.get().unwrap() / held.get().unwrap();
    assert!((ratio - 0.5).abs() < 1e-6, "{ratio}");
    assert_eq!(
        (score.before_error.sum, score.before_error.count),
        (0.0, 10.0),
        "it was told exactly while it was seen"
    );
}

#[test]
fn a_number_is_kept_where_it_is_the_same_a_second_later() {
    let moments: Vec<Moment> = (0..60)
        .map(|t| moment(t, vec![person(1, 100.0, 100.0)], &[answer(7 + u32::from(t >= 45), 100.0, 100.0)]))
        .collect();
    let (score, _) = counted(&moments, true);
    // Thirty-one frames of 33,333 us are a second: fourteen see the same number then, fifteen another, the rest have no second left.
    assert_eq!((score.kept.sum, score.kept.count), (14.0, 29.0));
}

#[test]
fn goals_are_met_or_missed_by_the_figures_of_the_same_films() {
    let film = |off: f64, shake: f64| {
        let moments: Vec<Moment> = (0..40)
            .map(|t| {
                let (x, told) = (100.0 + t as f64, [shake, -shake][t % 2]);
                moment(t, vec![person(1, x, 100.0)], &[answer(7, x + off + told, 100.0)])
            })
            .collect();
        Outcomes::of(vec![judge(&Still(0), &moments)])
    };
    let met = |shipped: &Outcomes| {
        let goals = goals(shipped, &film(3.0, 2.0));
        assert!(goals_table("films", "xl", &goals).contains("| Accel over raw's | ≤ 0.25 |"));
        let of = |wish: &str| goals.iter().find(|g| g.wish.starts_with(wish)).expect("a goal").is_met();
        [of("MPJPE"), of("Accel"), of("clear persons"), of("ten hidden")]
    };
    assert_eq!(met(&film(1.0, 0.2)), [Some(true), Some(true), Some(true), None]);
    assert_eq!(met(&film(4.0, 1.0)), [Some(false), Some(false), Some(true), None]);
}

#[test]
fn a_figure_is_told_by_as_many_digits_as_show_why_its_goal_is_missed() {
    let goal = |value: f64, bar: f64, at_least: bool| Goal {
        wish: "persons missed, %".to_owned(),
        figure: Interval { value, low: 1.0, high: 3.25 },
        bar,
        at_least,
        floor: None,
    };
    for (goal, told) in [
        (goal(2.0497, 2.0, false), "2.05 [1.00, 3.25] | **missed**"),
        (goal(2.0, 2.0, false), "2.0 [1.0, 3.2] | met"),
        (goal(99.96, 100.0, true), "99.96 [1.00, 3.25] | **missed**"),
        (goal(3.2, 2.0, false), "3.2 [1.0, 3.2] | **missed**"),
    ] {
        let table = goals_table("films", "xl", &[goal]);
        assert!(table.contains(told), "{told}: {table}");
    }
}

#[test]
fn boxes_hold_who_is_there_what_was_seen_and_who_was_told_of() {
    let mut one = moment(0, vec![person(1, 100.0, 100.0)], &[answer(7, 110.0, 100.0)]);
    let mut seen = Keypoints { score: 0.7, ..Keypoints::default() };
    for (k, [x, y]) in seen.joints.iter_mut().zip(places(120.0, 100.0)) {
        (k.x_px, k.y_px, k.score) = (x as f32, y as f32, 0.9);
    }
    seen.joints[16].score = 0.1;
    one.seen = vec![seen];
    let boxes = judge(&Still(0), &[one]).boxes;
    assert_eq!((boxes[0].truth[0].id, boxes[0].truth[0].r#box), (1, [100.0, 100.0, 20.0, 80.0]));
    assert_eq!(boxes[0].detections, [Detection { r#box: [120.0, 100.0, 20.0, 70.0], score: 0.7 }]);
    assert_eq!(boxes[0].answers, [Told { id: 7, r#box: [110.0, 100.0, 20.0, 80.0], seen: false }]);
}
