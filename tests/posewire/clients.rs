//! The C and Python clients against the Rust decoder: the golden vectors, and 100,000 random and damaged packets.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use pose_wire::{Packet, PosePacket, SourceState, VERSION};
use posewire::output::jsonl::Format;

use crate::moments;
use crate::wire::{foreign, frame, transcript};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Whether `program` runs here; says so loudly where it does not.
pub(crate) fn present(program: &str, needed_for: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
    if !there {
        eprintln!("SKIPPED: {needed_for}: no `{program}` on this machine");
    }
    there
}

/// Runs `command` on `input` and gives what it wrote; fails with what it said where it failed.
pub(crate) fn filter(command: &mut Command, input: &[u8]) -> Vec<u8> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A program that fails early closes its input; its exit status tells.
            let _ = stdin.write_all(input);
        });
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    })
}

fn lines(output: Vec<u8>) -> Vec<String> {
    String::from_utf8(output).unwrap().lines().map(Into::into).collect()
}

/// Compiles `source` of `clients/c` with everything the compiler and its sanitizers can find made an error.
fn compiled(compiler: &str, standard: &str, source: &str, defines: &[&str], to: &Path) -> PathBuf {
    let folder = repository().join("clients/c");
    let program = to.join(Path::new(source).file_stem().unwrap());
    let output = Command::new(compiler)
        .args([standard, "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic"])
        .args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"])
        .args(["-Isrc", "-Itests/arduino_stub"])
        .args(defines.iter().map(|name| format!("-D{name}")))
        .arg("-o")
        .arg(&program)
        .arg(source)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

fn python(script: &str) -> Command {
    let folder = repository().join("clients/python");
    let mut command = Command::new("python3");
    command.arg("-B").arg(script).env("PYTHONPATH", "src:tests").current_dir(folder);
    command
}

/// Name, bytes and lines of what the golden file keeps as `kind`.
fn golden_streams(kind: &str) -> Vec<(String, Vec<u8>, Vec<String>)> {
    let text = std::fs::read_to_string(repository().join("tests/golden/wire_v1.json")).unwrap();
    let golden: serde_json::Value = serde_json::from_str(&text).unwrap();
    let unhex = |hex: &str| {
        (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
    };
    golden[kind]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| {
            let lines = s["lines"].as_array().unwrap().iter().map(|l| l.as_str().unwrap().into()).collect();
            (s["name"].as_str().unwrap().into(), unhex(s["hex"].as_str().unwrap()), lines)
        })
        .collect()
}

/// A body that a decoder has to look at closely: mostly of a length and content that make sense, often not quite.
fn random_body(rng: &mut fastrand::Rng, kind: u8) -> Vec<u8> {
    let usual = match kind {
        0x01 => 56,
        0x02 => *rng.choice(&[28, 130, 130, 232]).unwrap(),
        0x03..=0x05 => 32,
        0x81 => 8,
        0x82 => 36,
        _ => rng.usize(..100),
    };
    let len = match rng.u8(..10) {
        0 => usual + rng.usize(..150),
        1 => usual.saturating_sub(rng.usize(..40)),
        _ => usual,
    };
    let zeros = rng.f32();
    let mut body: Vec<u8> = (0..len).map(|_| if rng.f32() < zeros { 0 } else { rng.u8(..) }).collect();
    if kind == 0x02 && len >= 28 && rng.u8(..10) < 8 {
        body[26] = rng.u8(0..5);
        body[25] = if body[26] == 0 { 0 } else { rng.u8(..body[26]) };
        body[27] = rng.u8(..=8) | if len >= 232 { 0x10 } else { 0 };
    }
    if kind == 0x81 && len > 0 {
        body[0] = rng.u8(..6);
    }
    body
}

/// `packets` frames: random, of later versions, and damaged in the ways that a serial line damages them.
fn random_stream(packets: usize, seed: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut stream = Vec::new();
    for _ in 0..packets {
        let kind =
            *rng.choice(&[0x01, 0x02, 0x02, 0x02, 0x03, 0x04, 0x05, 0x81, 0x82, rng.clone().u8(..)]).unwrap();
        let version = if rng.u8(..20) == 0 { rng.u8(..) } else { VERSION };
        let body = random_body(&mut rng, kind);
        let length = (rng.u8(..40) == 0).then(|| rng.u16(..300));
        let mut bytes = foreign(version, kind, &body, length);
        match rng.u8(..12) {
            0 => {
                let at = rng.usize(..bytes.len());
                bytes[at] ^= 1 << rng.u8(..8);
            }
            1 => {
                let at = rng.usize(..bytes.len());
                bytes.remove(at);
            }
            2 => bytes.insert(rng.usize(..bytes.len()), rng.u8(..)),
            3 => bytes.truncate(rng.usize(..bytes.len())),
            4 if rng.u8(..8) == 0 => {
                let noise = rng.usize(..1200);
                bytes.splice(0..0, (0..noise).map(|_| rng.u8(1..)));
            }
            _ => {}
        }
        stream.extend(bytes);
    }
    stream
}

fn compare(who: &str, ours: &[String], theirs: Vec<String>) {
    for (i, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(ours, theirs, "line {i}, {who}");
    }
    assert_eq!(ours.len(), theirs.len(), "{who}");
}

#[test]
fn c_python_and_rust_make_the_same_moments_of_ten_thousand_on_a_bad_line() {
    let stream = moments::random_stream(10_000, 8);
    let rust = moments::transcript(&stream);
    let last = rust.last().unwrap();
    assert!(last.split(' ').skip(1).all(|n| n.parse::<u32>().unwrap() > 1_000), "a poor test: {last}");
    let folder = tempfile::tempdir().unwrap();
    if present("cc", "the C client's moments") {
        let program = compiled("cc", "-std=c99", "tests/transcript.c", &[], folder.path());
        compare("C", &rust, lines(filter(Command::new(program).arg("moments"), &stream)));
    }
    if present("python3", "the Python client's moments") {
        compare("Python", &rust, lines(filter(python("tests/transcript.py").arg("moments"), &stream)));
    }
}

#[test]
fn c_python_and_rust_agree_on_a_hundred_thousand_random_and_damaged_packets() {
    let stream = random_stream(100_000, 20);
    let rust = transcript(&stream);
    let last = rust.last().unwrap();
    let counters: Vec<u32> = last.split(' ').skip(1).map(|n| n.parse().unwrap()).collect();
    assert!(counters[0] > 30_000 && counters.iter().all(|n| *n > 100), "a poor test: {last}");

    let folder = tempfile::tempdir().unwrap();
    if present("cc", "the C decoder on random packets") {
        let program = compiled("cc", "-std=c99", "tests/transcript.c", &[], folder.path());
        compare("C", &rust, lines(filter(&mut Command::new(program), &stream)));
    }
    if present("python3", "the Python decoder on random packets") {
        compare("Python", &rust, lines(filter(&mut python("tests/transcript.py"), &stream)));
    }
}

#[test]
fn python_prints_the_very_lines_that_read_prints() {
    if !present("python3", "the Python client's JSON lines") {
        return;
    }
    let golden =
        ["streams", "moments"].map(golden_streams).concat().into_iter().flat_map(|(_, bytes, _)| bytes);
    let stream: Vec<u8> = golden.chain(random_stream(20_000, 22)).collect();
    for format in Format::ALL {
        let rust = moments::json_lines(format, &stream);
        assert!(rust.len() > 1_000, "{}", rust.len());
        let theirs = filter(python("tests/transcript.py").arg(format.to_string()), &stream);
        compare(&format!("Python, {format}"), &rust, lines(theirs));
    }
}

/// A port that sends a moment of two persons ten times a second until `child` ends; what it wrote to its error output.
#[cfg(target_os = "linux")]
fn said_while_fed(child: &mut std::process::Child, pty: &crate::pty::Pty) -> String {
    let began = std::time::Instant::now();
    let mut seq = 0;
    while child.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "it does not end");
        // What it has not read when it ends is lost.
        let _ = pty.hand.write(&moments::whole(seq, 2));
        seq += 1;
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let mut said = String::new();
    std::io::Read::read_to_string(child.stderr.as_mut().unwrap(), &mut said).unwrap();
    said
}

#[cfg(target_os = "linux")]
#[test]
fn a_reader_of_pythons_lines_that_leaves_ends_it_quietly() {
    let has_serial =
        Command::new("python3").args(["-c", "import serial"]).output().is_ok_and(|o| o.status.success());
    if !has_serial {
        eprintln!("SKIPPED: the Python client on a port: no pyserial (sudo apt install python3-serial)");
        return;
    }
    let pty = crate::pty::Pty::open();
    let mut child = Command::new("sh")
        .args(["-c", "python3 -B -m posewire \"$0\" | head -n 2"])
        .arg(&pty.path)
        .env("PYTHONPATH", repository().join("clients/python/src"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert_eq!(said_while_fed(&mut child, &pty), "");
}

#[test]
fn the_c_header_refuses_sizes_that_hold_no_packet_or_more_than_a_moment_has() {
    if !present("cc", "the C header's limits") {
        return;
    }
    let compiles = |define: &str| {
        let header = repository().join("clients/c/src/posewire.h");
        let mut command = Command::new("cc");
        command.args(["-std=c99", "-fsyntax-only", "-xc", define]).arg(header);
        command.output().unwrap().status.success()
    };
    let fit = ["-DPW_MAX_FRAME=242", "-DPW_MAX_PERSONS=1", "-DPW_MAX_PERSONS=8"];
    assert_eq!(fit.map(compiles), [true; 3]);
    let unfit = ["-DPW_MAX_FRAME=241", "-DPW_MAX_PERSONS=0", "-DPW_MAX_PERSONS=9"];
    assert_eq!(unfit.map(compiles), [false; 3]);
}

#[test]
fn the_c_header_decodes_and_encodes_the_golden_vectors() {
    if !present("cc", "the C header against the golden vectors") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = compiled("cc", "-std=c99", "tests/transcript.c", &[], folder.path());
    for (name, bytes, expected) in golden_streams("streams") {
        assert_eq!(lines(filter(&mut Command::new(&program), &bytes)), expected, "{name}");
    }
    for (name, bytes, expected) in golden_streams("moments") {
        assert_eq!(lines(filter(Command::new(&program).arg("moments"), &bytes)), expected, "{name}");
    }
    let made = filter(Command::new(&program).arg("frames"), &[]);
    let golden = |name: &str| golden_streams("streams").into_iter().find(|s| s.0 == name).unwrap().1;
    let receipt = pose_wire::Receipt {
        seq: 1,
        packets: 2,
        crc_errors: 3,
        framing_errors: 4,
        overfull: 5,
        skipped: 6,
        overruns: 7,
        superseded: 8,
        busy_us: 9,
    };
    let expected = [
        golden("command_request_hello"),
        golden("command_set_rate"),
        golden("command_reset"),
        frame(&Packet::Receipt(receipt)),
    ];
    assert_eq!(made, expected.concat());
}

#[test]
fn the_arduino_sketch_follows_the_wrist() {
    if !present("c++", "the Arduino sketch") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = pose_wire::Emission { seq: 1, sent_at_us: 0, persons: 1, scale: 0 };
    let mut stream = Vec::new();
    let hello = pose_wire::Hello { width_px: 1280, ..Default::default() };
    stream.extend(frame(&Packet::Hello(hello)));
    let status = |source| frame(&Packet::Status(pose_wire::Status { source, ..Default::default() }));
    for (x_px, state) in [
        (150.0, pose::JointState::Measured),
        (200.0, pose::JointState::Measured),
        (640.0, pose::JointState::Measured),
        (320.0, pose::JointState::Predicted),
        (10.0, pose::JointState::Absent),
        (9999.0, pose::JointState::Measured),
    ] {
        match x_px {
            200.0 => stream.extend(status(SourceState::BUILT_IN)),
            640.0 => stream.extend(status(SourceState::RUNNING)),
            _ => {}
        }
        let mut stamped = pose::Stamped::<pose::Pose>::default();
        stamped.value.joints[pose::Joint::RightWrist as usize] =
            pose::PoseJoint { x_px, y_px: 100.0, score: 0.9, sigma_px: 1.0, state };
        stream.extend(frame(&Packet::Pose(PosePacket::new(&stamped, 0, at))));
    }
    // A board with a second port; an Uno, which has none; an ESP32, whose pins have to be named.
    for defines in [&[][..], &["__AVR__"], &["ESP32"]] {
        let program = compiled("c++", "-std=c++11", "tests/sketch.cpp", defines, folder.path());
        let positions = lines(filter(&mut Command::new(program), &stream));
        assert_eq!(positions, ["90", "45", "180"], "an absent wrist and the built-in clip move nothing");
    }
}

/// What the Arduino library manager asks of a library, and what a board's builder makes of the folder.
#[test]
fn the_c_client_is_an_arduino_library() {
    let folder = repository().join("clients/c");
    let properties = std::fs::read_to_string(folder.join("library.properties")).unwrap();
    let value = |key: &str| {
        let line = properties.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_else(|| panic!("library.properties has no {key}"))
    };
    for key in ["name", "author", "maintainer", "sentence", "paragraph", "url"] {
        assert!(!value(key).is_empty(), "{key}");
    }
    assert_eq!((value("version"), value("architectures")), (env!("CARGO_PKG_VERSION"), "*"));
    assert_eq!(value("category"), "Communication");
    assert!(folder.join("src").join(value("includes")).is_file());
    for example in std::fs::read_dir(folder.join("examples")).unwrap() {
        let example = example.unwrap().path();
        let name = example.file_name().unwrap().to_str().unwrap();
        assert!(example.join(format!("{name}.ino")).is_file(), "{name}: a sketch has its folder's name");
    }
}

#[test]
fn the_python_clients_own_tests_pass() {
    if !present("python3", "the Python client's tests") {
        return;
    }
    let output = Command::new("python3")
        .args(["-B", "-m", "unittest", "discover", "-s", "tests"])
        .env("PYTHONPATH", "src")
        .current_dir(repository().join("clients/python"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("OK"), "{said}");
    assert!(!said.contains("Ran 0 tests"), "{said}");
}
