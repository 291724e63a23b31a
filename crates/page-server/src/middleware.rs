//! What every request passes on its way in, and the headers that every answer has.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;

use crate::state::ServerState;
use crate::timeout_stream::IO_TIMEOUT;

/// What nothing of a page may reach: other hosts, other pages, inline scripts.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      media-src blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// Marks the answer that is a page: it is given the cookie that lets its later requests in.
#[derive(Clone, Copy)]
pub(crate) struct Page;

/// `paths`, whatever is asked for, behind the guard; `not_found` is the answer to a request for another.
pub(crate) fn guarded(paths: Router, state: ServerState, not_found: &'static str) -> Router {
    paths
        .fallback(move || async move { (StatusCode::NOT_FOUND, not_found) })
        .method_not_allowed_fallback(|| async { (StatusCode::METHOD_NOT_ALLOWED, "GET only\n") })
        .layer(middleware::from_fn_with_state(state, admitted))
}

/// Every request passes here.
async fn admitted(State(state): State<ServerState>, mut request: Request, next: Next) -> Response {
    let guard = state.guard.clone();
    let mut response = match guard.admit(request.uri(), request.headers()) {
        Ok(()) => {
            request.extensions_mut().insert(state);
            match timeout(IO_TIMEOUT, next.run(request)).await {
                Ok(response) => response,
                Err(_) => StatusCode::REQUEST_TIMEOUT.into_response(),
            }
        }
        Err(refusal) => (StatusCode::FORBIDDEN, refusal.message()).into_response(),
    };
    let stays = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    let is_page = response.extensions_mut().remove::<Page>().is_some();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Some(Ok(cookie)) = guard.cookie().filter(|_| is_page).map(HeaderValue::try_from) {
        headers.insert(header::SET_COOKIE, cookie);
    }
    // One request a connection; what becomes a WebSocket stays.
    if !stays {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
