//! What stands before everything that is served: connections let in up to a number, each bounded in time, and every request
//! asked who sends it. Of the tracker's pages and the hub's.

#![forbid(unsafe_code)]

mod guard;
mod patience;
mod reached;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

pub use self::guard::{Guard, Stranger};
pub use self::patience::PATIENCE;
use self::patience::Patient;

/// A page for a few people: connections that stay, as a WebSocket does. Who serves them counts them.
pub const MAX_CLIENTS: usize = 10;

/// Connections beside the [`MAX_CLIENTS`] that stay: a page asks for its parts by several at once.
const MAX_BRIEF: usize = 24;

/// Browsers send about 1 KiB.
const MAX_HEAD_BYTES: usize = 8 * 1024;

/// What nothing of a page may reach: other hosts, other pages, inline scripts.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      media-src blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// Answers by `paths` until `is_over`.
pub fn run(listener: TcpListener, is_over: watch::Receiver<bool>, paths: Router) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    match runtime {
        Ok(runtime) => runtime.block_on(listen(listener, is_over, paths)),
        Err(error) => log::error!("the page cannot be served: {error}"),
    }
}

async fn listen(listener: TcpListener, mut is_over: watch::Receiver<bool>, paths: Router) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return log::error!("the page cannot be served: {error}"),
    };
    let connections = Arc::new(Semaphore::new(MAX_CLIENTS + MAX_BRIEF));
    loop {
        let accepted = tokio::select! {
            _ = is_over.wait_for(|over| *over) => return,
            accepted = listener.accept() => accepted,
        };
        match (accepted, connections.clone().try_acquire_owned()) {
            (Ok((stream, _)), Ok(place)) => {
                tokio::spawn(serve(stream, paths.clone(), place));
            }
            // Enough are there: closed at once, so that what waits in line costs nothing.
            (Ok(_), Err(_)) => {}
            // File descriptors may have run out: that passes.
            (Err(_), _) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// One request a connection, its head within [`PATIENCE`].
async fn serve(stream: TcpStream, paths: Router, place: OwnedSemaphorePermit) {
    // Poses are small and late ones worth nothing.
    let _ = stream.set_nodelay(true);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(Patient::new(stream)), TowerToHyperService::new(paths))
        .with_upgrades();
    // A connection that breaks is the normal end of one.
    let _ = connection.await;
    drop(place);
}

/// `paths`, whatever is asked for, behind `guard`; `told` names them to who asks for another.
pub fn guarded(paths: Router, guard: Arc<Guard>, told: &'static str) -> Router {
    paths
        .fallback(move || async move { (StatusCode::NOT_FOUND, told) })
        .method_not_allowed_fallback(|| async { (StatusCode::METHOD_NOT_ALLOWED, "GET only\n") })
        .layer(middleware::from_fn_with_state(guard, admitted))
}

/// Every request passes here.
async fn admitted(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let mut response = match guard.admit(request.uri(), request.headers()) {
        Ok(()) => match timeout(PATIENCE, next.run(request)).await {
            Ok(response) => response,
            Err(_) => StatusCode::REQUEST_TIMEOUT.into_response(),
        },
        Err(stranger) => (StatusCode::FORBIDDEN, stranger.told()).into_response(),
    };
    let stays = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // One request a connection; what becomes a WebSocket stays.
    if !stays {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// An answer of a kind.
pub fn typed(kind: &'static str, body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, kind)], body.into()).into_response()
}

/// A page, with the cookie that lets its later requests in.
pub fn page(html: &'static str, guard: &Guard) -> Response {
    let mut response = typed("text/html; charset=utf-8", html);
    if let Some(Ok(cookie)) = guard.cookie().map(HeaderValue::try_from) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
