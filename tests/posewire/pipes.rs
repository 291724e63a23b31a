//! Pictures that come through a pipe, and cameras that are a program: stand-ins for `rpicam-vid` that start late, die, fall
//! silent, talk too much or print nonsense.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use posewire::capture::clip::Clip;
use posewire::capture::synthetic::Synthetic;
use posewire::clock::{Clock, Monotonic};
use rustix::fs::{CWD, Mode, mkfifoat};

use super::cli::{Running, posewire};

/// The built-in clip's pictures.
pub(crate) fn jpegs(count: u64) -> Vec<Vec<u8>> {
    let mut clip = Synthetic::new(1, 320, 240, 30.0, 4).unwrap().frames(Some(count)).as_mjpeg().unwrap();
    (0..count).map(|_| clip.next().unwrap().bytes.to_vec()).collect()
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_posewire"));
    command.arg("run").args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `run` with `bytes` on its standard input.
fn fed(bytes: &[u8], args: &[&str]) -> Output {
    let mut child = command(args).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    let writer = spawn(move || drop(input.write_all(&bytes)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

#[test]
fn every_picture_of_a_pipe_gives_what_the_same_file_gives() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clip.mjpeg");
    let stream = jpegs(8).concat();
    fs::write(&path, &stream).unwrap();
    let of_file = posewire(&["run", "--no-drop", "--replay", path.to_str().unwrap()]);
    assert!(of_file.status.success(), "{}", stderr(&of_file));
    assert_eq!(of_file.stdout.iter().filter(|&&b| b == b'\n').count(), 8);
    let of_pipe = fed(&stream, &["--no-drop", "--replay", "-"]);
    assert!(of_pipe.status.success(), "{}", stderr(&of_pipe));
    assert!(of_pipe.stdout == of_file.stdout);
}

#[test]
fn what_is_no_video_on_a_pipe_is_an_error_that_says_what_converts_it() {
    for (bytes, expected) in [(&b""[..], "ended before it began"), (&[0; 200_000], "ffmpeg -i INPUT")] {
        let output = fed(bytes, &["--replay", "-"]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn a_fifo_is_live_its_writer_never_waits_and_may_come_later() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("camera");
    mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).unwrap();
    let child = command(&["--replay", fifo.to_str().unwrap()]).spawn().unwrap();
    // Many more than are tracked in the time that they take to be read.
    let stream = jpegs(6).concat().repeat(60);
    sleep(Duration::from_millis(300));
    fs::OpenOptions::new().write(true).open(&fifo).unwrap().write_all(&stream).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let lines = output.stdout.iter().filter(|&&b| b == b'\n').count();
    assert!((1..360).contains(&lines), "{lines} of 360");
    assert!(stderr(&output).contains("overtaken by newer ones"), "{}", stderr(&output));
}

const HELP: &str = "case \"$*\" in *--help*) echo $$ > $PICTURES/helps; if [ -e $PICTURES/help ]; then cat $PICTURES/help; fi; exit;; esac\n";

/// A folder to be found before all others, with a stand-in for a program, and pictures for it.
struct StandIn {
    folder: tempfile::TempDir,
}

impl StandIn {
    /// `script` finds pictures in `$PICTURES/0.jpg` to `5.jpg`; asked for help, the program says what is in `$PICTURES/help`.
    fn new(program: &str, script: &str) -> Self {
        let it = Self { folder: tempfile::tempdir().unwrap() };
        for (i, jpeg) in jpegs(6).iter().enumerate() {
            fs::write(it.path(&format!("{i}.jpg")), jpeg).unwrap();
        }
        let path = it.path(program);
        fs::write(&path, format!("#!/bin/sh\nPICTURES={}\n{HELP}{script}\n", it.folder.path().display()))
            .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        it
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `run --camera csi` where the stand-in is installed.
    fn run(&self, args: &[&str]) -> Command {
        let mut command = command(&[&["--camera", "csi", "--smoother", "none"], args].concat());
        command.env("PATH", format!("{}:/usr/bin:/bin", self.folder.path().display()));
        command
    }

    fn lines(&self, name: &str) -> usize {
        fs::read_to_string(self.path(name)).unwrap_or_default().lines().count()
    }
}

fn is_alive(pid_file: &Path) -> bool {
    let pid = fs::read_to_string(pid_file).unwrap();
    let stat = Path::new("/proc").join(pid.trim()).join("stat");
    // Killed, and not yet buried by whoever inherited it, is dead.
    let alive = || fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    let began = Instant::now();
    while alive() && began.elapsed() < Duration::from_secs(1) {
        sleep(Duration::from_millis(10));
    }
    alive()
}

#[test]
fn a_csi_camera_is_read_through_its_program_which_ends_with_us() {
    let stand_in = StandIn::new(
        "rpicam-vid",
        "echo $$ > $PICTURES/pid; echo \"$@\" > $PICTURES/arguments\n\
         sleep 1000 & echo $! > $PICTURES/started; echo 'INFO starting' >&2; sleep 0.3\n\
         while true; do cat $PICTURES/*.jpg; sleep 0.05; done",
    );
    let output = stand_in.run(&["--frames", "4"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(!stderr(&output).contains("frames again"), "they are the first: {}", stderr(&output));
    // A live camera's newest wins: on a busy machine a pose may be replaced before its line is written.
    let lines = output.stdout.iter().filter(|&&b| b == b'\n').count();
    assert!((1..=4).contains(&lines), "{lines}");
    assert!(!is_alive(&stand_in.path("pid")), "it was left behind");
    assert!(!is_alive(&stand_in.path("started")), "what it had started was left behind");
    let arguments = fs::read_to_string(stand_in.path("arguments")).unwrap();
    assert!(arguments.contains("--camera 0 --width 640 --height 480 --framerate 30"), "{arguments}");
}

/// What newer programs say between their pictures, in the words of a Pi; the time is 250 ms before the picture is sent. The clock of
/// `/proc/uptime` may be another one's than ours, by `$PICTURES/offset_ns`.
const SAYS_LIGHT: &str = "echo \"$@\" > $PICTURES/arguments
while true; do for i in 0 1 2 3 4 5; do
    cat $PICTURES/$i.jpg
    ns=$(awk -v offset=$(cat $PICTURES/offset_ns) '{ printf \"%.0f\", $1 * 1e9 - 2.5e8 + offset }' /proc/uptime)
    echo $((ns / 1000)) >> $PICTURES/light
    printf 'ExposureTime=32000\nSensorTimestamp=%s\nFrameDuration=33333\n\n' $ns
    sleep 0.1
done; done";

#[test]
fn frames_have_the_time_of_their_light_where_the_program_says_it_and_that_of_their_arrival_elsewhere() {
    for (offers, script) in
        [(true, SAYS_LIGHT), (false, "while true; do cat $PICTURES/*.jpg; sleep 0.1; done")]
    {
        let stand_in = StandIn::new("rpicam-vid", script);
        let uptime = fs::read_to_string("/proc/uptime").unwrap();
        let uptime_us = (uptime.split(' ').next().unwrap().parse::<f64>().unwrap() * 1e6) as i64;
        fs::write(stand_in.path("offset_ns"), ((Monotonic.now_us() - uptime_us) * 1000).to_string()).unwrap();
        if offers {
            fs::write(stand_in.path("help"), "  --metadata arg\n  --metadata-format arg (=json)\n").unwrap();
        }
        let output = stand_in.run(&["--frames", "4"]).output().unwrap();
        let said = stderr(&output);
        assert!(output.status.success(), "{said}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert!(!lines.is_empty());
        assert_eq!(said.contains("frames have the camera's own time stamps"), offers, "{said}");
        assert_eq!(said.contains("frames are stamped when they arrive"), !offers, "{said}");
        if offers {
            let light = fs::read_to_string(stand_in.path("light")).unwrap();
            for line in lines {
                assert!(light.lines().any(|us| line["captured_us"] == us.parse::<i64>().unwrap()), "{line}");
            }
            let arguments = fs::read_to_string(stand_in.path("arguments")).unwrap();
            assert!(arguments.starts_with("--metadata - --metadata-format txt --timeout 0"), "{arguments}");
        }
    }
}

#[test]
fn a_recording_says_once_that_no_frame_comes() {
    let stand_in = StandIn::new("rpicam-vid", "cat $PICTURES/*.jpg; exec sleep 1000");
    let mut command = Command::new(env!("CARGO_BIN_EXE_posewire"));
    command.args(["record", "--camera", "csi", "--seconds", "4.7", "clip.avi"]).current_dir(&stand_in.folder);
    command.env("PATH", format!("{}:/usr/bin:/bin", stand_in.folder.path().display()));
    let output = command.output().unwrap();
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("no frame for").count(), 1, "{said}");
}

#[test]
fn a_program_that_dies_is_started_again_and_frame_numbers_rise() {
    let stand_in = StandIn::new(
        "libcamera-vid",
        "echo >> $PICTURES/starts; cat $PICTURES/0.jpg; sleep 0.2; cat $PICTURES/1.jpg; sleep 0.2; echo 'Device timeout' >&2; exit 3",
    );
    let output = stand_in.run(&["--frames", "5"]).output().unwrap();
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    let seqs: Vec<u64> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["seq"].as_u64().unwrap())
        .collect();
    // A live camera's newest wins, as above; its last one is always told.
    assert!(seqs.is_sorted_by(|a, b| a < b) && seqs.last() == Some(&4), "{seqs:?}");
    assert!(stand_in.lines("starts") >= 3);
    assert!(said.contains("libcamera-vid ended (exit status: 3): Device timeout"), "{said}");
}

#[test]
fn without_waiting_a_program_that_gives_nothing_is_an_error_with_its_own_words() {
    let flood = "head -c 1000000 /dev/zero | tr '\\0' 'x' >&2; echo >&2; echo 'ERROR: no cameras available' >&2; exit 255";
    for (script, expected) in [
        (flood, "rpicam-vid ended (exit status: 255): ERROR: no cameras available"),
        ("head -c 300000 /dev/zero; sleep 60", "neither JPEGs nor Y4M"),
    ] {
        let stand_in = StandIn::new("rpicam-vid", script);
        let output = stand_in.run(&["--no-wait"]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn whoever_waits_for_a_first_picture_can_be_ended_and_leaves_no_program_behind() {
    for is_recorded in [true, false] {
        let stand_in = StandIn::new("rpicam-vid", "echo $$ > $PICTURES/pid; exec sleep 1000");
        let mut command = stand_in.run(&["--no-wait"]);
        if is_recorded {
            command = Command::new(env!("CARGO_BIN_EXE_posewire"));
            command.args(["record", "--camera", "csi"]).arg(stand_in.path("clip.avi"));
            command.env("PATH", format!("{}:/usr/bin:/bin", stand_in.folder.path().display()));
        }
        let mut running = Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
        let began = Instant::now();
        while stand_in.lines("pid") == 0 {
            assert!(began.elapsed() < Duration::from_secs(60), "it is not started");
            sleep(Duration::from_millis(20));
        }
        running.interrupt();
        running.wait_within(Duration::from_secs(5));
        assert!(!is_alive(&stand_in.path("pid")), "it was left behind");
    }
}

/// A camera's program that hangs would keep the camera from whoever opens it next.
#[test]
fn a_program_that_does_not_end_when_it_is_asked_is_killed_before_we_are_gone() {
    let script =
        "trap '' INT TERM; echo $$ > $PICTURES/pid; while true; do cat $PICTURES/*.jpg; sleep 0.05; done";
    for (hangs_while_asked, pid) in [(false, "pid"), (true, "helps")] {
        let stand_in = StandIn::new("rpicam-vid", script);
        if hangs_while_asked {
            // Read until somebody writes, which nobody does.
            mkfifoat(CWD, stand_in.path("help"), Mode::RUSR | Mode::WUSR).unwrap();
        }
        let lines = stand_in.path("poses");
        let mut command = stand_in.run(&["--jsonl", lines.to_str().unwrap()]);
        let mut running = Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
        let began = Instant::now();
        while stand_in.lines(pid) == 0 || (!hangs_while_asked && stand_in.lines("poses") == 0) {
            assert!(began.elapsed() < Duration::from_secs(60), "it is not started");
            sleep(Duration::from_millis(20));
        }
        running.terminate();
        running.wait_within(Duration::from_secs(5));
        assert!(!is_alive(&stand_in.path(pid)), "{pid}: it was left behind");
    }
}

/// Bytes that a process has written, whatever to.
fn bytes_written(pid_file: &Path) -> u64 {
    let pid = fs::read_to_string(pid_file).unwrap_or_default();
    let io = fs::read_to_string(format!("/proc/{}/io", pid.trim())).unwrap_or_default();
    io.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok()).unwrap_or_default()
}

#[test]
fn a_program_that_complains_without_end_gives_pictures_all_the_same() {
    const FLOOD_BYTES: u64 = 100_000_000;
    let stand_in = StandIn::new(
        "rpicam-vid",
        "yes '[0:12:34.567] [1] WARN V4L2 v4l2_videodevice.cpp:2007 Dequeue timer expired' >&2 &\n\
         echo $! > $PICTURES/flood\n\
         while true; do cat $PICTURES/*.jpg; sleep 0.05; done",
    );
    let (log, lines) = (fs::File::create(stand_in.path("log")).unwrap(), stand_in.path("poses"));
    let mut running =
        Running::start(stand_in.run(&["--jsonl", lines.to_str().unwrap()]).stdout(Stdio::null()).stderr(log));
    let began = Instant::now();
    let wait_for = |count: usize, flood: u64| {
        while stand_in.lines("poses") < count || bytes_written(&stand_in.path("flood")) < flood {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "{} lines, {} bytes: {}",
                stand_in.lines("poses"),
                bytes_written(&stand_in.path("flood")),
                fs::read_to_string(stand_in.path("log")).unwrap()
            );
            sleep(Duration::from_millis(20));
        }
    };
    wait_for(10, 0);
    let before_kib = running.resident_kib();
    wait_for(30, FLOOD_BYTES);
    let grown_kib = running.resident_kib().saturating_sub(before_kib);
    running.terminate();
    assert!(running.wait_within(Duration::from_secs(10)).success());
    assert!(grown_kib < FLOOD_BYTES / 1024 / 4, "{grown_kib} KiB");
    let said = fs::read_to_string(stand_in.path("log")).unwrap();
    assert!(said.len() < 4000 && !said.contains("Dequeue"), "{said}");
}

#[test]
fn a_program_that_never_gives_a_picture_is_tried_less_and_less_often_and_said_once() {
    let stand_in = StandIn::new(
        "rpicam-vid",
        "echo >> $PICTURES/starts; echo 'ERROR: no cameras available' >&2; exit 255",
    );
    let log = fs::File::create(stand_in.path("log")).unwrap();
    let mut running = Running::start(stand_in.run(&[]).stderr(log));
    let began = Instant::now();
    while stand_in.lines("starts") < 4 {
        assert!(began.elapsed() < Duration::from_secs(60), "it is not tried again");
        sleep(Duration::from_millis(20));
    }
    running.terminate();
    assert!(running.wait_within(Duration::from_secs(10)).success());
    assert!(began.elapsed() >= Duration::from_secs(3), "0.5, 1 and 2 s lie between the starts");
    let said = fs::read_to_string(stand_in.path("log")).unwrap();
    assert_eq!(said.matches("no cameras available").count(), 1, "{said}");
}

#[test]
fn what_is_not_installed_is_named_with_what_installs_it() {
    let folder = tempfile::tempdir().unwrap();
    for (camera, expected) in
        [("csi", "sudo apt install rpicam-apps"), ("rtsp://127.0.0.1:1/x", "sudo apt install ffmpeg")]
    {
        let output = command(&["--camera", camera]).env("PATH", folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

/// A camera on the network that serves one reader at a time, so many pictures each.
fn http_camera(pictures: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://user:secret@{}/video", listener.local_addr().unwrap());
    spawn(move || {
        let jpegs = jpegs(6);
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let head = "HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace;boundary=frame\r\n\r\n";
            let mut sent = connection.write_all(head.as_bytes());
            for jpeg in jpegs.iter().cycle().take(pictures) {
                sent = sent
                    .and_then(|()| {
                        write!(
                            connection,
                            "--frame\r\nContent-Type: image/jpeg\r\nContent-Length: {}\r\n\r\n",
                            jpeg.len()
                        )
                    })
                    .and_then(|()| connection.write_all(jpeg))
                    .and_then(|()| connection.write_all(b"\r\n"));
                sleep(Duration::from_millis(20));
            }
        }
    });
    address
}

#[test]
fn a_camera_on_the_network_is_found_again_and_its_password_stays_out_of_the_log() {
    if Command::new("ffmpeg").arg("-version").output().is_err() {
        eprintln!("SKIPPED: ffmpeg is not installed");
        return;
    }
    // ffmpeg looks at some pictures before it gives the first.
    let address = http_camera(120);
    let output = command(&["--camera", &address, "--smoother", "none", "--frames", "150"]).output().unwrap();
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    let lines = output.stdout.iter().filter(|&&b| b == b'\n').count();
    assert!(lines > 120, "{lines}, not more than it serves at once: {said}");
    assert!(said.contains("ffmpeg ended") && said.contains("back after"), "{said}");
    assert!(!said.contains("secret"), "{said}");
}
