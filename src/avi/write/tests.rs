use std::fs;

use super::*;

/// A recording of one frame whose place a folder has taken meanwhile.
fn without_a_place(folder: &Path) -> Recording {
    let path = folder.join("a.avi");
    let mut recording = Recording::create(&path, 30.0).unwrap();
    let frame = Frame {
        bytes: b"a picture".to_vec().into(),
        format: PixelFormat::Mjpeg,
        width: 640,
        height: 480,
        stride: 0,
        seq: 0,
        captured_at_us: 0,
    };
    recording.write(&frame).unwrap();
    fs::create_dir(&path).unwrap();
    recording
}

/// Where it is said to be instead.
fn said_of(error: RecordError) -> PathBuf {
    let error = anyhow::Error::from(error);
    let said = format!("{error:#}");
    assert!(said.contains("ends after 1 frames") && !said.contains("complete"), "{said}");
    PathBuf::from(said.split_once("it is in ").expect(&said).1)
}

#[test]
fn a_recording_that_could_not_take_its_place_is_not_called_complete_there() {
    let folder = tempfile::tempdir().unwrap();
    let ended = without_a_place(folder.path()).finish().unwrap_err();
    assert!(fs::metadata(said_of(ended)).unwrap().len() > 0);
    let folder = tempfile::tempdir().unwrap();
    let mut broken = without_a_place(folder.path());
    let ended = broken.cut_short(io::Error::other("the stick is gone"));
    assert!(fs::metadata(said_of(ended)).unwrap().len() > 0);
}
