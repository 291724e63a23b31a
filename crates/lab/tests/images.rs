//! Accuracy on pictures: the measures against COCO's own tools, and the command.

use std::path::Path;
use std::process::Command;

use posewire::coco::{GroundTruth, Prediction};
use posewire_lab::images::{draw_curve, measure};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Golden {
    truth: Value,
    results: Vec<Prediction>,
    expected: std::collections::BTreeMap<String, f64>,
}

#[test]
fn average_precision_is_what_coco_s_own_tools_say() {
    let golden: Golden = serde_json::from_str(include_str!("golden/oks_ap.json")).unwrap();
    let truth = GroundTruth::parse(&golden.truth.to_string(), None).unwrap();
    let measured = measure(&truth, &golden.results).oks;
    for (name, value) in [
        ("ap", measured.ap),
        ("ap50", measured.ap50),
        ("ap75", measured.ap75),
        ("ap_medium", measured.ap_medium),
        ("ap_large", measured.ap_large),
        ("ar", measured.ar),
    ] {
        let (value, expected) = (value.unwrap(), golden.expected[name]);
        assert!((value - expected).abs() < 1e-9, "{name}: {value}, COCO's tools say {expected}");
    }
}

#[test]
fn pck_counts_joints_within_a_part_of_the_extent_and_missed_persons_as_wrong() {
    let joints =
        |dx: f64| -> Vec<f64> { (0..17).flat_map(|j| [100.0 + dx, 10.0 * f64::from(j), 2.0]).collect() };
    let label = |id: u64| json!({"id": id, "image_id": id, "bbox": [100, 0, 1, 160], "area": 80.0, "keypoints": joints(0.0)});
    let truth = json!({"images": [{"id": 1, "file_name": "a"}, {"id": 2, "file_name": "b"}],
                       "annotations": [label(1), label(2)]});
    let truth = GroundTruth::parse(&truth.to_string(), None).unwrap();
    let result = |image_id: u64, dx: f64, annotation_id| Prediction {
        image_id,
        category_id: 1,
        keypoints: joints(dx),
        score: 0.9,
        annotation_id,
    };
    // 12 px of an extent of 160 px: within 0.1, not within 0.05; the second person is missed.
    let one = measure(&truth, &[result(1, 12.0, Some(1))]).pck;
    assert_eq!(one.shares.iter().map(|s| s.value).collect::<Vec<_>>(), [0.0, 0.5, 0.5]);
    assert!(one.shares[1].low == 0.0 && one.shares[1].high == 1.0, "two pictures leave much open");
    // Found, not given: the nearest result counts, one for each person, and none from across the picture.
    let found = measure(&truth, &[result(1, 90.0, None), result(1, 1.0, None), result(2, 900.0, None)]).pck;
    assert_eq!(found.shares[0].value, 0.5);
    let all = measure(&truth, &[result(1, 0.0, Some(1)), result(2, 0.0, None)]).pck;
    assert_eq!((all.shares[0].value, all.shares[0].low, all.shares[0].high), (1.0, 1.0, 1.0));
    assert_eq!(all, measure(&truth, &[result(1, 0.0, Some(1)), result(2, 0.0, None)]).pck, "draws repeat");
    assert!(draw_curve("t", &all.curve).pixels().any(|p| p.0 == [30, 100, 200]), "the curve is drawn");
}

/// 17 joints at one place, one pixel of extent down.
fn person(x: f64) -> Vec<f64> {
    (0..17).flat_map(|j| [x, 10.0 * f64::from(j), 2.0]).collect()
}

fn lab(arguments: &[&Path]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_posewire-lab")).arg("images").args(arguments).output().unwrap()
}

#[test]
fn the_command_prints_a_table_and_writes_the_curve_and_all_figures() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let image = |id: u64, split: &str| json!({"id": id, "file_name": format!("{id}.png"), "split": split});
    let label = |id: u64| json!({"id": id, "image_id": id, "bbox": [100, 0, 1, 160], "area": 80.0, "keypoints": person(100.0)});
    let result =
        |id: u64| json!({"image_id": id, "category_id": 1, "keypoints": person(100.0), "score": 0.9});
    let labels = json!({"images": [image(1, "val"), image(2, "val"), image(3, "train")], "annotations": [label(1), label(2), label(3)]});
    std::fs::write(path("labels.json"), labels.to_string()).unwrap();
    std::fs::write(path("results.json"), json!([result(1), result(3)]).to_string()).unwrap();
    let (labels, results) = (path("labels.json"), path("results.json"));
    let (plot, figures) = (path("pck.png"), path("figures.json"));
    let [coco, of, split, val, plot_to, json_to] =
        ["--coco", "--results", "--split", "val", "--plot", "--json"].map(Path::new);
    let done = lab(&[coco, &labels, of, &results, split, val, plot_to, &plot, json_to, &figures]);
    let table = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success() && table.contains("| PCK@0.1 | 0.500 |"), "{table}");
    assert!(table.contains("| OKS-AP |"), "{table}");
    let figures: Value = serde_json::from_str(&std::fs::read_to_string(figures).unwrap()).unwrap();
    assert_eq!((&figures["persons"], &figures["predictions"]), (&json!(2), &json!(1)), "val alone");
    assert_eq!(image::image_dimensions(plot).unwrap(), (640, 420));

    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("1 of 2 results are of other pictures"), "{said}");

    let done = lab(&[coco, &results, of, &labels]);
    assert!(
        !done.status.success() && String::from_utf8_lossy(&done.stderr).contains("not a COCO keypoints file")
    );
}

#[test]
fn results_of_other_pictures_or_other_joints_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let label =
        json!({"id": 1, "image_id": 1, "bbox": [100, 0, 1, 160], "area": 80.0, "keypoints": person(100.0)});
    let labels = json!({"images": [{"id": 1, "file_name": "1.png"}], "annotations": [label]});
    std::fs::write(path("labels.json"), labels.to_string()).unwrap();
    let result = |image_id: u64, keypoints: &[f64]| json!({"image_id": image_id, "category_id": 1, "keypoints": keypoints, "score": 0.9});
    let whole = person(100.0);
    let [coco, of] = ["--coco", "--results"].map(Path::new);
    for (results, expected) in [
        (json!([]), None),
        (json!([result(1, &whole)]), None),
        (json!([result(999, &whole)]), Some("all 1 results are of pictures that")),
        (
            json!([result(1, &whole), result(1, &[1.0])]),
            Some("result 2 has 1 numbers as keypoints, where 51"),
        ),
    ] {
        std::fs::write(path("results.json"), results.to_string()).unwrap();
        let done = lab(&[coco, &path("labels.json"), of, &path("results.json")]);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(i32::from(expected.is_some())), "{said}");
        assert!(expected.is_none_or(|words| said.contains(words)), "{said}");
        assert_eq!(done.stdout.is_empty(), expected.is_some(), "{said}");
    }
}

/// As in a log on a full disk.
#[test]
#[cfg(target_os = "linux")]
fn what_is_measured_is_no_failure_where_nobody_can_be_told_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("labels.json"), json!({"images": [{"id": 1, "file_name": "1.png"}]}).to_string())
        .unwrap();
    std::fs::write(path("results.json"), "[]").unwrap();
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    for (results, status) in [("results.json", 0), ("none.json", 1)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_posewire-lab"));
        command.arg("images").arg("--coco").arg(path("labels.json")).arg("--results").arg(path(results));
        let ended = command.stderr(full()).output().unwrap().status;
        assert_eq!(ended.code(), Some(status), "{results}");
    }
}
