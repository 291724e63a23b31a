//! Properties of the wire: encode∘decode is the identity, quantisation stays within what is stated, and no damage costs
//! more than the frames it touches.

use pose::{JOINTS, JointState, Pose, PoseJoint, Stamped};
use pose_wire::*;
use proptest::{collection::vec, option, prelude::*};

fn joint_code() -> impl Strategy<Value = JointCode> {
    any::<(i16, i16, u8, u8)>().prop_map(|(x, y, sigma, mark)| JointCode { x, y, sigma, mark })
}

fn array<const N: usize, S: Strategy>(of: S) -> impl Strategy<Value = [S::Value; N]>
where
    S::Value: Copy,
{
    vec(of, N).prop_map(|v| std::array::from_fn(|i| v[i]))
}

fn person() -> impl Strategy<Value = (u8, Person)> {
    let layout =
        (0..=8u8, 1..=8u8).prop_flat_map(|(scale, persons)| (Just(scale), Just(persons), 0..persons));
    let joints = array::<JOINTS, _>(joint_code());
    let mm = option::of(array::<JOINTS, _>(any::<[i16; 3]>()));
    (layout, any::<(u32, u8)>(), joints, mm).prop_map(
        |((scale, persons, index), (track_id, score), joints, joints_3d_mm)| {
            (persons, Person { index, track_id, score, scale, joints, joints_3d_mm })
        },
    )
}

fn packet() -> impl Strategy<Value = Packet> {
    let pose = (any::<(u32, i64, i32, i32)>(), option::of(person())).prop_map(
        |((seq, captured_at_us, age_us, horizon_us), person)| {
            let (persons, person) = person.map_or((0, None), |(n, p)| (n, Some(p)));
            Packet::Pose(PosePacket { seq, captured_at_us, age_us, horizon_us, persons, person })
        },
    );
    let hello = (any::<[u8; 6]>(), any::<[u8; 8]>(), any::<[u8; 16]>(), any::<[u16; 5]>(), any::<[u32; 4]>())
        .prop_map(|(b, model_hash, backend, h, w)| {
            Packet::Hello(Hello {
                minor: b[0],
                skeleton: b[1],
                joints: b[2],
                max_persons: b[3],
                model_hash,
                backend,
                width_px: h[0],
                height_px: h[1],
                frame_rate_chz: h[2],
                pose_rate_chz: h[3],
                scale: b[4],
                flags: HelloFlags(b[5]),
                load_permille: h[4],
                uptime_ms: w[0],
                frames_dropped: w[1],
                poses_dropped: w[2],
                packets_sent: w[3],
            })
        });
    let status = (any::<[u32; 6]>(), any::<(i16, u16, u16, u8, u8)>()).prop_map(
        |(w, (temperature_cc, frame_rate_chz, flags, source, persons))| {
            Packet::Status(Status {
                uptime_ms: w[0],
                temperature_cc,
                frame_rate_chz,
                frames_dropped: w[1],
                poses_dropped: w[2],
                camera_losses: w[3],
                camera_errors: w[4],
                wire_errors: w[5],
                source: SourceState(source),
                persons,
                flags,
            })
        },
    );
    let command = prop_oneof![
        Just(Command::RequestHello),
        any::<u16>().prop_map(|rate_chz| Command::SetRate { rate_chz }),
        Just(Command::Reset)
    ]
    .prop_map(Packet::Command);
    let receipt = any::<[u32; 9]>().prop_map(|w| {
        Packet::Receipt(Receipt {
            seq: w[0],
            packets: w[1],
            crc_errors: w[2],
            framing_errors: w[3],
            overfull: w[4],
            skipped: w[5],
            overruns: w[6],
            superseded: w[7],
            busy_us: w[8],
        })
    });
    let place = (any::<(u32, i64, u32)>(), any::<[i16; 3]>(), any::<[u16; 5]>()).prop_map(
        |((seq, captured_at_us, track_id), at_mm, [distance_mm, distance_sigma_mm, x, y, z])| {
            let sigma_mm = [x, y, z];
            Packet::Place(PlacePacket {
                seq,
                captured_at_us,
                track_id,
                distance_mm,
                distance_sigma_mm,
                at_mm,
                sigma_mm,
            })
        },
    );
    let notice = (any::<(u32, i64, u32)>(), any::<[u8; 3]>(), any::<[u8; 12]>()).prop_map(
        |((number, captured_at_us, track_id), [code, persons, zone], zone_name)| {
            let code = NoticeCode(code);
            Packet::Notice(Notice { number, captured_at_us, track_id, code, persons, zone, zone_name })
        },
    );
    prop_oneof![4 => pose, 1 => hello, 1 => status, 1 => command, 1 => receipt, 1 => place, 1 => notice]
}

fn frame(packet: &Packet) -> Vec<u8> {
    let mut to = [0; MAX_PACKET];
    let n = encode(packet, &mut to).unwrap();
    to[..n].to_vec()
}

fn packets_of(events: impl IntoIterator<Item = Event>) -> Vec<Packet> {
    events.into_iter().filter_map(|e| if let Event::Packet(p) = e { Some(p) } else { None }).collect()
}

/// A stand-in for what a newer version sends: any header, any body, a good CRC.
fn foreign(version: u8, kind: u8, body: &[u8]) -> Vec<u8> {
    let mut payload = vec![version, kind];
    payload.extend((body.len() as u16).to_le_bytes());
    payload.extend(body);
    let crc = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&payload);
    payload.extend(crc.to_le_bytes());
    let mut to = vec![0; cobs::max_encoding_length(payload.len()) + 1];
    let n = cobs::encode(&payload, &mut to);
    to.truncate(n + 1);
    to[n] = 0;
    to
}

proptest! {
    #[test]
    fn a_packet_comes_back_as_it_was(packets in vec(packet(), 1..8), cut in 1usize..300) {
        let bytes: Vec<u8> = packets.iter().flat_map(frame).collect();
        prop_assert_eq!(bytes.iter().filter(|b| **b == 0).count(), packets.len());
        let mut decoder = Decoder::new();
        let mut events = Vec::new();
        for chunk in bytes.chunks(cut) {
            events.extend(decoder.feed(chunk));
        }
        prop_assert_eq!(decoder.counters().packets as usize, packets.len());
        prop_assert_eq!(decoder.counters().damaged(), 0);
        prop_assert_eq!(packets_of(events), packets);
    }

    #[test]
    fn damage_costs_the_frames_it_touches_and_no_other(
        packets in vec(packet(), 3..7),
        at in any::<proptest::sample::Index>(),
        noise in vec(any::<u8>(), 1..40),
        removed in 0usize..40,
    ) {
        let frames: Vec<Vec<u8>> = packets.iter().map(frame).collect();
        let bytes = frames.concat();
        let at = at.index(bytes.len());
        let end = (at + removed).min(bytes.len());
        let damaged = [&bytes[..at], &noise[..], &bytes[end..]].concat();

        let mut decoder = Decoder::new();
        let got = packets_of(decoder.feed(&damaged));
        // Frames that end before the damage, and frames that begin behind a delimiter after it, must all arrive.
        let mut ends: Vec<usize> = frames.iter().scan(0, |sum, f| { *sum += f.len(); Some(*sum) }).collect();
        let whole_before = ends.iter().filter(|e| **e <= at).count();
        ends.insert(0, 0);
        let whole_after = ends[..ends.len() - 1].iter().filter(|start| **start > end).count();
        prop_assert!(got.len() >= whole_before + whole_after);
        prop_assert_eq!(&got[..whole_before], &packets[..whole_before]);
        prop_assert_eq!(&got[got.len() - whole_after..], &packets[packets.len() - whole_after..]);
        // Nothing that was not sent.
        prop_assert!(got.iter().all(|p| packets.contains(p)));
    }

    #[test]
    fn any_bytes_are_taken_and_the_next_frame_after_a_zero_arrives(
        noise in vec(any::<u8>(), 0..3000), packet in packet()
    ) {
        let mut decoder = Decoder::new();
        let before = decoder.feed(&noise).count();
        prop_assert!(before <= noise.len());
        let _ = decoder.push(0);
        let events: Vec<Event> = decoder.feed(&frame(&packet)).collect();
        prop_assert_eq!(events, vec![Event::Packet(packet)]);
    }

    #[test]
    fn fields_appended_by_a_later_version_are_ignored(packet in packet(), extra in vec(any::<u8>(), 1..200)) {
        let encoded = frame(&packet);
        let mut payload = vec![0; encoded.len()];
        let report = cobs::decode(&encoded, &mut payload).unwrap();
        let body = &payload[HEADER_LEN..report.frame_size() - CRC_LEN];
        let longer = foreign(VERSION, payload[1], &[body, &extra].concat());
        let mut decoder = Decoder::new();
        let events: Vec<Event> = decoder.feed(&longer).collect();
        // Joints that follow "nobody" would be a contradiction only for a reader that looked at them.
        prop_assert_eq!(events, vec![Event::Packet(packet)]);
    }

    #[test]
    fn other_versions_and_types_are_skipped_and_counted(
        version in 2u8.., kind in 6u8..0x80, body in vec(any::<u8>(), 0..300)
    ) {
        let mut decoder = Decoder::new();
        let bytes = [foreign(version, 2, &body), foreign(VERSION, kind, &body)].concat();
        let events: Vec<Event> = decoder.feed(&bytes).collect();
        prop_assert_eq!(
            events,
            vec![Event::Dropped(Fault::Version(version)), Event::Dropped(Fault::UnknownType(kind))]
        );
        prop_assert_eq!(decoder.counters().damaged(), 0);
    }

    #[test]
    fn a_body_cut_short_is_malformed_whatever_it_says(packet in packet(), cut in 1usize..300) {
        let encoded = frame(&packet);
        let mut payload = vec![0; encoded.len()];
        let n = cobs::decode(&encoded, &mut payload).unwrap().frame_size();
        let body = &payload[HEADER_LEN..n - CRC_LEN];
        let short = &body[..body.len().saturating_sub(cut)];
        let mut decoder = Decoder::new();
        let events: Vec<Event> = decoder.feed(&foreign(VERSION, payload[1], short)).collect();
        prop_assert_eq!(events, vec![Event::Dropped(Fault::Malformed(payload[1]))]);
        prop_assert_eq!((decoder.counters().malformed, decoder.counters().damaged()), (1, 1));
    }

    #[test]
    fn a_pose_comes_back_within_the_stated_quantisation(
        places in array::<JOINTS, _>((-0.2f32..1.2, -0.2f32..1.2, 0f32..=1.0, 0f32..60.0, 0u8..3)),
        metres in option::of(array::<JOINTS, _>(array::<3, _>(-3f32..3.0))),
        (track_id, score, width) in (1u32.., 0f32..=1.0, 1u32..16000),
        (captured_at_us, age, horizon) in (0i64..1 << 50, -50_000i64..500_000, 0i64..150_000),
    ) {
        let scale = scale_for(width, width * 3 / 4).unwrap();
        let step = f32::from(1u16 << scale) / 8.0;
        let states = [JointState::Absent, JointState::Measured, JointState::Predicted];
        let pose = Pose {
            track_id,
            score,
            joints: places.map(|(x, y, score, sigma_px, state)| PoseJoint {
                x_px: x * width as f32 / 1.2,
                y_px: y * width as f32 / 1.2,
                score,
                sigma_px,
                state: states[usize::from(state)],
            }),
            joints_3d_m: metres,
            place: None,
        };
        let stamped = Stamped { captured_at_us, valid_at_us: captured_at_us + horizon, value: pose };
        let at = Emission { seq: 7, sent_at_us: captured_at_us + age, persons: 3, scale };
        let sent = PosePacket::new(&stamped, 2, at);
        prop_assert_eq!(i64::from(sent.age_us), age);

        let mut decoder = Decoder::new();
        let got = packets_of(decoder.feed(&frame(&Packet::Pose(sent))));
        prop_assert_eq!(&got, &vec![Packet::Pose(sent)]);
        let back = sent.stamped().unwrap();
        prop_assert_eq!(back.captured_at_us, captured_at_us);
        prop_assert_eq!(back.valid_at_us, captured_at_us + horizon);
        prop_assert_eq!(back.value.track_id, track_id);
        prop_assert!((back.value.score - score).abs() <= 1.0 / 509.0);
        for (a, b) in pose.joints.iter().zip(&back.value.joints) {
            prop_assert_eq!(a.state, b.state);
            if a.state == JointState::Absent {
                prop_assert_eq!(*b, PoseJoint::default());
                continue;
            }
            let slack = 1e-3 * step; // f32 at the far end of the range
            prop_assert!((a.x_px - b.x_px).abs() <= step / 2.0 + slack, "{} {}", a.x_px, b.x_px);
            prop_assert!((a.y_px - b.y_px).abs() <= step / 2.0 + slack, "{} {}", a.y_px, b.y_px);
            prop_assert!((a.score - b.score).abs() <= 1.0 / 125.0);
            prop_assert!((a.sigma_px - b.sigma_px).abs() <= step / 2.0 + a.sigma_px / 64.0 + slack);
        }
        for (a, b) in metres.iter().flatten().flatten().zip(back.value.joints_3d_m.iter().flatten().flatten()) {
            prop_assert!((a - b).abs() <= 0.000_51);
        }
        prop_assert_eq!(metres.is_some(), back.value.joints_3d_m.is_some());

        // What was quantised once stays as it is.
        let again = PosePacket::new(&back, 2, at);
        prop_assert_eq!(again, sent);
    }
}

#[test]
fn a_million_random_bytes_give_no_packet() {
    let mut state = 1u64;
    let mut decoder = Decoder::new();
    for _ in 0..1_000_000 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        assert!(!matches!(decoder.push((state >> 56) as u8), Some(Event::Packet(_))));
    }
    assert!(decoder.counters().damaged() > 1000, "{:?}", decoder.counters());
}

#[test]
fn noise_without_a_zero_is_told_once_and_the_longest_legal_frame_is_not_noise() {
    let mut decoder = Decoder::new();
    let events: Vec<Event> = decoder.feed(&[7; 5000]).collect();
    assert_eq!(events, [Event::Dropped(Fault::Overfull)]);
    assert_eq!(decoder.push(0), None);
    // A zero early in the body: 509 bytes of payload take exactly two more under COBS.
    let mut body = [7; MAX_FRAME - 3 - HEADER_LEN - CRC_LEN];
    body[0] = 0;
    let longest = foreign(VERSION, 0x7f, &body);
    assert_eq!(longest.len(), MAX_FRAME);
    let events: Vec<Event> = decoder.feed(&longest).collect();
    assert_eq!(events, [Event::Dropped(Fault::UnknownType(0x7f))]);
    assert_eq!(decoder.counters().overfull, 1);
}

#[test]
fn after_a_lost_byte_only_the_frame_it_belonged_to_is_dropped() {
    let request = frame(&Packet::Command(Command::RequestHello));
    let mut decoder = Decoder::new();
    assert_eq!(decoder.feed(&request[..4]).count(), 0);
    decoder.desync();
    assert_eq!(decoder.feed(&request[5..]).count(), 0);
    assert_eq!(decoder.feed(&request).count(), 1);
    assert_eq!(decoder.counters().packets, 1);
}

#[test]
fn packets_that_no_decoder_would_take_are_refused() {
    let at = Emission { seq: 0, sent_at_us: 0, persons: 2, scale: 0 };
    let wrong = PosePacket::new(&Stamped::default(), 2, at);
    let mut to = [0; MAX_PACKET];
    let error = encode(&Packet::Pose(wrong), &mut to).unwrap_err();
    assert!(matches!(error, EncodeError::Inconsistent { index: 2, persons: 2, scale: 0 }));
    let coarse = PosePacket::new(&Stamped::default(), 1, Emission { scale: 9, ..at });
    let error = encode(&Packet::Pose(coarse), &mut to).unwrap_err();
    assert!(matches!(error, EncodeError::Inconsistent { index: 1, persons: 2, scale: 9 }));
    let right = PosePacket::new(&Stamped::default(), 1, at);
    let error = encode(&Packet::Pose(right), &mut to[..20]).unwrap_err();
    assert_eq!(error, EncodeError::Buffer { needed: 140, have: 20 });
}

#[test]
fn a_person_beyond_those_of_the_moment_and_a_scale_beyond_8_are_malformed() {
    let at = Emission { seq: 0, sent_at_us: 0, persons: 2, scale: 8 };
    let encoded = frame(&Packet::Pose(PosePacket::new(&Stamped::default(), 1, at)));
    let mut payload = vec![0; encoded.len()];
    let n = cobs::decode(&encoded, &mut payload).unwrap().frame_size();
    // Index, persons and layout, by their places in the drawing.
    for (place, value, is_whole) in
        [(29, 1, true), (29, 2, false), (30, 1, false), (31, 8, true), (31, 9, false)]
    {
        let mut body = payload[HEADER_LEN..n - CRC_LEN].to_vec();
        body[place - HEADER_LEN] = value;
        let event = Decoder::new().feed(&foreign(VERSION, 2, &body)).next();
        assert_eq!(matches!(event, Some(Event::Packet(_))), is_whole, "{value} at {place}: {event:?}");
        assert!(is_whole || event == Some(Event::Dropped(Fault::Malformed(2))));
    }
}

#[test]
fn the_budget_counts_the_bytes_that_are_sent() {
    let at = Emission { seq: 0, sent_at_us: 0, persons: 1, scale: 0 };
    let flat = PosePacket::new(&Stamped::default(), 0, at);
    let mut value = Pose { track_id: 1, ..Pose::default() };
    value.joints_3d_m = Some(Default::default());
    let lifted = PosePacket::new(&Stamped { value, ..Stamped::default() }, 0, at);
    let stream =
        |with_3d| Stream { rate_hz: 1.0, persons: 1, with_3d, with_place: false, with_events: false };
    assert_eq!(frame(&Packet::Pose(flat)).len(), stream(false).packet_bytes());
    assert_eq!(frame(&Packet::Pose(lifted)).len(), stream(true).packet_bytes());
    assert_eq!(stream(true).packet_bytes(), MAX_PACKET);
    let housekeeping =
        frame(&Packet::Hello(Hello::default())).len() + frame(&Packet::Status(Status::default())).len();
    assert_eq!(stream(false).bytes_per_s(), (140 + housekeeping) as f32);
}
