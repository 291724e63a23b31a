//! The preview's paths: the page, its WebSocket, and what programs read.

use std::sync::Arc;

use axum::Router;
use axum::extract::{State, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use door::{MAX_CLIENTS, guarded, page, typed};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::super::display::DisplayStyle;
use super::{Shared, body, live, parts};

/// What a page says is a word.
const MAX_SAID_BYTES: usize = 1024;

/// What requests are answered from.
#[derive(Clone)]
struct Served {
    shared: Arc<Shared>,
    script: Arc<str>,
    /// Places of connections that stay.
    places: Arc<Semaphore>,
}

/// What there is to ask for; `shows_pictures`: messages carry them; `style`: how persons are drawn at first.
pub(super) fn paths(shared: &Arc<Shared>, shows_pictures: bool, style: DisplayStyle) -> Router {
    let served = Served {
        shared: shared.clone(),
        script: parts::live_script(shows_pictures, style).into(),
        places: Arc::new(Semaphore::new(MAX_CLIENTS)),
    };
    let paths = Router::new()
        .route("/", get(index))
        .route("/page.css", get(async || typed("text/css; charset=utf-8", parts::STYLE)))
        .route("/page.js", get(script))
        .route("/view", get(view))
        .route("/view.js", get(async || typed(SCRIPT, parts::view_script(false))))
        .route("/body", get(body_mesh))
        .route("/live", get(socket))
        .route("/lines", get(lines))
        .route("/poses", get(events))
        .with_state(served);
    guarded(paths, shared.guard.clone(), "there are /, /view, /lines and /poses\n")
}

/// How a script is called.
const SCRIPT: &str = "text/javascript; charset=utf-8";

async fn body_mesh() -> Response {
    // Asked for once a page: not worth being kept.
    typed("application/octet-stream", body::mesh(&people::mannequin::Mannequin::new()))
}

async fn index(State(served): State<Served>) -> Response {
    page(parts::LIVE_HTML, &served.shared.guard)
}

async fn view(State(served): State<Served>) -> Response {
    page(parts::VIEW_HTML, &served.shared.guard)
}

async fn script(State(served): State<Served>) -> Response {
    typed(SCRIPT, served.script.to_string())
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
