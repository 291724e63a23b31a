//! The real binary, asked to end by a signal after it has run for a while.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{GRACE, STOP_WITHIN};
use crate::cli::Running;

fn run(args: &[&str]) -> Running {
    Running::start(
        Command::new(env!("CARGO_BIN_EXE_posewire"))
            .args(["run", "--smoother", "one-euro"])
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null()),
    )
}

/// How long the end took, and the exit code.
fn terminated(mut child: Running) -> (Duration, Option<i32>) {
    child.terminate();
    let asked = Instant::now();
    let status = child.wait_within(Duration::from_secs(20));
    (asked.elapsed(), status.code())
}

#[test]
fn a_running_tracker_ends_in_time_and_its_file_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poses.jsonl");
    let child = run(&["--synthetic", "--jsonl", path.to_str().unwrap()]);
    let began = Instant::now();
    while std::fs::read_to_string(&path).unwrap_or_default().lines().count() < 10 {
        assert!(began.elapsed() < Duration::from_secs(60), "no poses");
        sleep(Duration::from_millis(10));
    }
    let (took, code) = terminated(child);
    assert_eq!(code, Some(0));
    assert!(took < STOP_WITHIN + GRACE, "{took:?}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.ends_with("}\n"));
    assert!(text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
}

/// `timeout` signals the program and then its group.
#[test]
fn a_second_signal_that_comes_with_the_first_does_not_cut_the_end_short() {
    let folder = tempfile::tempdir().unwrap();
    let [lines, film] = ["poses.jsonl", "poses.mcap"].map(|name| folder.path().join(name));
    let paths = [&lines, &film].map(|path| path.to_str().unwrap());
    let child = run(&["--synthetic", "--jsonl", paths[0], "--mcap", paths[1]]);
    let began = Instant::now();
    while std::fs::read_to_string(&lines).unwrap_or_default().lines().count() < 10 {
        assert!(began.elapsed() < Duration::from_secs(60), "no poses");
        sleep(Duration::from_millis(10));
    }
    child.terminate();
    let (took, code) = terminated(child);
    assert!(code == Some(0) && film.is_file(), "{code:?}");
    assert!(took < STOP_WITHIN + GRACE, "{took:?}");
}

/// An ssh that breaks off, or a window that is closed; `nohup` is there for who wants it to go on.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_that_is_closed_ends_it_with_a_whole_file_but_not_under_nohup() {
    for keeps_on in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let [lines, film] = ["poses.jsonl", "poses.mcap"].map(|name| folder.path().join(name));
        // Whoever runs the tests may have SIGHUP ignored, which a child inherits.
        let mut command = Command::new("env");
        command.arg("--default-signal=HUP").args(["nohup"].iter().filter(|_| keeps_on));
        command.arg(env!("CARGO_BIN_EXE_posewire")).args(["run", "--synthetic", "--smoother", "none"]);
        command.arg("--jsonl").arg(&lines).arg("--mcap").arg(&film);
        let mut child = Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
        let written = || std::fs::read_to_string(&lines).unwrap_or_default().lines().count();
        let wait_for = |count: usize| {
            let began = Instant::now();
            while written() < count {
                assert!(began.elapsed() < Duration::from_secs(60), "no poses");
                sleep(Duration::from_millis(10));
            }
        };
        wait_for(10);
        child.signal("-HUP");
        if keeps_on {
            wait_for(written() + 30);
            assert!(child.ended().is_none());
            child.terminate();
        }
        assert_eq!(child.wait_within(Duration::from_secs(20)).code(), Some(0), "{keeps_on}");
        assert!(film.is_file());
    }
}

#[test]
fn it_ends_in_time_whenever_it_is_asked_during_the_start() {
    for after_ms in [60, 150, 400] {
        let child = run(&["--synthetic", "--jsonl", "/dev/null"]);
        sleep(Duration::from_millis(after_ms));
        let (took, code) = terminated(child);
        // A signal before the handler is there ends it as the system does.
        assert!(matches!(code, Some(0) | None), "after {after_ms} ms: {code:?}");
        assert!(took < STOP_WITHIN + GRACE, "after {after_ms} ms: {took:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_film_that_is_being_opened_does_not_hold_it_and_its_reader_is_not_left_behind() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // As on a disk that does not answer; what it starts ends too.
    std::fs::write(at("ffmpeg"), "#!/bin/sh\nsleep 300 & echo $$ $! > \"$0.ids\"; wait\n").unwrap();
    std::fs::set_permissions(at("ffmpeg"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(at("clip.mp4"), "whatever").unwrap();
    let child = Running::start(
        Command::new(env!("CARGO_BIN_EXE_posewire"))
            .args(["run", "clip.mp4", "--smoother", "none", "--jsonl", "/dev/null"])
            .current_dir(&folder)
            .env("PATH", format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap()))
            .stderr(Stdio::null()),
    );
    let began = Instant::now();
    let mut ids = String::new();
    while !ids.ends_with('\n') {
        assert!(began.elapsed() < Duration::from_secs(60), "it opens nothing");
        sleep(Duration::from_millis(10));
        ids = std::fs::read_to_string(at("ffmpeg.ids")).unwrap_or_default();
    }
    let (took, code) = terminated(child);
    assert_eq!(code, Some(0));
    assert!(took < STOP_WITHIN + GRACE, "{took:?}");
    let runs = |id: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
    };
    let killed = Instant::now();
    while ids.split_whitespace().any(runs) {
        assert!(killed.elapsed() < Duration::from_secs(20), "{ids} are left behind");
        sleep(Duration::from_millis(10));
    }
}

#[cfg(all(feature = "v4l", target_os = "linux"))]
#[test]
fn it_waits_for_a_camera_and_ends_in_time_while_it_does() {
    let mut child = run(&["--camera", "/dev/video97", "--jsonl", "/dev/null"]);
    sleep(Duration::from_millis(1_500));
    assert!(child.ended().is_none(), "it did not wait");
    let (took, code) = terminated(child);
    assert_eq!(code, Some(0));
    assert!(took < STOP_WITHIN + GRACE, "{took:?}");
}

/// A service manager that does not read what it is told must not keep a signal waiting.
#[cfg(target_os = "linux")]
#[test]
fn a_service_manager_that_does_not_read_does_not_hold_it() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, path) = (folder.path().join("notify"), folder.path().join("poses.jsonl"));
    let _manager = std::os::unix::net::UnixDatagram::bind(&socket).unwrap();
    let sender = std::os::unix::net::UnixDatagram::unbound().unwrap();
    sender.set_nonblocking(true).unwrap();
    while sender.send_to(b"X=1", &socket).is_ok() {}
    let child = Running::start(
        Command::new(env!("CARGO_BIN_EXE_posewire"))
            .args(["run", "--synthetic", "--smoother", "none", "--jsonl", path.to_str().unwrap()])
            .env("NOTIFY_SOCKET", &socket)
            .stderr(Stdio::null()),
    );
    let began = Instant::now();
    // It is ready by now, and has been alive for a second.
    while std::fs::read_to_string(&path).unwrap_or_default().lines().count() < 45 {
        assert!(began.elapsed() < Duration::from_secs(60), "no poses");
        sleep(Duration::from_millis(10));
    }
    let (took, code) = terminated(child);
    assert_eq!(code, Some(0));
    assert!(took < STOP_WITHIN + GRACE, "{took:?}");
}

/// Poses are kept from one start of a service to the next.
#[cfg(target_os = "linux")]
#[test]
fn a_service_that_starts_again_keeps_the_lines_and_the_file_of_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poses.jsonl");
    let [whole, earlier] = ["poses.mcap", "poses.1.mcap"].map(|name| folder.path().join(name));
    let lines_after = |manager: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_posewire"));
        command.args(["run", "--synthetic", "--no-drop", "--frames", "3", "--smoother", "none", "--jsonl"]);
        command.arg(&path).arg("--mcap").arg(&whole).stderr(Stdio::null()).env_remove("NOTIFY_SOCKET");
        if let Some(manager) = manager {
            command.env("NOTIFY_SOCKET", manager);
        }
        assert!(command.status().unwrap().success());
        std::fs::read_to_string(&path).unwrap().lines().count()
    };
    assert_eq!(lines_after(None), 3);
    let first = std::fs::read(&whole).unwrap();
    assert_eq!(lines_after(Some("@posewire-nobody-listens")), 6);
    assert_eq!(std::fs::read(&earlier).unwrap(), first);
    assert_eq!(lines_after(None), 3);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3, "by hand it is replaced");
}

#[cfg(target_os = "linux")]
#[test]
fn a_reader_that_stopped_does_not_hold_it() {
    let pty = crate::pty::Pty::open();
    let port = format!("{}@921600", pty.path.display());
    let child = run(&["--synthetic", "--rate", "200", "--serial", &port]);
    // Nobody reads: the terminal holds a few kilobytes, then every write blocks.
    sleep(Duration::from_secs(2));
    let (took, code) = terminated(child);
    assert_eq!(code, Some(0));
    assert!(took < STOP_WITHIN + GRACE, "{took:?}");
}

/// Lines of poses and the log both wait for a terminal that takes nothing; the file beside them is complete.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_that_stopped_reading_does_not_hold_it() {
    let (pty, folder) = (crate::pty::Pty::open(), tempfile::tempdir().unwrap());
    let film = folder.path().join("poses.mcap");
    crate::pty::fill(&pty.path);
    let mut command = Command::new(env!("CARGO_BIN_EXE_posewire"));
    command.args(["run", "-vv", "--synthetic", "--smoother", "none", "--jsonl", "-", "--mcap"]).arg(&film);
    let child = Running::start(command.stdout(pty.file()).stderr(pty.file()));
    sleep(Duration::from_secs(3));
    let (took, code) = terminated(child);
    assert_eq!(code, Some(0));
    assert!(took < STOP_WITHIN + 2 * GRACE, "{took:?}");
    let film = std::fs::read(film).unwrap();
    assert!(film.len() > 1000 && film.ends_with(b"\x89MCAP0\r\n"), "{} bytes", film.len());
}

/// A pipe is waited for, as its reader wants every line; but not by somebody who asked for the end.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_that_nobody_reads_holds_it_for_two_seconds() {
    use std::os::fd::AsRawFd;
    let (_reader, writer) = std::io::pipe().unwrap();
    crate::pty::fill(format!("/proc/self/fd/{}", writer.as_raw_fd()).as_ref());
    let mut command = Command::new(env!("CARGO_BIN_EXE_posewire"));
    command.args(["run", "--synthetic"]).stdout(Stdio::null()).stderr(writer);
    let child = Running::start(&mut command);
    sleep(Duration::from_secs(1));
    let (took, code) = terminated(child);
    assert_eq!(code, Some(1));
    assert!(took > STOP_WITHIN && took < Duration::from_secs(3), "{took:?}");
}

/// As a film on a disk that does not answer.
#[cfg(target_os = "linux")]
#[test]
fn what_records_or_calibrates_ends_where_its_source_hangs_and_leaves_no_program() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let [ffmpeg, started] = ["ffmpeg", "started"].map(|name| folder.path().join(name));
    std::fs::write(&ffmpeg, "#!/bin/sh\necho $$ > started.new; mv started.new started; exec sleep 1000\n")
        .unwrap();
    std::fs::set_permissions(&ffmpeg, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(folder.path().join("film.mkv"), "a film").unwrap();
    let programs = format!("{}:/usr/bin:/bin", folder.path().display());
    let all = [["record", "out.avi"].as_slice(), &["calibrate", "--out", "lens.toml"]];
    // Those who do not wait, as well.
    for (args, is_again) in all.iter().flat_map(|args| [(args, false), (args, true)]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_posewire"));
        command.args(*args).args(["--replay", "film.mkv"]).env("PATH", &programs);
        let command = command.current_dir(&folder).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = Running::start(command);
        let began = Instant::now();
        while !started.exists() {
            assert!(began.elapsed() < Duration::from_secs(60), "{args:?}: its source is not opened");
            sleep(Duration::from_millis(10));
        }
        child.interrupt();
        if is_again {
            sleep(Duration::from_secs(1));
            child.interrupt();
        }
        assert_eq!(child.wait_within(Duration::from_secs(20)).code(), Some(1), "{args:?}");
        let pid = std::fs::read_to_string(&started).unwrap();
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        let asked = Instant::now();
        // Whoever takes over orphans may be slow to ask how they ended.
        while !state().is_empty() && !state().contains(") Z ") {
            assert!(asked.elapsed() < Duration::from_secs(20), "{args:?}: {}", state());
            sleep(Duration::from_millis(10));
        }
        std::fs::remove_file(&started).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_reader_that_hears_nothing_ends_in_time() {
    let pty = crate::pty::Pty::open();
    let child = Running::start(
        Command::new(env!("CARGO_BIN_EXE_posewire"))
            .args(["read", pty.path.to_str().unwrap()])
            .stderr(Stdio::null()),
    );
    // It asks for HELLO once it listens for signals and has its port.
    while pty.read_now().is_empty() {
        sleep(Duration::from_millis(5));
    }
    let (took, code) = terminated(child);
    assert_eq!(code, Some(0));
    assert!(took < STOP_WITHIN + GRACE, "{took:?}");
}

/// Ctrl-Z gives the shell its screen back and `fg` takes it again; a terminal that is closed is given back too.
#[cfg(target_os = "linux")]
#[test]
fn a_run_in_the_terminal_leaves_it_while_it_is_stopped_and_when_it_is_hung_up() {
    let pty = crate::pty::Pty::open();
    let path = pty.path.to_str().unwrap();
    let size = ["-F", path, "rows", "24", "cols", "80"];
    assert!(Command::new("stty").args(size).status().unwrap().success());
    let mut child = Running::start(
        Command::new(env!("CARGO_BIN_EXE_posewire"))
            .args(["run", "--synthetic", "--smoother", "none", "--display", "terminal"])
            .stdout(std::fs::OpenOptions::new().write(true).open(&pty.path).unwrap())
            .stderr(Stdio::null()),
    );
    let wait_for = |what: &str| {
        let (mut shown, began) = (Vec::new(), Instant::now());
        while !shown.windows(what.len()).any(|w| w == what.as_bytes()) {
            assert!(began.elapsed() < Duration::from_secs(60), "no {what:?}");
            shown.extend(pty.read_now());
        }
    };
    let (enters, leaves) = ("\u{1b}[?1049h", "\u{1b}[?1049l");
    wait_for(enters);
    child.signal("-TSTP");
    wait_for(leaves);
    let began = Instant::now();
    while child.state() != 'T' {
        assert!(began.elapsed() < Duration::from_secs(20), "it does not stop");
        sleep(Duration::from_millis(5));
    }
    child.signal("-CONT");
    wait_for(enters);
    child.signal("-HUP");
    wait_for(leaves);
    assert_eq!(child.wait_within(Duration::from_secs(20)).code(), Some(0));
}

/// A terminal is given back as it was.
#[cfg(target_os = "linux")]
#[test]
fn a_run_in_the_terminal_ends_in_time_and_gives_it_back() {
    let pty = crate::pty::Pty::open();
    let path = pty.path.to_str().unwrap();
    assert!(Command::new("stty").args(["-F", path, "rows", "24", "cols", "80"]).status().unwrap().success());
    let mut child = Running::start(
        Command::new(env!("CARGO_BIN_EXE_posewire"))
            .args(["run", "--synthetic", "--display", "terminal"])
            .stdout(std::fs::OpenOptions::new().write(true).open(&pty.path).unwrap())
            .stderr(Stdio::null()),
    );
    let (mut shown, began) = (Vec::new(), Instant::now());
    let has = |shown: &[u8], what: &str| shown.windows(what.len()).any(|w| w == what.as_bytes());
    while !has(&shown, "▀") {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing is drawn");
        shown.extend(pty.read_now());
    }
    child.terminate();
    let asked = Instant::now();
    // Somebody must go on reading, as a terminal does.
    let status = loop {
        shown.extend(pty.read_now());
        if let Some(status) = child.ended() {
            break status;
        }
        assert!(asked.elapsed() < STOP_WITHIN + GRACE, "{:?}", asked.elapsed());
    };
    assert_eq!(status.code(), Some(0));
    shown.extend(pty.read_now());
    assert!(has(&shown, "\u{1b}[?1049h"), "drawn on a screen of its own");
    let end = String::from_utf8_lossy(&shown[shown.len().saturating_sub(40)..]).into_owned();
    assert!(end.contains("\u{1b}[?1049l") && end.contains("\u{1b}[?25h"), "{end:?}");
}
