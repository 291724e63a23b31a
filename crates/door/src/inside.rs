//! What every request passes on its way in, what every answer bears, and the places of those who stay.

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

use crate::guard::Guard;
use crate::patience::PATIENCE;

/// What nothing of a page may reach: other hosts, other pages, inline scripts.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      media-src blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// What all requests to a server share.
#[derive(Clone)]
pub(crate) struct Inside {
    pub guard: Arc<Guard>,
    /// Of connections that stay.
    pub places: Arc<Semaphore>,
    pub is_over: watch::Receiver<bool>,
}

/// Marks the answer that is a page: it is given the cookie that lets its later requests in.
#[derive(Clone, Copy)]
pub(crate) struct Page;

/// `paths`, whatever is asked for, behind the guard; `told` names them to who asks for another.
pub(crate) fn guarded(paths: Router, inside: Inside, told: &'static str) -> Router {
    paths
        .fallback(move || async move { (StatusCode::NOT_FOUND, told) })
        .method_not_allowed_fallback(|| async { (StatusCode::METHOD_NOT_ALLOWED, "GET only\n") })
        .layer(middleware::from_fn_with_state(inside, admitted))
}

/// Every request passes here.
async fn admitted(State(inside): State<Inside>, mut request: Request, next: Next) -> Response {
    let guard = inside.guard.clone();
    let mut response = match guard.admit(request.uri(), request.headers()) {
        Ok(()) => {
            request.extensions_mut().insert(inside);
            match timeout(PATIENCE, next.run(request)).await {
                Ok(response) => response,
                Err(_) => StatusCode::REQUEST_TIMEOUT.into_response(),
            }
        }
        Err(stranger) => (StatusCode::FORBIDDEN, stranger.told()).into_response(),
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

/// A place among those that stay, as long as it is held. A path that asks for it is refused where there is none.
#[derive(Debug)]
pub struct Place {
    _held: OwnedSemaphorePermit,
    is_over: watch::Receiver<bool>,
}

impl Place {
    /// Waits until the server ends.
    pub async fn over(&mut self) {
        // The server's own end has gone, too, where this fails.
        let _ = self.is_over.wait_for(|over| *over).await;
    }
}

impl<S: Sync> FromRequestParts<S> for Place {
    type Rejection = (StatusCode, &'static str);

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let outside = (StatusCode::INTERNAL_SERVER_ERROR, "nothing is served here\n");
        let Inside { places, is_over, .. } = parts.extensions.get().ok_or(outside)?;
        let full = (StatusCode::SERVICE_UNAVAILABLE, "too many viewers\n");
        let held = places.clone().try_acquire_owned().map_err(|_| full)?;
        Ok(Self { _held: held, is_over: is_over.clone() })
    }
}
