//! The server: connections let in up to a number, each bounded in time, and the few paths that there are.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State, WebSocketUpgrade};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use embedded_graphics::prelude::Size;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use pose_draw::Metrics;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::patience::{PATIENCE, Patient};
use super::{MAX_CLIENTS, Shared, live};

/// Connections beside the [`MAX_CLIENTS`] that stay: a page asks for its parts by several at once.
const MAX_BRIEF: usize = 24;

/// Browsers send about 1 KiB.
const MAX_HEAD_BYTES: usize = 8 * 1024;

/// What a page says is a word.
const MAX_SAID_BYTES: usize = 1024;

/// What nothing of a page may reach: other hosts, other pages, inline scripts.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// The parts of the page.
#[derive(Clone)]
pub(super) struct Page {
    html: &'static str,
    style: &'static str,
    script: String,
}

impl Page {
    /// `shows_pictures`: messages carry them.
    pub fn new(shows_pictures: bool) -> Self {
        let bones = pose::BONES.map(|(a, b)| [a as usize, b as usize]);
        let joints = pose::Joint::ALL.map(pose::Joint::name);
        let colours: Vec<String> = (0..pose_draw::PALETTE as u32)
            .map(|id| pose_draw::colour_of(id).map(|c| format!("{c:02x}")).concat())
            .map(|hex| format!("#{hex}"))
            .collect();
        // On a picture of 640×480, as which the page takes every picture's width.
        let Metrics { stroke, joint, dash, .. } = Metrics::for_panel(Size::new(640, 480));
        let constants = format!(
            "\"use strict\";\nconst BONES = {bones:?};\nconst JOINTS = {joints:?};\nconst COLOURS = {colours:?};\n\
             const SIZES = {{\"stroke\": {stroke}, \"joint\": {joint}, \"dash\": {dash}}};\n\
             const UNSURE_SCORE = {};\nconst SHOWS_PICTURES = {shows_pictures};\n",
            pose::UNSURE_SCORE
        );
        let script = constants
            + include_str!("page/draw.js")
            + include_str!("page/charts.js")
            + include_str!("page/page.js");
        Self { html: include_str!("page/index.html"), style: include_str!("page/page.css"), script }
    }
}

/// What requests are answered from.
#[derive(Clone)]
struct Served {
    shared: Arc<Shared>,
    page: Page,
    /// Places of connections that stay.
    places: Arc<Semaphore>,
}

/// Answers until the sink is over.
pub(super) fn run(listener: TcpListener, shared: Arc<Shared>, page: &Page) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    match runtime {
        Ok(runtime) => runtime.block_on(listen(listener, shared, page)),
        Err(error) => log::error!("web preview: cannot be served: {error}"),
    }
}

async fn listen(listener: TcpListener, shared: Arc<Shared>, page: &Page) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return log::error!("web preview: cannot be served: {error}"),
    };
    let mut is_over = shared.is_over.subscribe();
    let connections = Arc::new(Semaphore::new(MAX_CLIENTS + MAX_BRIEF));
    let paths = paths(Served { shared, page: page.clone(), places: Arc::new(Semaphore::new(MAX_CLIENTS)) });
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

fn paths(served: Served) -> Router {
    Router::new()
        .route("/", get(index))
        .route("/page.css", get(style))
        .route("/page.js", get(script))
        .route("/live", get(socket))
        .route("/lines", get(lines))
        .route("/poses", get(events))
        .fallback(|| async { (StatusCode::NOT_FOUND, "there are /, /lines and /poses\n") })
        .method_not_allowed_fallback(|| async { (StatusCode::METHOD_NOT_ALLOWED, "GET only\n") })
        .layer(middleware::from_fn_with_state(served.clone(), guarded))
        .with_state(served)
}

/// Every request passes here, whatever it asks for.
async fn guarded(State(served): State<Served>, request: Request, next: Next) -> Response {
    let mut response = match served.shared.guard.admit(request.uri(), request.headers()) {
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

fn typed(kind: &'static str, body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, kind)], body.into()).into_response()
}

async fn index(State(served): State<Served>) -> Response {
    let mut response = typed("text/html; charset=utf-8", served.page.html);
    if let Some(Ok(cookie)) = served.shared.guard.cookie().map(HeaderValue::try_from) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

async fn style(State(served): State<Served>) -> Response {
    typed("text/css; charset=utf-8", served.page.style)
}

async fn script(State(served): State<Served>) -> Response {
    typed("text/javascript; charset=utf-8", served.page.script)
}

/// A place among those that stay, or the answer where there is none.
fn place_of(served: &Served) -> Result<OwnedSemaphorePermit, (StatusCode, &'static str)> {
    let full = (StatusCode::SERVICE_UNAVAILABLE, "too many viewers\n");
    served.places.clone().try_acquire_owned().map_err(|_| full)
}

/// A WebSocket that says a word at most.
fn brief(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    upgrade.max_message_size(MAX_SAID_BYTES).max_frame_size(MAX_SAID_BYTES).write_buffer_size(0)
}

async fn socket(State(served): State<Served>, upgrade: WebSocketUpgrade) -> Response {
    let place = match place_of(&served) {
        Ok(place) => place,
        Err(full) => return full.into_response(),
    };
    brief(upgrade).on_upgrade(async move |socket| {
        live::page(socket, served.shared).await;
        drop(place);
    })
}

async fn lines(State(served): State<Served>, upgrade: WebSocketUpgrade) -> Response {
    let place = match place_of(&served) {
        Ok(place) => place,
        Err(full) => return full.into_response(),
    };
    brief(upgrade).on_upgrade(async move |socket| {
        live::program(socket, served.shared).await;
        drop(place);
    })
}

async fn events(State(served): State<Served>) -> Response {
    match place_of(&served) {
        Ok(place) => typed("text/event-stream", live::events(&served.shared, place)),
        Err(full) => full.into_response(),
    }
}
