use pose::{Forecast, JOINTS, JointState, MAX_PERSONS, PoseFrame, TrackedPerson};

use super::*;
use crate::films::pairing::pair;

/// Seventeen joints on a grid, the left ones left of the right ones.
fn places(x: f64, y: f64) -> [[f64; 2]; JOINTS] {
    std::array::from_fn(|j| [x + 20.0 * (j % 2) as f64, y + 10.0 * (j / 2) as f64])
}

fn person(id: u32, x: f64, y: f64) -> TruePerson {
    TruePerson { id, joints: places(x, y).map(|at_px| Some(TrueJoint { at_px, is_hidden: false })) }
}

fn answer(track_id: u32, x: f64, y: f64) -> TrackedPerson {
    let mut forecast = Forecast { state: [JointState::Measured; JOINTS], ..Forecast::default() };
    forecast.places_px = [places(x, y).map(|p| p.map(|v| v as f32)); 4];
    TrackedPerson { track_id, score: 1.0, forecast, seen: None }
}

fn moment(t: usize, truth: Vec<TruePerson>, answers: &[TrackedPerson]) -> Moment {
    let mut persons = [None; MAX_PERSONS];
    for (p, a) in persons.iter_mut().zip(answers) {
        *p = Some(*a);
    }
    let captured_at_us = 33_333 * t as i64;
    let (seq, frame) = (t as u64, t as u64);
    Moment { truth, answer: PoseFrame { seq, frame, captured_at_us, width: 640, height: 480, persons } }
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
    assert_eq!((score.error.get(), score.pck_05.get(), score.first.get()), (0.0, 1.0, 1.0));
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
    assert_eq!(score.pck_05.get(), 1.0, "places do not care");
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

#[test]
fn the_first_answer_is_waited_for() {
    let never = |t: usize| if t < 3 { vec![] } else { vec![answer(1, 100.0, 100.0)] };
    let moments: Vec<Moment> = (0..6)
        .map(|t| moment(t, vec![person(1, 100.0, 100.0), person(2, 400.0, 100.0)], &never(t)))
        .collect();
    let (score, _) = counted(&moments, true);
    assert_eq!(score.first.get(), 0.0);
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
    assert_eq!(score.exchanged.get(), 1.0);
    let (score, _) = counted(&[moment(0, vec![truth], &[part])], true);
    assert_eq!((score.missed_joints.sum, score.missed_joints.count), (12.0, 17.0));
    assert!(
        (score.error.get() - 12.0 * 0.5 / 17.0).abs() < 1e-9,
        "what is not answered counts half the extent"
    );
}

#[test]
fn a_break_in_the_answers_breaks_the_motion() {
    struct Nothing;
    impl Film for Nothing {
        fn name(&self) -> &str {
            "nothing"
        }
        fn is_complete(&self) -> bool {
            true
        }
        fn smooth_truth(&self) -> f64 {
            0.0
        }
        fn next(&mut self) -> Result<Option<(posewire::picture::Frame, Vec<TruePerson>)>, FilmsError> {
            Ok(None)
        }
    }
    let moments: Vec<Moment> = (0..20)
        .map(|t| {
            let answers = if t == 9 { vec![] } else { vec![answer(1, 100.0, 100.0)] };
            moment(t, vec![person(1, 100.0, 100.0)], &answers)
        })
        .collect();
    let outcome = judge(&Nothing, &moments);
    let lengths: Vec<usize> = outcome.motion.iter().map(|(clip, _)| clip.captured_at_us.len()).collect();
    assert_eq!(lengths, [9, 10]);
}

#[test]
fn the_program_finds_rendered_people_and_films_and_folders_say_the_same() {
    use std::io::Write;
    let mut tracker = posewire::Tracker::new(&posewire::Config::default()).expect("the built-in models load");
    let mut film = Rendered::new(1, 40).expect("sets up");
    let of_film = Outcomes::of(vec![run(&mut film, &mut tracker).expect("runs")]);
    let a = Row::of("film", &of_film, 0.0);
    assert!(a.persons > 60.0 && a.missed_persons.value < 0.5, "{a:?}");

    let folder = tempfile::tempdir().expect("a folder");
    let (pictures, labels) = (folder.path().join("one"), folder.path().join("one.jsonl"));
    std::fs::create_dir(&pictures).expect("a folder");
    let mut lines = std::fs::File::create(&labels).expect("a file");
    writeln!(lines, r#"{{"film": "one", "complete": true}}"#).expect("room");
    let mut film = Rendered::new(1, 40).expect("sets up");
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
    let b = Row::of("film", &of_folder, 0.0);
    let (a, b) = (serde_json::to_string(&a).expect("JSON"), serde_json::to_string(&b).expect("JSON"));
    assert_eq!(a, b);
}

#[test]
fn labels_that_do_not_fit_are_refused_with_file_and_line() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(labelled(folder.path()).unwrap_err().to_string().contains("no films"));
    let labels = folder.path().join("a.jsonl");
    let pictures = folder.path().join("a");
    std::fs::create_dir(&pictures).expect("a folder");
    let refused = |text: &str, says: &str| {
        std::fs::write(&labels, text).expect("room");
        let said = Labelled::open(&labels).map(|_| ()).unwrap_err().to_string();
        assert!(said.contains(says), "{said} does not say {says}");
    };
    refused("", "line 1: the file is empty");
    refused("{\"film\": 3}", "line 1: invalid type");
    refused("{\"film\": \"a\", \"complete\": true}\n", "no pictures");
    let mut encoder = posewire::picture::JpegEncoder::new(80).expect("sets up");
    let grey = posewire::picture::Frame {
        bytes: std::sync::Arc::new(vec![128; 64 * 64]),
        format: posewire::picture::PixelFormat::Grey,
        width: 64,
        height: 64,
        stride: 64,
        seq: 0,
        captured_at_us: 0,
    };
    std::fs::write(pictures.join("1.jpg"), &encoder.jpeg_of(&grey).expect("encodes")[..]).expect("room");
    refused("{\"film\": \"a\", \"complete\": true}\n", "0 lines of labels for 1 pictures");
    refused("{\"film\": \"a\", \"complete\": true}\n{\"captured_at_us\": 0}\n", "line 2: missing field");
}
