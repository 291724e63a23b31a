use pose::JointState;

use super::*;

/// A person of 200 px who walks along a sine, seen with an error that alternates by `shake` px.
fn set(shake: f64, late_frames: f64) -> ClipSet {
    let clips = (0..3)
        .map(|c| {
            let n = 80;
            let at = |t: f64, j: usize| {
                let phase = t * 0.18 + c as f64;
                [
                    300.0 + 60.0 * phase.sin() + (j % 4) as f64 * 40.0,
                    100.0 + 12.0 * j as f64 + 20.0 * (0.7 * phase).cos(),
                ]
            };
            Clip {
                name: format!("walk {c}"),
                source: None,
                captured_at_us: (0..n).map(|t| 1_000_000 + (t as f64 * FRAME_US) as i64).collect(),
                extent_px: vec![200.0; n],
                observed: (0..n)
                    .map(|t| {
                        std::array::from_fn(|j| {
                            let [x, y] = at(t as f64 - late_frames, j);
                            let sign = if t % 2 == 0 { 1.0 } else { -1.0 };
                            [x + sign * shake, y, 0.9]
                        })
                    })
                    .collect(),
                truth: (0..n).map(|t| std::array::from_fn(|j| Some(at(t as f64, j)))).collect(),
                truth_3d_m: None,
            }
        })
        .collect();
    ClipSet { name: "walk".to_owned(), error_model: None, smooth_truth: 0.0, clips }
}

fn raw_report(set: &ClipSet) -> Report {
    let raw = families::unfiltered(set);
    measures::measure(set, &raw, Some(&raw)).report(0.0)
}

#[test]
fn a_perfect_observation_has_no_error_no_lag_and_nothing_to_repair() {
    let r = raw_report(&set(0.0, 0.0));
    assert!(r.mpjpe.value < 1e-3 && r.acceleration.value < 1e-3, "{r:?}");
    assert!(r.added_lag.abs() < 0.01, "{}", r.added_lag);
    assert_eq!((r.pck_10.value, r.broken, r.repaired), (1.0, Some(0.0), None));
}

#[test]
fn lag_is_measured_between_frames() {
    for late in [0.4, 1.3, 2.0] {
        let r = raw_report(&set(0.0, late));
        assert!((r.added_lag - late).abs() < 0.05, "{late}: {}", r.added_lag);
    }
}

#[test]
fn what_is_too_short_or_stands_still_has_no_lag() {
    let mut short = set(0.0, 0.0);
    for clip in &mut short.clips {
        clip.captured_at_us.truncate(8);
        clip.extent_px.truncate(8);
        clip.observed.truncate(8);
        clip.truth.truncate(8);
    }
    let mut still = set(2.0, 0.0);
    for clip in &mut still.clips {
        let first = clip.truth[0];
        clip.truth.fill(first);
    }
    for set in [short, still] {
        let rows = compare(&set, &[]);
        assert!(rows[0].report.added_lag.is_nan(), "{}", rows[0].report.added_lag);
        assert!(table(&set, &rows).contains("| none |  | – | – |"), "{}", table(&set, &rows));
        let folder = tempfile::tempdir().unwrap();
        draw_curves("nothing", &rows, &folder.path().join("curves.png")).unwrap();
    }
}

#[test]
fn an_alternating_error_shows_as_four_times_its_size_in_acceleration() {
    let r = raw_report(&set(2.0, 0.0));
    assert!((r.mpjpe.value - 1.0).abs() < 0.01, "{}", r.mpjpe);
    assert!((r.acceleration.value - 4.0).abs() < 0.01, "{}", r.acceleration);
    assert!(r.mpjpe.low <= r.mpjpe.value && r.mpjpe.value <= r.mpjpe.high);
}

#[test]
fn every_family_keeps_its_lag_budget_on_the_clips_it_was_chosen_on_and_shakes_less_with_more() {
    let set = set(3.0, 0.0);
    let families = families(None, None).unwrap();
    let rows = compare(&set, &choose(&set, &families, &[0.2, 1.0], |_| ()));
    for family in ["one-euro", "exponential", "kalman"] {
        let of = |budget| rows.iter().find(|r| r.family == family && r.budget == Some(budget)).unwrap();
        for budget in [0.2, 1.0] {
            assert!(of(budget).report.added_lag <= budget + 1e-9, "{family}");
        }
        assert!(of(1.0).report.acceleration.value <= of(0.2).report.acceleration.value, "{family}");
    }
    let gaussian = rows.iter().find(|r| r.family.starts_with("gaussian")).unwrap();
    assert!(gaussian.report.added_lag.abs() < 0.05 && gaussian.report.acceleration.value < 4.0);
    assert!(table(&set, &rows).lines().count() > rows.len());
}

#[test]
fn every_setting_is_one_that_could_be_chosen_with_the_figures_it_was_chosen_by() {
    let train = set(2.0, 0.0);
    let families = families(None, None).unwrap();
    for family in families.iter().filter(|f| f.name != "one-euro") {
        let rows = every_setting(&train, family);
        assert_eq!(rows.len(), 1 + family.settings.len());
        let choices = choose(&train, std::slice::from_ref(family), &[2.0], |_| ());
        let chosen = &compare(&train, &choices)[1];
        let listed = rows.iter().find(|r| r.setting == chosen.setting && r.family == family.name).unwrap();
        assert_eq!(listed.report.acceleration.value, chosen.report.acceleration.value);
        assert_eq!(listed.report.added_lag, chosen.report.added_lag);
    }
}

/// Rendered people who walk about, seen with an error that alternates by `shake` px.
fn people(shake: f64) -> ClipSet {
    let mut set = set(0.0, 0.0);
    let mut film = people::film::Film::new(set.clips.len(), 96, 72, 5);
    let mut rgb = Vec::new();
    for t in 0..set.clips[0].truth.len() {
        film.draw(t as f32 / 30.0, &mut rgb);
        let sign = if t % 2 == 0 { 1.0 } else { -1.0 };
        for (clip, person) in set.clips.iter_mut().zip(film.truth()) {
            let at = person.joints.map(|j| [j.x_px, j.y_px].map(|v| 6.0 * f64::from(v)));
            clip.truth[t] = at.map(Some);
            clip.observed[t] = at.map(|[x, y]| [x + sign * shake, y, 0.9]);
        }
    }
    set
}

#[test]
fn settings_of_the_learned_model_are_chosen_by_what_they_do() {
    let weights = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/temporal-xl.pwt");
    let families = families(Some(&std::fs::read(weights).unwrap()), Some("keypoints")).unwrap();
    let set = people(2.0);
    let xl = families.iter().find(|f| f.name == "xl").unwrap();
    let listed = every_setting(&set, xl);
    // Less lag than the steadiest setting has without a lead.
    let budgets = [0.0, 0.05];
    let chosen = compare(&set, &choose(&set, std::slice::from_ref(xl), &budgets, |_| ()));
    for (row, budget) in chosen[1..].iter().zip(budgets) {
        assert_eq!((row.family.as_str(), row.budget), ("xl", Some(budget)));
        assert!(row.report.added_lag <= budget + 1e-9, "{} {}", row.setting, row.report.added_lag);
        let same = listed.iter().find(|r| r.setting == row.setting).unwrap();
        assert_eq!(same.report.added_lag, row.report.added_lag);
    }
}

#[test]
fn coverage_counts_coordinates_within_sigma_by_state() {
    let set = set(2.0, 0.0);
    let mut answers = families::unfiltered(&set);
    for f in answers.iter_mut().flatten() {
        f.sigma_px[0] = [1.0; JOINTS];
        f.state = [JointState::Measured; JOINTS];
        f.state[0] = JointState::Predicted;
    }
    let r = measures::measure(&set, &answers, None).report(0.0);
    // x is off by 2 px, y is right.
    assert_eq!((r.covered_measured, r.covered_predicted), (Some(0.5), Some(0.5)));
}

/// The left wrist is never sure enough to be seen, though its place is right within 2 px.
#[test]
fn what_is_never_answered_counts_as_missed_and_has_no_motion() {
    let mut set = set(0.0, 0.0);
    for o in set.clips.iter_mut().flat_map(|c| &mut c.observed) {
        o[9][0] += 2.0;
        o[9][2] = 0.01;
    }
    let r = raw_report(&set);
    assert!((r.mpjpe.value - 50.0 / 17.0).abs() < 1e-3 && r.unseen == Some(50.0), "{r:?}");
    assert!((r.pck_10.value - 16.0 / 17.0).abs() < 1e-9, "{}", r.pck_10);
    assert!((r.ahead.unwrap() - 50.0 / 17.0 - ahead_of_the_others(&set)).abs() < 1e-3, "{:?}", r.ahead);
    // Held or not, it does not move; and once it is seen nothing jumps there from the corner of the picture.
    for clip in &mut set.clips {
        clip.observed[40..].iter_mut().for_each(|o| o[9][2] = 0.9);
    }
    assert!(raw_report(&set).acceleration.value < 0.01, "{}", raw_report(&set).acceleration);
}

/// What the 16 joints that are seen add to the error of the forecast.
fn ahead_of_the_others(set: &ClipSet) -> f64 {
    let mut seen = set.clone();
    for o in seen.clips.iter_mut().flat_map(|c| &mut c.observed) {
        o[9][2] = 0.9;
    }
    for t in seen.clips.iter_mut().flat_map(|c| &mut c.truth) {
        t[9] = None;
    }
    raw_report(&seen).ahead.unwrap() * 16.0 / 17.0
}

#[test]
fn nothing_is_off_by_more_than_what_is_not_answered() {
    let mut set = set(0.0, 0.0);
    set.clips.iter_mut().flat_map(|c| &mut c.observed).for_each(|o| o[9][0] += 9000.0);
    assert!((raw_report(&set).mpjpe.value - 50.0 / 17.0).abs() < 1e-3);
}

#[test]
fn the_same_motion_seen_again_makes_no_interval_narrower() {
    let mut set = set(2.0, 0.0);
    // Errors that differ from motion to motion.
    for (clip, by) in set.clips.iter_mut().zip([0.0, 3.0, 9.0]) {
        clip.observed.iter_mut().flatten().for_each(|o| o[0] += by);
    }
    let once = raw_report(&set);
    assert!(table(&set, &compare(&set, &[])).contains("intervals over clips"));
    set.clips.extend(set.clips.clone());
    assert!(table(&set, &compare(&set, &[])).contains("intervals over the 3 videos or motions"));
    let twice = raw_report(&set);
    let ends = |r: &Report| [r.mpjpe.value, r.mpjpe.low, r.mpjpe.high].map(|v| (v * 1e6).round());
    assert_eq!(ends(&twice), ends(&once));
    assert!(once.mpjpe.low < once.mpjpe.value && once.mpjpe.value < once.mpjpe.high, "{:?}", once.mpjpe);
}

#[test]
fn a_broken_clip_is_refused_by_name() {
    let mut clip = set(0.0, 0.0).clips.remove(1);
    clip.captured_at_us[5] = 0;
    assert!(clip.check().unwrap_err().to_string().contains("walk 1"));
    clip.extent_px.pop();
    assert!(clip.check().unwrap_err().to_string().contains("length"));
}
