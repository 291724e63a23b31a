//! Started by a service manager, nobody looks at a screen and nobody starts it again: it waits for what is missing, and never
//! shows people who are not there.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::pipes::jpegs;
use crate::pty::Pty;

/// Nobody listens there, which a service does not mind.
const MANAGER: &str = "@posewire-nobody-listens";

fn service(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_posewire"));
    command.arg("run").args(args).env("NOTIFY_SOCKET", MANAGER);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Ends the service as a manager does; what it said.
fn ended(child: Child) -> Output {
    let asked = Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(asked.success());
    child.wait_with_output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        sleep(Duration::from_millis(20));
    }
}

fn has_a_video_node() -> bool {
    let is_video = |e: &fs::DirEntry| e.file_name().as_encoded_bytes().starts_with(b"video");
    fs::read_dir("/dev").unwrap().flatten().any(|e| is_video(&e))
}

#[test]
fn without_an_output_it_says_what_to_set_instead_of_filling_the_journal() {
    let output = service(&["--synthetic"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("a service needs an output"), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
}

#[test]
fn without_a_camera_it_waits_and_shows_nobody() {
    if has_a_video_node() {
        eprintln!("SKIPPED: this machine has a video node");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let lines = folder.path().join("poses.jsonl");
    let child = service(&["--jsonl", lines.to_str().unwrap()]).spawn().unwrap();
    sleep(Duration::from_secs(2));
    let output = ended(child);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("no camera found") && said.contains("waiting for it"), "{said}");
    assert_eq!(fs::read_to_string(&lines).unwrap_or_default(), "", "{said}");
}

/// The service may be started before the kernel has the sensor on the ribbon cable.
#[test]
fn a_camera_that_the_board_lists_only_later_is_taken_then() {
    if has_a_video_node() {
        eprintln!("SKIPPED: this machine has a video node");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (i, jpeg) in jpegs(3).iter().enumerate() {
        fs::write(path(&format!("{i}.jpg")), jpeg).unwrap();
    }
    let script = format!(
        "#!/bin/sh\ncd {}\ncase \"$*\" in\n\
         *--list-cameras*) echo >> asked; if [ -e there ]; then echo '0 : imx219 [3280x2464] (/base)'; fi; exit;;\n\
         *--help*) exit;;\nesac\nwhile true; do cat ./*.jpg; sleep 0.1; done\n",
        folder.path().display()
    );
    fs::write(path("rpicam-vid"), script).unwrap();
    fs::set_permissions(path("rpicam-vid"), fs::Permissions::from_mode(0o755)).unwrap();
    let lines = path("poses.jsonl");
    let child = service(&["--smoother", "none", "--jsonl", lines.to_str().unwrap()])
        .env("PATH", format!("{}:/usr/bin:/bin", folder.path().display()))
        .spawn()
        .unwrap();
    until("it does not ask what there is", || path("asked").exists());
    fs::write(path("there"), "").unwrap();
    until("it is not taken", || fs::read_to_string(&lines).is_ok_and(|text| text.lines().count() > 3));
    let output = ended(child);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("no camera found") && said.contains("CSI camera 0"), "{said}");
}

#[test]
fn a_missing_serial_port_is_waited_for_while_other_outputs_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let (port, lines) = (folder.path().join("ttyLATER"), folder.path().join("poses.jsonl"));
    let args = [
        "--synthetic",
        "--smoother",
        "none",
        "--serial",
        port.to_str().unwrap(),
        "--jsonl",
        lines.to_str().unwrap(),
    ];
    let refused = service(&args).arg("--no-wait").output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    let by_hand = Command::new(env!("CARGO_BIN_EXE_posewire"))
        .arg("run")
        .args(args)
        .env_remove("NOTIFY_SOCKET")
        .output()
        .unwrap();
    assert_eq!(by_hand.status.code(), Some(1), "somebody at a terminal is told at once");

    let child = service(&args).spawn().unwrap();
    until("no lines while the port is missing", || {
        fs::read_to_string(&lines).is_ok_and(|text| text.lines().count() > 5)
    });
    let pty = Pty::open();
    symlink(&pty.path, &port).unwrap();
    let mut heard = Vec::new();
    until("nothing on the port that came", || {
        heard.extend(pty.read_now());
        heard.len() > 500
    });
    let output = ended(child);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("waiting for it") && said.contains("there again"), "{said}");
}

/// The clip's lines and pictures are told from those of somebody who is there.
#[test]
fn lines_of_the_built_in_clip_say_so_and_those_of_a_file_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let clip = folder.path().join("clip.avi");
    let lines_of = |source: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_posewire"))
            .arg("run")
            .args(source)
            .args(["--frames", "3", "--no-drop", "--smoother", "none", "--jsonl", "-"])
            .env_remove("NOTIFY_SOCKET")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(lines.len(), 3);
        lines
    };
    for line in lines_of(&["--synthetic"]) {
        assert_eq!(line["source"], "built-in clip");
    }
    record(&clip);
    for line in lines_of(&["--replay", clip.to_str().unwrap()]) {
        assert!(line.get("source").is_none(), "{line}");
    }
}

fn record(clip: &Path) {
    let status = Command::new(env!("CARGO_BIN_EXE_posewire"))
        .args(["record", clip.to_str().unwrap(), "--synthetic", "--frames", "3"])
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}
