//! A camera on the network, served by GStreamer's RTSP server on this machine: it goes away and returns.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use posewire::capture::clip::Clip;
use posewire::capture::synthetic::Synthetic;

use crate::cli::Running;

const PATIENCE: Duration = Duration::from_secs(60);

/// Serves as long as it is held.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(python: &str, pictures: &Path, port: &str) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rtsp_server.py");
        let mut command = Command::new(python);
        command.arg(script).arg(pictures).arg(port).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut address).unwrap();
        assert!(address.starts_with("rtsp://"), "it does not serve");
        Self { process, address: address.trim().to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A Python that has the server.
fn python() -> Option<&'static str> {
    let asks = "import gi; gi.require_version('GstRtspServer', '1.0'); from gi.repository import Gst, GstRtspServer; Gst.init(None); \
                assert Gst.ElementFactory.find('rtpjpegpay') and Gst.ElementFactory.find('jpegenc')";
    let has = |python: &&str| {
        let mut command = Command::new(python);
        command.args(["-c", asks]).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    ["python3", "/usr/bin/python3"].into_iter().find(has)
}

#[test]
fn a_server_that_goes_away_is_waited_for_and_its_frames_come_again() {
    let (Some(python), true) = (python(), Command::new("ffmpeg").arg("-version").output().is_ok()) else {
        eprintln!(
            "SKIPPED: no RTSP server: sudo apt install ffmpeg python3-gi gir1.2-gst-rtsp-server-1.0 gstreamer1.0-plugins-good"
        );
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut clip = Synthetic::new(1, 320, 240, 10.0, 4).unwrap().as_mjpeg().unwrap();
    for i in 0..6 {
        fs::write(path(&format!("{i}.jpg")), &*clip.next().unwrap().bytes).unwrap();
    }
    let server = Server::start(python, folder.path(), "0");
    let address = server.address.clone();
    let port = address.trim_start_matches("rtsp://127.0.0.1:").split('/').next().unwrap();
    let mut run = Command::new(env!("CARGO_BIN_EXE_posewire"));
    run.args(["run", "--model", "nano", "--smoother", "none", "--camera", &address, "--jsonl"]);
    run.arg(path("poses.jsonl")).stderr(fs::File::create(path("log")).unwrap()).env_remove("RUST_LOG");
    let mut run = Running::start(&mut run);
    let log = || fs::read_to_string(path("log")).unwrap();
    let lines = || -> Vec<serde_json::Value> {
        let text = fs::read_to_string(path("poses.jsonl")).unwrap_or_default();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let until = |what: &str, holds: &dyn Fn() -> bool| {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < PATIENCE, "{what}:\n{}", log());
            sleep(Duration::from_millis(50));
        }
    };
    until("no frames come", &|| lines().len() > 5);
    assert!(log().contains("frames are stamped when they arrive"), "{}", log());
    drop(server);
    until("nobody tells that it went", &|| log().contains("ffmpeg ended"));
    let before = lines().len();
    sleep(Duration::from_secs(2));
    assert_eq!(lines().len(), before, "frames of nobody");
    let _server = Server::start(python, folder.path(), port);
    until("no frames come again", &|| lines().len() > before + 5);
    run.terminate();
    assert!(run.wait_within(Duration::from_secs(20)).success());
    let frames: Vec<u64> = lines().iter().map(|line| line["frame"].as_u64().unwrap()).collect();
    assert!(frames.is_sorted_by(|a, b| a < b), "frame numbers rise: {frames:?}");
    assert!(log().contains("back after"), "{}", log());
}
