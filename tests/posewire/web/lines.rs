//! Programs that take the lines, as messages and as events.

use super::*;

#[test]
fn poses_stream_as_events_to_a_bounded_number_of_readers() {
    let mut web = web();
    let request = "GET /poses HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut readers: Vec<TcpStream> = (0..MAX_CLIENTS).map(|_| connect(&web, request)).collect();
    for reader in &mut readers {
        // All are in once each has its head.
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            reader.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        assert!(head.starts_with(b"HTTP/1.1 200"));
    }
    assert!(ask(&web, request).starts_with("HTTP/1.1 503"));
    web.send(&nobody(5), 9).unwrap();
    let expected = "event: size\ndata: [320,240]\n\ndata: {\"seq\":5,\"frame\":5,\"captured_us\":1,\"emitted_us\":9,\"width\":320,\"height\":240,\"persons\":[]}\n\n";
    for reader in &mut readers {
        let mut got = String::new();
        while !got.contains(expected) {
            let mut byte = [0];
            reader.read_exact(&mut byte).unwrap();
            got.push(char::from(byte[0]));
            // Whoever waits is told now and then that the line is alive.
            assert!(got.len() < 1_000, "{got}");
        }
    }
    // Nobody reads any more, and sending goes on.
    for seq in 6..2_000 {
        web.send(&nobody(seq), 9).unwrap();
    }
    web.finish(Duration::from_millis(100)).unwrap();
    for reader in readers {
        let rest = answer(reader);
        assert!(rest.ends_with("\r\n0\r\n\r\n"), "cut off, as curl says of it");
    }
}

fn line_of(socket: &mut WebSocket<TcpStream>) -> serde_json::Value {
    match socket.read().unwrap() {
        Message::Text(text) => serde_json::from_str(&text).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_gets_the_json_lines_as_messages_and_needs_to_say_nothing() {
    let host = Arc::new(Known::default());
    let mut web = of(WebOptions { host: Some(host.clone()), ..WebOptions::default() });
    let mut socket = program(&web);
    let first = until_heard(&mut web, 0, || has_come(&mut socket));
    let mut last = line_of(&mut socket)["seq"].as_u64().unwrap();
    assert!(last <= first);
    for seq in first + 1..first + 50 {
        web.send(&crate::frames::pose_frame(seq, 2, 1_000), 9).unwrap();
        let line = line_of(&mut socket);
        assert_eq!(line["persons"].as_array().map_or(0, Vec::len), if line["seq"] == seq { 2 } else { 0 });
        let now = line["seq"].as_u64().unwrap();
        assert!(now > last, "{now} after {last}");
        last = now;
        if last != seq {
            break;
        }
    }
    socket.send(Message::text("reset")).unwrap();
    let began = Instant::now();
    while host.0.load(Ordering::Relaxed) == 0 {
        assert!(began.elapsed() < SOON);
        sleep(Duration::from_millis(10));
    }
    web.finish(Duration::ZERO).unwrap();
    while let Ok(message) = socket.read() {
        assert!(matches!(message, Message::Text(_) | Message::Close(_)), "{message:?}");
    }
}

#[test]
fn a_program_that_does_not_read_is_let_go_and_holds_nobody_up() {
    let mut web = web();
    let mut stalled = program(&web);
    until_heard(&mut web, 0, || has_come(&mut stalled));
    let mut slowest = Duration::ZERO;
    let began = Instant::now();
    let mut seq = 10_000;
    // Its own buffers take some megabytes; after that its patience of 2 s runs.
    while began.elapsed() < Duration::from_secs(5) {
        let sent = Instant::now();
        web.send(&crate::frames::pose_frame(seq, MAX_PERSONS, 1_000), 9).unwrap();
        slowest = slowest.max(sent.elapsed());
        seq += 1;
        sleep(Duration::from_millis(1));
    }
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    let mut heard = 0;
    let ended = loop {
        match stalled.read() {
            Ok(Message::Text(_)) => heard += 1,
            other => break other,
        }
        assert!(began.elapsed() < SOON, "it is still fed");
    };
    assert!(ended.is_err() && heard > 0, "{heard} messages, then {ended:?}");
    // And its place is free again.
    let mut back = program(&web);
    until_heard(&mut web, seq, || has_come(&mut back));
}
