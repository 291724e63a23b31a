//! The preview's paths: the page, its WebSocket, and what programs read.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use page_server::{CSS, ClientSlot, SCRIPT, SessionRequest, page, typed};

use super::super::display::DisplayStyle;
use super::{Shared, body, live, parts};

/// Told to who asks for anything else.
pub(super) const THERE_ARE: &str = "there are /, /view, /lines and /poses\n";

/// What requests are answered from.
#[derive(Clone)]
struct Served {
    shared: Arc<Shared>,
    script: Arc<str>,
}

/// What there is to ask for; `shows_pictures`: messages carry them; `style`: how persons are drawn at first.
pub(super) fn paths(shared: &Arc<Shared>, shows_pictures: bool, style: DisplayStyle) -> Router {
    let script = parts::live_script(shows_pictures, style).into();
    Router::new()
        .route("/", get(async || page(parts::LIVE_HTML)))
        .route("/page.css", get(async || typed(CSS, parts::STYLE)))
        .route("/page.js", get(script_of_page))
        .route("/view", get(async || page(parts::VIEW_HTML)))
        .route("/view.js", get(async || typed(SCRIPT, parts::view_script(false))))
        .route("/body", get(body_mesh))
        .route("/live", get(socket))
        .route("/lines", get(lines))
        .route("/poses", get(events))
        .with_state(Served { shared: shared.clone(), script })
}

async fn body_mesh() -> Response {
    // Asked for once a page: not worth being kept.
    typed("application/octet-stream", body::mesh(&people::mannequin::Mannequin::new()))
}

async fn script_of_page(State(served): State<Served>) -> Response {
    typed(SCRIPT, served.script.to_string())
}

async fn socket(State(served): State<Served>, request: SessionRequest) -> Response {
    request.accept(|session| live::page(session, served.shared))
}

async fn lines(State(served): State<Served>, request: SessionRequest) -> Response {
    request.accept(|session| live::program(session, served.shared))
}

async fn events(State(served): State<Served>, slot: ClientSlot) -> Response {
    typed("text/event-stream", live::events(&served.shared, slot))
}
