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
    frames_of(&SourceConfig::Replay { path: path.into(), no_drop: true, fps_override: None })
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
fn a_full_disk_ends_a_recording_that_can_still_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clip.avi");
    // A limit on the size of files stands in for the disk; the signal that comes with it is not wanted.
    let out = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" record --synthetic --size 160x120 \"$1\""])
        .args([env!("CARGO_BIN_EXE_posewire").as_ref(), path.as_os_str()])
        .output()
        .unwrap();
    let told = String::from_utf8(out.stderr).unwrap();
    assert_eq!((out.status.code(), out.status.signal()), (Some(1), None), "{told}");
    assert!(told.contains("clip.avi: recording ends after") && told.contains("make room"), "{told}");
    let frames = replay_of(&path);
    assert!(frames.len() > 2, "{} frames", frames.len());
    assert!(told.contains(&format!("after {} frames", frames.len())), "{told}");
    assert!(fs::metadata(&path).unwrap().len() <= 64 * 1024);
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
