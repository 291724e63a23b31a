//! `predict` on pictures made here.

use std::path::Path;
use std::process::{Command, Output};

use posewire::capture::clip::Clip;
use posewire::capture::synthetic::Synthetic;
use posewire::coco::Prediction;
use posewire::config::{Config, Models};
use posewire::tracker::Networks;
use serde_json::{Value, json};

#[cfg(target_os = "linux")]
use crate::cli::Running;
use crate::tiny;

fn posewire(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_posewire")).args(arguments).output().unwrap()
}

/// Writes the network of red squares with its manifest.
fn write_model(folder: &Path) {
    let onnx = tiny::red_heatmaps(64);
    let text = format!(
        "name = \"red\"\ntask = \"keypoints\"\nfile = \"red.onnx\"\nsha256 = \"{}\"\n[input]\nname = \"image\"\nwidth = 64\nheight = 64\n{}",
        tiny::sha256(&onnx),
        tiny::RED_CODEC
    );
    std::fs::write(folder.join("red.onnx"), onnx).unwrap();
    std::fs::write(folder.join("red.toml"), text).unwrap();
}

/// A bright square of 23 px round (x, y) on black: all 17 joints are there for [`write_model`]'s network.
fn square(x: u32, y: u32, bright: [u8; 3]) -> image::RgbImage {
    image::RgbImage::from_fn(320, 240, |i, j| {
        image::Rgb(if i.abs_diff(x) < 12 && j.abs_diff(y) < 12 { bright } else { [0; 3] })
    })
}

/// Pictures of every kind, each with a person at its square, and the labels.
fn write_pictures(folder: &Path) -> Value {
    let rgb = square(100, 80, [255, 0, 0]);
    rgb.save(folder.join("colour.png")).unwrap();
    rgb.save(folder.join("colour.jpg")).unwrap();
    let grey = image::DynamicImage::from(square(100, 80, [255; 3]));
    grey.to_luma8().save(folder.join("grey.png")).unwrap();
    grey.to_luma16().save(folder.join("grey16.png")).unwrap();
    image::DynamicImage::from(rgb).to_rgb16().save(folder.join("colour16.png")).unwrap();
    std::fs::write(folder.join("broken.jpg"), b"\xff\xd8 no picture").unwrap();
    std::fs::write(folder.join("empty.png"), b"").unwrap();
    let names = [
        "colour.png",
        "colour.jpg",
        "grey.png",
        "grey16.png",
        "colour16.png",
        "broken.jpg",
        "empty.png",
        "gone.png",
    ];
    let images: Vec<Value> = names
        .iter()
        .zip(1..)
        .map(|(name, id)| json!({"id": id, "file_name": name, "split": "val"}))
        .collect();
    // The square reaches eleven pixels to each side: its middle is the pixel (100, 80).
    let joints: Vec<f64> = (0..17).flat_map(|j| [90.0 + f64::from(j % 2) * 20.0, 80.0, 2.0]).collect();
    let annotations: Vec<Value> = (1..=names.len())
        .map(|id| {
            json!({"id": 100 + id, "image_id": id, "category_id": 1, "bbox": [60, 40, 80, 80], "area": 3200.0,
                   "iscrowd": 0, "keypoints": joints, "num_keypoints": 17})
        })
        .chain([
            json!({"id": 200, "image_id": 1, "category_id": 1, "bbox": [10, 10, 0, 0], "area": 0.0, "iscrowd": 0,
                   "keypoints": vec![0.0; 51], "num_keypoints": 0}),
            json!({"id": 202, "image_id": 1, "category_id": 1, "bbox": [10, 10, 50, -1], "area": 0.0, "iscrowd": 0,
                   "keypoints": vec![0.0; 51], "num_keypoints": 0}),
            json!({"id": 203, "image_id": 1, "category_id": 1, "bbox": [1e7, 10, 50, 50], "area": 2500.0, "iscrowd": 0,
                   "keypoints": vec![0.0; 51], "num_keypoints": 0}),
            json!({"id": 201, "image_id": 1, "category_id": 1, "bbox": [-500, -500, 90, 90], "area": 900.0,
                   "iscrowd": 0, "keypoints": vec![0.0; 51], "num_keypoints": 0}),
        ])
        .collect();
    json!({"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "person"}]})
}

#[test]
fn pictures_of_every_kind_give_results_and_unreadable_ones_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    write_model(folder.path());
    std::fs::write(folder.path().join("labels.json"), write_pictures(folder.path()).to_string()).unwrap();
    let (labels, model, results) = (path("labels.json"), path("red.toml"), path("results.json"));
    let images = folder.path().display().to_string();
    let common = ["predict", "--images", &images, "--coco", &labels, "--model", &model, "--out", &results];
    let done = posewire(&common);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("3 of 8 pictures failed") && !said.contains("none of"), "{said}");
    assert!(said.contains("3 pictures that cannot be read, 3 boxes that no network can look at"), "{said}");
    assert!(said.contains("colour.png: annotation 202: box (10, 10, 50 x -1 px): its sides"), "{said}");
    assert!(said.contains("annotation 203") && !said.contains("annotation 200"), "{said}");
    for name in ["broken.jpg", "empty.png", "gone.png"] {
        assert_eq!(said.matches(name).count(), 1, "each is told of once: {said}");
    }

    let found: Vec<Prediction> = serde_json::from_str(&std::fs::read_to_string(&results).unwrap()).unwrap();
    assert_eq!(found.len(), 6);
    for p in found.iter().filter(|p| p.annotation_id != Some(201)) {
        assert_eq!((p.category_id, p.annotation_id), (1, Some(100 + p.image_id)));
        let (x, y) = p.joint(5);
        assert!((x - 100.0).abs() < 1.5 && (y - 80.0).abs() < 1.5, "picture {}: ({x}, {y})", p.image_id);
        assert!(p.score > 0.8);
    }
    let outside = found.iter().find(|p| p.annotation_id == Some(201)).unwrap();
    assert!(outside.score < 0.2, "nobody is outside the picture: {}", outside.score);

    let joints = posewire(&[&common[..], &["--boxes", "joints"]].concat());
    let said = String::from_utf8_lossy(&joints.stderr).into_owned();
    assert!(said.contains("measure them"), "{said}");

    // A finder that would not be asked is no finder that is there.
    for boxes in [&[][..], &["--boxes", "given"], &["--boxes", "joints"]] {
        let refused = posewire(&[&common[..], boxes, &["--finder", "nosuch"]].concat());
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && said.contains("say --boxes find"), "{boxes:?}: {said}");
    }
}

#[test]
fn what_cannot_be_used_is_said_plainly() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    write_model(folder.path());
    std::fs::write(folder.path().join("labels.json"), write_pictures(folder.path()).to_string()).unwrap();
    let mut damaged = std::fs::read(folder.path().join("red.onnx")).unwrap();
    damaged[100] ^= 1;
    std::fs::write(folder.path().join("damaged.onnx"), damaged).unwrap();
    let manifest = std::fs::read_to_string(folder.path().join("red.toml")).unwrap();
    std::fs::write(folder.path().join("damaged.toml"), manifest.replace("red.onnx", "damaged.onnx")).unwrap();
    std::fs::write(folder.path().join("odd.toml"), manifest.replace("stride = 4", "stride = 2")).unwrap();
    std::fs::write(folder.path().join("no.json"), "{").unwrap();
    let images = folder.path().display().to_string();
    let (labels, model) = (path("labels.json"), path("red.toml"));
    for (images, labels, model, split, says) in [
        (&images, &path("gone.json"), &model, "val", "gone.json"),
        (&images, &path("no.json"), &model, "val", "not a COCO keypoints file"),
        (&images, &labels, &model, "test", "no pictures of split \"test\""),
        (&images, &labels, &path("gone.toml"), "val", "gone.toml"),
        (&images, &labels, &path("damaged.toml"), "val", "sha256"),
        (&images, &labels, &path("odd.toml"), "val", "[17, 32, 32]"),
        (&path("nowhere"), &labels, &model, "val", "none of the 8 pictures"),
    ] {
        let out = path("results.json");
        let done = posewire(&[
            "predict", "--images", images, "--coco", labels, "--model", model, "--split", split, "--out",
            &out,
        ]);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!done.status.success() && said.contains(says), "wanted {says:?}: {said}");
    }
}

#[test]
fn persons_are_found_without_boxes_by_the_built_in_networks() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let mut labels = write_pictures(folder.path());
    let frame = Synthetic::new(1, 320, 240, 30.0, 3).unwrap().next().unwrap();
    let rendered = image::RgbImage::from_raw(320, 240, frame.bytes.to_vec()).unwrap();
    rendered.save(folder.path().join("person.png")).unwrap();
    let image = json!({"id": 9, "file_name": "person.png", "split": "val"});
    labels["images"].as_array_mut().unwrap().push(image);
    std::fs::write(folder.path().join("labels.json"), labels.to_string()).unwrap();
    let (images, labels, out) =
        (folder.path().display().to_string(), path("labels.json"), path("results.json"));
    let done =
        posewire(&["predict", "--images", &images, "--coco", &labels, "--boxes", "find", "--out", &out]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("measure them"), "{said}");
    // A square is nobody, but whatever is found must be a whole result.
    let found: Vec<Prediction> = serde_json::from_str(&std::fs::read_to_string(out).unwrap()).unwrap();
    assert!(found.iter().all(|p| p.keypoints.len() == 51 && (0.0..=1.0).contains(&p.score)));
    assert!(found.iter().any(|p| p.image_id == 9 && p.score > 0.5), "{found:?}");
}

#[test]
fn beside_a_network_without_a_word_on_presence_finds_count_by_themselves() {
    let folder = tempfile::tempdir().unwrap();
    write_model(folder.path());
    let models = Config::default().models;
    let both = |models: &Models| Networks::load(models).unwrap().finder.unwrap().both(0.9, 0.3);
    assert_ne!(both(&models), 0.3);
    let keypoints = folder.path().join("red.toml").display().to_string();
    assert_eq!(both(&Models { keypoints, ..models }), 0.3);
}

#[test]
fn a_broken_network_beside_the_binary_keeps_none_from_being_listed() {
    let folder = tempfile::tempdir().unwrap();
    let models = folder.path().join("models");
    std::fs::create_dir(&models).unwrap();
    write_model(&models);
    let manifest = std::fs::read_to_string(models.join("red.toml")).unwrap();
    std::fs::rename(models.join("red.toml"), models.join("keypoints-red.toml")).unwrap();
    let without = manifest.replace("red.onnx", "gone.onnx");
    std::fs::write(models.join("keypoints-broken.toml"), without).unwrap();
    let list = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_posewire"));
        let done = command.arg("models").current_dir(&folder).output().unwrap();
        (done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned())
    };
    let (code, said) = list();
    assert!(said.contains("\nbroken ") && said.contains("gone.onnx") && said.contains("\nred "), "{said}");
    assert_eq!(code, Some(1), "{said}");
    std::fs::remove_file(models.join("keypoints-broken.toml")).unwrap();
    let (code, said) = list();
    assert!(code == Some(0) && said.contains("\nred "), "{said}");
}

#[test]
fn the_networks_in_the_binary_are_listed_with_their_cards() {
    let done = posewire(&["models"]);
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success() && said.lines().count() >= 2 && said.contains("person"), "{said}");
    let name = said.split_whitespace().next().unwrap();
    let card = posewire(&["models", name]);
    let card = String::from_utf8_lossy(&card.stdout).into_owned();
    assert!(card.contains("sha256") && card.contains("licence") && card.contains("output"), "{card}");
    let both = posewire(&["models", name, "--fastest", "--explain"]);
    let said = String::from_utf8_lossy(&both.stderr).into_owned();
    assert!(both.status.code() == Some(2) && said.contains("cannot be used with"), "{said}");
    let done = posewire(&["models", "no-such-network"]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(
        done.status.code() == Some(2)
            && said.contains("there are nano, small, person, base, base-usable, large"),
        "{said}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn results_of_the_pictures_before_a_signal_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    write_model(folder.path());
    square(100, 80, [255, 0, 0]).save(folder.path().join("a.png")).unwrap();
    let images: Vec<Value> = (0..100_000).map(|id| json!({"id": id, "file_name": "a.png"})).collect();
    let person = json!({"id": 1, "image_id": 0, "bbox": [60, 40, 80, 80]});
    let labels = json!({"images": images, "annotations": [person]});
    std::fs::write(folder.path().join("labels.json"), labels.to_string()).unwrap();
    let log = std::fs::File::create(folder.path().join("log")).unwrap();
    let mut predict = Running::start(
        Command::new(env!("CARGO_BIN_EXE_posewire"))
            .args(["predict", "--images", ".", "--coco", "labels.json", "--model", "red.toml"])
            .args(["--out", "results.json"])
            .current_dir(&folder)
            .stderr(log),
    );
    predict.wait_until_it_listens();
    std::thread::sleep(std::time::Duration::from_secs(1));
    predict.interrupt();
    let status = predict.wait_within(std::time::Duration::from_secs(60));
    let said = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(status.code() == Some(1) && said.contains("of 100000 pictures; their results are in"), "{said}");
    assert!(!folder.path().join("results.json").exists());
    let is_part = |path: &std::path::PathBuf| path.extension().is_some_and(|e| e == "part");
    let mut files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let kept = std::fs::read_to_string(files.find(is_part).unwrap()).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Prediction>>(&kept).unwrap().len(), 1);
}
