//! A view of the room for browsers: the page, the moments as a WebSocket's lines, and where the cameras stand. Who may come in, and how many,
//! [`door`] says, as of the tracker's own pages.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use axum::extract::{State, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use door::{Guard, MAX_CLIENTS, guarded, page, typed};
use tokio::sync::{Semaphore, watch};

const HTML: &str = include_str!("web/index.html");
const STYLE: &str = include_str!("web/page.css");

/// What somebody who looks may say.
const MAX_SAID_BYTES: usize = 1024;

/// The newest of each, for all who look.
pub struct Web {
    lines: watch::Sender<Utf8Bytes>,
    cameras: watch::Sender<String>,
    tells: watch::Sender<bool>,
    /// Dropped, it ends the page.
    _is_over: watch::Sender<bool>,
}

#[derive(Clone)]
struct Served {
    lines: watch::Receiver<Utf8Bytes>,
    cameras: watch::Receiver<String>,
    tells: watch::Receiver<bool>,
    guard: Arc<Guard>,
    /// Places of those who stay.
    places: Arc<Semaphore>,
}

impl Web {
    /// Listens at `address`; a thread of its own serves. Also gives the link that a browser opens.
    pub fn start(address: SocketAddr, cameras: String) -> Result<(Self, String)> {
        let listener = TcpListener::bind(address).with_context(|| {
            format!("--web {address}: another program has the port, or this machine no such address")
        })?;
        listener.set_nonblocking(true)?;
        let guard = Guard::of(listener.local_addr()?).context("--web: no token")?;
        let link = guard.link();
        let (lines, line) = watch::channel(Utf8Bytes::default());
        let (cameras, camera) = watch::channel(cameras);
        let (tells, told) = watch::channel(true);
        let (is_over, over) = watch::channel(false);
        let places = Arc::new(Semaphore::new(MAX_CLIENTS));
        let served = Served { lines: line, cameras: camera, tells: told, guard: Arc::new(guard), places };
        let paths = paths(served);
        std::thread::Builder::new().name("web".into()).spawn(move || door::run(listener, over, paths))?;
        Ok((Self { lines, cameras, tells, _is_over: is_over }, link))
    }

    /// The newest moment.
    pub fn tell(&self, line: &str) {
        self.lines.send_replace(line.trim_end().into());
    }

    /// Whether this hub tells, or another hub of the room does.
    pub fn look(&self, tells: bool) {
        self.tells.send_if_modified(|before| std::mem::replace(before, tells) != tells);
    }

    /// Cameras stand elsewhere now.
    pub fn place(&self, cameras: String) {
        self.cameras.send_replace(cameras);
    }
}

fn paths(served: Served) -> Router {
    let guard = served.guard.clone();
    let paths = Router::new()
        .route("/", get(async |State(served): State<Served>| page(HTML, &served.guard)))
        .route("/page.css", get(async || typed("text/css; charset=utf-8", STYLE)))
        .route("/page.js", get(async || typed("text/javascript; charset=utf-8", script())))
        .route("/cameras", get(cameras))
        .route("/tells", get(tells))
        .route("/lines", get(lines))
        .with_state(served);
    guarded(paths, guard, "there are /, /lines, /cameras and /tells\n")
}

/// Bones and colours as everywhere, then the page's own.
fn script() -> String {
    let bones = pose::BONES.map(|(a, b)| [a as usize, b as usize]);
    let colours: Vec<String> = (0..pose_draw::PALETTE as u32)
        .map(|id| format!("#{}", pose_draw::colour_of(id).map(|c| format!("{c:02x}")).concat()))
        .collect();
    let constants = format!("\"use strict\";\nconst BONES = {bones:?};\nconst COLOURS = {colours:?};\n");
    constants + include_str!("web/page.js")
}

async fn cameras(State(served): State<Served>) -> Response {
    let text = served.cameras.borrow().clone();
    typed("application/json", text)
}

/// `true`; `false` where another hub of the room tells, so that no line comes.
async fn tells(State(served): State<Served>) -> Response {
    let tells = *served.tells.borrow();
    typed("application/json", tells.to_string())
}

async fn lines(State(served): State<Served>, upgrade: WebSocketUpgrade) -> Response {
    let Ok(place) = served.places.clone().try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many viewers\n").into_response();
    };
    upgrade.max_message_size(MAX_SAID_BYTES).max_frame_size(MAX_SAID_BYTES).on_upgrade(async move |socket| {
        send(socket, served.lines).await;
        drop(place);
    })
}

/// Each newest line once the one before was taken.
async fn send(mut socket: WebSocket, mut lines: watch::Receiver<Utf8Bytes>) {
    lines.mark_unchanged();
    loop {
        let line = tokio::select! {
            said = socket.recv() => match said {
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                _ => return,
            },
            changed = lines.changed() => {
                if changed.is_err() {
                    return;
                }
                lines.borrow_and_update().clone()
            }
        };
        if socket.send(Message::Text(line)).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Duration;

    use super::*;

    const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                           Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

    fn started() -> (Web, String) {
        let (web, link) = Web::start(([127, 0, 0, 1], 0).into(), "[\"cameras\"]".into()).unwrap();
        (web, link.strip_prefix("http://").unwrap().trim_end_matches('/').to_owned())
    }

    /// A request of `host`, sent to `address`.
    fn ask(address: &str, path: &str, host: &str, more: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n").unwrap();
        stream
    }

    /// What comes until `text` has come.
    fn until(stream: &mut TcpStream, text: &str) -> String {
        let mut come = Vec::new();
        while !String::from_utf8_lossy(&come).contains(text) {
            let mut some = [0; 4096];
            let n = stream.read(&mut some).unwrap();
            assert!(n > 0, "{text:?} did not come: {}", String::from_utf8_lossy(&come));
            come.extend_from_slice(&some[..n]);
        }
        String::from_utf8_lossy(&come).into_owned()
    }

    #[test]
    fn the_page_is_for_this_machine_and_its_own_scripts_alone() {
        let (web, address) = started();
        let page = until(&mut ask(&address, "/", &address, ""), "</script>");
        assert!(page.starts_with("HTTP/1.1 200") && page.contains("default-src 'none'"), "{page}");
        let script = until(&mut ask(&address, "/page.js", &address, ""), "WebSocket");
        assert!(script.contains("const BONES = [["), "{script}");
        until(&mut ask(&address, "/cameras", &address, ""), "[\"cameras\"]");
        until(&mut ask(&address, "/tells", &address, ""), "\r\n\r\ntrue");
        web.look(false);
        until(&mut ask(&address, "/tells", &address, ""), "\r\n\r\nfalse");
        until(&mut ask(&address, "/", "evil.example", ""), "this machine only");
        let elsewhere = format!("Origin: http://evil.example\r\n{UPGRADE}");
        until(&mut ask(&address, "/lines", &address, &elsewhere), "HTTP/1.1 403");
    }

    #[test]
    fn moments_go_to_as_many_as_have_a_place() {
        let (web, address) = started();
        let mut all: Vec<TcpStream> =
            (0..MAX_CLIENTS).map(|_| ask(&address, "/lines", &address, UPGRADE)).collect();
        for stream in &mut all {
            until(stream, "101 Switching");
        }
        until(&mut ask(&address, "/lines", &address, UPGRADE), "too many viewers");
        // The page waits for news from when its socket is open, which is after the answer: told until it has come.
        for stream in &mut all {
            stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
            let heard = (0..500).any(|k| {
                web.tell(&format!("{{\"seq\": {k}}}\n"));
                let mut some = [0; 4096];
                stream.read(&mut some).is_ok_and(|n| String::from_utf8_lossy(&some[..n]).contains("\"seq\""))
            });
            assert!(heard);
        }
    }
}
