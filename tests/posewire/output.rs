//! JSON lines and recordings: what ends in files, and what happens when they cannot be written.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use posewire::avi::{RecordError, Recording};
use posewire::output::Existing;
use posewire::output::jsonl::{Format, JsonLines};
use posewire::output::{PoseSink, Predict, SinkError};
use posewire::picture::{Frame, PixelFormat};

use crate::frames::pose_frame;

#[test]
fn a_file_holds_one_line_a_frame_in_the_stated_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poses.jsonl");
    let mut lines = JsonLines::open(&path, Existing::Replace, Format::Full, Predict::Capture).unwrap();
    let second = JsonLines::open(&path, Existing::Append, Format::Full, Predict::Capture).map(|_| ());
    let told = format!("{:#}", second.unwrap_err());
    assert!(told.contains("--jsonl") && told.contains("another program writes it"), "{told}");
    for seq in 0..20 {
        lines.send(&pose_frame(seq, seq as usize % 3, 1_000), 5_000).unwrap();
        // Each line is there as soon as it is sent.
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), seq as usize + 1);
    }
    lines.finish(Duration::from_millis(100)).unwrap();
    for (seq, line) in BufReader::new(File::open(&path).unwrap()).lines().enumerate() {
        let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        assert_eq!((&line["seq"], &line["frame"]), (&seq.into(), &seq.into()));
        assert_eq!((&line["captured_us"], &line["emitted_us"]), (&1_000.into(), &5_000.into()));
        let persons = line["persons"].as_array().unwrap();
        assert_eq!(persons.len(), seq % 3);
        for (i, person) in persons.iter().enumerate() {
            assert_eq!(person["id"], i + 1);
            assert_eq!(person["box"].as_array().unwrap().len(), 4);
            assert_eq!(person["keypoints"].as_array().unwrap().len(), 17);
            assert!(person["keypoints3d"].is_null() || person["keypoints3d"].as_array().unwrap().len() == 17);
        }
    }
}

#[test]
fn poses_are_predicted_to_the_moment_that_was_asked_for() {
    let frame = pose_frame(1, 1, 1_000_000);
    let x_at = |predict: Predict, now_us| predict.poses(&frame, now_us).next().unwrap().value.joints[0].x_px;
    let at_capture = x_at(Predict::Capture, 1_080_000);
    // The made-up person moves 3 px to the right in 50 ms.
    assert!((x_at(Predict::Now, 1_050_000) - at_capture - 3.0).abs() < 0.01);
    assert!((x_at(Predict::AfterCapture(100_000), 1_002_000) - at_capture - 6.0).abs() < 0.01);
    assert_eq!(x_at(Predict::Now, 900_000), at_capture, "a driver may stamp the future");
}

#[test]
fn a_full_disk_ends_json_lines_with_a_clear_error() {
    let mut lines =
        JsonLines::open(Path::new("/dev/full"), Existing::Replace, Format::Full, Predict::Now).unwrap();
    match lines.send(&pose_frame(0, 1, 0), 0) {
        Err(SinkError::Fatal(text)) => {
            let text = format!("{text:#}");
            assert!(text.contains("/dev/full") && text.contains("make room"), "{text}")
        }
        other => panic!("{other:?}"),
    }
    let missing =
        JsonLines::open(Path::new("/nowhere/poses.jsonl"), Existing::Replace, Format::Full, Predict::Now)
            .map(|_| ());
    assert!(
        matches!(&missing, Err(SinkError::Fatal(text)) if format!("{text:#}").contains("/nowhere/poses.jsonl")),
        "{missing:?}"
    );
}

#[test]
fn a_reader_that_has_enough_ends_json_lines_quietly() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Opening either end waits for the other.
    let reading_end = pipe.clone();
    let reader = std::thread::spawn(move || {
        let mut first = [0; 10];
        File::open(reading_end).unwrap().read_exact(&mut first).unwrap();
        first
    });
    let mut lines = JsonLines::open(&pipe, Existing::Replace, Format::Full, Predict::Now).unwrap();
    lines.send(&pose_frame(0, 1, 0), 0).unwrap();
    assert_eq!(&reader.join().unwrap(), b"{\"seq\":0,\"");
    let ended = lines.send(&pose_frame(1, 1, 0), 0);
    assert!(matches!(ended, Err(SinkError::Closed(_))), "{ended:?}");
}

/// What a file holds after `lines` more in it.
fn after(path: &Path, existing: Existing, lines: std::ops::Range<u64>) -> String {
    let mut sink = JsonLines::open(path, existing, Format::Full, Predict::Capture).unwrap();
    for seq in lines {
        sink.send(&pose_frame(seq, 0, 0), 0).unwrap();
    }
    sink.finish(Duration::from_millis(100)).unwrap();
    fs::read_to_string(path).unwrap()
}

fn seqs(text: &str) -> Vec<u64> {
    let seq = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["seq"].as_u64().unwrap();
    text.lines().map(seq).collect()
}

#[test]
fn lines_of_before_stay_until_the_first_new_one_or_for_good() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poses.jsonl");
    assert_eq!(seqs(&after(&path, Existing::Replace, 0..3)), [0, 1, 2]);
    assert_eq!(seqs(&after(&path, Existing::Replace, 0..0)), [0, 1, 2], "nothing new, nothing lost");
    assert_eq!(seqs(&after(&path, Existing::Replace, 5..6)), [5]);
    assert_eq!(seqs(&after(&path, Existing::Append, 6..8)), [5, 6, 7]);
    // A pulled plug leaves half a line; what is none of ours is not touched.
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    assert_eq!(seqs(&after(&path, Existing::Append, 8..9)), [5, 6, 8]);
    for other in ["a note", "seq,frame,captured_us\n0,0,0\n", "RIFF\0\0\0\0AVI "] {
        fs::write(&path, other).unwrap();
        let refused = JsonLines::open(&path, Existing::Append, Format::Full, Predict::Capture).map(|_| ());
        let told = format!("{:#}", refused.unwrap_err());
        assert!(told.contains("something else than lines of JSON: name another file"), "{told}");
        assert_eq!(fs::read_to_string(&path).unwrap(), other);
    }
}

#[test]
fn a_file_that_has_grown_to_its_limit_is_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poses.jsonl");
    let mut sink =
        JsonLines::open(&path, Existing::Append, Format::Full, Predict::Capture).unwrap().rotated_at(200);
    for seq in 0..7 {
        sink.send(&pose_frame(seq, 0, 0), 0).unwrap();
    }
    let older = fs::read_to_string(folder.path().join("poses.jsonl.1")).unwrap();
    let newer = fs::read_to_string(&path).unwrap();
    assert_eq!((seqs(&older), seqs(&newer)), (vec![3, 4, 5], vec![6]));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
}

/// Nobody looks into it; its length is odd.
fn jpeg(seq: u64) -> Frame {
    let bytes = (0..121).map(|i| (i * (seq + 1)) as u8).collect();
    Frame {
        bytes: Arc::new(bytes),
        format: PixelFormat::Mjpeg,
        width: 16,
        height: 8,
        stride: 0,
        seq: seq * 2,
        captured_at_us: 1_000_000 + 33_333 * seq as i64,
    }
}

#[test]
fn a_full_disk_ends_a_recording_with_a_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("full.avi");
    symlink("/dev/full", &path).unwrap();
    let mut recording = Recording::create(&path, 30.0).unwrap();
    let error = recording.write(&jpeg(0)).unwrap_err();
    assert!(matches!(&error, RecordError::Write { frames: 0, .. }), "{error:?}");
    assert!(error.to_string().contains("full.avi") && error.to_string().contains("make room"), "{error}");
}

#[test]
fn a_frame_that_is_no_jpeg_is_refused_and_the_recording_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clip.avi");
    let mut recording = Recording::create(&path, 30.0).unwrap();
    let raw = Frame { format: PixelFormat::Grey, stride: 16, ..jpeg(0) };
    let error = recording.write(&raw).unwrap_err().to_string();
    assert!(error.contains("clip.avi: a Grey frame") && error.contains("compress it"), "{error}");
    recording.write(&jpeg(1)).unwrap();
    recording.write(&Frame { width: 32, ..jpeg(2) }).unwrap();
    assert_eq!(recording.frames(), 2);
}

/// The chunks of the whole file as (depth, code, data offset, data length); lists are entered.
fn chunks(bytes: &[u8]) -> Vec<(String, usize, usize)> {
    fn walk(bytes: &[u8], mut at: usize, end: usize, found: &mut Vec<(String, usize, usize)>) {
        while at + 8 <= end {
            let code = String::from_utf8_lossy(&bytes[at..at + 4]).into_owned();
            let length = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
            assert!(at + 8 + length <= end, "{code} at {at} reaches beyond what holds it");
            if code == "RIFF" || code == "LIST" {
                let kind = String::from_utf8_lossy(&bytes[at + 8..at + 12]).into_owned();
                found.push((kind, at + 12, length - 4));
                walk(bytes, at + 12, at + 8 + length, found);
            } else {
                found.push((code, at + 8, length));
            }
            at += 8 + length + length % 2;
        }
    }
    let mut found = Vec::new();
    walk(bytes, 0, bytes.len(), &mut found);
    found
}

#[test]
fn a_recording_is_a_well_formed_avi_with_a_stamp_for_every_frame() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clip.avi");
    let mut recording = Recording::create(&path, 29.97).unwrap();
    for seq in 0..5 {
        recording.write(&jpeg(seq)).unwrap();
    }
    assert_eq!(recording.frames(), 5);
    recording.finish().unwrap();

    let bytes = fs::read(&path).unwrap();
    let found = chunks(&bytes);
    let codes: Vec<&str> = found.iter().map(|(code, ..)| code.as_str()).collect();
    assert_eq!(codes[..7], ["AVI ", "hdrl", "avih", "strl", "strh", "strf", "movi"]);
    assert_eq!(codes[7..17], ["pwts", "00dc"].repeat(5));
    assert_eq!(codes[17..], ["idx1"]);
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(word(found[2].1 + 16), 5, "frames in avih");
    assert_eq!(word(found[4].1 + 32), 5, "length in strh");
    assert_eq!((word(found[4].1 + 24), word(found[4].1 + 20)), (29_970, 1_000));
    assert_eq!(&bytes[found[5].1 + 16..found[5].1 + 20], b"MJPG");
    for seq in 0..5u64 {
        let ((_, stamp, _), (_, data, length)) = (&found[7 + 2 * seq as usize], &found[8 + 2 * seq as usize]);
        let frame = jpeg(seq);
        assert_eq!(bytes[*stamp..stamp + 8], frame.seq.to_le_bytes());
        assert_eq!(bytes[stamp + 8..stamp + 16], frame.captured_at_us.to_le_bytes());
        assert_eq!(bytes[*data..data + length], frame.bytes[..]);
        let entry = found[17].1 + 16 * seq as usize;
        // Offsets count from the word 'movi'.
        assert_eq!(word(entry + 8) as usize, data - 8 - (found[6].1 - 4));
        assert_eq!(word(entry + 12) as usize, *length);
    }
}

/// A shell's `>>`: what stood there stays, whatever name standard output goes by.
#[cfg(target_os = "linux")]
#[test]
fn standard_output_by_its_other_names_writes_over_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let run = |args: &[&str]| {
        fs::write(&path, "kept\n").unwrap();
        let log = fs::File::options().append(true).open(&path).unwrap();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_posewire"))
            .args(["run", "--synthetic", "--no-drop", "--frames", "2", "--smoother", "none"])
            .args(args)
            .stdout(log)
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for name in ["/dev/stdout", "/dev/fd/1"] {
        assert!(run(&["--jsonl", name, "--events", "-"]).0);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("kept\n{"), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("{\"seq\":")).count(), 2, "{text}");
    }
    let (is_done, said) = run(&["--mcap", "/dev/stdout"]);
    assert!(!is_done && said.contains("holds something already: name the file itself"), "{said}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "kept\n");
}
