//! `posewire read` at the other end.

use std::path::Path;
use std::process::Child;
use std::sync::mpsc;

use super::*;

/// `posewire read` of this port, and what it says on standard error.
fn reading(port: &Path) -> (Child, mpsc::Receiver<String>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_posewire"))
        .arg("read")
        .arg(port)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || told.try_for_each(|line| sender.send(line.unwrap())));
    (child, lines)
}

#[test]
fn posewire_read_says_what_is_wrong_with_a_line_it_understands_nothing_of() {
    let [silent, other_rate] = ["nothing received yet", "nothing understood at 115200 baud"];
    // What is sent, and what is said, one after the other.
    let noise = b"\xf8\x80\x7f\x00";
    for said in [&[(&b""[..], silent)][..], &[(noise, other_rate)], &[(b"", silent), (noise, other_rate)]] {
        let pty = Pty::open();
        let (mut child, lines) = reading(&pty.path);
        for (bytes, expected) in said {
            let began = Instant::now();
            let line = loop {
                pty.hand.write_all(bytes).unwrap();
                match lines.recv_timeout(Duration::from_millis(50)) {
                    Ok(line) => break line,
                    Err(_) => {
                        assert!(began.elapsed() < Duration::from_secs(30), "it says nothing: {expected}")
                    }
                }
            };
            assert!(line.contains(expected) && line.contains(pty.path.to_str().unwrap()), "{line}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn posewire_read_says_once_why_a_lost_port_cannot_be_had() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("port");
    let first = Pty::open();
    symlink(&first.path, &name).unwrap();
    let (mut child, lines) = reading(&name);
    // Everything up to the line that says so.
    let until = |what: &str| -> Vec<String> {
        let mut heard = Vec::new();
        while !heard.iter().any(|line: &String| line.contains(what)) {
            heard.push(
                lines.recv_timeout(Duration::from_secs(30)).unwrap_or_else(|_| panic!("{what}: {heard:?}")),
            );
        }
        heard
    };
    until("nothing received yet");
    std::fs::remove_file(&name).unwrap();
    drop(first);
    until("; looking for it again");
    let second = Pty::open();
    let (mut other, _) = open(&second.path);
    symlink(&second.path, &name).unwrap();
    assert_eq!(until("another program uses it").len(), 1, "that it is away is known");
    std::thread::sleep(Duration::from_secs(4));
    other.finish(Duration::from_millis(100)).unwrap();
    assert_eq!(until("there again").len(), 1, "it has said why");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn posewire_read_prints_what_was_sent() {
    let cable = Cable::plug(921_600);
    let frames = 40;
    // A file, as a pipe would fill up while this test is busy sending.
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("poses.jsonl");
    let mut child = Command::new(env!("CARGO_BIN_EXE_posewire"))
        .args(["read", "--jsonl", "--frames", &frames.to_string()])
        .arg(format!("{}@921600", cable.ports[1].display()))
        .stdout(std::fs::File::create(&out).unwrap())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut serial, _) = open(&cable.ports[0]);
    let started = Instant::now();
    // What is sent before the reader is there is lost, so go on until it has had enough.
    let mut i = 0;
    while child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < Duration::from_secs(60), "the reader does not end");
        let now_us = i as i64 * FRAME_US;
        serial.send(&pose_frame(i, i as usize % 4, now_us - 9_000), now_us).unwrap();
        std::thread::sleep(Duration::from_millis(10));
        i += 1;
    }
    let output = child.wait_with_output().unwrap();
    let printed = std::fs::read_to_string(&out).unwrap();
    let lines: Vec<serde_json::Value> = printed.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), frames);
    for line in &lines {
        let seq = line["seq"].as_u64().unwrap();
        let now_us = seq as i64 * FRAME_US;
        assert_eq!(line["emitted_us"], now_us);
        assert_eq!(line["captured_us"], now_us - 9_000);
        let mut expected = Vec::new();
        let captured_at_us = now_us - 9_000;
        let size_px = line.get("width").is_some().then_some([640, 480]);
        let head = Head { seq, captured_at_us, emitted_at_us: now_us, size_px, ..Head::default() };
        Format::Full.write(
            &mut expected,
            &head,
            Predict::Now
                .poses(&pose_frame(seq, seq as usize % 4, now_us - 9_000), now_us)
                .map(|pose| over_the_wire(&pose)),
        );
        assert_eq!(*line, serde_json::from_slice::<serde_json::Value>(&expected).unwrap());
    }
    // HELLO goes out once a second of these frames' time.
    assert_eq!(lines.last().map(|line| (&line["width"], &line["height"])), Some((&640.into(), &480.into())));
    let told = String::from_utf8(output.stderr).unwrap();
    // It may have heard another one before it ended.
    assert!(told.contains(" moments, 0 missed, 0 incomplete"), "{told}");
}
