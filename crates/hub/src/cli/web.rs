//! A view of the room for browsers: the page, the moments as a WebSocket's lines, and where the cameras stand. [`page_server`] serves it, as the
//! tracker's own pages.

use std::net::SocketAddr;

use anyhow::Result;
use axum::Router;
use axum::extract::State;
use axum::extract::ws::Utf8Bytes;
use axum::response::Response;
use axum::routing::get;
use page_server::{CSS, JSON, SCRIPT, Server, SessionRequest, page, typed};
use tokio::sync::watch;

const HTML: &str = include_str!("web/index.html");
const STYLE: &str = include_str!("web/page.css");

/// The newest of each, for all who look.
pub struct Web {
    lines: watch::Sender<Utf8Bytes>,
    cameras: watch::Sender<String>,
    tells: watch::Sender<bool>,
    /// Dropped, it ends the page.
    _server: Server,
}

#[derive(Clone)]
struct Served {
    lines: watch::Receiver<Utf8Bytes>,
    cameras: watch::Receiver<String>,
    tells: watch::Receiver<bool>,
}

impl Web {
    /// Listens at `address`; a thread of its own serves. Also gives the link that a browser opens.
    pub fn start(address: SocketAddr, cameras: String) -> Result<(Self, String)> {
        let (lines, line) = watch::channel(Utf8Bytes::default());
        let (cameras, camera) = watch::channel(cameras);
        let (tells, told) = watch::channel(true);
        let paths = paths(Served { lines: line, cameras: camera, tells: told });
        let server = Server::open(address, paths, "there are /, /lines, /cameras and /tells\n")?;
        if let Some(warning) = server.warning("who is where in the room") {
            log::warn!("{warning}");
        }
        let link = server.link().to_owned();
        Ok((Self { lines, cameras, tells, _server: server }, link))
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
    Router::new()
        .route("/", get(async || page(HTML)))
        .route("/page.css", get(async || typed(CSS, STYLE)))
        .route("/page.js", get(async || typed(SCRIPT, script())))
        .route("/cameras", get(cameras))
        .route("/tells", get(tells))
        .route("/lines", get(lines))
        .with_state(served)
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
    typed(JSON, text)
}

/// `true`; `false` where another hub of the room tells, so that no line comes.
async fn tells(State(served): State<Served>) -> Response {
    let tells = *served.tells.borrow();
    typed(JSON, tells.to_string())
}

/// Whoever looks has nothing to say.
async fn lines(State(served): State<Served>, request: SessionRequest) -> Response {
    request.accept(|session| session.send_newest(served.lines, |_| false))
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
    fn the_page_is_whole_and_for_this_machine_alone() {
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
        until(&mut ask(&address, "/x", &address, ""), "there are /, /lines");
    }

    #[test]
    fn moments_go_to_who_looks() {
        let (web, address) = started();
        let mut stream = ask(&address, "/lines", &address, UPGRADE);
        until(&mut stream, "101 Switching");
        // The page waits for news from when its socket is open, which is after the answer: told until it has come.
        stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let heard = (0..500).any(|k| {
            web.tell(&format!("{{\"seq\": {k}}}\n"));
            let mut some = [0; 4096];
            stream.read(&mut some).is_ok_and(|n| String::from_utf8_lossy(&some[..n]).contains("\"seq\""))
        });
        assert!(heard);
    }
}
