//! `posewire view`: what its page is given, and what is said where there is nothing to show.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use posewire::capture::{SourceConfig, open};
use posewire::output::web::{Reel, Viewer};
use posewire::picture::{Turn, Turner};
use serde_json::Value;

use crate::cli::posewire;

/// Longer than anything here takes on a busy machine.
const SOON: Duration = Duration::from_secs(60);

pub fn get(address: &str, path: &str) -> (u16, Vec<u8>) {
    get_as(address, path, "localhost")
}

fn get_as(address: &str, path: &str, host: &str) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let head = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let status = std::str::from_utf8(&answer[9..12]).unwrap().parse().unwrap();
    (status, answer[head + 4..].to_vec())
}

/// A viewer on a port of its own, until it is dropped.
struct Viewing {
    child: Child,
    address: String,
}

impl Viewing {
    fn of(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_posewire"))
            .arg("view")
            .args(args)
            .args(["--web", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let address =
            lines.find_map(|line| Some(line.split_once("http://")?.1.split_once('/')?.0.to_owned()));
        // What it says later must find a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address: address.expect("an address") }
    }

    fn get(&self, path: &str) -> Vec<u8> {
        let (status, body) = get(&self.address, path);
        assert_eq!(status, 200, "{path}");
        body
    }

    /// What is said of the recording once all of it is there.
    fn whole(&self) -> Value {
        let began = Instant::now();
        loop {
            let said: Value = serde_json::from_slice(&self.get("/recording")).unwrap();
            if said["is_whole"] == true {
                return said;
            }
            assert!(began.elapsed() < SOON, "{said}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Viewing {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn record(path: &Path, frames: &str) {
    let path = path.to_str().unwrap();
    let out = posewire(&["record", "--synthetic", "--size", "160x120", "--frames", frames, path]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn a_recording_is_shown_with_the_poses_that_a_run_over_it_gives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clip.avi");
    record(&path, "12");
    let path = path.to_str().unwrap();
    let mut viewing = Viewing::of(&[path, "--smoother", "one-euro", "--smoother", "none"]);
    let said = viewing.whole();
    assert_eq!((&said["name"], &said["frames"], &said["note"]), (&"clip.avi".into(), &12.into(), &"".into()));
    assert_eq!(said["tracks"][0]["name"], "one-euro");

    let replay = SourceConfig::Replay { path: path.into(), no_drop: true };
    let mut source = open(&replay).unwrap();
    let times: Vec<(u64, i64)> = serde_json::from_slice(&viewing.get("/times?from=0")).unwrap();
    for (i, time) in times.iter().enumerate() {
        let frame = source.next_frame(SOON).unwrap().unwrap();
        assert_eq!(*time, (frame.seq, frame.captured_at_us));
        assert!(viewing.get(&format!("/frames/{i}")) == *frame.bytes, "picture {i} is the recording's");
    }
    for (run, smoother) in ["one-euro", "none"].into_iter().enumerate() {
        let out = posewire(&[
            "run",
            path,
            "--no-drop",
            "--smoother",
            smoother,
            "--predict",
            "capture",
            "--jsonl",
            "-",
        ]);
        let without_sending = |text: &[u8]| -> Vec<Value> {
            let lines = std::str::from_utf8(text).unwrap().lines();
            lines
                .map(|line| {
                    let mut line: Value = serde_json::from_str(line).unwrap();
                    line["emitted_us"].take();
                    line
                })
                .collect()
        };
        let (shown, ran) =
            (without_sending(&viewing.get(&format!("/tracks/{run}"))), without_sending(&out.stdout));
        assert_eq!((shown.len(), &shown), (12, &ran), "{smoother}");
        let later = viewing.get(&format!("/tracks/{run}?from=9"));
        assert_eq!(without_sending(&later), ran[9..]);
    }
    // Without poses in 3D nobody has a body.
    assert_eq!(viewing.get("/bodies/0/11"), b"[]");
    assert!(viewing.get("/body").len() > 100_000, "the mesh");
    for path in [
        "/bodies/0/12",
        "/bodies/2/0",
        "/bodies/-1/0",
        "/tracks/2",
        "/frames/12",
        "/frames/-1",
        "/frames/..%2f..%2fetc%2fpasswd",
        "/live",
    ] {
        assert!([400, 404].contains(&get(&viewing.address, path).0), "{path}");
    }
    assert_eq!(get_as(&viewing.address, "/recording", "evil.example").0, 403);

    let told = Command::new("kill").args(["-INT", &viewing.child.id().to_string()]).status().unwrap();
    assert!(told.success() && viewing.child.wait().unwrap().success(), "Ctrl-C ends it well");
}

#[test]
fn of_a_recording_that_was_cut_off_the_whole_frames_are_shown_and_the_rest_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clip.avi");
    record(&path, "12");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    // Lines of another run, the last one cut off as well.
    let lines = folder.path().join("poses.jsonl");
    let line = r#"{"seq":0,"frame":0,"captured_us":0,"emitted_us":0,"persons":[]}"#;
    let event = r#"{"event":"appear","id":1,"captured_us":0,"emitted_us":0,"persons":1}"#;
    std::fs::write(&lines, format!("{event}\n{line}\n{event}\n{line}\n{}", &line[..20])).unwrap();
    let viewing = Viewing::of(&[path.to_str().unwrap(), "--jsonl", lines.to_str().unwrap()]);
    let said = viewing.whole();
    let frames = said["frames"].as_u64().unwrap();
    assert!((3..9).contains(&frames), "{said}");
    assert_eq!(said["note"], format!("cut off or damaged: {frames} frames are whole"));
    assert_eq!((&said["tracks"][0]["name"], &said["tracks"][0]["lines"]), (&"poses.jsonl".into(), &2.into()));
}

#[test]
fn pictures_are_turned_as_a_run_turned_them_and_another_recordings_lines_are_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clip.avi");
    record(&path, "4");
    let line = |at_us: i64, [w, h]: [u32; 2]| {
        format!(
            "{{\"seq\":0,\"frame\":0,\"captured_us\":{at_us},\"emitted_us\":0,\"width\":{w},\"height\":{h},\"persons\":[]}}\n"
        )
    };
    let (lines, config) = (folder.path().join("poses.jsonl"), folder.path().join("config.toml"));
    std::fs::write(&config, "[source]\nrotate = 180\n").unwrap();
    let [path, lines_path, config] = [&path, &lines, &config].map(|path| path.to_str().unwrap());
    let mut source = open(&SourceConfig::Replay { path: path.into(), no_drop: true }).unwrap();
    let first = source.next_frame(SOON).unwrap().unwrap();
    let turned = Turner::new(Turn { quarters: 2, mirror: false }).turn(&first).unwrap();
    for (turn, ends_us) in [(["--rotate", "180"], 0), (["--config", config], 60_000_000)] {
        let theirs = if ends_us == 0 { [640, 480] } else { [480, 640] };
        std::fs::write(&lines, [line(0, theirs), line(ends_us, theirs)].concat()).unwrap();
        let viewing = Viewing::of(&[path, "--jsonl", lines_path, turn[0], turn[1]]);
        let said = viewing.whole();
        assert!(viewing.get("/frames/0") == *turned.bytes, "{turn:?}");
        let is_told = said["note"].as_str().unwrap().contains("poses.jsonl goes on after the end");
        assert_eq!(is_told, ends_us > 0, "{said}");
        // The clip has 640 x 480.
        let is_told = said["note"].as_str().unwrap().contains("poses.jsonl is of pictures of 480 x 640");
        assert_eq!(is_told, ends_us > 0, "{said}");
    }
}

#[test]
fn what_cannot_be_shown_is_told_before_anything_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let clip = folder.path().join("clip.avi");
    record(&clip, "2");
    let clip = clip.to_str().unwrap();
    let good = "{\"seq\":0,\"frame\":0,\"captured_us\":0,\"persons\":[]}\n";
    let event = "{\"event\":\"appear\",\"id\":1,\"captured_us\":0}\n";
    let wrong = file("wrong.jsonl", format!("{good}{{\"what\":\"enter\"}}\n").as_bytes());
    // Of another order of keys, which the page does not read, and with joints by name.
    let turned = file("turned.jsonl", b"{\"seq\":0,\"captured_us\":0,\"frame\":0,\"persons\":[]}\n");
    let person = "[{\"id\":1,\"keypoints\":{\"nose\":null}}]";
    let named = file("named.jsonl", format!("{event}{}", good.replace("[]", person)).as_bytes());
    let (none, empty) = (file("none.jsonl", event.as_bytes()), file("empty.avi", b""));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (x, y, z) = ("--smoother=xl", "--smoother=none", "--smoother=kalman");
    for (args, code, told) in [
        (&["nothing.avi"][..], 1, "nothing.avi"),
        (&[&empty], 1, "empty file"),
        (&[clip, "--jsonl", &wrong], 2, "wrong.jsonl:2: no line of poses"),
        (&[clip, "--jsonl", &turned], 2, "turned.jsonl:1: no line of poses in the format full"),
        (&[clip, "--jsonl", &named], 2, "named.jsonl:2: no line of poses in the format full"),
        (&[clip, "--jsonl", &none], 2, "no line of poses in it"),
        (&[clip, "--jsonl", "nothing.jsonl"], 2, "nothing.jsonl: No such file"),
        (&[clip, x, y, z], 2, "2 at most"),
        (&[clip, x, "--jsonl", &wrong], 2, "give one of them"),
        (&[clip, "--smoother", "oneeuro"], 2, "one-euro"),
        (&[clip, "--smoother", "gru", "--temporal", "nothing.toml"], 2, "nothing.toml"),
        (&[x], 2, "RECORDING"),
        (&["--web", &address], 1, "free port"),
        (&["--web", "127.0.0.1:99999"], 2, "is no address"),
        (&["--web", ""], 2, "--web names no address"),
        (&["--rotate", "180"], 2, "RECORDING"),
    ] {
        let out = posewire(&[&["view"], args].concat());
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(told), "{args:?}: {said}");
    }
}

#[test]
fn without_a_recording_the_page_opens_files_by_itself() {
    let viewer = Viewer::open("127.0.0.1:0", None).unwrap();
    let address = viewer.address().to_string();
    let (status, script) = get(&address, "/view.js");
    assert!(status == 200 && String::from_utf8_lossy(&script).contains("const IS_SERVED = false;"));
    assert_eq!(get(&address, "/").0, 200);
    assert_eq!(get(&address, "/recording").0, 404);
    let reel = Reel::new("clip", &["xl".to_owned()]).unwrap();
    let viewer = Viewer::open("0.0.0.0:0", Some(reel)).unwrap();
    let address = format!("127.0.0.1:{}", viewer.address().port());
    assert_eq!(get(&address, "/recording").0, 403, "another address asks for the token");
    let token = viewer.link().split_once("token=").unwrap().1;
    assert_eq!(get(&address, &format!("/recording?token={token}")).0, 200);
}
