//! The command line as a user meets it.

use std::process::{Child, Command, ExitStatus, Output};
use std::time::{Duration, Instant};

/// Runs the built binary with these arguments.
pub fn posewire(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_posewire")).args(args).output().expect("the binary runs")
}

/// A program that runs beside the test and does not outlive it, whatever happens.
pub struct Running(Child);

impl Running {
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().expect("the binary runs"))
    }

    /// SIGTERM.
    pub fn terminate(&self) {
        self.signal("-TERM");
    }

    /// SIGINT.
    pub fn interrupt(&self) {
        self.signal("-INT");
    }

    /// How the system has it: `R`, `S`, `T` for stopped …
    #[cfg(target_os = "linux")]
    pub fn state(&self) -> char {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).unwrap()
    }

    /// Waits until a signal asks it to end, and does not end it.
    #[cfg(target_os = "linux")]
    pub fn wait_until_it_listens(&self) {
        let began = Instant::now();
        loop {
            let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("it has ended");
            // SIGTERM is the fifteenth.
            if u64::from_str_radix(caught.trim(), 16).unwrap() & 1 << 14 != 0 {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "it listens for no signal");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// What it holds in memory.
    #[cfg(target_os = "linux")]
    pub fn resident_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// A signal by its option of `kill`: `-HUP`.
    pub fn signal(&self, which: &str) {
        let told = Command::new("kill").args([which, &self.0.id().to_string()]).status().unwrap();
        assert!(told.success(), "it had ended already");
    }

    /// How it has ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().unwrap()
    }

    /// Waits for its end.
    pub fn wait_within(&mut self, within: Duration) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.ended() {
                return status;
            }
            assert!(began.elapsed() < within, "it does not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn help_names_every_sub_command_and_the_exit_codes() {
    let out = posewire(&["--help"]);
    assert!(out.status.success());
    let text = String::from_utf8(out.stdout).unwrap();
    let commands = "run read predict eval bench devices doctor models calibrate record completions";
    for word in commands.split(' ').chain(["Exit codes"]) {
        assert!(text.contains(word), "{word} is missing from\n{text}");
    }
}

#[test]
fn a_wrong_command_line_ends_with_2_and_names_the_nearest_word() {
    let out = posewire(&["completion"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("completions"));
    // A file is no wrong word.
    let folder = tempfile::tempdir().unwrap();
    let photo = folder.path().join("photo.heic");
    std::fs::write(&photo, "").unwrap();
    let out = posewire(&[photo.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(
        said.contains("photo.heic") && said.contains("convert") && !said.contains("unrecognized"),
        "{said}"
    );
    let out = posewire(&["bench", "--model", "smal"]);
    assert_eq!(out.status.code(), Some(2), "a network that there is not is a wrong command line too");
}

#[test]
fn completions_are_made_for_a_shell_and_man_pages_for_every_sub_command() {
    let bash = posewire(&["completions", "bash"]);
    assert!(bash.status.success());
    assert!(String::from_utf8_lossy(&bash.stdout).contains("_posewire"));

    let folder = tempfile::tempdir().unwrap();
    let man = posewire(&["completions", "--man", folder.path().to_str().unwrap()]);
    assert!(man.status.success(), "{}", String::from_utf8_lossy(&man.stderr));
    let page = std::fs::read_to_string(folder.path().join("posewire-completions.1")).unwrap();
    assert!(page.contains("Examples:"), "{page}");
}

const OFFLINE: [&str; 7] = ["run", "--synthetic", "--no-drop", "--frames", "8", "--smoother", "one-euro"];

#[test]
fn the_same_clip_gives_the_same_json_lines() {
    let once = posewire(&OFFLINE);
    assert!(once.status.success(), "{}", String::from_utf8_lossy(&once.stderr));
    let lines: Vec<serde_json::Value> = String::from_utf8_lossy(&once.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 8);
    for (i, line) in lines.iter().enumerate() {
        assert_eq!((&line["seq"], &line["frame"]), (&i.into(), &i.into()));
        assert_eq!(line["emitted_us"], line["captured_us"], "nothing may depend on the machine");
    }
    assert_eq!(posewire(&OFFLINE).stdout, once.stdout);
}

#[test]
fn what_runs_is_said_on_stderr() {
    let out = posewire(&OFFLINE);
    let text = String::from_utf8_lossy(&out.stderr);
    for word in ["source: ", "model: ", "smoother one-euro", "output: "] {
        assert!(text.contains(word), "{word} is missing from\n{text}");
    }
}

#[test]
fn seeded_faults_are_repeatable_and_lose_no_other_frame() {
    let faulty = |seed: &str| {
        let faults = ["--inject", "camera.drop=0.3,infer.bad=0.2", "--seed", seed];
        let out = posewire(&[&OFFLINE[..], &faults[..]].concat());
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let number = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["frame"].as_u64();
        let frames: Vec<_> = String::from_utf8_lossy(&out.stdout).lines().map(number).collect();
        assert!(frames.windows(2).all(|w| w[0] < w[1]), "{frames:?}");
        frames
    };
    let frames = faulty("5");
    assert_eq!(faulty("5"), frames);
    assert!(frames.last().unwrap().unwrap() > 7, "some of the first eight frames are gone: {frames:?}");
}

/// Wrong input: a clear word about what and what to do, and the stated exit code.
#[test]
fn bad_input_is_named() {
    for (args, code, words) in [
        (&["--camera", "/dev/null"][..], 1, &["/dev/null"][..]),
        (&["--camera", "/dev/video97", "--no-wait"], 1, &["/dev/video97"]),
        (&["--replay", "/nonexistent.avi"], 1, &["/nonexistent.avi"]),
        (&["--synthetic", "--serial", "/dev/nonexistent"], 1, &["/dev/nonexistent"]),
        (&["--synthetic", "--serial", "/dev/ttyUSB0@12"], 2, &["12", "baud"]),
        (&["--synthetic", "--jsonl", "/nonexistent/poses.jsonl"], 1, &["/nonexistent/poses.jsonl"]),
        (&["--synthetic", "--inject", "camera.dorp=0.1"], 2, &["did you mean 'camera.drop'"]),
        (&["--synthetic", "--inject", "serial.stall=0.1"], 2, &["--serial"]),
        (&["--synthetic", "--smoother", "xll"], 2, &["did you mean 'xl'"]),
        (&["--synthetic", "--max-persons", "9"], 2, &["1 to 8"]),
        (&["--synthetic", "--rate", "fast"], 2, &["camera", "Hz"]),
        (&["--synthetic", "--camera", "auto"], 2, &["cannot be used with"]),
        (&["--camera", "auto", "--no-drop"], 2, &["--no-drop"]),
        (&["--no-drop"], 2, &["--no-drop", "--replay FILE"]),
        (&["--synthetic", "--no-drop", "--rate", "50"], 2, &["--rate", "--no-drop"]),
        (&[""], 2, &["SOURCE"]),
        (&["--camera", "csi:x"], 2, &["csi:0"]),
        (&["ftp://camera.local/"], 2, &["rtsp://"]),
        (&["--synthetic", "--fps", "0"], 2, &["fps = 0", "1 to 1000"]),
        (&["--synthetic", "--smoother", "gru"], 2, &["--temporal FILE"]),
        (&["--synthetic", "--video", "out.gif"], 2, &["--video out.gif", ".mp4"]),
        (&["--synthetic", "--no-drop", "--inject", "camera.unplug=0.1"], 2, &["camera.unplug", "--no-drop"]),
        (&["--synthetic", "--web-pixels"], 2, &["--web-pixels", "--web ADDR"]),
        (&["--camera="], 2, &["--camera", "nothing is given"]),
        (&["--replay="], 2, &["--replay"]),
        (&["--synthetic", "--jsonl="], 2, &["--jsonl"]),
        (&["--synthetic", "--model", "huge"], 2, &["huge", "nano, small, base"]),
        (&["--synthetic", "--model", "/nope.toml"], 2, &["/nope.toml"]),
        (&["--synthetic", "--web", "127.0.0.1"], 2, &["HOST:PORT"]),
        (&["--synthetic", "--web", "localhost:99999"], 2, &["HOST:PORT"]),
        (&["--synthetic", "--web", "192.0.2.1:80"], 1, &["192.0.2.1:80"]),
        (&["--synthetic", "--display", "screen"], 2, &["window, fb, terminal"]),
        (&["--synthetic", "--engine", "gpu"], 2, &["int8:KERNEL"]),
        (&["--config", "/dev/zero"], 2, &["/dev/zero", "1 MiB"]),
    ] {
        let out = posewire(&[&["run"], args].concat());
        let text = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(code), "{args:?}: {text}");
        assert!(!text.contains("left behind"), "{args:?}: models that still load are not the matter\n{text}");
        for word in words {
            assert!(text.contains(word), "{args:?}: no {word} in\n{text}");
        }
    }
}

#[test]
fn pictures_show_the_poses_over_the_clip() {
    let folder = tempfile::tempdir().unwrap();
    let target = format!("png:{}", folder.path().join("pictures").display());
    let out = posewire(&[&OFFLINE[..], &["--display", &target]].concat());
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(std::fs::read_dir(folder.path().join("pictures")).unwrap().count(), 8);
}

#[test]
fn a_closed_pipe_ends_the_run_quietly() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_posewire"))
        .args(["run", "--synthetic", "--smoother", "one-euro"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn devices_and_doctor_say_what_is_there_and_what_to_do() {
    let out = posewire(&["devices"]);
    assert!(out.status.success());
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(text.contains("cameras:") && text.contains("serial ports:"), "{text}");

    let out = posewire(&["doctor"]);
    assert!(matches!(out.status.code(), Some(0 | 3)));
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(text.lines().all(|l| ["ok    ", "note  ", "FAIL  "].iter().any(|w| l.starts_with(w))), "{text}");
    assert!(text.contains("keypoints network") && text.contains("cores"), "{text}");
    assert_eq!(out.status.code() == Some(3), text.contains("FAIL"));
}

#[test]
fn bench_keeps_its_figures_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bench.json");
    let out = posewire(&["bench", "--network", "--json", path.to_str().unwrap()]);
    let told = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(told.starts_with("bench: the networks alone"), "what it will do comes first: {told}");
    assert!(told.trim_end().lines().last().is_some_and(|last| last.contains("the figures are in")), "{told}");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let figures: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert!(figures["networks"][0]["us"]["p50"].as_f64().unwrap() > 0.0, "{figures}");
    assert!(figures["machine"]["cores"].as_u64().unwrap() > 0);
}

#[test]
fn what_is_to_be_watched_needs_no_option() {
    let folder = tempfile::tempdir().unwrap();
    let clip = folder.path().join("clip.avi");
    let clip = clip.to_str().unwrap();
    let out = posewire(&["record", clip, "--synthetic", "--frames", "2"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let out = posewire(&["run", clip, "--no-drop", "-v"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(String::from_utf8(out.stdout).unwrap().lines().count(), 2);
    for (args, code, expected) in [
        (&["run", "/dev/video250", "--no-wait"][..], 1, "/dev/video250: no such camera"),
        (&["run", "csi:x"], 2, "csi:0 is the first camera"),
        (&["-v", "/dev/video250", "--no-wait"], 1, "/dev/video250: no such camera"),
        (&["run", clip, "--camera", "auto"], 2, "cannot be used with"),
        (&["run", "--rotate", "45"], 2, "0, 90, 180 or 270"),
        (&["run", "--size", "640"], 2, "as in 640x480"),
    ] {
        let out = posewire(args);
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(expected), "{args:?}: {said}");
    }
}
