//! What the other end says and asks for.

use super::*;

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
    assert!(got.hellos.len() >= 2, "HELLO comes before its second where it is asked for");

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
fn one_person_has_the_line_of_four() {
    let pty = Pty::open();
    let mut serial = Serial::open(options(&pty.path, DEFAULT_BAUD), Arc::new(FakeHost::default())).unwrap();
    assert_eq!(moments_of_a_second(&mut serial, &pty, 0), 30, "four at 30 Hz do not fit, one does");
}
