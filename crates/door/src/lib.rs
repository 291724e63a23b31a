//! The one server of every page: of the tracker's preview, viewer and calibration, and of the hub's room.
//!
//! A page says what there is to ask for, as [`axum`]'s paths. [`Server`] does the rest: it lets connections in up to a number, bounds
//! each in time, asks every request who sends it, and ends. Who stays, as a WebSocket does, is a [`Visitor`] with a
//! [`Place`], of which there are [`MAX_CLIENTS`].

#![forbid(unsafe_code)]

mod guard;
mod inside;
mod patience;
mod reached;
mod server;
#[cfg(test)]
mod tests;
mod visitor;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use self::inside::Page;
pub use self::inside::Place;
pub use self::server::{ServeError, Server};
pub use self::visitor::{Gone, Visit, Visitor};

/// A page for a few people: connections that stay, as a WebSocket does.
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
