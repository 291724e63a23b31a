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
use posewire::output::{Host, PoseSink, Predict, Sending, SinkError, Source, Vitals};

use crate::frames::pose_frame;
use crate::pty::{Cable, Pty};

mod consumer;
mod port;
mod rate;
mod read;

const FRAME_US: i64 = 33_333;

/// A tracker that counts how often it was reset.
#[derive(Default)]
struct FakeHost {
    resets: AtomicU32,
    source_rate_hz: Option<f32>,
    source: Source,
    throttled: Option<bool>,
}

impl Host for FakeHost {
    fn vitals(&self) -> Vitals {
        Vitals {
            model_hash: *b"modelsha",
            engine: *b"int8 portable\0\0\0",
            max_persons: 4,
            frame_rate_hz: 29.97,
            uptime_ms: 1234,
            frames_dropped: 5,
            poses_dropped: 3,
            camera_losses: 2,
            camera_errors: 7,
            temperature_c: Some(61.25),
            throttled: self.throttled,
            source: self.source,
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
        port: PortSpec { path: path.into(), baud, rtscts: false },
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
    assert_eq!((hello.max_persons, hello.backend()), (4, "int8 portable"));
    assert_eq!((hello.uptime_ms, hello.frames_dropped, hello.poses_dropped), (1234, 5, 3));
    assert!(got.hellos[1].packets_sent > hello.packets_sent);
    assert_eq!((hello.width_px, hello.height_px, hello.model_hash), (640, 480, *b"modelsha"));
    assert!(hello.flags.has(HelloFlags::WITH_3D | HelloFlags::PREDICTED));
    assert_eq!((got.statuses[0].temperature_cc, got.statuses[0].source), (6125, SourceState::REPLAY));
    let status = got.statuses[0];
    assert_eq!((hello.frame_rate_chz, status.frame_rate_chz), (2_997, 2_997));
    assert_eq!((status.frames_dropped, status.camera_losses, status.camera_errors), (5, 2, 7));
    assert_eq!((status.uptime_ms, status.poses_dropped), (1234, 3));
    // Half a second behind the first, and then a second apart: with the frames 0, 16 and 47.
    assert_eq!(got.statuses.iter().map(|s| s.persons).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(status.flags, 0, "a board that does not say is not throttled");
}

#[test]
fn status_says_where_frames_come_from_and_whether_the_board_is_throttled() {
    for (source, throttled, told) in [
        (Source::Camera, Some(true), (SourceState::RUNNING, Status::THROTTLED)),
        (Source::Lost, Some(false), (SourceState::LOST, 0)),
        (Source::Replay, None, (SourceState::REPLAY, 0)),
        (Source::BuiltIn, Some(true), (SourceState::BUILT_IN, Status::THROTTLED)),
    ] {
        let pty = Pty::open();
        let host = FakeHost { source, throttled, ..FakeHost::default() };
        let mut serial = Serial::open(options(&pty.path, 921_600), Arc::new(host)).unwrap();
        serial.idle(0).unwrap();
        let (mut reader, mut got) = (Reader::default(), Everything::default());
        got.hear(&mut reader, &pty.read());
        assert_eq!((got.statuses[0].source, got.statuses[0].flags), told, "{source:?}");
    }
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
