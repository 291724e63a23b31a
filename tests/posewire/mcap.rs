//! `--mcap`: what is in the file, read from its beginning.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use pose::{Forecast, JointState, MAX_PERSONS, Place, PoseFrame, TrackedPerson};
use posewire::output::display::PictureTap;
use posewire::output::mcap::{Mcap, McapOptions};
use posewire::output::{Existing, PoseSink, Predict, SinkError};
use posewire::picture::{Frame, PixelFormat};
use serde_json::Value;

fn frame(seq: u64) -> PoseFrame {
    let mut persons = [None; MAX_PERSONS];
    let forecast = Forecast {
        captured_at_us: 33_000 * seq as i64,
        places_px: [std::array::from_fn(|j| [10.0 * j as f32, 20.0]); 4],
        score: [0.9; pose::JOINTS],
        state: [JointState::Measured; pose::JOINTS],
        joints_3d_m: Some([[0.1, 0.2, 0.0]; pose::JOINTS]),
        ..Forecast::default()
    };
    let place = Place { at_m: [0.0, 0.0, 3.0], ..Place::default() };
    persons[0] = Some(TrackedPerson { track_id: 7, score: 0.5, forecast, seen: None, place: Some(place) });
    let captured_at_us = 33_000 * seq as i64;
    PoseFrame { seq, frame: seq, captured_at_us, width: 320, height: 240, persons, floor: None }
}

/// A record's fields, taken one after the other.
struct Taken<'a>(&'a [u8]);

impl<'a> Taken<'a> {
    fn some(&mut self, bytes: usize) -> &'a [u8] {
        let (some, rest) = self.0.split_at(bytes);
        self.0 = rest;
        some
    }
    fn int(&mut self, bytes: usize) -> u64 {
        self.some(bytes).iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte))
    }
    fn text(&mut self) -> String {
        let bytes = self.int(4) as usize;
        String::from_utf8(self.some(bytes).to_vec()).unwrap()
    }
    fn record(&mut self) -> (u8, Taken<'a>) {
        let kind = self.int(1) as u8;
        let bytes = self.int(8) as usize;
        (kind, Taken(self.some(bytes)))
    }
}

/// Topic, schema, time and text of every message, as somebody reads who goes from the beginning. Another's reader goes by the
/// index: `tests/test_mcap.py`.
fn read(path: &Path) -> Vec<(String, String, u64, Value)> {
    let bytes = std::fs::read(path).unwrap();
    let inside = bytes.strip_prefix(b"\x89MCAP0\r\n").unwrap().strip_suffix(b"\x89MCAP0\r\n").unwrap();
    let (mut schemas, mut topics, mut messages) = (Vec::new(), Vec::new(), Vec::new());
    let mut all = Taken(inside);
    loop {
        let (kind, mut fields) = all.record();
        match kind {
            3 => {
                assert_eq!(fields.int(2), schemas.len() as u64 + 1);
                schemas.push(fields.text());
                assert_eq!(fields.text(), "jsonschema");
                let schema: Value = serde_json::from_str(&fields.text()).unwrap();
                assert!(schema["properties"].is_object());
            }
            4 => {
                let (_, schema) = (fields.int(2), fields.int(2));
                topics.push((fields.text(), schemas[schema as usize - 1].clone()));
            }
            6 => {
                fields.some(8 + 8 + 8 + 4 + 4 + 8);
                while !fields.0.is_empty() {
                    let (_, mut message) = fields.record();
                    let (topic, schema) = topics[message.int(2) as usize].clone();
                    message.some(4);
                    let at_ns = message.int(8);
                    message.some(8);
                    messages.push((topic, schema, at_ns, serde_json::from_slice(message.0).unwrap()));
                }
            }
            15 => return messages,
            _ => {}
        }
    }
}

#[test]
fn what_is_written_is_read_back_with_its_times_and_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poses.mcap");
    let tap = PictureTap::default();
    let options =
        McapOptions { predict: Predict::Capture, pictures: Some(tap.clone()), is_replayed: true, host: None };
    let mut sink = Mcap::create(&path, Existing::Replace, options).unwrap();
    for seq in 0..3 {
        // The picture of the last one has gone.
        let bytes = Arc::new(vec![0xff, 0xd8, seq as u8]);
        let (format, stride) = (PixelFormat::Mjpeg, 0);
        let captured_at_us = 0;
        tap.put(&Frame { bytes, format, width: 320, height: 240, stride, seq: seq.min(1), captured_at_us });
        sink.send(&frame(seq), 99).unwrap();
    }
    assert!(!path.exists(), "only a whole file takes its place");
    sink.finish(Duration::ZERO).unwrap();
    let messages = read(&path);
    let of = |topic: &str| messages.iter().filter(|m| m.0 == topic).collect::<Vec<_>>();
    assert_eq!(["/poses", "/annotations", "/scene", "/camera"].map(|t| of(t).len()), [3, 3, 3, 2]);
    let (_, schema, at_ns, line) = of("/poses")[1];
    assert_eq!((&**schema, *at_ns, &line["persons"][0]["id"]), ("posewire.Poses", 33_000_000, &7.into()));
    assert_eq!(of("/camera")[0].3["data"], "/9gA");
    let marks = &of("/annotations")[2].3;
    assert_eq!(marks["texts"][0]["text"], "7");
    assert_eq!(marks["points"][0]["timestamp"], serde_json::json!({"sec": 0, "nsec": 66_000_000}));
    let entity = &of("/scene")[0].3["entities"][0];
    assert_eq!((&entity["frame_id"], &entity["id"]), (&"camera".into(), &"person 7".into()));
    let z = entity["lines"][0]["points"][0]["z"].as_f64().unwrap();
    assert!((z - 3.0).abs() < 1e-6, "hip-centred, placed before the camera: {z}");
}

#[test]
fn a_file_without_a_frame_leaves_no_trace_and_one_that_cannot_be_made_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poses.mcap");
    let mut sink = Mcap::create(&path, Existing::Replace, McapOptions::default()).unwrap();
    sink.finish(Duration::ZERO).unwrap();
    drop(sink);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let error = Mcap::create(Path::new("/no/such/folder/x.mcap"), Existing::Replace, McapOptions::default())
        .err()
        .unwrap();
    assert!(error.to_string().contains("/no/such/folder/x.mcap"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_it() {
    let mut sink = Mcap::create(Path::new("/dev/full"), Existing::Replace, McapOptions::default()).unwrap();
    let error = (0..100_000).find_map(|seq| sink.send(&frame(seq), 9).err()).expect("an error");
    assert!(matches!(&error, SinkError::Fatal(told) if format!("{told:#}").contains("make room")), "{error}");
    assert!(sink.finish(Duration::ZERO).is_ok(), "it has ended already");
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_becomes_full_leaves_the_earlier_file_and_what_there_is_of_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poses.mcap");
    let run = |blocks: u32, existing: &str| {
        std::fs::write(&path, "old").unwrap();
        let config = folder.path().join("config.toml");
        std::fs::write(&config, format!("[jsonl]\nexisting = \"{existing}\"\n")).unwrap();
        // A limit on the size of files stands in for the disk; the signal that comes with it is not wanted.
        let run = "run --synthetic --no-drop --frames 30 --smoother none --mcap-pixels --config \"$1\" --mcap \"$2\"";
        let out = Command::new("sh")
            .args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" {run}")])
            .args([env!("CARGO_BIN_EXE_posewire").as_ref(), config.as_os_str(), path.as_os_str()])
            .output()
            .unwrap();
        let told = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(1), "{told}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old", "{told}");
        told
    };
    for existing in ["replace", "append"] {
        // Less than the first chunk.
        let told = run(64, existing);
        assert!(told.contains("nothing could be recorded: make room"), "{told}");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "{told}");
        // Less than the second.
        let told = run(900, existing);
        let parts = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let parts: Vec<_> = parts.filter(|path| path.extension().is_some_and(|end| end == "part")).collect();
        let [part] = &parts[..] else { panic!("{parts:?}: {told}") };
        assert!(told.contains(&format!("can be read in {}", part.display())), "{told}");
        assert!(std::fs::read(part).unwrap().len() > 1 << 18);
        std::fs::remove_file(part).unwrap();
    }
}
