//! Bad input as a user meets it: the real binary says what is wrong, where, and what to do, or goes on and counts it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::cli::{Running, posewire};
use crate::tiny::sha256;

const LONG: Duration = Duration::from_secs(60);

fn stderr(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

#[test]
fn without_any_camera_auto_says_so_and_what_else_there_is() {
    let is_camera = |e: &fs::DirEntry| e.file_name().as_encoded_bytes().starts_with(b"video");
    if fs::read_dir("/dev").unwrap().flatten().any(|e| is_camera(&e)) {
        eprintln!("SKIPPED: this machine has a camera");
        return;
    }
    let out = posewire(&["run", "--camera", "auto", "--no-wait"]);
    let text = stderr(&out);
    assert_eq!(out.status.code(), Some(1), "{text}");
    assert!(text.contains("no camera found") && text.contains("--replay FILE"), "{text}");
    // Nor does the clip run in the place of a camera that is not to be waited for.
    let out = posewire(&["run", "--no-wait"]);
    let text = stderr(&out);
    assert!(out.status.code() == Some(1) && text.contains("no camera found"), "{text}");
}

/// Root may open everything, so there the tracker runs as nobody.
#[test]
fn what_may_not_be_opened_is_refused_with_the_cure() {
    let folder = tempfile::tempdir().unwrap();
    let open_to_all = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    open_to_all(folder.path());
    let binary = folder.path().join("posewire");
    fs::copy(env!("CARGO_BIN_EXE_posewire"), &binary).unwrap();
    open_to_all(&binary);
    let device = folder.path().join("device");
    fs::write(&device, "").unwrap();
    fs::set_permissions(&device, fs::Permissions::from_mode(0o000)).unwrap();
    let is_root = fs::read_to_string(&device).is_ok();
    if is_root && Command::new("setpriv").arg("--version").output().is_err() {
        eprintln!("SKIPPED: run by root without setpriv (util-linux)");
        return;
    }
    let run = |args: &[&str]| {
        let mut command = if is_root {
            let mut setpriv = Command::new("setpriv");
            setpriv.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&binary);
            setpriv
        } else {
            Command::new(&binary)
        };
        command.arg("run").args(args).output().unwrap()
    };
    let device = device.to_str().unwrap();
    for (args, cure) in [
        (&["--camera", device, "--no-wait"][..], "usermod -aG video"),
        (&["--synthetic", "--serial", device], "usermod -aG dialout"),
        (&["--replay", device], "Permission denied"),
    ] {
        let out = run(args);
        let text = stderr(&out);
        assert_eq!(out.status.code(), Some(1), "{args:?}: {text}");
        assert!(text.contains(device) && text.contains(cure), "{args:?}: {text}");
    }
}

#[test]
fn a_model_that_cannot_be_used_ends_the_run_with_its_file_and_reason() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let manifest = fs::read_to_string("models/keypoints-small.toml").unwrap();
    let onnx = fs::read("models/keypoints-small.onnx").unwrap();
    let sum = sha256(&onnx);
    let half = &onnx[..onnx.len() / 2];
    fs::write(at("half.onnx"), half).unwrap();
    fs::write(at("whole.onnx"), &onnx).unwrap();
    let weights = &fs::read("models/temporal-xl.pwt").unwrap()[..5_000];
    fs::write(at("weights.pwt"), weights).unwrap();
    let temporal =
        fs::read_to_string("models/temporal-xl.toml").unwrap().replace("temporal-xl.pwt", "weights.pwt");
    fs::write(at("temporal.toml"), &temporal).unwrap();
    let old_sum = temporal.split('"').find(|word| word.len() == 64).unwrap();
    fs::write(at("cut.toml"), temporal.replace(old_sum, &sha256(weights))).unwrap();
    let with = |name: &str, file: &str, sum: &str, width: &str| {
        let text = manifest
            .replace("keypoints-small.onnx", file)
            .replace(&sha256(&onnx), sum)
            .replace("width = 160", width);
        fs::write(at(name), text).unwrap();
    };
    with("gone.toml", "gone.onnx", &sum, "width = 160");
    with("sum.toml", "half.onnx", &sum, "width = 160");
    with("half.toml", "half.onnx", &sha256(half), "width = 160");
    with("shape.toml", "whole.onnx", &sum, "width = 192");
    fs::write(at("typo.toml"), manifest.replace("stride = 4", "strife = 4")).unwrap();
    for (role, file, words) in [
        ("keypoints", "whole.onnx", &["whole.onnx", "not a manifest"][..]),
        ("keypoints", "gone.toml", &["gone.onnx", "cannot be read"]),
        ("keypoints", "sum.toml", &["half.onnx", "sha256"]),
        ("keypoints", "half.toml", &["half.onnx"]),
        ("keypoints", "shape.toml", &["whole.onnx", "has shape [1, 3, 160, 160]"]),
        ("keypoints", "typo.toml", &["typo.toml", "strife"]),
        ("finder", "sum.toml", &["half.onnx", "sha256"]),
        ("temporal", "weights.pwt", &["weights.pwt", "not a manifest"]),
        ("temporal", "temporal.toml", &["weights.pwt", "sha256"]),
        ("temporal", "cut.toml", &["cut.toml", "temporal weights", "posetrain.temporal.export"]),
    ] {
        let config = at("posewire.toml");
        fs::write(&config, format!("[models]\n{role} = {:?}\n", at(file))).unwrap();
        let out = posewire(&["run", "--synthetic", "--frames", "2", "--config", config.to_str().unwrap()]);
        let text = stderr(&out);
        assert_eq!(out.status.code(), Some(1), "{role} {file}: {text}");
        for word in words {
            assert!(text.contains(word), "{role} {file}: no {word:?} in\n{text}");
        }
    }
}

#[test]
fn what_the_smoother_leaves_unused_is_told() {
    let ran = ["run", "--synthetic", "--no-drop", "--frames", "2", "--jsonl", "/dev/null"];
    for (args, word) in [
        (&["--temporal", "models/temporal-gru.toml"][..], "models/temporal-gru.toml is not used"),
        (&["--camera-height", "1.5"], "--smoother kalman gives no 3D poses"),
    ] {
        let out = posewire(&[&ran, &["--smoother", "kalman"][..], args].concat());
        let text = stderr(&out);
        assert!(out.status.success() && text.contains(word), "{args:?}: {text}");
    }
}

/// One folder with everything that a folder of pictures can have wrong: the good ones come through, in order.
#[test]
fn a_folder_of_bad_pictures_costs_only_the_bad_ones() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let picture = |name: &str, width: u32, height: u32| {
        image::RgbImage::from_fn(width, height, |x, y| image::Rgb([x as u8, y as u8, 90]))
            .save(at(name))
            .unwrap();
    };
    picture("0.jpg", 64, 48);
    fs::write(at("1.jpg"), []).unwrap();
    picture("2.jpg", 1, 1);
    // The header of a picture of 10,000 × 10,000.
    let mut huge = fs::read(at("0.jpg")).unwrap();
    let sof = huge.windows(2).position(|m| m == [0xff, 0xc0]).unwrap();
    huge[sof + 5..sof + 9].copy_from_slice(&[0x27, 0x10, 0x27, 0x10]);
    fs::write(at("3.jpg"), huge).unwrap();
    picture("4.png", 300, 200);
    fs::write(at("5.jpg"), &fs::read(at("0.jpg")).unwrap()[..100]).unwrap();
    picture("6.jpg", 640, 480);
    let out = posewire(&["run", "--no-drop", "--replay", folder.path().to_str().unwrap()]);
    assert!(out.status.success(), "{}", stderr(&out));
    let number =
        |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["frame"].as_u64().unwrap();
    let frames: Vec<u64> = String::from_utf8_lossy(&out.stdout).lines().map(number).collect();
    assert_eq!(frames, [0, 2, 4, 6], "{}", stderr(&out));
}

/// Writes a picture that is whole on the outside: it is refused when it is decoded.
fn write_damaged(path: &Path) {
    image::RgbImage::new(64, 48).save(path).unwrap();
    let mut jpeg = fs::read(path).unwrap();
    // Coded data that no table has codes for.
    let scan = jpeg.windows(2).position(|m| m == [0xff, 0xda]).unwrap();
    jpeg.truncate(scan);
    jpeg.extend([0xff, 0xd9]);
    fs::write(path, jpeg).unwrap();
}

#[test]
fn pictures_that_are_damaged_in_a_row_are_told_of_ever_less_often() {
    let folder = tempfile::tempdir().unwrap();
    for i in (0..22).filter(|i| *i != 20) {
        write_damaged(&folder.path().join(format!("{i:02}.jpg")));
    }
    image::RgbImage::new(64, 48).save(folder.path().join("20.jpg")).unwrap();
    let out =
        posewire(&["run", "--no-drop", "--replay", folder.path().to_str().unwrap(), "--jsonl", "/dev/null"]);
    let text = stderr(&out);
    assert!(out.status.success(), "{text}");
    let told: Vec<u32> =
        [1, 2, 4, 8, 16].map(|n| text.matches(&format!("({n} in a row)")).count() as u32).to_vec();
    assert_eq!((told, text.matches(" in a row)").count()), (vec![2, 1, 1, 1, 1], 6), "{text}");
}

/// As often as a serial line fails.
#[cfg(target_os = "linux")]
#[test]
fn an_output_that_fails_each_time_says_so_once() {
    let cable = crate::pty::Pty::open();
    let port = cable.path.to_str().unwrap();
    let out = posewire(&[
        "run",
        "--synthetic",
        "--no-drop",
        "--frames",
        "20",
        "--serial",
        port,
        "--inject",
        "serial.fail=1",
    ]);
    let text = stderr(&out);
    assert!(out.status.success(), "{text}");
    assert_eq!(text.matches("injected fault: serial.fail").count(), 1, "{text}");
}

#[test]
fn pictures_of_which_none_can_be_used_are_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    for i in 0..3 {
        write_damaged(&folder.path().join(format!("{i}.jpg")));
    }
    let out = posewire(&["run", "--no-drop", "--replay", folder.path().to_str().unwrap()]);
    let text = stderr(&out);
    assert_eq!(out.status.code(), Some(1), "{text}");
    assert!(text.contains("none of the 3 frames can be used; the last: "), "{text}");
}

/// Two outputs, one of which fails: its error is said when it happens, and not again at the end.
#[test]
fn an_error_is_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let pictures = format!("png:{}", folder.path().display());
    let args =
        ["run", "--synthetic", "--no-drop", "--frames", "20", "--jsonl", "/dev/full", "--display", &pictures];
    let out = posewire(&args);
    let text = stderr(&out);
    assert_eq!(out.status.code(), Some(1), "{text}");
    assert_eq!(text.matches("No space left").count(), 1, "{text}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 20, "the other output went on");
}

#[test]
fn what_cannot_be_used_is_said_before_anything_is_measured() {
    for args in [
        &["bench", "--replay", "/nope"][..],
        &["bench", "--json", "/nowhere/figures.json"],
        &["predict", "--images", ".", "--coco", "Cargo.toml", "--out", "/nowhere/results.json"],
        &["calibrate", "--camera", "/dev/null", "--out", "/nowhere/camera.toml"],
    ] {
        let began = Instant::now();
        let out = posewire(args);
        let text = stderr(&out);
        assert_eq!(out.status.code(), Some(1), "{args:?}: {text}");
        assert!(text.contains("/no") && began.elapsed() < Duration::from_secs(5), "{args:?}: {text}");
        assert_eq!(text.matches("No such file").count(), 1, "{args:?}: {text}");
    }
}

#[test]
fn what_cannot_be_meant_is_refused_with_what_can() {
    for (args, words) in [
        (
            &["run", "--synthetic", "--frames", "1", "--udp", "127.0.0.1:0"][..],
            "--udp 127.0.0.1:0: nobody can receive at port 0",
        ),
        (
            &["run", "--synthetic", "--frames", "1", "--osc", "localhost:0"],
            "--osc localhost:0: nobody can receive at port 0",
        ),
        (&["run", "--synthetic", "--frames", "1", "--rotate", "-90"], "0, 90, 180 or 270"),
        (&["run", "--synthetic", "--frames", "1", "--rotate=-90"], "0, 90, 180 or 270"),
    ] {
        let out = posewire(args);
        let text = stderr(&out);
        assert!(out.status.code() == Some(2) && text.contains(words), "{args:?}: {text}");
    }
}

#[test]
fn a_full_disk_ends_the_run_with_what_to_do() {
    let out = posewire(&["run", "--synthetic", "--no-drop", "--frames", "20", "--jsonl", "/dev/full"]);
    let text = stderr(&out);
    assert_eq!(out.status.code(), Some(1), "{text}");
    assert!(text.contains("/dev/full") && text.contains("make room"), "{text}");
}

/// The cable is pulled out while the tracker runs: other outputs go on, and it ends well.
#[cfg(target_os = "linux")]
#[test]
fn a_port_that_vanishes_costs_the_other_outputs_nothing() {
    use crate::pty::Pty;

    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (port, lines, log) = (at("port"), at("poses.jsonl"), at("log"));
    let cable = Pty::open();
    symlink(&cable.path, &port).unwrap();
    let mut child = Running::start(
        Command::new(env!("CARGO_BIN_EXE_posewire"))
            .args([
                "run",
                "--synthetic",
                "--serial",
                port.to_str().unwrap(),
                "--jsonl",
                lines.to_str().unwrap(),
            ])
            .stderr(fs::File::create(&log).unwrap()),
    );
    let began = Instant::now();
    let wait_for = |n: usize| {
        while fs::read_to_string(&lines).unwrap_or_default().lines().count() < n {
            assert!(began.elapsed() < LONG, "no {n} lines");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    wait_for(5);
    assert!(!cable.read_now().is_empty(), "poses went over the cable");
    fs::remove_file(&port).unwrap();
    drop(cable);
    let before = fs::read_to_string(&lines).unwrap().lines().count();
    wait_for(before + 20);
    child.terminate();
    let status = child.wait_within(LONG);
    let text = fs::read_to_string(&log).unwrap();
    assert_eq!(status.code(), Some(0), "{text}");
    assert!(text.contains("lost") && text.contains("looking for it again"), "{text}");
}

/// As where the log is on a full disk: what was done is done.
#[cfg(target_os = "linux")]
#[test]
fn a_log_that_cannot_be_written_changes_no_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    let full = || fs::File::options().write(true).open("/dev/full").unwrap();
    let status = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_posewire"));
        command.args(args).current_dir(&folder).stderr(full()).output().unwrap().status.code()
    };
    let record = ["record", "clip.avi", "--synthetic", "--size", "160x120", "--frames", "3"];
    assert_eq!(status(&record), Some(0));
    assert!(folder.path().join("clip.avi").is_file());
    assert_eq!(status(&["calibrate", "--print", "board.pdf"]), Some(0));
    fs::write(folder.path().join("labels.json"), r#"{"images": [{"id": 1, "file_name": "a.png"}]}"#).unwrap();
    image::RgbImage::new(64, 64).save(folder.path().join("a.png")).unwrap();
    let predict = ["predict", "--images", ".", "--coco", "labels.json", "--out", "results.json"];
    assert_eq!(status(&predict), Some(0));
    assert_eq!(fs::read_to_string(folder.path().join("results.json")).unwrap(), "[]");
    // What is ended from outside.
    let mut view = Running::start(
        Command::new(env!("CARGO_BIN_EXE_posewire"))
            .args(["view", "clip.avi", "--web", "127.0.0.1:0"])
            .current_dir(&folder)
            .stderr(full()),
    );
    view.wait_until_it_listens();
    std::thread::sleep(Duration::from_secs(1));
    view.terminate();
    assert_eq!(view.wait_within(LONG).code(), Some(0));
    let cable = crate::pty::Pty::open();
    let mut read = Running::start(
        Command::new(env!("CARGO_BIN_EXE_posewire")).arg("read").arg(&cable.path).stderr(full()),
    );
    read.wait_until_it_listens();
    read.terminate();
    assert_eq!(read.wait_within(LONG).code(), Some(0));
}
