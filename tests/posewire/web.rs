//! The preview as its clients see it: what is served, who is let in, and what slow or silent ones cost.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use pose::{MAX_PERSONS, PoseFrame};
use posewire::output::display::PictureTap;
use posewire::output::web::{MAX_CLIENTS, Web, WebOptions};
use posewire::output::{Host, PoseSink, Predict, StageTimes, Vitals};
use posewire::picture::{Frame, PixelFormat};
use tungstenite::{Message, WebSocket};

mod drawing;
mod lines;

/// Longer than anything here takes on a busy machine.
const SOON: Duration = Duration::from_secs(20);

fn nobody(seq: u64) -> PoseFrame {
    PoseFrame {
        seq,
        frame: seq,
        captured_at_us: 1,
        width: 320,
        height: 240,
        persons: [None; MAX_PERSONS],
        floor: None,
    }
}

fn web() -> Web {
    of(WebOptions::default())
}

fn of(options: WebOptions) -> Web {
    Web::open("127.0.0.1:0", WebOptions { predict: Predict::Capture, ..options }).unwrap()
}

fn connect(web: &Web, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", web.address().port())).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

fn answer(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    // A refusal may be followed by a reset: what was not read of the request.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn ask(web: &Web, request: &str) -> String {
    answer(connect(web, request))
}

fn get(web: &Web, path: &str, headers: &str) -> String {
    ask(web, &format!("GET {path} HTTP/1.1\r\n{headers}\r\n"))
}

fn page(web: &Web) -> WebSocket<TcpStream> {
    let stream = connect(web, "");
    let (socket, _) =
        tungstenite::client(format!("ws://localhost:{}/live", web.address().port()), stream).unwrap();
    socket
}

/// Sends frames from number `from` on until one arrives; a page is only sent what is newer than itself.
fn until_heard(web: &mut Web, from: u64, mut is_heard: impl FnMut() -> bool) -> u64 {
    let began = Instant::now();
    for seq in from.. {
        web.send(&nobody(seq), 9).unwrap();
        if is_heard() {
            return seq;
        }
        assert!(began.elapsed() < SOON, "nothing arrives");
        sleep(Duration::from_millis(10));
    }
    unreachable!("the loop has no end")
}

/// The next binary message's text, and its picture.
fn frame_of(socket: &mut WebSocket<TcpStream>) -> (serde_json::Value, Vec<u8>) {
    loop {
        if let Message::Binary(bytes) = socket.read().unwrap() {
            let (length, rest) = bytes.split_first_chunk().unwrap();
            let (text, picture) = rest.split_at(u32::from_le_bytes(*length) as usize);
            return (serde_json::from_slice(text).unwrap(), picture.to_vec());
        }
    }
}

/// Reads without waiting whether anything has come.
fn has_come(socket: &mut WebSocket<TcpStream>) -> bool {
    socket.get_ref().set_nonblocking(true).unwrap();
    let come = match socket.get_ref().peek(&mut [0]) {
        Ok(n) => n > 0,
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::WouldBlock, "{e}");
            false
        }
    };
    socket.get_ref().set_nonblocking(false).unwrap();
    come
}

#[test]
fn the_page_is_whole_and_asks_nobody_else() {
    let web = web();
    let host = "Host: localhost:99\r\n";
    let index = get(&web, "/", host);
    assert!(index.starts_with("HTTP/1.1 200 OK\r\n"), "{index}");
    assert!(index.to_lowercase().contains("content-security-policy: default-src 'none'"), "{index}");
    let script = get(&web, "/page.js", host);
    assert!(
        script.contains("const BONES = [[3, 1], [1, 0]") && script.contains("const SHOWS_PICTURES = false;")
    );
    assert!(script.contains(r##"const COLOURS = ["#f0e442", "#56b4e9""##), "the colours of every output");
    let style = get(&web, "/page.css", host);
    assert!(style.contains("text/css"));
    for part in [&index, &script, &style] {
        assert!(!part.contains("http://") && !part.contains("https://") && !part.contains("//cdn"), "{part}");
    }

    // Who asks, and what for, the server of all pages looks at: its own tests show how.
    let none = get(&web, "/x", host);
    assert!(none.starts_with("HTTP/1.1 404") && none.contains("/lines and /poses"), "{none}");
    for path in ["/", "/live", "/lines", "/poses"] {
        assert!(get(&web, path, "Host: evil.example\r\n").starts_with("HTTP/1.1 403"), "{path}");
    }
}

#[test]
fn a_page_gets_the_newest_frame_and_the_next_one_once_it_has_taken_that() {
    let mut web = web();
    let mut socket = page(&web);
    until_heard(&mut web, 0, || has_come(&mut socket));
    let (first, picture) = frame_of(&mut socket);
    assert_eq!(first["size"], serde_json::json!([320, 240]));
    assert_eq!((&first["line"]["emitted_us"], picture.len()), (&9.into(), 0));
    for seq in 1_000..1_100 {
        web.send(&nobody(seq), 9).unwrap();
    }
    sleep(Duration::from_millis(200));
    assert!(!has_come(&mut socket), "the page has not taken the first");
    socket.send(Message::text("taken")).unwrap();
    assert_eq!(frame_of(&mut socket).0["line"]["seq"], 1_099, "the newest wins");
    web.finish(Duration::ZERO).unwrap();
    let end = socket.read();
    assert!(matches!(end, Ok(Message::Close(_))), "cut off: {end:?}");
}

#[test]
fn pictures_go_only_where_they_were_asked_for() {
    let tap = PictureTap::default();
    let jpeg = Arc::new(vec![0xff, 0xd8, 1, 2, 3]);
    let frame = |seq| Frame {
        bytes: jpeg.clone(),
        format: PixelFormat::Mjpeg,
        width: 320,
        height: 240,
        stride: 0,
        seq,
        captured_at_us: 0,
    };
    let mut web = of(WebOptions { pictures: Some(tap.clone()), ..WebOptions::default() });
    assert!(get(&web, "/page.js", "Host: localhost\r\n").contains("const SHOWS_PICTURES = true;"));
    let mut socket = page(&web);
    tap.put(&frame(7));
    let seq = until_heard(&mut web, 0, || has_come(&mut socket));
    let (text, picture) = frame_of(&mut socket);
    // The one picture there is belongs to frame 7.
    assert_eq!(picture, if text["line"]["frame"] == 7 { jpeg.to_vec() } else { Vec::new() });
    socket.send(Message::text("taken")).unwrap();
    let mut next = seq + 1;
    tap.put(&frame(next));
    until_heard(&mut web, next, || {
        has_come(&mut socket) || {
            next += 1;
            tap.put(&frame(next));
            false
        }
    });
    assert_eq!(frame_of(&mut socket).1, *jpeg, "the camera's own bytes");
}

/// A tracker of which everything is known.
#[derive(Default)]
struct Known(AtomicU32);

impl Host for Known {
    fn vitals(&self) -> Vitals {
        Vitals { frame_rate_hz: 29.5, ..Vitals::default() }
    }
    fn stages(&self) -> Vec<StageTimes> {
        vec![StageTimes { name: "network", p50_us: 1, p99_us: 2 }]
    }
    fn reset(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_page_hears_how_the_tracker_is_though_no_frame_comes_and_may_have_it_forget() {
    let host = Arc::new(Known::default());
    let mut web = of(WebOptions { host: Some(host.clone()), ..WebOptions::default() });
    let mut socket = page(&web);
    let began = Instant::now();
    for i in 0.. {
        web.idle(i * 2_000_000).unwrap();
        if has_come(&mut socket) {
            break;
        }
        assert!(began.elapsed() < SOON);
        sleep(Duration::from_millis(10));
    }
    let Message::Text(text) = socket.read().unwrap() else { panic!("no text") };
    let told: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&told["fps"], &told["stages_us"][0][0]), (&29.5.into(), &"network".into()));
    socket.send(Message::text("reset")).unwrap();
    while host.0.load(Ordering::Relaxed) == 0 {
        assert!(began.elapsed() < SOON);
        sleep(Duration::from_millis(10));
    }
    // Whatever else a page says, or too much of it, ends its connection and nothing else.
    socket.send(Message::text("x".repeat(1 << 16))).unwrap();
    while socket.read().is_ok() {}
    assert!(get(&web, "/", "Host: localhost\r\n").starts_with("HTTP/1.1 200"));
}

#[test]
fn pages_that_take_nothing_are_let_go_while_others_go_on() {
    let mut web = web();
    // They never say that they have taken anything, and never read.
    let stalled: Vec<_> = (0..MAX_CLIENTS).map(|_| page(&web)).collect();
    let began = Instant::now();
    let mut seq = 0;
    let mut socket = loop {
        web.send(&nobody(seq), 9).unwrap();
        seq += 1;
        let stream = connect(&web, "");
        match tungstenite::client(format!("ws://localhost:{}/live", web.address().port()), stream) {
            Ok((socket, _)) => break socket,
            Err(full) => assert!(began.elapsed() < SOON, "{full}"),
        }
        sleep(Duration::from_millis(50));
    };
    assert!(began.elapsed() > Duration::from_secs(2), "all places were taken at first");
    until_heard(&mut web, seq, || has_come(&mut socket));
    drop(stalled);
}

/// Kilobytes that this process holds.
#[cfg(target_os = "linux")]
fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// An hour at 30 a second, as fast as they go, to a page that takes them, one that does not, a program and a reader of events.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "run in a process of its own, whose memory is measured, by the test after it"]
fn an_hour_of_frames() {
    const FRAMES: u64 = 108_000;
    let tap = PictureTap::default();
    let mut web = of(WebOptions { pictures: Some(tap.clone()), ..WebOptions::default() });
    let mut takes = page(&web);
    let _stalled = page(&web);
    let mut reads = program(&web);
    let mut events = connect(&web, "GET /poses HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let taken = Arc::new(AtomicU32::new(0));
    let count = taken.clone();
    std::thread::spawn(move || {
        while let Ok(message) = takes.read() {
            if matches!(message, Message::Binary(_)) {
                count.fetch_add(1, Ordering::Relaxed);
                if takes.send(Message::text("taken")).is_err() {
                    break;
                }
            }
        }
    });
    std::thread::spawn(move || while reads.read().is_ok() {});
    std::thread::spawn(move || while events.read(&mut [0; 1 << 16]).is_ok_and(|n| n > 0) {});
    let picture = Frame {
        bytes: Arc::new(vec![0xd8; 40_000]),
        format: PixelFormat::Mjpeg,
        width: 320,
        height: 240,
        stride: 0,
        seq: 0,
        captured_at_us: 0,
    };
    let mut after_warm_up = 0;
    for seq in 0..FRAMES {
        let at_us = 33_333 * seq as i64;
        tap.put(&Frame { seq, captured_at_us: at_us, ..picture.clone() });
        web.send(&crate::frames::pose_frame(seq, 1 + (seq / 900 % 3) as usize, at_us), at_us).unwrap();
        if seq == FRAMES / 20 {
            after_warm_up = resident_kb();
        }
        // The server's thread must get its turn where there is one processor.
        if seq % 64 == 0 {
            std::thread::yield_now();
        }
    }
    let grown = resident_kb() as i64 - after_warm_up as i64;
    let taken = taken.load(Ordering::Relaxed);
    println!(
        "an hour of frames: {after_warm_up} KB after 3 minutes, {grown:+} KB at the end; a page took {taken}"
    );
    assert!(taken > 100, "a page took {taken} frames");
    assert!(grown < 4_096, "{grown} KB more at the end of an hour");
}

#[cfg(target_os = "linux")]
#[test]
fn an_hour_of_frames_costs_no_memory() {
    // Others' tests would be measured too.
    let itself = std::env::current_exe().unwrap();
    let out = std::process::Command::new(itself)
        .args(["web::an_hour_of_frames", "--exact", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&out.stdout);
    assert!(
        out.status.success() && told.contains("1 passed"),
        "{told}{}",
        String::from_utf8_lossy(&out.stderr)
    );
    println!("{told}");
}

fn program(web: &Web) -> WebSocket<TcpStream> {
    let stream = connect(web, "");
    tungstenite::client(format!("ws://localhost:{}/lines", web.address().port()), stream).unwrap().0
}
