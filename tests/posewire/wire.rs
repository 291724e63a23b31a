//! The golden vectors that the Rust, Python and C decoders are held to.
//!
//! `POSEWIRE_WRITE_GOLDEN=1 cargo test --test posewire wire` writes the file anew; without the variable the
//! same code only compares, so the file cannot drift from the encoder, nor the decoder from the file.

use std::{fmt::Write as _, path::Path};

use pose::{JOINTS, Joint, JointState, Pose, PoseJoint, Stamped};
use pose_wire::*;
use serde_json::{Value, json};

use crate::moments;

/// What the decoder makes of `bytes`: one line an event, numbers only, the counters last. `clients/python/tests/transcript.py`
/// and `clients/c/tests/transcript.c` write the same.
pub(crate) fn transcript(bytes: &[u8]) -> Vec<String> {
    let mut decoder = Decoder::new();
    let mut lines: Vec<String> = decoder.feed(bytes).map(|e| line(&e)).collect();
    let c = decoder.counters();
    lines.push(format!(
        "counters {} {} {} {} {} {} {}",
        c.packets, c.overfull, c.framing, c.crc, c.version, c.unknown_type, c.malformed
    ));
    lines
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn line(event: &Event) -> String {
    match event {
        Event::Packet(Packet::Pose(p)) => {
            let mut to =
                format!("pose {} {} {} {} {}", p.seq, p.captured_at_us, p.age_us, p.horizon_us, p.persons);
            if let Some(q) = &p.person {
                write!(to, " {} {} {} {}", q.index, q.track_id, q.score, q.scale).unwrap();
                for j in q.joints {
                    write!(to, " {} {} {} {}", j.x, j.y, j.sigma, j.mark).unwrap();
                }
                if let Some(mm) = &q.joints_3d_mm {
                    to += " 3d";
                    mm.iter().flatten().for_each(|v| write!(to, " {v}").unwrap());
                }
            }
            to
        }
        Event::Packet(Packet::Hello(h)) => format!(
            "hello {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}",
            h.minor,
            h.skeleton,
            h.joints,
            h.max_persons,
            hex(&h.model_hash),
            hex(&h.backend),
            h.width_px,
            h.height_px,
            h.frame_rate_chz,
            h.pose_rate_chz,
            h.scale,
            h.flags.0,
            h.load_permille,
            h.uptime_ms,
            h.frames_dropped,
            h.poses_dropped,
            h.packets_sent
        ),
        Event::Packet(Packet::Status(s)) => format!(
            "status {} {} {} {} {} {} {} {} {} {} {}",
            s.uptime_ms,
            s.temperature_cc,
            s.frame_rate_chz,
            s.frames_dropped,
            s.poses_dropped,
            s.camera_losses,
            s.camera_errors,
            s.wire_errors,
            s.source.0,
            s.persons,
            s.flags
        ),
        Event::Packet(Packet::Place(p)) => {
            let ([x, y, z], [sx, sy, sz]) = (p.at_mm, p.sigma_mm);
            format!(
                "place {} {} {} {} {} {x} {y} {z} {sx} {sy} {sz}",
                p.seq, p.captured_at_us, p.track_id, p.distance_mm, p.distance_sigma_mm
            )
        }
        Event::Packet(Packet::Notice(n)) => format!(
            "notice {} {} {} {} {} {} {}",
            n.number,
            n.captured_at_us,
            n.track_id,
            n.code.0,
            n.persons,
            n.zone,
            hex(&n.zone_name)
        ),
        Event::Packet(Packet::Command(c)) => match c {
            Command::RequestHello => "command 1 0".into(),
            Command::SetRate { rate_chz } => format!("command 2 {rate_chz}"),
            Command::Reset => "command 3 0".into(),
        },
        Event::Packet(Packet::Receipt(r)) => format!(
            "receipt {} {} {} {} {} {} {} {} {}",
            r.seq,
            r.packets,
            r.crc_errors,
            r.framing_errors,
            r.overfull,
            r.skipped,
            r.overruns,
            r.superseded,
            r.busy_us
        ),
        Event::Dropped(Fault::Overfull) => "overfull".into(),
        Event::Dropped(Fault::Framing) => "framing".into(),
        Event::Dropped(Fault::Crc) => "crc".into(),
        Event::Dropped(Fault::Version(v)) => format!("version {v}"),
        Event::Dropped(Fault::UnknownType(t)) => format!("unknown_type {t}"),
        Event::Dropped(Fault::Malformed(t)) => format!("malformed {t}"),
    }
}

/// The frame of a packet.
pub(crate) fn frame(packet: &Packet) -> Vec<u8> {
    let mut to = [0; MAX_PACKET];
    let n = encode(packet, &mut to).unwrap();
    to[..n].to_vec()
}

/// A frame with a good CRC round any version, type and body, and `length` if it shall lie.
pub(crate) fn foreign(version: u8, kind: u8, body: &[u8], length: Option<u16>) -> Vec<u8> {
    let mut payload = vec![version, kind];
    payload.extend(length.unwrap_or(body.len() as u16).to_le_bytes());
    payload.extend(body);
    // zlib's CRC, computed bit by bit: independent of the crate that the encoder uses.
    let crc = !payload.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |c, _| if c & 1 == 1 { c >> 1 ^ 0xedb8_8320 } else { c >> 1 })
    });
    payload.extend(crc.to_le_bytes());
    let mut to = vec![0; cobs::max_encoding_length(payload.len())];
    let n = cobs::encode(&payload, &mut to);
    to.truncate(n);
    to.push(0);
    to
}

/// The body inside a frame.
pub(crate) fn body(frame: &[u8]) -> Vec<u8> {
    let mut payload = vec![0; frame.len()];
    let n = cobs::decode(frame, &mut payload).unwrap().frame_size();
    payload[HEADER_LEN..n - CRC_LEN].to_vec()
}

/// A standing figure, `shift` pixels to the right, whose joints are known as `state` says.
fn figure(track_id: u32, shift: f32, state: impl Fn(usize) -> JointState) -> Pose {
    const PLACES: [(f32, f32); JOINTS] = [
        (320., 80.),
        (328., 72.),
        (312., 72.),
        (340., 78.),
        (300., 78.),
        (360., 140.),
        (280., 140.),
        (375., 200.),
        (262., 198.),
        (380., 255.),
        (250., 250.),
        (345., 260.),
        (295., 260.),
        (350., 350.),
        (290., 350.),
        (352., 440.),
        (288., 440.),
    ];
    let joints = core::array::from_fn(|j| PoseJoint {
        x_px: PLACES[j].0 + shift + 0.3 * j as f32,
        y_px: PLACES[j].1,
        score: 1.0 - 0.05 * j as f32,
        sigma_px: 0.4 * j as f32 * j as f32,
        state: state(j),
    });
    Pose { track_id, score: 0.93, joints, joints_3d_m: None, place: None }
}

fn stamped(value: Pose) -> Stamped<Pose> {
    Stamped { captured_at_us: 1_234_567_890_123, valid_at_us: 1_234_567_938_123, value }
}

fn emission(seq: u32, persons: u8, scale: u8) -> Emission {
    Emission { seq, sent_at_us: 1_234_567_936_000, persons, scale }
}

pub(crate) fn hello() -> Packet {
    Packet::Hello(Hello {
        minor: MINOR,
        skeleton: SKELETON_COCO17,
        joints: JOINTS as u8,
        max_persons: 4,
        model_hash: [0xde, 0xad, 0xbe, 0xef, 0, 1, 2, 3],
        backend: text16("tract int8"),
        width_px: 640,
        height_px: 480,
        frame_rate_chz: 2997,
        pose_rate_chz: 6000,
        scale: 0,
        flags: HelloFlags(HelloFlags::PREDICTED | HelloFlags::DROPPED_3D),
        load_permille: 713,
        uptime_ms: 4_000_000_000,
        frames_dropped: 12,
        poses_dropped: 0,
        packets_sent: 123_456,
    })
}

fn status() -> Status {
    Status {
        uptime_ms: 61_000,
        temperature_cc: 5_437,
        frame_rate_chz: 2_990,
        frames_dropped: 3,
        poses_dropped: 1,
        camera_losses: 2,
        camera_errors: 9,
        wire_errors: 4,
        source: SourceState::LOST,
        persons: 2,
        flags: Status::THROTTLED,
    }
}

fn lifted(mut pose: Pose) -> Pose {
    pose.joints_3d_m = Some(core::array::from_fn(|j| {
        let j = j as f32;
        [0.01 * j, -0.05 * j + 0.3, 0.002 * j - 40.0 * f32::from(j == 16.0)]
    }));
    pose
}

/// Name, bytes, and the pose that comes out where there is exactly one.
fn streams() -> Vec<(&'static str, Vec<u8>, Option<PosePacket>)> {
    use JointState::*;
    let mixed = |j: usize| [Measured, Predicted, Absent][j % 3];
    let pose = |p: &Pose, seq, index, persons, scale| {
        PosePacket::new(&stamped(*p), index, emission(seq, persons, scale))
    };
    let measured = pose(&figure(7, 0.0, |_| Measured), 41, 0, 1, 0);
    let three_d = pose(&lifted(figure(8, -10.0, mixed)), 42, 0, 1, 0);
    let mut far = figure(9, 5000.0, |_| Measured);
    far.joints[0] = PoseJoint { x_px: -1e9, y_px: 1e9, sigma_px: 1e9, ..far.joints[0] };
    let measured_frame = frame(&Packet::Pose(measured));
    let receipt = Receipt {
        seq: 41,
        packets: 1000,
        crc_errors: 1,
        framing_errors: 2,
        overfull: 3,
        skipped: 4,
        overruns: 5,
        superseded: 6,
        busy_us: 23_456,
    };
    let place_of = pose::Place {
        at_m: [-0.4204, 0.31, 3.1216],
        sigma_m: [0.021, 0.019, 0.112],
        distance_m: 3.1651,
        distance_sigma_m: 0.1137,
    };
    let beyond = pose::Place { at_m: [-1e3, 1e3, 60.0], distance_m: 70.0, ..place_of };
    let place = |place, seq| Packet::Place(PlacePacket::new(&place, 7, seq, 1_234_567_890_123));
    let enter = Notice {
        number: 5,
        captured_at_us: 1_234_567_890_123,
        track_id: 7,
        code: NoticeCode::ENTER,
        persons: 2,
        zone: 1,
        zone_name: Notice::zone_text("hinter der Tür"),
    };
    let count = Notice { number: u32::MAX, code: NoticeCode::COUNT, persons: 3, ..Notice::default() };
    let later = Notice { code: NoticeCode(200), ..enter };
    let notice = |notice| frame(&Packet::Notice(notice));
    let nobody = PosePacket::nobody(-5, 100_000, emission(u32::MAX, 0, 0));

    let mut all: Vec<(&'static str, Vec<u8>, Option<PosePacket>)> = Vec::new();
    for (name, packet) in [
        ("pose_measured", measured),
        ("pose_mixed", pose(&figure(3, 2.0, mixed), 43, 1, 3, 0)),
        ("pose_3d", three_d),
        ("pose_scale_1_saturated", pose(&far, 44, 0, 1, 1)),
    ] {
        all.push((name, frame(&Packet::Pose(packet)), Some(packet)));
    }
    let two =
        [pose(&figure(1, -60.0, |_| Measured), 45, 0, 2, 0), pose(&figure(2, 60.0, mixed), 45, 1, 2, 0)];
    let mut reserved = body(&measured_frame);
    reserved[28 + 6 * Joint::LeftWrist as usize + 5] = 0xff;
    let mut wrong_index = body(&measured_frame);
    wrong_index[25] = 1;
    let mut wrong_scale = body(&measured_frame);
    wrong_scale[27] = 9;
    let hello_frame = frame(&hello());
    let request = frame(&Packet::Command(Command::RequestHello));
    let flip = |at: usize| {
        let mut bytes = measured_frame.clone();
        bytes[at] ^= 0x10;
        [bytes, request.clone()].concat()
    };
    let mut long = [7; MAX_FRAME - 3 - HEADER_LEN - CRC_LEN];
    long[0] = 0;

    let rest: [(&'static str, Vec<u8>); 42] = [
        ("hello", hello_frame.clone()),
        ("hello_all_zero", frame(&Packet::Hello(Hello::default()))),
        ("pose_nobody", frame(&Packet::Pose(nobody))),
        ("pose_two_persons", two.map(|p| frame(&Packet::Pose(p))).concat()),
        ("status", frame(&Packet::Status(status()))),
        ("status_no_sensor", frame(&Packet::Status(Status::default()))),
        ("command_request_hello", request.clone()),
        ("command_set_rate", frame(&Packet::Command(Command::SetRate { rate_chz: 3000 }))),
        ("command_reset", frame(&Packet::Command(Command::Reset))),
        ("receipt", frame(&Packet::Receipt(receipt))),
        ("zeros_between_frames", [&[0, 0][..], &request, &[0, 0, 0], &request, &[0]].concat()),
        ("joined_in_the_middle", [&measured_frame[60..], &request].concat()),
        ("byte_lost", [&measured_frame[..40], &measured_frame[41..], &request].concat()),
        ("byte_added", [&measured_frame[..40], &[0x55], &measured_frame[40..], &request].concat()),
        ("zero_added", [&measured_frame[..40], &[0], &measured_frame[40..], &request].concat()),
        ("delimiter_lost", [&measured_frame[..measured_frame.len() - 1], &request, &request].concat()),
        ("bit_flipped_early", flip(3)),
        ("bit_flipped_late", flip(100)),
        ("codes_past_the_end", [&[9, 1, 2, 3, 0], &request[..]].concat()),
        ("shorter_than_header_and_crc", [&[8, 1, 2, 3, 4, 5, 6, 7, 0], &request[..]].concat()),
        ("noise_without_a_zero", [&[0xaa; 2000], &[0][..], &request].concat()),
        ("longest_frame", [foreign(VERSION, 0x7f, &long, None), request.clone()].concat()),
        ("one_byte_too_long", [&[0x55], &foreign(VERSION, 0x7f, &long, None)[..], &request].concat()),
        ("version_2", [foreign(2, 2, &body(&measured_frame), None), request.clone()].concat()),
        ("unknown_type", [foreign(VERSION, 0x42, b"later", None), request.clone()].concat()),
        ("unknown_command", foreign(VERSION, 0x81, &[4, 0, 0, 0, 1, 2, 3, 4], None)),
        ("rate_beyond_range", foreign(VERSION, 0x81, &[2, 0, 0, 0, 0, 0, 1, 0], None)),
        ("length_that_lies", foreign(VERSION, 1, &body(&hello_frame), Some(55))),
        ("longer_hello", foreign(VERSION, 1, &[body(&hello_frame), vec![1, 2, 3]].concat(), None)),
        ("longer_pose", foreign(VERSION, 2, &[body(&measured_frame), vec![0; 200]].concat(), None)),
        ("pose_index_beyond_persons", foreign(VERSION, 2, &wrong_index, None)),
        ("pose_scale_beyond_range", foreign(VERSION, 2, &wrong_scale, None)),
        ("status_too_short", foreign(VERSION, 3, &[0; 31], None)),
        ("place", frame(&place(place_of, 41))),
        ("place_beyond_range", frame(&place(beyond, 42))),
        ("place_too_short", foreign(VERSION, 4, &[0; 31], None)),
        ("longer_place", foreign(VERSION, 4, &[7; 40], None)),
        ("notice_enter", notice(enter)),
        ("notice_count", notice(count)),
        ("notice_of_a_later_version", [notice(later), request.clone()].concat()),
        ("notice_too_short", foreign(VERSION, 5, &[1; 31], None)),
        ("joint_of_reserved_state", foreign(VERSION, 2, &reserved, None)),
    ];
    all.extend(rest.into_iter().map(|(name, bytes)| (name, bytes, None)));
    all
}

fn pose_json(packet: &PosePacket) -> Value {
    let pose = packet.stamped().unwrap().value;
    let joint = |j: &PoseJoint| json!([j.x_px, j.y_px, j.score, j.sigma_px, j.state.name()]);
    json!({
        "id": pose.track_id,
        "score": pose.score,
        "keypoints": pose.joints.iter().map(joint).collect::<Vec<_>>(),
        "keypoints3d": pose.joints_3d_m,
    })
}

/// One stream a line, so that a change shows as the lines it touches.
fn golden() -> String {
    let entries: Vec<String> = streams()
        .into_iter()
        .map(|(name, bytes, pose)| {
            let mut entry = json!({ "name": name, "hex": hex(&bytes), "lines": transcript(&bytes) });
            if let Some(packet) = pose {
                entry["pose"] = pose_json(&packet);
            }
            entry.to_string()
        })
        .collect();
    let moments: Vec<String> = moments::streams()
        .into_iter()
        .map(|(name, bytes)| {
            json!({ "name": name, "hex": hex(&bytes), "lines": moments::transcript(&bytes) }).to_string()
        })
        .collect();
    format!(
        "{{\"version\": {VERSION}, \"streams\": [\n{}\n], \"moments\": [\n{}\n]}}\n",
        entries.join(",\n"),
        moments.join(",\n")
    )
}

#[test]
fn golden_vectors_are_what_encoder_and_decoder_make() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/wire_v1.json");
    let made = golden();
    if std::env::var_os("POSEWIRE_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).expect("tests/golden/wire_v1.json is part of the repository");
    for (kept, made) in kept.lines().zip(made.lines()) {
        assert_eq!(kept, made, "the wire changed: version 1 may only grow");
    }
    assert_eq!(kept.lines().count(), made.lines().count());
}

#[test]
fn every_stream_ends_in_a_decoder_that_still_works() {
    for (name, bytes, _) in streams() {
        let mut decoder = Decoder::new();
        decoder.feed(&bytes).for_each(drop);
        let request = frame(&Packet::Command(Command::RequestHello));
        assert!(matches!(decoder.feed(&request).next(), Some(Event::Packet(_))), "after {name}");
    }
}

#[test]
fn every_kind_of_fault_is_among_the_golden_vectors() {
    let lines: Vec<String> = streams().iter().flat_map(|(_, bytes, _)| transcript(bytes)).collect();
    for word in [
        "hello",
        "pose",
        "status",
        "place",
        "notice",
        "command",
        "receipt",
        "overfull",
        "framing",
        "crc",
        "version",
        "unknown_type",
        "malformed",
    ] {
        assert!(lines.iter().any(|l| l.split(' ').next() == Some(word)), "{word}");
    }
}

/// A cable whose ends differ by default carries nothing and says nothing of it.
#[test]
fn every_end_of_the_cable_starts_with_the_same_rate() {
    let baud = DEFAULT_BAUD;
    assert_eq!(posewire::config::Config::default().serial.baud, baud);
    for (path, words) in [
        ("docs/wire.md", format!("by default {baud} baud")),
        ("docs/output.md", format!("{baud} baud unless given")),
        ("posewire.example.toml", format!("baud = {baud} ")),
        ("clients/python/src/posewire/wire.py", format!("DEFAULT_BAUD = {baud}\n")),
        ("clients/python/src/posewire/reader.py", "baud: int = DEFAULT_BAUD".into()),
        ("clients/python/src/posewire/__main__.py", "default=DEFAULT_BAUD".into()),
        ("clients/c/src/posewire.h", format!("#define PW_DEFAULT_BAUD {baud} ")),
        ("clients/c/examples/wrist_servo/wrist_servo.ino", "begin(PW_DEFAULT_BAUD)".into()),
        ("firmware/app/src/lib.rs", "None => pose_wire::DEFAULT_BAUD".into()),
        ("firmware/boards/lm3s6965/src/main.rs", "Uart::start(app::BAUD,".into()),
        ("firmware/boards/stm32/src/main.rs", "Uart::start(app::BAUD,".into()),
        ("firmware/boards/pico/src/uart.rs", "baudrate = app::BAUD;".into()),
        ("firmware/pico.sh", format!("than {baud};")),
    ] {
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
        assert!(text.contains(&words), "{path} does not say '{words}'");
    }
}
