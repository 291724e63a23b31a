//! A view of the room for browsers: the page, the moments as a WebSocket's lines, and where the cameras stand.
//!
//! On the loopback for this machine alone (a page from elsewhere is refused, by the name it asks for); on another address for those who have
//! the link with its token, new with every start.

use std::net::{SocketAddr, TcpListener};

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use axum::extract::{Request, State, WebSocketUpgrade};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::sync::watch;

/// What nothing of the page may reach: other hosts, other pages, inline scripts.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
const HTML: &str = include_str!("web/index.html");
const STYLE: &str = include_str!("web/page.css");

/// The newest of each, for all who look.
pub struct Web {
    lines: watch::Sender<Utf8Bytes>,
    cameras: watch::Sender<String>,
}

#[derive(Clone)]
struct Served {
    lines: watch::Receiver<Utf8Bytes>,
    cameras: watch::Receiver<String>,
    /// Hexadecimal; `None` on the loopback.
    token: Option<String>,
}

impl Web {
    /// Listens at `address`; a thread of its own serves.
    pub fn start(address: SocketAddr, cameras: String) -> Result<Self> {
        let listener = TcpListener::bind(address).with_context(|| {
            format!("--web {address}: another program has the port, or this machine no such address")
        })?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let token = if address.ip().is_loopback() {
            None
        } else {
            let mut random = [0u8; 16];
            getrandom::fill(&mut random).map_err(|e| anyhow::anyhow!("--web: no token: {e}"))?;
            Some(random.map(|byte| format!("{byte:02x}")).concat())
        };
        let link = token.as_ref().map_or(String::new(), |token| format!("?token={token}"));
        let (lines, line) = watch::channel(Utf8Bytes::default());
        let (cameras, camera) = watch::channel(cameras);
        let served = Served { lines: line, cameras: camera, token };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        std::thread::Builder::new().name("web".into()).spawn(move || {
            runtime.block_on(async move {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                if let Err(e) = axum::serve(listener, paths(served)).await {
                    eprintln!("posewire-hub run: --web ended: {e}");
                }
            });
        })?;
        eprintln!("posewire-hub run: the room in a browser: http://{address}/{link}");
        Ok(Self { lines, cameras })
    }

    /// The newest moment.
    pub fn tell(&self, line: &str) {
        self.lines.send_replace(line.trim_end().into());
    }

    /// Cameras stand elsewhere now.
    pub fn place(&self, cameras: String) {
        self.cameras.send_replace(cameras);
    }
}

fn paths(served: Served) -> Router {
    let kind = |kind: &'static str| [(header::CONTENT_TYPE, kind)];
    Router::new()
        .route("/", get(move || async move { (kind("text/html; charset=utf-8"), HTML) }))
        .route("/page.css", get(move || async move { (kind("text/css"), STYLE) }))
        .route("/page.js", get(move || async move { (kind("text/javascript"), script()) }))
        .route("/cameras", get(cameras))
        .route("/lines", get(lines))
        .fallback(|| async { (StatusCode::NOT_FOUND, "there are /, /lines and /cameras\n") })
        .layer(middleware::from_fn_with_state(served.clone(), guarded))
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

/// Every request passes here.
async fn guarded(State(served): State<Served>, request: Request, next: Next) -> Response {
    if let Some(why) = stranger(&served, request.uri(), request.headers()) {
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    let mut response = next.run(request).await;
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        response.headers_mut().insert(name, axum::http::HeaderValue::from_static(value));
    }
    response
}

/// Why a request is refused.
fn stranger(served: &Served, uri: &Uri, headers: &HeaderMap) -> Option<&'static str> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(header::HOST).unwrap_or_default();
    let from_elsewhere = |origin: &str| origin.split_once("://").is_none_or(|(_, from)| from != host);
    if text(header::ORIGIN).is_some_and(from_elsewhere) {
        return Some("this view is opened from its own page only\n");
    }
    let Some(token) = &served.token else {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name).trim_matches(['[', ']']);
        let is_local = name.eq_ignore_ascii_case("localhost")
            || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
        return (!is_local).then_some("this view serves this machine only\n");
    };
    // The page's own parts hold nothing of the room, and a browser asks for them without the link's token.
    if matches!(uri.path(), "/page.css" | "/page.js") {
        return None;
    }
    let given = uri.query().into_iter().flat_map(|q| q.split('&')).filter_map(|p| p.strip_prefix("token="));
    let same = |given: &str| {
        let differences = given.bytes().zip(token.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
        given.len() == token.len() && std::hint::black_box(differences) == 0
    };
    (!given.fold(false, |known, given| known | same(given)))
        .then_some("open the whole link that posewire-hub has printed, with its token\n")
}

async fn cameras(State(served): State<Served>) -> Response {
    let text = served.cameras.borrow().clone();
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

async fn lines(State(served): State<Served>, upgrade: WebSocketUpgrade) -> Response {
    upgrade.max_message_size(1024).on_upgrade(move |socket| send(socket, served.lines))
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
    use super::*;

    #[test]
    fn strangers_are_refused() {
        let served = |token: Option<&str>| Served {
            lines: watch::channel(Utf8Bytes::default()).1,
            cameras: watch::channel(String::new()).1,
            token: token.map(str::to_owned),
        };
        let ask = |token, uri: &str, host: &str, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, origin.parse().unwrap());
            }
            stranger(&served(token), &uri.parse().unwrap(), &headers).is_none()
        };
        assert!(ask(None, "/", "127.0.0.1:8090", None) && ask(None, "/lines", "[::1]:8090", None));
        assert!(ask(None, "/lines", "localhost:8090", Some("http://localhost:8090")));
        assert!(!ask(None, "/", "evil.example:8090", None));
        assert!(!ask(None, "/lines", "localhost:8090", Some("http://evil.example")));
        let token = Some("00ff");
        assert!(ask(token, "/?token=00ff", "192.0.2.7:8090", None));
        assert!(ask(token, "/page.js", "192.0.2.7:8090", None));
        for uri in ["/", "/lines", "/cameras?token=00f", "/lines?token=00ff0"] {
            assert!(!ask(token, uri, "192.0.2.7:8090", None), "{uri}");
        }
    }
}
