//! A recording replayed gives, byte for byte, the output of the run that it was made from.

use std::time::Duration;

use posewire::capture::{CaptureError, SourceConfig, open};
use posewire::output::record::Recording;

use super::cli::posewire;

#[test]
fn a_recording_gives_the_output_of_what_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clip.avi");
    // What `run --synthetic --no-drop --seed 4` plays.
    let clip = SourceConfig::Synthetic {
        persons: 1,
        width: 640,
        height: 480,
        fps: 30.0,
        seed: 4,
        frames: Some(10),
        no_drop: true,
    };
    let mut source = open(&clip).unwrap();
    let mut recording = Recording::create(&path, 30.0).unwrap();
    loop {
        match source.next_frame(Duration::from_secs(5)) {
            Ok(frame) => recording.write(&frame.unwrap()).unwrap(),
            Err(CaptureError::Ended) => break,
            Err(error) => panic!("{error}"),
        }
    }
    recording.finish().unwrap();

    let run = |source: &[&str]| {
        let out = posewire(&[&["run", "--no-drop", "--frames", "10"], source].concat());
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        assert_eq!(out.stdout.iter().filter(|&&byte| byte == b'\n').count(), 10);
        out.stdout
    };
    assert!(run(&["--synthetic", "--seed", "4"]) == run(&["--replay", path.to_str().unwrap()]));
}
