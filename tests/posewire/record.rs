//! `posewire record`: what ends in the file, and what a full disk leaves of it.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::Duration;

use posewire::capture::{CaptureError, SourceConfig, open};
use posewire::picture::Frame;

fn frames_of(config: &SourceConfig) -> Vec<Frame> {
    let mut source = open(config).unwrap();
    let mut frames = Vec::new();
    loop {
        match source.next_frame(Duration::from_secs(5)) {
            Ok(frame) => frames.push(frame.unwrap()),
            Err(CaptureError::Ended) => return frames,
            Err(error) => panic!("{error}"),
        }
    }
}

fn replay_of(path: &std::path::Path) -> Vec<Frame> {
    frames_of(&SourceConfig::Replay { path: path.into(), no_drop: true })
}

#[test]
fn a_recording_holds_every_frame_as_it_came() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clip.avi");
    let out = Command::new(env!("CARGO_BIN_EXE_posewire"))
        .args(["record", "--synthetic", "--size", "160x120", "--seed", "5", "--frames", "12"])
        .arg(&path)
        .output()
        .unwrap();
    let told = String::from_utf8(out.stderr).unwrap();
    assert!(told.contains("track it") && told.contains("--no-drop"), "{told}");
    assert!(out.status.success() && told.contains("12 frames"), "{told}");
    let original = frames_of(&SourceConfig::Synthetic {
        persons: 1,
        width: 160,
        height: 120,
        fps: 30.0,
        seed: 5,
        frames: Some(12),
        no_drop: true,
    });
    let recorded = replay_of(&path);
    assert_eq!(recorded.len(), 12);
    for (was, is) in original.iter().zip(&recorded) {
        assert_eq!((is.seq, is.captured_at_us), (was.seq, was.captured_at_us));
        assert_eq!(is.bytes, was.bytes);
    }
}

#[test]
fn a_recording_into_a_pipe_is_refused_and_waits_for_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("my pipe.avi");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let out = Command::new(env!("CARGO_BIN_EXE_posewire"))
        .args(["record", "--synthetic", "--frames", "2"])
        .arg(&pipe)
        .output()
        .unwrap();
    let told = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.code() == Some(1) && told.contains("it is a pipe"), "{told}");
}

#[test]
fn a_full_disk_ends_a_recording_that_can_still_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clip.avi");
    // A limit on the size of files stands in for the disk; the signal that comes with it is not wanted.
    let out = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 256; exec \"$0\" record --synthetic --size 160x120 \"$1\""])
        .args([env!("CARGO_BIN_EXE_posewire").as_ref(), path.as_os_str()])
        .output()
        .unwrap();
    let told = String::from_utf8(out.stderr).unwrap();
    assert_eq!((out.status.code(), out.status.signal()), (Some(1), None), "{told}");
    assert!(told.contains("clip.avi: recording ends after") && told.contains("make room"), "{told}");
    let frames = replay_of(&path);
    assert!(frames.len() > 2, "{} frames", frames.len());
    assert!(told.contains(&format!("after {} frames", frames.len())), "{told}");
    assert!(fs::metadata(&path).unwrap().len() <= 256 * 1024);
}

#[test]
fn the_built_in_clip_is_recorded_for_as_long_as_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    for (limit, frames) in [(["--frames", "310"], 310), (["--seconds", "10.5"], 316)] {
        let path = folder.path().join("clip.avi");
        let out = Command::new(env!("CARGO_BIN_EXE_posewire"))
            .args(["record", "--synthetic", "--size", "160x120"])
            .args(limit)
            .arg(&path)
            .output()
            .unwrap();
        let told = String::from_utf8(out.stderr).unwrap();
        assert!(out.status.success() && told.contains(&format!(": {frames} frames")), "{told}");
    }
}

#[test]
fn a_disk_that_is_full_before_the_first_frame_leaves_no_file_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let out = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" record --synthetic \"$1\""])
        .args([env!("CARGO_BIN_EXE_posewire").as_ref(), folder.path().join("clip.avi").as_os_str()])
        .output()
        .unwrap();
    let told = String::from_utf8(out.stderr).unwrap();
    assert!(out.status.code() == Some(1) && told.contains("there is no new file"), "{told}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn an_old_recording_is_replaced_only_by_a_whole_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let record = |args: &[&str]| {
        let out =
            Command::new(env!("CARGO_BIN_EXE_posewire")).current_dir(&folder).args(args).output().unwrap();
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    };
    let (code, told) = record(&["record", "a.avi", "--synthetic", "--size", "160x120", "--frames", "6"]);
    assert_eq!(code, Some(0), "{told}");
    let old = fs::read(at("a.avi")).unwrap();
    fs::hard_link(at("a.avi"), at("hard.avi")).unwrap();
    std::os::unix::fs::symlink("a.avi", at("soft.avi")).unwrap();
    fs::write(at("broken.mjpeg"), [0xff, 0xd8, 0xff, 0xd9]).unwrap();
    fs::write(at("posewire.toml"), "[source]\nreplay = \"a.avi\"\n").unwrap();
    for (args, expected) in [
        (&["record", "a.avi", "--replay", "a.avi"][..], 2),
        (&["record", "hard.avi", "--replay", "a.avi"], 2),
        (&["record", "soft.avi", "--replay", "./a.avi"], 2),
        (&["record", "a.avi", "--synthetic", "--seconds=-1"], 2),
        (&["record", "a.avi", "--synthetic", "--seconds=NaN"], 2),
        (&["record", "a.avi", "--synthetic", "--seconds=inf"], 2),
        (&["record", "a.avi", "--replay", "broken.mjpeg"], 1),
        (&["record", "a.mp4", "--synthetic"], 2),
        (&["record", "-", "--synthetic"], 2),
        (&["run", "--replay", "a.avi", "--jsonl", "a.avi"], 2),
        (&["run", "--replay", "a.avi", "--jsonl", "soft.avi"], 2),
        (&["run", "--config", "posewire.toml", "--jsonl", "hard.avi"], 2),
        (&["run", "--config", "posewire.toml", "--jsonl", "posewire.toml"], 2),
        (&["run", "--replay", ".", "--display", "png:."], 2),
    ] {
        let (code, told) = record(args);
        assert_eq!(code, Some(expected), "{args:?}: {told}");
        assert!(fs::read(at("a.avi")).unwrap() == old, "{args:?} changed it");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 5, "nothing is left behind");
    assert!(fs::read_to_string(at("posewire.toml")).unwrap().contains("replay"));
    let (code, told) = record(&["record", "a.avi", "--synthetic", "--size", "160x120", "--frames", "2"]);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(replay_of(&at("a.avi")).len(), 2);
}

/// A camera or an image sequence may send a frame that no decoder reads.
#[test]
fn a_frame_that_cannot_be_recorded_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (pictures, path) = (folder.path().join("pictures"), folder.path().join("clip.avi"));
    fs::create_dir(&pictures).unwrap();
    for i in 0..3 {
        image::RgbImage::new(8, 8).save(pictures.join(format!("{i}.png"))).unwrap();
    }
    // Wider than a JPEG can be.
    image::RgbImage::new(66_000, 2).save(pictures.join("1b.png")).unwrap();
    let out = Command::new(env!("CARGO_BIN_EXE_posewire"))
        .args(["record".as_ref(), path.as_os_str(), "--replay".as_ref(), pictures.as_os_str()])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && told.contains("3 frames") && told.contains("1 left out"), "{told}");
    assert_eq!(replay_of(&path).len(), 3);
}

/// The size limit's signal ends neither a recording nor JSON lines before they are whole.
#[test]
fn a_limit_on_the_size_of_files_leaves_whole_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poses.jsonl");
    let out = Command::new("sh")
        .args(["-c", "ulimit -f 20; exec \"$0\" run --synthetic --no-drop --smoother none --jsonl \"$1\""])
        .args([env!("CARGO_BIN_EXE_posewire").as_ref(), path.as_os_str()])
        .output()
        .unwrap();
    let told = String::from_utf8(out.stderr).unwrap();
    assert_eq!((out.status.code(), out.status.signal()), (Some(1), None), "{told}");
    assert!(told.contains("poses.jsonl") && told.contains("make room"), "{told}");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.lines().count() > 2 && text.ends_with("}\n"), "{} lines", text.lines().count());
    assert!(text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
}

#[test]
fn what_cannot_be_recorded_is_said() {
    let refused = |args: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_posewire")).arg("record").args(args).output().unwrap();
        assert!(!out.status.success());
        String::from_utf8(out.stderr).unwrap()
    };
    let nowhere = refused(&["/nowhere/clip.avi", "--synthetic"]);
    assert!(nowhere.contains("/nowhere/clip.avi: cannot be created"), "{nowhere}");
    let size = refused(&["x.avi", "--synthetic", "--size", "huge"]);
    assert!(size.contains("'huge' is no size"), "{size}");
}
