//! Who is told to end does, in good order.

use super::*;

/// Sends a signal to `child`.
fn signal(child: &Child, which: &str) {
    assert!(Command::new("kill").args([which, &child.id().to_string()]).status().unwrap().success());
}

/// Two simulated cameras on free ports, and a room in which they stand somewhere.
fn two_cameras(at: &Path) -> [u16; 2] {
    done(at, &["simulate", "--out", "demo", "--cameras", "2", "--seconds", "1"]);
    let ports = free_ports();
    let (mut cameras, mut room) = (fs::read_to_string(at.join("demo/cameras.toml")).unwrap(), String::new());
    for (k, port) in (1..).zip(ports) {
        cameras = cameras.replace(&format!("910{k}"), &port.to_string());
        room +=
            &format!("[[camera]]\nname = 'camera-{k}'\nat_m = [0.0, 0.0, 2.0]\nrotation = [1.0, 0, 0, 0]\n");
    }
    fs::write(at.join("demo/cameras.toml"), cameras).unwrap();
    fs::write(at.join("room.toml"), room).unwrap();
    ports
}

/// The hub with SIGHUP as it is by itself, whatever runs the tests; `before`: what runs it.
fn from_a_terminal(at: &Path, before: &[&str], words: &[&str]) -> Running {
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP").args(before).arg(HUB).args(words).current_dir(at);
    Running(command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
}

/// Feeds `port` with pictures of nobody until `is_enough`.
fn feed_until(port: u16, mut is_enough: impl FnMut() -> bool) {
    let (mouth, began) = (UdpSocket::bind("127.0.0.1:0").unwrap(), Instant::now());
    while !is_enough() {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing comes of it");
        let at_us = began.elapsed().as_micros();
        let line = format!("{{\"captured_us\":{at_us},\"emitted_us\":{at_us},\"persons\":[]}}");
        // A port that nobody listens at yet refuses.
        let _ = mouth.send_to(line.as_bytes(), ("127.0.0.1", port));
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn lines_in(file: &Path) -> usize {
    fs::read_to_string(file).unwrap_or_default().lines().count()
}

#[test]
fn a_terminal_that_is_closed_ends_it_with_whole_files_but_not_under_nohup() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let [port, _] = two_cameras(at);
    let record = ["record", "demo/cameras.toml", "--out", "take.jsonl"];
    let run = ["run", "demo/cameras.toml", "--jsonl", "people.jsonl"];
    for (before, words) in [(&[][..], &record), (&[], &run), (&["nohup"], &run)] {
        let file = at.join(words[3]);
        let _ = fs::remove_file(&file);
        let mut running = from_a_terminal(at, before, words);
        // Nobody is there any more whom anything can be said to.
        drop(running.0.stderr.take());
        // A take's lines are written when some have come.
        feed_until(port, || lines_in(&file) >= 3);
        // A terminal that is closed and its shell send one each.
        (0..2).for_each(|_| signal(&running.0, "-HUP"));
        if !before.is_empty() {
            let now = lines_in(&file);
            feed_until(port, || lines_in(&file) >= now + 30);
            signal(&running.0, "-TERM");
        }
        assert_eq!(running.0.wait().unwrap().code(), Some(0), "{before:?} {words:?}");
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.ends_with("}\n"), "{words:?}: {text}");
        assert!(text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{words:?}: {text}");
    }
}

#[test]
fn whoever_asks_again_half_a_second_later_has_waited_enough() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    two_cameras(at);
    // A take that never begins: nothing looks whether it is to end.
    assert!(Command::new("mkfifo").arg(at.join("pipe")).status().unwrap().success());
    let words = ["calibrate", "demo/cameras.toml", "--replay", "pipe"];
    let mut hub = start(at, &words);
    let status = format!("/proc/{}/status", hub.0.id());
    let listens = || {
        let told = fs::read_to_string(&status).unwrap();
        let caught = told.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        // SIGTERM is 15.
        u64::from_str_radix(caught.trim(), 16).unwrap() >> 14 & 1 == 1
    };
    while !listens() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let began = Instant::now();
    let ended = loop {
        signal(&hub.0, "-TERM");
        std::thread::sleep(Duration::from_millis(50));
        if let Some(ended) = hub.0.try_wait().unwrap() {
            break ended;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "it does not end");
    };
    assert_eq!(ended.code(), Some(1));
    assert!(began.elapsed() > Duration::from_millis(500), "{:?}", began.elapsed());
}

#[test]
fn an_agent_that_is_told_to_stop_has_not_failed() {
    let folder = tempfile::tempdir().unwrap();
    // A signal falls into what the agent waits for, or between.
    for _ in 0..5 {
        let [board, hub] = free_ports().map(|port| format!("127.0.0.1:{port}"));
        let mut agent = Command::new(HUB);
        agent.args(["agent", "--listen", &board, "--to", &hub]).current_dir(&folder);
        let mut agent = agent.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = [0; 8];
        // Its first word comes when it can be stopped.
        std::io::Read::read_exact(agent.stderr.as_mut().unwrap(), &mut said).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        assert!(Command::new("kill").arg(agent.id().to_string()).status().unwrap().success());
        let out = agent.wait_with_output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }
}

#[test]
fn a_reader_of_a_building_that_pauses_does_not_hold_up_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let [port] = free_ports();
    let room = format!("[[room]]\nname = 'hall'\nlisten = '127.0.0.1:{port}'\nat_m = [0.0, 0.0, 0.0]\n");
    fs::write(at.join("building.toml"), room).unwrap();
    let mut merge = Command::new(HUB);
    merge.args(["merge", "building.toml", "--rate", "1000"]).current_dir(at).stdin(Stdio::null());
    // Nobody reads either: a pipe takes some thousand lines, and then none.
    let mut merge = merge.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = std::io::BufReader::new(merge.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("is not read") {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut said, &mut line).unwrap() > 0);
    }
    assert!(Command::new("kill").arg(merge.id().to_string()).status().unwrap().success());
    assert!(merge.wait().unwrap().success());
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut said, &mut rest).unwrap();
    assert!(rest.contains("its last lines are lost"), "{rest}");
}
