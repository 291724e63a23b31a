//! The serial sink on pseudo-terminals: what arrives, and what happens when nobody reads or the port goes away.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use pose::{Place, Pose, Stamped};
use pose_wire::{
    Command as WireCommand, DEFAULT_BAUD, Emission, Hello, HelloFlags, MAX_PACKET, Moment, Notice,
    NoticeCode, Packet, PosePacket, Receipt, SourceState, Status, encode,
};
use posewire::output::events::Zones;
use posewire::output::jsonl::{Format, Head};
use posewire::output::serial::{Heard, PortSpec, Reader, Serial, SerialOptions};
use posewire::output::{Host, PoseSink, Predict, Sending, SinkError, Vitals};

use crate::frames::pose_frame;
use crate::pty::{Cable, Pty};

mod rate;

const FRAME_US: i64 = 33_333;

/// A tracker that counts how often it was reset.
#[derive(Default)]
struct FakeHost {
    resets: AtomicU32,
    source_rate_hz: Option<f32>,
}

impl Host for FakeHost {
    fn vitals(&self) -> Vitals {
        Vitals {
            model_hash: *b"modelsha",
            max_persons: 4,
            frame_rate_hz: 29.97,
            uptime_ms: 1234,
            frames_dropped: 5,
            camera_losses: 2,
            camera_errors: 7,
            temperature_c: Some(61.25),
            ..Vitals::default()
        }
    }

    fn source_rate_hz(&self) -> Option<f32> {
        self.source_rate_hz
    }

    fn reset(&self) {
        self.resets.fetch_add(1, Ordering::Relaxed);
    }
}

fn options(path: &std::path::Path, baud: u32) -> SerialOptions {
    SerialOptions {
        port: PortSpec { path: path.into(), baud },
        predict: Predict::Now,
        rate_hz: None,
        nominal_fps: 30.0,
        max_persons: 4,
        with_3d: true,
        with_place: false,
        events: None,
    }
}

fn open(path: &std::path::Path) -> (Serial, Arc<FakeHost>) {
    let host = Arc::new(FakeHost::default());
    (Serial::open(options(path, 921_600), host.clone()).unwrap(), host)
}

#[derive(Default)]
struct Everything {
    moments: Vec<Moment>,
    /// Identity and place of each pose.
    places: Vec<(u32, Option<Place>)>,
    notices: Vec<Notice>,
    hellos: Vec<Hello>,
    statuses: Vec<Status>,
}

impl Everything {
    fn hear(&mut self, reader: &mut Reader, bytes: &[u8]) {
        reader
            .feed(bytes, |heard| {
                match heard {
                    Heard::Moment(m, places) => {
                        self.places.extend(places.poses(&m).map(|p| (p.value.track_id, p.value.place)));
                        self.moments.push(m);
                    }
                    Heard::Hello(h) => self.hellos.push(h),
                    Heard::Status(s) => self.statuses.push(s),
                    Heard::Notice(n) => self.notices.push(n),
                }
                Ok(())
            })
            .unwrap();
    }
}

fn say(pty: &Pty, packet: &Packet) {
    let mut bytes = [0; MAX_PACKET];
    let n = encode(packet, &mut bytes).unwrap();
    pty.hand.write_all(&bytes[..n]).unwrap();
}

fn command(pty: &Pty, command: WireCommand) {
    say(pty, &Packet::Command(command));
}

/// What the wire makes of a pose.
fn over_the_wire(pose: &Stamped<Pose>) -> Stamped<Pose> {
    let at = Emission { seq: 0, sent_at_us: 0, persons: 1, scale: 0 };
    PosePacket::new(pose, 0, at).stamped().unwrap()
}

#[test]
fn every_moment_arrives_as_the_wire_states_it() {
    let pty = Pty::open();
    let (mut serial, _) = open(&pty.path);
    let (mut reader, mut got) = (Reader::default(), Everything::default());
    for i in 0..60 {
        let now_us = i64::from(i) * FRAME_US;
        serial.send(&pose_frame(i as u64, i as usize % 5, now_us - 20_000), now_us).unwrap();
        got.hear(&mut reader, &pty.read_now());
    }
    got.hear(&mut reader, &pty.read());
    assert_eq!(got.moments.len(), 60);
    for (i, moment) in got.moments.iter().enumerate() {
        let now_us = i as i64 * FRAME_US;
        assert_eq!((moment.seq, moment.sent_at_us(), moment.valid_at_us()), (i as u32, now_us, now_us));
        let sent: Vec<_> = Predict::Now
            .poses(&pose_frame(i as u64, i % 5, now_us - 20_000), now_us)
            .map(|pose| over_the_wire(&pose))
            .collect();
        assert_eq!(moment.poses().collect::<Vec<_>>(), sent);
    }
    assert_eq!(reader.counters().wire.damaged(), 0);
    assert_eq!(serial.counters().moments_dropped, 0);
    // Two seconds: one HELLO each, and STATUS between them.
    assert_eq!((got.hellos.len(), got.statuses.len()), (2, 3));
    let hello = got.hellos[0];
    assert_eq!((hello.width_px, hello.height_px, hello.model_hash), (640, 480, *b"modelsha"));
    assert!(hello.flags.has(HelloFlags::WITH_3D | HelloFlags::PREDICTED));
    assert_eq!((got.statuses[0].temperature_cc, got.statuses[0].source), (6125, SourceState::REPLAY));
    let status = got.statuses[0];
    assert_eq!((hello.frame_rate_chz, status.frame_rate_chz), (2_997, 2_997));
    assert_eq!((status.frames_dropped, status.camera_losses, status.camera_errors), (5, 2, 7));
    assert_eq!(status.flags, 0, "a board that does not say is not throttled");
}

#[test]
fn places_arrive_with_their_poses_and_what_happens_beside_them() {
    let pty = Pty::open();
    let asked =
        SerialOptions { with_place: true, events: Some(Zones::default()), ..options(&pty.path, 921_600) };
    let mut serial = Serial::open(asked, Arc::new(FakeHost::default())).unwrap();
    let (mut reader, mut got) = (Reader::default(), Everything::default());
    let place = |id: u32, i: u64| Place {
        at_m: [id as f32, 0.25, 3.0 + i as f32 / 8.0],
        sigma_m: [0.5; 3],
        distance_m: 3.5,
        distance_sigma_m: 0.25,
    };
    for i in 0..80 {
        let now_us = i as i64 * FRAME_US;
        let mut frame = pose_frame(i, 3, now_us - 20_000);
        // Nobody knows where the second one stands.
        for person in frame.persons.iter_mut().flatten().filter(|p| p.track_id != 2) {
            person.place = Some(place(person.track_id, i));
        }
        serial.watch(&frame);
        serial.send(&frame, now_us).unwrap();
        got.hear(&mut reader, &pty.read_now());
    }
    got.hear(&mut reader, &pty.read());
    assert_eq!(got.places.len(), 240);
    for (k, (id, found)) in got.places.iter().enumerate() {
        let wanted = (*id != 2).then(|| place(*id, k as u64 / 3));
        assert_eq!(*found, wanted, "moment {}, person {id}", k / 3);
    }
    assert!(got.notices.iter().any(|n| n.code == NoticeCode::APPEAR && n.track_id == 1), "{:?}", got.notices);
}

#[test]
fn places_that_nobody_asked_for_are_not_sent_and_hello_says_which_moment_poses_speak_of() {
    for (predict, is_predicted) in [
        (Predict::Now, true),
        (Predict::AfterCapture(50_000), true),
        (Predict::AfterCapture(0), false),
        (Predict::Capture, false),
    ] {
        let pty = Pty::open();
        let asked = SerialOptions { predict, ..options(&pty.path, 921_600) };
        let mut serial = Serial::open(asked, Arc::new(FakeHost::default())).unwrap();
        let mut frame = pose_frame(1, 1, 0);
        frame.persons[0].as_mut().unwrap().place = Some(Place { distance_m: 3.0, ..Place::default() });
        serial.send(&frame, 0).unwrap();
        let (mut reader, mut got) = (Reader::default(), Everything::default());
        got.hear(&mut reader, &pty.read());
        assert_eq!(got.places, [(1, None)]);
        let flags = got.hellos[0].flags;
        let said = [HelloFlags::PREDICTED, HelloFlags::WITH_PLACE].map(|flag| flags.has(flag));
        assert_eq!(said, [is_predicted, false]);
    }
}

#[test]
fn a_heartbeat_goes_on_while_there_is_nothing_to_send() {
    let pty = Pty::open();
    let (mut serial, _) = open(&pty.path);
    for tick in 0..35 {
        serial.idle(tick * 100_000).unwrap();
    }
    let (mut reader, mut got) = (Reader::default(), Everything::default());
    got.hear(&mut reader, &pty.read());
    assert_eq!((got.hellos.len(), got.moments.len()), (4, 0));
    assert!(got.statuses.len() >= 3);
}

#[test]
fn hello_says_the_pictures_size_before_the_first_pose_of_it() {
    let pty = Pty::open();
    let (mut serial, _) = open(&pty.path);
    serial.idle(0).unwrap();
    for seq in 1..=3 {
        serial.send(&pose_frame(seq, 1, 0), 100_000 * seq as i64).unwrap();
    }
    let (mut reader, mut got) = (Reader::default(), Everything::default());
    got.hear(&mut reader, &pty.read());
    let sizes: Vec<_> = got.hellos.iter().map(|h| (h.width_px, h.height_px)).collect();
    assert_eq!((sizes, got.moments.len()), (vec![(0, 0), (640, 480)], 3));
}

#[test]
fn a_reader_that_stops_costs_poses_but_neither_time_nor_the_next_packet() {
    let pty = Pty::open();
    let (mut serial, _) = open(&pty.path);
    let mut now_us = 0;
    let mut slowest = Duration::ZERO;
    let mut after_stuck = 0;
    for i in 0..10_000 {
        let started = Instant::now();
        serial.send(&pose_frame(i, 4, now_us), now_us).unwrap();
        slowest = slowest.max(started.elapsed());
        now_us += FRAME_US;
        after_stuck += u32::from(serial.counters().moments_dropped > 0);
        if after_stuck == 20 {
            break;
        }
    }
    assert_eq!(after_stuck, 20, "the terminal's buffer is bounded");
    // A call waits 20 ms for room; the rest is this machine's scheduler.
    assert!(slowest < Duration::from_millis(500), "{slowest:?}");

    let (mut reader, mut got) = (Reader::default(), Everything::default());
    for i in 0..20 {
        got.hear(&mut reader, &pty.read());
        serial.send(&pose_frame(20_000 + i, 1, now_us), now_us).unwrap();
        now_us += FRAME_US;
    }
    got.hear(&mut reader, &pty.read());
    let newest = got.moments.last().unwrap();
    assert_eq!(newest.captured_at_us, now_us - FRAME_US, "the newest pose arrives, not a queue of old ones");
    let counters = reader.counters();
    assert_eq!((counters.wire.damaged(), counters.moments.incomplete), (0, 0), "what was begun is ended");
    assert_eq!(
        u64::from(counters.moments.missed),
        serial.counters().moments_dropped,
        "the consumer knows what it missed"
    );
}

#[test]
fn a_stuck_port_is_left_within_the_time_given() {
    let pty = Pty::open();
    let (mut serial, _) = open(&pty.path);
    let mut now_us = 0;
    while serial.counters().moments_dropped == 0 {
        serial.send(&pose_frame(0, 4, now_us), now_us).unwrap();
        now_us += FRAME_US;
    }
    let started = Instant::now();
    serial.finish(Duration::from_millis(100)).unwrap();
    drop(serial);
    assert!(started.elapsed() < Duration::from_millis(450), "{:?}", started.elapsed());
}

#[test]
fn a_port_that_goes_away_at_the_very_end_fails_nothing() {
    let pty = Pty::open();
    let (mut serial, _) = open(&pty.path);
    let mut now_us = 0;
    while serial.counters().moments_dropped == 0 {
        serial.send(&pose_frame(0, 4, now_us), now_us).unwrap();
        now_us += FRAME_US;
    }
    drop(pty);
    serial.finish(Duration::from_millis(100)).unwrap();
    assert_eq!(serial.counters().losses, 1);
}

#[test]
fn a_consumer_is_heard_and_cannot_ask_too_much() {
    let pty = Pty::open();
    let (mut serial, host) = open(&pty.path);
    assert_eq!(serial.period(), None);
    let (mut reader, mut got) = (Reader::default(), Everything::default());
    serial.idle(0).unwrap();
    got.hear(&mut reader, &pty.read());
    assert_eq!(got.hellos.len(), 1);

    // Noise in between is no command.
    pty.hand.write_all(&[0xff; 100]).unwrap();
    pty.hand.write_all(&[0]).unwrap();
    for _ in 0..6 {
        command(&pty, WireCommand::RequestHello);
        command(&pty, WireCommand::Reset);
    }
    for tick in 1..=5 {
        serial.idle(tick * 100_000).unwrap();
    }
    got.hear(&mut reader, &pty.read());
    assert_eq!(host.resets.load(Ordering::Relaxed), 1, "one reset a second");
    assert!((2..=6).contains(&got.hellos.len()), "asking for HELLO is answered ten times a second at most");

    command(&pty, WireCommand::SetRate { rate_chz: 1250 });
    serial.idle(600_000).unwrap();
    assert_eq!(serial.period(), Some(Duration::from_millis(80)));
    got.hear(&mut reader, &pty.read());
    serial.idle(1_700_000).unwrap();
    got.hear(&mut reader, &pty.read());
    assert_eq!(got.hellos.last().unwrap().pose_rate_chz, 1250);
    assert!(got.statuses.last().unwrap().wire_errors >= 1, "the noise was counted");
}

/// Moments that arrive while frames of one person come at 30 Hz from `from_us` on, for a second.
fn moments_of_a_second(serial: &mut Serial, pty: &Pty, from_us: i64) -> usize {
    let (mut reader, mut got) = (Reader::default(), Everything::default());
    for i in 0..30 {
        let now_us = from_us + i * FRAME_US;
        serial.send(&pose_frame(i as u64, 1, now_us), now_us).unwrap();
        got.hear(&mut reader, &pty.read_now());
    }
    got.hear(&mut reader, &pty.read());
    got.moments.len()
}

#[test]
fn a_rate_is_never_granted_so_low_that_the_line_seems_cut_and_a_higher_one_holds_at_once() {
    let pty = Pty::open();
    let (mut serial, _) = open(&pty.path);
    command(&pty, WireCommand::SetRate { rate_chz: 1 });
    serial.idle(0).unwrap();
    assert_eq!(serial.period(), Some(Duration::from_secs(1)));
    // One, and the next may be a quarter early.
    assert!((1..=2).contains(&moments_of_a_second(&mut serial, &pty, 1_000_000)));
    command(&pty, WireCommand::SetRate { rate_chz: 3_000 });
    let quick = moments_of_a_second(&mut serial, &pty, 2_000_000);
    assert!((28..=30).contains(&quick), "{quick}");
    command(&pty, WireCommand::SetRate { rate_chz: 0 });
    assert_eq!(moments_of_a_second(&mut serial, &pty, 3_000_000), 30);
    assert_eq!(serial.period(), None);
}

#[test]
fn a_consumer_that_asks_without_end_gets_no_more_hellos_for_it() {
    let pty = Pty::open();
    let (mut serial, _) = open(&pty.path);
    let (mut reader, mut got) = (Reader::default(), Everything::default());
    for tick in 0..100 {
        command(&pty, WireCommand::SetRate { rate_chz: 3_000 + tick });
        serial.idle(i64::from(tick) * 10_000).unwrap();
    }
    got.hear(&mut reader, &pty.read());
    assert!((8..=11).contains(&got.hellos.len()), "{} in a second", got.hellos.len());
}

#[test]
fn what_the_consumer_says_of_itself_is_kept() {
    let pty = Pty::open();
    let (mut serial, _) = open(&pty.path);
    assert_eq!(serial.counters().receipt, None);
    let receipt = Receipt { seq: 41, packets: 60, overruns: 3, busy_us: 21_000, ..Receipt::default() };
    say(&pty, &Packet::Receipt(Receipt::default()));
    say(&pty, &Packet::Receipt(receipt));
    // The system hands over what was written in its own time.
    let began = Instant::now();
    while serial.counters().receipt != Some(receipt) {
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", serial.counters().receipt);
        serial.idle(0).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn posewire_read_says_what_is_wrong_with_a_line_it_understands_nothing_of() {
    let [silent, other_rate] = ["nothing received yet", "nothing understood at 115200 baud"];
    // What is sent, and what is said, one after the other.
    let noise = b"\xf8\x80\x7f\x00";
    for said in [&[(&b""[..], silent)][..], &[(noise, other_rate)], &[(b"", silent), (noise, other_rate)]] {
        let pty = Pty::open();
        let mut child = Command::new(env!("CARGO_BIN_EXE_posewire"))
            .arg("read")
            .arg(&pty.path)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || told.try_for_each(|line| sender.send(line.unwrap())));
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
fn one_person_has_the_line_of_four() {
    let pty = Pty::open();
    let mut serial = Serial::open(options(&pty.path, DEFAULT_BAUD), Arc::new(FakeHost::default())).unwrap();
    assert_eq!(moments_of_a_second(&mut serial, &pty, 0), 30, "four at 30 Hz do not fit, one does");
}

#[test]
fn a_port_in_use_is_refused_to_a_second_program_until_the_first_one_leaves() {
    let pty = Pty::open();
    let (mut serial, host) = open(&pty.path);
    let refused = |what: Result<(), SinkError>| match what {
        Err(SinkError::Fatal(text)) => text,
        other => panic!("{other:?}"),
    };
    let told = refused(Serial::open(options(&pty.path, 921_600), host.clone()).map(|_| ()));
    assert!(told.contains("another program uses it") && told.contains("fuser"), "{told}");
    // As does every program that asks the kernel: this one only reads.
    let output = Command::new(env!("CARGO_BIN_EXE_posewire")).arg("read").arg(&pty.path).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("another program uses it"), "{output:?}");
    serial.send(&pose_frame(0, 1, 0), 0).unwrap();
    assert!(!pty.read().is_empty(), "the first one is not disturbed");

    serial.finish(Duration::from_millis(100)).unwrap();
    Serial::open(options(&pty.path, 921_600), host).map(|_| ()).unwrap();
}

#[test]
fn a_rate_asked_for_ends_with_the_port_it_was_asked_on() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("port");
    let first = Pty::open();
    symlink(&first.path, &name).unwrap();
    let (mut serial, _) = open(&name);
    command(&first, WireCommand::SetRate { rate_chz: 200 });
    serial.idle(0).unwrap();
    assert_eq!(serial.period(), Some(Duration::from_millis(500)));
    drop(first);
    assert!(serial.idle(100_000).is_err());
    std::fs::remove_file(&name).unwrap();
    let second = Pty::open();
    symlink(&second.path, &name).unwrap();
    serial.idle(1_000_000).unwrap();
    assert!(!serial.is_away());
    assert_eq!(serial.period(), None);
}

#[test]
fn a_port_that_goes_away_is_found_again_under_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("port");
    let first = Pty::open();
    symlink(&first.path, &name).unwrap();
    let (mut serial, _) = open(&name);
    serial.send(&pose_frame(0, 1, 0), 0).unwrap();
    std::fs::remove_file(&name).unwrap();
    drop(first);

    let mut now_us = FRAME_US;
    let error = serial.send(&pose_frame(1, 1, now_us), now_us).unwrap_err();
    assert!(matches!(&error, SinkError::Retry(text) if text.contains("lost")), "{error:?}");
    for _ in 0..30 {
        now_us += 100_000;
        assert!(serial.is_away(), "an Ok in between is no sign of life");
        match serial.send(&pose_frame(2, 1, now_us), now_us) {
            Ok(sending) => assert_eq!(sending, Sending::LeftOut),
            Err(SinkError::Retry(text)) => assert!(text.contains("no such port"), "{text}"),
            Err(e) => panic!("{e:?}"),
        }
    }

    let second = Pty::open();
    symlink(&second.path, &name).unwrap();
    for _ in 0..25 {
        now_us += 100_000;
        serial.send(&pose_frame(3, 1, now_us), now_us).unwrap();
    }
    let (mut reader, mut got) = (Reader::default(), Everything::default());
    got.hear(&mut reader, &second.read());
    assert!(!got.hellos.is_empty() && !got.moments.is_empty());
    assert_eq!(got.moments.last().unwrap().captured_at_us, now_us);
    assert_eq!(serial.counters().losses, 1);
    assert!(!serial.is_away());
}

#[test]
fn a_port_that_is_none_is_refused_with_what_to_do() {
    let refused = |path: &str| {
        let host = Arc::new(FakeHost::default());
        match Serial::open(options(path.as_ref(), 921_600), host).map(|_| ()) {
            Err(SinkError::Fatal(text)) => text,
            other => panic!("{other:?}"),
        }
    };
    let missing = refused("/dev/ttyNOSUCH7");
    assert!(missing.contains("/dev/ttyNOSUCH7: there is no such port"), "{missing}");
    let null = refused("/dev/null");
    assert!(null.contains("is not a serial port"), "{null}");
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
        let head = Head { seq, captured_at_us, emitted_at_us: now_us, ..Head::default() };
        Format::Full.write(
            &mut expected,
            &head,
            Predict::Now
                .poses(&pose_frame(seq, seq as usize % 4, now_us - 9_000), now_us)
                .map(|pose| over_the_wire(&pose)),
        );
        assert_eq!(*line, serde_json::from_slice::<serde_json::Value>(&expected).unwrap());
    }
    let told = String::from_utf8(output.stderr).unwrap();
    // It may have heard another one before it ended.
    assert!(told.contains(" moments, 0 missed, 0 incomplete"), "{told}");
}
