//! Ports that are none, in use, stuck, or gone.

use super::*;

/// A sink whose port takes no more.
fn stuck(pty: &Pty) -> Serial {
    let (mut serial, _) = open(&pty.path);
    let mut now_us = 0;
    while serial.counters().moments_dropped == 0 {
        serial.send(&pose_frame(0, 4, now_us), now_us).unwrap();
        now_us += FRAME_US;
    }
    serial
}

#[test]
fn a_stuck_port_is_left_within_the_time_given() {
    let pty = Pty::open();
    let mut serial = stuck(&pty);
    let started = Instant::now();
    serial.finish(Duration::from_millis(100)).unwrap();
    drop(serial);
    assert!(started.elapsed() < Duration::from_millis(450), "{:?}", started.elapsed());
}

#[test]
fn a_port_that_goes_away_at_the_very_end_fails_nothing() {
    let pty = Pty::open();
    let mut serial = stuck(&pty);
    drop(pty);
    serial.finish(Duration::from_millis(100)).unwrap();
    assert_eq!(serial.counters().losses, 1);
}

#[test]
fn a_port_in_use_is_refused_to_a_second_program_until_the_first_one_leaves() {
    let pty = Pty::open();
    let (mut serial, host) = open(&pty.path);
    let refused = |what: Result<(), SinkError>| match what {
        Err(SinkError::Fatal(why)) => format!("{why:#}"),
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
    assert!(matches!(&error, SinkError::Retry(text) if format!("{text:#}").contains("lost")), "{error:?}");
    for _ in 0..30 {
        now_us += 100_000;
        assert!(serial.is_away(), "an Ok in between is no sign of life");
        assert_eq!(serial.send(&pose_frame(2, 1, now_us), now_us).unwrap(), Sending::LeftOut);
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
fn a_port_that_was_away_for_an_hour_is_found_within_two_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("port");
    let first = Pty::open();
    symlink(&first.path, &name).unwrap();
    let (mut serial, _) = open(&name);
    std::fs::remove_file(&name).unwrap();
    drop(first);
    let mut now_us = FRAME_US;
    serial.send(&pose_frame(0, 1, now_us), now_us).unwrap_err();
    for _ in 0..1_800 {
        now_us += 2_000_000;
        serial.send(&pose_frame(1, 1, now_us), now_us).unwrap();
    }
    let second = Pty::open();
    symlink(&second.path, &name).unwrap();
    for _ in 0..21 {
        now_us += 100_000;
        serial.send(&pose_frame(2, 1, now_us), now_us).unwrap();
    }
    assert!(!serial.is_away());
}

#[test]
fn a_port_that_is_none_is_refused_with_what_to_do() {
    let refused = |path: &str| {
        let host = Arc::new(FakeHost::default());
        match Serial::open(options(path.as_ref(), 921_600), host).map(|_| ()) {
            Err(SinkError::Fatal(why)) => format!("{why:#}"),
            other => panic!("{other:?}"),
        }
    };
    let missing = refused("/dev/ttyNOSUCH7");
    assert!(missing.contains("/dev/ttyNOSUCH7: there is no such port"), "{missing}");
    let null = refused("/dev/null");
    assert!(null.contains("is not a serial port"), "{null}");
}
