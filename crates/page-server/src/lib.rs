//! The HTTP server of every page: of the tracker's preview, viewer and calibration, and of the hub's room.
//!
//! A page defines its paths, as [`axum`]'s. [`Server`] does the rest: it accepts connections up to a number, bounds each in time, checks
//! who sends every request, and ends. A connection that stays open, as a WebSocket does, is a [`Session`] with a [`ClientSlot`], of
//! which there are [`MAX_CLIENTS`].

#![forbid(unsafe_code)]

mod guard;
mod link_host;
mod middleware;
mod server;
mod session;
mod state;
#[cfg(test)]
mod tests;
mod timeout_stream;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use self::middleware::Page;
pub use self::server::{ServeError, Server};
pub use self::session::{Disconnected, Session, SessionRequest};
pub use self::state::ClientSlot;

/// A page for a few people: connections that stay open, as a WebSocket does.
pub const MAX_CLIENTS: usize = 10;

/// A style sheet.
pub const CSS: &str = "text/css; charset=utf-8";
/// JSON.
pub const JSON: &str = "application/json";
/// A script.
pub const SCRIPT: &str = "text/javascript; charset=utf-8";

/// An answer of a kind.
pub fn typed(kind: &'static str, body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, kind)], body.into()).into_response()
}

/// A page: its later requests are let in.
pub fn page(html: &'static str) -> Response {
    let mut response = typed("text/html; charset=utf-8", html);
    response.extensions_mut().insert(Page);
    response
}
