//! From pictures to what a reader at the other end of the cable prints, with the real binaries: a real clip and the
//! built-in one, through pseudo-terminals, read by `posewire read` and by the Python client at the same time.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use pose::{JointState, Pose, PoseJoint, Stamped};
use pose_wire::{Emission, PosePacket, sigma_code, sigma_px};
use serde_json::Value;

use crate::cli::Running;
use crate::clips;
use crate::pty::Cable;

const BAUD: u32 = 921_600;
/// Loading networks on a machine that does other things.
const LONG: Duration = Duration::from_secs(120);

/// A reader at one end of the cable, its lines going to a file.
struct Listener {
    child: Running,
    lines: std::path::PathBuf,
}

impl Listener {
    fn start(command: &mut Command, lines: std::path::PathBuf) -> Self {
        let child = Running::start(command.stdout(File::create(&lines).unwrap()).stderr(Stdio::null()));
        Self { child, lines }
    }

    /// Waits for the line whose capture time is `last_us`, ends the reader and gives all of its lines.
    fn lines_until(mut self, last_us: i64) -> Vec<Value> {
        let began = Instant::now();
        loop {
            let text = fs::read_to_string(&self.lines).unwrap();
            // The last line may be half written.
            let whole = text.rfind('\n').map_or("", |end| &text[..end]);
            let lines: Vec<Value> = whole.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
            if lines.last().is_some_and(|l| l["captured_us"] == last_us) {
                self.child.interrupt();
                assert!(self.child.wait_within(LONG).success());
                return lines;
            }
            assert!(began.elapsed() < LONG, "{} of {} lines came", lines.len(), self.lines.display());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A Python that has pyserial: the first on the path, or the system's.
fn python_with_pyserial() -> Option<&'static str> {
    let has = |python: &&str| {
        Command::new(python).args(["-c", "import serial"]).output().is_ok_and(|o| o.status.success())
    };
    let found = ["python3", "/usr/bin/python3"].into_iter().find(has);
    if found.is_none() {
        eprintln!("SKIPPED: the Python reader: no python3 with pyserial (sudo apt install python3-serial)");
    }
    found
}

/// Runs `posewire run SOURCE` with JSON lines and a cable, and holds what both readers say against the lines; gives
/// the lines.
fn down_the_cable(source: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let python = python_with_pyserial();
    let cable = Cable::split(BAUD, if python.is_some() { 2 } else { 1 });
    let rust = Listener::start(
        Command::new(env!("CARGO_BIN_EXE_posewire"))
            .args(["read", "--jsonl"])
            .arg(format!("{}@{BAUD}", cable.ports[1].display())),
        at("rust.jsonl"),
    );
    let python = python.map(|python| {
        Listener::start(
            Command::new(python)
                .args(["-B", "-u", "-m", "posewire", "--baud", &BAUD.to_string()])
                .arg(&cable.ports[2])
                .env("PYTHONPATH", Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/python/src")),
            at("python.jsonl"),
        )
    });
    cable.wait_for_readers(LONG);

    fs::write(at("posewire.toml"), "[serial]\nwith_3d = true\n").unwrap();
    let out = Command::new(env!("CARGO_BIN_EXE_posewire"))
        .args(["run", "--no-drop", "--config"])
        .arg(at("posewire.toml"))
        .arg("--serial")
        .arg(format!("{}@{BAUD}", cable.ports[0].display()))
        .arg("--jsonl")
        .arg(at("sent.jsonl"))
        .args(source)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = fs::read_to_string(at("sent.jsonl")).unwrap();
    let sent: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();

    let last_us = sent.last().unwrap()["captured_us"].as_i64().unwrap();
    let read = rust.lines_until(last_us);
    assert_eq!(read.len(), sent.len(), "every moment arrives");
    for (sent, read) in sent.iter().zip(&read) {
        assert_same_but_for_the_wires_steps(sent, read);
    }
    if let Some(python) = python {
        let theirs = python.lines_until(last_us);
        assert_eq!(theirs.len(), read.len(), "every moment arrives in Python");
        for (ours, theirs) in read.iter().zip(&theirs) {
            assert_python_says_the_same(ours, theirs);
        }
    }
    sent
}

fn persons(line: &Value) -> &[Value] {
    line["persons"].as_array().unwrap()
}

fn f32_of(value: &Value) -> f32 {
    value.as_f64().unwrap() as f32
}

/// The pose that a person of a JSON line says, to the last bit.
fn pose_of(person: &Value) -> Pose {
    let joint = |k: &Value| PoseJoint {
        x_px: f32_of(&k[0]),
        y_px: f32_of(&k[1]),
        score: f32_of(&k[2]),
        sigma_px: f32_of(&k[3]),
        state: [JointState::Measured, JointState::Predicted, JointState::Absent]
            .into_iter()
            .find(|s| k[4] == s.name())
            .unwrap(),
    };
    Pose {
        track_id: person["id"].as_u64().unwrap() as u32,
        score: f32_of(&person["score"]),
        joints: std::array::from_fn(|j| joint(&person["keypoints"][j])),
        joints_3d_m: person["keypoints3d"]
            .is_array()
            .then(|| std::array::from_fn(|j| [0, 1, 2].map(|c| f32_of(&person["keypoints3d"][j][c])))),
        place: None,
    }
}

/// `read` is `sent`, each number exactly at its nearest step as `docs/wire.md` states them.
fn assert_same_but_for_the_wires_steps(sent: &Value, read: &Value) {
    assert_eq!(read["captured_us"], sent["captured_us"]);
    assert_eq!(read["emitted_us"], sent["emitted_us"]);
    assert_eq!(persons(read).len(), persons(sent).len(), "{sent}");
    for (sent, read) in persons(sent).iter().zip(persons(read)) {
        let (sent, read) = (pose_of(sent), pose_of(read));
        // The steps, written out: this picture is small enough for 1/8 px.
        let nearest = |x: f32, steps: f32| (x * steps).round() / steps;
        assert_eq!(read.track_id, sent.track_id);
        assert_eq!(read.score, nearest(sent.score, 255.0));
        for (sent, read) in sent.joints.iter().zip(&read.joints) {
            assert_eq!(read.state, sent.state);
            assert_eq!((read.x_px, read.y_px), (nearest(sent.x_px, 8.0), nearest(sent.y_px, 8.0)));
            assert_eq!(read.score, nearest(sent.score, 63.0));
            assert_eq!(read.sigma_px, sigma_px(sigma_code(sent.sigma_px, 0), 0));
        }
        let mm = |places: Option<[[f32; 3]; 17]>| {
            places.map(|p| p.map(|place| place.map(|m| (m * 1000.0).round() as i32)))
        };
        assert_eq!(mm(read.joints_3d_m), mm(sent.joints_3d_m));
        // And by the packet itself: nothing was changed on the way through two processes and the cable.
        let stamped = Stamped { captured_at_us: 0, valid_at_us: 0, value: sent };
        let at = Emission { seq: 0, sent_at_us: 0, persons: 1, scale: 0 };
        assert_eq!(read, PosePacket::new(&stamped, 0, at).stamped().unwrap().value);
    }
}

/// `theirs` is what the Python client printed for the moment that `posewire read` printed as `ours`.
fn assert_python_says_the_same(ours: &Value, theirs: &Value) {
    assert_eq!(theirs["captured_us"], ours["captured_us"]);
    assert_eq!(persons(theirs).len(), persons(ours).len());
    // Python prints scores to four places, of which 1/255 needs three.
    let code = |score: &Value, max: f64| (score.as_f64().unwrap() * max).round();
    for (ours, theirs) in persons(ours).iter().zip(persons(theirs)) {
        assert_eq!(theirs["id"], ours["id"]);
        assert_eq!(code(&theirs["score"], 255.0), code(&ours["score"], 255.0));
        for j in 0..pose::JOINTS {
            let (ours, theirs) = (&ours["keypoints"][j], &theirs["keypoints"][j]);
            assert_eq!(theirs[4], ours[4]);
            assert_eq!(code(&theirs[2], 63.0), code(&ours[2], 63.0));
            // Places and sigmas are binary fractions: the same number in 32 and 64 bits.
            for c in [0, 1, 3] {
                assert_eq!(theirs[c].as_f64(), ours[c].as_f64(), "joint {j}: {theirs} and {ours}");
            }
        }
        assert_eq!(theirs["keypoints3d"].is_array(), ours["keypoints3d"].is_array());
        for j in 0..pose::JOINTS {
            for c in 0..3 {
                let mm = |p: &Value| p["keypoints3d"][j][c].as_f64().map(|m| (m * 1000.0).round() as i32);
                assert_eq!(mm(theirs), mm(ours));
            }
        }
    }
}

#[test]
fn the_built_in_clip_arrives_bit_for_bit_at_both_readers() {
    let lines = down_the_cable(&["--synthetic", "--seed", "2", "--frames", "60", "--predict", "50"]);
    assert_eq!(lines.len(), 60);
    let seen = lines.iter().filter(|l| !persons(l).is_empty()).count();
    assert!(seen > 40, "somebody in {seen} of 60 frames");
    assert!(persons(&lines[59])[0]["keypoints3d"].is_array(), "with 3D");
}

#[test]
fn a_real_clip_arrives_bit_for_bit_at_both_readers() {
    let Some(clip) = clips::jhmdb("pullup/100_pullups_pullup_f_nm_np1_fr_med_1.avi") else { return };
    let lines = down_the_cable(&["--replay", clip.path.to_str().unwrap(), "--frames", "all"]);
    assert_eq!(lines.len(), clip.frames);
    let seen = lines.iter().filter(|l| !persons(l).is_empty()).count();
    assert!(2 * seen > clip.frames, "somebody in {seen} of {} frames", clip.frames);
}
