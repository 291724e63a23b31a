//! What a line carries, and that it is told and delivered.

use super::*;

#[test]
fn a_line_too_slow_for_the_stream_is_used_as_far_as_it_goes_and_says_so() {
    let pty = Pty::open();
    let host = Arc::new(FakeHost::default());
    let mut serial = Serial::open(options(&pty.path, 57_600), host.clone()).unwrap();
    let (mut reader, mut got) = (Reader::default(), Everything::default());
    let frames = 150;
    for i in 0..frames {
        let now_us = i * FRAME_US;
        serial.send(&pose_frame(i as u64, 4, now_us), now_us).unwrap();
        got.hear(&mut reader, &pty.read_now());
    }
    got.hear(&mut reader, &pty.read());
    let hello = got.hellos[0];
    assert!(hello.flags.has(HelloFlags::DROPPED_3D | HelloFlags::LOWERED_RATE), "{:?}", hello.flags);
    let sent_hz = got.moments.len() as f32 / (frames * FRAME_US) as f32 * 1e6;
    let said_hz = f32::from(hello.pose_rate_chz) / 100.0;
    assert!(said_hz < 10.0 && (sent_hz / said_hz - 1.0).abs() < 0.1, "sent {sent_hz} Hz, said {said_hz}");
    assert!(got.moments.iter().flat_map(|m| m.poses()).all(|p| p.value.joints_3d_m.is_none()));

    let error = Serial::open(options(&pty.path, 1_200), host).map(|_| ()).unwrap_err();
    assert!(matches!(error, SinkError::Fatal(_)), "{error:?}");
    let text = format!("{error:#}");
    assert!(text.contains("1200 baud") && text.contains("faster line"), "{text}");
}

/// A line of `baud` on which frames of `persons` come at 30 Hz, and no other time passes than theirs.
struct SlowLine {
    pty: Pty,
    serial: Serial,
    baud: u32,
    got: Everything,
    reader: Reader,
    /// When the line has carried what was sent.
    free_at_us: i64,
}

impl SlowLine {
    fn new(baud: u32, max_persons: u8) -> Self {
        let mut pty = Pty::open();
        pty.hand.set_read_timeout(Duration::ZERO).unwrap();
        let asked = SerialOptions { max_persons, with_3d: false, ..options(&pty.path, baud) };
        let serial = Serial::open(asked, Arc::new(FakeHost::default())).unwrap();
        let (got, reader) = (Everything::default(), Reader::default());
        Self { pty, serial, baud, got, reader, free_at_us: 0 }
    }

    /// Gives the sink a frame; says when it wants the newest again.
    fn give(&mut self, frame: &pose::PoseFrame, now_us: i64) -> Option<i64> {
        match self.serial.send(frame, now_us).unwrap() {
            Sending::NotYet { until_us, .. } => return Some(until_us),
            Sending::Sent => {
                let backlog_us = self.free_at_us - now_us;
                assert!(backlog_us <= 5_000, "at {now_us} us the line is busy for {backlog_us} us more");
                let bytes = self.pty.read_now();
                let carry_us = bytes.len() as i64 * 10_000_000 / i64::from(self.baud);
                self.free_at_us = self.free_at_us.max(now_us) + carry_us;
                self.got.hear(&mut self.reader, &bytes);
            }
            Sending::NotDue | Sending::LeftOut => {}
        }
        None
    }

    /// Watches `persons` for a while, as the sink's thread does.
    fn watch(&mut self, persons: u8, frames: i64) {
        for i in 0..frames {
            let captured_at_us = i * FRAME_US;
            let frame = pose_frame(i as u64, persons.into(), captured_at_us);
            let mut at_us = Some(captured_at_us);
            while let Some(now_us) = at_us.filter(|us| *us < captured_at_us + FRAME_US) {
                at_us = self.give(&frame, now_us);
            }
        }
    }
}

#[test]
fn a_line_too_slow_for_every_frame_delivers_the_rate_that_hello_promises() {
    const FRAMES: i64 = 900;
    for baud in [9_600, 19_200, 38_400, 57_600, 115_200] {
        for persons in [1, 4] {
            let mut line = SlowLine::new(baud, persons);
            line.watch(persons, FRAMES);
            let SlowLine { got, serial, .. } = line;
            let promised_hz = match got.hellos[0].pose_rate_chz {
                0 => 30.0,
                lowered_chz => f32::from(lowered_chz) / 100.0,
            };
            let sent_hz = got.moments.len() as f32 / (FRAMES * FRAME_US) as f32 * 1e6;
            assert!(
                (sent_hz / promised_hz - 1.0).abs() < 0.05,
                "{persons} at {baud} baud: {sent_hz} Hz, but {promised_hz} Hz are promised"
            );
            assert_eq!(serial.counters().moments_dropped, 0, "{persons} at {baud} baud");
            let oldest_us = got.moments.iter().map(|m| m.sent_at_us() - m.captured_at_us).max();
            assert!(
                oldest_us < Some(FRAME_US),
                "{persons} at {baud} baud: the newest goes, not one of before"
            );
        }
    }
}

#[test]
fn a_line_is_shared_out_by_what_the_source_gives() {
    let hello_at = |source_rate_hz, max_persons| {
        let pty = Pty::open();
        let host = Arc::new(FakeHost { source_rate_hz, ..FakeHost::default() });
        let asked = SerialOptions { max_persons, with_3d: false, ..options(&pty.path, 115_200) };
        let mut serial = Serial::open(asked, host).unwrap();
        serial.send(&pose_frame(0, 1, 0), 0).unwrap();
        let (mut reader, mut got) = (Reader::default(), Everything::default());
        got.hear(&mut reader, &pty.read());
        got.hellos[0]
    };
    let is_lowered = |hello: &Hello| hello.flags.has(HelloFlags::LOWERED_RATE);
    let two = hello_at(Some(60.0), 2);
    assert!(is_lowered(&two) && (3_600..3_700).contains(&two.pose_rate_chz), "{two:?}");
    assert!((700..=900).contains(&two.load_permille), "as much as fits: {}", two.load_permille);
    let four = hello_at(Some(10.0), 4);
    assert!(!is_lowered(&four) && four.pose_rate_chz == 0, "{four:?}");
    let unknown = hello_at(None, 4);
    assert!(is_lowered(&unknown), "30 Hz are taken for granted: {unknown:?}");
}

#[test]
fn where_every_frame_is_to_go_one_that_a_newer_overtakes_while_it_waits_is_counted() {
    // 30 Hz fit, twice as many frames do not.
    let mut line = SlowLine::new(57_600, 1);
    let frames = 120;
    for i in 0..frames {
        let now_us = i * FRAME_US / 2;
        line.give(&pose_frame(i as u64, 1, now_us), now_us);
    }
    let (sent, dropped) = (line.got.moments.len() as u64, line.serial.counters().moments_dropped);
    line.serial.finish(Duration::ZERO).unwrap();
    assert_eq!(sent + line.serial.counters().moments_dropped, frames as u64);
    assert!(dropped > 40 && u64::from(line.reader.counters().moments.missed) <= dropped, "{dropped}");
}
