//! OSC and UDP from the program as it is started: heard here, and by libraries that are not Posewire's.

use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use posewire::output::PoseSink;
use posewire::output::Predict;
use posewire::output::jsonl::Format;
use posewire::output::osc::{Osc, OscFormat, OscOptions};
use posewire::output::udp::UdpLines;
use rosc::{OscBundle, OscPacket, OscType};

use crate::cli::posewire;
use crate::frames::pose_frame;

/// Longer than anything here takes on a busy machine.
const SOON: Duration = Duration::from_secs(60);

fn ear() -> (UdpSocket, String) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    let address = socket.local_addr().unwrap().to_string();
    (socket, address)
}

fn heard(socket: &UdpSocket) -> Vec<u8> {
    let mut bytes = vec![0; 1 << 16];
    let n = socket.recv(&mut bytes).unwrap();
    bytes.truncate(n);
    bytes
}

fn bundle(bytes: &[u8]) -> OscBundle {
    match rosc::decoder::decode_udp(bytes).unwrap() {
        ([], OscPacket::Bundle(bundle)) => bundle,
        other => panic!("{other:?}"),
    }
}

fn said(bundle: &OscBundle, address: &str) -> Option<Vec<OscType>> {
    bundle.content.iter().find_map(|packet| match packet {
        OscPacket::Message(message) if message.addr == address => Some(message.args.clone()),
        _ => None,
    })
}

#[test]
fn the_built_in_clip_is_heard_as_osc_and_json_at_once() {
    let ((osc, osc_to), (udp, udp_to), (vrchat, vrchat_to)) = (ear(), ear(), ear());
    let arguments = ["run", "--synthetic", "--no-drop", "--frames", "20", "--osc", &osc_to, "--udp", &udp_to];
    let out = posewire(&arguments);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(out.stdout.is_empty(), "an output is named: nothing goes to the standard output");
    let mut persons = 0;
    for seq in 0..20 {
        let bundle = bundle(&heard(&osc));
        let line: serde_json::Value = serde_json::from_slice(&heard(&udp)).unwrap();
        assert_eq!(line["seq"], seq);
        assert_eq!(line["source"], "built-in clip");
        let frame = said(&bundle, "/posewire/frame").unwrap();
        assert_eq!(
            frame[..2],
            [OscType::Int(seq), OscType::Int(line["persons"].as_array().unwrap().len() as i32)]
        );
        if let Some(person) = line["persons"].get(0) {
            persons += 1;
            let nose = said(&bundle, "/posewire/1/nose").unwrap();
            let x = person["keypoints"][0][0].as_f64().unwrap() as f32;
            assert_eq!(nose[4], OscType::Float(x), "both say the same of a frame");
        }
    }
    assert!(persons > 5, "nobody was heard of: the test shows nothing");

    let (vmc, vmc_to) = ear();
    let to = ["--osc", &vmc_to, "--osc-format", "vmc"];
    let out = posewire(&[&["run", "--synthetic", "--no-drop", "--frames", "20"][..], &to].concat());
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let bones = bundle(&heard(&vmc));
    let hips = bones.content.iter().filter_map(|packet| match packet {
        OscPacket::Message(message) if message.addr == "/VMC/Ext/Bone/Pos" => Some(&message.args),
        _ => None,
    });
    assert_eq!(hips.map(|args| &args[0]).next(), Some(&OscType::String("Hips".into())));

    let to = ["--osc", &vrchat_to, "--osc-format", "vrchat"];
    let out = posewire(&[&["run", "--synthetic", "--no-drop", "--frames", "20"][..], &to].concat());
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let bytes = heard(&vrchat);
    let (rest, packet) = rosc::decoder::decode_udp(&bytes).unwrap();
    let OscPacket::Message(message) = packet else { panic!("{packet:?}") };
    assert!(rest.is_empty() && message.addr.starts_with("/tracking/trackers/"), "{message:?}");
    assert!(
        message.args.len() == 3 && message.args.iter().all(|a| matches!(a, OscType::Float(_))),
        "{message:?}"
    );
}

#[test]
fn what_cannot_be_sent_is_refused_at_the_start() {
    for (arguments, told) in [
        (vec!["--osc", "9000"], "HOST:PORT"),
        (vec!["--osc", "127.0.0.1:9000", "--osc-format", "vrhcat"], "'vrchat'"),
        (vec!["--osc", "127.0.0.1:9000", "--osc-format", "vrchat", "--smoother", "none"], "metres"),
        (
            vec!["--osc", "127.0.0.1:9000", "--osc-format", "vmc", "--smoother", "one-euro"],
            "format vmc needs",
        ),
        (vec!["--udp", "127.0.0.1:9000", "--udp-format", "csv"], "flat"),
    ] {
        let out = posewire(&[&["run", "--synthetic", "--frames", "1"][..], &arguments].concat());
        let text = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.code() == Some(2) && text.contains(told), "{arguments:?}: {text}");
    }
}

#[test]
fn nobody_at_the_other_end_is_no_error_and_who_returns_hears_the_next_moment() {
    let (first, to) = ear();
    let mut sinks: [Box<dyn PoseSink>; 3] = [
        Box::new(Osc::to(&to, OscOptions::default())),
        Box::new(Osc::to(&to, OscOptions { format: OscFormat::VrChat, ..OscOptions::default() })),
        Box::new(UdpLines::to(&to, Format::Full, Predict::Capture).unwrap()),
    ];
    drop(first);
    for sink in &mut sinks {
        let began = Instant::now();
        for seq in 0..1_000 {
            sink.send(&pose_frame(seq, 3, 1_000), 2_000).unwrap();
        }
        assert!(began.elapsed() < SOON / 2, "{}: {:?}", sink.name(), began.elapsed());
    }
    let back = UdpSocket::bind(&to).unwrap();
    back.set_read_timeout(Some(SOON)).unwrap();
    sinks[0].send(&pose_frame(7, 1, 1_000), 2_000).unwrap();
    assert_eq!(said(&bundle(&heard(&back)), "/posewire/frame").unwrap()[0], OscType::Int(7));
    sinks[2].send(&pose_frame(8, 1, 1_000), 2_000).unwrap();
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&heard(&back)).unwrap()["seq"], 8);
}

/// Which Python has `module`: that of `POSEWIRE_CLIENT_PYTHON` where one is named.
pub(crate) fn python_with(module: &str, needed_for: &str) -> Option<String> {
    let python = std::env::var("POSEWIRE_CLIENT_PYTHON").unwrap_or_else(|_| "python3".into());
    let has = Command::new(&python).args(["-c", &format!("import {module}")]).output();
    if has.is_ok_and(|out| out.status.success()) {
        return Some(python);
    }
    eprintln!(
        "SKIPPED: {needed_for}: {python} has no {module} (pip install it, or name another in POSEWIRE_CLIENT_PYTHON)"
    );
    None
}

#[test]
fn an_independent_library_understands_every_packet() {
    let Some(python) = python_with("pythonosc", "OSC through python-osc") else { return };
    let mut child = Command::new(python)
        .args(["-B", "tests/osc_peer.py"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = String::new();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut port).unwrap();
    let to = format!("127.0.0.1:{}", port.trim());
    let mut own =
        Osc::to(&to, OscOptions { predict: Predict::Capture, with_3d: true, ..OscOptions::default() });
    let mut vrchat =
        Osc::to(&to, OscOptions { format: OscFormat::VrChat, predict: Predict::Capture, with_3d: false });
    let mut vmc =
        Osc::to(&to, OscOptions { format: OscFormat::Vmc, predict: Predict::Capture, with_3d: false });
    let before = posewire::clock::since_1970_us();
    let mut joints = 0;
    let mut messages = 0;
    for seq in 0..30 {
        let frame = pose_frame(seq, seq as usize % 9, 5_000);
        messages += 2 + frame.persons.iter().flatten().count();
        for person in frame.persons.iter().flatten() {
            joints += 17;
            let there = person.forecast.state.iter().filter(|s| **s != pose::JointState::Absent).count();
            messages += 17 + if person.forecast.joints_3d_m.is_some() { there } else { 0 };
        }
        own.send(&frame, 6_000).unwrap();
        vrchat.send(&frame, 6_000).unwrap();
        vmc.send(&frame, 6_000).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    // A message of no bundle ends it.
    UdpSocket::bind("127.0.0.1:0").unwrap().send_to(b"/end\0\0\0\0,\0\0\0", &to).unwrap();
    let mut told = String::new();
    std::io::Read::read_to_string(&mut stdout, &mut told).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["bundles"], &told["messages"]), (&30.into(), &messages.into()), "{told}");
    assert_eq!(told["joints"], joints, "{told}");
    assert!(told["trackers"].as_u64().unwrap() > 30, "{told}");
    let heard = |what: &str| told[what].as_u64().unwrap_or_default();
    assert!(heard("vmc moments") > 5 && heard("vmc root") == heard("vmc moments"), "{told}");
    assert!(heard("vmc Hips") > 3 && heard("vmc LeftUpperArm") > 0, "{told}");
    // The time tag is the capture, a millisecond before it was sent.
    let first = told["first_tag"].as_f64().unwrap();
    let now = before as f64 / 1e6;
    assert!((first - now + 0.001).abs() < 30.0 && first < now + 30.0, "{first} at {now}");
    // Numbers, not only shapes.
    let frame = pose_frame(1, 1, 5_000);
    let pose = frame.poses_at(5_000).next().unwrap().value;
    let joint = pose.joints.iter().position(|j| j.state != pose::JointState::Absent).unwrap();
    let name = pose::Joint::ALL[joint].name();
    let x = told["of_frame_1"][format!("/posewire/1/{name}")][4].as_f64().unwrap();
    assert!((x - f64::from(pose.joints[joint].x_px)).abs() < 1e-3, "{x}");
}

/// Without loss the pipeline waits for every sink: a bridge that waited for its peer would show.
#[test]
fn a_pipeline_with_every_bridge_to_nobody_is_as_fast_as_its_frames() {
    use posewire::pipeline::Options;

    use crate::fakes::{Camera, Event, Log, OnePerson, start};

    const FRAMES: usize = 3_000;
    // Takes connections and never says a word.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // Is there and never reads.
    let (_deaf, deaf_to) = ear();
    let (gone, gone_to) = ear();
    drop(gone);
    let log = Log::default();
    let seen = log.seen.clone();
    let mut sinks: Vec<Box<dyn PoseSink>> = vec![Box::new(log)];
    for to in [&*deaf_to, &*gone_to, "posewire.invalid:9"] {
        sinks.push(Box::new(Osc::to(to, OscOptions::default())));
        for format in [OscFormat::VrChat, OscFormat::Vmc] {
            sinks.push(Box::new(Osc::to(to, OscOptions { format, ..OscOptions::default() })));
        }
        sinks.push(Box::new(UdpLines::to(to, Format::Full, Predict::Capture).unwrap()));
    }
    #[cfg(feature = "mqtt")]
    for port in [silent.local_addr().unwrap().port(), 1] {
        use posewire::output::mqtt::{Mqtt, MqttOptions};
        let broker = format!("mqtt://127.0.0.1:{port}").parse().unwrap();
        let options =
            MqttOptions { broker, name: "nobody".into(), discovery: true, ..MqttOptions::default() };
        sinks.push(Box::new(Mqtt::open(options).unwrap()));
    }
    let frames = std::iter::repeat_with(|| Event::Frame).take(FRAMES);
    let camera = Camera::new(frames, Duration::ZERO, false);
    let began = Instant::now();
    let lossless = Options { frames: None, lossless: true };
    let mut pipeline = start(camera, OnePerson::new(Duration::ZERO), sinks, lossless);
    assert!(pipeline.wait(SOON), "it does not end");
    // 10 ms a frame and bridge would be six minutes.
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    assert!(pipeline.errors().is_empty());
    let seqs: Vec<u64> = seen.lock().unwrap().iter().map(|(seq, ..)| *seq).collect();
    assert_eq!(seqs, (0..FRAMES as u64).collect::<Vec<_>>());
    drop(silent);
}
