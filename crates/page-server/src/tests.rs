//! A server as browsers, programs and unwelcome clients see it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::extract::ws::Utf8Bytes;
use axum::response::Response;
use axum::routing::get;
use tokio::sync::watch;
use tungstenite::{Message, WebSocket};

use crate::{CSS, MAX_CLIENTS, ServeError, Server, SessionRequest, page, typed};

/// Longer than anything here takes on a busy machine.
const SOON: Duration = Duration::from_secs(20);

const HOST: &str = "Host: localhost:99\r\n";

/// A page with a style sheet, and a WebSocket of lines to which one word may be said.
fn served(address: &str) -> (Server, watch::Sender<Utf8Bytes>) {
    let (lines, newest) = watch::channel(Utf8Bytes::default());
    let paths = Router::new()
        .route("/", get(async || page("<p>here</p>")))
        .route("/page.css", get(async || typed(CSS, "p {}")))
        .route("/lines", get(told))
        .with_state(newest);
    (Server::open(address, paths, "there are / and /lines\n").unwrap(), lines)
}

async fn told(State(newest): State<watch::Receiver<Utf8Bytes>>, request: SessionRequest) -> Response {
    request.accept(|session| session.send_newest(newest, |word| word == "go on"))
}

fn connect(server: &Server, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", server.address().port())).unwrap();
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

fn ask(server: &Server, path: &str, headers: &str) -> String {
    answer(connect(server, &format!("GET {path} HTTP/1.1\r\n{headers}\r\n")))
}

/// A WebSocket, or what is answered where no slot is free.
fn open_session(server: &Server) -> Result<WebSocket<TcpStream>, String> {
    let address = format!("ws://localhost:{}/lines", server.address().port());
    tungstenite::client(address, connect(server, "")).map(|(socket, _)| socket).map_err(|e| e.to_string())
}

/// What the client gets first of numbers that are told until then: it listens from some moment after the answer on.
fn first_heard(socket: &mut WebSocket<TcpStream>, lines: &watch::Sender<Utf8Bytes>) -> u64 {
    socket.get_ref().set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let began = Instant::now();
    let heard = (0..).find_map(|number: u64| {
        assert!(began.elapsed() < SOON, "nothing comes");
        lines.send_replace(number.to_string().into());
        match socket.read() {
            Ok(Message::Text(text)) => Some(text.parse().unwrap()),
            _ => None,
        }
    });
    socket.get_ref().set_read_timeout(Some(SOON)).unwrap();
    heard.unwrap()
}

/// The last of what comes: lines before it are passed over.
fn end_of(socket: &mut WebSocket<TcpStream>) -> tungstenite::Result<Message> {
    loop {
        match socket.read() {
            Ok(Message::Text(_)) => {}
            other => return other,
        }
    }
}

#[test]
fn what_is_served_is_for_this_machine_and_all_else_is_refused() {
    let (server, _lines) = served("127.0.0.1:0");
    let index = ask(&server, "/", HOST);
    assert!(index.starts_with("HTTP/1.1 200 OK\r\n") && index.ends_with("<p>here</p>"), "{index}");
    for header in [
        "content-type: text/html; charset=utf-8",
        "content-security-policy: default-src 'none'",
        "cache-control: no-store",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "connection: close",
    ] {
        assert!(index.to_lowercase().contains(&format!("\r\n{header}")), "{header}: {index}");
    }
    assert!(ask(&server, "/page.css", HOST).contains("\r\ncontent-type: text/css"));

    let elsewhere = "Host: localhost\r\nOrigin: http://evil.example\r\n";
    for (path, headers, status) in [
        ("/x", HOST, 404),
        ("/../../etc/passwd", HOST, 404),
        ("/%2e%2e/etc/passwd", HOST, 404),
        ("/lines", HOST, 400),
        ("/", "Host: evil.example\r\n", 403),
        ("/lines", "Host: 10.0.0.1\r\n", 403),
        ("/x", "", 403),
        ("/lines", elsewhere, 403),
    ] {
        let told = ask(&server, path, headers);
        assert!(told.starts_with(&format!("HTTP/1.1 {status} ")), "{path} with {headers:?}: {told}");
    }
    assert!(ask(&server, "/x", HOST).ends_with("there are / and /lines\n"));
    let post = answer(connect(&server, "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"));
    assert!(post.starts_with("HTTP/1.1 405"), "{post}");
    assert!(answer(connect(&server, "\0\0\r\n\r\n")).starts_with("HTTP/1.1 400"));
    let long = format!("GET / HTTP/1.1\r\n{HOST}X: {}\r\n\r\n", "a".repeat(1 << 20));
    let told = {
        let mut stream = connect(&server, "");
        // Refused before all of it is taken.
        let _ = stream.write_all(long.as_bytes());
        answer(stream)
    };
    assert!(told.is_empty() || told.starts_with("HTTP/1.1 431"), "{told}");
}

#[test]
fn another_address_asks_every_request_for_the_token_of_the_link() {
    let (server, _lines) = served("0.0.0.0:0");
    let query = server.link().split_once("/?").unwrap().1;
    let host = "Host: 192.0.2.7:8080\r\n";
    for path in ["/", "/page.css", "/lines", "/x", "/?token=", "/?token=0123"] {
        assert!(ask(&server, path, host).starts_with("HTTP/1.1 403"), "{path}");
    }
    let index = ask(&server, &format!("/?{query}"), host);
    assert!(index.starts_with("HTTP/1.1 200 OK\r\n"), "{index}");
    let cookie = index.lines().find_map(|l| l.strip_prefix("set-cookie: ")).unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let style =
        ask(&server, "/page.css", &format!("{host}Cookie: {}\r\n", cookie.split(';').next().unwrap()));
    assert!(style.starts_with("HTTP/1.1 200") && !style.contains("set-cookie"), "{style}");
    assert!(server.warning("all").unwrap().contains("sees all, over an unencrypted line"));
    assert_eq!(served("127.0.0.1:0").0.warning("all"), None);
}

#[test]
fn idle_and_slow_connections_do_not_shut_others_out() {
    let (server, _lines) = served("127.0.0.1:0");
    let mut slow: Vec<TcpStream> =
        (0..200).map(|i| connect(&server, if i % 4 == 0 { "GET / HTTP/1.1\r\nX: " } else { "" })).collect();
    let began = Instant::now();
    loop {
        for stream in slow.iter_mut().step_by(4) {
            // Fails once it is let go.
            let _ = stream.write_all(b"a");
        }
        let told = ask(&server, "/", "Host: localhost\r\n");
        if told.starts_with("HTTP/1.1 200 OK\r\n") {
            break;
        }
        assert!(began.elapsed() < SOON, "{told}");
        sleep(Duration::from_millis(100));
    }
}

#[test]
fn those_who_stay_have_a_place_each_and_the_newest_line_until_they_say_what_is_no_word() {
    let (server, lines) = served("127.0.0.1:0");
    lines.send_replace("99".into());
    let mut all: Vec<_> = (0..MAX_CLIENTS).map(|_| open_session(&server).unwrap()).collect();
    let refused = open_session(&server).unwrap_err();
    assert!(refused.contains("503"), "{refused}");
    assert!(ask(&server, "/", HOST).starts_with("HTTP/1.1 200"), "a short request needs no slot");
    for socket in &mut all {
        assert_ne!(first_heard(socket, &lines), 99, "what was told before anybody listened is old");
    }

    let mut first = all.remove(0);
    first.send(Message::text("go on")).unwrap();
    lines.send_replace("1000".into());
    while first.read().unwrap() != Message::text("1000") {}
    for said in ["x".to_owned(), "x".repeat(1 << 16)] {
        first.send(Message::text(said)).unwrap();
        assert!(!matches!(end_of(&mut first), Ok(Message::Text(_))));
        let began = Instant::now();
        first = loop {
            match open_session(&server) {
                Ok(socket) => break socket,
                Err(full) => assert!(began.elapsed() < SOON, "its slot is not free again: {full}"),
            }
        };
    }
}

#[test]
fn the_end_is_told_to_those_who_stay() {
    // Several times: whether the end overtakes the word is chance.
    for _ in 0..5 {
        let (mut server, lines) = served("127.0.0.1:0");
        let mut all: Vec<_> = (1..MAX_CLIENTS).map(|_| open_session(&server).unwrap()).collect();
        for socket in &mut all {
            first_heard(socket, &lines);
        }
        let _idle = connect(&server, "");
        server.end();
        for mut socket in all {
            let end = end_of(&mut socket);
            assert!(matches!(end, Ok(Message::Close(_))), "cut off: {end:?}");
        }
        assert!(TcpStream::connect(server.address()).is_err(), "it listens no longer");
    }
}

#[test]
fn an_address_that_cannot_be_listened_on_is_refused_with_what_to_do() {
    let (server, _lines) = served("127.0.0.1:0");
    for address in [&*server.address().to_string(), "192.0.2.7:8080", "nonsense"] {
        let error = Server::open(address, Router::new(), "").unwrap_err();
        let said = error.to_string();
        assert!(matches!(error, ServeError::Listen { .. }), "{said}");
        assert!(said.starts_with(&format!("--web {address}: ")) && said.contains("a free port"), "{said}");
        assert!(std::error::Error::source(&error).is_none(), "its reason would be said twice");
    }
}

/// The kernel's word for the timer of the other end of `socket`: `02`, it is asked now and then whether it is still there.
#[cfg(target_os = "linux")]
fn timer_of_the_other_end(socket: &TcpStream) -> Option<String> {
    let port = |address: std::io::Result<std::net::SocketAddr>| format!(":{:04X}", address.unwrap().port());
    let (own, other) = (port(socket.local_addr()), port(socket.peer_addr()));
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    table.lines().find_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let is_it = words.len() > 5 && words[1].ends_with(&other) && words[2].ends_with(&own);
        is_it.then(|| words[5][..2].to_owned())
    })
}

#[cfg(target_os = "linux")]
#[test]
fn who_goes_without_a_word_is_asked_after() {
    let (server, _lines) = served("127.0.0.1:0");
    let socket = open_session(&server).unwrap();
    let began = Instant::now();
    // At first what was answered is on its way.
    while timer_of_the_other_end(socket.get_ref()).as_deref() != Some("02") {
        assert!(began.elapsed() < SOON, "{:?}", timer_of_the_other_end(socket.get_ref()));
        sleep(Duration::from_millis(10));
    }
}
